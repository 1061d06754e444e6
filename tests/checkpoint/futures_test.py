#!/usr/bin/env python3
"""Futures come back from a checkpoint, on as many PEs and on others. Usage: futures_test.py PROMISES (promises.cpp)."""
import os
import re
import subprocess
import sys
import tempfile

PROMISES = os.path.abspath(sys.argv[1])


def run(folder, *words):
    done = subprocess.run([PROMISES, folder, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"FAILED {words}: status {done.returncode}\n{done.stdout}")
    return done.stdout


for written, pes in (("+p1", 1), ("+p4", 4), ("+p4 +ppn 2", 4), ("+p4 +ppn 1 +transports tcp", 4)):
    with tempfile.TemporaryDirectory() as scratch:
        folder = os.path.join(scratch, "log")
        text = run(folder, *written.split())
        if "the checkpoint leaves out 2 messages that wait for Nobody[3], which does not exist" not in text:
            sys.exit(f"FAILED {written}: no word of what is left out\n{text}")
        if text.count(f"the checkpoint leaves out that a thread waits on PE {pes - 1} (Keeper::void wait_in_vain())") != 1:
            sys.exit(f"FAILED {written}: no word of the thread\n{text}")
        for layout, now in (("+p1", 1), ("+p2", 2), ("+p4 +ppn 2", 4), ("+p6 +ppn 3", 6)):
            text = run(folder, *layout.split(), "+restart", folder)
            left_out = len(re.findall(r"warning: \d futures of PE \d are not there any more", text))
            if "promises: early and late are kept: 17" not in text or left_out != max(0, pes - now):
                sys.exit(f"FAILED {written}, then {layout}\n{text}")
print("ok")
