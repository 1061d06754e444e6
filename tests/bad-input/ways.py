"""The ways in which a user starts a program, for tests of how runs end that go wrong.

A way turns words (a program and its arguments) into a command. What a run leaves behind is found by a mark in the
environment that everything inherits which the run starts, however it is started.
"""
import concurrent.futures
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "launch"))
import launchers  # noqa: E402
import slurm_lab  # noqa: E402

AT_ONCE = 4  # runs, which mostly wait
HANG_S = 300  # not a limit of the test: a run that hangs must not hide the others
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # of what is started here, too
CHARMRUN = os.path.join(os.environ["PERIAPT_BIN"], "charmrun")


class Way:
    """`processes` started by a launcher, or by the program itself; each with `options` of Periapt's."""

    def __init__(self, name, command, options, environment=None):
        self.name, self.command, self.options = name, command, options
        self.environment = environment or {}

    def words(self, program, *arguments):
        return [*self.command, program, *arguments, *self.options]


class Ways:
    """All that this machine has. Those that it has not are told, once."""

    def __init__(self, slurm=True):
        self.folder = tempfile.TemporaryDirectory(prefix="periapt-ways-")
        self.lab = None
        self.all = [Way("by itself, tcp", [], ["+p4", "+ppn", "2", "+transports", "tcp"])]
        if shutil.which("mpiexec.hydra"):
            self.all += [Way("hydra", ["mpiexec.hydra", "-n", "2"], ["+ppn", "2"]),
                         Way("hydra, tcp", ["mpiexec.hydra", "-n", "3"], ["+transports", "tcp"])]
        else:
            print("not tried: hydra (there is no mpiexec.hydra)")
        if shutil.which("mpirun.openmpi"):
            mpirun = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n"]
            self.all += [Way("Open MPI", [*mpirun, "2"], ["+ppn", "2"]),
                         Way("Open MPI, tcp", [*mpirun, "3"], ["+transports", "tcp"])]
        else:
            print("not tried: Open MPI (there is no mpirun.openmpi)")
        self.all.append(self.charmrun())
        if slurm:
            self.add_slurm()

    def charmrun(self):
        """Two hosts, reached by a shell that stays here."""
        shell, hosts = self.path("shell"), self.path("hosts")
        with open(shell, "w", encoding="ascii") as file:
            file.write('#!/bin/sh\nshift\nexec sh -c "$*"\n')
        os.chmod(shell, 0o755)
        with open(hosts, "w", encoding="ascii") as file:
            file.write("host a\nhost b\n")
        return Way("charmrun", [CHARMRUN, "++quiet", "++nodelist", hosts, "++remote-shell", shell, "++n", "2"],
                   ["+ppn", "2"])

    def add_slurm(self):
        try:
            self.lab = slurm_lab.Lab()
        except SystemExit:
            return  # it has said why
        for kind in ("pmi2", "pmix"):
            if self.lab.offers(kind):
                self.all.append(Way(f"srun, {kind}", ["srun", "-N2", "-n2", f"--mpi={kind}"], ["+ppn", "2"],
                                    {"SLURM_CONF": self.lab.path("slurm.conf")}))

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def close(self):
        if self.lab:
            self.lab.stop()
        self.folder.cleanup()


class Run:
    """A run in a folder of its own; `text` is what it has printed, both streams together."""

    def __init__(self, words, environment=None, stdout=None, stdin=subprocess.DEVNULL):
        self.mark = uuid.uuid4().hex
        self.ending = 10  # seconds until what it has left behind counts as left
        self.folder = tempfile.TemporaryDirectory(prefix="periapt-run-")
        self.shm = set(os.listdir("/dev/shm"))
        self.output = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        self.begin = time.monotonic()
        self.sessions = launchers.open_mpi_sessions()
        variables = {"PERIAPT_TEST_MARK": self.mark, "OMPI_MCA_orte_tmpdir_base": self.sessions.name, **(environment or {})}

        self.process = subprocess.Popen([str(word) for word in words], cwd=self.folder.name, stdin=stdin,
                                        stdout=stdout or self.output, stderr=self.output, start_new_session=True,
                                        env=launchers.environment(**variables))

    def text(self):
        return os.pread(self.output.fileno(), 1 << 24, 0).decode(errors="replace")

    def finish(self):
        """Status, what was printed, and what is wrong with what was left: a list of sentences."""
        wrong = []
        try:
            status = self.process.wait(HANG_S)
        except subprocess.TimeoutExpired:
            status = None
            wrong.append(f"it hung for {HANG_S} s")
        wrong += launchers.left_behind(self.mark, self.shm, self.ending if status is not None else 0)
        for pid in launchers.marked(self.mark):
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        self.process.wait()
        if files := os.listdir(self.folder.name):
            wrong.append(f"left in its folder: {files}")
        text = self.text()
        self.output.close()
        self.folder.cleanup()
        self.sessions.cleanup()
        return status, text, wrong


class Results:
    """What a test of this folder says of its cases. `only`: words, one of which has to be in a case's name; none: all run."""

    def __init__(self, only):
        self.only = only
        self.failures = []
        self.begin = time.monotonic()

    def check_all(self, cases):
        """Some at once: each a function that returns what report() wants to know behind the case's name."""
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            done = [pool.submit(lambda case, work: self.report(case, *work()), case, work)
                    for case, work in cases if self.wanted(case)]
            for one in done:
                one.result()

    def wanted(self, case):
        return not self.only or any(word in case for word in self.only)

    def report(self, case, status, text, wrong):
        said = [f"{time.monotonic() - self.begin:6.1f} s  {'FAILED ' if wrong else ''}{case}: status {status}"]
        if wrong:
            self.failures.append(case)
            said += [f"    {line}" for line in [*wrong, "it printed:", *text.splitlines()[:60]]]
        print("\n".join(said), flush=True)

    def exit(self):
        print(f"{len(self.failures)} failures {self.failures if self.failures else ''}")
        sys.exit(1 if self.failures else 0)
