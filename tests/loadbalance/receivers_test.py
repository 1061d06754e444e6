#!/usr/bin/env python3
"""What elements send to members of groups and node groups and by sections is in the record, by receiver; lb-lab counts it.

Usage: receivers_test.py RECEIVERS LB_LAB LAYOUT... RECEIVERS is tests/loadbalance/receivers.cpp.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter

RECEIVERS, LAB = (os.path.abspath(path) for path in sys.argv[1:3])
LAYOUT = sys.argv[3:]
COUNT = 7


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nends with status {done.returncode}:\n{done.stdout}")
    return done.stdout


os.chdir(tempfile.mkdtemp())
array, listener, office, house = (int(n) for n in re.search(r"arrays (\d+) (\d+) groups (\d+) (\d+)", run(
    RECEIVERS, str(COUNT), *LAYOUT, "+LBRecord", "steps")).groups())
with open("steps", encoding="utf-8") as file:
    step = json.loads(file.readline())
pes = step["pes"]
processes = len({pe.get("process", 0) for pe in pes})
first_pe = {pe.get("process", 0): number for number, pe in reversed(list(enumerate(pes)))}
# The order of elements is that of their numbers.
elements = sorted(o["element"] for o in step["objects"] if o["array"] == array)
wrong = []
if len(elements) != COUNT:
    wrong.append(f"{len(elements)} elements")
wanted, bytes_of = Counter(), Counter()
for i, element in enumerate(elements):
    pe, process = i % len(pes), i % processes
    wanted[(element, office, pe)] += 5
    wanted[(element, house, process)] += 5
    for member in range(0, len(pes), 2):
        wanted[(element, office, member)] += 1
    if i < 2:
        for member in elements[:3]:
            wanted[(element, array, member)] += 1
    for name, least in ((office, 3), (house, 1)):
        bytes_of[(element, name, pe if name == office else process)] = least * 100 * 8
got, heard = {}, {}
for c in step["communication"]:
    if c["to"][0] == listener:
        heard[(c["from"][1], c["to"][1])] = c["messages"]
        continue
    key = (c["from"][1], *c["to"])
    got[key] = c["messages"]
    where = {office: ("to_pe", c["to"][1]), house: ("to_process_of", first_pe.get(c["to"][1]))}.get(c["to"][0])
    if where and c.get(where[0]) != where[1]:
        wrong.append(f"{c} does not say {where}")
    if c["bytes"] < bytes_of[key]:
        wrong.append(f"{c} has fewer bytes than {bytes_of[key]}")
if got != dict(wanted):
    wrong.append(f"wanted {sorted(wanted.items())}\ngot    {sorted(got.items())}")
if len(heard) != 1000 or {(sender, n) for (sender, _), n in heard.items()} != {(elements[6], 2)}:
    wrong.append(f"of those that element 6 sends two messages each, a thousand, {len(heard)} are there: {heard}")

# What lb-lab says of the step as it was: messages that leave their PE, or the process.
place = {o["element"]: o["pe"] for o in step["objects"]}
leaving = 0
for c in step["communication"]:
    if c["to"][0] == listener:  # elements that take no part
        continue
    here = place[c["from"][1]]
    if c["to"][0] == array:
        leaves = place[c["to"][1]] != here
    elif c["to"][0] == office:
        leaves = c["to"][1] != here
    else:
        leaves = c["to"][1] != pes[here].get("process", 0)
    leaving += c["messages"] if leaves else 0
table = run(LAB, "steps", "Dummy")
row = re.search(r"^.*as it was.*$", table, re.MULTILINE)
if not row or str(leaving) not in row.group(0).split():
    wrong.append(f"{leaving} messages leave their PE, and the lab says\n{table}")
# A receiver on a PE that is not there is refused.
step["communication"][0].update(to_pe=len(pes))
with open("wrong", "w", encoding="utf-8") as file:
    file.write(json.dumps(step) + "\n")
refusal = subprocess.run([LAB, "wrong", "Dummy"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
if refusal.returncode == 0 or f"a message is for PE {len(pes)}" not in refusal.stdout:
    wrong.append(f"a PE that is not there is not refused:\n{refusal.stdout}")
print("\n".join(wrong) if wrong else "all is right")
sys.exit(bool(wrong))
