"""Scripts run on a program (scripts.cpp), by a client that does it rightly and wrongly: scripts_test.py PROGRAM PACK OPTIONS..."""
import os
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from client import Program, expect, failures

if sys.argv[1] == "none":
    print("skipped: there is no -module PythonCCS, for which Python's headers and library are needed (python3-dev)")
    sys.exit(77)
PROGRAM, PACK, OPTIONS = sys.argv[1], sys.argv[2], sys.argv[3:]
PES = int(re.search(r"\+p ?(\d+)", " ".join(OPTIONS))[1])
PPN = int((re.search(r"\+ppn ?(\d+)", " ".join(OPTIONS)) or [0, PES])[1])
NODES = PES // PPN
PERSISTENT, KEEP, HIGH, ITERATE, WAIT, KILL = 0x80, 0x40, 0x20, 0x10, 0x08, 0x40


def packed(code, flags=0, interpreter=0, method=b"", iterator=b"", slack=2):
    head = struct.pack(">II", 48 ^ 37492037, len(code)) + bytes(16) + struct.pack(">II", len(method), len(iterator))
    texts = b"".join(text + b"\0" for text in (code, method) if text)
    return head + bytes(8) + struct.pack(">IB3x", interpreter, flags) + texts + iterator + bytes(slack)


def short(magic, interpreter, flags):
    return struct.pack(">IIB3x", 12 ^ magic, interpreter, flags)


def printing(interpreter, wait=True, kill=False):
    return short(989370215, interpreter, (0x80 if wait else 0) | (KILL if kill else 0))


def finishing(interpreter, wait=True):
    return short(738963580, interpreter, 0x80 if wait else 0)


class Client:
    def __init__(self, program):
        self.program = program

    def number(self, handler, data):
        answer = self.program.ask(handler, 0, data)
        return struct.unpack(">I", answer)[0] if answer is not None and len(answer) == 4 else answer

    def run(self, handler, code, flags=0, **more):
        """Runs to the end; what it printed."""
        number = self.number(handler, packed(code.encode(), flags | WAIT | KEEP, **more))
        if not number:
            return number
        said = self.program.ask(handler, 0, printing(number, wait=False))
        return "" if said == bytes(4) else said.decode()

    def begin(self, handler, data):
        """The connection on which the answer will come."""
        connection = self.program.open()
        connection.sendall(self.program.request(handler, 0, data))
        return connection


def answered(connection):
    with connection:
        return connection.makefile("rb").read()[4:]


def modules(client):
    run = client.run
    expect("ck", run("main", "print(ck.mype(), ck.numpes(), ck.mynode(), ck.numnodes(), ck.myindex())"), f"0 {PES} 0 {NODES} None\n")
    expect("imported", run("main", "import ck as mine\nfrom charm import add\nmine.printclient(str(add(2, 3)))", HIGH), "5")
    expect("a PE", run("member", "ck.printclient(str(ck.mype()))"), str(PES - 1))
    expect("an index", run("cell", "print(ck.myindex())"), "(2,)\n")
    expect("a larger index", run("grid", "print(ck.myindex())"), "(1, 2, 3, 4)\n")
    expect("printstr", run("main", "ck.printstr('seen by %d' % ck.numpes())"), "")
    expect("read", run("main", "print(ck.read(('n', 2)))"), "('n', 42)\n")
    expect("write", run("main", "ck.write('there', 5)\nprint(ck.read(('n', 2)))"), "('n', 7)\n")
    expect("names", run("main", "print(__name__, sorted(n for n in dir() if n[0] != '_'))", HIGH), "__main__ ['charm', 'ck', 'sys']\n")
    expect("no charm", "NameError: name 'charm' is not defined" in run("main", "charm.add(1, 2)"), True)
    expect("charm's words", "add -- a + b" in run("main", "print(charm.__doc__)", HIGH), True)
    expect("charm has", run("derived", "print(dir(charm), charm.lower(), charm.upper(), charm.both())", HIGH),
           "['both', 'lower', 'upper'] lower upper Derived's\n")
    expect("a function in a script", run("main", "n = 3\ndef f():\n  return n * charm.add(1, n)\nprint(f())", HIGH), "12\n")
    expect("ends itself", run("main", "print(1)\nsys.exit(3)\nprint(2)"), "1\n")
    expect("nothing", run("main", "charm.forget(); print(charm.forget(1, [2], {3: 4}))", HIGH), "None\n")
    expect("large", len(run("main", "print('x' * 1000000)")), 1000001)
    expect("deep", run("main", "def f(n):\n  return n and 1 + f(n - 1)\nprint(f(900), len(repr(eval('[' * 90 + ']' * 90))))"),
           "900 180\n")


