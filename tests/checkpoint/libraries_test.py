#!/usr/bin/env python3
"""The groups of the libraries go on after a restart on as many PEs and on others. Usage: libraries_test.py LIBRARIES (libraries.cpp)."""
import os
import subprocess
import sys
import tempfile

LIBRARIES = os.path.abspath(sys.argv[1])
LAYOUTS = ("+p1", "+p2", "+p3", "+p4 +ppn 2", "+p6 +ppn 3", "+p12", "+p5 +fuzz 1")


def run(folder, *words):
    done = subprocess.run([LIBRARIES, folder, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0 or "all libraries go on" not in done.stdout:
        sys.exit(f"FAILED {words}: status {done.returncode}\n{done.stdout}")
    return done.stdout


for written in ("+p1", "+p4", "+p4 +ppn 2"):
    for layout in LAYOUTS:
        with tempfile.TemporaryDirectory() as scratch:
            folder = os.path.join(scratch, "log")
            run(folder, *written.split())
            if "after the restart" not in run(folder, *layout.split(), "+restart", folder):
                sys.exit(f"FAILED {written}, then {layout}: no restart")
print("ok")
