"""Scripts run after a checkpoint as they do before it (kept.cpp): kept_test.py PROGRAM."""
import re
import struct
import sys
import tempfile

from client import Program, expect, failures

if sys.argv[1] == "none":
    print("skipped: there is no -module PythonCCS, for which Python's headers and library are needed (python3-dev)")
    sys.exit(77)
PROGRAM = sys.argv[1]
KEEP, HIGH, WAIT = 0x40, 0x20, 0x08


def run(program, handler, code):
    """Runs a script to its end; what the objects have printed."""
    head = struct.pack(">II", 48 ^ 37492037, len(code)) + bytes(24 + 8) + struct.pack(">IB3x", 0, KEEP | HIGH | WAIT)
    number = program.ask(handler, 0, head + code.encode() + bytes(3))
    if number is None or len(number) != 4 or number == bytes(4):
        return number
    return program.ask(handler, 0, struct.pack(">II", 12 ^ 989370215, struct.unpack(">I", number)[0]) + bytes(4))


def check_scripts(program, when, pes):
    expect(f"{when}: main", run(program, "main", "print(charm.add(2, 3))"), b"5\n")
    places = run(program, "members", "print('at', ck.mype())")
    expect(f"{when}: members", places, b"".join(b"at %d\n" % pe for pe in range(pes)))
    cells = run(program, "cells", "print('cell', ck.myindex()[0])")
    expect(f"{when}: cells", sorted(re.findall(rb"cell (\d)", cells or b"")), [b"%d" % cell for cell in range(5)])


def keep(folder, *options):
    program = Program([PROGRAM, folder, *options, "++server"], "kept: there is a server")
    check_scripts(program, "before", int(options[0][2:]))
    program.ask("keep")
    program.wait_for("kept: there is a checkpoint")
    return program


def check_again(program, pes):
    program.wait_for("kept: back")
    check_scripts(program, "after", pes)
    program.ask("stop")
    expect("status", program.wait(), 0)


def main():
    program = keep("", "+p4", "+ppn", "2")
    program.ask("die")
    check_again(program, 4)
    with tempfile.TemporaryDirectory() as folder:
        program = keep(folder, "+p3")
        program.ask("stop")
        program.wait()
        for options in (["+p3"], ["+p2"], ["+p4", "+ppn", "2"]):
            again = Program([PROGRAM, folder, *options, "++server", "+restart", folder], "kept: back")
            check_again(again, int(options[0][2:]))
    print("\n".join(failures) if failures else "all as expected")
    sys.exit(1 if failures else 0)


main()
