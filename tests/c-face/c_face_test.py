#!/usr/bin/env python3
"""Programs for UCX run on our libucp: UCX's two example programs, unmodified, and ucp_compare.c on either library.

Usage: c_face_test.py hello|client_server|compare|leave LIBRARY_FOLDER SOURCE_FOLDER TRANSPORT
Exit code 77: cannot run here, with the reason.
"""
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLES = Path("/usr/share/doc/libucx-dev/examples")
# What their servers say when another program of this machine has taken the port meanwhile: client_server, hello.
PORT_IS_TAKEN = ("busy", "Failed to open server socket")
PORTS = 20  # that are tried


def skip(reason: str) -> None:
    print(f"skipped: {reason}")
    sys.exit(77)


def build(source: Path, to: Path) -> Path:
    """Compiled and linked against UCX's own library: which one it runs with is decided when it starts."""
    program = to / source.stem
    run = subprocess.run(["cc", "-O1", "-w", str(source), "-o", str(program), "-lucp", "-lucs"], capture_output=True, text=True)
    if run.returncode != 0:
        skip(f"{source.name} cannot be built here: {run.stderr.strip().splitlines()[-1:]}")
    return program


def environment(library: str | None, transport: str) -> dict[str, str]:
    env = dict(os.environ, UCX_TLS=transport)
    if library:
        env["LD_LIBRARY_PATH"] = library
    if "tcp" in transport:
        env["UCX_NET_DEVICES"] = "lo"
    return env


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listens(port: int, server: subprocess.Popen) -> bool:
    """Waits for it, without connecting, which the examples' servers would take for their client. False: it has ended."""
    wanted = f":{port:04X}"
    while server.poll() is None:
        for table in ("/proc/net/tcp", "/proc/net/tcp6"):
            lines = Path(table).read_text().splitlines()[1:] if Path(table).exists() else []
            if any(line.split()[1].endswith(wanted) and line.split()[3] == "0A" for line in lines):
                return True
    return False


def pair(program: Path, arguments: list[str], address: list[str], env: dict[str, str],
         serves_again: str = "") -> tuple[str, str]:
    """Runs a server and a client, which gets `address` too; the output of both. A server that serves for ever is ended
    when it has said twice that it `serves_again`."""
    stdbuf = ["stdbuf", "-oL"] if shutil.which("stdbuf") else []
    for left in reversed(range(PORTS)):
        port = free_port()
        command = [str(program), *arguments, "-p", str(port)]
        with tempfile.NamedTemporaryFile("w") as output:
            server = subprocess.Popen(stdbuf + command, env=env, stdout=output, stderr=subprocess.STDOUT)
            try:
                if not listens(port, server) and left and any(w in Path(output.name).read_text() for w in PORT_IS_TAKEN):
                    continue
                client = subprocess.run([*command, *address], env=env, capture_output=True, text=True)
                while client.returncode == 0 and server.poll() is None:
                    if serves_again and Path(output.name).read_text().count(serves_again) > 1:
                        break
                    time.sleep(0.01)
            finally:
                if server.poll() is None:
                    server.terminate()
                    server.wait()
            text = Path(output.name).read_text()
        if client.returncode != 0:
            sys.exit(f"the client ended with {client.returncode}:\n{client.stdout}{client.stderr}\nthe server said:\n{text}")
        return text, client.stdout


def hello(library: str, folder: Path, transport: str) -> None:
    program = build(EXAMPLES / "ucp_hello_world.c", folder)
    for mode in ["-b", "-w", "-f"]:
        server, client = pair(program, [mode], ["-n", "127.0.0.1"], environment(library, transport))
        if "UCP TEST SUCCESS" not in client or "flush_ep completed with status 0" not in server:
            sys.exit(f"mode {mode}: the server said\n{server}\nthe client said\n{client}")
        print(f"hello {mode}: well")


def client_server(library: str, folder: Path, transport: str) -> None:
    program = build(EXAMPLES / "ucp_client_server.c", folder)
    for api in ["tag", "stream", "am"]:
        for size in [16, 5000, 300000]:
            # Its server forgets an active message that arrives before it has looked at the one before: one at a time.
            rounds = "1" if api == "am" else "20"
            server, client = pair(program, ["-c", api, "-s", str(size), "-i", rounds], ["-a", "127.0.0.1"],
                                  environment(library, transport), serves_again="Waiting for connection")
            if server.count("UCP TEST SUCCESS") == 0 or "Server received a connection request" not in server:
                sys.exit(f"{api} {size}: the server said\n{server}\nthe client said\n{client}")
            print(f"client_server {api} {size}: well")


def compare(library: str, folder: Path, transport: str, source: Path) -> None:
    program = build(source / "ucp_compare.c", folder)
    lines = {}
    for name, path, tls in [("UCX", None, "tcp,self"), ("ours", library, transport)]:
        run = subprocess.run([str(program)], env=environment(path, tls), capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"with {name} it ended with {run.returncode}:\n{run.stdout}{run.stderr}")
        lines[name] = run.stdout.splitlines()
    if lines["UCX"] != lines["ours"]:
        for theirs, ours in zip(lines["UCX"], lines["ours"]):
            print(f"{'  ' if theirs == ours else '! '}{theirs}{'' if theirs == ours else '   <- UCX, ours -> ' + ours}")
        sys.exit(f"{len(lines['UCX'])} lines with UCX, {len(lines['ours'])} with ours; they differ")
    print(f"{len(lines['ours'])} lines, the same with both libraries")


def leave(library: str, folder: Path, transport: str, source: Path) -> None:
    """UCX's own library does the same over shared memory; over TCP its flush waits for the peer."""
    program = build(source / "ucp_compare.c", folder)
    run = subprocess.run([str(program), "leave"], env=environment(library, transport), capture_output=True, text=True)
    lines = run.stdout.splitlines()
    well = len(lines) == 11 and all("Success" in line for line in lines) and lines[-1] == "flush: Success, close: Success"
    if run.returncode != 0 or not well:
        sys.exit(f"it ended with {run.returncode} and said\n{run.stdout}{run.stderr}")


def main() -> None:
    what, library, source, transport = sys.argv[1:]
    if what in ("hello", "client_server") and not EXAMPLES.is_dir():
        skip(f"{EXAMPLES} is not here (libucx-dev)")
    if not shutil.which("cc"):
        skip("there is no cc")
    with tempfile.TemporaryDirectory() as folder:
        if what in ("hello", "client_server"):
            {"hello": hello, "client_server": client_server}[what](library, Path(folder), transport)
        else:
            {"compare": compare, "leave": leave}[what](library, Path(folder), transport, Path(source))


if __name__ == "__main__":
    main()
