#!/usr/bin/env python3
"""Shows that floors.py catches what it is for: trees of a few files, one with each kind of wrong include."""
import tempfile
import unittest
from pathlib import Path

import floors


class Floors(unittest.TestCase):
    def problems(self, files: dict[str, str]) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder).resolve()
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return floors.check(root)[1]

    def test_down_and_own_folder_are_fine(self):
        self.assertEqual(self.problems({
            "base/log.h": "#include <string>\n",
            "machine/shm/arena.h": '#include "base/log.h"\n#include "machine/shm/slab.h"\n',
            "machine/shm/slab.h": "",
            "runtime/api/proxy.h": '#include "machine/shm/arena.h"\n',
            "include/charm++.h": '#include "runtime/api/proxy.h"\n',
            "tests/shm/arena_test.cpp": '#include "machine/shm/arena.h"\n#include <gtest/gtest.h>\n',
        }), [])

    def test_up_is_caught(self):
        found = self.problems({"base/log.h": '#include "runtime/pup/pup.h"\n', "runtime/pup/pup.h": ""})
        self.assertEqual(len(found), 1)
        self.assertIn("base/log.h:1: base may not include runtime/pup/pup.h", found[0])

    def test_transports_do_not_know_each_other(self):
        found = self.problems({"machine/shm/a.h": "", "machine/tcp/b.cpp": '#include "machine/shm/a.h"\n'})
        self.assertEqual(len(found), 1)

    def test_runtime_does_not_go_through_the_public_faces(self):
        for include in ('"pup.h"', "<pup.h>", '"include/pup.h"'):
            found = self.problems({"include/pup.h": "", "runtime/message/m.h": f"#include {include}\n"})
            self.assertEqual(len(found), 1, include)

    def test_translator_knows_no_runtime(self):
        found = self.problems({"runtime/api/p.h": "", "lang/ci-translator/x.cpp": '#include "runtime/api/p.h"\n'})
        self.assertEqual(len(found), 1)

    def test_a_large_circle_inside_a_folder_is_caught(self):
        def ring(units: int) -> dict[str, str]:
            """Each unit includes the next, and the .cpp of the last the first; a0 is not in the circle."""
            files = {f"base/a{i}.h": f'#include "base/a{i + 1}.h"\n' for i in range(1, units)}
            return files | {"base/a0.h": "", f"base/a{units}.h": '#include "base/a0.h"\n',
                            f"base/a{units}.cpp": '#include "base/a1.h"\n'}
        self.assertEqual(self.problems(ring(floors.CIRCLE_MAX)), [])
        found = self.problems(ring(floors.CIRCLE_MAX + 1))
        self.assertEqual(len(found), 1)
        self.assertIn("base: 7 units include each other in a circle", found[0])

    def test_folder_without_floor_is_caught(self):
        self.assertEqual(len(self.problems({"runtime/new/x.h": ""})), 1)

    def test_misspelt_path_is_caught(self):
        self.assertEqual(len(self.problems({"base/a.h": '#include "base/b.h"\n'})), 1)

    def test_table_has_no_cycle(self):
        for folder in floors.FLOORS:
            for lower in floors.FLOORS[folder]:
                self.assertNotIn(folder, floors.below(lower))


if __name__ == "__main__":
    unittest.main()
