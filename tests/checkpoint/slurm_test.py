#!/usr/bin/env python3
"""Under a real Slurm (tests/launch/slurm_lab.py), with charmrun ++slurm in an allocation: kill -9 of a process of a program that
keeps checkpoints in memory, after which it goes on; another number of PEs while a program runs; and the loss of a node.

Usage: slurm_test.py LIFE BREATHE CHARMRUN. LIFE is life.cpp here (memory_test.py says what it is killed at), BREATHE is
tests/resize/breathe.cpp.
"""
import os
import re
import struct
import sys
import tempfile
import time
import unittest
from pathlib import Path

import client
import launchers
import slurm_lab

CHARMRUN, BREATHE, LIFE = (os.path.abspath(sys.argv.pop()) for _ in range(3))  # from the last on
LAB = slurm_lab.Lab()


def tearDownModule():
    LAB.stop_with_no_steps_left()


class InAnAllocation(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = Path(self.scratch.name)
        self.addCleanup(self.scratch.cleanup)

    def life(self, *points):
        for point in points:
            (self.folder / point).touch()
        return [LIFE, str(self.folder), "6", "3", "1", "0", "memory"]

    def test_kill_9_of_a_process_sends_the_run_back_to_its_checkpoint(self):
        whole = launchers.run(*self.life()[:4], "-1", "0", "", "+p2")
        self.assertEqual(whole.code, 0, whole)
        ends = [line for line in whole.lines if re.match(r"life: -?\d", line)]
        for layout in (["+p4", "++ppn", "1"], ["+p4", "++ppn", "2"]):
            run = LAB.salloc("-N2", CHARMRUN, "++slurm", *layout, *self.life("work.3.5", "work.2.7"))
            self.assertEqual(run.code, 0, run)
            self.assertEqual([line for line in run.lines if re.match(r"life: -?\d", line)], ends, run)
            # Processes that die at once are one matter.
            self.assertIn(run.err.count("the run goes back to its checkpoint in memory"), (1, 2), run)

    def lose(self, lose, *options):
        """In the middle of a run over three nodes; how the run ends."""
        log = self.folder / "log"
        job = LAB.job_of("salloc", "-Q", "-N3", *options, CHARMRUN, "++slurm", "++recover", "+p3", "++ppn", "1", LIFE, log, "300",
                         "5", "-1")
        while not (log / "manifest").exists() and job.process.poll() is None:
            time.sleep(0.002)
        lose()
        return job.finish()

    def lose_a_node(self, *options):
        self.addCleanup(LAB.bring_back, "n1")
        return self.lose(lambda: LAB.lose("n1"), *options)

    def test_a_node_is_lost_and_the_allocation_stays(self):
        whole = launchers.run(LIFE, self.folder / "whole", "300", "5", "-1", "+p2")
        run = self.lose_a_node("--no-kill")
        self.assertEqual((run.code, whole.code), (0, 0), run)
        ends = [[line for line in one.lines if re.match(r"life: -?\d", line)] for one in (run, whole)]
        self.assertEqual(ends[0], ends[1], run)
        self.assertIn(f"the run goes on from the checkpoint in '{self.folder}/log' without n1, with 2 PEs", run.err)

    def test_slurm_ends_the_allocation_with_the_node(self):
        self.check_that_slurm_has_ended(self.lose_a_node())

    def test_slurm_misses_a_node_and_ends_all_steps_at_once(self):
        self.addCleanup(LAB.bring_back, "n1")
        self.check_that_slurm_has_ended(self.lose(lambda: LAB.miss("n1")))

    def test_the_job_is_cancelled(self):
        self.check_that_slurm_has_ended(self.lose(LAB.cancel))

    def check_that_slurm_has_ended(self, run):
        self.assertNotEqual(run.code, 0, run)
        self.assertRegex(run.err, r"Slurm has ended the allocation \([A-Z_]+\); one that a node is lost of stays")
        self.assertIn(f"in another allocation +restart '{self.folder}/log' goes on from the checkpoint", run.err)

    def test_another_number_of_pes(self):
        for number in (1, 2):
            (self.folder / f"wait.{number}").touch()
        program = client.Program(["salloc", "-Q", "-N2", CHARMRUN, "++slurm", "+p2", "++ppn", "1", BREATHE, "4",
                                  str(self.folder), "++server", "+shrinkexpand_basedir", str(self.folder)],
                                 "breathe: round 1", env=LAB.environment)
        for number, (now, pes) in enumerate([(2, 4), (4, 1)], 1):
            answer = program.ask_in_background("set_bitmap", 0,
                                               bytes(1 if i < pes else 0 for i in range(now)) + struct.pack("=i", pes))
            program.wait_for(f"set_bitmap: {pes} PEs in place of {now}")
            (self.folder / f"wait.{number}").unlink()
            program.wait_for(f"breathe: round {number + 1},")
            self.assertEqual(answer(), b"", program.text)
        self.assertEqual(program.wait(), 7, program.text)
        self.assertEqual(re.findall(r"round \d, sum \d+, (\d) PEs", program.text), ["2", "4", "1", "1"])
        self.assertEqual(client.failures, [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
