#!/usr/bin/env python3
"""The cable of a host is cut at each point of a run: no packet comes or goes any more, and no process is told. Four hosts in
network name spaces, charmrun over ssh between them. Every run ends within the time that is documented (docs/launching.md:
PERIAPT_HOST_SILENCE, or +net-timeout where that is shorter), on both sides of the cut, with one message that says which host
is missing, a status other than 0, and nothing left.

Usage: host_cut_test.py PROGRAM [WORD...]; only runs with all of the words in their name are made. PROGRAM is death.cpp:
on the host that is cut off it waits at its point until the cable is cut, and goes on then. All runs wait for the same cut.
"""
import os
import re
import sys
import time
from functools import partial

from ways import launchers

sys.path.insert(0, os.path.dirname(launchers.__file__))
import net_lab  # noqa: E402
from host_death_test import POINTS, PROGRAM, VICTIM, reached, start  # noqa: E402

ONLY = sys.argv[2:]
SILENCE, NET_TIMEOUT = 9, 4  # seconds
STARTING_AT_ONCE = 5
MORE = 30  # that may pass beyond them, on a machine with many runs on it
UNDER_WAY = ["small:200", "large:5", "broadcast:9", "contribute:9"]  # points at which all hosts are connected


class Run:
    """A run on its way to its point. `timeout`: +net-timeout, which then ends it; else charmrun does."""

    def __init__(self, lab, point, timeout=None, lost=VICTIM, kind=""):
        self.name = (f"{point}, +net-timeout {timeout}" if timeout else point) + kind
        self.timeout, self.lost = timeout, lost
        self.report = lab.path(re.sub(r"\W", "-", self.name))
        self.job = start(
            lab, point, "wait", self.report, f"+net-timeout {timeout}" if timeout else "",
            PERIAPT_HOST_SILENCE=2 * SILENCE if timeout else SILENCE)
        self.job.ENDING = 3 * SILENCE + MORE  # the cut-off side ends by itself

    def go_on(self):
        with open(self.report + ".go", "w", encoding="ascii"):
            pass

    def end(self, cut_at, came):
        """What is wrong."""
        wrong = [] if came else ["its point was not reached"]
        try:
            run = self.job.finish()
        except AssertionError as error:
            return [str(error)]
        end = self.job.begin + run.seconds
        limit = (self.timeout or SILENCE) + MORE
        if run.code == 0:
            wrong.append("status 0")
        if end - cut_at > limit:
            wrong.append(f"it took {end - cut_at:.1f} s")
        said = (rf"process {self.lost} .*has not answered for {self.timeout} s \(\+net-timeout\)" if self.timeout
                else rf"lost host ck{VICTIM} \(process {VICTIM}\): nothing was heard of it for {SILENCE} s")
        if not re.search(said, run.err):
            wrong.append("nobody says which host is missing")
        told = len(re.findall(r"^(?:charmrun: (?!still waiting)|periapt: )", run.err, re.MULTILINE))
        if told != 1:
            wrong.append(f"{told} messages instead of one")
        print(f"{'FAILED ' if wrong else ''}{self.name}: status {run.code}, {end - cut_at:.1f} s after the cut", flush=True)
        return wrong + ["it printed:", *run.err.splitlines()[:30]] if wrong else []


def all_ended(runs, cut_at, there):
    failures = []
    for run, came in zip(runs, there):
        if wrong := run.end(cut_at, came):
            failures.append(run.name)
            print("".join(f"    {line}\n" for line in wrong), flush=True)
    return failures


def at_their_points(runs):
    """Starts runs, a few at a time as each makes three logins, and waits until each has come to its point: the runs, and which of
    them have."""
    started, there = [], []
    for run in runs:
        started.append(run())
        if len(started) % STARTING_AT_ONCE == 0:
            there += [reached(one.job, one.report) for one in started[len(there):]]
    return started, there + [reached(one.job, one.report) for one in started[len(there):]]


def given_up(lab, limit):
    """Waits until no process of the program is left on any host, at most until `limit`: Run.end() tells then what is wrong."""
    def is_program(pid):
        try:
            return os.path.samefile(f"/proc/{pid}/exe", PROGRAM)
        except OSError:
            return False

    while time.monotonic() < limit and any(is_program(pid) for host in range(len(lab.names)) for pid in lab.processes_on(host)):
        time.sleep(0.1)


def parted(lab):
    """The network falls into two parts of two hosts each, and is whole again when all have given up."""
    net_lab.quiet("ip", "-n", lab.bridge, "link", "add", "br1", "type", "bridge")
    net_lab.quiet("ip", "-n", lab.bridge, "link", "set", "br1", "up")
    runs, there = at_their_points(partial(Run, lab, point, NET_TIMEOUT, lost="[23]", kind=", parted") for point in UNDER_WAY)
    for host in (2, 3):
        net_lab.quiet("ip", "-n", lab.bridge, "link", "set", f"v{host}", "master", "br1")
    cut_at = time.monotonic()
    for run in runs:
        run.go_on()
    # Not a time: what is whole again before the last silence has ended brings one back that others have given up.
    given_up(lab, cut_at + NET_TIMEOUT + MORE)
    for host in (2, 3):
        net_lab.quiet("ip", "-n", lab.bridge, "link", "set", f"v{host}", "master", "br0")
    return runs, all_ended(runs, cut_at, there)


def main():
    lab = net_lab.Lab(4)
    failures = []
    try:
        # Last those whose processes miss each other soonest: they wait at their points the shortest.
        wanted = [(point, None) for point in POINTS] + [(point, NET_TIMEOUT) for point in UNDER_WAY]
        runs, there = at_their_points(partial(Run, lab, point, timeout) for point, timeout in wanted
                                      if all(word in f"{point} {timeout}" for word in ONLY))
        net_lab.quiet("ip", "-n", lab.bridge, "link", "set", f"v{VICTIM}", "nomaster")
        cut_at = time.monotonic()
        for run in runs:
            run.go_on()
        failures = all_ended(runs, cut_at, there)
        net_lab.quiet("ip", "-n", lab.bridge, "link", "set", f"v{VICTIM}", "master", "br0")
        if all(word in "parted" for word in ONLY):
            more, failed = parted(lab)
            runs += more
            failures += failed
    finally:
        lab.stop()
    print(f"{len(runs)} runs, {len(failures)} failures {failures if failures else ''}")
    sys.exit(1 if failures else 0)


main()
