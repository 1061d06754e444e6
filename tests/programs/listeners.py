#!/usr/bin/env python3
"""What a program holds comes back from a checkpoint, on as many PEs and on others.

Usage: listeners.py PROGRAM. PROGRAM is tests/programs/listeners.cpp, or one that takes a folder as it does.
"""
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def run(*words: str) -> str:
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0 or "fatal error" in done.stdout:
        print(f"{' '.join(words)}: exit status {done.returncode}\n{done.stdout}")
        sys.exit(1)
    return done.stdout


def main() -> None:
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as scratch:
        folder = str(Path(scratch) / "checkpoint")
        for layout in ("+p1", "+p4 +ppn 2", "+p3 +transports tcp +ppn 1"):
            shutil.rmtree(folder, ignore_errors=True)
            run(program, folder, *layout.split())
            for again in (layout, "+p2", "+p6 +ppn 3", "+p1"):
                output = run(program, folder, *again.split(), "+restart", folder)
                if "all checks passed" not in output:
                    print(f"{layout}, then {again}:\n{output}")
                    sys.exit(1)


main()
