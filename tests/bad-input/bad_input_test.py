#!/usr/bin/env python3
"""How runs end that go wrong: one clear message, an exit status other than 0, and nothing left behind.

Usage: bad_input_test.py PROGRAM CHARMC. PROGRAM is tests/bad-input/bad.cpp, which makes the mistake it is told to. Each case is run
in one process with one PE and with several, and in several processes. A case says which words must be printed; the message
must come once, name the place, and every process must be gone afterwards.
"""
import concurrent.futures
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "launch"))
import ending

LAYOUTS = ["+p1", "+p4", "+p4 +ppn 2"]
FAR = ["+p4 +ppn 2 +transports tcp"]
AT_ONCE = 6  # they mostly wait
HANG_S = 300  # not a limit of the test: a run that hangs must not hide the others

# What both processes of a host find at the same moment, as both hear of the array from its maker.
SEEN_BY_ALL = ("map of another dimension",)
# mistake: (exit status, words in order, layouts)
MISTAKES = {
    "abort": (1, ["the sky is falling at 2", r"Victim\[2\]::.*act"], LAYOUTS),
    "exception": (1, ["an exception left an entry method: no such file: galaxy.tipsy", r"Victim\[2\]"], LAYOUTS),
    "strange exception": (1, ["no std::exception", r"Victim\[2\]"], LAYOUTS),
    "segfault": (139, ["signal 11", "at address", "pointer", r"Victim\[2\]"], LAYOUTS),
    "stack overflow": (139, ["signal 11", "the stack is full"], LAYOUTS),
    "libc abort": (134, ["signal 6", r"abort\(\) was called", r"Victim\[2\]"], LAYOUTS),
    "no such element": (1, ["nothing has moved", r"Victim\[77\], which does not exist", "hello"], LAYOUTS),
    "deleted chare": (1, ["nothing has moved", "chare .* which does not exist", "hello"], LAYOUTS),
    "proxy of an array": (1, ["array proxy is used that was never set", r"Victim\[2\]"], LAYOUTS),
    "proxy of a group": (1, ["group proxy is used that was never set", r"Victim\[2\]"], LAYOUTS),
    "proxy of a chare": (1, ["chare proxy is used that was never set", r"Victim\[2\]"], LAYOUTS),
    "check of a proxy of an array": (1, ["an array proxy is used that was never set", r"Victim\[2\]", r"ckCheck\(\)"], LAYOUTS),
    "check of a proxy of a group": (1, ["a group proxy is used that was never set", r"Victim\[2\]", r"ckCheck\(\)"], LAYOUTS),
    "check of a proxy of a chare": (1, ["a chare proxy is used that was never set", r"Victim\[2\]", r"ckCheck\(\)"], LAYOUTS),
    "chare on no PE": (1, [r"a chare on PE \d+ is called, and this run has PEs 0 to", r"Victim\[2\]", "Single::void hello"], LAYOUTS),
    "instance of a template entry": (1, ["template entry is used with types", r"Victim\[2\]", "double", "extern entry"],
                                     LAYOUTS),
    "number of a message": (1, ["reference number 4294967296 of a message or callback is too large", r"Victim\[2\]"], LAYOUTS),
    "message that grows": (1, ["message of class Swollen that the program holds once more has grown from . to 1000 bytes", r"Victim\[2\]"], LAYOUTS),
    "number of a callback": (1, ["reference number -4294967296 of a message or callback is too large", r"Victim\[2\]"],
                             LAYOUTS),
    "element that needs arguments": (1, [r"Heir\[3\] is to be created by a message to it, but its class has no constructor",
                                         r"entry Heir\(\)"], LAYOUTS),
    "map of another dimension": (1, ["Simple1DFileMap is the map of an array of 2 dimensions", "use ReadFileMap"], LAYOUTS),
    "idle entry": (1, [r"CkCallWhenIdle\(\) is given an entry that is not \[whenidle\]", r"Victim\[2\]"], LAYOUTS),
    "double insertion": (1, [r"Victim\[50\] is inserted twice"], LAYOUTS),
    "double insertion elsewhere": (1, [r"Victim\[50\] is inserted twice: on PE \d and on PE \d"], LAYOUTS),
    "reducers": (1, ["different reducers"], LAYOUTS),
    "message for a local entry": (1, [r"a message calls a \[local\] entry", "near", r"leave \[local\] away"], LAYOUTS),
    "tuple for a value": (1, ["result of a tuple reduction is for an entry that takes values", r"toTuple\(\)"], LAYOUTS),
    "nothing for a value": (1, ["result of a reduction is too short for the entry that takes it", "valued", "it has 0 bytes", "of a value of type int",
                                r"contribute\(\)"], LAYOUTS),
    "pup of a value": (1, ["PUP: .* needed 4 bytes", "unpacking", r"let pup\(\) visit the same members"], LAYOUTS),
    "delegated to nobody": (1, ["delegated proxy is used where its manager is not made yet", r"Victim\[2\]"], LAYOUTS),
    "section of nobody": (1, ["section proxy is used that was never set", r"Victim\[2\]"], LAYOUTS),
    "section cookie of nobody": (1, ["section whose CkSectionInfo names none", "CkGetSectionInfo"], LAYOUTS),
    "section message of another kind": (1, ["message that brings no section", "CkMcastBaseMsg"], LAYOUTS),
    "section with one that does not exist": (1, ["nothing has moved", r"Victim\[77\], which does not exist", "hello"], LAYOUTS),
    "section contributed to twice": (1, ["more contributions than the section has members", "which has 2 members"],
                                     LAYOUTS),
    "pup": (1, ["PUP", "bytes"], ["+p4", "+p4 +ppn 2"]),
    "bad PE": (1, ["60.* is to be inserted on PE", "there (are|is) "], LAYOUTS),
    "migrate nowhere": (1, [r"Victim\[2\] is to migrate to PE -5", "numbered 0 to"], LAYOUTS),
    "wait outside of a thread": (1, ["something waits that is no thread", r"\[threaded\]"], LAYOUTS),
    "wait for one of several outside of a thread": (1, ["something waits that is no thread", r"\[threaded\]"], LAYOUTS),
    "body with a number that is too large": (1, ["reference number 140737488355328 is too large: .* between "
                                                 r"-140737488355327 and 140737488355327", r"bad_bodies.ci:8, Waiter\[2\]"],
                                             LAYOUTS),
    "body with a message whose number is too large": (1, [r"reference number 140737488355328 of .*numbered\(.* is too large",
                                                          r"Waiter\[2\]"], LAYOUTS),
    "body with a message whose number is too small": (1, [r"reference number -140737488355328 of .*numbered\(.* is too large",
                                                          r"Waiter\[2\]"], LAYOUTS),
    "body with a forall without stride": (1, ["the stride of a forall is 0", r"bad_bodies.ci:10, Waiter\[2\]"], LAYOUTS),
    "body that is packed while it runs": (1, [r"Waiter\[2\] is packed while a serial block of it runs",
                                              r'in serial "packs" \(.*bad_bodies.ci:11\)'], LAYOUTS),
    "body that waits for a method": (1, [r"a when waits for .*method\(int n\), but messages for it go to a method",
                                         "bad_bodies.ci:12", "class Base"], LAYOUTS),
    "body with a block that aborts": (1, ["the block falls", r'Waiter\[2\]::.*run.*, in serial "falls" \(.*bad_bodies.ci:13\)'],
                                      LAYOUTS),
    "destroyed under a thread": (1, [r"Victim\[2\] is destroyed while a thread of its entry .*ponder\(\) waits",
                                     r"Victim\[2\]::.*perish", "at the end of the thread itself"], LAYOUTS),
    "chare deleted under a thread": (1, [r"chare Single is destroyed while a thread of its entry .*ponder\(\) waits"],
                                     LAYOUTS),
    "zero copy too large": (1, ["transfer of 64 bytes into a buffer of 32", r"Victim\[2\]"], LAYOUTS),
    "zero copy of nothing": (1, ["describes no memory", r"Victim\[2\]"], LAYOUTS),
    "zero copy not registered": (1, ["describes no memory", "CK_BUFFER_NOREG"], LAYOUTS),
    "zero copy without a local buffer": (1, [r"get\(\) of a buffer whose memory is not in this process"], LAYOUTS),
    "zero copy post of nothing": (1, ["says nothing of array 0", r"Victim::.*grasp", "CkPostBuffer"], LAYOUTS),
    "zero copy post matched twice": (1, [r"CkMatchBuffer\(\) of array 0, for the second time", "grasp"], LAYOUTS),
    "zero copy post to no index": (1, [r"CkMatchBuffer\(\) of array 1, but there are 1"], LAYOUTS),
    "zero copy posted twice": (1, [r"CkPostBuffer\(\) with tag 6, which another buffer"], LAYOUTS),
    "forged address": (1, [r"a message of 16 bytes from process \d makes no sense: it is of no kind that lines have"],
                       FAR),
    "forged length": (1, [r"a message of 16 bytes from process \d makes no sense: it says that it has another length"],
                      FAR),
    "forged root": (1, [r"a message of 48 bytes from process \d makes no sense: it is a broadcast from a PE that is not"],
                    FAR),
    "code 3": (3, [], LAYOUTS),
    "thread overflow": (139, [r"on PE \d, thread \d+ ran over its stack of \d+ bytes", "fatal error", "signal 11"], LAYOUTS),
    "exit": (1, [r"the program called exit\(0\) before the run had ended", r"Victim\[2\]", r"CkExit\(0\)"], LAYOUTS),
    "exit 7": (1, [r"the program called exit\(7\) before the run had ended", r"Victim\[2\]", r"CkExit\(7\)"], LAYOUTS),
    "_exit": (1, [r"the program called _exit\(0\) before the run had ended", r"Victim\[2\]"], LAYOUTS),
    "quick exit": (1, [r"the program called quick_exit\(0\) before the run had ended", r"Victim\[2\]"], LAYOUTS),
    "quick exit 3": (1, [r"the program called quick_exit\(3\) before the run had ended", r"Victim\[2\]", r"CkExit\(3\)"],
                     LAYOUTS),
    "_Exit 4": (1, [r"the program called _Exit\(4\) before the run had ended", r"CkExit\(4\)"], LAYOUTS),
    "system call 5": (5, [r"process 1 .*left with status 5 before the run had ended; ending the other"], FAR),
    "exit of another thread": (1, [r"the program called exit\(0\) before the run had ended"], LAYOUTS),
    "exit of a child": (3, [], LAYOUTS),
}
# The PE of element 2, which makes the mistake, is named in the first sentence.
PE_OF_MISTAKE = {"+p1": 0, "+p4": 2, "+p4 +ppn 2": 2}
ON_ITS_PE = ["stack overflow", "thread overflow", "exit", "_exit"]
# A standstill that something from outside could end: told, not ended.
STANDSTILLS = {
    "nothing": [r"CkExit\(\) was not called"],
    "section reduction without one": [r"reduction 0 of section 1 of PE \d: PE \d has 1 of 2 contributions"],
    "body that waits": [r"Waiter\[2\] waits: when .*numbered\[7\]\(.*, .*other\(double d\) \(.*bad_bodies.ci:21\) in .*run\(.*, of "
                        r"which .*other\(double d\) has come\n.*Waiter\[2\] keeps 2 messages that no when has taken: "],
    "half a reduction": [r"reduction 0 of Victim: \d of \d contributors on PE 0"],
    "zero copy post never": [r"array 0 of Victim::.*grasp.* waits for CkPostBuffer\(\) with tag 5"],
    "wait for ever": ["1 thread on PE 0 wait"],
}
COMMAND_LINES = {
    "+p 4 +ppn 3": ["4 / 3 = 1.333 is not whole", r"\+ppn of 1, 2, 4"],
    "+p x": ["wants a number"],
    "+p 0": ["at least 1"],
    "+p": ["last argument"],
    "+p 2 +p 3": ["given twice"],
    "+p 4 +np 3": ["is not whole"],
    "+pemap 4096 +p2": ["which we may not use"],
    "+watchdog soon": ["watchdog"],
    "+watchdog -1": ["makes no sense"],
    "+stacksize -1": [r"\+stacksize -1 makes no sense", "bytes"],
    "+stacksize much": [r"\+stacksize cannot be 'much'"],
}
# An option that goes to the program, though it was probably meant for us.
MISSPELT = {"+pnn 2": ("+pnn", "+ppn"), "++wathdog 3": ("++wathdog", "+watchdog"), "+ppn=2": ("+ppn=2", "+ppn"),
            "+LBPerid 2": ("+LBPerid", "+LBPeriod"), "+cells": ("+cells", None)}
