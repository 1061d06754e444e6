#!/usr/bin/env python3
"""Shows that standard_headers.py catches what it is for: trees of a few files."""
import re
import tempfile
import unittest
from pathlib import Path

import standard_headers


class StandardHeaders(unittest.TestCase):
    def problems(self, files: dict[str, str]) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder).resolve()
            for name, text in {"include/charm++.h": "", **files}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return list(standard_headers.check(root))

    def test_by_itself_and_by_a_header_of_ours_are_fine(self):
        self.assertEqual(self.problems({
            "base/a.h": "#include <algorithm>\n",
            "base/a.cpp": '#include "base/a.h"\nint i = std::min(1, 2);\n',
            "base/b.cpp": "#include <cstdint>\nstd::uint32_t i;\n",
        }), [])

    def test_what_came_by_chance_is_caught(self):
        self.assertEqual(self.problems({"base/a.h": "#include <vector>\nstd::uint32_t i;\n"}),
                         ["base/a.h uses names of <cstdint> and does not include it"])
        self.assertEqual(self.problems({"tests/a.cpp": "#include <vector>\nbool b = std::all_of(i, j, f);\n"}),
                         ["tests/a.cpp uses names of <algorithm> and does not include it"])

    def test_comments_use_nothing(self):
        self.assertEqual(self.problems({"base/a.h": "// std::mutex is too slow\n"}), [])

    def test_what_is_there_before_every_source_is_looked_for(self):
        build = (Path(__file__).resolve().parents[2] / "cmake/PeriaptBuild.cmake").read_text()
        there = re.search(r"set\(standard_headers ([^)]+)\)", build)[1]
        self.assertEqual(set(re.findall(r"<(.+?)>", there)) - set(standard_headers.NAMES), set())

    def test_headers_that_are_generated_bring_in_charm(self):
        text = '#include "a.decl.h"\nstd::uint32_t i;\n'
        self.assertEqual(self.problems({"include/charm++.h": "#include <cstdint>\n", "tests/a.cpp": text}), [])
        self.assertEqual(len(self.problems({"tests/a.cpp": text})), 1)


if __name__ == "__main__":
    unittest.main()
