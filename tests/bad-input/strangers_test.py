#!/usr/bin/env python3
"""Runs among strangers: a launcher whose processes do not belong together (another job's secret, another version, addresses
that lead nowhere), and bytes of any stranger on every socket that a run listens on.

Usage: strangers_test.py BAD STORM [WORD...]; only cases with one of the words in their name run. The launcher is played here:
two processes that count as two hosts meet over PMI-1, and one of them is told something else than the other one said.
"""
import base64
import glob
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import uuid

import ways
from ways import launchers

BAD, STORM = (os.path.abspath(path) for path in sys.argv[1:3])
RESULTS = ways.Results(sys.argv[3:])
BLOCK = re.compile(r"^periapt: fatal error", re.MULTILINE)


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def encoded(value):
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


class Launcher:
    """Speaks PMI-1 with `size` processes. `lie(rank, key, value)`: what a process hears of what another one put. A process told
    to end the run ends it, as every launcher does."""

    def __init__(self, size, lie, words):
        self.size, self.lie = size, lie
        self.values, self.lock, self.ended = {}, threading.Lock(), threading.Event()
        self.barrier = threading.Barrier(size)
        self.mark = uuid.uuid4().hex
        self.output = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        self.shm = set(os.listdir("/dev/shm"))
        self.processes = []
        self.threads = []
        for rank in range(size):
            ours, theirs = socket.socketpair()
            environment = launchers.environment(PMI_FD=theirs.fileno(), PMI_RANK=rank, PMI_SIZE=size, PERIAPT_TEST_MARK=self.mark)
            self.processes.append(subprocess.Popen(words, pass_fds=[theirs.fileno()], env=environment, stdin=subprocess.DEVNULL,
                                                   stdout=self.output, stderr=self.output, start_new_session=True))
            theirs.close()
            self.threads.append(threading.Thread(target=self.serve, args=(rank, ours), daemon=True))
        for thread in self.threads:
            thread.start()

    def serve(self, rank, ours):
        with ours, ours.makefile("rwb", buffering=0) as file:
            try:
                while line := file.readline().decode(errors="replace"):
                    fields = dict(word.split("=", 1) for word in line.split())
                    if fields["cmd"] == "abort":
                        break
                    file.write(self.answer(rank, fields).encode())
                    if fields["cmd"] == "finalize":
                        return
            except (OSError, threading.BrokenBarrierError):
                pass
        self.end()

    def end(self):
        self.barrier.abort()
        for process in self.processes:
            process.kill()

    def answer(self, rank, fields):
        command = fields["cmd"]
        if command == "put":
            with self.lock:
                self.values[fields["key"]] = fields["value"]
            return "cmd=put_result rc=0\n"
        if command == "get":
            if fields["key"] == "PMI_process_mapping":
                return f"cmd=get_result rc=0 value=(vector,(0,{self.size},1))\n"
            with self.lock:
                value = self.values.get(fields["key"])
            if value is None:
                return "cmd=get_result rc=-1 value=x\n"
            pieces, text = value.split(".", 1)
            told = self.lie(rank, fields["key"], decoded(text)) if pieces == "1" else decoded(text)
            return f"cmd=get_result rc=0 value=1.{encoded(told)}\n"
        if command == "barrier_in":
            self.barrier.wait()
        return {"init": "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n",
                "get_maxes": "cmd=maxes kvsname_max=64 keylen_max=64 vallen_max=16000\n",
                "get_my_kvsname": f"cmd=my_kvsname kvsname=strangers{self.mark[:8]}\n",
                "barrier_in": "cmd=barrier_out rc=0\n", "finalize": "cmd=finalize_ack rc=0\n"}[command]

    def text(self):
        return os.pread(self.output.fileno(), 1 << 24, 0).decode(errors="replace")

    def finish(self):
        """The statuses, what was printed, and what is wrong with what was left."""
        wrong, statuses = [], []
        for process in self.processes:
            try:
                statuses.append(process.wait(ways.HANG_S))
            except subprocess.TimeoutExpired:
                wrong.append("it hung")
                self.end()
                statuses.append(process.wait())
        return statuses, self.text(), wrong + launchers.left_behind(self.mark, self.shm, 10)


