#!/usr/bin/env python3
"""Shows that tree.py catches what it is for."""
import tempfile
import unittest
from pathlib import Path

import tree


class Tree(unittest.TestCase):
    def problems(self, name: str, text: str, hosts: tuple[str, ...] = ()) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
            return tree.check(root, [name], list(hosts))[1]

    def test_a_file_that_says_what_it_is(self):
        self.assertEqual(self.problems("base/a.h", "// An a.\n#pragma once\nint a;\n"), [])
        self.assertEqual(self.problems("scripts/a.py", '#!/usr/bin/env python3\n"""An a."""\n'), [])

    def test_a_file_that_does_not(self):
        self.assertEqual(len(self.problems("base/a.h", "#pragma once\n// late\n")), 1)

    def test_places_of_a_machine(self):
        for place in ("/wo" + "rk/main/x", "/ro" + "ot/x", "/ho" + "me/ann/x"):
            self.assertEqual(len(self.problems("base/a.h", f"// {place}\n")), 1, place)
        self.assertEqual(len(self.problems("docs/a.md", "run on node-17\n", hosts=("node-17",))), 1)
        self.assertEqual(self.problems("docs/a.md", "see /usr/include and /tmp\n", hosts=("node-17",)), [])

    def test_length(self):
        long = "// x\n" * 1001
        self.assertEqual(len(self.problems("base/a.cpp", long)), 1)
        self.assertEqual(self.problems("tests/ci-translator/golden/a.cpp", long), [])

    def test_words(self):
        self.assertEqual(len(self.problems("base/a.h", "// Who" + "ever comes.\nint a;\n")), 1)
        self.assertEqual(len(self.problems("tests/a.py", '"""What no' + 'body does."""\n')), 1)
        self.assertEqual(len(self.problems("tools/CMakeLists.txt", "# for those wh" + "o ask\n")), 1)
        self.assertEqual(self.problems("base/a.h", '// For the person who reads it.\nauto a = "nobody";\n'), [])
        self.assertEqual(len(self.problems("docs/a.md", "It is told no" + "body.\n")), 1)
        self.assertEqual(self.problems("docs/a.md", "It says `nobody knows`.\n```\nwho\n```\n"), [])

    def test_conditions(self):
        guard = "// x\n#ifndef A_H\n#define A_H\n#ifdef __cplusplus\n#endif\n#endif\n"
        self.assertEqual(tree.conditions(guard.splitlines()), [])
        self.assertEqual(tree.conditions(["#ifdef __linux__", "#endif", "#if FOO", "#endif"]), [1, 3])
        self.assertEqual(len(self.problems("machine/a.cpp", "// x\n" + "#if FOO\n#endif\n" * 3)), 1)


if __name__ == "__main__":
    unittest.main()
