#!/usr/bin/env python3
"""The death of a whole host at each point of a run: four hosts in network name spaces, charmrun over ssh between them. All
that runs on one of them is killed; the others end within seconds, charmrun says which host was lost, and nothing is left.

Usage: host_death_test.py PROGRAM [WORD...]; only points with all of the words in their name run. PROGRAM is death.cpp: on
the host that is to die it stops at its point, having said so in a file, and waits for that.
"""
import os
import re
import sys
import time

from ways import launchers

sys.path.insert(0, os.path.dirname(launchers.__file__))
import net_lab  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])
ONLY = sys.argv[2:]
VICTIM = 1  # the host that dies; charmrun is on host 0
SECONDS = 30  # that the others may take, on a machine with other tests on it
# "connection": its first one, whichever end began it; a process to which all others connect first begins none.
POINTS = ["looking", "found", "fence", "met", "fence:2", "enter", "connection", "small:200", "large:5", "cut:3", "broadcast:9",
          "contribute:9", "leaving:2", "arriving:2", "leave", "finalize"]


def start(lab, point, then, report, options="", **variables):
    """The program on all hosts; on the victim it says in the file `report` that it has come to its point, and does `then`."""
    steps = "4" if point in ("leave", "finalize") else "1000"
    return launchers.Job(
        # (A process at its point waits there for all other runs, and answers no watchdog.)
        lab.charmrun(f"++quiet ++n 4 {PROGRAM} {steps} +watchdog 0 {options}"),
        PERIAPT_TEST_POINT=point, PERIAPT_TEST_VICTIM=lab.names[VICTIM], PERIAPT_TEST_THEN=then, PERIAPT_TEST_REPORT=report,
        PERIAPT_STARTUP_WATCHDOG=0,  # a start that is slow on a busy machine is no message of these tests
        **variables)


def reached(job, report):
    """Does it come to its point?"""
    while not os.path.exists(report) and job.process.poll() is None:
        time.sleep(0.01)
    return os.path.exists(report)


def go(lab, name):
    """A list of what is wrong."""
    wrong, report = [], lab.path("report")
    job = start(lab, name, "stop", report)
    there = reached(job, report)
    begin = time.monotonic()
    lab.kill_host(VICTIM)
    run = job.finish()
    seconds = time.monotonic() - begin
    lab.start_sshd(VICTIM)
    if there:
        os.unlink(report)
    else:
        wrong.append("its point was not reached")
    if run.code == 0:
        wrong.append("status 0")
    if seconds > SECONDS:
        wrong.append(f"it took {seconds:.1f} s")
    # A process may come to the first point before charmrun has heard of its agent: the host is one that never answered then.
    lost = rf"lost host {lab.names[VICTIM]} \(process {VICTIM}\)|host {lab.names[VICTIM]}: the remote shell left"
    if not re.search(lost, run.err):
        wrong.append("nobody says which host was lost")
    if run.err.count("charmrun: error:") != 1:
        wrong.append("not one message of charmrun's")
    print(f"{'FAILED ' if wrong else ''}{name}: status {run.code}, {seconds:.1f} s", flush=True)
    if wrong:
        print("".join(f"    {line}\n" for line in [*wrong, "it printed:", *run.err.splitlines()[:40]]), flush=True)
    return wrong


def main():
    lab = net_lab.Lab(4)
    try:
        failures = [name for name in POINTS if all(word in name for word in ONLY) and go(lab, name)]
    finally:
        lab.stop()
    print(f"{len(failures)} failures {failures if failures else ''}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
