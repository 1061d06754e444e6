"""Images of a program (frames.cpp), byte by byte, and bad requests: frames_test.py PROGRAM PROGRAM_OF_OWN_COLORS OPTIONS..."""
import re
import struct
import subprocess
import sys

from client import Program, everything, expect, failures
from patterns import frame, polled

PROGRAM, OWN_COLORS, OPTIONS = sys.argv[1], sys.argv[2], sys.argv[3:]
SIZES = [(64, 48), (5, 3), (1, 1), (200, 31), (0, 0)]


def request(width, height, code=0, compression=0, more=b"", version=2):
    head = struct.pack(">Iiii", version, code, width, height)
    return head + (struct.pack(">ii", compression, 0) if version > 1 else b"") + more


def same(what, found, wanted):
    """Says of long bytes only where they differ."""
    if found != wanted:
        size = len(found) if found is not None else "no"
        first = next((i for i, (a, b) in enumerate(zip(found or b"", wanted)) if a != b), None)
        failures.append(f"{what}: {size} bytes instead of {len(wanted)}, the first that differs is {first}")


def spread(runs):
    return b"".join(bytes([byte]) * count for count, byte in zip(runs[::2], runs[1::2]))


def started(way, program=PROGRAM):
    return Program([program, way, *OPTIONS, "++server"])


def stopped(program):
    program.ask("stop")
    expect("status", program.wait(), 0)


def asked(way, own_colors=False):
    program = started(way, OWN_COLORS if own_colors else PROGRAM)
    config = program.ask("lvConfig")
    box = struct.pack(">6d", -1, -2, -3, 1, 2, 3.5) if way == "max" else b""
    expect(f"{way}: configuration", config, struct.pack(">4i", 1, way != "grey", way == "mirrored", way == "max") + box)
    for width, height in SIZES:
        same(f"{way} {width} x {height}", program.ask("lvImage", 0, request(width, height)),
             frame(way, width, height, own_colors=own_colors))
    same(f"{way}: of version 1", program.ask("lvImage", 0, request(40, 30, 9, version=1)),
         frame(way, 40, 30, 9, own_colors=own_colors))
    moved = program.ask("lvImage", 0, request(40, 30, 1, more=struct.pack(">ii", 6, -4)))
    same(f"{way}: moved", moved, frame(way, 40, 30, 1, (6, -4), own_colors))
    runs = program.ask("lvImage", 0, request(40, 30, 2, compression=2))
    same(f"{way}: runs", spread(runs), frame(way, 40, 30, 2, own_colors=own_colors))
    # Several clients at once: each gets its own.
    connections = [program.open() for _ in range(8)]
    for code, connection in enumerate(connections):
        connection.sendall(program.request("lvImage", 0, request(30 + code, 20, code)))
    for code, connection in enumerate(connections):
        same(f"{way}: client {code}", everything(connection)[4:], frame(way, 30 + code, 20, code, own_colors=own_colors))
        connection.close()
    return program


def asked_wrongly(program):
    pes = int(re.search(r"\+p ?(\d+)", " ".join(OPTIONS))[1])
    for what, data in (("nothing", b""), ("too little", request(9, 9)[:20]), ("less than nothing", request(-1, 9)),
                       ("too much", request(100000, 100000)), ("a JPEG", request(9, 9, compression=1))):
        expect(what, program.ask("lvImage", 0, data), None)
    if pes > 1:
        expect("another PE", program.ask("lvImage", 1, request(9, 9)), None)
    same("half a shift", program.ask("lvImage", 0, request(40, 30, more=struct.pack(">i", 6))), frame("color", 40, 30, 0, (6, 0)))
    with program.open() as connection:  # one that does not wait
        connection.sendall(program.request("lvImage", 0, request(30, 20)))
    same("after all that", program.ask("lvImage", 0, request(9, 9)), frame("color", 9, 9))
    stopped(program)
    for words in ("asks for an image with 0 bytes, of 16 at least", "asks for an image with 20 bytes, of 24 at least",
                  "asks for an image of -1 x 9 pixels", "100000 x 100000 pixels, which is more than 256 MiB",
                  "asks for compression 1: there is none .0. and runs .2.",
                  "sends 4 bytes behind its request, and the program wants 8") + (
                      ("a request for lvImage, and no handler of that name is registered on PE 1",) if pes > 1 else ()):
        if not re.search(words, program.text):
            failures.append(f"it does not say {words}")


def asked_when_polled():
    program = started("polled")
    expect("configuration", program.ask("lvConfig"), struct.pack(">4i", 1, 1, 1, 0))
    for image in range(3):
        same(f"image {image}", program.ask("lvImage", 0, request(0, 0)), polled(image)[1])
    with program.open() as connection:  # it waits for ever
        connection.sendall(program.request("lvImage", 0, request(0, 0)))
        stopped(program)


MISTAKES = {
    "late": r"liveVizPollDeposit\(\) is called before liveVizInit\(\) or liveVizPollInit\(\)",
    "nothing": "options that make no elements are given",
}
# Those that show when a client asks.
WHEN_ASKED = {
    "twice": "elements deposit for a request that has its image already",
    "ways": "elements deposit for one image with different ways to combine",
    "pixels": "pixels of 3 bytes can't be combined as floats",
}


def main():
    for way in ("grey", "max", "float", "floatmax"):
        stopped(asked(way))
    stopped(asked("float", own_colors=True))
    program = asked("mirrored")
    stopped(program)
    expect("reductions of its own", re.findall(r"(\d+) reductions of its own", program.text), ["16"])
    expect("told of", "liveViz: a client asks for 64 x 48 pixels" in program.text, True)
    asked_wrongly(asked("color"))
    asked_when_polled()
    mistakes = dict(MISTAKES)
    if "+p1" not in OPTIONS:
        mistakes["pe"] = r"liveVizPollInit\(\) is called on PE [1-9]"
    for way, words in mistakes.items():
        wrong = subprocess.run([PROGRAM, way, *OPTIONS], capture_output=True, text=True, check=False)
        expect(way, (wrong.returncode, bool(re.search(words, wrong.stderr))), (1, True))
    for way, words in WHEN_ASKED.items():
        program = started(way)
        program.ask("lvImage", 0, request(9, 9))
        expect(way, (program.wait(), bool(re.search(words, program.text))), (1, True))
    print("\n".join(failures) if failures else "all as expected")
    sys.exit(1 if failures else 0)


main()
