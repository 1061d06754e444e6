#!/usr/bin/env python3
"""A program that was stopped at a checkpoint ends the same on any PEs.

Usage: life_test.py LIFE. LIFE is tests/checkpoint/life.cpp. For each seed it runs to its end without a stop, and then to
a stop at a checkpoint in one layout; from there, and from each later checkpoint that this run writes, it is started again
in others.
"""
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PHASES = 6
# seed, phase of the stop, whether the checkpoints are asked for where all is quiet (life.cpp), layout of the run that stops
RUNS = [
    (1, 2, 1, "+p4"),
    (2, 3, 0, "+p4 +ppn 2"),
    (3, 1, 2, "+p1"),
    (4, 4, 2, "+p2 +ppn 1 +transports tcp"),
    (5, 0, 0, "+p3"),
    (6, 5, 2, "+p6 +ppn 3"),
]
LAYOUTS = ["+p1", "+p3", "+p4 +ppn 2", "+p2 +ppn 1 +transports tcp", "+p7", "+sim nodes=3,ppn=2"]


def fail(text: str, output: str) -> None:
    print(f"{text}\n{output}")
    sys.exit(1)


def run(life: str, words: list[str], layout: str) -> str:
    command = [life, *words, *layout.split()]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        fail(f"{' '.join(command)}: exit status {done.returncode}", done.stdout)
    return done.stdout


def line_with(output: str, words: str) -> str:
    found = [line for line in output.splitlines() if line.startswith(words)]
    if len(found) != 1:
        fail(f"{len(found)} lines begin with '{words}'", output)
    return found[0]


def end_of(output: str) -> str:
    """The line with the sums."""
    found = [line for line in output.splitlines() if line.startswith("life: ") and line[6:7] in "-0123456789"]
    if len(found) != 1:
        fail("no end", output)
    return found[0]


def check(life: str, seed: int, stop: int, quiet: int, layout: str, scratch: Path) -> int:
    folder = scratch / f"seed{seed}"
    words = [str(PHASES), str(seed), str(stop), str(quiet)]
    whole = end_of(run(life, [str(scratch / "whole"), str(PHASES), str(seed), "-1", str(quiet)], "+p2"))
    line_with(run(life, [str(folder), *words], layout), f"life: stopped in phase {stop}")
    restarts = 0
    for again in [layout, *LAYOUTS]:
        copy = scratch / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        for time in range(2):  # the second begins at the latest checkpoint of the first
            output = run(life, [str(copy), *words, "+restart", str(copy)], again)
            line_with(output, "life: restarted in phase")
            if end_of(output) != whole:
                fail(f"seed {seed}, stopped in phase {stop} on {layout}, restarted {time + 1} times on {again}: {whole} "
                     "was to come", output)
            restarts += 1
    return restarts


def check_empty_part(life: str, scratch: Path) -> None:
    """A program without node groups: the parts of processes are empty."""
    words = [str(scratch / "empty"), str(PHASES), "1", "2", "1", "no halls"]
    line_with(run(life, words, "+p2"), "life: stopped in phase 2")
    end_of(run(life, [*words, "+restart", words[0]], "+p3"))


def main() -> None:
    scratch = Path(tempfile.mkdtemp(prefix="periapt-checkpoint-"))
    try:
        check_empty_part(sys.argv[1], scratch)
        restarts = sum(check(sys.argv[1], *one, scratch) for one in RUNS)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"{restarts} restarts of {len(RUNS)} programs: the same end each time")


main()