def of_process_1(name, change):
    """What process 0 hears of what process 1 has put under the name."""
    return lambda rank, key, value: change(value) if rank == 0 and key == f"1-{name}-0" else value


def elsewhere(port):
    """Addresses over TCP with another port in them."""
    def change(value):
        return re.sub(rb"(tcp1..)..", lambda found: found[1] + struct.pack("<H", port), value, flags=re.DOTALL)
    return change


class Listener:
    """A stranger that listens where process 1 was said to be; answers with `says` and what comes of it."""

    def __init__(self, says):
        self.socket = socket.create_server(("0.0.0.0", 0))
        self.port = self.socket.getsockname()[1]
        self.says = says
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                peer, _ = self.socket.accept()
            except OSError:
                return
            opening = peer.recv(64, socket.MSG_WAITALL)
            peer.sendall(self.says(opening))

    def close(self):
        self.socket.close()


def of_version(opening):
    """The same words, of a later version."""
    return opening[:8] + struct.pack("<I", 9) + opening[12:] + bytes(32)


def free_port():
    with socket.socket() as one:
        one.bind(("0.0.0.0", 0))
        return one.getsockname()[1]


def launcher_lies():
    later = Listener(of_version)
    garbage = Listener(lambda opening: b"HTTP/1.1 400 Bad Request\r\n\r\n" * 10)
    cases = {
        "another job's secret": (lambda rank, key, value: bytes(32) if key == "0-job.secret-0" else value,
                                 ["cannot be reached", "doesn't know this job's secret"]),
        "a process of another version": (of_process_1("member", lambda value: value.replace(b"member 2", b"member 1")),
                                         ["another version of Periapt", "Build the program anew"]),
        "what no process says": (of_process_1("member", lambda value: value[::-1]), ["another version of Periapt"]),
        "addresses that are none": (of_process_1("net", lambda value: b"\x01\xff\xff"), ["process 1 cannot be reached", "no addresses"]),
        "an engine of another version": (of_process_1("net", lambda value: value[:4] + b"\x77" + value[5:]),
                                         ["version 119 of the protocol", "same build"]),
        "an address where nobody listens": (of_process_1("net", elsewhere(free_port())), ["process 1", "nobody listens there any more"]),
        "an address where a later version listens": (of_process_1("net", elsewhere(later.port)),
                                                     ["process 1", "speaks version 9 of the protocol", "same Periapt"]),
        "an address where something else listens": (of_process_1("net", elsewhere(garbage.port)),
                                                    ["process 1", "does not speak this protocol"]),
    }
    # They mostly wait for each other.
    runs = {case: Launcher(2, lie, [BAD, "nothing", "+watchdog", "0", "+ppn", "2", "+transports", "tcp"])
            for case, (lie, _) in cases.items() if RESULTS.wanted(case)}
    for case, run in runs.items():
        words = cases[case][1]
        statuses, text, wrong = run.finish()
        if 0 in statuses:
            wrong.append(f"statuses {statuses}")
        wrong += [f"does not say {word!r}" for word in words if word not in text]
        if len(BLOCK.findall(text)) != 1:
            wrong.append(f"{len(BLOCK.findall(text))} messages instead of one")
        RESULTS.report(case, statuses, text, wrong)
    later.close()
    garbage.close()


# ---- strangers that come to a run

