#!/usr/bin/env python3
"""header_chains.py on a small tree: every header is in one line, each behind such as it includes, and the lines are few."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent / "header_chains.py"


def lines_of(tree: dict[str, list[str]], *firsts: str, sources: dict[str, str] | None = None,
             headers: dict[str, str] | None = None) -> list[list[str]]:
    """A header of the tree includes others and declares something, unless `headers` has its text; sources are what it begins in."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        for name, includes in tree.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text("// What it has.\n" + "".join(f'#include "{other}"\n' for other in includes) + "int i;\n",
                                     encoding="utf-8")
        for name, text in (headers or {}).items():
            (root / name).write_text(text, encoding="utf-8")
        before = [word for first in firsts for word in ("--first", root / first)]
        for name, text in (sources or {}).items():
            (root / name).write_text(text, encoding="utf-8")
            before += ["--begun-in", root / name]
        done = subprocess.run([sys.executable, SCRIPT, root, *before, *(root / name for name in tree)], capture_output=True,
                              text=True, check=True)
        return [[str(Path(word).relative_to(root)) for word in line.split()] for line in done.stdout.splitlines()]


class Chains(unittest.TestCase):
    def test_a_row_of_headers_is_one_file(self):
        self.assertEqual(lines_of({"c.h": ["b.h"], "a.h": [], "b.h": ["a.h", "vector"]}), [["a.h", "b.h", "c.h"]])

    def test_what_includes_the_first_begins_with_it(self):
        tree = {"a.h": [], "first.h": ["a.h"], "b.h": ["first.h"], "c.h": ["b.h"], "d.h": ["a.h"]}
        lines = lines_of(tree, "first.h")
        self.assertIn(["first.h", "b.h", "c.h"], lines)
        self.assertEqual([line for line in lines if "first.h" not in line], [["a.h", "d.h"]])

    def test_of_several_it_begins_with_the_one_that_has_most_in_it(self):
        tree = {"a.h": [], "small.h": ["a.h"], "large.h": ["small.h"], "b.h": ["small.h"], "c.h": ["b.h", "large.h"], "d.h": ["c.h"]}
        for firsts in (["small.h", "large.h"], ["large.h", "small.h"]):
            lines = lines_of(tree, *firsts)
            self.assertEqual(sorted(name for line in lines for name in line if name not in firsts), ["a.h", "b.h", "c.h", "d.h"])
            self.assertIn(["small.h", "b.h"], lines)
            self.assertIn(["large.h", "c.h", "d.h"], lines)
            self.assertIn(["a.h"], lines)

    def test_headers_that_do_not_include_each_other_are_apart(self):
        self.assertEqual(sorted(lines_of({"a.h": [], "b.h": []})), [["a.h"], ["b.h"]])

    def test_the_one_before_may_be_included_by_others_in_between(self):
        lines = lines_of({"x/a.h": [], "x/b.h": ["a.h"], "c.h": ["x/b.h"], "d.h": ["x/a.h"]})
        self.assertEqual(len(lines), 2)
        self.assertEqual(sorted(name for line in lines for name in line), ["c.h", "d.h", "x/a.h", "x/b.h"])
        for line in lines:
            self.assertIn(line, [["x/a.h", "x/b.h", "c.h"], ["x/b.h", "c.h"], ["d.h"], ["x/a.h", "d.h"]])

    def test_lines_are_as_few_as_can_be(self):
        # Taken as they come, a.h would be before c.h, and b.h alone.
        self.assertEqual(len(lines_of({"a.h": [], "b.h": [], "c.h": ["a.h", "b.h"], "d.h": ["a.h"]})), 2)

    def test_what_a_source_begins_with_needs_no_line(self):
        tree = {"a.h": [], "b.h": ["a.h", "c.h"], "c.h": [], "d.h": []}
        lines = lines_of(tree, sources={"b.cpp": '#include <vector>\n#include "b.h"\n#include "d.h"\n'})
        self.assertEqual(sorted(lines), [["c.h"], ["d.h"]])

    def test_a_source_shows_nothing_where_something_before_may_lend_to_it(self):
        for before in ("#define WIDE\n", "#ifdef WIDE\n", "#include <poll.h>\n", "#include <sys/socket.h>\n"):
            self.assertEqual(lines_of({"a.h": []}, sources={"a.cpp": f'{before}#include "a.h"\n'}), [["a.h"]])

    def test_another_name_of_a_header_needs_no_line(self):
        text = '// The same.\n#pragma once\n\n#include "a.h"\n'
        self.assertEqual(lines_of({"a.h": [], "b.h": []}, headers={"b.h": text}), [["a.h"]])
        for more in ("int i;\n", '#include "c.h"\n', "#define B\n"):
            self.assertIn("b.h", sum(lines_of({"a.h": [], "b.h": [], "c.h": []}, headers={"b.h": text + more}), []))


if __name__ == "__main__":
    unittest.main()
