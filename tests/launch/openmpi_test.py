#!/usr/bin/env python3
"""World under Open MPI's mpirun, which offers PMIx."""
import os
import signal
import sys
import unittest

import launchers

PROGRAM = sys.argv.pop(1) + "/world_prog"
launchers.need("mpirun.openmpi")
if launchers.run(PROGRAM, PMIX_NAMESPACE="x", PMIX_RANK=0).err.find("built without") >= 0:
    launchers.skip("Periapt was built without PMIx's headers (libpmix-dev)")


def mpirun(count, *arguments, **variables):
    return launchers.Job(["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", count, PROGRAM, *arguments],
                         WORLD_VERBOSE=1, **variables)


class OpenMpi(unittest.TestCase):
    def test_pmix_is_found(self):
        run = mpirun(4, "--rounds", 3, "--value", 4096).finish()
        self.assertEqual(run.code, 0, run)
        self.assertEqual(run.lines, [f"ok {rank} of 4 on host 0" for rank in range(4)], run)
        self.assertIn("found: OpenPMIx", run.err)
        self.assertIn("Open MPI", run.err)

    def test_abort_ends_all(self):
        run = mpirun(3, "abort", 1).finish()
        self.assertEqual(run.code, 9, run)
        self.assertNotIn("ok", run.out)

    def test_a_process_killed_while_others_wait_for_it_ends_the_run(self):
        run = mpirun(3, "kill", 1).finish()
        self.assertNotEqual(run.code, 0, run)
        self.assertNotIn("ok", run.out)

    def test_the_end_of_the_launcher_is_noticed(self):
        job = mpirun(2, "idle")
        pids = [int(line.split()[2]) for line in job.lines_until(2, "idle")]
        os.kill(job.process.pid, signal.SIGKILL)
        job.finish()
        self.assertEqual(launchers.gone(pids), [])

    def test_the_watchdog_names_who_is_waited_for(self):
        run = mpirun(3, "late", 1, 3, PERIAPT_STARTUP_WATCHDOG=1).finish()
        self.assertEqual(run.code, 0, run)
        self.assertRegex(run.err, r"process 0 of 3 has waited for 1 s at fence \d of start-up for process 1 of its own host")

    def test_a_process_that_never_comes_is_given_up(self):
        run = mpirun(3, "late", 1, 1000, PERIAPT_STARTUP_TIMEOUT=2).finish_launcher(PROGRAM)
        self.assertNotEqual(run.code, 0, run)
        self.assertIn("could not meet the others at a fence", run.err)

    def test_copies_that_cannot_reach_its_pmix_are_explained(self):
        run = launchers.run("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", 2, "env", "-u", "PMIX_RANK", PROGRAM)
        self.assertNotEqual(run.code, 0, run)
        self.assertIn("Open MPI's mpirun started 2 copies of this program", run.err)

    def test_a_launcher_that_is_not_there_is_explained(self):
        run = launchers.run(PROGRAM, PMIX_NAMESPACE="gone", PMIX_RANK=0)
        self.assertEqual(run.code, 4, run)
        self.assertIn("there is a launcher, but no way to it: PMIx: PMIx_Init failed", run.err)

    def test_a_library_that_cannot_be_loaded_is_named(self):
        run = launchers.run(PROGRAM, PMIX_NAMESPACE="gone", PMIX_RANK=0, PERIAPT_LIBPMIX=__file__)
        self.assertEqual(run.code, 4, run)
        self.assertIn("PMIx", run.err)  # the system's own library is tried after the one named


if __name__ == "__main__":
    unittest.main(verbosity=2)
