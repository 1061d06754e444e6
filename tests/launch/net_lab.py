"""Several hosts on this machine: network name spaces joined by a bridge, each with an address, a name, and an sshd.

All of them see the same files and processes; network, host name and log-in are as between machines. Everything is made
under names of this process and removed at the end.
"""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import launchers


def quiet(*words, check=True):
    return subprocess.run([str(word) for word in words], check=check, capture_output=True, text=True)


def processes_in(space):
    return [int(pid) for pid in quiet("ip", "netns", "pids", space, check=False).stdout.split()]


def kill_all(space):
    """A host dies in one moment: none of its processes lives to tell of the others."""
    processes = processes_in(space)
    for sign in (signal.SIGSTOP, signal.SIGKILL):
        for pid in processes:
            try:
                os.kill(pid, sign)
            except ProcessLookupError:
                pass


def remove(space):
    if os.path.exists(f"/run/netns/{space}") or os.path.exists(f"/var/run/netns/{space}"):
        kill_all(space)
        quiet("ip", "netns", "del", space, check=False)
    shutil.rmtree(f"/etc/netns/{space}", ignore_errors=True)


def remove_leftovers():
    """Removes the name spaces of labs whose process was killed before it could."""
    for space in os.listdir("/run/netns") if os.path.isdir("/run/netns") else []:
        of = re.fullmatch(r"plb?(\d+)(x\d+)?", space)
        if of and not os.path.exists(f"/proc/{of[1]}"):
            remove(space)


class Lab(launchers.Lab):
    def __init__(self, hosts=4):
        self.need("network name spaces are made", "ip", "sshd", "ssh", "ssh-keygen", "unshare")
        tag = os.getpid()
        self.bridge = f"plb{tag}"
        self.spaces = [f"pl{tag}x{i}" for i in range(hosts)]
        self.names = [f"ck{i}" for i in range(hosts)]
        self.net = f"10.{200 + tag % 50}.{tag // 50 % 250}"
        super().__init__("net")

    def address(self, i):
        return f"{self.net}.{i + 1}"

    def start(self):
        remove_leftovers()
        for what, *words in (("network name space can be made", "netns", "add", self.bridge),
                             ("network name space can be entered", "netns", "exec", self.bridge, "true"),
                             ("bridge can be made", "-n", self.bridge, "link", "add", "br0", "type", "bridge")):
            tried = quiet("ip", *words, check=False)
            if tried.returncode != 0:
                launchers.skip(f"no {what} here: {tried.stderr.strip()}")
        quiet("ip", "-n", self.bridge, "link", "set", "br0", "up")
        for i, space in enumerate(self.spaces):
            quiet("ip", "netns", "add", space)
            quiet("ip", "link", "add", f"v{i}", "netns", self.bridge, "type", "veth", "peer", "name", "eth0", "netns", space)
            quiet("ip", "-n", self.bridge, "link", "set", f"v{i}", "master", "br0", "up")
            quiet("ip", "-n", space, "addr", "add", f"{self.address(i)}/24", "dev", "eth0")
            quiet("ip", "-n", space, "link", "set", "eth0", "up")
            quiet("ip", "-n", space, "link", "set", "lo", "up")
            os.makedirs(f"/etc/netns/{space}")
            with open(f"/etc/netns/{space}/hosts", "w", encoding="ascii") as file:
                file.write("127.0.0.1 localhost\n" + "".join(f"{self.address(j)} {name} {name}-again\n" for j, name in enumerate(self.names)))
        for key in ("host_key", "user_key", "other_key"):
            quiet("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.path(key))
        shutil.copy(self.path("user_key.pub"), self.path("authorized"))
        for key in ("user_key", "other_key"):
            with open(self.path("ssh-" + key), "w", encoding="ascii") as file:
                file.write(f"IdentityFile {self.path(key)}\nIdentitiesOnly yes\nStrictHostKeyChecking no\n"
                           f"UserKnownHostsFile /dev/null\nLogLevel ERROR\n")
        os.makedirs("/run/sshd", exist_ok=True)
        for i in range(len(self.spaces)):
            self.start_sshd(i)

    def start_sshd(self, i):
        with open(self.path(f"sshd{i}.conf"), "w", encoding="ascii") as file:
            file.write(f"ListenAddress {self.address(i)}\nHostKey {self.path('host_key')}\n"
                       f"AuthorizedKeysFile {self.path('authorized')}\nPidFile {self.path(f'sshd{i}.pid')}\n"
                       f"UsePAM no\nStrictModes no\nPermitRootLogin yes\nMaxStartups 100\n")
        quiet(*self.inside(i, f"/usr/sbin/sshd -f {self.path(f'sshd{i}.conf')} -E {self.path(f'sshd{i}.log')}"))
        for _ in range(100):
            if os.path.exists(self.path(f"sshd{i}.pid")):
                return
            time.sleep(0.05)
        raise RuntimeError(f"sshd of {self.names[i]} did not start: {open(self.path(f'sshd{i}.log')).read()}")

    def inside(self, i, command):
        return ["ip", "netns", "exec", self.spaces[i], "unshare", "-u", "sh", "-c", f"hostname {self.names[i]}; exec {command}"]

    def charmrun(self, words, hosts=None, key="user_key"):
        """The command that runs charmrun on the first host: options and program `words`, over ssh between `hosts` (all).
        Logins may take as long as they need on a busy machine, unless the words say otherwise."""
        with tempfile.NamedTemporaryFile("w", encoding="ascii", dir=self.folder, prefix="hosts-", delete=False) as file:
            file.write("".join(f"host {name}\n" for name in hosts or self.names))
        charmrun = os.path.join(os.environ["PERIAPT_BIN"], "charmrun")
        return self.inside(0, f"{charmrun} ++nodelist {file.name} ++remote-shell '{self.ssh(key)}'"
                           f"{'' if '++timeout' in words else ' ++timeout 600'} {words}")

    def ssh(self, key="user_key"):
        return f"ssh -F {self.path('ssh-' + key)}"

    def ssh_program(self):
        """The same as a file, for callers that want no arguments in it."""
        with open(self.path("sshw"), "w", encoding="ascii") as file:
            file.write(f'#!/bin/sh\nexec {self.ssh()} "$@"\n')
        os.chmod(self.path("sshw"), 0o755)
        return self.path("sshw")

    def processes_on(self, i):
        return processes_in(self.spaces[i])

    def kill_host(self, i):
        kill_all(self.spaces[i])
        if os.path.exists(self.path(f"sshd{i}.pid")):
            os.unlink(self.path(f"sshd{i}.pid"))

    def stop(self):
        for space in [*self.spaces, self.bridge]:
            remove(space)
        shutil.rmtree(self.folder, ignore_errors=True)
