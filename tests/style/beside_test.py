#!/usr/bin/env python3
"""Shows that scripts/run-beside times both builds, tells of failures and of files that differ, and what scripts/charm-examples --pack
puts into its archive. Usage: beside_test.py ROOT"""
import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
import script  # noqa: E402

ROOT = Path(sys.argv.pop(1)).resolve()
examples = script.load(ROOT, "charm-examples")


class RunBeside(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copy(ROOT / "scripts" / "run-beside", self.folder)
        self.programs = []

    def program(self, name: str, ours: str, theirs: str) -> None:
        for build, script in (("ours", ours), ("theirs", theirs)):
            at = self.folder / build / name
            at.mkdir(parents=True)
            (at / "charmrun").write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
            (at / "charmrun").chmod(0o755)
        self.programs.append({"name": name, "layouts": ["+p1"], "commands": [["./prog", "7"]]})

    def run_all(self, *options: str) -> tuple[str, dict]:
        (self.folder / "programs.json").write_text(json.dumps(self.programs), encoding="utf-8")
        into = self.folder / "out.json"
        run = subprocess.run([self.folder / "run-beside", "--json", into, *options], stdout=subprocess.PIPE, text=True, check=False)
        return run.stdout, {r["name"]: r for r in json.loads(into.read_text(encoding="utf-8"))["results"]} if into.exists() else {}

    def test_both_are_run_as_often_with_layout_and_arguments(self):
        self.program("p", f'echo "ours $*" >> {self.folder}/said', f'echo "theirs $*" >> {self.folder}/said; sleep 0.2')
        text, results = self.run_all("--rounds", "3")
        said = (self.folder / "said").read_text(encoding="utf-8").splitlines()
        self.assertEqual(said, [f"{build} +p1 ./prog 7" for build in ("ours", "theirs", "theirs", "ours", "ours", "theirs")])
        self.assertEqual([len(results["p"][build]["wall"]) for build in ("ours", "theirs")], [3, 3])
        self.assertGreater(min(results["p"]["theirs"]["wall"]), 0.19)
        self.assertIn("slower: none", text)

    def test_one_that_fails_is_told_and_the_others_go_on(self):
        self.program("a", "echo why; exit 3", "true")
        self.program("b", "true", "true")
        text, results = self.run_all()
        self.assertIn("status 3", results["a"]["failed"]["ours"])
        self.assertIn("why", results["a"]["failed"]["ours"])
        self.assertIn("failed: a +p1", text)
        self.assertEqual(results["b"]["failed"], {})

    def test_one_that_is_not_there_is_told(self):
        self.program("a", "true", "true")
        (self.folder / "theirs" / "a" / "charmrun").unlink()
        self.assertIn("No such file", self.run_all()[1]["a"]["failed"]["theirs"])

    def test_one_that_does_not_end_is_killed(self):
        self.program("a", "sleep 1000", "true")
        self.assertIn("status -9", self.run_all("--limit", "0.2")[1]["a"]["failed"]["ours"])

    def test_files_that_were_written_are_compared_and_removed(self):
        self.program("a", "echo 1 > same; echo ours > other", "echo 1 > same; echo theirs > other")
        self.assertEqual(self.run_all()[1]["a"]["files"], {"other": "differs", "same": "same"})
        self.assertEqual([file.name for file in (self.folder / "ours" / "a").iterdir()], ["charmrun"])

    def test_what_is_not_begun_in_time_is_told(self):
        self.program("a", "true", "true")
        self.assertIn("left out: a +p1", self.run_all("--budget", "-1")[0])


class Pack(unittest.TestCase):
    def test_a_makefiles_number_of_pes_is_left_away(self):
        self.assertEqual(examples.without_layout(["./a", "+p4", "3", "++local", "+p", "2", "++ppn", "2", "+balancer", "X"]), ["./a", "3", "+balancer", "X"])

    def test_commands_are_recorded_and_not_run(self):
        with tempfile.TemporaryDirectory() as folder:
            at = Path(folder)
            (at / "testrun").write_text(examples.TESTRUN, encoding="utf-8")
            (at / "testrun").chmod(0o755)
            (at / "below").mkdir()
            (at / "Makefile").write_text("test:\n\t./testrun ./one +p2 'two words'\n\t./testrun ./other\n\tcd below && ../testrun ./third\n", encoding="utf-8")
            self.assertEqual(examples.commands_of(at, 60), [["./one", "two words"], ["./other"]])

    def test_programs_of_commands_and_data_are_packed(self):
        with tempfile.TemporaryDirectory() as folder:
            at = Path(folder)
            (at / "from").mkdir()
            (at / "lib").mkdir()
            for name in ("one", "unused", "charmrun"):
                shutil.copy("/bin/true", at / "from" / name)
            for name in ("data.txt", "a.C", "a.decl.h"):
                (at / "from" / name).write_text("x", encoding="utf-8")
            examples.pack_folder(at / "from", at / "to", at / "lib", [["./one", "3"]])
            self.assertEqual(sorted(file.name for file in (at / "to").iterdir()), ["charmrun", "data.txt", "one"])


if __name__ == "__main__":
    unittest.main()
