#!/usr/bin/env python3
"""World under MPICH's mpiexec: both PMI versions on PMI_FD, and PMI-1 by PMI_PORT."""
import os
import signal
import sys
import unittest

import launchers

PROGRAM = sys.argv.pop(1) + "/world_prog"
launchers.need("mpiexec.hydra")


def hydra(count, *arguments, options=(), **variables):
    return launchers.run("mpiexec.hydra", *options, "-n", count, PROGRAM, *arguments, WORLD_VERBOSE=1, **variables)


class Hydra(unittest.TestCase):
    def good(self, run, count):
        self.assertEqual(run.code, 0, run)
        self.assertEqual(run.lines, [f"ok {rank} of {count} on host 0" for rank in range(count)], run)

    def test_pmi1_is_taken_first(self):
        run = hydra(4, "--rounds", 2)
        self.good(run, 4)
        self.assertIn("found: PMI-1 (hydra", run.err)

    def test_pmi2_by_name(self):
        run = hydra(4, "--rounds", 2, PERIAPT_LAUNCHER="pmi2")
        self.good(run, 4)
        self.assertIn("found: PMI-2 (hydra", run.err)

    def test_pmi1_by_port(self):
        run = hydra(3, options=["-pmi-port"])
        self.good(run, 3)
        self.assertIn("found: PMI-1", run.err)

    def test_values_longer_than_the_launcher_takes(self):
        for version in ("pmi1", "pmi2"):
            self.good(hydra(4, "--value", 4096, PERIAPT_LAUNCHER=version), 4)

    def test_abort_ends_all(self):
        for version in ("pmi1", "pmi2"):
            run = hydra(4, "abort", 2, PERIAPT_LAUNCHER=version)
            self.assertNotEqual(run.code, 0, run)
            pids = [int(line.split()[2]) for line in run.out.splitlines() if line.startswith("idle")]
            self.assertEqual(launchers.gone(pids), [], run)

    def test_a_process_killed_while_others_wait_for_it_ends_the_run(self):
        for version in ("pmi1", "pmi2"):
            run = hydra(3, "kill", 1, PERIAPT_LAUNCHER=version)
            self.assertNotEqual(run.code, 0, run)
            self.assertNotIn("ok", run.out)

    def test_the_end_of_the_launcher_is_noticed(self):
        job = launchers.Job(["mpiexec.hydra", "-n", 2, PROGRAM, "idle"])
        pids = [int(line.split()[2]) for line in job.lines_until(2, "idle")]
        os.killpg(job.process.pid, signal.SIGKILL)
        job.finish()
        self.assertEqual(launchers.gone(pids), [])

    def test_the_watchdog_names_who_is_waited_for(self):
        for version in ("pmi1", "pmi2"):
            run = hydra(3, "late", 1, 3, PERIAPT_STARTUP_WATCHDOG=1, PERIAPT_LAUNCHER=version)
            self.good(run, 3)
            self.assertRegex(run.err, r"warning: process 0 of 3 has waited for 1 s at fence \d of start-up "
                                      r"for process 1 of its own host")
            self.assertNotIn("warning: process 2", run.err)  # one speaks for the host

    def test_a_process_that_never_comes_is_given_up(self):
        for version in ("pmi1", "pmi2"):
            run = hydra(3, "late", 1, 1000, PERIAPT_STARTUP_TIMEOUT=2, PERIAPT_LAUNCHER=version)
            self.assertNotEqual(run.code, 0, run)
            self.assertNotIn("ok", run.out)

    def test_a_program_that_it_starts_runs_alone(self):
        run = launchers.run("mpiexec.hydra", "-n", 2, "sh", "-c", f"PERIAPT_LAUNCHER=alone {PROGRAM}")
        self.assertEqual(run.lines, ["ok 0 of 1 on host 0"] * 2, run)

    def test_copies_without_any_sign_but_their_parent_are_explained(self):
        hidden = [word for name in ("PMI_FD", "PMI_RANK", "PMI_SIZE", "PMI_PORT", "PMI_ID", "MPI_LOCALNRANKS") for word in ("-u", name)]
        run = launchers.run("mpiexec.hydra", "-n", 2, "env", *hidden, PROGRAM)
        self.assertNotEqual(run.code, 0, run)
        self.assertIn("hydra started at least 2 copies of this program, but gives them no way to know each other", run.err)
        self.assertEqual(run.out, "", run)

    def test_a_launcher_variable_without_its_file_is_explained(self):
        run = launchers.run(PROGRAM, PMI_FD=77, PMI_RANK=0, PMI_SIZE=2)
        self.assertEqual(run.code, 4, run)
        self.assertIn("PMI_FD=77 is not an open file of this process", run.err)

    def test_a_port_where_nobody_listens_is_explained(self):
        run = launchers.run(PROGRAM, PMI_PORT="127.0.0.1:1", PMI_ID=0)
        self.assertEqual(run.code, 4, run)
        self.assertIn("can't connect to 127.0.0.1:1", run.err)

    def test_an_unknown_name_of_a_launcher_is_refused(self):
        run = launchers.run(PROGRAM, PERIAPT_LAUNCHER="hydra")
        self.assertEqual(run.code, 4, run)
        self.assertIn("PERIAPT_LAUNCHER=hydra is not known; there are alone,", run.err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
