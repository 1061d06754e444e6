#!/usr/bin/env python3
"""A network between network namespaces, in user space, as bad as a test wants it: delay, jitter, loss, partition.

    switch.py [--seed N] NAMESPACE...

Puts an interface eth0 (a TAP) into each namespace and carries Ethernet frames between them. Says "ready", then takes
orders on stdin, one a line, and answers each with "ok":

    delay SECONDS [JITTER]    of each frame, jitter evenly to both sides: frames may overtake each other
    loss PROBABILITY          of each frame
    groups 0,1 2,3            frames pass within a group only; a host in none hears no other
    heal                      all hear all

It ends with stdin. Station i has the hardware address 02:00:00:00:00:<i+1>, so nothing needs to be learnt.
"""
import argparse
import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
FRAMES_AT_A_TIME = 64


def hardware_address(station):
    return bytes([2, 0, 0, 0, 0, station + 1])


def make_station(station, namespace):
    """A TAP in the namespace; what is written to the descriptor arrives there."""
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    name = f"tap{os.getpid()}-{station}"[-15:]
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TAP | IFF_NO_PI))
    address = ":".join(f"{byte:02x}" for byte in hardware_address(station))
    for command in (["ip", "link", "set", name, "address", address],
                    ["ip", "link", "set", name, "netns", namespace, "name", "eth0"],
                    ["ip", "-n", namespace, "link", "set", "eth0", "up"]):
        subprocess.run(command, check=True)
    return fd


class Switch:
    def __init__(self, fds, seed):
        self.fds = fds
        self.random = random.Random(seed)
        self.delay = self.jitter = self.loss = 0.0
        self.group = dict.fromkeys(range(len(fds)), 0)  # station -> group; absent: alone
        self.waiting = []  # (when, order of arrival, station, frame)
        self.arrived = 0

    def obey(self, order):
        word, *rest = order.split()
        if word == "delay":
            self.delay, self.jitter = float(rest[0]), float(rest[1]) if len(rest) > 1 else 0.0
        elif word == "loss":
            self.loss = float(rest[0])
        elif word == "groups":
            self.group = {int(station): number for number, group in enumerate(rest) for station in group.split(",")}
        elif word == "heal":
            self.group = dict.fromkeys(range(len(self.fds)), 0)
        else:
            raise ValueError(f"unknown order: {order}")

    def targets(self, source, frame):
        if frame[0] & 1:  # to all
            stations = [station for station in range(len(self.fds)) if station != source]
        else:
            stations = [frame[5] - 1] if frame[:5] == hardware_address(0)[:5] and frame[5] <= len(self.fds) else []
        return [s for s in stations if source in self.group and self.group.get(s) == self.group[source]]

    def take(self, source):
        for _ in range(FRAMES_AT_A_TIME):
            try:
                frame = os.read(self.fds[source], 65536)
            except BlockingIOError:
                return
            for station in self.targets(source, frame):
                if self.random.random() < self.loss:
                    continue
                when = time.monotonic() + self.delay + self.jitter * (2 * self.random.random() - 1)
                self.arrived += 1
                heapq.heappush(self.waiting, (when, self.arrived, station, frame))

    def deliver(self):
        """What is due; returns how long until the next is."""
        while self.waiting:
            when, _, station, frame = self.waiting[0]
            left = when - time.monotonic()
            if left > 0:
                return left
            heapq.heappop(self.waiting)
            try:
                os.write(self.fds[station], frame)
            except OSError:
                pass  # its host has gone, or its queue is full: lost, as on a cable
        return None

    def run(self):
        station_of = {fd: station for station, fd in enumerate(self.fds)}
        while True:
            readable, _, _ = select.select([sys.stdin, *self.fds], [], [], self.deliver())
            if sys.stdin in readable:
                order = sys.stdin.readline()
                if not order:
                    return
                self.obey(order)
                print("ok", flush=True)
            for fd in readable:
                if fd in station_of:
                    self.take(station_of[fd])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("namespaces", nargs="+")
    options = parser.parse_args()
    sys.stdin.reconfigure(line_buffering=True)
    switch = Switch([make_station(i, namespace) for i, namespace in enumerate(options.namespaces)], options.seed)
    print("ready", flush=True)
    switch.run()


if __name__ == "__main__":
    main()
