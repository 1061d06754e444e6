#!/usr/bin/env python3
"""A CkCache goes on after a restart on as many PEs and on others, and after kill -9. Usage: cached_test.py CACHED. CACHED is
cached.cpp."""
import os
import subprocess
import sys
import tempfile

CACHED = os.path.abspath(sys.argv[1])
CUT_OFF = "finishedChunk() in a round that a checkpoint was made in: a restart keeps nothing of it"


def outcome(*words):
    done = subprocess.run((CACHED, *words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def run(end, *words):
    status, text = outcome(*words)
    if status != 0 or f"cached: all rounds are right{end}\n" not in text:
        sys.exit(f"FAILED {words}: status {status}\n{text}")


for written in ("+p1", "+p4", "+p4 +ppn 2"):
    for way in ("between", "within"):
        with tempfile.TemporaryDirectory(prefix="periapt-cached-") as log:
            run("", log, way, *written.split())
            for layout in ("+p1", "+p3", "+p4 +ppn 2", "+p9 +ppn 3", "+p4 +fuzz 1"):
                run(" after the restart", log, way, *layout.split(), "+restart", log)
    with tempfile.TemporaryDirectory(prefix="periapt-cached-") as log:
        run("", log, "forgets", *written.split())
        status, said = outcome(log, "forgets", "+p2", "+restart", log)
        if status == 0 or CUT_OFF not in said:
            sys.exit(f"FAILED: a round that is gone on with after a restart: status {status}\n{said}")
for way in ("between", "within"):
    for layout in ("+p4 +ppn 2", "+p3 +ppn 1", "+p4 +ppn 2 +transports tcp"):
        run(" after the restart", "", way, *layout.split())
print("ok")
