#!/usr/bin/env python3
"""Runs for which this machine has too little: no room on a disk, limits of a process that are too low, under every launcher.

Usage: scarce_test.py BAD STORM NBODY DEATH [WORD...]; only cases with one of the words in their name run. Each case: one message
with the words, a status other than 0, nothing left: no process, no file of half a content. The full disks are small file
systems in a mount name space of this test's own, which needs root.
"""
import os
import re
import subprocess
import sys
import time

import ways
from ways import launchers

BAD, STORM, NBODY, DEATH = (os.path.abspath(path) for path in sys.argv[1:5])
RESULTS = ways.Results(sys.argv[5:])
CHARMC = os.path.join(os.environ["PERIAPT_BIN"], "charmc")
OURS = re.compile(r"^(?:periapt: fatal error|periapt: process \d|charmrun: error:|charmc: |nbody: )", re.MULTILINE)
FULL = ["No space left on device"]
FILLING = "filling"  # what fills a disk


def failed_with(run, words, blocks=OURS):
    """Of a run that must fail: status, text and what is wrong."""
    status, text, wrong = run.finish()
    if status == 0:
        wrong.append("status 0")
    wrong += [f"does not say {word!r}" for word in words if not re.search(word, text)]
    if len(blocks.findall(text)) != 1:
        wrong.append(f"{len(blocks.findall(text))} messages instead of one")
    return status, text, wrong


def runs_or_says(run, words):
    """Of a run that may go well: status, text and what is wrong if it does not."""
    status, text, wrong = run.finish()
    if status != 0:
        wrong += [f"does not say {word!r}" for word in words if not re.search(word, text)]
    if len(OURS.findall(text)) != (status != 0):
        wrong.append(f"{len(OURS.findall(text))} messages")
    return status, text, wrong