def listening(pids):
    """Where these processes listen: (family, type, address)."""
    inodes = set()
    for link in (link for pid in pids for link in glob.glob(f"/proc/{pid}/fd/*")):
        try:
            found = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(link))
        except OSError:
            continue
        if found:
            inodes.add(found[1])
    found = set()
    with open("/proc/net/tcp", encoding="ascii") as file:
        for line in list(file)[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in inodes:
                ip, port = words[1].split(":")
                found.add((socket.AF_INET, socket.SOCK_STREAM, (socket.inet_ntoa(struct.pack("<I", int(ip, 16))), int(port, 16))))
    with open("/proc/net/unix", encoding="ascii", errors="replace") as file:
        for line in list(file)[1:]:
            words = line.split()
            if words[3] == "00010000" and words[6] in inodes and len(words) > 7:
                found.add((socket.AF_UNIX, int(words[4], 16), re.sub("^@", "\0", words[7])))
    return found


SAID = [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02" + b"x" * 600, bytes(100_000), b"\n", b"",
        b"PERIAPT\n" + bytes(56), b"PERIAPT\n\x01\0\0\0" + bytes(300)]


def pelt(address):
    """Each of them, on a connection of its own; how many came in, and one that stays without a word."""
    family, kind, where = address
    came = 0
    for said in SAID:
        one = socket.socket(family, kind)
        one.settimeout(30)
        try:
            one.connect(where)
            came += 1
            one.sendall(said)
            if said:
                one.shutdown(socket.SHUT_WR)
                while one.recv(1 << 16):
                    pass
        except OSError:
            pass
        one.close()
    silent = socket.socket(family, kind)
    silent.connect_ex(where)  # where processes have met, none listens after a while
    return came, silent


def strangers_come():
    ways_of = {"tcp": ["+p4", "+ppn", "2", "+transports", "tcp"],
               "shm": ["+p4", "+ppn", "2", "+no-shared-memory", "+transports", "shm"]}
    for name, options in ways_of.items():
        case = f"garbage on every socket, {name}"
        if not RESULTS.wanted(case):
            continue
        run = ways.Run([STORM, "24", "300", "3", *options])
        while "PEs in" not in run.text() and run.process.poll() is None:
            time.sleep(0.01)
        silent, came = [], 0
        outside = []  # all processes are on this host
        for address in listening(launchers.marked(run.mark)):
            if address[0] == socket.AF_INET and not address[2][0].startswith("127."):
                outside.append(address[2])
            more, one = pelt(address)
            silent.append(one)
            came += more
        during = run.process.poll() is None
        status, text, wrong = run.finish()
        for one in silent:
            one.close()
        if not came:
            wrong.append("it listened nowhere")
        if outside:
            wrong.append(f"it listened where other hosts can come: {outside}")
        if not during:
            wrong.append("the run was over before")
        if status != 0 or "each exactly once" not in text:
            wrong.append("the run did not end well")
        told = text.count("periapt: warning:")
        if not 0 < told <= came:
            wrong.append(f"{told} warnings of {came} strangers")
        RESULTS.report(case, status, text, wrong)


def names_are_taken():
    """Any user of a host can bind any name. One that knows charmrun's process takes all names that can be made of that."""
    case = "names that somebody else has taken"
    if not RESULTS.wanted(case):
        return
    here = ways.Ways(slurm=False)
    way = next(way for way in here.all if way.name == "charmrun")
    # It says its number, and waits until the names are taken.
    run = ways.Run(["sh", "-c", 'echo "pid $$"; read go; exec "$@"', "sh", *way.command[:-1], "4", STORM, "24", "20", "3", "+ppn", "1"],
                   stdin=subprocess.PIPE)
    while not (told := re.search(r"pid (\d+)", run.text())):
        time.sleep(0.01)
    held = []
    user = os.geteuid()
    for second in range(int(time.time()) - 1, int(time.time()) + 60):
        job = f"charmrun-{told[1]}-{second}"
        for name in [f"periapt-{job}-host{host}-uid{user}" for host in (0, 1)] + [f"periapt-{job}-host{host}" for host in (0, 1)]:
            one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            one.bind("\0" + name)
            held.append(one)
    run.process.stdin.write(b"go\n")
    run.process.stdin.close()
    status, text, wrong = run.finish()
    for one in held:
        one.close()
    here.close()
    if status != 0 or "each exactly once" not in text:
        wrong.append("the run did not end well")
    RESULTS.report(case, status, text, wrong)


def main():
    launcher_lies()
    names_are_taken()
    strangers_come()
    RESULTS.exit()


main()
