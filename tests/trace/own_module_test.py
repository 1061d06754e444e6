#!/usr/bin/env python3
"""A trace module of a program's own is told what happens: own_module_test.py PROGRAM [+pN ...]."""
import re
import subprocess
import sys
from collections import Counter

PROGRAM, LAYOUT = sys.argv[1], sys.argv[2:]
LENGTH = 12


def run(*options):
    """What the modules of all PEs have counted, a dictionary each."""
    done = subprocess.run([PROGRAM, *LAYOUT, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = re.findall(r"counted: (.*)", done.stdout)
    return [{name: int(value) for name, value in re.findall(r"(\w+)=(-?\d+)", row)} for row in rows]


def check(counted, wanted):
    total = Counter()
    for row in counted:
        total.update(row)
    wrong = {name: (total[name], value) for name, value in wanted.items() if total[name] != value}
    assert not wrong, f"got, wanted: {wrong}"


rows = run("+CounterScale", "3")
pes = len(rows)
assert sorted(row["pe"] for row in rows) == list(range(pes)), rows
for row in rows:  # the PE that turns tracing off and on is PE 0
    assert row["computations"] == 2 and row["scale"] == 3, row
    assert (row["begun"], row["ended"]) == ((2, 1) if row["pe"] == 0 else (1, 0)), row
    # An entry that calls CkExit() does not end; what began before traceBegin() has none to end.
    assert row["depth"] == (1 if row["pe"] == 0 else 0), row
# A [notrace] entry is left out.
check(rows, {"step": LENGTH, "within": LENGTH, "secret": 0, "wait": LENGTH, "wake": LENGTH, "created": LENGTH,
             "events": LENGTH, "brackets": LENGTH, "sides": 2 * LENGTH, "data": 2 * LENGTH, "notes": LENGTH,
             "stats": LENGTH})
# Of a body each block, in place of the entry that has called it; messages that are packed: small ones on the way to any other PE.
check(rows, {"serials": 4 * LENGTH})
assert all(row["kinds"] == 3 for row in rows if row["serials"]), rows
packs = sum(row["packs"] for row in rows)
assert packs == sum(row["packed"] for row in rows) and (packs > 0) == (pes > 1), rows
assert packs == sum(row["unpacks"] for row in rows) == sum(row["unpacked"] for row in rows), rows
assert 0 < sum(row["resumed"] for row in rows) <= LENGTH, rows

rows = run("+traceoff", "+CounterScale", "3")
assert len(rows) == pes
check(rows, {"step": 0, "begun": 1, "ended": 0, "events": 0, "computations": 2 * pes})

rows = run("+traceprocessors", "0")
assert [row["pe"] for row in rows] == [0], rows

assert run("+tracemode", "none") == []