class Disk:
    """A small file system."""

    def __init__(self, folder, kilobytes=128):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", folder], check=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def fill(self):
        with open(self.path(FILLING), "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass

    def left(self):
        return sorted(set(os.listdir(self.folder)) - {FILLING})

    def close(self):
        subprocess.run(["umount", self.folder], check=True)


def full_disks(here):
    disk = Disk(here.path("disk"))
    disk.fill()
    prints = [way for way in here.all if not way.command or way.name == "charmrun"]  # others' launchers print themselves
    prints += [ways.Way("by itself", [], ["+p2"]), ways.Way("by itself, shared memory", [], ["+p4", "+ppn", "2"]),
               ways.Way("simulated", [], ["+sim", "nodes=2"])]
    for way in filter(lambda way: RESULTS.wanted(f"full disk, output, {way.name}"), prints):
        with open(disk.path("log"), "wb") as log:
            run = ways.Run(way.words(BAD, "code 0"), stdout=log)
            status, text, wrong = failed_with(run, [*FULL, "standard output|what the processes print"])
        RESULTS.report(f"full disk, output, {way.name}", status, text, wrong)
        os.unlink(disk.path("log"))
    cases = {
        "cost file": ([BAD, "code 0", "+p2", "+ppn", "1", "+transports", "tcp", "+cost-file", disk.path("costs")], OURS),
        "report of a simulation": ([BAD, "code 0", "+sim", f"nodes=2,quiet=1,json={disk.path('sim.json')}"], OURS),
        "picture": ([NBODY, "-n", "64", "--steps", "1", "--frames", "1", "-o", disk.path("x"), "+p2"], OURS),
        "snapshot": ([NBODY, "-n", "64", "--steps", "1", "--snapshots", "1", "-o", disk.path("x"), "+p2"], OURS),
        "translation": (["sh", "-c", f"cd {disk.folder} && exec {CHARMC} {os.path.dirname(os.path.abspath(__file__))}/bad.ci"], OURS),
        # The compiler's own words.
        "object": ([CHARMC, "-c", os.path.join(os.path.dirname(os.path.abspath(__file__)), "points.cpp"), "-I",
                    os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."), "-std=c++20", "-o", disk.path("x.o")],
                   re.compile("No space left on device")),
    }
    for name, (words, blocks) in cases.items():
        if not RESULTS.wanted(f"full disk, {name}"):
            continue
        status, text, wrong = failed_with(ways.Run(words), FULL, blocks)
        if left := disk.left():
            wrong.append(f"left on the disk: {left}")
        RESULTS.report(f"full disk, {name}", status, text, wrong)
    disk.close()


def a_disk_that_fills_during_the_run(here):
    """The work is done and the status is its own; that the costs were not kept is told once, by one of the processes."""
    case = "disk that fills during the run, cost file"
    if not RESULTS.wanted(case):
        return
    disk = Disk(here.path("disk"))
    run = ways.Run([DEATH, "60", "+p3", "+ppn", "1", "+transports", "tcp", "+cost-file", disk.path("costs")])
    while "PEs in" not in run.text() and run.process.poll() is None:
        time.sleep(0.01)
    disk.fill()
    status, text, wrong = run.finish()
    if status != 0:
        wrong.append("the work counts for nothing")
    if len(re.findall("could not be kept in .*No space left on device", text)) != 1:
        wrong.append("not one warning")
    if disk.left():
        wrong.append(f"left on the disk: {disk.left()}")
    disk.close()
    RESULTS.report(case, status, text, wrong)


def full_shared_memory(here):
    """Message memory has no name in a file system: /dev/shm may be full, or not there."""
    cases = ["+p4 +ppn 2", "+p4 +ppn 2 +no-shared-memory +transports shm"]
    if not any(RESULTS.wanted(f"full /dev/shm, {line}") for line in cases):
        return
    disk = Disk("/dev/shm", 16)
    disk.fill()
    for line in filter(lambda line: RESULTS.wanted(f"full /dev/shm, {line}"), cases):
        status, text, wrong = ways.Run([STORM, "24", "20", "3", *line.split()]).finish()
        if status != 0 or "each exactly once" not in text:
            wrong.append("it did not run")
        RESULTS.report(f"full /dev/shm, {line}", status, text, wrong)
    disk.close()


# A limit, as prlimit says it, and what must be told.
ADDRESSES = ("--as=157286400", ["address space", "ulimit -v"])
SIZES = ("--fsize=1048576", ["file sizes", "ulimit -f"])  # of memory files too, where processes of a host share memory
# Launchers' own libraries in the process need some files themselves, and say so themselves.
FILES = ("--nofile=7", ["Too many open files", "ulimit -n"])
PROCESSES = ("--nproc=3", ["could not start process", "ulimit -u"])


def limits(here):
    script = here.path("limited")
    with open(script, "w", encoding="ascii") as file:
        file.write(f'#!/bin/sh\nexec prlimit "$PERIAPT_TEST_LIMIT" {BAD} "$@"\n')
    os.chmod(script, 0o755)

    def limited(way, limit):
        return ways.Run(way.words(script, "code 0"), environment={**way.environment, "PERIAPT_TEST_LIMIT": limit})

    shared = ways.Way("by itself, shared memory", [], ["+p4", "+ppn", "2"])
    for way in [shared, *here.all]:
        cases = {}
        if "+ppn" in way.options:  # a process of one PE that shares no memory can do with little
            cases["address space"] = ADDRESSES
        if way.name in (shared.name, "hydra", "Open MPI"):
            cases["files' sizes"] = SIZES
        if way.name in ("by itself, tcp", "charmrun"):
            cases["open files"] = FILES
        for name, (limit, said) in cases.items():
            if RESULTS.wanted(case := f"limit of {name}, {way.name}"):
                RESULTS.report(case, *failed_with(limited(way, limit), said))
        if RESULTS.wanted(case := f"no locked memory, {way.name}"):  # which no transport here needs
            status, text, wrong = limited(way, "--memlock=0").finish()
            RESULTS.report(case, status, text, wrong + (["it did not run"] if status != 0 else []))
    for options in (["+p1"], ["+p2"], ["+p2", "+ppn", "1", "+transports", "tcp"]):
        for megabytes in (90, 120, 150, 200, 300, 1000):
            case = f"limit of address space, {' '.join(options)}, {megabytes} MB"
            if RESULTS.wanted(case):
                RESULTS.report(case, *runs_or_says(ways.Run(["prlimit", f"--as={megabytes << 20}", BAD, "code 0", *options]), ADDRESSES[1]))
    for descriptors in range(4, 14):  # whichever of the calls that take one is the first without
        for options in (["+p2"], ["+p2", "+ppn", "1", "+transports", "tcp"]):
            if RESULTS.wanted(case := f"limit of open files, {' '.join(options)}, {descriptors}"):
                run = ways.Run(["prlimit", f"--nofile={descriptors}", BAD, "code 0", *options])
                RESULTS.report(case, *runs_or_says(run, FILES[1]))
    # Root has no such limit. It counts all processes of a user on the machine, so this run has a user of its own.
    user = str((1 << 30) + os.getpid())
    as_user = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    if subprocess.run([*as_user, "test", "-x", BAD], check=False).returncode != 0:
        print("not tried: a limit of processes (other users may not execute the program)")
        return
    for options in (["+p8", "+ppn", "1"], ["+p8", "+ppn", "1", "+transports", "tcp"]):
        case = f"limit of processes, {' '.join(options)}"
        if RESULTS.wanted(case):
            run = ways.Run([*as_user, "prlimit", PROCESSES[0], BAD, "code 0", *options])
            RESULTS.report(case, *failed_with(run, PROCESSES[1]))


def no_port_to_choose():
    """In a network of its own, connections hold all ports that the kernel chooses from, as they do for a minute after their end."""
    case = "every port that the kernel chooses from is taken"
    if not RESULTS.wanted(case):
        return
    own_network = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    ports = "/proc/sys/net/ipv4/ip_local_port_range"
    tried = subprocess.run([*own_network, "sh", "-c", f"echo 40000 40063 >{ports}"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        print(f"not tried: {case} (no network of its own: {tried.stderr.strip()})")
        return
    taker = "\n".join([
        "import os, socket, sys",
        f"open('{ports}', 'w').write('40000 40063')",
        "listener = socket.create_server(('127.0.0.1', 50000), backlog=100)",
        "taken = []",
        "try:",
        "    while True: taken.append(socket.create_connection(('127.0.0.1', 50000)))",
        "except OSError: pass",
        "assert len(taken) == 64, len(taken)",
        "sys.exit(os.spawnv(os.P_WAIT, sys.argv[1], sys.argv[1:]))",
    ])
    storm = [STORM, "6", "10", "13", "+p3", "+ppn", "1", "+transports", "tcp"]
    run = ways.Run([*own_network, sys.executable, "-c", taker, *storm])
    status, text, wrong = run.finish()
    RESULTS.report(case, status, text, wrong + ([] if status == 0 and "each exactly once" in text else ["it did not run"]))


def main():
    if os.geteuid() != 0:
        launchers.skip("file systems are mounted by root only")
    if os.environ.pop("PERIAPT_TEST_OWN_MOUNTS", None) is None:
        os.environ["PERIAPT_TEST_OWN_MOUNTS"] = "1"
        own_mounts = ["unshare", "--mount", "--propagation", "private"]
        tried = subprocess.run([*own_mounts, "true"], capture_output=True, text=True, check=False)
        if tried.returncode != 0:
            launchers.skip(f"no mount name space can be made here: {tried.stderr.strip()}")
        os.execvp("unshare", [*own_mounts, sys.executable, *sys.argv])
    here = ways.Ways(slurm=False)  # as hydra's, and to start it takes as long as all of this
    try:
        full_disks(here)
        a_disk_that_fills_during_the_run(here)
        full_shared_memory(here)
        limits(here)
        no_port_to_choose()
    finally:
        here.close()
    RESULTS.exit()


main()
