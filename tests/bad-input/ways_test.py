#!/usr/bin/env python3
"""What goes wrong in a program is told in one sentence that the user sees, however it was started: over TCP, under hydra, Open
MPI, charmrun and Slurm. Usage: ways_test.py PROGRAM OTHER [WORD...]; only cases with one of the words in their name run.

PROGRAM is tests/bad-input/bad.cpp, OTHER another program. Each case: the status is not 0, the words are there, one block
of ours tells it, nothing is left: no process, no file. (scarce_test.py has limits that are too low.)
"""
import functools
import os
import re
import sys

import ways

PROGRAM, OTHER = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
RESULTS = ways.Results(sys.argv[3:])
BLOCK = re.compile(r"^(?:periapt: fatal error|periapt: process \d|charmrun: error:)", re.MULTILINE)

# What the program does, and what must be told of it.
MISTAKES = {
    "abort": ["the sky is falling at 2", r"Victim\[2\]::.*act"],
    "exception": ["an exception left an entry method: no such file: galaxy.tipsy", r"Victim\[2\]"],
    "segfault": ["signal 11", "at address", r"Victim\[2\]"],
    "no such element": ["nothing has moved", r"Victim\[77\], which does not exist", "hello"],
    "pup": ["PUP", "bytes"],
    "migrate nowhere": [r"Victim\[2\] is to migrate to PE -5", "numbered 0 to"],
}
# Options that every process gets.
COMMAND_LINES = {
    "+transports bananas": ['there is no transport "bananas"', 'There are: .*shm.*tcp|There are: .*tcp.*shm'],
    "+transports shm,tpc": ['there is no transport "tpc": did you mean "tcp"'],
    "+net-timeout soon": [r"\+net-timeout soon makes no sense", "seconds"],
    "+shm-cma perhaps": [r"\+shm-cma perhaps is not understood", "on or"],
    "+rendezvous push": [r"\+rendezvous push is not understood", "get, put or data"],
    "+eager-copy-max much": [r"\+eager-copy-max wants a number of bytes", '"much"'],
    "+net-speed 3": [r"there is no option \+net-speed", "did you mean"],
    "+cost-file /proc/self/status": [r"\+cost-file /proc/self/status is not a file of costs: line 1 "],
    "+cost-file /dev/zero": [r"\+cost-file /dev/zero: it is a device, not a file"],
    "+cost-file /nowhere/costs": [r"\+cost-file /nowhere/costs cannot be written", "No such file or directory"],
    "+watchdog soon": ["watchdog"],
    "+balancer NoSuchLB": ["there is no balancer called NoSuchLB", "did you mean"],
    "+transport-path /nowhere/x.so": ["/nowhere/x.so does not exist"],
    "+p 7": [r"\+p ?7|\+p says 7"],
    "+pemap 4096": ["which we may not use"],
}


def judged(words_of_run, environment, words):
    """Runs it; status, text and what is wrong."""
    status, text, wrong = ways.Run(words_of_run, environment=environment).finish()
    if status == 0:
        wrong.append("status 0")
    if status is not None and status < 0:
        wrong.append(f"it was ended by signal {-status}")
    at = 0
    for word in words:
        found = re.compile(word, re.DOTALL).search(text, at)
        if not found:
            wrong.append(f"does not say {word!r} (after what comes before it)")
            break
        at = found.start()
    told = len(BLOCK.findall(text))
    if words and told != 1:
        wrong.append(f"{told} messages instead of one")
    return status, text, wrong


def mistakes(way):
    for mistake, words in MISTAKES.items():
        yield mistake, way.words(PROGRAM, mistake, "+watchdog", "1"), words


def command_lines(way):
    for line, words in COMMAND_LINES.items():
        if line == "+p 7" and "+p4" in way.options:
            continue
        if line.startswith("+transports") and "+transports" in way.options:
            continue
        yield line, [*way.words(PROGRAM, "code 0"), *line.split()], words


def unlike(way):
    """Processes of one run that are not alike: one runs another program, or was given other options."""
    launcher = way.command[0] if way.command else ""
    if "hydra" not in launcher and "openmpi" not in launcher:
        return
    one = [*way.command[:-1], "1"]
    cases = {
        "another program": ([*one, PROGRAM, "code 0", ":", "-n", "1", OTHER],
                            ["process 0 runs .*bad", "process 1 runs .*", "same program"]),
        "another +p": ([*one, PROGRAM, "code 0", "+p2", ":", "-n", "1", PROGRAM, "code 0", "+p4"],
                       [r"process 0 was started with \+p 2, process 1 was started with \+p 4", "Give them to each"]),
        "other transports": ([*one, PROGRAM, "code 0", "+transports", "tcp", ":", "-n", "1", PROGRAM, "code 0"],
                             [r"process 0 was started with \+transports tcp, process 1 was started without"]),
        "one that refuses": ([*one, PROGRAM, "code 0", ":", "-n", "1", PROGRAM, "code 0", "+watchdog", "-3"],
                             [r"\+watchdog -3 makes no sense"]),
        "a simulation": ([*way.command, PROGRAM, "code 0", "+sim", "nodes=4"], [r"the launcher started \d processes", r"\+sim"]),
    }
    for name, (words, said) in cases.items():
        yield name, words, said


def cases(way):
    for name, words, said in [*mistakes(way), *command_lines(way), *unlike(way)]:
        yield f"{way.name}: {name}", functools.partial(judged, words, way.environment, said)


def main():
    here = ways.Ways()
    try:
        RESULTS.check_all(case for way in here.all for case in cases(way))
    finally:
        here.close()
    RESULTS.exit()


main()
