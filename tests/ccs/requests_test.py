"""A program that answers requests over TCP (requests.cpp), asked rightly and wrongly: requests_test.py PROGRAM OPTIONS..."""
import os
import re
import struct
import subprocess
import sys

from client import Program, everything, expect, failures

PROGRAM, OPTIONS = sys.argv[1], sys.argv[2:]
PES = int(re.search(r"\+p ?(\d+)", " ".join(OPTIONS))[1])


def asked_rightly(program):
    info = program.ask("ccs_getinfo")
    expect("PEs", sum(struct.unpack(f">{len(info) // 4}I", info)[1:]), PES)
    for pe in range(PES):
        expect("echo", program.ask("echo", pe, b"this\0"), b"PE %d has this" % pe)
        expect("later", program.ask("later", pe, b"it"), b"it from PE %d" % ((pe + 1) % PES))
    expect("count", [program.ask("count", 0, b"abc"), program.ask("count", PES - 1, b"de")], [b"abc3", b"de5"])
    expect("a reduction", program.ask("reduce"), struct.pack("=ii", PES - 1, 1000))
    expect("from another PE", program.ask("elsewhere"), struct.pack("=i", PES - 1))
    expect("without a message", program.ask("empty"), b"")
    expect("silent", program.ask("silent"), b"")
    expect("none", program.ask("none"), None)
    expect("sum", program.ask("number", -1), struct.pack("=i", sum(range(10, 10 + PES))))
    expect("max", program.ask("highest", -1), struct.pack("=i", 9 + PES))
    expect("lengths", program.ask("name", -1), b"x" * (PES * (PES + 1) // 2))
    if PES > 1:
        expect("two", program.ask("name", -2, struct.pack(">II", PES - 1, 0)), b"x" * (PES + 1))
    large = os.urandom(5_000_000)
    expect("large", program.ask("reverse", PES - 1, large) == large[::-1], True)
    with program.open() as connection:
        own = connection.getsockname()
        for byte in program.request("caller"):  # a byte at a time
            connection.sendall(bytes([byte]))
        expect("caller", everything(connection)[4:], f"{own[0]}:{own[1]}".encode())
    # Many at once, more than are let in; each gets its own answer.
    many = [program.open() for _ in range(300)]
    for i, connection in enumerate(many):
        connection.sendall(program.request("echo", i % PES, b"%d\0" % i))
    for i, connection in enumerate(many):
        expect("one of many", everything(connection)[4:], b"PE %d has %d" % (i % PES, i))
        connection.close()


def asked_wrongly(program):
    good = program.request("echo", 0, b"x\0")
    expect("without a token", program.send(program.request("echo", 0, b"x\0", token="")), b"")
    expect("another token", program.send(program.request("echo", 0, b"x\0", token="0" * 32)), b"")
    expect("a browser", program.send(b"GET / HTTP/1.0\r\n\r\n"), b"")
    expect("nobody's handler", program.ask("bananas"), None)
    expect("no such PE", program.ask("echo", PES), None)
    expect("no such PEs", program.ask("echo", -2, struct.pack(">II", 0, 99)), None)
    expect("PEs that are not named", program.ask("echo", -1000000, b"xy"), None)
    # Each of them would get what follows the list.
    expect("a PE too often", program.ask("echo", -300, struct.pack(">300I", *[0] * 300) + b"x" * 1_000_000 + b"\0"), None)
    # And of those that get nothing else each costs a message.
    expect("a PE a million times", program.ask("echo", -2_000_000, struct.pack(">I", 0) * 2_000_000), None)
    expect("a name that would clear the screen in UTF-8", program.ask("\x9b2Jcd"), None)
    expect("a name that would clear the screen", program.ask("\x1b[2Jab\x7f"), None)
    expect("too much", program.send(program.request("echo")[:36] + struct.pack(">Ii32s", 0x1fffffff, 0, b"echo")), b"")
    expect("signed", program.send(program.request("echo")[:36] + struct.pack(">Ii32s", 0x80000100, 0, b"echo")), b"")
    expect("no handler", program.send(program.request("")), b"")
    expect("more than it says", program.send(good + b"more"), b"")
    expect("twice", program.ask("twice"), b"first")
    for end in (1, 20, 50, len(good) - 1):  # that leave in the middle
        with program.open() as connection:
            connection.sendall(good[:end])
    for _ in range(50):  # that do not wait for their answer
        with program.open() as connection:
            connection.sendall(good)
    expect("after all that", program.ask("echo", 0, b"me\0"), b"PE 0 has me")


SAID = ["does not know the token of this run.*--?server-open lets in all|does not know the token", "another token than this run",
        r"a request for bananas, and no handler of that name is registered on PE 0; there: caller, echo, ",
        rf"a request for echo is for PE {PES}, and there are PEs 0 to {PES - 1}", "names PE 99, and there are PEs",
        rf"a request for echo names PEs 300 times, and there are PEs 0 to {PES - 1}", r"a request for \?\[2Jab\?, and no handler",
        r"a request for \?\?2Jcd, and no handler", "names PEs 2000000 times",
        "is for 1000000 PEs and does not name them", "wants to send more than 256 MiB", "signed", "names no handler",
        "sends more than its request", "answered twice", "left in the middle of its request"]


def main():
    program = Program([PROGRAM, *OPTIONS, "++server"])
    asked_rightly(program)
    asked_wrongly(program)
    expect("stop", program.ask("stop"), b"bye")
    expect("status", program.wait(), 0)
    for words in SAID:
        if not re.search(words, program.text):
            failures.append(f"it does not say {words}")

    # Without a token, for clients of Charm++.
    program = Program([PROGRAM, *OPTIONS, "++server-open"])
    expect("no token", program.token, "")
    expect("open", program.send(struct.pack(">Ii32s", 2, 0, b"echo") + b"x\0")[4:], b"PE 0 has x")
    taken = subprocess.run([PROGRAM, *OPTIONS, "++server-port", str(program.port)], capture_output=True, text=True, check=False)
    expect("a port that is taken", (taken.returncode, "can't listen at 127.0.0.1" in taken.stderr), (1, True))
    expect("leave", program.send(struct.pack(">Ii32s", 0, PES - 1, b"leave"))[4:], b"bye")
    expect("status", program.wait(), 0)

    program = Program([PROGRAM, *OPTIONS, "++server"])
    answer = program.ask("odd")
    expect("a message that is no answer", answer, None)
    if answer is not None:
        program.ask("stop")
    expect("status", program.wait(), 1)
    if "a callback that answers a CCS request is sent a message of class Odd" not in program.text:
        failures.append("it does not say what message a callback is sent")

    without = subprocess.run([PROGRAM, *OPTIONS], capture_output=True, text=True, check=False)
    expect("without", (without.returncode, "there is no server" in without.stdout), (0, True))
    for words, said in ((["outside"], "CcsSendReply.. is called outside of the handler"),
                        (["++server-port", "70000"], "is no port"), (["++server-address", "here"], "here is no IPv4 address"),
                        (["++server-auth", "keys"], "server-auth is not there")):
        wrong = subprocess.run([PROGRAM, *words, *OPTIONS], capture_output=True, text=True, check=False)
        expect(words, (wrong.returncode, bool(re.search(said, wrong.stderr))), (1, True))

    print("\n".join(failures) if failures else "all as expected")
    if failures:
        print(program.text)
    sys.exit(1 if failures else 0)


main()
