#!/usr/bin/env python3
"""+fuzz, +record and +replay as a user gives them. Usage: order_test.py CHAOS OTHER SEEDS MAKING ASKING

CHAOS is tests/order/chaos.cpp: what it prints depends on the order of all its messages. OTHER is another program. SEEDS is
tests/seeds/converse_seeds.cpp, which ends when CmiStartQD() tells. MAKING is tests/programs/making.cpp, whose constructors poll.
ASKING is tests/order/asking.cpp, which polls before it asks.
"""
import os
import re
import subprocess
import sys
import tempfile

CHAOS, OTHER, SEEDS, MAKING, ASKING = (os.path.abspath(path) for path in sys.argv[1:6])
failed = []


def run(program, *words, **more):
    """Status, all that was printed. `more` is of the environment."""
    done = subprocess.run([program, *words], env={**os.environ, **more}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def check(right, what, text=""):
    print("ok  " if right else "BAD ", what, flush=True)
    if not right:
        print(text, flush=True)
        failed.append(what)


def history(text):
    found = re.search(r"^history \w+ places \w+$", text, re.MULTILINE)
    return found.group(0) if found else None


def fuzzed():
    for layout in (["+p1"], ["+p4"]):
        outputs = [run(CHAOS, *layout, "+fuzz", str(seed)) for seed in (1, 2, 3)]
        check(all(status == 0 for status, _ in outputs), f"{layout}: runs with +fuzz end well", outputs)
        check(len({history(text) for _, text in outputs}) == 3, f"{layout}: seeds make orders", outputs)
        check(all(f"+fuzz {seed}:" in text for seed, (_, text) in zip((1, 2, 3), outputs)), f"{layout}: the seed is told",
              outputs)


# The balancers go by loads that no two runs have in common, but Rotate. Several PEs in each of several processes, with a cpu
# each, see what their process shares at other times in each run.
LAYOUTS = [["+p1"], ["+p4", "+balancer", "GreedyLB"], ["+p4", "+ppn", "2", "+balancer", "RotateLB"],
           ["+p6", "+balancer", "GreedyRefineLB", "+balancer", "RandCentLB", "+MetaLB"],
           ["+p3", "+ppn", "1", "+balancer", "GreedyLB"], ["+p8", "+ppn", "2"]]


def replayed():
    for layout in LAYOUTS:
        for fuzz in ([], ["+fuzz", "7"]):
            status, text = run(CHAOS, *layout, *fuzz, "+record", "order")
            first = history(text)
            check(status == 0 and first is not None, f"{layout} {fuzz}: is recorded", text)
            for _ in range(3):
                status, text = run(CHAOS, *layout, "+replay", "order")
                check(status == 0 and history(text) == first, f"{layout} {fuzz}: is replayed", first + "\n" + text)
    # A recording of a replay is the recording.
    run(CHAOS, "+p4", "+fuzz", "5", "+record", "one")
    run(CHAOS, "+p4", "+replay", "one", "+record", "two")
    for pe in range(4):
        with open(f"one.{pe}", "rb") as one, open(f"two.{pe}", "rb") as two:
            check(one.read() == two.read(), f"PE {pe}: a replay can be recorded")


def searched():
    """A search for quiescence takes as many rounds as there are while PEs have work: +fuzz makes them others."""
    for fuzz in ([], ["+fuzz", "11"], ["+fuzz", "12"]):
        status, text = run(SEEDS, "spread", "+p4", *fuzz, "+record", "search")
        check(status == 0, f"{fuzz}: a program that calls CmiStartQD() is recorded", text)
        for _ in range(3):
            status, text = run(SEEDS, "spread", "+p4", "+replay", "search")
            check(status == 0 and "all checks passed" in text, f"{fuzz}: it is replayed", text)


def polled():
    """What is waited for comes while a constructor polls, and which one, is of each run."""
    for layout in (["+p3"], ["+p3", "+ppn", "1"], ["+p4", "+ppn", "2"]):
        for _ in range(4):
            status, text = run(MAKING, *layout, "+record", "polls")
            check(status == 0, f"{layout}: a program whose constructors poll is recorded", text)
            for _ in range(2):
                status, text = run(MAKING, *layout, "+replay", "polls")
                check(status == 0 and "all checks passed" in text, f"{layout}: it is replayed", text)


def asked():
    """Clocks say how often a program polls before it asks: less often or more often, what it asks for is no part of it."""
    for layout in (["+p2"], ["+p2", "+ppn", "1"]):
        status, text = run(ASKING, *layout, "+record", "asks", ASKING_POLLS="50")
        check(status == 0, f"{layout}: a program that polls before it asks is recorded", text)
        for polls in ("5", "50", "100000"):
            status, text = run(ASKING, *layout, "+replay", "asks", ASKING_POLLS=polls)
            check(status == 0 and "answered" in text, f"{layout}: with {polls} polls it is replayed", text)


def crashed():
    status, text = run(CHAOS, "60", "90", "+p4", "+fuzz", "3", "+record", "crash")
    sentence = re.search(r"cell 0 crashes, its history is \w+", text)
    check(status != 0 and sentence is not None, "a run that crashes is recorded", text)
    for _ in range(3):
        status, text = run(CHAOS, "60", "90", "+p4", "+replay", "crash")
        check(status != 0 and sentence.group(0) in text, "its crash is replayed", text)


def refused():
    run(CHAOS, "+p4", "+fuzz", "2", "+record", "good")
    for pe in range(4):
        with open(f"good.{pe}", "rb") as file:
            data = file.read()
        with open(f"cut.{pe}", "wb") as file:
            file.write(data[:1000] if pe == 2 else data)
        with open(f"text.{pe}", "wb") as file:
            file.write(b"Once upon a time\n" * 100)
    cases = [
        ([CHAOS, "70", "+p4", "+replay", "good"],
         ["the replay of good does something else than its recording", r"PE \d has run \d+ pieces of work; expected next: ",
          "got: "]),
        ([CHAOS, "+p2", "+replay", "good"], ["good.0 cannot be replayed", "4 PEs in 1 process; this one: 2 PEs in 1"]),
        ([CHAOS, "+p4", "+ppn", "2", "+replay", "good"], ["another layout"]),
        ([OTHER, "+p4", "+replay", "good"], ["written by another program"]),
        ([CHAOS, "+p4", "+replay", "cut"], ["cut.2 cannot be replayed: it is cut off: .* 936 do"]),
        ([CHAOS, "+p4", "+replay", "text"], ["text.0 cannot be replayed: it is no recording"]),
        ([CHAOS, "+p4", "+replay", "nothing"], ["nothing.0 cannot be replayed: No such file"]),
        ([CHAOS, "+p4", "+record", "nowhere/order"], ["the recording nowhere/order.0 cannot be written: No such file"]),
        ([CHAOS, "+p4", "+fuzz", "1", "+replay", "good"], [r"\+fuzz and \+replay contradict each other"]),
        ([CHAOS, "+p4", "+fuzz", "soon"], [r"the option \+fuzz cannot be 'soon'"]),
        ([CHAOS, "+sim", "nodes=2,ppn=2", "+fuzz", "1"], [r"\+fuzz, \+record and \+replay are for real PEs"]),
    ]
    for command, words in cases:
        status, text = run(*command)
        name = " ".join(command[1:])
        right = status not in (0, None) and all(re.search(word, text) for word in words)
        check(right and text.count("fatal error") == 1, f"{name} is refused", f"status {status}\n{text}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for part in (fuzzed, replayed, searched, polled, asked, crashed, refused):
        part()
print(f"{len(failed)} failed")
sys.exit(1 if failed else 0)
