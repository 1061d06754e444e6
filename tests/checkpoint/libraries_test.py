#!/usr/bin/env python3
"""The groups of the libraries go on after a restart on as many PEs and on others, and after kill -9, also with files and sessions
that are open meanwhile. Usage: libraries_test.py LIBRARIES CHARMRUN. LIBRARIES is libraries.cpp."""
import os
import subprocess
import sys
import tempfile

LIBRARIES, CHARMRUN = (os.path.abspath(word) for word in sys.argv[1:])
LAYOUTS = ("+p1", "+p2", "+p3", "+p4 +ppn 2", "+p6 +ppn 3", "+p12", "+p5 +fuzz 1")


def run(folder, *words, start=()):
    done = subprocess.run([*start, LIBRARIES, folder, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode != 0 or "all libraries go on" not in done.stdout:
        sys.exit(f"FAILED {words}: status {done.returncode}\n{done.stdout}")
    return done.stdout


def restart(folder, *words):
    if "after the restart" not in run(folder, *words, "+restart", folder):
        sys.exit(f"FAILED {words}: no restart")


def scratch_log():
    return tempfile.TemporaryDirectory(prefix="periapt-libraries-")


for written in ("+p1", "+p4", "+p4 +ppn 2"):
    for layout in LAYOUTS:
        with scratch_log() as scratch:
            log = os.path.join(scratch, "log")
            run(log, "reads", *written.split())
            restart(log, "reads", *layout.split())
for written in ("+p1", "+p4", "+p4 +ppn 2"):
    with scratch_log() as scratch:
        log = os.path.join(scratch, "log")
        run(log, "writes", *written.split())
        for layout in (written, f"{written} +fuzz 1", *LAYOUTS):
            restart(log, "writes", *layout.split())
for layout in ("+p4 +ppn 2", "+p3 +ppn 1", "+p4 +ppn 2 +transports tcp"):
    with scratch_log() as scratch:
        said = run(os.path.join(scratch, "log"), "memory", *layout.split())
        if "after the restart" not in said:
            sys.exit(f"FAILED: kill -9 on {layout}\n{said}")
with scratch_log() as scratch:
    hosts = os.path.join(scratch, "hosts")
    with open(hosts, "w", encoding="ascii") as file:
        file.write("group main\nhost localhost\nhost 127.0.0.1\n")
    said = run(os.path.join(scratch, "log"), "memory", start=(CHARMRUN, "++nodelist", hosts, "+p4", "++ppn", "2"))
    if "after the restart" not in said:
        sys.exit(f"FAILED: kill -9 with hosts\n{said}")
print("ok")
