#!/usr/bin/env python3
"""A test that is killed leaves nothing running: ending.py, by a test that starts programs and waits for ever.

Usage: ending_test.py PROGRAM. PROGRAM is tests/bad-input/bad.cpp, which waits for ever where it is told to.
"""
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
# A test as those of this folder are, with what it starts in a session of its own, and one as those of tests/bad-input.
RUNNERS = {
    "launchers": f"import sys; sys.path.insert(0, {str(HERE)!r}); import launchers; "
                 "launchers.Job(sys.argv[1:]).process.wait()",
    "bad_input": f"import sys; sys.path.insert(0, {str(HERE.parent / 'bad-input')!r}); import bad_input_test; "
                 "bad_input_test.Run(sys.argv[1:]).process.wait()",
}


def commands_with(word):
    """Processes that have it in their command line, but the runner."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if word.encode() in words and b"-c" not in words:
            found.append(int(name))
    return found


def until(wanted):
    """Waits for it; ctest ends what waits for ever."""
    while not wanted():
        time.sleep(0.02)


def main():
    for name, text in RUNNERS.items():
        word = f"{name}-{os.getpid()}"  # which the program takes no notice of
        runner = subprocess.Popen([sys.executable, "-c", text, sys.argv[1], "wait", "for", "ever", word, "+watchdog", "0", "+p4", "+ppn", "2"],
                                  stdout=subprocess.DEVNULL)
        until(lambda: len(commands_with(word)) >= 3)  # the parent of two processes, and these
        runner.send_signal(signal.SIGKILL)
        runner.wait()
        until(lambda: not commands_with(word))
        print(f"{name}: all have ended")


if __name__ == "__main__":
    main()