def waiting(client):
    run, program = client.run, client.program
    expect("all PEs", run("main", "print(charm.sum())", HIGH), f"{sum(range(PES))}\n")
    expect("sync", run("main", "print(charm.ask())", HIGH), "42\n")
    held = client.number("main", packed(b"print(charm.hold())", HIGH | PERSISTENT | KEEP))
    expect("held", client.number("main", finishing(held, wait=False)), 0)
    expect("busy", client.number("main", packed(b"1", HIGH, held)), 0)
    end, output = client.begin("main", finishing(held)), client.begin("main", printing(held))
    # Others run meanwhile, on its PE and on others.
    expect("meanwhile", [run(handler, "print(ck.mype() + sum(range(9)))") for handler in ("main", "member")],
           ["36\n", f"{35 + PES}\n"])
    expect("let go", run("main", "import time\nwhile not charm.let_go(): time.sleep(0.001)", HIGH), "")
    expect("the end", answered(end), struct.pack(">I", held))
    said = answered(output)
    expect("output that came", said, b"let go")
    expect("finished", client.number("main", finishing(held)), held)
    expect("the rest", program.ask("main", 0, printing(held)), b"\n")
    killed = client.begin("main", printing(held))
    while not program.ask("main", 0, printing(held, kill=True)) is None:
        pass
    expect("killed", answered(killed), bytes(4))
    first = client.begin("main", printing(held))
    second = client.begin("main", printing(held))
    expect("no output", client.number("main", packed(b"pass", KEEP, held)), held)
    expect("one of two", sorted([answered(first), answered(second)]), [bytes(4), bytes(4)])


def persistent(client):
    run, number = client.run, client.number
    kept = number("main", packed(b"x = 1\ndef f(): return x", PERSISTENT | WAIT))
    expect("goes on", run("main", "x += 1; print(f())", PERSISTENT, interpreter=kept), "2\n")
    expect("its own", "NameError: name 'x'" in run("main", "x"), True)
    expect("its last", run("main", "print(x)", interpreter=kept), "2\n")
    expect("gone", run("main", "print(x)", interpreter=kept), 0)
    expect("nobody's", run("main", "print(x)", interpreter=0x7000000), 0)
    expect("unknown", [number("main", printing(99999)), number("main", finishing(99999))], [0, 99999])
    dropped = number("main", packed(b"print('x')", WAIT))
    expect("not kept", number("main", printing(dropped)), 0)
    doomed = number("doomed", packed(b"x = 1", PERSISTENT | WAIT))
    reader = client.begin("doomed", printing(doomed))
    expect("there", number("doomed", finishing(doomed)), doomed)
    expect("destroys", run("main", "charm.destroy(); print(1)", HIGH), "1\n")
    expect("left with the object", answered(reader), bytes(4))
    moved = number("cell", packed(b"x = 1", PERSISTENT | WAIT))
    reader = client.begin("cell", printing(moved))
    expect("asked before it moves", number("cell", finishing(moved)), moved)
    run("main", "charm.move()", HIGH)
    if PES > 1:
        expect("left with its element", answered(reader), bytes(4))
        expect("not moved", run("cell", "x", interpreter=moved), 0)
    else:
        reader.close()
        run("cell", "1", interpreter=moved)


def collections(client):
    run = client.run
    expect("members", run("members", "print(charm.place(), ck.mype())", HIGH), "".join(f"{i} {i}\n" for i in range(PES)))
    expect("nodes", run("nodes", "print(charm.place(), ck.mynode())", HIGH), "".join(f"{i} {i}\n" for i in range(NODES)))
    expect("cells", run("cells", "print(charm.place(), ck.myindex())", HIGH), "".join(f"{i} ({i},)\n" for i in range(5)))
    expect("some print", run("members", "if ck.mype() == 0: print('me')"), "me\n")
    kept = client.number("cells", packed(b"x = ck.myindex()[0]", PERSISTENT))
    expect("each its own", run("cells", "print(x)", interpreter=kept), "0\n1\n2\n3\n4\n")
    expect("all refuse", run("cells", "print(x)", interpreter=kept), 0)
    expect("none answers", client.program.ask("members", 0, printing(5, kill=True)), None)
    expect("finished", client.number("members", finishing(77)), 77)


def visiting(client):
    range_bytes = b"v" * 8 + struct.pack("=ii", 3, 6)
    code = b"def f(p):\n  p.half = p.number / 2\n  p.name = p.name + 'f'\n  return 10 * p.number"
    iterate = lambda **more: client.run("main", code.decode(), ITERATE, **({"method": b"f", "iterator": range_bytes} | more))
    expect("visits", iterate(), "")
    expect("none to visit", iterate(iterator=b"v" * 8 + struct.pack("=ii", 3, 3)), "")
    expect("no such function", "NameError: the script defines no function g" in iterate(method=b"g"), True)
    expect("no attribute", "AttributeError" in client.run("main", "def f(p): return 1", ITERATE, method=b"f", iterator=range_bytes),
           True)
    kept = client.number("main", packed(code, PERSISTENT | WAIT))
    expect("is there", client.run("main", "", ITERATE, method=b"f", iterator=range_bytes, interpreter=kept), "")
    expect("not written", "has no buildIterator() of its own" in client.run("members", "def f(p): 1", ITERATE, method=b"f"), True)


