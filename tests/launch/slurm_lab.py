"""A real Slurm of four nodes on this machine, in a folder of its own: munged, slurmctld and four slurmd; stopped at the end.

Nothing outside the folder is touched. The nodes share one machine and its host name, so a program that asks
gethostname() where it is sees one host: what Slurm says is what counts.
"""
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time

import launchers

NODES = 4
CONFIG = """
ClusterName=lab
SlurmctldHost=localhost(127.0.0.1)
SlurmUser={user}
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={lab}/munge.sock
SlurmctldPort={port}
StateSaveLocation={lab}/state
SlurmdSpoolDir={lab}/spool-%n
TmpFS={lab}/tmp-%n
SlurmctldPidFile={lab}/slurmctld.pid
SlurmdPidFile={lab}/slurmd-%n.pid
SlurmctldLogFile={lab}/slurmctld.log
SlurmdLogFile={lab}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
KillWait=2
MessageTimeout=60
TCPTimeout=60
SlurmdParameters=config_overrides
NodeName=n[0-{last}] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[{first_port}-{last_port}] CPUs=4 RealMemory=1000 State=UNKNOWN
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
"""


def own_ports(count):
    """The first of `count` consecutive ports that have no listener, and what keeps them from other labs of this machine: a
    name that only one process can have."""
    for first in range(20000, 32000, 16):
        keeper = socket.socket(socket.AF_UNIX)
        try:
            keeper.bind(f"\0periapt-slurm-lab-{first}")
            for port in range(first, first + count):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
            return first, keeper
        except OSError:
            keeper.close()
    raise RuntimeError("no free ports")


class Lab(launchers.Lab):
    def __init__(self):
        self.need("slurmd and slurmctld are started", "srun", "slurmctld", "slurmd", "munged")
        self.pids = []
        super().__init__("slurm")

    def start(self):
        first, self.ports = own_ports(NODES + 1)
        config = CONFIG.format(lab=self.folder, user="root", port=first, first_port=first + 1, last_port=first + NODES,
                               last=NODES - 1)
        for name in ["state"] + [f"{kind}-n{i}" for kind in ("spool", "tmp") for i in range(NODES)]:
            os.mkdir(self.path(name))
        with open(self.path("slurm.conf"), "w", encoding="ascii") as file:
            file.write(config)
        with open(os.open(self.path("munge.key"), os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
            file.write(os.urandom(1024))
        self.environment = dict(launchers.environment(), SLURM_CONF=self.path("slurm.conf"))
        self.daemon("munged", "--force", f"--key-file={self.path('munge.key')}", f"--socket={self.path('munge.sock')}",
                    f"--pid-file={self.path('munged.pid')}", f"--log-file={self.path('munged.log')}",
                    f"--seed-file={self.path('munge.seed')}", pid="munged.pid")
        self.daemon("slurmctld", "-c", pid="slurmctld.pid")
        for i in range(NODES):
            self.daemon("slurmd", "-N", f"n{i}", pid=f"slurmd-n{i}.pid")
        self.wait(lambda: self.idle() == NODES, "the nodes to be idle")

    def daemon(self, *command, pid):
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = " ".join((done.stdout + done.stderr + self.read(os.path.splitext(pid)[0] + ".log")).split())
            launchers.skip(f"{command[0]} does not start on this machine: {said[-300:]}")
        self.wait(lambda: self.read(pid), pid)
        self.pids.append(int(self.read(pid)))

    def lose(self, node):
        """The node goes away in one moment, with all that runs there, and Slurm is told."""
        daemon = int(self.read(f"slurmd-{node}.pid"))
        self.pids.remove(daemon)
        for pid in [daemon] + self.steps(f"SLURMD_NODENAME={node}"):
            with contextlib.suppress(ProcessLookupError):  # a task may end with its keeper
                os.kill(pid, signal.SIGKILL)
        self.miss(node)

    def miss(self, node):
        """Slurm takes the node for lost, and ends at once what runs where it was."""
        subprocess.run(["scontrol", "update", f"nodename={node}", "state=down", "reason=lost"], env=self.environment, check=True)

    def cancel(self):
        """All jobs."""
        subprocess.run(["scancel", "--user=root"], env=self.environment, capture_output=True, check=False)

    def bring_back(self, node):
        """A lost one serves again as soon as its daemon says that it is there (ReturnToService)."""
        self.wait(lambda: not self.steps(f"SLURMD_NODENAME={node}"), f"what ran on {node}")
        if int(self.read(f"slurmd-{node}.pid")) in self.pids:
            # Refused where its daemon has spoken in between.
            subprocess.run(["scontrol", "update", f"nodename={node}", "state=resume"], env=self.environment, capture_output=True,
                           check=False)
        else:
            os.remove(self.path(f"slurmd-{node}.pid"))
            self.daemon("slurmd", "-N", node, pid=f"slurmd-{node}.pid")
        self.wait(lambda: self.idle() == NODES, "the nodes to be idle")

    def read(self, name):
        try:
            with open(self.path(name), encoding="ascii") as file:
                return file.read().strip()
        except OSError:
            return ""

    def idle(self):
        command = ["sinfo", "-h", "-o", "%t %D"]
        states = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False).stdout
        return sum(int(line.split()[1]) for line in states.splitlines() if line.startswith("idle "))

    @staticmethod
    def wait(condition, what):
        for _ in range(600):
            if condition():
                return
            time.sleep(0.05)
        raise RuntimeError(f"waited in vain for {what}")

    def srun(self, *words, **variables):
        return self.job(*words, **variables).finish()

    def salloc(self, *words, **variables):
        """A command in an allocation of its own, on this machine."""
        return self.job_of("salloc", "-Q", *words, **variables).finish()

    def job(self, *words, **variables):
        return self.job_of("srun", *words, **variables)

    def job_of(self, *command, **variables):
        return launchers.Job(command, SLURM_CONF=self.path("slurm.conf"), **variables)

    def offers(self, kind):
        """Whether this Slurm has an MPI plug-in."""
        shown = launchers.run("srun", "--mpi=list", SLURM_CONF=self.path("slurm.conf"))
        return kind in (shown.out + shown.err).replace(",", " ").split()

    def stop_with_no_steps_left(self):
        self.stop()
        left = self.steps()
        assert not left, f"left behind: {left}"

    def steps(self, variable=None):
        """What runs under this Slurm beside its daemons: keepers of steps and their tasks, known by our configuration; those with
        a variable of that value."""
        mine = {text.encode() for text in (f"SLURM_CONF={self.path('slurm.conf')}", variable) if text}
        found = []
        for name in os.listdir("/proc"):
            try:
                if name.isdigit() and int(name) not in self.pids + [os.getpid()]:
                    with open(f"/proc/{name}/environ", "rb") as file:
                        if mine <= set(file.read().split(b"\0")):
                            found.append(int(name))
            except OSError:
                pass
        return found

    def stop(self):
        if self.pids:  # steps first: their keepers outlive slurmd
            self.cancel()
            for pid in launchers.gone(self.steps(), within=5):
                os.kill(pid, signal.SIGKILL)
        for pid in reversed(self.pids):
            try:
                os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
        for pid in launchers.gone(self.pids, within=10):
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)
