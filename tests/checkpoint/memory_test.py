#!/usr/bin/env python3
"""kill -9 of processes of a program that keeps checkpoints in memory: it goes on, and ends the same as without.

Usage: memory_test.py LIFE CHARMRUN. LIFE is tests/checkpoint/life.cpp, which is killed where a file says so: while elements work,
while a checkpoint is sized and packed, when it is whole, while it is restored (a death in the middle of a recovery), right
before the end; several times in a run. And from outside, again and again, wherever it is. Before there is a checkpoint, and
when it dies from the same one too often, the run ends with the sentence that it has without checkpoints.
"""
import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIFE = os.path.abspath(sys.argv[1])
CHARMRUN = os.path.abspath(sys.argv[2])
PHASES = 6
WALKERS = 24
LAYOUTS = ["+p4 +ppn 1", "+p4 +ppn 2", "+p8 +ppn 1", "+p4 +ppn 1 +transports tcp", "+p3 +ppn 1 +no-shared-memory +transports shm",
           "+p6 +ppn 2 +transports tcp"]
# On so many hosts of a nodelist, each of which is this one: hosts with memories of their own.
HOSTS_LAYOUTS = ["2 hosts: +p4 ++ppn 1", "3 hosts: +p6 ++ppn 2", "1 hosts: +p3 ++ppn 1", "2 hosts: +p8 ++ppn 2",
                 "10 hosts: +p10 ++ppn 1 ++hierarchical-start"]
HOSTS = ["localhost", "127.0.0.1", "::1"]
SHELL = '#!/bin/sh\nfor command; do :; done\nexec sh -c "$command"\n'  # to hosts of which there are more names
MOST_STARTS = 10  # from one checkpoint, KeptMemory::kStartsMost
OTHERS_MAY_SAY = "; ending the other processes"
BACK = re.compile(r"(?:periapt: process \d+ \(pid \d+, PEs? [\d-]+\)|charmrun: process \d+ on host \S+) was killed by signal "
                  r"9, .*; the run goes back to its checkpoint in memory")


def fail(text: str, output: str) -> None:
    print(f"{text}\n{output}")
    sys.exit(1)


def command_of(folder: Path, seed: int, quiet: int, layout: str, fault: str = "memory", phases: int = PHASES, stop: int = 1) -> list[str]:
    program = [LIFE, str(folder), str(phases), str(seed), str(stop), str(quiet), fault]
    hosts, colon, options = layout.partition(" hosts: ")
    if not colon:
        return [*program, *layout.split()]
    nodelist = folder.with_suffix(".nodes")
    few = int(hosts) <= len(HOSTS)
    names = HOSTS[:int(hosts)] if few else [f"h{number}" for number in range(int(hosts))]
    nodelist.write_text("group main\n" + "".join(f"host {host}\n" for host in names))
    shell = folder.with_suffix(".shell")
    shell.write_text(SHELL)
    shell.chmod(0o755)
    return [CHARMRUN, "++nodelist", str(nodelist), *([] if few else ["++remote-shell", str(shell)]), *options.split(), *program]


def run(command: list[str]) -> tuple[int, str]:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def ends_of(output: str) -> list[str]:
    """The lines with the sums."""
    return [line for line in output.splitlines() if re.match(r"life: -?\d", line)]


def end_of(output: str) -> str:
    found = ends_of(output)
    if len(found) != 1:
        fail(f"{len(found)} ends", output)
    return found[0]


def whole(seed: int, quiet: int, scratch: Path) -> str:
    status, output = run([LIFE, str(scratch / "whole"), str(PHASES), str(seed), "-1", str(quiet), "", "+p2"])
    if status != 0:
        fail(f"seed {seed} without deaths: status {status}", output)
    return end_of(output)


def points(chance: random.Random) -> list[str]:
    """What each run is killed at: names of files."""
    walker = lambda: chance.randrange(WALKERS)
    phase = lambda: chance.randrange(2, PHASES)  # the checkpoint of phase 1 is there
    choices = [lambda: f"work.{phase()}.{walker()}", lambda: f"note.{phase()}.{chance.randrange(2)}",
               lambda: f"pack.{phase()}.{walker()}", lambda: f"size.{phase()}.{walker()}",
               lambda: f"main-pack.{phase()}.0", lambda: f"stored.{chance.randrange(1, PHASES)}.0",
               lambda: f"unpack.{chance.randrange(1, PHASES)}.{walker()}",
               lambda: f"main-unpack.{chance.randrange(1, PHASES)}.0", lambda: f"finish.{PHASES}.0"]
    return [chance.choice(choices)() for _ in range(chance.randrange(2, 7))]


