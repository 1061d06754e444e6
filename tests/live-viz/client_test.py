"""The client, periapt-liveviz, beside a program whose images are known: client_test.py PROGRAM CLIENT."""
import re
import struct
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zlib
from pathlib import Path

from client import Program, expect, failures
from patterns import frame, polled

PROGRAM, CLIENT = sys.argv[1:]


def unpacked(data):
    """Width, height, kind of color and pixels of a PNG without filters."""
    at, chunks = 8, {}
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        chunks[kind] = chunks.get(kind, b"") + data[at + 8:at + 8 + length]
        expect("checksum", struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0], zlib.crc32(data[at + 4:at + 8 + length]))
        at += 12 + length
    width, height, depth, color = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    expect("depth", depth, 8)
    rows, row = zlib.decompress(chunks[b"IDAT"]), width * (3 if color == 2 else 1) + 1
    expect("filters", {rows[y * row] for y in range(height)}, {0})
    return width, height, color, b"".join(rows[y * row + 1:(y + 1) * row] for y in range(height))


def client(program, *options, token=None, address=None):
    return subprocess.run([sys.executable, CLIENT, address or f"127.0.0.1:{program.port}", "--token",
                           program.token if token is None else token, *options], capture_output=True, text=True, check=False)


def saved(folder):
    program = Program([PROGRAM, "color", "+p2", "++server"])
    done = client(program, "--save", f"{folder}/f%02d.png", "--count", "2", "--size", "40x30", "--code", "3")
    expect("files", (done.returncode, done.stdout), (0, f"{folder}/f00.png\n{folder}/f01.png\n"))
    for number in range(2):
        expect("PNG", unpacked(Path(f"{folder}/f{number:02}.png").read_bytes()) == (40, 30, 2, frame("color", 40, 30, 3)), True)
    client(program, "--save", f"{folder}/f.ppm", "--size", "40x30")
    expect("PPM", Path(f"{folder}/f.ppm").read_bytes() == b"P6\n40 30\n255\n" + frame("color", 40, 30), True)
    for options, words in ((["--save", f"{folder}/none/f.png"], "none/f.png can't be written: No such file"),
                           (["--save", f"{folder}/f.png", "--count", "2"], "would be written 2 times"),
                           (["--save", f"{folder}/f.png", "--size", "big"], "big is not WIDTHxHEIGHT"),
                           (["--save", f"{folder}/f.png", "--size", "20000x20000"], "has not answered a request for lvImage"),
                           ([], "one of --save and --page is needed"), (["--page", str(program.port)], "can't be served at port")):
        wrong = client(program, *options)
        expect(words, (wrong.returncode != 0, words in wrong.stderr), (True, True))
    for more, words in (({"token": "0" * 32}, "has not answered a request for lvConfig"), ({"address": "here"}, "here is not HOST:PORT"),
                        ({"address": "127.0.0.1:1"}, "can't be asked: ")):
        wrong = client(program, "--save", f"{folder}/f.png", **more)
        expect(words, (wrong.returncode != 0, words in wrong.stderr), (True, True))
    program.ask("stop")
    program.wait()
    # Grey, and images whose size the program decides.
    program = Program([PROGRAM, "grey", "+p2", "++server"])
    client(program, "--save", f"{folder}/f.png", "--size", "9x7")
    expect("grey", unpacked(Path(f"{folder}/f.png").read_bytes()), (9, 7, 0, frame("grey", 9, 7)))
    program.ask("stop")
    program.wait()
    program = Program([PROGRAM, "polled", "+p2", "++server"])
    wrong = client(program, "--save", f"{folder}/f.ppm", "--size", "9x7")
    expect("another size", (wrong.returncode, "--size is to be that of its images" in wrong.stderr), (1, True))
    width, pixels = polled(1)
    client(program, "--save", f"{folder}/f.ppm", "--size", f"{width}x28")
    expect("polled", Path(f"{folder}/f.ppm").read_bytes() == b"P6\n%d 28\n255\n" % width + pixels, True)
    program.ask("stop")
    program.wait()


def page():
    program = Program([PROGRAM, "color", "+p2", "++server"])
    server = subprocess.Popen([sys.executable, CLIENT, f"127.0.0.1:{program.port}", "--token", program.token, "--page", "0"],
                              stdout=subprocess.PIPE, text=True)
    address = server.stdout.readline().strip()

    def get(path, host=None):
        try:
            with urllib.request.urlopen(urllib.request.Request(address + path, headers={"Host": host} if host else {})) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    status, text = get("")
    expect("page", (status, bool(re.search(rb"frame\.png\?width=", text))), (200, True))
    status, image = get("frame.png?width=33&height=21")
    expect("image", (status, unpacked(image) == (33, 21, 2, frame("color", 33, 21))), (200, True))
    expect("no size", get("frame.png")[0], 400)
    expect("too large", get("frame.png?width=100000&height=100000")[0], 400)
    expect("another file", get("secrets")[0], 404)
    expect("another name of this host", get("", host="example.org")[0], 403)
    program.ask("stop")
    program.wait()
    status, text = get("frame.png?width=33&height=21")
    expect("the program is over", (status, b"can't be asked" in text), (502, True))
    server.terminate()
    server.wait()


def main():
    with tempfile.TemporaryDirectory() as folder:
        saved(folder)
    page()
    print("\n".join(failures) if failures else "all as expected")
    sys.exit(1 if failures else 0)


main()
