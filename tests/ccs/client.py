"""A program that answers requests over TCP, as a client sees it: for the tests of such programs."""
import re
import socket
import struct
import subprocess
import threading
import time

failures = []


def expect(what, found, wanted):
    if found != wanted:
        failures.append(f"{what}: {found!r} instead of {wanted!r}")


class Program:
    """Runs; `begun` is in its output when clients may ask."""

    def __init__(self, command, begun="there is a server", env=None):
        self.words = begun
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        errors="replace", env=env)
        self.text, self.port, self.token, self.begun = "", 0, "", threading.Event()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()
        self.begun.wait()

    def read(self):
        for line in self.process.stdout:
            self.text += line
            if found := re.match(r"ccs: Server IP = ([\d.]+), Server port = (\d+) \$", line):
                self.port = int(found[2])
            if found := re.match(r"ccs: token ([0-9a-f]{32})$", line):
                self.token = found[1]
            if self.words in line:
                self.begun.set()
        self.begun.set()

    def wait(self):
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        return self.process.returncode

    def wait_for(self, words):
        """Until they are in the output; it is a failure if the program ends before."""
        while words not in self.text and self.process.poll() is None:
            time.sleep(0.02)
        expect(f"'{words}' is said", words in self.text, True)

    def ask_in_background(self, handler, pe=0, data=b""):
        """For a request that is answered later: a function that waits for the answer."""
        answers = []
        thread = threading.Thread(target=lambda: answers.append(self.ask(handler, pe, data)))
        thread.start()

        def answer():
            thread.join()
            return answers[0]
        answer.ended = lambda: not thread.is_alive()
        return answer

    def open(self):
        try:
            return socket.create_connection(("127.0.0.1", self.port))
        except ConnectionRefusedError as error:
            raise RuntimeError(f"the program has gone with status {self.process.poll()}; it said:\n{self.text}") from error

    def send(self, data):
        """What comes back on a connection, until it is closed."""
        with self.open() as connection:
            try:
                connection.sendall(data)
            except (BrokenPipeError, ConnectionResetError):
                pass
            return everything(connection)

    def request(self, handler, pe=0, data=b"", token=None):
        token = self.token if token is None else token
        head = (b"TOKN" + token.encode() if token else b"") + struct.pack(">Ii32s", len(data), pe, handler.encode())
        return head + data

    def ask(self, handler, pe=0, data=b""):
        """The answer; None: closed without one."""
        answer = self.send(self.request(handler, pe, data))
        if len(answer) < 4:
            return None
        expect(f"length of the answer of {handler}", len(answer) - 4, struct.unpack(">I", answer[:4])[0])
        return answer[4:]


def everything(connection):
    data = b""
    try:
        while piece := connection.recv(1 << 16):
            data += piece
    except ConnectionResetError:
        pass
    return data