def check_points(number: int, scratch: Path) -> int:
    """Returns how often the run was killed."""
    chance = random.Random(number)
    layouts = [*LAYOUTS, *HOSTS_LAYOUTS]
    layout = layouts[number % len(layouts)]
    seed, quiet = number + 1, number % 3
    folder = scratch / f"points{number}"
    folder.mkdir()
    names = set(points(chance))
    for name in names:
        (folder / name).touch()
    status, output = run(command_of(folder, seed, quiet, layout))
    killed = len(names) - len(list(folder.iterdir()))
    said = f"seed {seed} on {layout}, {' '.join(sorted(names))}"
    if status != 0:
        fail(f"{said}: status {status}", output)
    # Two that die at once are one matter.
    if not min(killed, 1) <= len(BACK.findall(output)) <= killed:
        fail(f"{said}: {killed} deaths, and another number of sentences", output)
    if end_of(output) != whole(seed, quiet, scratch):
        fail(f"{said}: another end", output)
    return killed


def is_program(pid: int) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/exe") == LIFE
    except OSError:
        return False


def children(pid: int) -> list[int]:
    """The processes of the program, below their launcher."""
    try:
        found = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        return [child for child in found if is_program(child)] or \
            [below for child in found for below in children(child)]
    except OSError:
        return []


