#!/usr/bin/env python3
"""Runs the program traced and reads what it has recorded as Projections does: trace_test.py PROGRAM [+pN ...]."""
import gzip
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

PROGRAM, LAYOUT = Path(sys.argv[1]).resolve(), sys.argv[2:]
LENGTH = 12

CREATION, BEGIN, END, BEGIN_COMPUTATION, END_COMPUTATION = 1, 2, 3, 6, 7
BEGIN_TRACE, END_TRACE, USER_EVENT, BEGIN_IDLE, END_IDLE, BROADCAST = 11, 12, 13, 14, 15, 20
DATA, MEMORY, NOTE, BRACKETED_NOTE, STATISTIC = 26, 27, 28, 29, 32
BEGIN_PAIR, END_PAIR, PAIR = 98, 99, 100


class Symbols:
    """NAME.sts: what the numbers mean."""

    def __init__(self, path):
        self.totals, self.dimensions, self.entry, self.chare_of = {}, {}, {}, {}
        self.events, self.statistics, self.messages = {}, {}, {}
        lines = path.read_text(encoding="utf-8").splitlines()
        assert lines[-1] == "END", lines[-1]
        for line in lines[:-1]:
            word, rest = line.split(" ", 1)
            if word.startswith("TOTAL_") or word == "PROCESSORS":
                self.totals[word] = int(rest)
            elif word == "CHARE":
                number, rest = rest.split(" ", 1)
                self.dimensions[int(number)] = int(rest.rsplit(" ", 1)[1])
            elif word == "ENTRY":
                _, number, rest = rest.split(" ", 2)
                name, chare, message = rest.rsplit(" ", 2)
                self.entry[int(number)], self.chare_of[int(number)] = name.strip('"'), int(chare)
                assert int(message) >= 0
            elif word == "MESSAGE":
                self.messages[int(rest.split()[0])] = int(rest.split()[1])
            elif word == "EVENT":
                number, name = rest.split(" ", 1)
                self.events[int(number)] = name
            elif word == "STAT":
                number, name = rest.split(" ", 1)
                self.statistics[int(number)] = name
        assert len(self.entry) == self.totals["TOTAL_EPS"] and len(self.dimensions) == self.totals["TOTAL_CHARES"]
        assert len(self.messages) == self.totals["TOTAL_MSGS"]

    def index_numbers(self, entry):
        dimensions = self.dimensions[self.chare_of[entry]]
        return dimensions if dimensions >= 1 else 4

    def name(self, entry):
        return self.entry[entry].split("(")[0]


