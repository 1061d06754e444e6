#!/usr/bin/env python3
"""periapt-fuzz finds the changes that matter. Usage: shrink_test.py PERIAPT_FUZZ HASTY

HASTY is tests/order/hasty.cpp, which fails where one message overtakes others. On one PE nothing depends on time, so that a seed
makes the same run each time.
"""
import os
import re
import subprocess
import sys
import tempfile

FUZZ, HASTY = (os.path.abspath(path) for path in sys.argv[1:3])
failed = []


def run(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def check(right, what, text=""):
    print("ok  " if right else "BAD ", what, flush=True)
    if not right:
        print(text, flush=True)
        failed.append(what)


def changes_of(folder):
    with open(os.path.join(folder, "log.0"), encoding="utf-8") as file:
        return [line.partition(" ")[::2] for line in file.read().splitlines()]


def limited():
    """Some of a seed's changes are what it makes with all; none of them is the usual order."""
    status, text = run(HASTY, "none", "+p1", "+fuzz", "3", "+fuzz-log", "log")
    every = changes_of(".")
    check(status == 0 and len(every) > 50, "a run tells its changes", text)
    first = [decision for decision, _ in every[:20]]
    status, text = run(HASTY, "none", "+p1", "+fuzz", "3", "+fuzz-log", "log", "+fuzz-changes", ",".join(f"0:{d}" for d in first))
    check(status == 0 and changes_of(".") == every[:20] and "in 20 decisions" in text, "the first 20 of them are the same", text)
    with open("list", "w", encoding="ascii") as file:
        file.write(f"0:0-{first[-1]}\n")
    status, text = run(HASTY, "none", "+p1", "+fuzz", "3", "+fuzz-log", "log", "+fuzz-changes", "@list")
    check(status == 0 and changes_of(".") == every[:20], "a list may be in a file", text)
    status, text = run(HASTY, "+p1", "+fuzz", "3", "+fuzz-log", "log", "+fuzz-changes", "none")
    check(status == 0 and not changes_of("."), "without changes it goes as without +fuzz", text)
    for words, message in ((["+fuzz-changes", "0:7"], r"\+fuzz-changes is given without \+fuzz"),
                           (["+fuzz-log", "log"], r"\+fuzz-log is given without \+fuzz"),
                           (["+fuzz", "3", "+fuzz-changes", "0:7,1"], r"no list of changes: '1' is none.*0:12,1:40-43"),
                           (["+fuzz", "3", "+fuzz-changes", "0:9-7"], r"'0:9-7' is none"),
                           (["+fuzz", "3", "+fuzz-changes", "@nowhere"], r"nowhere cannot be read: No such file"),
                           (["+fuzz", "3", "+fuzz-changes", "4:7"], r"names PE 4, and the run has PEs 0 to 0"),
                           (["+fuzz", "3", "+fuzz-log", "nowhere/log"], r"nowhere/log.0 cannot be written: No such file")):
        status, text = run(HASTY, "+p1", *words)
        check(status != 0 and re.search(message, text, re.DOTALL) and text.count("fatal error") == 1, f"{words} is refused", text)


def shrunk():
    status, text = run(FUZZ, "--record", "order", HASTY, "+p1")
    check(status == 0, "a seed is found, and its run shrunk", text)
    found = re.findall(r"^  PE 0, piece of work (\d+): (.*)$", text, re.MULTILINE)
    check(1 <= len(found) <= 10 and " ran before Bank::" in found[-1][1], "what is left ends with the bank coming later", text)
    check(re.search(r"fails in 5 of 5 runs:$", text, re.MULTILINE), "which always fails", text)
    again = re.search(r"^again:  (.*)$", text, re.MULTILINE)
    status, output = run("sh", "-c", again.group(1)) if again else (0, "")
    check(status == 3 and "the bank is not" in output, "the command that it prints does it again", output)
    for decision, _ in found:
        left = [f"0:{other}" for other, _ in found if other != decision]
        words = again.group(1).split()[:-1] + [",".join(left) or "none"]
        check(run(*words)[0] == 0, f"without {decision} it does not fail")
    replay = re.search(r"^the same messages in the same order:  (.*)$", text, re.MULTILINE)
    check(replay and run("sh", "-c", replay.group(1))[0] == 3, "and so does the recording", text)
    status, text = run(FUZZ, HASTY, "+p1", "+fuzz", "5")
    check(status == 0 and re.search(r"^1 change is enough.*\n.* ran before Bank::void open\(\)", text, re.MULTILINE),
          "of another seed one change is left", text)
    status, text = run(FUZZ, HASTY, "+p2", "+fuzz", "1")
    check(status in (0, 1) and "Traceback" not in text, "it goes where runs are not the same, too", text)


def said():
    for words, status, message in (([HASTY, "none", "+p1"], 1, "none of the seeds 1 to 3"),
                                   ([HASTY, "none", "+p1", "+fuzz", "5"], 1, r"not failed in 5 runs with \+fuzz 5"),
                                   ([HASTY, "+p1", "+fuzz"], 2, r"\+fuzz needs a seed"),
                                   ([HASTY, "+p1", "+fuzz-log", "x"], 2, r"\+fuzz-log is what this tool gives"),
                                   (["./nowhere", "+p1"], 2, "nowhere cannot be started: No such file"),
                                   (["sh", "-c", "exit 4"], 1, "fails in the usual order too"), ([], 2, "what is to be run")):
        got, text = run(FUZZ, "--seeds", "3", *words)
        check(got == status and re.search(message, text), f"{words[1:]}: {message}", f"status {got}\n{text}")


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    for part in (limited, shrunk, said):
        part()
print(f"{len(failed)} failed")
sys.exit(1 if failed else 0)
