#!/usr/bin/env python3
"""charmrun over several hosts. A stand-in for ssh starts "hosts" on this machine; net_test.py does it with real ones."""
import collections
import os
import re
import shutil
import signal
import sys
import tempfile
import time
import unittest

import launchers

PROGRAM = sys.argv.pop(1) + "/world_prog"
CHARMRUN = os.path.join(os.environ["PERIAPT_BIN"], "charmrun")

# host NAME: what it does. "noisy" prints as a log-in shell may, "deaf" hears of no child, "slow" never answers, "refuses" is ssh without a key.
SHELL = """#!/bin/sh
host=$1; shift
case $host in
  refuses) echo "$host: Permission denied (publickey)." >&2; exit 255;;
  unknown) echo "ssh: Could not resolve hostname $host: Name or service not known" >&2; exit 255;;
  slow) exec sleep 1000;;
  garbage) while :; do echo nonsense; done;;
  deaf) exec sh -c "$(echo "$*" | sed 's/exec /exec env --ignore-signal=CHLD /')";;
  empty) exec sh -c 'exec /no/such/charmrun ++agent';;
  noisy) echo "Welcome to $host"; echo "mail" >&2;;
esac
exec sh -c "$*"
"""


def processes_of(parent):
    """All processes below one."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                if int(file.read().rsplit(")", 1)[1].split()[1]) == parent:
                    found += [int(name)] + processes_of(int(name))
        except OSError:
            pass
    return found


class Charmrun(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="periapt-charmrun-")
        self.addCleanup(shutil.rmtree, self.folder)
        with open(self.path("shell"), "w", encoding="ascii") as file:
            file.write(SHELL)
        os.chmod(self.path("shell"), 0o755)

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, hosts, *words, stdin=None, **variables):
        with open(self.path("hosts"), "w", encoding="ascii") as file:
            file.write("group main\n" + "".join(f"  host {host}\n" for host in hosts))
        command = [CHARMRUN, "++quiet", "++nodelist", self.path("hosts"), "++remote-shell", self.path("shell"), *words]
        return launchers.Job(command, **({"stdin": stdin} if stdin is not None else {}), **variables)

    def run_on(self, hosts, *words, **variables):
        return self.start(hosts, *words, **variables).finish()

    def good(self, run, hosts):
        """hosts: of each rank."""
        self.assertEqual(run.code, 0, run)
        self.assertEqual(run.lines, sorted(f"ok {rank} of {len(hosts)} on host {host}" for rank, host in enumerate(hosts)), run)

    def refused(self, run, *sentences, code=1):
        """One message, in time, and nothing of the program."""
        self.assertEqual(run.code, code, run)
        self.assertEqual(run.err.count("charmrun: error:"), 1, run)
        for sentence in sentences:
            self.assertIn(sentence, run.err)
        self.assertEqual(run.out, "")

    # ---- runs that work

    def test_processes_of_several_hosts_meet(self):
        run = self.run_on(["a", "b", "noisy"], "++n", 6, PROGRAM, "--rounds", 3, "--value", 4096, WORLD_VERBOSE=1)
        self.good(run, [0, 0, 1, 1, 2, 2])
        self.assertIn("found: charmrun (job charmrun-", run.err)
        self.assertNotIn("Welcome", run.out)

    def test_a_host_with_more_cpus_gets_more(self):
        self.good(self.run_on(["a", "b ++cpus 3"], "++n", 8, PROGRAM), [0, 0] + [1] * 6)

    def test_options_behind_the_program_and_batches(self):
        self.good(self.run_on([f"h{i}" for i in range(6)], PROGRAM, "--rounds", 2, "++batch", 2, "+p6"), range(6))

    def test_a_tree_of_starts(self):
        hosts = [f"h{i}" for i in range(20)]
        self.good(self.run_on(hosts, "++hierarchical-start", "++n", 20, PROGRAM, "--rounds", 2), range(20))

    def test_this_host_needs_no_shell(self):
        with open(self.path("hosts"), "w", encoding="ascii") as file:
            file.write("host localhost\n")
        run = launchers.run(CHARMRUN, "++quiet", "++nodelist", self.path("hosts"), "++n", 3, PROGRAM)
        self.good(run, [0, 0, 0])

    def test_children_count_where_the_starter_ignored_them(self):
        self.good(self.run_on(["deaf", "a"], PROGRAM), [0, 1])
        deaf = ["env", "--ignore-signal=CHLD"]
        storm = os.path.join(os.path.dirname(CHARMRUN), "..", "tests", "runtime", "storm")
        run = launchers.run(*deaf, storm, "6", "10", "3", "+p2", "++ppn", "1")
        self.assertEqual(run.code, 0, run)
        for option in ("++local", "++slurm"):  # the other one asks scontrol
            run = launchers.run(*deaf, CHARMRUN, option, "++n", 1, "/bin/true")
            self.assertNotIn("left with status 255", run.err, run)
        with open(self.path("bad.cpp"), "w", encoding="ascii") as file:
            file.write("int f() { return x; }\n")
        charmc = os.path.join(os.path.dirname(CHARMRUN), "charmc")
        run = launchers.run(*deaf, charmc, "-c", self.path("bad.cpp"), "-o", self.path("bad.o"))
        self.assertEqual(run.code, 1, run)  # the compiler's status

    def test_input_goes_to_process_0_and_output_comes_back(self):
        text = "".join(f"line {i} of the input\n" for i in range(200_000))
        job = self.start(["a", "b"], "++n", 4, PROGRAM, "echo", stdin=launchers.subprocess.PIPE)
        run = job.finish(text)
        self.assertEqual(run.code, 0, run.err)
        lines = run.out.splitlines(keepends=True)
        self.assertTrue("".join(line for line in lines if line.startswith("line")) == text)  # whole, in order, once
        self.assertEqual(sum(line.startswith("ok") for line in lines), 4)

    def test_input_that_nobody_reads_does_not_hold_the_run(self):
        job = self.start(["a"], "++n", 2, PROGRAM, stdin=launchers.subprocess.PIPE)
        self.good(job.finish("x" * 5_000_000), [0, 0])

    def test_much_output_arrives_whole(self):
        run = self.run_on(["a", "b"], "++n", 2, self.script("seq 1 100000; echo end >&2"))
        self.assertEqual(run.code, 0, run.err)
        # A line that a process writes in two pieces far apart may be parted by the other's; nothing is lost or doubled.
        expected = "".join(f"{i}\n" for i in range(1, 100001)) * 2
        self.assertEqual(collections.Counter(run.out), collections.Counter(expected))
        self.assertEqual(run.err, "end\nend\n")

    def test_lines_stay_whole_while_the_reader_pauses(self):
        count = 400_000
        script = self.script(f"exec awk -v me=$$ 'BEGIN {{ for (i = 0; i < {count}; ++i) print \"of\", me, \"line\", i, \"end\" }}'")
        job = self.start(["a", "b"], "++n", 2, script)
        time.sleep(4)  # more than charmrun takes for quiet, in which it gives out what is no line yet
        run = job.finish()
        self.assertEqual(run.code, 0, run.err)
        lines = run.out.splitlines()
        torn = [line for line in lines if not re.fullmatch(r"of \d+ line \d+ end", line)]
        self.assertEqual(torn, [])
        self.assertEqual(len(lines), 2 * count)

    def script(self, text):
        with open(self.path("script"), "w", encoding="ascii") as file:
            file.write("#!/bin/sh\n" + text + "\n")
        os.chmod(self.path("script"), 0o755)
        return self.path("script")

    def test_a_runscript_starts_the_program(self):
        script = self.script('export SET_BY_SCRIPT=1; echo "script $1" | sed "s:/.*/::"; exec "$@"')
        run = self.run_on(["a", "b"], "++n", 2, "++runscript", script, PROGRAM)
        self.assertEqual(run.code, 0, run)
        self.assertEqual(run.lines, ["ok 0 of 2 on host 0", "ok 1 of 2 on host 1", "script world_prog", "script world_prog"], run)

    def test_environment_and_folder_come_along(self):
        run = self.run_on(["a"], "++n", 1, self.script('echo "$FROM_HERE|$PWD"'), FROM_HERE="x y")
        self.assertEqual(run.out, f"x y|{os.getcwd()}\n", run)

    def test_charmrunrc_of_a_host_is_read_before_the_program_starts(self):
        with open(self.path(".charmrunrc"), "w", encoding="ascii") as file:
            file.write('export FROM_HERE="$FROM_HERE and the host"; set -- other words; cat; false\n')
        run = self.run_on(["a"], "++n", 1, self.script('for last; do :; done; echo "$FROM_HERE|$last"'), "a b",
                          FROM_HERE="here", HOME=self.path("."))
        self.assertEqual(run.out, "here and the host|a b\n", run)

    def test_a_program_that_is_missing_is_named_with_a_charmrunrc_too(self):
        with open(self.path(".charmrunrc"), "w", encoding="ascii") as file:
            file.write("true\n")
        run = self.run_on(["a"], "++n", 1, "/nowhere/program", HOME=self.path("."))
        self.refused(run, "No such file or directory", "cannot start /nowhere/program: the shell that has read .charmrunrc says why",
                     "must be on every host", code=127)

    def test_the_secret_is_in_no_command_line_and_no_environment(self):
        job = self.start(["a", "b"], "++n", 2, PROGRAM, "idle")
        job.lines_until(2, "idle")
        for pid in processes_of(job.process.pid) + [job.process.pid]:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            self.assertTrue(all(len(word) < 200 for word in words), words)
            self.assertFalse(any(b"secret" in word.lower() for word in words), words)
            with open(f"/proc/{pid}/environ", "rb") as file:
                self.assertNotIn(b"SECRET", file.read())
        job.process.send_signal(signal.SIGINT)
        job.finish()

    # ---- statuses and ends

    def test_the_status_of_the_program(self):
        run = self.run_on(["a", "b"], "++n", 4, PROGRAM, "exit", 7, 3)
        self.assertEqual(run.code, 7, run)

    def test_abort_names_process_host_and_reason(self):
        run = self.run_on(["a", "b"], "++n", 4, PROGRAM, "abort", 2)
        self.assertEqual(run.code, 9, run)
        self.assertIn("charmrun: process 2 on host b ended the run with status 9: world_prog was asked to abort", run.err)

    def test_a_killed_process_is_named_with_its_host_and_phase(self):
        run = self.run_on(["a", "b"], "++n", 4, PROGRAM, "kill", 3)
        self.assertEqual(run.code, 137, run)
        self.assertRegex(run.err, r"error: process 3 on host b was killed by signal 9, Killed \(kill -9.*\), "
                                  r"(in start-up, before all had met at fence \d|before the run had ended); ending the other")

    def test_a_process_that_leaves_before_it_has_looked_for_the_others(self):
        run = self.run_on(["a", "b"], "++n", 2, self.script("exit 3"))
        self.refused(run, "left with status 3 before it had looked for the other processes", code=3)

    def test_a_process_that_leaves_quietly_is_named(self):
        run = self.run_on(["a", "b"], "++n", 4, PROGRAM, "leave", 1)
        self.refused(run, "process 1 left with status 0 (exit() instead of CkExit()?) while others were working")

    def ended(self, how, hosts=("a", "b")):
        """Starts an idle run, ends it by how(job, pids of processes); all must be gone. (By itself it would never end.)"""
        job = self.start(hosts, "++n", 4, PROGRAM, "idle")
        pids = [int(line.split()[2]) for line in sorted(job.lines_until(4, "idle"))]
        everybody = processes_of(job.process.pid)
        how(job, pids)
        run = job.finish()
        self.assertEqual(launchers.gone(everybody + pids), [], run)
        return run

    def test_ctrl_c(self):
        run = self.ended(lambda job, pids: job.process.send_signal(signal.SIGINT))
        self.assertEqual(run.code, 130, run)

    def test_sigterm(self):
        run = self.ended(lambda job, pids: job.process.send_signal(signal.SIGTERM))
        self.assertEqual(run.code, 143, run)

    def test_charmrun_killed(self):
        run = self.ended(lambda job, pids: job.process.kill())
        self.assertEqual(run.code, -9, run)

    def test_a_process_killed_later(self):
        run = self.ended(lambda job, pids: os.kill(pids[2], signal.SIGKILL))
        self.assertEqual(run.code, 137, run)
        self.assertIn("process 2 on host b was killed by signal 9", run.err)

    def test_the_agent_of_a_host_killed(self):
        def kill_agent(job, pids):
            with open(f"/proc/{pids[3]}/stat", encoding="ascii") as file:
                os.kill(int(file.read().rsplit(")", 1)[1].split()[1]), signal.SIGKILL)
        run = self.ended(kill_agent)
        self.assertEqual(run.code, 1, run)
        self.assertIn("lost host b (processes 2-3): the connection to it, or charmrun's agent there, was cut", run.err)

    def test_a_host_that_falls_silent(self):
        with open(self.path("hosts"), "w", encoding="ascii") as file:
            file.write("host a\nhost b\n")
        job = launchers.Job([CHARMRUN, "++quiet", "++nodelist", self.path("hosts"), "++remote-shell", self.path("shell"), "++n", 4,
                             PROGRAM, "idle"], PERIAPT_HOST_SILENCE=12)
        pids = [int(line.split()[2]) for line in sorted(job.lines_until(4, "idle"))]
        with open(f"/proc/{pids[3]}/stat", encoding="ascii") as file:
            agent = int(file.read().rsplit(")", 1)[1].split()[1])
        os.kill(agent, signal.SIGSTOP)
        run = job.finish()
        self.assertEqual(run.code, 1, run)
        self.assertIn("lost host b (processes 2-3): nothing was heard of it for 12 s", run.err)
        self.assertEqual(launchers.gone([agent] + pids), [])

    def test_suspended_and_continued(self):
        def suspend(job, pids):
            job.process.send_signal(signal.SIGTSTP)
            time.sleep(3)
            self.assertTrue(all(launchers.alive(pid) for pid in pids))
            job.process.send_signal(signal.SIGCONT)
            job.process.send_signal(signal.SIGINT)
        self.assertEqual(self.ended(suspend).code, 130)

    def test_the_time_limit(self):
        run = self.run_on(["a", "b"], "++n", 2, "++timelimit", 2, PROGRAM, "idle")
        self.assertEqual(run.code, 124, run)
        self.assertIn("longer than ++timelimit 2", run.err)

    def test_the_watchdog_names_processes_host_and_phase(self):
        run = self.run_on(["a", "b"], "++n", 4, PROGRAM, "late", 3, 4, PERIAPT_STARTUP_WATCHDOG=1)
        self.good(run, [0, 0, 1, 1])
        self.assertRegex(run.err, r"charmrun: waiting for \d+ s at fence \d of start-up for process 3 \(host b, pid \d+\) is before it")
        self.assertNotIn("process 0", run.err)

    # ---- what cannot be started

    def test_a_refused_key(self):
        self.refused(self.run_on(["a", "refuses"], "++n", 2, PROGRAM), "host refuses refused the login", "ssh-copy-id refuses")

    def test_an_unknown_host(self):
        self.refused(self.run_on(["a", "unknown"], "++n", 2, PROGRAM), "host unknown has no address", "correct the name in the nodelist")

    def test_a_host_that_never_answers(self):
        run = self.run_on(["a", "slow"], "++n", 2, "++timeout", 2, PROGRAM)
        self.refused(run, "host slow did not answer within 2 s", "++timeout")

    def test_a_host_without_charmrun(self):
        self.refused(self.run_on(["a", "empty"], "++n", 2, PROGRAM), "host empty has no program", "the same path")

    def test_a_host_that_prints_without_end(self):
        self.refused(self.run_on(["a", "garbage"], "++n", 2, PROGRAM), "host garbage prints without end")

    def test_a_program_that_is_not_there(self):
        run = self.run_on(["a", "b"], "++n", 2, "/nowhere/program")
        self.refused(run, "cannot start /nowhere/program: No such file or directory", code=127)

    def test_a_shell_that_is_not_there(self):
        with open(self.path("hosts"), "w", encoding="ascii") as file:
            file.write("host a\n")
        run = launchers.run(CHARMRUN, "++quiet", "++nodelist", self.path("hosts"), "++remote-shell", "/no/shell", PROGRAM)
        self.refused(run, "host a: the remote shell does not start: cannot start /no/shell")

    def test_a_nodelist_that_does_not_parse(self):
        self.refused(self.run_on(["a", "b ++cpu 2"], PROGRAM), "line 3: \"++cpu\" is not known")

    def test_a_nodelist_that_is_none(self):
        def given():
            return launchers.run(CHARMRUN, "++nodelist", self.path("list"), "++n", 2, PROGRAM)
        for content, said in ((b"", "there is no host in group main"), (b"\n# nothing\n", "there is no host in group main"),
                              (b"\x7fELF\x02\x01\x01'\0\n\0\xff\n", "line 1: "), (b"host " * 5000, "line 1: ")):
            with open(self.path("list"), "wb") as file:
                file.write(content)
            self.refused(given(), said)
        os.unlink(self.path("list"))
        os.mkdir(self.path("list"))
        self.refused(given(), "it is a folder, not a file")

    def test_a_host_listed_twice(self):
        self.refused(self.run_on(["a", "b", "a"], PROGRAM), "line 4: host a is listed already, in line 2")

    def test_no_nodelist(self):
        self.refused(launchers.run(CHARMRUN, "++nodelist", self.path("none"), PROGRAM), "cannot read the nodelist")

    def test_an_agent_that_gets_nonsense(self):
        run = launchers.run(CHARMRUN, "++agent", text="GET / HTTP/1.1\r\n\r\n" * 10)
        self.assertEqual(run.code, 0, run)
        self.assertIn("not of our launcher's wire", run.out)


if __name__ == "__main__":
    unittest.main(verbosity=2)
