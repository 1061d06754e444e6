#!/usr/bin/env python3
"""Shows that scripts/mutate tells of entries that do not apply, and chooses those that are asked for. Usage: mutate_test.py ROOT"""
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
import script  # noqa: E402

ROOT = Path(sys.argv.pop(1)).resolve()
mutate = script.load(ROOT, "mutate")

ENTRY = """
[[mutation]]
name = "one"
part = "queues"
file = "a.cpp"
old = '''b < c'''
new = '''b > c'''
tests = ["a_test *Some*"]
harm = "it is wrong"
"""


class Mutate(unittest.TestCase):
    def read(self, text: str):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "a.toml").write_text(text, encoding="utf-8")
            return mutate.read_list(Path(folder))

    def stale(self, source: str, entry: str = ENTRY):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "a.cpp").write_text(source, encoding="utf-8")
            return mutate.stale(self.read(entry)[0][0], Path(folder))

    def test_an_entry_that_applies(self):
        mutations, problems = self.read(ENTRY)
        self.assertEqual((len(mutations), problems), (1, []))
        self.assertIsNone(self.stale("return b < c;"))

    def test_a_text_that_has_gone_or_stands_there_twice(self):
        self.assertIn("0 times", self.stale("return b <= c;"))
        self.assertIn("2 times", self.stale("b < c; b < c;"))
        self.assertIn("changes nothing", self.stale("b < c", ENTRY.replace("b > c", "b < c")))

    def test_entries_that_are_not_whole(self):
        self.assertIn("harm", self.read(ENTRY.replace("harm", "harmful"))[1][0])
        self.assertIn("two of that name", self.read(ENTRY + ENTRY)[1][0])

    def test_choosing(self):
        mutations, _ = self.read(ENTRY + ENTRY.replace('"one"', '"two"').replace("queues", "heaps"))
        for only, names in (([], ["one", "two"]), (["one"], ["one"]), (["heaps"], ["two"]), (["t*"], ["two"]),
                            (["on.|two"], ["one", "two"]), (["three"], [])):
            self.assertEqual([m.name for m in mutate.chosen(mutations, only)], names, only)


if __name__ == "__main__":
    unittest.main()
