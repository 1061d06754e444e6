#!/usr/bin/env python3
"""Cells, pairs and sections whose members keep cookies: the same end after a restart on other PEs, where all is moved at each
balancing, and after kill -9. Usage: cells_test.py CELLS. CELLS is cells.cpp."""
import os
import re
import subprocess
import sys
import tempfile

CELLS = os.path.abspath(sys.argv[1])
STEPS, STOP = "16", "8"


def end_of(*words):
    done = subprocess.run((CELLS, *words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    ends = re.findall(r"^cells: the end .*$", done.stdout, re.MULTILINE)
    if done.returncode != 0 or len(ends) != 1:
        sys.exit(f"FAILED {words}: status {done.returncode}\n{done.stdout}")
    return ends[0], "after a restart" in done.stdout


def expect(end, restarts, *words):
    came = end_of(*words)
    if came != (end, restarts):
        sys.exit(f"FAILED {words}: {came} in place of {(end, restarts)}")


with tempfile.TemporaryDirectory(prefix="periapt-cells-") as scratch:
    log = os.path.join(scratch, "log")
    whole, _ = end_of(log, "3", STEPS, "0", STOP, "+p1")
    for written in ("+p4 +balancer RotateLB", "+p4 +ppn 2 +balancer GreedyLB"):
        expect(whole, False, log, "3", STEPS, "1", STOP, *written.split())
        for layout in ("+p1", "+p3 +ppn 1 +balancer RotateLB", "+p6 +ppn 2 +balancer RotateLB", "+p4 +fuzz 1"):
            expect(whole, True, log, "3", STEPS, "1", STOP, *layout.split(), "+restart", log)
    for layout in ("+p4 +ppn 1 +balancer RotateLB", "+p8 +ppn 2 +balancer RotateLB", "+p4 +ppn 2 +transports tcp"):
        expect(whole, True, log, "3", STEPS, "2", STOP, *layout.split())
print("ok")
