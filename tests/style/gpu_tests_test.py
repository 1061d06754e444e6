#!/usr/bin/env python3
"""Shows that scripts/gpu-tests packs what ctest labels gpu, and judges runs of it as ctest does. Usage: gpu_tests_test.py ROOT"""
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1)).resolve()
SCRIPT = ROOT / "scripts" / "gpu-tests"


class GpuTests(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.build = self.folder / "build"
        self.build.mkdir()
        self.listed = ""

    def add(self, name: str, script: str, properties: str = "", arguments: str = "", program: str = "") -> None:
        program = self.build / (program or f"{name}_program")
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)
        self.listed += f'add_test({name} "{program}" {arguments})\nset_tests_properties({name} PROPERTIES LABELS "unit;gpu" {properties})\n'
        (self.build / "CTestTestfile.cmake").write_text(self.listed, encoding="utf-8")

    def call(self, *command) -> tuple[int, str]:
        ran = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return ran.returncode, ran.stdout

    def packed_and_run(self, *options: str, also: tuple[str, ...] = ()) -> tuple[int, str]:
        status, said = self.call(SCRIPT, "--pack", self.folder / "packed.tar.gz", *also, self.build)
        self.assertEqual(status, 0, said)
        shutil.rmtree(self.build)  # the other machine has none
        with tarfile.open(self.folder / "packed.tar.gz") as archive:
            archive.extractall(self.folder / "there", filter="data")
        return self.call(self.folder / "there" / "gpu-tests" / "run", *options)

    def test_tests_are_judged_as_cmake_says(self):
        self.add("by_status", "exit 0")
        self.add("by_words", 'echo "$1: all is well"; exit 3', 'PASS_REGULAR_EXPRESSION "layout: all.*well"', "layout")
        self.add("by_setting", '[ "$COLOUR" = blue ]', 'ENVIRONMENT "COLOUR=blue"')
        status, said = self.packed_and_run()
        self.assertEqual(status, 0, said)
        self.assertIn("3 passed, 0 failed, 0 skipped", said)

    def test_other_programs_go_along(self):
        self.add("one", "exit 0")
        self.add("bench", "exit 0")
        status, said = self.packed_and_run(also=("--also", "bench_program", "one_program"))
        self.assertEqual(status, 0, said)
        self.assertTrue((self.folder / "there" / "gpu-tests" / "bin" / "bench_program").exists())

    def test_programs_of_the_same_name_are_others(self):
        self.add("one", "echo first", 'PASS_REGULAR_EXPRESSION "first"', program="a/same")
        self.add("other", "echo second", 'PASS_REGULAR_EXPRESSION "second"', program="b/same")
        self.add("again", "echo first", 'PASS_REGULAR_EXPRESSION "first"', program="a/same")
        status, said = self.packed_and_run()
        self.assertEqual(status, 0, said)
        self.assertIn("3 passed, 0 failed", said)

    def test_one_that_is_to_fail_passes_when_it_does(self):
        self.add("refused", "exit 1", "WILL_FAIL TRUE")
        self.add("said", "echo wrong", 'FAIL_REGULAR_EXPRESSION "wrong" WILL_FAIL TRUE')
        self.add("well", "exit 0", "WILL_FAIL TRUE")
        self.add("crashed", "kill -SEGV $$", "WILL_FAIL TRUE")
        status, said = self.packed_and_run()
        self.assertEqual(status, 1, said)
        self.assertIn("2 passed, 2 failed, 0 skipped", said)
        self.assertIn("failed    well", said)

    def test_what_would_be_run_otherwise_than_by_ctest_is_not_packed(self):
        for properties, why in (('WORKING_DIRECTORY "/"', "one runs in /, whose files are not packed"),
                                ('REQUIRED_FILES "input"', "one has the property REQUIRED_FILES, which is not heeded here")):
            self.listed = ""
            self.add("one", "exit 0", properties)
            status, said = self.call(SCRIPT, "--pack", self.folder / "packed", self.build)
            self.assertEqual(status, 1, said)
            self.assertIn(why, said)
            self.assertFalse((self.folder / "packed").exists())

    def test_a_test_that_fails_ends_with_status_1_and_shows_what_it_said(self):
        self.add("well", "exit 0")
        self.add("ill", "echo 'other contents'; exit 5")
        self.add("silent", "exit 0", 'PASS_REGULAR_EXPRESSION "never"')
        self.add("killed", "echo 'ended by signal 11'", 'PASS_REGULAR_EXPRESSION "ended" FAIL_REGULAR_EXPRESSION "signal [0-9]"')
        self.add("crashed", "echo 'all is well'; kill -SEGV $$", 'PASS_REGULAR_EXPRESSION "all is well"')
        status, said = self.packed_and_run()
        self.assertEqual(status, 1, said)
        self.assertIn("1 passed, 4 failed, 0 skipped", said)
        self.assertIn("| other contents", said)

    def test_a_skip_is_told_with_its_reason(self):
        self.add("by_status", "echo 'skipped: no GPU here'; exit 77", "SKIP_RETURN_CODE 77")
        self.add("by_words", "echo 'combined on no GPU'", 'SKIP_REGULAR_EXPRESSION "on no GPU"')
        status, said = self.packed_and_run()
        self.assertEqual(status, 77, said)
        self.assertRegex(said, r"by_status, [0-9.]+ s: skipped: no GPU here")
        self.assertIn("0 passed, 0 failed, 2 skipped", said)

    def test_some_are_taken_and_their_output_is_kept(self):
        self.add("one", "echo first")
        self.add("other", "echo second")
        status, said = self.packed_and_run("--only", "oth", "--logs", str(self.folder / "logs"))
        self.assertEqual(status, 0, said)
        self.assertEqual([file.name for file in (self.folder / "logs").iterdir()], ["other.log"])
        self.assertEqual((self.folder / "logs" / "other.log").read_text(encoding="utf-8"), "second\n")

    def test_what_cannot_be_packed_is_said(self):
        self.add("one", "exit 0")
        (self.build / "one_program").unlink()
        status, said = self.call(SCRIPT, "--pack", self.folder / "packed", self.build)
        self.assertNotEqual(status, 0)
        self.assertIn("not built", said)
        self.assertFalse((self.folder / "packed").exists())
        status, said = self.call(SCRIPT)
        self.assertNotEqual(status, 0)
        self.assertIn("--pack FILE BUILD", said)


if __name__ == "__main__":
    unittest.main()
