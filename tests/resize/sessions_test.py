#!/usr/bin/env python3
"""A run gets other PEs while sessions of libraries are open: a file that is read, one that is written, over several changes,
too, pictures, a cache between its rounds. What could not go on is refused with a reason and goes on as it was: a round of a
cache.

Usage: sessions_test.py SESSIONS. SESSIONS is tests/resize/sessions.cpp."""
import os
import re
import struct
import sys
import tempfile

from client import Program, expect, failures

SESSIONS = os.path.abspath(sys.argv[1])
CELLS, WIDTH = 17, 8
# The way of each round, the PEs that are asked for in it, and why they are refused.
CACHES = b"a round of a CkCacheManager is open, and cannot go on with another number of PEs"
RUNS = [("+p4", [("o", 2, b""), (" ", 6, b""), ("c", 3, CACHES), (" ", 3, b""), ("f", 5, b""), ("w", 0, b"")]),
        ("+p4 ++ppn 1", [("o", 2, b""), ("c", 4, CACHES), (" ", 3, b""), ("f", 4, b""), ("w", 1, b""), (" ", 0, b"")]),
        ("+p4 ++ppn 2 +transports tcp", [("w", 2, b""), ("c", 4, CACHES), ("o", 6, b""), (" ", 2, b""), ("c", 0, b""), ("f", 0, b"")])]


def bitmap(now, pes):
    return bytes(1 if pe < pes else 0 for pe in range(now)) + struct.pack("=i", pes) + b"\0"


def picture(program, code):
    request = struct.pack(">Iiiiii", 2, code, WIDTH, CELLS, 0, 0)
    wanted = b"".join(bytes([code + cell]) * WIDTH for cell in range(CELLS))
    expect(f"picture {code}", program.ask("lvImage", 0, request), wanted)


def sums_of(layout, rounds):
    with tempfile.TemporaryDirectory(prefix="periapt-sessions-") as folder:
        program = Program([SESSIONS, folder, "++server", *layout.split()], "sessions: there is a server")
        now = int(re.match(r"\+p(\d+)", layout)[1])
        for number, (way, pes, why) in enumerate(rounds, 1):
            picture(program, number)
            answer = program.ask_in_background("set_bitmap", 0, bitmap(now, pes)) if pes else None
            if pes:
                program.wait_for(f"set_bitmap: {pes} PEs in place of {now}")
            program.ask("go", 0, way.encode())
            program.wait_for(f"sessions: round {number},")
            if pes:
                said = answer()
                expect(f"{layout}: round {number}, refused", (said or b"").startswith(b"the run keeps its PEs: " + why), bool(why))
                expect(f"{layout}: round {number}, answered", said is not None, True)
                now = now if why else pes
            expect(f"{layout}: PEs of round {number}", f"sessions: round {number}," in program.text and
                   re.search(rf"sessions: round {number}, .* (\d+) PEs", program.text)[1], str(now))
        picture(program, 100)
        program.ask("stop")
        expect(f"{layout}: status", program.wait(), 0)
        expect(f"{layout}: files that are left", sorted(set(os.listdir(folder)) - {"in", "out"}), [])
        if failures:
            print(program.text)
        return re.findall(r"sessions: round \d+, sum (-?\d+)", program.text)


whole = sums_of("+p1", [(" ", 0, b"")] * 6)
expect("rounds", len(set(whole)), 6)
for run_layout, run_rounds in RUNS:
    expect(f"{run_layout}: sums", sums_of(run_layout, run_rounds), whole)
print("\n".join(failures) if failures else "all as expected")
sys.exit(1 if failures else 0)
