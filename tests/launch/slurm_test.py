#!/usr/bin/env python3
"""World under a real Slurm of four nodes (slurm_lab.py): PMI-1, PMI-2 and PMIx, and srun without any of them."""
import os
import signal
import sys
import unittest

import launchers
import slurm_lab

PROGRAM = sys.argv.pop(1) + "/world_prog"
CHARMRUN = os.environ["PERIAPT_BIN"] + "/charmrun"
LAB = slurm_lab.Lab()


def tearDownModule():
    LAB.stop_with_no_steps_left()


class Slurm(unittest.TestCase):
    def run_on_nodes(self, kind, *arguments, nodes=4, tasks=8, options=(), **variables):
        if not LAB.offers(kind):
            self.skipTest(f"this Slurm has no {kind}")
        return LAB.srun(f"-N{nodes}", f"-n{tasks}", f"--mpi={kind}", *options, PROGRAM, "--hosts", nodes, *arguments,
                        WORLD_VERBOSE=1, **variables)

    def good(self, run, found, count=8):
        self.assertEqual(run.code, 0, run)
        self.assertEqual([line.split(" on ")[0] for line in run.lines], [f"ok {i} of {count}" for i in range(count)], run)
        self.assertIn(f"found: {found}", run.err)

    def test_pmi2_plugin_with_pmi1(self):
        self.good(self.run_on_nodes("pmi2", "--rounds", 2), "PMI-1 (Slurm, job")

    def test_pmi2_plugin_with_pmi2(self):
        self.good(self.run_on_nodes("pmi2", "--rounds", 2, PERIAPT_LAUNCHER="pmi2"), "PMI-2 (Slurm, job")

    def test_pmix(self):
        self.good(self.run_on_nodes("pmix", "--rounds", 2), "OpenPMIx")

    def test_long_values(self):
        for kind, name in (("pmi2", "pmi1"), ("pmi2", "pmi2"), ("pmix", "pmix")):
            self.assertEqual(self.run_on_nodes(kind, "--value", 4096, PERIAPT_LAUNCHER=name).code, 0)

    def test_hosts_are_slurms_nodes(self):
        # Uneven, even and cyclic placements; gethostname() is the same on all of them.
        for kind in ("pmi2", "pmix"):
            for options, expected in ((["--ntasks-per-node=2"], [0, 0, 1, 1, 2, 2, 3, 3]),
                                      (["--ntasks-per-node=2", "-m", "cyclic"], [0, 1, 2, 3, 0, 1, 2, 3])):
                run = self.run_on_nodes(kind, options=options)
                hosts = [int(line.split()[-1]) for line in run.lines]
                self.assertEqual(hosts, expected, run)

    def test_without_pmi_the_copies_are_explained(self):
        run = LAB.srun("-n2", "--mpi=none", PROGRAM)
        self.assertNotEqual(run.code, 0, run)
        self.assertIn("srun started 2 copies of this program, but gives them no way to know each other", run.err)
        self.assertIn("--mpi=pmi2", run.err)

    def test_one_task_without_pmi_is_a_run_of_one(self):
        run = LAB.srun("-n1", "--mpi=none", PROGRAM)
        self.assertEqual(run.lines, ["ok 0 of 1 on host 0"], run)

    def test_a_program_that_a_task_starts_runs_alone(self):
        run = LAB.srun("-n2", "--mpi=pmi2", PROGRAM, "nested")
        self.assertEqual(run.code, 0, run)
        self.assertEqual([line for line in run.lines if "of 1" in line], ["ok 0 of 1 on host 0"] * 2, run)

    def test_abort_ends_all_tasks(self):
        for kind, name in (("pmi2", "pmi1"), ("pmi2", "pmi2"), ("pmix", "pmix")):
            run = self.run_on_nodes(kind, "abort", 2, PERIAPT_LAUNCHER=name)
            self.assertNotEqual(run.code, 0, run)
            self.assertNotIn("ok", run.out)

    def test_a_killed_task_ends_those_that_wait_for_it(self):
        for kind, name in (("pmi2", "pmi1"), ("pmix", "pmix")):
            run = self.run_on_nodes(kind, "kill", 5, options=["--kill-on-bad-exit=1"], PERIAPT_LAUNCHER=name)
            self.assertNotEqual(run.code, 0, run)
            self.assertNotIn("ok", run.out)

    def test_who_waits_for_a_killed_task_says_how_srun_would_end_the_run(self):
        job = LAB.job("-N2", "-n2", "--mpi=pmi2", PROGRAM, "kill", 1, PERIAPT_STARTUP_WATCHDOG=1)
        for line in job.process.stderr:
            if "it waits for" in line:
                break
        os.kill(job.process.pid, signal.SIGTERM)
        job.finish()
        self.assertIn("srun --kill-on-bad-exit=1 ends the others", line)

    def test_a_killed_task_is_not_waited_for_without_end(self):
        for name in ("pmi1", "pmi2"):  # Slurm's PMIx lets them go on, without what the killed one would have put
            run = self.run_on_nodes("pmi2", "kill", 5, PERIAPT_LAUNCHER=name, PERIAPT_STARTUP_TIMEOUT=3)
            self.assertNotEqual(run.code, 0, run)
            self.assertIn("could not meet the others at a fence", run.err)

    def test_who_waits_for_a_killed_task_ends_though_srun_has_gone(self):
        job = LAB.job("-N2", "-n2", "--mpi=pmi2", PROGRAM, "kill", 1, PERIAPT_STARTUP_WATCHDOG=1, PERIAPT_STARTUP_TIMEOUT=6)
        for line in job.process.stderr:
            if "it waits for" in line:
                break
        os.kill(job.process.pid, signal.SIGKILL)
        job.finish()  # looks that nothing is left

    def test_the_end_of_srun_ends_the_tasks(self):
        for kind in ("pmi2", "pmix"):
            job = LAB.job("-N2", "-n2", f"--mpi={kind}", "-u", PROGRAM, "idle")
            pids = [int(line.split()[2]) for line in job.lines_until(2, "idle")]
            os.kill(job.process.pid, signal.SIGTERM)
            job.finish()
            self.assertEqual(launchers.gone(pids), [])

    def test_charmrun_in_an_allocation(self):
        for layout, hosts, count in ((["+p4", "++ppn", "1"], 2, 4), (["++n", "3"], 3, 3), ([], 2, 2)):
            run = LAB.salloc(f"-N{hosts}", CHARMRUN, "++quiet", "++slurm", *layout, PROGRAM, "--", "--hosts", str(hosts), WORLD_VERBOSE=1)
            self.good(run, "charmrun (job", count)

    def test_charmrun_on_one_of_several_nodes_says_so(self):
        for words, said in (([], True), (["++local"], False)):
            run = LAB.salloc("-N2", CHARMRUN, "++quiet", *words, "+p1", PROGRAM)
            self.assertEqual(run.code, 0, run)
            self.assertEqual("the allocation has 2 nodes, and the run uses this one" in run.err, said, run)

    def test_charmrun_without_an_allocation(self):
        run = launchers.run(CHARMRUN, "++slurm", "+p2", PROGRAM)
        self.assertEqual((run.code, run.out), (1, ""), run)
        self.assertIn("++slurm: there is no allocation of Slurm's here", run.err)
        run = launchers.run(CHARMRUN, "++slurm", "++nodelist", "none", "+p2", PROGRAM)
        self.assertEqual(run.code, 1, run)
        self.assertIn("++slurm and ++nodelist exclude each other", run.err)

    def test_the_end_of_charmrun_in_an_allocation_ends_the_processes(self):
        job = LAB.job_of("salloc", "-Q", "-N2", CHARMRUN, "++slurm", "+p2", "++ppn", "1", PROGRAM, "--", "idle")
        pids = [int(line.split()[2]) for line in job.lines_until(2, "idle")]
        os.killpg(job.process.pid, signal.SIGTERM)
        job.finish()
        self.assertEqual(launchers.gone(pids), [])

    def test_the_watchdog_names_hosts_that_wait_and_who_is_missing(self):
        run = self.run_on_nodes("pmi2", "late", 0, 4, options=["--ntasks-per-node=2"], PERIAPT_STARTUP_WATCHDOG=1)
        self.good(run, "PMI-1")
        self.assertRegex(run.err, r"process 1 of 8 has waited for 1 s at fence \d of start-up for process 0 of its own host")
        self.assertRegex(run.err, r"process 2 of 8 has .*: all processes of its host have come; it waits for some of processes 0, 1, ")


if __name__ == "__main__":
    unittest.main(verbosity=2)