def wrong(client):
    run, ask = client.run, client.program.ask
    expect("syntax", re.search(r'^  File "<script>", line 2\n.*SyntaxError', run("main", "x = 1\nif"), re.S) is not None, True)
    expect("raises", run("main", "def f():\n  return 1 // 0\nf()"),
           'Traceback (most recent call last):\n  File "<script>", line 3, in <module>\n  File "<script>", line 2, in f\n'
           "ZeroDivisionError: integer division or modulo by zero\n")
    expect("arguments", "TypeError" in run("main", "charm.add(1)", HIGH), True)
    expect("caught", run("main", "try: charm.add('x', 1)\nexcept TypeError: print('caught')", HIGH), "caught\n")
    expect("no entry", "the object of this script has no [python] entry method bananas; it has: add, " in
           run("main", "charm.bananas(1)", HIGH), True)
    expect("C++'s", "RuntimeError: out of cheese" in run("main", "charm.fail()", HIGH), True)
    expect("read", "NotImplementedError: the object of this script has no read() of its own" in run("cell", "ck.read(1)"), True)
    expect("write", "has no write() of its own" in run("cell", "ck.write(1, 2)"), True)
    expect("not text", "TypeError" in run("main", "ck.printclient(3)"), True)
    expect("too much", len(run("main", "try:\n  while True: ck.printclient('x' * 1000000)\n"
                                       "except RuntimeError as e: ck.printstr('said: ' + str(e))")), 16000000)
    expect("a thread of its own", run("main", "import threading\nsaid = []\ndef f():\n  try: ck.mype()\n"
                                              "  except RuntimeError as e: said.append(str(e))\n"
                                              "t = threading.Thread(target=f)\nt.start()\nt.join()\nprint(said)"),
           "['ck and charm are for the script itself: this is a Python thread of its own']\n")
    expect("not kept", client.number("main", packed(b"raise ValueError('unheard')", WAIT)) > 0, True)
    good = packed(b"print(1)", KEEP)
    for data in (b"", b"x" * 11, b"x" * 60, good[:47], good[:50], struct.pack(">I", 48 ^ 37492037) + b"\xff" * 60,
                 good[:4] + struct.pack(">I", 7) + good[8:], packed(b"1", ITERATE), b"\xff" * 4 + good[4:]):
        expect(f"a request of {len(data)}", ask("main", 0, data), bytes(4))
    expect("of all", ask("members", 0, b"x" * 60), bytes(4))
    expect("nobody's", ask("bananas", 0, good), None)
    expect("after all that", run("main", "print(ck.mype())"), "0\n")


SAID = [r"seen by \d", "wrote there", r"visited 3 1.5 off 2 30\nvisited 4 2 off+ 2 40\nvisited 5 2.5 of+ 2 50",
        "a script of a client, interpreter \\d+: Traceback.*ValueError: unheard", "said: 16 MiB are printed",
        "interpreter \\d+, which is not there: only those of persistent scripts stay", "whose last script still runs",
        "its 60 bytes are no PythonExecute, PythonPrint or PythonFinished", "its code is said to have 4294967295 bytes, and there are",
        "there is no zero behind its code", "it iterates and names no method", "a request for bananas"]


def main():
    lines = [bytes.fromhex(line) for line in subprocess.run([PACK], capture_output=True, text=True, check=True).stdout.split()]
    program = Program([PROGRAM, *OPTIONS, "++server"])
    client = Client(program)
    visits = lines[3][:-16]
    expect("packed", lines[:3] + lines[4:], [
        packed(b"print(1)", slack=1), packed(b"print(1)", KEEP | WAIT, slack=1),
        packed(b"x = 1", PERSISTENT | KEEP | HIGH, 7, slack=1), printing(7), printing(7, False, True), finishing(7, False)])
    expect("packed", visits + bytes(8) + struct.pack("=ii", 3, 6),
           packed(b"def f(p): return p.number", ITERATE | WAIT, 0, b"f", bytes(8) + struct.pack("=ii", 3, 6), slack=0))
    expect("sent", client.number("main", lines[1]) > 0, True)
    for part in (modules, waiting, persistent, collections, visiting, wrong):
        part(client)
    kept = client.number("main", packed(b"charm.hold()", HIGH | PERSISTENT | KEEP))  # the end of the run finds it waiting
    left = [client.begin("main", data) for data in (printing(kept), finishing(kept))]
    expect("stop", program.ask("stop"), b"bye")
    expect("status", program.wait(), 0)
    for connection in left:
        connection.close()
    for words in SAID:
        if not re.search(words, program.text, re.S):
            failures.append(f"it does not say {words}")
    without = subprocess.run([PROGRAM, *OPTIONS, "1"], capture_output=True, text=True, check=False)
    expect("outside", (without.returncode, "no script calls an entry method by this handle" in without.stderr), (1, True))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "traceback.py").write_text("raise ImportError('broken')")
        os.environ["PYTHONPATH"] = folder
        broken = Program([PROGRAM, *OPTIONS, "++server"])
        expect("no Python", broken.ask("main", 0, packed(b"1")), None)
        expect("no Python", (broken.wait(), "broken" in broken.text, "Python does not start here" in broken.text), (1, True, True))
    print("\n".join(failures) if failures else "all as expected")
    if failures:
        print(program.text)
    sys.exit(1 if failures else 0)


main()
