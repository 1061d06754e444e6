"""What a program that is linked with -tracemode projections leaves: read as Projections reads it.

Usage: trace_test.py CHARMC SOURCES WORK"""
import collections
import os
import shutil
import subprocess
import sys
import unittest

CHARMC, SOURCES, WORK = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
CREATION, BEGIN, END, BEGIN_RUN, END_RUN, BEGIN_TRACE, END_TRACE = 1, 2, 3, 6, 7, 11, 12
EVENT, BEGIN_IDLE, END_IDLE, DATA, MEMORY, STAT, BEGIN_SPAN, END_SPAN, SPAN = 13, 14, 15, 26, 27, 32, 98, 99, 100
ELEMENTS, ROUNDS = 12, 3


def execute(*command):
    done = subprocess.run(command, cwd=WORK, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stdout}")
    return done.stdout


os.makedirs(WORK, exist_ok=True)
execute(CHARMC, f"{SOURCES}/traced.ci")
execute(CHARMC, "-c", f"{SOURCES}/traced.cpp", "-I.", "-o", "traced.o")
execute(CHARMC, "-tracemode", "projections", "-o", "traced", "traced.o")
execute(CHARMC, "-o", "untraced", "traced.o")


class Sts:
    def __init__(self, path):
        self.values, self.chares, self.entries, self.events, self.stats = {}, {}, {}, {}, {}
        with open(path) as file:
            lines = file.read().splitlines()
        assert lines[-1] == "END", lines[-1]
        for line in lines[:-1]:
            word, _, rest = line.partition(" ")
            if word == "CHARE":
                number, name, dimensions = rest.split(" ", 1)[0], rest.split('"')[1], int(rest.rsplit(" ", 1)[1])
                self.chares[int(number)] = name, dimensions
            elif word == "ENTRY":
                number, name, tail = rest.split(" ")[1], rest.split('"')[1], rest.rsplit('"', 1)[1].split()
                self.entries[int(number)] = f"{self.chares[int(tail[0])][0]}::{name.split('(')[0]}", int(tail[0])
            elif word in ("EVENT", "STAT"):
                number, name = rest.split(" ", 1)
                (self.events if word == "EVENT" else self.stats)[int(number)] = name
            else:
                self.values[word] = rest


class Trace:
    """All logs of a run. What runs must be nested in nothing, and time must not go back."""

    def __init__(self, folder, pes):
        self.sts = Sts(os.path.join(folder, "traced.sts"))
        self.kinds, self.runs, self.elements = collections.Counter(), collections.Counter(), collections.Counter()
        self.created, self.users, self.data = collections.Counter(), collections.Counter(), set()
        for pe in range(pes):
            with open(os.path.join(folder, f"traced.{pe}.log")) as file:
                head, *lines = file.read().splitlines()
            assert head.startswith("PROJECTIONS-RECORD "), head
            assert lines[0].split()[0] == str(BEGIN_RUN) and lines[-1].split()[0] == str(END_RUN), (lines[0], lines[-1])
            self.read(pe, [line.split() for line in lines])

    def read(self, pe, lines):
        running, last, idle = None, 0, False
        for line in lines:
            kind, fields = int(line[0]), line[1:]
            self.kinds[kind] += 1
            time = int(fields[0] if kind in (BEGIN_RUN, END_RUN, BEGIN_TRACE, END_TRACE, BEGIN_IDLE, END_IDLE, STAT)
                       else fields[2] if kind in (CREATION, BEGIN, END) else fields[1])
            assert kind == SPAN or time >= last, (line, last)
            last = last if kind == SPAN else time
            if kind == BEGIN:
                assert running is None, (line, running)
                entry = int(fields[1])
                name, chare = self.sts.entries[entry]
                dimensions = self.sts.chares[chare][1]
                index = tuple(map(int, fields[7:-1]))
                assert len(index) == (4 if dimensions < 1 else dimensions), (line, dimensions)
                assert int(fields[4]) == pe, line
                running = fields[1], fields[3]
                self.runs[name] += 1
                if dimensions >= 1:
                    self.elements[name, index] += 1
            elif kind == END:
                assert running == (fields[1], fields[3]), (line, running)
                running = None
            elif kind == CREATION:
                self.created[self.sts.entries[int(fields[1])][0]] += 1
            elif kind in (BEGIN_IDLE, END_IDLE):
                assert int(fields[1]) == pe, line
            elif kind in (EVENT, SPAN, BEGIN_SPAN, END_SPAN):
                self.users[kind, self.sts.events[int(fields[0])]] += 1
            elif kind == DATA:
                self.data.add(int(fields[0]))
            elif kind == STAT:
                self.users[kind, self.sts.stats[int(fields[4])], float(fields[2])] += 1
        assert running is None, running


