#!/usr/bin/env python3
"""A file that is written in one session of CkIO over a restart on other PEs, or over kill -9, while tiles wait in whens, for a
section's multicast, with items of TRAM: the same bytes and sums as without. Usage: mosaic_test.py MOSAIC. MOSAIC is mosaic.cpp."""
import os
import re
import subprocess
import sys
import tempfile

MOSAIC = os.path.abspath(sys.argv[1])


def run(folder, way, stop, layout, *words):
    command = [MOSAIC, folder, way, str(stop), *layout.split(), *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"FAILED {command}: status {done.returncode}\n{done.stdout}")
    return done.stdout


def end_of(text):
    return re.findall(r"mosaic: whole, (\w+)", text)


def scratch_folder():
    return tempfile.TemporaryDirectory(prefix="periapt-mosaic-")


with scratch_folder() as scratch:
    whole = end_of(run(scratch, "none", 0, "+p2"))
assert len(whole) == 1, whole
for stop, written in enumerate(("+p4", "+p1", "+p4 +ppn 2", "+p6 +ppn 1", "+p3 +ppn 1 +transports tcp", "+p2")):
    for layout in ("+p1", "+p3", "+p4 +ppn 2", "+p7", "+p8 +ppn 2 +transports tcp"):
        with scratch_folder() as scratch:
            assert end_of(run(scratch, "disk", stop, written)) == []
            said = run(scratch, "disk", stop, layout, "+restart", scratch + "/log")
            if end_of(said) != whole or "mosaic: restarted on" not in said:
                sys.exit(f"FAILED: stopped in step {stop} on {written}, then on {layout}: {whole} was to come\n{said}")
for stop, layout in ((2, "+p4 +ppn 2"), (3, "+p3 +ppn 1"), (5, "+p6 +ppn 2 +transports tcp")):
    with scratch_folder() as scratch:
        said = run(scratch, "memory", stop, layout)
        if end_of(said) != whole or "goes back to its checkpoint in memory" not in said:
            sys.exit(f"FAILED: kill -9 in step {stop} on {layout}: {whole} was to come\n{said}")
print("the same end each time")
