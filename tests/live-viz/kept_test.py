"""A picture that is half deposited, or not at all, when a checkpoint is made (kept.cpp): kept_test.py PROGRAM."""
import struct
import sys
import tempfile

from client import Program, expect, failures

PROGRAM = sys.argv[1]
STRIPS, WIDTH = 7, 11


def request(code):
    return struct.pack(">Iiiiii", 2, code, WIDTH, STRIPS, 0, 0)


def picture(code):
    return b"".join(bytes([code + strip]) * WIDTH for strip in range(STRIPS))


def started(folder, way, *options):
    return Program([PROGRAM, folder, way, *options, "++server"], "Server port")


def keep_half_a_picture(program):
    program.wait_for("kept: there is a server")
    cut_off = program.ask_in_background("lvImage", 0, request(10))
    program.wait_for(f"asks for {WIDTH} x {STRIPS} pixels")
    program.ask("keep")
    program.wait_for("kept: there is a checkpoint")
    return cut_off


def next_picture(program):
    program.wait_for("kept: back")
    answer = program.ask_in_background("lvImage", 0, request(40))
    program.ask("go_on")  # of the one before
    while b"" == program.ask("go_on") and not answer.ended():
        pass
    expect("the next picture", answer(), picture(40))
    program.ask("stop")
    expect("status", program.wait(), 0)


def check(way):
    for options in (["+p4", "+ppn", "2"], ["+p3", "+ppn", "1"]):
        program = started("", way, *options)
        cut_off = keep_half_a_picture(program)
        program.ask("die")
        expect("the picture of before", cut_off(), None)
        next_picture(program)
    with tempfile.TemporaryDirectory() as folder:
        program = started(folder, way, "+p4")
        cut_off = keep_half_a_picture(program)
        program.ask("stop")
        cut_off()
        program.wait()
        for options in (["+p4"], ["+p2"], ["+p6", "+ppn", "3"]):
            next_picture(started(folder, way, *options, "+restart", folder))


def main():
    for way in ("half", "late", "forgotten"):
        check(way)
    print("\n".join(failures) if failures else "all as expected")
    sys.exit(1 if failures else 0)


main()