def check_outside(layout: str, number: int, scratch: Path) -> int:
    """A child is killed every few milliseconds, as often as the run may be sent back. Returns how often."""
    chance = random.Random(number)
    folder = scratch / f"outside{number}"
    folder.mkdir()
    seed = number + 50
    expected = whole(seed, 1, scratch)
    process = subprocess.Popen(command_of(folder, seed, 1, layout), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines, open_files = [], []
    killed = 0
    for line in process.stdout:  # something of the run is under way after each line
        lines.append(line)
        if line.startswith("life: back"):
            with contextlib.suppress(OSError, IndexError):  # it may have ended since
                open_files += filter(None, [len(os.listdir(f"/proc/{process.pid}/fd"))])
                blocked = re.search(r"SigBlk:\s*(\w+)", Path(f"/proc/{children(process.pid)[0]}/status").read_text())[1]
                if int(blocked, 16) >> (signal.SIGTERM - 1) & 1:
                    fail("processes that were started again have SIGTERM blocked", "".join(lines))
        if killed == MOST_STARTS or not line.startswith(("periapt: checkpoint in memory", "life: back")):
            continue
        time.sleep(chance.random() * 0.01)
        alive = children(process.pid)
        if alive:
            try:
                os.kill(chance.choice(alive), signal.SIGKILL)
                killed += 1
            except ProcessLookupError:
                pass
    status = process.wait()
    output = "".join(lines)
    # It may be killed when it has said its end already: then it says it again, or only its status tells of that.
    if set(ends_of(output)) != {expected} or status not in (0, 128 + 9):
        fail(f"killed from outside on {layout}: status {status}, {expected} was to come", output)
    if open_files and max(open_files) > open_files[0]:
        fail(f"files stay open in the parent: {open_files} in turn", output)
    return killed


def check_nothing_yet(scratch: Path, layout: str) -> None:
    folder = Path(tempfile.mkdtemp(dir=scratch))
    (folder / "work.0.5").touch()
    status, output = run(command_of(folder, 3, 1, layout))
    if status != 128 + 9 or "was killed by signal 9" not in output or OTHERS_MAY_SAY not in output or "goes back" in output:
        fail(f"a death before the first checkpoint: status {status}", output)


def check_too_often(scratch: Path, layout: str) -> None:
    """All walkers of a phase: the checkpoint of phase 1 is the last."""
    folder = Path(tempfile.mkdtemp(dir=scratch))
    for walker in range(WALKERS):
        (folder / f"work.2.{walker}").touch()
    status, output = run(command_of(folder, 1, 1, layout))
    if status != 128 + 9 or len(BACK.findall(output)) != MOST_STARTS:
        fail(f"more deaths than are survived: status {status}", output)
    if f"gone back to its checkpoint in memory {MOST_STARTS} times, and got no farther" not in output:
        fail("nothing says why it ends", output)


def check_watchers(scratch: Path, layout: str, stop: int, of_agent: bool, text: str) -> None:
    """What watches the processes is ended, or asked to end, when there is a checkpoint: the run ends, and nothing is left."""
    folder = Path(tempfile.mkdtemp(dir=scratch))
    process = subprocess.Popen(command_of(folder, 1, 1, layout, phases=100000), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True)
    lines, programs = [], []
    for line in process.stdout:
        lines.append(line)
        if line.startswith("periapt: checkpoint in memory") and not programs:
            programs = children(process.pid)
            agents = [int(word) for word in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
            os.kill(agents[-1] if of_agent else process.pid, stop)
    status = process.wait()
    output = "".join(lines)
    if status == 0 or text not in output or "goes back" in output:
        fail(f"signal {stop} for what watches {layout}: status {status}, {text} was to come", output)
    for pid in programs:
        while is_program(pid):  # what is killed takes a moment
            time.sleep(0.01)


def check_mistake(scratch: Path) -> None:
    """A process that ends by a mistake would make it again: the run ends."""
    folder = scratch / "mistake"
    folder.mkdir()
    status, output = run(command_of(folder, 1, 1, "+p4 +ppn 1", "memory, then abort"))
    if status == 0 or "goes back" in output or "life: asked to abort" not in output:
        fail(f"a process that aborts behind a checkpoint: status {status}", output)


def check_no_memory(scratch: Path) -> None:
    """One process has no parent that keeps memory."""
    folder = scratch / "alone"
    folder.mkdir()
    status, output = run(command_of(folder, 1, 1, "+p4"))
    if status != 0 or output.count("CkStartMemCheckpoint() makes no checkpoint in this run") != 1:
        fail(f"in one process: status {status}", output)
    if end_of(output) != whole(1, 1, scratch):
        fail("in one process: another end", output)


def check_partitions(scratch: Path) -> None:
    """There is no checkpoint in memory, and none that charmrun would go on from: what to do instead is said, and works."""
    folder = scratch / "partitions"
    folder.mkdir()
    (folder / "work.3.5").touch()
    status, output = run(command_of(folder, 1, 1, "+p4 +ppn 1 +partitions 2"))
    if status != 128 + 9 or "its partitions would have one memory for all" not in output or BACK.search(output):
        fail(f"kill -9 in a partition: status {status}", output)
    log = scratch / "partitions-log"
    phases = 40
    status, output = run([*command_of(log, 1, 0, "2 hosts: +p4 ++ppn 1 ++recover", "killed", phases, 30), "+partitions", "2"])
    if status != 128 + 9 or "of partitions each has a checkpoint of its own, and only +restart goes on from them" not in output:
        fail(f"++recover with partitions: status {status}", output)
    rest = [str(phases), "1", "-1", "0"]
    _, expected = run([LIFE, str(scratch / "partitions-whole"), *rest, "+p2"])
    status, output = run([LIFE, str(log), *rest, "+restart", str(log), "+p6", "+partitions", "2"])
    if status != 0 or ends_of(output) != [end_of(expected)] * 2:
        fail(f"partitions that are started from their checkpoints: status {status}", output)


def check_kill_file(scratch: Path) -> None:
    folder = scratch / "file"
    folder.mkdir()
    bad = folder / "bad"
    for text, what in [("1 soon\n", "a line in it is not understood: 1 soon"), (None, "cannot be read")]:
        if text:
            bad.write_text(text)
        else:
            bad.unlink()
        status, output = run([*command_of(folder, 1, 1, "+p2 +ppn 1"), "+killFile", str(bad)])
        if status == 0 or what not in output:
            fail(f"+killFile, {what}: status {status}", output)
    # At once, in front of any checkpoint; a process that the run does not have.
    bad.write_text("1 0\n\n7 0\n")
    status, output = run([*command_of(folder, 1, 1, "+p2 +ppn 1"), "+killFile", str(bad)])
    if status != 128 + 9 or "[1] die now." not in output:
        fail(f"+killFile: status {status}", output)


def main() -> None:
    scratch = Path(tempfile.mkdtemp(prefix="periapt-memory-"))
    try:
        for layout in ["+p4 +ppn 1", "2 hosts: +p4 ++ppn 1"]:
            check_nothing_yet(scratch, layout)
            check_too_often(scratch, layout)
            check_watchers(scratch, layout, signal.SIGINT, False, "")
        check_watchers(scratch, "+p4 +ppn 1", signal.SIGKILL, False, "the parent process of this run was killed")
        check_watchers(scratch, "2 hosts: +p4 ++ppn 1", signal.SIGKILL, True, "error: lost host 127.0.0.1")
        check_mistake(scratch)
        check_no_memory(scratch)
        check_partitions(scratch)
        check_kill_file(scratch)
        inside = sum(check_points(number, scratch) for number in range(22))
        outside = sum(check_outside(layout, number, scratch) for number, layout in enumerate([*LAYOUTS[::2], *HOSTS_LAYOUTS[::2]]))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"{inside} deaths at points of 22 runs, {outside} from outside of 6 runs: the same end each time")
    if inside < 22 or outside < 6:
        fail("too few deaths to say anything", "")


main()
