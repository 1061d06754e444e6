#!/usr/bin/env python3
"""Shrinking and expanding a run by requests: it goes on with the PEs that were asked for, prints what it prints without them,
ends with its own status, and clients find it where it was. What cannot be done is refused with a reason, and the run goes on.

Usage: resize_test.py BREATHE CHARMRUN. BREATHE is tests/resize/breathe.cpp.
"""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from client import Program, expect, failures

BREATHE = os.path.abspath(sys.argv[1])
CHARMRUN = os.path.abspath(sys.argv[2])
ROUNDS = 6
STATUS = 7
# Layout; behind each of the first rounds the PEs that are asked for, and whether the run can have them.
RUNS = [("+p4", [(2, True), (6, True), (1, True), (3, True)]),
        ("+p1", [(4, True), (2, True)]),
        ("+p4 ++ppn 1", [(2, True), (1, True), (5, True), (5, True)]),
        ("+p4 ++ppn 2", [(3, False), (2, True), (8, True), (4, True)]),
        ("+p3 +ppn 1 +transports tcp", [(2, True), (1, True), (4, True)]),
        ("+p4 +ppn 2 +balancer GreedyLB +balancer RotateLB", [(2, True), (6, True)]),
        ("+p4 +balancer DistributedLB +LBCentPE 1", [(2, True), (1, True), (3, True)]),
        ("2 hosts: +p4 ++ppn 1", [(2, True), (1, True), (6, True)]),
        ("2 hosts: +p4", [(2, True), (5, False), (8, True)]),
        ("1 hosts: +p2 ++ppn 2", [(4, True), (3, False), (2, True)]),
        ("1 hosts: +p2 ++ppn 2", [(3, False), (4, True)])]
HOSTS = ["localhost", "127.0.0.1"]


def bitmap(now, pes):
    return bytes(1 if pe < pes else 0 for pe in range(now)) + struct.pack("=i", pes) + b"\0"


def sums(text):
    return re.findall(r"^breathe: round (\d+), sum (-?\d+), ", text, re.MULTILINE)


def pes_of_rounds(text):
    return [int(pes) for pes in re.findall(r"^breathe: round \d+, .* (\d+) PEs$", text, re.MULTILINE)]


def command_of(folder, layout, base=None):
    hosts, colon, options = layout.partition(" hosts: ")
    program = [BREATHE, str(ROUNDS), str(folder), "++server"]
    if not colon:
        return [*program, *layout.split()]
    nodelist = folder / "nodes"
    nodelist.write_text("group main\n" + "".join(f"host {host}\n" for host in HOSTS[:int(hosts)]))
    return [CHARMRUN, "++nodelist", str(nodelist), *options.split(), *program, "+shrinkexpand_basedir", str(base or folder)]


class Run(Program):
    """Waits behind each round until it is let go on."""

    def __init__(self, layout, base=None, files=()):
        self.folder = Path(tempfile.mkdtemp())
        for name in files:
            (self.folder / name).touch()
        for number in range(1, ROUNDS):
            (self.folder / f"wait.{number}").touch()
        self.layout = layout
        super().__init__(command_of(self.folder, layout, base), "breathe: round 1")

    def go_on(self, number):
        (self.folder / f"wait.{number}").unlink()
        self.wait_for(f"breathe: round {number + 1},")

    def finish(self, from_round):
        for number in range(from_round, ROUNDS):
            (self.folder / f"wait.{number}").unlink()
        expect(f"{self.layout}: status", self.wait(), STATUS)
        expect(f"{self.layout}: files that are left", sorted(set(os.listdir(self.folder)) - {"nodes"}), [])
        shutil.rmtree(self.folder)


def check(layout, wishes, whole):
    run = Run(layout)
    now = pes_of_rounds(run.text)[0]
    wanted = [now]
    for number, (pes, possible) in enumerate(wishes, 1):
        answer = run.ask_in_background("set_bitmap", 0, bitmap(now, pes))
        if possible and pes != now:
            run.wait_for(f"set_bitmap: {pes} PEs in place of {now}")
            now = pes
        else:
            answer()
        run.go_on(number)
        said = answer()
        expect(f"{layout}, {pes} PEs: answered", said is not None and (said == b"") == possible, True)
        wanted.append(now)
    run.finish(len(wishes) + 1)
    expect(f"{layout}: sums", sums(run.text), whole)
    expect(f"{layout}: PEs", pes_of_rounds(run.text), wanted + [now] * (ROUNDS - len(wanted)))
    expect(f"{layout}: what it says of its server", run.text.count("ccs: Server IP"), 1)
    expect(f"{layout}: ends", run.text.count("breathe: the end"), 1)
    if failures:
        print(run.text)
    print(f"{layout}: {len(failures)} failures so far", flush=True)


