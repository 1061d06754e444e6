"""Hosts for tests: network namespaces with a switch between them (switch.py). Needs root and /dev/net/tun.

    with Lab(4) as lab:
        worker = lab.start(2, ["program", "argument"])     # on host 2, 10.79.0.3 and fd79::3
        lab.network("loss 0.01")
"""
import os
import subprocess
import sys
from pathlib import Path


def reason_not_to_run():
    """Why there can be no hosts here; None: there can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if not os.path.exists("/dev/net/tun"):
        return "there is no /dev/net/tun (modprobe tun, or a container that passes it on)"
    try:
        name = f"pt{os.getpid()}try"
        made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    except FileNotFoundError:
        return "the command ip is not installed (apt-get install iproute2)"
    if made.returncode != 0:
        return "no network namespace can be made: " + made.stderr.strip()
    entered = subprocess.run(["ip", "netns", "exec", name, "true"], capture_output=True, text=True)
    subprocess.run(["ip", "netns", "delete", name], check=True)
    return "no network namespace can be entered: " + entered.stderr.strip() if entered.returncode != 0 else None


class Lab:
    def __init__(self, hosts, seed=1):
        self.names = [f"pt{os.getpid()}h{host}" for host in range(hosts)]
        self.seed = seed
        self.started = []

    def __enter__(self):
        for name in self.names:
            subprocess.run(["ip", "netns", "add", name], check=True)
            subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
        self.switch = subprocess.Popen([sys.executable, str(Path(__file__).with_name("switch.py")), "--seed", str(self.seed),
                                        *self.names], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.switch.stdout.readline() != "ready\n":
            raise RuntimeError("the switch did not start")
        for host, name in enumerate(self.names):
            for address in (f"{self.address(host)}/24", f"{self.address6(host)}/64"):
                subprocess.run(["ip", "-n", name, "address", "add", address, "dev", "eth0", *(["nodad"] if ":" in address else [])],
                               check=True)
        return self

    def __exit__(self, *_):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        self.switch.stdin.close()
        self.switch.wait()
        self.switch.stdout.close()
        for name in self.names:
            subprocess.run(["ip", "netns", "delete", name], check=True)

    def address(self, host):
        return f"10.79.0.{host + 1}"

    def address6(self, host):
        return f"fd79::{host + 1}"

    def network(self, order):
        self.switch.stdin.write(order + "\n")
        self.switch.stdin.flush()
        if self.switch.stdout.readline() != "ok\n":
            raise RuntimeError("the switch has ended")

    def start(self, host, command):
        process = subprocess.Popen(["ip", "netns", "exec", self.names[host], *command], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.started.append(process)
        return process