# Standard input, output and error may be closed. What is printed must not go where the run's own files are.
CLOSED = ["0<&-", "1>&-", "0<&- 1>&-", "0<&- 1>&- 2>&-"]
CLOSED_LAYOUTS = ["+p4", "+p4 +ppn 1", "+p4 +ppn 1 +transports tcp"]

failures = []


def fail(case, why, output=""):
    failures.append(f"{case}: {why}")
    print(f"FAILED {case}: {why}\n" + "".join(f"    {line}\n" for line in output.splitlines()[:40]), flush=True)


def runs(pid, group):
    """Whether the process is of the group and runs. One that has ended stays in the list until its parent has taken notice: where that
    is gone, until the first process of the system or container has, and some look every other second only."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            state, _, its_group = file.read().rpartition(")")[2].split()[:3]
    except OSError:
        return False
    return int(its_group) == group and state not in "ZX"


def left_behind(group):
    """Processes of the run that still run; they get a moment to end."""
    for _ in range(100):
        if not any(runs(pid, group) for pid in filter(str.isdigit, os.listdir("/proc"))):
            return False
        time.sleep(0.02)
    return True


def files_in_shm():
    """Of ours: programs of other tests and of other people come and go there, too."""
    return {name for name in os.listdir("/dev/shm") if "periapt" in name}


class Run:
    """A run in a session and an empty folder of its own."""

    def __init__(self, command, standstill=""):
        self.folder = tempfile.TemporaryDirectory()
        self.shm = files_in_shm()
        self.output = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, cwd=self.folder.name, stdout=self.output, stderr=subprocess.STDOUT,
                                        stdin=subprocess.DEVNULL, start_new_session=True,
                                        env=dict(os.environ, PERIAPT_STANDSTILL=standstill, **{ending.NAME: ending.mark()}))

    def text(self):
        return os.pread(self.output.fileno(), 1 << 24, 0).decode(errors="replace")

    def wait(self, case):
        """Status and output; checks that nothing is left."""
        try:
            status = self.process.wait(HANG_S)
        except subprocess.TimeoutExpired:
            fail(case, f"still running after {HANG_S} s", self.text())
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            status = None
        if left_behind(self.process.pid):
            fail(case, "processes are left behind", self.text())
            os.killpg(self.process.pid, signal.SIGKILL)
        text = self.text()
        self.output.close()
        if new := files_in_shm() - self.shm:
            fail(case, f"left in /dev/shm: {new}")
        if files := os.listdir(self.folder.name):
            fail(case, f"left in its folder: {files}")
        self.folder.cleanup()
        return (128 - status if status is not None and status < 0 else status), text


def check(case, status, text, expected, words):
    if status != expected:
        fail(case, f"status {status}, not {expected}", text)
    at = 0
    for word in words:
        found = re.compile(word, re.DOTALL).search(text, at)
        if not found:
            fail(case, f"does not say {word!r} (after what comes before it)", text)
            return
        at = found.start()
    told = len(re.findall(r"^periapt: (?:fatal error|process \d+ )", text, re.MULTILINE))
    if words and told > (2 if case.startswith(SEEN_BY_ALL) else 1):
        fail(case, f"{told} messages instead of one", text)


def wait_for(run, words):
    """Until the run has printed the words; false when it ends before."""
    end = time.monotonic() + HANG_S
    while run.process.poll() is None and time.monotonic() < end:
        if all(re.search(word, run.text()) for word in words):
            return True
        time.sleep(0.05)
    return False


def children_of(pid):
    out = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False).stdout
    return [int(word) for word in out.split()]


def started(run, processes):
    while run.process.poll() is None:
        children = children_of(run.process.pid)
        if len(children) == processes and "PEs in" in run.text():
            return children
        time.sleep(0.02)
    return []


def kills(program):
    """kill -9 of a child, of the parent, of the only process: the others say so and leave."""
    command = [program, "nothing", "+watchdog", "0", "+p4", "+ppn", "2"]
    run = Run(command)
    children = started(run, 2)
    os.kill(children[1], signal.SIGKILL)
    begin = time.monotonic()
    status, text = run.wait("kill -9 of a child")
    check("kill -9 of a child", status, text, 137, [r"process 1 \(pid \d+, PEs 2-3\) was killed by signal 9"])
    print(f"kill -9 of a child: over after {time.monotonic() - begin:.2f} s")

    run = Run(command)
    started(run, 2)
    os.kill(run.process.pid, signal.SIGKILL)
    begin = time.monotonic()
    status, text = run.wait("kill -9 of the parent")
    check("kill -9 of the parent", status, text, 137, ["the parent process of this run was killed"])
    print(f"kill -9 of the parent: over after {time.monotonic() - begin:.2f} s")

    run = Run([program, "nothing", "+watchdog", "0", "+p2"])
    while "PEs in" not in run.text():
        time.sleep(0.02)
    os.kill(run.process.pid, signal.SIGKILL)
    status, text = run.wait("kill -9 of the only process")
    check("kill -9 of the only process", status, text, 137, [])

    run = Run(command)
    started(run, 2)
    os.kill(run.process.pid, signal.SIGTERM)
    status, text = run.wait("SIGTERM to the parent")
    check("SIGTERM to the parent", status, text, 143, [])


def translator(charmc):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "broken.ci").write_text("mainmodule broken {\n  array [1D] A {\n    entry void f(int;\n  };\n};\n",
                                                encoding="utf-8")
        done = subprocess.run([charmc, "broken.ci"], cwd=folder, capture_output=True, text=True, check=False)
        text = done.stdout + done.stderr
        if done.returncode == 0:
            fail("broken .ci", "status 0", text)
        if not re.search(r"broken\.ci:3:\d+: error: .*\n.*entry void f\(int;.*\n *\S* *\|? *~*\^", text):
            fail("broken .ci", "does not show line and caret", text)
        if left := [name for name in os.listdir(folder) if name != "broken.ci"]:
            fail("broken .ci", f"left in the folder: {left}", text)


def mistake_is_told(program, mistake, layout):
    case = f"{mistake} {layout}"
    expected, words, _ = MISTAKES[mistake]
    status, text = Run([program, mistake, "+watchdog", "1", *layout.split()]).wait(case)
    check(case, status, text, expected, words)
    named = re.search(r"^periapt: (?:fatal error )?on PE (\d+)", text, re.MULTILINE)
    if mistake in ON_ITS_PE and (not named or int(named[1]) != PE_OF_MISTAKE[layout]):
        fail(case, f"its first sentence does not name PE {PE_OF_MISTAKE[layout]}", text)


def standstill_is_told(program, mistake, layout):
    case = f"{mistake} {layout}"
    run = Run([program, mistake, "+watchdog", "1", *layout.split()])
    if not wait_for(run, STANDSTILLS[mistake]):
        fail(case, f"ended, or did not say {STANDSTILLS[mistake]}", run.text())
    os.kill(run.process.pid, signal.SIGTERM)
    status, text = run.wait(case)
    check(case, status, text, 143, ["nothing has moved"])


def standstill_ends(program, mistake, layout):
    case = f"{mistake} {layout}, ended"
    status, text = Run([program, mistake, "+watchdog", "1", *layout.split()], "end").wait(case)
    check(case, status, text, 1, ["fatal error", "nothing has moved for .*CkExit", *STANDSTILLS[mistake][-1:]])


def silence_is_told(program, layout):
    """An entry that never ends, seen from a PE 0 that is idle: a warning, or the end."""
    case = f"entry without end {layout}"
    command = [program, "entry without end", "+watchdog", "1", *layout.split()]
    words = ["PE 2 of process 1.* not answered for 20 s", "never ends.*stopped.*network", "gdb -p"]
    run = Run(command)
    if not wait_for(run, ["warning: ", *words, "told once"]):
        fail(case, f"ended, or did not say {words}", run.text())
    os.kill(run.process.pid, signal.SIGTERM)
    status, text = run.wait(case)
    check(case, status, text, 143, ["not answered"])
    status, text = Run(command, "end").wait(case)
    check(case + ", ended", status, text, 1, ["fatal error", words[0], "seen by PE 0", *words[1:]])


def command_line_is_refused(program, line):
    status, text = Run([program, "nothing", *line.split()]).wait(line)
    check(line, status, text, 1, COMMAND_LINES[line])


def misspelt_option_is_told(program, line):
    given, meant = MISSPELT[line]
    status, text = Run([program, "code 3", *line.split(), "+p4", "++ppn", "2"]).wait(line)
    check(line, status, text, 3, [])
    offer = f": did you mean {meant}?" if meant else ""
    if text.count(f"warning: {given} is no option of Periapt's and goes to the program{offer}\n") != 1:
        fail(line, "does not say once what was meant", text)


def stack_of_its_size(program):
    status, text = Run([program, "thread overflow", "+stacksize", "1000000", "+p2"]).wait("+stacksize")
    check("+stacksize", status, text, 139, ["ran over its stack of 1003520 bytes"])  # whole pages


def closed_streams_do_no_harm(program, closed, layout):
    case = f"closed {closed} {layout}"
    status, text = Run(["sh", "-c", f"exec {program} talk {layout} {closed}"]).wait(case)
    check(case, status, text, 3, [])
    if "error" in text:
        fail(case, "an error is told", text)


def cases(program, charmc):
    """(name, function and its arguments); those that wait longest come first."""
    for mistake in STANDSTILLS:
        for layout in LAYOUTS:
            yield f"{mistake} {layout}, ended", (standstill_ends, program, mistake, layout)
            yield f"{mistake} {layout}", (standstill_is_told, program, mistake, layout)
    for layout in [LAYOUTS[2], *FAR]:
        yield f"entry without end {layout}", (silence_is_told, program, layout)
    yield "kill -9", (kills, program)
    for mistake, (_, _, layouts) in MISTAKES.items():
        for layout in layouts:
            yield f"{mistake} {layout}", (mistake_is_told, program, mistake, layout)
    for line in COMMAND_LINES:
        yield line, (command_line_is_refused, program, line)
    for line in MISSPELT:
        yield line, (misspelt_option_is_told, program, line)
    yield "+stacksize", (stack_of_its_size, program)
    for closed in CLOSED:
        for layout in CLOSED_LAYOUTS:
            yield f"closed {closed} {layout}", (closed_streams_do_no_harm, program, closed, layout)
    yield "translator", (translator, charmc)


def main():
    program, charmc = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    only = sys.argv[3:]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # of what is started here, too
    begin = time.monotonic()

    def go(name, work):
        work[0](*work[1:])
        print(f"{time.monotonic() - begin:6.1f} s  {name}", flush=True)

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        chosen = [case for case in cases(program, charmc) if not only or any(word in case[0] for word in only)]
        for done in [pool.submit(go, *case) for case in chosen]:
            done.result()
    print(f"{len(chosen)} cases, {len(failures)} failures")
    return 1 if failures or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
