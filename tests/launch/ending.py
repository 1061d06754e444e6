"""What a test has started ends with it, also where the test itself is killed in the middle.

mark() is a value for the variable NAME of the environment of all that a test starts. A process beside the test (this file, as a
program) waits for the test's end on a pipe, and kills what still has the mark then.
"""
import os
import signal
import subprocess
import sys
import threading
import time
import uuid

NAME = "PERIAPT_TEST_RUNNER"


class Beside:
    """The mark, and the process that waits for the end of this one."""

    def __init__(self):
        self.mark = uuid.uuid4().hex
        environment = {name: text for name, text in os.environ.items() if name != NAME}
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), self.mark], stdin=subprocess.PIPE,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, env=environment)


_lock, _beside = threading.Lock(), []  # begun by the first that starts something, in whichever thread


def mark():
    with _lock:
        if not _beside:
            _beside.append(Beside())
    return _beside[0].mark


def marked(value):
    """The processes that have it in their environment."""
    wanted, found = f"{NAME}={value}".encode(), []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if wanted in file.read().split(b"\0"):
                    found.append(int(name))
        except OSError:  # it has ended, or is another user's
            pass
    return found


def main():
    sys.stdin.buffer.read()
    # Those that are being started when the others end are found by a later look.
    while left := marked(sys.argv[1]):
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.02)


if __name__ == "__main__":
    main()