def read_log(path, symbols):
    """The events of a log, as lists: their kind and numbers. What Projections could not read fails here."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        lines = file.read().splitlines()
    assert lines[0].startswith("PROJECTIONS-RECORD "), lines[0]
    widths = {CREATION: 8, END: 8, BEGIN_COMPUTATION: 2, END_COMPUTATION: 2, BEGIN_TRACE: 2, END_TRACE: 2,
              USER_EVENT: 5, BEGIN_IDLE: 3, END_IDLE: 3, BROADCAST: 9, DATA: 3, MEMORY: 3, STATISTIC: 6,
              BEGIN_PAIR: 6, END_PAIR: 6, PAIR: 6}
    events = []
    for line in lines[1:]:
        words = line.split(" ")
        kind = int(words[0])
        if kind in (NOTE, BRACKETED_NOTE):
            before = 2 if kind == NOTE else 4
            *numbers, rest = line.split(" ", before)
            digits = "".join(c for c in rest[:4] if c.isdigit())
            text = rest[len(digits):]
            assert len(text) == int(digits), line
            events.append([int(n) for n in numbers] + [text])
            continue
        if kind == BEGIN:
            assert len(words) == 9 + symbols.index_numbers(int(words[2])), line
        else:
            assert len(words) == widths[kind], line
        events.append([float(w) if kind == STATISTIC else int(w) for w in words])
    return events


class Run:
    def __init__(self, *options, root="here"):
        self.folder = tempfile.TemporaryDirectory()
        Path(self.folder.name, "file").touch()
        self.root = Path(self.folder.name) / root
        self.result = subprocess.run([PROGRAM, *LAYOUT, "+traceroot", self.root, *options], cwd=self.folder.name,
                                     capture_output=True, text=True, check=False)

    def files(self):
        paths = (p for p in Path(self.folder.name).rglob("*") if p.is_file())
        return sorted(str(p.relative_to(self.folder.name)) for p in paths if p.name != "file")

    def logs(self, symbols, suffix=".log.gz"):
        return {pe: read_log(self.root / f"traced.{pe}{suffix}", symbols) for pe in range(symbols.totals["PROCESSORS"])}


class Logs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_ = Run("+tracemode", "projections")
        assert cls.run_.result.returncode == 0, cls.run_.result
        cls.symbols = Symbols(cls.run_.root / "traced.sts")
        cls.logs = cls.run_.logs(cls.symbols)
        cls.begun = Counter(cls.symbols.name(e[2]) for log in cls.logs.values() for e in log if e[0] == BEGIN)
        cls.pes = cls.symbols.totals["PROCESSORS"]

    def test_files_are_there_and_no_others(self):
        self.assertEqual(self.run_.files(), sorted(
            ["here/traced.sts", "here/traced.projrc"] + [f"here/traced.{pe}.log.gz" for pe in range(self.pes)]))

    def test_what_runs_begins_and_ends_in_turn(self):
        for pe, log in self.logs.items():
            self.assertEqual(log[0][0], BEGIN_COMPUTATION)
            self.assertEqual(log[-1][0], END_COMPUTATION)
            running, idle, now = None, False, 0
            for event in log:
                if event[0] == BEGIN:
                    self.assertIsNone(running, event)
                    self.assertFalse(idle, event)
                    running, at = event[2], event[3]
                    self.assertEqual(event[5], pe)
                elif event[0] == END:
                    self.assertEqual(running, event[2], event)
                    running, at = None, event[3]
                elif event[0] in (BEGIN_IDLE, END_IDLE):
                    self.assertEqual(idle, event[0] == END_IDLE, event)
                    self.assertIsNone(running, event)
                    idle, at = event[0] == BEGIN_IDLE, event[1]
                else:
                    continue
                self.assertGreaterEqual(at, now)
                now = at
            self.assertIsNone(running)
            self.assertFalse(idle)
            self.assertGreaterEqual(log[-1][1], now)

    def test_every_execution_is_there(self):
        # A piece before each constructor and each [inline] or [local] entry that it runs and one behind it; of a
        # thread two if it has stopped.
        self.assertGreater(self.begun["Main"], 2)
        self.assertIn(self.begun["step"], range(3 * LENGTH, 4 * LENGTH + 1))  # the neighbour may be on another PE
        self.assertEqual(self.begun["within"], 2 * LENGTH)
        self.assertEqual(self.begun["nearby"], LENGTH)
        self.assertEqual(self.begun["unseen"], 0)
        self.assertEqual(self.begun["hear"], self.pes)
        self.assertEqual(self.begun["visit"], 12)
        self.assertEqual(self.begun["open"], 4)
        self.assertEqual(self.begun["wake"], LENGTH)
        self.assertIn(self.begun["wait"], range(LENGTH, 2 * LENGTH + 1))
        self.assertEqual(self.begun["secret"], 0)
        self.assertEqual(self.begun["hidden"], 0)  # by CkDisableTracing() and CkEnableTracing()
        self.assertEqual(self.begun["shown"], LENGTH)

    def test_elements_are_named(self):
        seen = {}
        for log in self.logs.values():
            for e in log:
                if e[0] == BEGIN:
                    seen.setdefault(self.symbols.name(e[2]), set()).add(tuple(e[8:-1]))
        for entry in "step", "within", "nearby":
            self.assertEqual(seen[entry], {(i,) for i in range(LENGTH)})
        self.assertEqual(seen["visit"], {(i, j) for i in range(3) for j in range(4)})
        self.assertEqual(seen["open"], {(i, 0, k, 0) for i in range(2) for k in range(2)})
        self.assertEqual(seen["hear"], {(0, 0, 0, 0)})

    def test_what_is_sent_is_there(self):
        sent = Counter(self.symbols.name(e[2]) for log in self.logs.values() for e in log if e[0] == CREATION)
        for_all = Counter(self.symbols.name(e[2]) for log in self.logs.values() for e in log if e[0] == BROADCAST)
        self.assertEqual(sent["step"], LENGTH)
        self.assertEqual((sent["within"], sent["nearby"], sent["unseen"]), (2 * LENGTH, LENGTH, 0))
        self.assertEqual(sent["wake"], LENGTH)
        self.assertEqual(sent["leave"], 1)
        self.assertEqual(for_all["hear"], 1)
        self.assertEqual(for_all["visit"], 1)
        for log in self.logs.values():
            for e in log:
                if e[0] == BROADCAST:
                    self.assertEqual(e[8], self.pes)

    def test_time_in_entries_is_what_it_took(self):
        spent, since = Counter(), {}
        for pe, log in self.logs.items():
            for e in log:
                if e[0] == BEGIN:
                    since[pe] = e[3]
                elif e[0] == END:
                    spent[self.symbols.name(e[2])] += e[3] - since[pe]
        self.assertGreaterEqual(spent["step"], LENGTH * 395)  # microseconds
        self.assertGreaterEqual(spent["within"], 2 * LENGTH * 48)
        self.assertGreaterEqual(spent["hear"], self.pes * 199)

    def test_events_of_the_program_are_there(self):
        symbols = self.symbols
        self.assertEqual(symbols.events[77], "a named one")
        self.assertEqual(symbols.statistics[3], "height")
        landmark = next(n for n, name in symbols.events.items() if name == "landmark")
        for pe, log in self.logs.items():
            of = lambda kind: [e for e in log if e[0] == kind]
            self.assertEqual([e[1] for e in of(USER_EVENT)], [landmark])
            first, second = of(PAIR)
            self.assertEqual((first[1], second[1], first[3]), (77, 77, second[3]))
            self.assertGreaterEqual(second[2] - first[2], 199)
            self.assertEqual([e[1] for e in of(BEGIN_PAIR) + of(END_PAIR)], [77, 77])
            self.assertEqual([e[1] for e in of(DATA)], [7])
            self.assertEqual([e[2] for e in of(NOTE)], ["said in two lines"])
            self.assertGreater(of(MEMORY)[0][1], 1000)
            self.assertEqual([e[2:] for e in of(STATISTIC)], [[-1, 1.5, pe, 3], [10, 2.5, pe, 3]])

    def test_serial_blocks_with_a_label_are_notes(self):
        notes = [e for log in self.logs.values() for e in log if e[0] == BRACKETED_NOTE]
        self.assertEqual(len(notes), LENGTH)
        for e in notes:
            self.assertRegex(e[4], r"^greeting \(.*traced\.ci:\d+\)$")
            self.assertGreaterEqual(e[2] - e[1], 99)
            self.assertEqual(self.symbols.events[e[3]], "serial")


class OtherOptions(unittest.TestCase):
    def test_small_logs_are_written_in_parts(self):
        run = Run("+tracemode", "projections", "+logsize", "3", "+no-gz-trace")
        symbols = Symbols(run.root / "traced.sts")
        begun = [e for log in run.logs(symbols, ".log").values() for e in log if e[0] == BEGIN]
        self.assertEqual(sum(symbols.name(e[2]) == "wake" for e in begun), LENGTH)

    def test_what_has_called_is_not_resumed_if_asked(self):
        run = Run("+tracemode", "projections", "+notracenested")
        symbols = Symbols(run.root / "traced.sts")
        begun = Counter(symbols.name(e[2]) for log in run.logs(symbols).values() for e in log if e[0] == BEGIN)
        self.assertEqual((begun["Main"], begun["Crowd"]), (1, symbols.totals["PROCESSORS"]))
        self.assertEqual((begun["step"], begun["within"]), (LENGTH, 2 * LENGTH))

    def test_nothing_is_recorded_that_is_off(self):
        run = Run("+tracemode", "projections", "+traceoff")
        symbols = Symbols(run.root / "traced.sts")
        for log in run.logs(symbols).values():
            self.assertEqual([e[0] for e in log], [BEGIN_COMPUTATION, END_COMPUTATION])

    def test_logs_of_chosen_pes_in_folders(self):
        run = Run("+tracemode", "projections", "+traceprocessors", "0-100:2", "+trace-subdirs", "2")
        self.assertEqual(run.result.returncode, 0)
        pes = Symbols(run.root / "traced.sts").totals["PROCESSORS"]
        self.assertEqual([f for f in run.files() if ".log" in f],
                         sorted(f"here/traced.projdir.0/traced.{pe}.log.gz" for pe in range(0, pes, 2)))

    def test_without_a_mode_there_is_no_file(self):
        run = Run()
        self.assertEqual((run.result.returncode, run.files()), (0, []))

    def test_a_folder_that_cannot_be_written_costs_the_trace_and_not_the_run(self):
        run = Run("+tracemode", "all", root="file")
        self.assertEqual((run.result.returncode, run.files()), (0, []))
        self.assertRegex(run.result.stderr, r"the trace cannot be written to .*traced\.0\.log\.gz: Not a directory; \+traceroot")

    def test_wrong_options_are_said(self):
        for options, said in ((["+tracemode", "projection"], "did you mean projections?"),
                              (["+traceprocessors", "0-"], "+traceprocessors 0- is no list of PEs"),
                              (["+logsize", "0"], "+logsize makes no sense: it must be at least 1"),
                              (["+binsize", "0"], "+binsize makes no sense")):
            run = Run(*options)
            self.assertNotEqual(run.result.returncode, 0)
            self.assertIn(said, run.result.stderr)


def percents(row):
    """The numbers of an interval each: four characters wide, or NUMBER+TIMES."""
    numbers, at = [], 0
    while at < len(row):
        number = int(row[at:at + 4])
        at += 4
        times = 1
        if at < len(row) and row[at] == "+":
            end = at + 1
            while end < len(row) and row[end].isdigit():
                end += 1
            times, at = int(row[at + 1:end]), end
        numbers += [number] * times
    return numbers


class Profiles(unittest.TestCase):
    def test_calls_and_time_are_counted(self):
        run = Run("+tracemode", "summary", "+sumDetail", "+bincount", "64", "+binsize", "0.00001")
        self.assertEqual(run.result.returncode, 0)
        symbols = Symbols(run.root / "traced.sum.sts")
        calls, micros = Counter(), Counter()
        for pe in range(symbols.totals["PROCESSORS"]):
            head, busy, times, counts, longest, _, idle, *rest = \
                (run.root / f"traced.{pe}.sum").read_text(encoding="utf-8").split("\n")
            fields = dict(word.split(":") for word in head.split() if ":" in word)
            self.assertEqual(fields["ver"], "7.1")
            self.assertEqual(int(fields["ep"]), symbols.totals["TOTAL_EPS"])
            self.assertLessEqual(int(fields["count"]), 64)
            row = lambda text, name: [int(n) for n in text.removeprefix(name).split()]
            for entry, (n, us, most) in enumerate(zip(row(counts, "EPCallTime: "), row(times, "EPExeTime: "),
                                                      row(longest, "MaxEPTime: "))):
                calls[symbols.name(entry)] += n
                micros[symbols.name(entry)] += us
                self.assertLessEqual(most, us)
            for text in (busy, idle.removeprefix("IdlePercent: ")):
                self.assertEqual(len(percents(text)), int(fields["count"]))
                self.assertLessEqual(max(percents(text)), 100)
            self.assertEqual(rest, [""])
            detail = (run.root / f"traced.{pe}.sumd").read_text(encoding="utf-8").split("\n")
            for line, name in zip(detail[1:3], ("ExeTimePerEPperInterval", "EPCallTimePerInterval")):
                self.assertTrue(line.startswith(name + " "))
                total = sum(int(w.partition("+")[2] or 1) for w in line.split()[1:])
                self.assertEqual(total, int(fields["count"]) * int(fields["ep"]))
        self.assertEqual((calls["step"], calls["within"], calls["nearby"]), (LENGTH, 2 * LENGTH, LENGTH))
        self.assertEqual((calls["Main"], calls["hear"]), (1, symbols.totals["PROCESSORS"]))
        self.assertEqual(calls["secret"], 0)
        self.assertGreaterEqual(micros["step"], LENGTH * 395)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
