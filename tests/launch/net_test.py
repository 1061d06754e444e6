#!/usr/bin/env python3
"""Launching over real ssh between four hosts (net_lab.py): charmrun, hydra and Open MPI's mpirun; hosts that die or are
cut off, keys that are refused."""
import os
import shutil
import sys
import unittest

import launchers
import net_lab

PROGRAM = sys.argv.pop(1) + "/world_prog"
LAB = net_lab.Lab(4)


def tearDownModule():
    LAB.stop()


class Net(unittest.TestCase):
    def job(self, command, **variables):
        return launchers.Job(LAB.inside(0, command), **variables)

    def charmrun(self, words, hosts=None, key="user_key", **variables):
        return launchers.Job(LAB.charmrun(f"++quiet {words}", hosts, key), **variables)

    def good(self, run, hosts):
        self.assertEqual(run.code, 0, run)
        self.assertEqual(run.lines, sorted(f"ok {rank} of {len(hosts)} on host {host}" for rank, host in enumerate(hosts)), run)

    def test_charmrun_over_ssh(self):
        self.good(self.charmrun(f"++n 8 {PROGRAM} --rounds 3 --value 4096").finish(), [0, 0, 1, 1, 2, 2, 3, 3])

    def test_charmrun_in_a_tree(self):
        # A tree is made from nine hosts on: each of the four under several names. Heads start the others by ssh from there.
        hosts = [name for i in range(4) for name in (LAB.names[i], LAB.address(i), f"ck{i}-again")]
        self.good(self.charmrun(f"++hierarchical-start ++n 12 {PROGRAM}", hosts=hosts).finish(), range(12))

    def test_the_program_runs_where_the_nodelist_says(self):
        script = LAB.path("where")
        with open(script, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\nhostname\n")
        os.chmod(script, 0o755)
        run = self.charmrun(f"++n 4 {script}").finish()
        self.assertEqual(run.lines, LAB.names, run)

    def idle(self, **variables):
        job = self.charmrun(f"++n 4 {PROGRAM} idle", **variables)
        lines = job.lines_until(4, "idle")
        return job, [int(line.split()[2]) for line in sorted(lines, key=lambda line: int(line.split()[1]))]

    def test_a_host_that_dies(self):
        job, pids = self.idle()
        LAB.kill_host(2)
        try:
            run = job.finish()
            self.assertEqual(run.code, 1, run)
            self.assertIn("lost host ck2 (process 2)", run.err)
            self.assertEqual(launchers.gone(pids), [], run)
        finally:
            LAB.start_sshd(2)

    def test_a_host_that_is_cut_off(self):
        job, pids = self.idle(PERIAPT_HOST_SILENCE=12)
        job.ENDING = 40  # the processes of that host end by themselves
        net_lab.quiet("ip", "-n", LAB.spaces[1], "link", "set", "eth0", "down")
        try:
            run = job.finish()
            self.assertEqual(run.code, 1, run)
            self.assertIn("lost host ck1 (process 1): nothing was heard of it for 12 s", run.err)
            self.assertEqual(launchers.gone(pids), [], run)
        finally:
            net_lab.quiet("ip", "-n", LAB.spaces[1], "link", "set", "eth0", "up")

    def test_the_death_of_charmrun_ends_all_hosts(self):
        job, pids = self.idle()
        # What runs in host 0's name space and was not there before: charmrun, its shells, and the agent of host 0.
        for pid in LAB.processes_on(0):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
                if words[0].endswith(b"charmrun") and b"++agent" not in words:
                    os.kill(pid, 9)
            except (FileNotFoundError, ProcessLookupError):
                pass  # it has ended meanwhile, as a shell of ours may
        job.finish()
        self.assertEqual(launchers.gone(pids), [])

    def refused(self, run, *sentences):
        self.assertEqual(run.code, 1, run)
        self.assertEqual(run.err.count("charmrun: error:"), 1, run)
        for sentence in sentences:
            self.assertIn(sentence, run.err)

    def test_a_key_that_is_refused(self):
        self.refused(self.charmrun(f"++n 4 {PROGRAM}", key="other_key").finish(), "refused the login", "ssh-copy-id")

    def test_an_unreachable_host(self):
        run = self.charmrun(f"++n 2 ++timeout 10 {PROGRAM}", hosts=["ck0", f"{LAB.net}.77"]).finish()
        self.refused(run, f"host {LAB.net}.77 cannot be reached")

    def test_a_name_that_does_not_exist(self):
        self.refused(self.charmrun(f"++n 2 {PROGRAM}", hosts=["ck0", "no-such-host.invalid"]).finish(),
                     "host no-such-host.invalid has no address")

    def test_a_host_without_sshd(self):
        LAB.kill_host(3)
        try:
            self.refused(self.charmrun(f"++n 4 {PROGRAM}").finish(), "host ck3 answers, but has no ssh server")
        finally:
            LAB.start_sshd(3)

    def test_hydra_over_ssh(self):
        if shutil.which("mpiexec.hydra") is None:
            self.skipTest("there is no mpiexec.hydra on this machine")
        for version in ("pmi1", "pmi2"):
            run = self.job(f"mpiexec.hydra -launcher ssh -launcher-exec {LAB.ssh_program()} -hosts {','.join(LAB.names)} -ppn 2 -n 8 "
                           f"{PROGRAM} --rounds 2 --hosts 4", PERIAPT_LAUNCHER=version).finish()
            self.good(run, [0, 0, 1, 1, 2, 2, 3, 3])

    def test_openmpi_over_ssh(self):
        if shutil.which("mpirun.openmpi") is None:
            self.skipTest("there is no mpirun.openmpi on this machine")
        run = self.job(f"mpirun.openmpi --allow-run-as-root --oversubscribe -H {','.join(name + ':2' for name in LAB.names)} -n 8 "
                       f"--mca plm rsh --mca plm_rsh_agent {LAB.ssh_program()} --mca oob_tcp_if_include eth0 "
                       f"--mca plm_rsh_no_tree_spawn 1 {PROGRAM} --rounds 2 --hosts 4").finish()
        self.assertEqual(run.code, 0, run)
        self.assertEqual(len(run.lines), 8, run)


if __name__ == "__main__":
    unittest.main(verbosity=2)
