"""Clients find a program again that has gone back to a checkpoint (kept.cpp): kept_test.py PROGRAM OPTIONS..."""
import contextlib
import struct
import subprocess
import sys
import tempfile
import time

from client import Program, expect, failures

PROGRAM, OPTIONS = sys.argv[1], sys.argv[2:]
AGAIN = "there is a server again"


@contextlib.contextmanager
def running(*words, options=None):
    """A program that ends with this, if it has not done so."""
    program = Program([PROGRAM, *words, *(options or OPTIONS), "++server"], AGAIN if "+restart" in words else "there is a server")
    try:
        yield program
    finally:
        program.process.kill()
        program.wait()
        if failures:
            print(program.text)


def end(program, answer):
    found = program.ask("end")
    expect("the end", found, number(answer))
    if found is not None:
        expect("status", program.wait(), 0)


def number(of):
    return struct.pack("=i", of)


def check_memory():
    """The same port, the same token, the same handlers, after each kill -9."""
    with running() as program:
        ask_and_kill(program)


def ask_and_kill(program):
    port, token = program.port, program.token
    expect("counted", [program.ask("count") for _ in range(3)], [number(i) for i in (1, 2, 3)])
    program.ask_in_background("hold")
    expect("counted behind that", program.ask("count"), number(4))
    expect("kept", program.ask("keep"), number(4))
    for times in (1, 2):
        expect("counted and lost", program.ask("count"), number(5))
        expect("a request that kills", program.ask("die"), None)
        while program.text.count(AGAIN) < times and program.process.poll() is None:
            time.sleep(0.02)
        expect("contact", (program.port, program.token, program.text.count("ccs: Server")), (port, token, 1))
        # Were requests numbered anew, one of these would be the one that was held.
        waiting = [program.ask_in_background("wait") for _ in range(8)]
        while program.ask("waiting") not in (number(8), None):
            time.sleep(0.02)
        expect("an answer of an earlier client", program.ask("release"), number(4))
        expect("a function", program.ask("lost"), None)
    expect("counted again", program.ask("count"), number(5))
    end(program, 5)
    for answer in waiting:
        expect("an answer that was waited for", answer(), number(5))


def check_port():
    """Where another program has the port meanwhile, the run goes on at another one, and says so."""
    with running() as program:
        port, token = program.port, program.token
        expect("a port to take", program.ask("take port", 0, number(port)), number(0))
        expect("kept", program.ask("keep"), number(0))
        expect("a request that kills", program.ask("die"), None)
        program.wait_for(AGAIN)
        expect("another port", (program.port not in (0, port), program.token), (True, token))
        program.wait_for("Address already in use: clients have to look for another port")
        if program.process.poll() is None:
            expect("counted", program.ask("count"), number(1))
            end(program, 1)


def check_others(program, same):
    """What a run has of callbacks: a request for one to what is not there is refused."""
    for handler, answer in (("at start", b"at start"), ("element", b"element"), ("section", None), ("left out", None),
                            ("single", b"single" if same else None), ("last member", b"member" if same else None),
                            ("last process", b"member" if same else None)):
        found = program.ask(handler)
        expect(f"{handler}, {'the same' if same else 'other'} PEs", found, answer)
        if answer is None:
            program.wait_for(f"a request for {handler}, and no handler of that name is registered")


def check_folder():
    """A run of its own, with a port and a token of its own, that knows the handlers."""
    with tempfile.TemporaryDirectory() as folder:
        with running(folder) as program:
            token = program.token
            program.ask("count")
            held = program.ask_in_background("hold")
            for handler in ("at start", "section", "left out", "single", "last member", "last process"):
                expect(f"{handler}, before", program.ask(handler) is None, False)
            expect("kept", program.ask("keep"), number(1))
            end(program, 1)
        held()
        with running(folder, "+restart", folder) as program:
            expect("another contact", (program.port > 0, program.token not in ("", token)), (True, True))
            if program.port > 0:
                expect("counted", program.ask("count"), number(2))
                check_others(program, True)
                end(program, 2)
        if OPTIONS != ["+p1"]:
            with running(folder, "+restart", folder, options=["+p1"]) as program:
                check_others(program, False)
                end(program, 1)
        done = subprocess.run([PROGRAM, folder, *OPTIONS, "+restart", folder], stdout=subprocess.PIPE, text=True, check=False)
        expect("without a server", (done.returncode, "there is no server" in done.stdout), (0, True))


if "+ppn" in OPTIONS:
    check_memory()
    check_port()
check_folder()
print(*failures, sep="\n")
sys.exit(1 if failures else 0)