def killed_at_its_end(whole):
    """A process that is killed when the checkpoint for the resize is there: the run goes back to that, and has the PEs that
    were asked for."""
    run = Run("+p4 ++ppn 1")
    (run.folder / "die").touch()
    answer = run.ask_in_background("set_bitmap", 0, bitmap(4, 2))
    run.wait_for("set_bitmap: 2 PEs in place of 4")
    run.go_on(1)
    expect("killed at its end: answered", answer(), b"")
    run.finish(2)
    expect("killed at its end: told", "the run goes back to its checkpoint in memory" in run.text, True)
    expect("killed at its end: sums", sums(run.text), whole)
    expect("killed at its end: PEs", pes_of_rounds(run.text), [4] + [2] * (ROUNDS - 1))


def refusals(whole):
    """Each with its reason, to the client and as a warning."""
    run = Run("+p3")
    for data, why in [(b"", "a request has a byte for each of the 3 PEs"),
                      (bitmap(4, 2), "a request has a byte for each of the 3 PEs"),
                      (bitmap(3, 0), "0 PEs are asked for"), (bitmap(3, 1 << 20), "1048576 PEs are asked for"),
                      (bitmap(3, -1), "-1 PEs are asked for"),
                      (b"\0\1\1" + struct.pack("=i", 2) + b"\0", "of 3 PEs the first 2 stay")]:
        said = run.ask("set_bitmap", 0, data).decode()
        expect(f"refused: {why}", why in said and said.startswith("the run keeps its PEs: "), True)
        run.wait_for("set_bitmap: the run keeps its PEs: " + why)
    expect("as many as there are", run.ask("set_bitmap", 2, bitmap(3, 3)), b"")
    answer = run.ask_in_background("set_bitmap", 0, bitmap(3, 2))
    run.wait_for("set_bitmap: 2 PEs in place of 3")
    said = run.ask("set_bitmap", 1, bitmap(3, 1)).decode()
    expect("two at once", "another client has asked for 2 PEs" in said, True)
    run.go_on(1)
    expect("the first one's answer", answer(), b"")
    run.finish(2)
    expect("sums after refusals", sums(run.text), whole)


def no_checkpoint(whole):
    """Nowhere to write it: the run goes on as it was."""
    run = Run("2 hosts: +p2 ++ppn 1", "/proc/none")
    answer = run.ask_in_background("set_bitmap", 0, bitmap(2, 1))
    run.wait_for("set_bitmap: 1 PEs in place of 2")
    run.go_on(1)
    expect("no folder", b"cannot make the folder" in (answer() or b""), True)
    run.finish(2)
    expect("no folder: sums", sums(run.text), whole)
    expect("no folder: PEs", set(pes_of_rounds(run.text)), {2})


def a_thread_waits(whole):
    """No checkpoint keeps it: the run goes on as it was."""
    for layout in ("+p2", "+p2 ++ppn 1"):
        run = Run(layout, files=["threads"])
        answer = run.ask_in_background("set_bitmap", 0, bitmap(2, 1))
        run.wait_for("set_bitmap: 1 PEs in place of 2")
        run.go_on(1)
        expect("a thread waits", b"a thread waits on PE 0 (Ledger::void wait_in_vain()), and no checkpoint keeps threads" in (answer() or b""),
               True)
        run.finish(2)
        expect("a thread waits: sums", sums(run.text), whole)
        expect("a thread waits: PEs", set(pes_of_rounds(run.text)), {2})


def other_launcher(whole):
    mpiexec = shutil.which("mpiexec.hydra")
    if not mpiexec:
        return
    folder = Path(tempfile.mkdtemp())
    (folder / "wait.1").touch()
    run = Program([mpiexec, "-n", "2", *command_of(folder, "+ppn 1")], "breathe: round 1")
    said = run.ask("set_bitmap", 0, bitmap(2, 1)).decode()
    expect("under hydra", "what started its processes cannot start them again; charmrun can" in said, True)
    (folder / "wait.1").unlink()
    expect("hydra: status", run.wait(), STATUS)
    expect("hydra: sums", sums(run.text), whole)
    shutil.rmtree(folder)


def main():
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command_of(Path(folder), "+p1"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
    expect("status without requests", done.returncode, STATUS)
    whole = sums(done.stdout)
    expect("rounds", len(whole), ROUNDS)
    only = sys.argv[3:]
    for layout, wishes in RUNS:
        if not only or layout in only:
            check(layout, wishes, whole)
    if not only:
        killed_at_its_end(whole)
        refusals(whole)
        no_checkpoint(whole)
        a_thread_waits(whole)
        other_launcher(whole)
    print("\n".join(failures))
    sys.exit(1 if failures else 0)


main()
