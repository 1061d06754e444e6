#!/usr/bin/env python3
"""TCP between hosts: network namespaces and a switch that delays, loses and parts (lab.py). Usage: net_test.py NET_PROG"""
import sys
import time
import unittest

import lab

PROGRAM = ""
TIMEOUT = 2  # seconds until a silent host counts as gone, in these tests


class Worker:
    def __init__(self, where, host, number, *options):
        self.number = number
        self.process = where.start(host, [PROGRAM, str(number), "+net-timeout", str(TIMEOUT), *options])
        self.address = self.ask("address").split()[1]

    def order(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self):
        return self.process.stdout.readline().rstrip()

    def ask(self, line):
        self.order(line)
        return self.answer()


class Net(unittest.TestCase):
    def workers(self, where, count, *options):
        return [Worker(where, host, host + 1, *options) for host in range(count)]

    def join(self, workers):
        """A link between each two, opened by either or by both at the same time."""
        pairs = [(a, b) for a in workers for b in workers if a is not b]
        for a, b in pairs:
            if (a.number + b.number) % 3 != 0 or a.number < b.number:
                a.order(f"connect {b.number} {b.address}")
        for a, b in pairs:
            if (a.number + b.number) % 3 != 0 or a.number < b.number:
                self.assertEqual(a.answer(), "connecting")

    def exchange(self, workers, count, size, before=0):
        for a in workers:
            for b in workers:
                if a is not b:
                    a.order(f"send {b.number} {count} {size}")
        for a in workers:
            for b in workers:
                if a is not b:
                    self.assertEqual(a.answer(), "sent")
        for a in workers:
            for b in workers:
                if a is not b:
                    self.assertEqual(a.ask(f"wait {b.number} {before + count}"), "arrived")

    def end(self, workers):
        for worker in workers:
            self.assertEqual(worker.ask("end"), "good", worker.process.stdout.read())
            self.assertEqual(worker.process.wait(), 0)

    def test_four_hosts_talk_to_each_other(self):
        with lab.Lab(4) as hosts:
            workers = self.workers(hosts, 4)
            self.join(workers)
            self.exchange(workers, 200, 100)
            self.exchange(workers, 6, 300000, before=200)
            self.flush_all(workers)
            self.end(workers)

    def flush_all(self, workers):
        for a in workers:
            for b in workers:
                if a is not b:
                    self.assertEqual(a.ask(f"flush {b.number}"), "flushed")

    def test_ipv6(self):
        with lab.Lab(2) as hosts:
            workers = self.workers(hosts, 2, "+net-devices", "fd79::/64")
            self.join(workers)
            self.exchange(workers, 100, 5000)
            self.flush_all(workers)
            self.end(workers)

    def test_a_bad_network_delays_and_loses_nothing_of_ours(self):
        with lab.Lab(3, seed=5) as hosts:
            hosts.network("delay 0.003 0.002")
            hosts.network("loss 0.01")
            workers = self.workers(hosts, 3)
            self.join(workers)
            self.exchange(workers, 200, 400)
            self.exchange(workers, 4, 60000, before=200)
            self.flush_all(workers)
            self.end(workers)

    def test_a_killed_process_is_told_at_once(self):
        with lab.Lab(3) as hosts:
            workers = self.workers(hosts, 3)
            self.join(workers)
            self.exchange(workers, 20, 100)
            workers[2].process.kill()
            for worker in workers[:2]:
                said = worker.ask("loss 3")
                self.assertIn("worker 3 at 10.79.0.3:", said)
                self.assertIn("process ended", said)
            self.exchange(workers[:2], 20, 100, before=20)
            self.end(workers[:2])

    def vanish(self, before):
        """Host 2 loses its cable; `before` leaves host 0's link in some state. The others find out and go on."""
        with lab.Lab(3) as hosts:
            workers = self.workers(hosts, 3)
            self.join(workers)
            self.exchange(workers, 20, 100)
            hosts.network("groups 0,1")
            begin = time.monotonic()
            before(workers[0])
            said = workers[0].ask("loss 3")
            took = time.monotonic() - begin
            self.assertIn("worker 3 at 10.79.0.3:", said)
            self.assertGreater(took, TIMEOUT / 2)
            self.exchange(workers[:2], 20, 100, before=20)
            self.assertIn("worker 3", workers[1].ask("loss 3"))  # its link was idle
            self.end(workers[:2])
            return said

    def test_a_host_that_vanishes_while_data_are_under_way(self):
        said = self.vanish(lambda worker: self.assertEqual(worker.ask("send 3 1 100000"), "sent"))
        self.assertIn("has not answered for 2 s", said)

    def test_a_host_that_vanishes_while_nothing_is_under_way(self):
        self.vanish(lambda worker: None)

    def test_a_short_interruption_is_survived(self):
        with lab.Lab(2) as hosts:
            workers = self.workers(hosts, 2)
            self.join(workers)
            self.exchange(workers, 20, 100)
            hosts.network("groups 0 1")
            for a, b in (workers, workers[::-1]):
                a.order(f"send {b.number} 50 5000")
            time.sleep(TIMEOUT / 4)
            hosts.network("heal")
            for a in workers:
                self.assertEqual(a.answer(), "sent")
            for a, b in (workers, workers[::-1]):
                self.assertEqual(a.ask(f"wait {b.number} 70"), "arrived")
            self.end(workers)

    def test_a_host_that_is_not_there_is_told(self):
        with lab.Lab(2) as hosts:
            workers = self.workers(hosts, 2)
            hosts.network("groups 0 1")
            self.assertEqual(workers[0].ask(f"connect 2 {workers[1].address}"), "connecting")
            said = workers[0].ask("loss 2")
            self.assertIn("worker 2 at 10.79.0.2:", said)
            self.assertRegex(said, "has not answered for 2 s|No route to host")
            self.end(workers[:1])

    def test_a_busy_peer_is_not_a_dead_host(self):
        with lab.Lab(2) as hosts:
            workers = self.workers(hosts, 2)
            self.join(workers)
            self.exchange(workers, 5, 100)
            workers[1].order(f"pause {2 * TIMEOUT}")
            workers[0].order("send 2 3 4000000")  # more than all buffers on the way hold
            self.assertEqual(workers[1].answer(), "paused")
            self.assertEqual(workers[0].answer(), "sent")
            self.assertEqual(workers[1].ask("wait 1 8"), "arrived")
            self.end(workers)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    reason = lab.reason_not_to_run()
    if reason:
        print("skipped:", reason)
        sys.exit(77)
    unittest.main(verbosity=2)
