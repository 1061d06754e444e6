#!/usr/bin/env python3
"""Checkpoints that cannot be used, and some that could not be written: a sentence each, and the one before stays good.

Usage: damaged_test.py LIFE STORM TOOL. LIFE is tests/checkpoint/life.cpp, STORM another program, TOOL periapt-checkpoint.
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PHASES, SEED, STOP = "6", "1", "2"
LIFE, STORM, TOOL = sys.argv[1:4]


def fail(text: str, output: str) -> None:
    print(f"{text}\n{output}")
    sys.exit(1)


def run(command: list[str]) -> tuple[int, str]:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def expect(command: list[str], status: int, words: list[str]) -> str:
    """It ends with that status, and prints these words."""
    code, output = run(command)
    if code != status:
        fail(f"{' '.join(command)}: exit status {code}, not {status}", output)
    for word in words:
        if not re.search(word, output):
            fail(f"{' '.join(command)}: does not say '{word}'", output)
    return output


def life(folder: Path, *more: str, stop: str = STOP) -> list[str]:
    return [LIFE, str(folder), PHASES, SEED, stop, "1", *more]


def parts(folder: Path) -> Path:
    return max(folder.glob("checkpoint.*"), key=lambda path: int(path.suffix[1:]))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-10])


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


def edit(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text().replace(old, new))


# What is done to a good checkpoint in folder f, and what is said of it then.
DAMAGES = {
    "cut off": (lambda f: cut(parts(f) / "pe-1"), ["pe-1 has [0-9]+ bytes where [0-9]+ were written: it was cut off"]),
    "longer": (lambda f: (parts(f) / "pe-1").open("ab").write(b"more"), ["pe-1 has .* it was written to"]),
    "damaged": (lambda f: damage(parts(f) / "pe-0"), ["pe-0 is damaged: the checksum of its block 0 is wrong"]),
    "program damaged": (lambda f: damage(parts(f) / "program"), ["program is damaged"]),
    "missing": (lambda f: (parts(f) / "pe-1").unlink(), ["pe-1 is missing"]),
    "exchanged": (lambda f: shutil.copy(parts(f) / "process-0", parts(f) / "pe-1"), ["pe-1 "]),
    "manifest cut off": (lambda f: cut(f / "manifest"), ["manifest is damaged: its checksum is wrong, or it was cut off"]),
    "manifest edited": (lambda f: edit(f / "manifest", "pes 2", "pes 3"), ["manifest is damaged"]),
    "manifest missing": (lambda f: (f / "manifest").unlink(), ["there is no finished checkpoint in"]),
    "other manifest": (lambda f: (f / "manifest").write_text("galaxies\n"), ["is not the manifest of a checkpoint"]),
    "other version": (lambda f: edit(f / "manifest", "version 3", "version 99"),
                      ["another version of Periapt wrote .format 99; this one reads format 3"]),
}


def check_damages(good: Path, scratch: Path) -> None:
    for name, (what, words) in DAMAGES.items():
        folder = scratch / "damaged"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(good, folder)
        what(folder)
        output = expect(life(folder, "+p2", "+restart", str(folder)), 1, ["the checkpoint in .* cannot be used: ", *words])
        if output.count("cannot be used") != 1:
            fail(f"{name}: said more than once", output)
        expect([TOOL, str(folder)], 1, words)


def check_programs(good: Path) -> None:
    expect([STORM, "24", "40", "1", "+p2", "+restart", str(good)], 1,
           ["written by another program, life: it has .* where this program has"])
    expect(life(good / "none", "+p2", "+restart", str(good / "none")), 1, ["there is no finished checkpoint in"])
    expect(life(good, "function", "+p2", stop="0"), 1, ["callback that a later run could not call"])
    expect([TOOL, str(good)], 0, ["written by life on 2 PEs", "mainchare Main", "group Keeper", "elements of array"])


def check_killed(scratch: Path, end: str) -> None:
    """A process is killed in the middle of the second checkpoint."""
    for layout in ["+p2", "+p4 +ppn 2"]:
        folder = scratch / "killed"
        shutil.rmtree(folder, ignore_errors=True)
        expect(life(folder, *layout.split()), 0, ["stopped in phase"])
        before = (folder / "manifest").read_text()
        code, output = run(life(folder, "killed", *layout.split(), stop="4"))
        if code == 0:
            fail("a killed process ends well", output)
        # That run was a new one, whose own checkpoints count if it finished some.
        if not (folder / "manifest").exists():
            fail("no checkpoint is left", before)
        expect([TOOL, str(folder)], 0, ["good"])
        output = expect(life(folder, *layout.split(), "+restart", str(folder)), 0, ["restarted in phase"])
        if end not in output:
            fail(f"not the right end: {end}", output)


def check_full_disk(scratch: Path, end: str) -> None:
    """A file system without room for another checkpoint."""
    if run(["unshare", "-rm", "true"])[0] != 0:
        print("no name spaces here: the full disk was not tried")
        sys.exit(77)
    folder = scratch / "full"
    folder.mkdir()
    one = " ".join(life(folder, "+p2"))
    again = " ".join(life(folder, "+p2", "+restart", str(folder)))
    script = f"""mount -t tmpfs -o size=16m none {folder} && {one} || exit 3
        dd if=/dev/zero of={folder}/filler bs=4k status=none; cat {folder}/manifest > {folder}.before
        {again} || exit 4
        cmp {folder}/manifest {folder}.before || exit 5
        ls {folder}
        {again} || exit 6"""
    output = expect(["unshare", "-rm", "sh", "-c", script], 0,
                    ["no checkpoint was written: cannot .*No space left on device.*; the one before, in .*, stays good",
                     "life: no checkpoint of phase"])
    if output.count(end) != 2:
        fail(f"not twice the right end: {end}", output)


def main() -> None:
    scratch = Path(tempfile.mkdtemp(prefix="periapt-checkpoint-"))
    try:
        output = expect(life(scratch / "whole", "+p2", stop="-1"), 0, [])
        end = next(line for line in output.splitlines() if re.match("life: [-0-9]", line))
        expect(life(scratch / "good", "+p2"), 0, ["stopped in phase 2"])
        check_damages(scratch / "good", scratch)
        check_programs(scratch / "good")
        check_killed(scratch, end)
        check_full_disk(scratch, end)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"{len(DAMAGES)} damaged checkpoints, and more: a sentence each")


main()
