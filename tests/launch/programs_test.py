#!/usr/bin/env python3
"""Whole programs, unmodified, under real launchers: on one host they share memory, on several they talk over TCP.

storm counts every delivery while elements migrate; features goes through the rest of the runtime; the zero_copy programs
get and put memory of the other processes.
"""
import os
import shutil
import sys
import time
import unittest

import launchers
import net_lab
import slurm_lab

sys.argv.pop(1)
BIN = os.environ["PERIAPT_BIN"]
FOLDER = os.path.realpath(os.path.join(BIN, "..", "tests", "runtime"))
STORM = os.path.join(FOLDER, "storm")
FEATURES = os.path.join(FOLDER, "features")
ZERO_COPY = [os.path.join(FOLDER, "..", "zero-copy", f"zero_copy_{name}") for name in ("direct", "nocopy", "post")]


class Programs:
    """What is the same under each launcher: start() gives a Job of so many processes."""

    def storm(self, processes, *options, says=None):
        run = self.start(processes, STORM, "24", "30", "3", *options).finish()
        self.assertEqual(run.code, 0, run)
        self.assertIn("each exactly once", run.out, run)
        if says:
            self.assertIn(says, run.out, run)

    def features(self, processes, *options):
        run = self.start(processes, FEATURES, *options).finish()
        self.assertIn("features: all chapters", run.out, run)
        self.assertEqual(run.code, 7, run)  # what it gives to CkExit

    def zero_copy(self, processes, *options):
        for program in ZERO_COPY:
            run = self.start(processes, program, *options).finish()
            self.assertEqual(run.code, 0, run)
            self.assertIn("all well", run.out, run)

    def killed(self, processes, *options):
        """One process is killed: the others end, and one of them says why."""
        job = self.start(processes, STORM, "24", "100000000", "3", *options)
        try:
            end = time.monotonic() + launchers.PATIENCE
            while len(self.pids()) < processes:
                self.assertLess(time.monotonic(), end, "the processes did not come up")
                time.sleep(0.05)
            time.sleep(1)
            pids = self.pids()
            os.kill(pids[-1], 9)
            run = job.finish()
            self.assertNotEqual(run.code, 0, run)
            self.assertEqual(launchers.gone(pids), [], run)
            return run
        finally:
            if job.process.poll() is None:
                os.killpg(job.process.pid, 9)
            for pid in self.pids():
                os.kill(pid, 9)

    @staticmethod
    def pids():
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if os.path.realpath(words[0]) == STORM.encode() and b"100000000" in words:
                found.append(int(pid))
        return sorted(found)


class Hydra(Programs, unittest.TestCase):
    def setUp(self):
        if shutil.which("mpiexec.hydra") is None:
            self.skipTest("there is no mpiexec.hydra on this machine")

    def start(self, processes, *words):
        return launchers.Job(["mpiexec.hydra", "-n", processes, *words])

    def test_one_host_shares_memory(self):
        self.storm(3, says="3 PEs in 3 processes of 1, ")
        self.storm(2, "+ppn", "2")
        self.features(2, "+p4")
        self.zero_copy(2, "+ppn", "2")
        self.zero_copy(3, "+noCMAForZC")

    def test_over_a_transport(self):
        self.storm(3, "+transports", "tcp", says="on 3 hosts")
        self.storm(2, "+ppn", "2", "+no-shared-memory", "+transports", "shm", says="on 2 hosts")

    def test_a_process_that_is_killed(self):
        self.killed(3)

    def test_a_layout_that_does_not_fit(self):
        run = self.start(3, STORM, "+p4").finish()
        self.assertNotEqual(run.code, 0, run)
        self.assertEqual(run.err.count("4 is not a multiple of 3"), 1, run)  # all know it, one says it


class OpenMpi(Programs, unittest.TestCase):
    def setUp(self):
        if shutil.which("mpirun.openmpi") is None:
            self.skipTest("there is no mpirun.openmpi on this machine")

    def start(self, processes, *words):
        return launchers.Job(["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", processes, *words])

    def test_one_host_shares_memory(self):
        self.storm(3, says="3 PEs in 3 processes of 1, ")
        self.features(2, "+ppn", "2")


class InLab(Programs):
    """... in a lab of make_lab(), one for all tests of the class."""
    lab = None

    @classmethod
    def setUpClass(cls):
        try:
            cls.lab = cls.make_lab()
        except SystemExit:
            raise unittest.SkipTest("it cannot be made here (see above)") from None

    @classmethod
    def tearDownClass(cls):
        if cls.lab:
            cls.lab.stop()


class Slurm(InLab, unittest.TestCase):
    make_lab = slurm_lab.Lab

    def start(self, processes, *words):
        return self.lab.job(f"-N{min(processes, 4)}", f"-n{processes}", f"--mpi={self.kind}", *words)

    def test_several_nodes(self):
        for self.kind in ("pmi2", "pmix"):
            if not self.lab.offers(self.kind):
                continue
            with self.subTest(self.kind):
                self.storm(4, says="4 PEs in 4 processes of 1 on 4 hosts")
                self.storm(6, "+ppn", "2", says="on 4 hosts")
                self.features(2, "+ppn", "2")

    def test_a_process_that_is_killed(self):
        self.kind = "pmi2"
        run = self.killed(4)
        self.assertIn("cannot be reached any more", run.err)


class Ssh(InLab, unittest.TestCase):
    make_lab = net_lab.Lab

    def start(self, processes, *words):
        return launchers.Job(self.lab.charmrun(f"++n {processes} {' '.join(words)}"))

    def test_four_hosts(self):
        self.storm(4, says="4 PEs in 4 processes of 1 on 4 hosts")
        self.storm(8, "+ppn", "2", says="16 PEs in 8 processes of 2 on 4 hosts")
        self.features(4)
        self.zero_copy(4, "+ppn", "2")

    def test_a_process_that_is_killed(self):
        self.killed(4)


if __name__ == "__main__":
    unittest.main(verbosity=2)