class Traces(unittest.TestCase):
    def run_in(self, name, *arguments, program="traced"):
        folder = os.path.join(WORK, name)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        return folder, execute(os.path.join(WORK, program), *arguments, "+traceroot", folder)

    def check(self, trace, pes):
        sts = trace.sts
        self.assertEqual(sts.values["VERSION"], "11.0")
        self.assertEqual(sts.values["PROCESSORS"], str(pes))
        self.assertEqual(int(sts.values["TOTAL_EPS"]), len(sts.entries))
        self.assertEqual(int(sts.values["TOTAL_CHARES"]), len(sts.chares))
        self.assertEqual(sts.events, {7: "a lap", 8: "a span", 9: "a long span"})
        self.assertEqual(trace.runs["Piece::work"], ELEMENTS * ROUNDS)
        self.assertEqual(trace.runs["Piece::Piece"], ELEMENTS)
        self.assertNotIn("Piece::quiet", trace.runs)
        self.assertNotIn("Piece::within", trace.runs)  # it belongs to what calls it
        for row in range(3):
            for column in range(4):
                self.assertEqual(trace.elements["Piece::work", (row, column)], ROUNDS)
        self.assertGreaterEqual(trace.runs["Member::yields"], pes)
        self.assertGreaterEqual(trace.runs["Main::run"], 1 + ROUNDS + 1)  # it stops for each round, and for the group
        self.assertEqual(trace.users[EVENT, "a lap"], ELEMENTS * ROUNDS)
        self.assertEqual(trace.users[BEGIN_SPAN, "a span"], pes)
        self.assertEqual(trace.users[END_SPAN, "a span"], pes)
        self.assertEqual(trace.users[SPAN, "a long span"], 2)
        self.assertEqual([trace.users[STAT, "heat", 1.5 * round] for round in range(ROUNDS)], [1] * ROUNDS)
        self.assertEqual(trace.data, set(range(ELEMENTS)))
        self.assertEqual(trace.kinds[MEMORY], 1)
        self.assertEqual(trace.kinds[BEGIN_TRACE], trace.kinds[END_TRACE])
        self.assertEqual(trace.created["Main::run"], 1)

    def test_all_that_ran_is_in_the_logs(self):
        for name, pes, arguments in (("p1", 1, ["+p1"]), ("p3", 3, ["+p3"]), ("ppn", 4, ["+p4", "+ppn", "2"]),
                                     ("tcp", 4, ["+p4", "+ppn", "2", "+transports", "tcp"]), ("many", 9, ["+p9"]),
                                     ("sim", 4, ["+sim", "nodes=2,ppn=2"])):
            with self.subTest(name):
                folder, said = self.run_in(name, *arguments)
                self.assertIn("trace is there and on", said)
                self.check(Trace(folder, pes), pes)

    def test_a_small_log_in_memory_is_written_in_pieces(self):
        folder, _ = self.run_in("small", "+p2", "+logsize", "3")
        self.check(Trace(folder, 2), 2)

    def test_nothing_is_recorded_before_it_is_asked_for(self):
        folder, said = self.run_in("off", "+p2", "+traceoff")
        self.assertIn("trace is there and off", said)
        trace = Trace(folder, 2)
        self.assertEqual(trace.runs["Piece::work"], 0)
        self.assertEqual(trace.kinds[BEGIN_TRACE], 1)

    def test_partitions_have_files_of_their_own(self):
        folder, _ = self.run_in("parts", "+p2", "+partitions", "2")
        for name in ("traced.part-0.0.log", "traced.part-1.0.log", "traced.part-0.sts", "traced.part-1.sts"):
            self.assertIn(name, os.listdir(folder))

    def test_a_program_without_it_runs_and_leaves_nothing(self):
        folder, said = self.run_in("without", "+p2", program="untraced")
        self.assertIn("trace is not there and off", said)
        self.assertEqual(os.listdir(folder), [])

    def test_what_goes_wrong_is_said(self):
        said = execute(os.path.join(WORK, "traced"), "+p2", "+traceroot", os.path.join(WORK, "no-such-folder"))
        self.assertEqual(said.count("the trace is not whole: cannot write"), 1, said)
        self.assertIn("No such file or directory", said)
        wrong = subprocess.run([os.path.join(WORK, "traced"), "+logsize", "0"], text=True, stderr=subprocess.STDOUT,
                               stdout=subprocess.PIPE)
        self.assertNotEqual(wrong.returncode, 0)
        self.assertIn("+logsize 0 makes no sense", wrong.stdout)


if __name__ == "__main__":
    unittest.main()
