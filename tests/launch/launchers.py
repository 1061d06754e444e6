"""What the launch tests share: programs run with a time bound, and nothing left behind.

A test file is run as  FILE.py PROGRAM_FOLDER...  by ctest. It leaves with 77, and the reason, when what it is about is
not on this machine.
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid

import ending

SKIPPED = 77
PATIENCE = 600  # seconds until a run counts as hung, so that the others of the file still run


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def need(*commands):
    """Skips the whole file when a command is missing."""
    for command in commands:
        if shutil.which(command, path=os.environ["PATH"] + ":/usr/sbin:/sbin") is None:
            skip(f"there is no {command} on this machine")


class Lab:
    """A folder of its own with things in it that start() brings up and stop() takes down, also when start() fails half way."""

    def __init__(self, name):
        self.folder = tempfile.mkdtemp(prefix=f"periapt-{name}-")
        os.chmod(self.folder, 0o755)
        try:
            self.start()
        except BaseException:
            self.stop()
            raise

    @staticmethod
    def need(what, *commands):
        """Skips the whole file unless we are root, as `what` wants it, and the commands are there."""
        if os.geteuid() != 0:
            skip(f"{what} by root only")
        need(*commands)
        os.environ["PATH"] += ":/usr/sbin:/sbin"

    def path(self, name):
        return os.path.join(self.folder, name)


class Outcome:
    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds

    @property
    def lines(self):
        return sorted(line for line in self.out.splitlines() if line.strip())

    def __str__(self):
        return f"status {self.code} after {self.seconds:.1f} s\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


def environment(**more):
    """Ours, without what a launcher around the tests has set. What stands still ends (docs/testing.md)."""
    foreign = ("PMI", "PMIX", "SLURM", "OMPI", "PERIAPT", "PRTE", "HYDI", "MPI_")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(foreign)}
    clean["PERIAPT_STANDSTILL"] = "end"
    clean[ending.NAME] = ending.mark()
    clean.update({k: str(v) for k, v in more.items()})
    return clean


def open_mpi_sessions():
    """A folder of a run's own for mpirun's files: of two that begin at once in a common one, the second ends with "File exists"."""
    return tempfile.TemporaryDirectory(prefix="ompi-", ignore_cleanup_errors=True)


def marked(mark):
    """Processes that were started with the mark in their environment, and are there still."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if f"PERIAPT_TEST_MARK={mark}".encode() in file.read().split(b"\0") and alive(int(name)):
                    found.append(int(name))
        except OSError:
            pass
    return found


def unmarked(mark, within):
    """The same after a while, when none should be there any more."""
    end = time.monotonic() + within
    while (left := marked(mark)) and time.monotonic() < end:
        time.sleep(0.02)
    return left


def left_behind(mark, shm, within):
    """Sentences about what a run has left: processes with its mark, after a while, and names of ours in /dev/shm that were not
    among `shm`."""
    said = []
    if left := unmarked(mark, within):
        said.append(f"processes are left behind: {[command_of(pid) for pid in left]}")
    if new := {name for name in os.listdir("/dev/shm") if "periapt" in name} - shm:
        said.append(f"left in /dev/shm: {new}")
    return said


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return f"{pid}: {file.read().replace(bytes(1), b' ').decode(errors='replace')[:100]}"
    except OSError:
        return str(pid)


class Job:
    """A started command, in a process group of its own. What it starts carries a mark in its environment; when it has
    finished, nothing with the mark may be left, and nothing of ours in /dev/shm."""

    def __init__(self, command, stdin=subprocess.DEVNULL, **variables):
        self.mark = variables.setdefault("PERIAPT_TEST_MARK", uuid.uuid4().hex)
        self.shm = set(os.listdir("/dev/shm"))
        self.begin = time.monotonic()
        self.sessions = open_mpi_sessions()
        variables.setdefault("OMPI_MCA_orte_tmpdir_base", self.sessions.name)
        self.process = subprocess.Popen([str(word) for word in command], stdin=stdin, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
                                        env=environment(**variables))

    ENDING = 20  # seconds until what the command has left behind counts as left

    def lines_until(self, count, begins):
        """Reads stdout until so many lines begin so."""
        found = []
        while len(found) < count:
            line = self.process.stdout.readline()
            if not line:
                raise AssertionError(f"stdout ended after {found}: {self.finish()}")
            if line.startswith(begins):
                found.append(line.strip())
        return found

    def finish_launcher(self, program):
        """finish(), of a launcher that may hang at its end when its processes are gone: what it does then is not ours."""
        gone_since, seen = None, False
        while self.process.poll() is None:
            left = any(f": {program}" in command_of(pid) for pid in marked(self.mark))
            seen = seen or left
            gone_since = None if left or not seen else gone_since or time.monotonic()
            if gone_since and time.monotonic() - gone_since > self.ENDING:
                os.killpg(self.process.pid, signal.SIGKILL)
                break
            time.sleep(0.05)
        return self.finish()

    def finish(self, text=None):
        try:
            out, err = self.process.communicate(text, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            out, err = self.process.communicate()
            raise AssertionError(f"it hung: {Outcome('none', out, err, PATIENCE)}") from None
        run = Outcome(self.process.returncode, out, err, time.monotonic() - self.begin)
        self.sessions.cleanup()
        if said := left_behind(self.mark, self.shm, self.ENDING):
            raise AssertionError(f"{'; '.join(said)}: {run}")
        return run


def run(*command, text=None, **variables):
    stdin = subprocess.PIPE if text is not None else subprocess.DEVNULL
    return Job(command, stdin=stdin, **variables).finish(text)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def gone(pids, within=20):
    """Which of these processes are still there after a while."""
    end = time.monotonic() + within
    while time.monotonic() < end and any(alive(pid) for pid in pids):
        time.sleep(0.02)
    return [pid for pid in pids if alive(pid)]
