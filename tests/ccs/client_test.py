"""The client in C (client.c), against a program that answers (requests.cpp) and against servers that do it wrongly:
client_test.py PROGRAM CLIENT... OPTIONS... Each CLIENT is a built one, or whole:COMPILER, c:COMPILER, charmc:COMMAND, which make
one from what lies in the build folder, as a program's Makefile would."""
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from client import Program, expect, failures

PROGRAM = sys.argv[1]
OPTIONS = [word for at, word in enumerate(sys.argv) if at > 1 and any(w.startswith("+") for w in sys.argv[2:at + 1])]
CLIENTS = sys.argv[2:len(sys.argv) - len(OPTIONS)]
SOURCE = Path(__file__).resolve().parent / "client.c"
CLEAN = {name: value for name, value in os.environ.items() if name != "PERIAPT_CCS_TOKEN"}


def built(client, folder):
    way, _, tool = client.partition(":")
    if not tool:
        return client
    out = Path(folder) / way
    if way == "charmc":
        lines = [[tool, "-o", f"{out}.o", "-c", SOURCE], [tool, "-language", "c++", "-seq", "-o", out, f"{out}.o", "-lccs-client"]]
    else:
        tree = Path(PROGRAM.split(":")[0]).resolve()
        while not (tree / "lib" / "libccs-client.a").exists():
            tree = tree.parent
        include = [f"-I{tree / 'include'}"]
        lines = [[tool, *include, SOURCE, "-o", out, f"-L{tree / 'lib'}", "-lccs-client"] if way == "c" else
                 [tool, *include, "-DPERIAPT_CLIENT_WHOLE", "-x", "c++", SOURCE, "-o", out]]
    for line in lines:
        subprocess.run(line, check=True)
    return out


def ask(client, what, port, token="-", host="127.0.0.1", environment=None, seconds=()):
    done = subprocess.run([client, host, str(port), token, what, *seconds], capture_output=True, text=True, check=False,
                          env=CLEAN | (environment or {}))
    return done.returncode, done.stdout + done.stderr


def expect_end(what, found, status, words):
    if found[0] != status or any(word not in found[1] for word in words):
        failures.append(f"{what}: status {found[0]} instead of {status}, or {words} is not in:\n{found[1]}")


WRONGLY = ["nothing has been asked", "there are PEs 0 to ", "to several PEs names none", "a handler's name has 1 to 31 characters",
           "with -1 bytes", "there is no process", "has 10 bytes, more than the 4", "told: CCS client: the server at 127.0.0.1:",
           "has closed the connection without an answer: it has ended, or refused the request"]


def with_program(client):
    program = Program([PROGRAM, *OPTIONS, "++server"])
    expect_end("all", ask(client, "all", program.port, program.token), 0, [*WRONGLY, "all as expected"])
    expect_end("from the environment", ask(client, "connect", program.port, environment={"PERIAPT_CCS_TOKEN": program.token}), 0, [])
    expect_end("no token", ask(client, "connect", program.port), 1, ["a server that prints a token wants it"])
    expect_end("another token", ask(client, "connect", program.port, "0" * 32), 1, ["without an answer"])
    expect_end("no such token", ask(client, "connect", program.port, environment={"PERIAPT_CCS_TOKEN": "me"}), 3,
               ["PERIAPT_CCS_TOKEN is me, and no token"])
    expect_end("the end", ask(client, "stop", program.port, program.token), 0, ["all as expected"])
    expect("status", program.wait(), 0)
    expect_end("nothing there", ask(client, "connect", program.port, seconds=["1"]), 3,
               ["no server has answered at 127.0.0.1", "refused"])
    expect_end("no port", ask(client, "connect", 70000), 3, ["port 70000 of the server is none"])
    expect_end("no host", ask(client, "connect", 1, host="x" * 300), 3, ["there is no host with the name", "x" * 300])
    expect_end("no way", ask(client, "connect", 1, host="255.255.255.255"), 1, ["can't be reached"])

    program = Program([PROGRAM, *OPTIONS, "++server-open"])
    expect_end("open", ask(client, "one", program.port), 4, ["more than the 3"])
    with subprocess.Popen([client, "127.0.0.1", str(program.port), "-", "after"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, env=CLEAN) as asking:
        asking.stdout.readline()
        ask(client, "stop", program.port)
        program.wait()
        text = asking.communicate("\n")[0]
        expect_end("gone in between", (asking.returncode, text), 4, ["no server has answered"])


def numbers(*values):
    return struct.pack(f">{len(values)}I", *values)


# What a server answers to ccs_getinfo and to a request; None: nothing, until the client has gone.
SHAPE = numbers(8, 1, 1)
SERVERS = [
    ("silence", None, b"", 3, ["has not answered within 1 s"]),
    ("a server of something else", b"HTTP", b"", 1, ["in the middle of its answer to ccs_getinfo"]),
    ("no numbers", numbers(3) + b"abc", b"", 3, ["does not answer as a server of CCS does"]),
    ("no processes", numbers(4, 0), b"", 3, ["does not answer as a server of CCS does"]),
    ("fewer processes than it says", numbers(8, 2, 1), b"", 3, ["does not answer as a server of CCS does"]),
    ("more PEs than there can be", numbers(12, 2, 0x7fffffff, 0x7fffffff), b"", 3, ["does not answer as a server of CCS does"]),
    ("fewer than no PEs", numbers(8, 1, 0xffffffff), b"", 3, ["does not answer as a server of CCS does"]),
    ("no answer in time", SHAPE, None, 4, []),
    ("gone in the middle", SHAPE, numbers(3) + b"a", 1, ["in the middle of its answer to echo"]),
    ("half a length", SHAPE, b"\0\0", 1, ["in the middle of its answer to echo"]),
    ("gone", SHAPE, b"", 1, ["without an answer"]),
    ("more than an int says", SHAPE, numbers(0xffffffff), 4, ["more than an int can say"]),
    ("an answer", SHAPE, numbers(3) + b"abc", 0, ["all as expected"]),
]


def serve(listener, answers):
    for answer in answers:
        connection, _ = listener.accept()
        with connection:
            connection.recv(100)
            if answer is None:
                while connection.recv(100):
                    pass
                return
            connection.sendall(answer)


def with_others(client):
    for what, shape, answer, status, words in SERVERS:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            wanted = [shape, answer] if status in (0, 4) or shape == SHAPE else [shape]
            server = threading.Thread(target=serve, args=(listener, wanted))
            server.start()
            seconds = ["1"] if shape is None else ["60", "1"] if answer is None else []
            expect_end(what, ask(client, "one", listener.getsockname()[1], seconds=seconds), status, words)
            server.join()


with tempfile.TemporaryDirectory() as work:
    for one in CLIENTS:
        path = built(one, work)
        with_program(path)
    with_others(path)
print("\n".join(failures) if failures else "all as expected")
sys.exit(1 if failures else 0)
