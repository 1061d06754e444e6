#!/usr/bin/env python3
"""A run that loses hosts goes on without them from its last checkpoint on disk (charmrun ++recover), and ends the same as
without. Five hosts in network name spaces, charmrun over ssh between them; a host dies in one moment, or its cable is cut.

Usage: lost_host_test.py LIFE. LIFE is life.cpp here, which says what it does.
"""
import os
import re
import shutil
import signal
import sys
import tempfile
import time
import unittest
from pathlib import Path

import launchers
import net_lab

LIFE = os.path.abspath(sys.argv.pop())
LAB = net_lab.Lab(5)
PHASES, SEED = 300, 5
SILENCE = 6  # seconds


def tearDownModule():
    LAB.stop()


def ends_of(run):
    return [line for line in run.lines if re.match(r"life: -?\d", line)]


class LostHosts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            whole = launchers.run(LIFE, folder, PHASES, SEED, "-1", "+p2")
        cls.ends = ends_of(whole)
        assert whole.code == 0 and len(cls.ends) == 1, whole

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = Path(self.scratch.name) / "a folder"

    def start(self, options, hosts=("ck1", "ck2", "ck3"), stop="-1", **variables):
        words = f"++quiet {options} {LIFE} '{self.folder}' {PHASES} {SEED} {stop}"
        return launchers.Job(LAB.charmrun(words, hosts), **variables)

    def wait_for_checkpoint(self, job, after=0.0):
        """One that is newer than `after`; when it was made."""
        manifest = self.folder / "manifest"
        while job.process.poll() is None:
            if manifest.exists() and manifest.stat().st_mtime > after:
                return manifest.stat().st_mtime
            time.sleep(0.002)
        self.fail(f"no checkpoint was made: {job.finish()}")

    def kill(self, host):
        LAB.kill_host(host)
        self.addCleanup(LAB.start_sshd, host)

    def cut(self, host):
        net_lab.quiet("ip", "-n", LAB.bridge, "link", "set", f"v{host}", "nomaster")
        self.addCleanup(net_lab.quiet, "ip", "-n", LAB.bridge, "link", "set", f"v{host}", "master", "br0")

    def assert_went_on(self, job, *sentences):
        run = job.finish()
        self.assertEqual(run.code, 0, run)
        self.assertEqual(ends_of(run), self.ends, run)
        self.assertEqual(re.findall("the run goes on from the checkpoint in .*", run.err),
                         [f"the run goes on from the checkpoint in '{self.folder}'{words}" for words in sentences], run)

    def test_a_host_dies(self):
        for victim in (1, 3):  # the first has process 0
            with self.subTest(victim=victim):
                shutil.rmtree(self.folder, ignore_errors=True)
                job = self.start("++recover ++n 6")
                self.wait_for_checkpoint(job)
                LAB.kill_host(victim)
                try:
                    self.assert_went_on(job, f" without {LAB.names[victim]}, with 4 PEs")
                finally:
                    LAB.start_sshd(victim)

    def test_a_host_goes_down_in_order(self):
        job = self.start("++recover ++n 3")
        self.wait_for_checkpoint(job)
        for pid in LAB.processes_on(2):
            if "charmrun ++agent" in launchers.command_of(pid):
                os.kill(pid, signal.SIGTERM)
        self.assert_went_on(job, " without ck2, with 2 PEs")

    def test_two_hosts_die_one_after_the_other(self):
        job = self.start("++recover ++n 3 ++ppn 2")
        self.wait_for_checkpoint(job)
        self.kill(2)
        self.wait_for_checkpoint(job, time.time() + 1)  # of the run that has gone on
        self.kill(1)
        self.assert_went_on(job, " without ck2, with 4 PEs", " without ck2, ck1, with 2 PEs")

    def test_of_a_tree_of_hosts_a_leaf_dies(self):
        hosts = [name + again for name in LAB.names[:4] for again in ("", "-again")] + LAB.names[4:]
        job = self.start("++recover ++hierarchical-start ++n 9", hosts=hosts)
        self.wait_for_checkpoint(job)
        self.kill(4)
        self.assert_went_on(job, " without ck4, with 8 PEs")

    def test_the_cable_of_a_host_is_cut(self):
        job = self.start("++recover ++n 3", PERIAPT_HOST_SILENCE=SILENCE)
        job.ENDING = 10 * SILENCE  # the side that was cut off ends by itself
        self.wait_for_checkpoint(job)
        self.cut(3)
        self.assert_went_on(job, " without ck3, with 2 PEs")

    def test_a_spare_host_takes_the_place_of_one_that_dies(self):
        job = self.start("++recover ++numHosts 3 ++n 3", hosts=("ck1", "ck2", "ck3", "ck4"))
        self.wait_for_checkpoint(job)
        self.kill(2)
        self.assert_went_on(job, " without ck2, with 3 PEs")

    def test_a_process_is_killed_in_the_middle_of_a_checkpoint(self):
        job = self.start("++recover ++n 3", stop="250 2 killed")
        self.assert_went_on(job, ", with 3 PEs")

    def test_without_the_option_charmrun_says_what_to_do(self):
        job = self.start("++n 3")
        self.wait_for_checkpoint(job)
        self.kill(2)
        run = job.finish()
        self.assertNotEqual(run.code, 0, run)
        self.assertIn("lost host ck2", run.err)
        self.assertIn(f"the checkpoint in '{self.folder}' is whole: +restart '{self.folder}' goes on from it", run.err)
        again = self.start("++n 2", hosts=("ck1", "ck3"), stop=f"-1 +restart '{self.folder}'").finish()
        self.assertEqual((again.code, ends_of(again)), (0, self.ends), again)

    def test_there_is_no_checkpoint_to_go_on_from(self):
        self.folder.write_text("no folder can be made here")
        job = self.start("++recover ++n 3")
        job.lines_until(1, "life: no checkpoint of phase")
        self.kill(2)
        run = job.finish()
        self.assertNotEqual(run.code, 0, run)
        self.assertIn("the run cannot go on (++recover): it has written no whole checkpoint to a disk", run.err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
