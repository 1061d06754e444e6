#!/usr/bin/env python3
"""Follows docs/first-balancer.md line by line: writes its files, runs its commands, and looks for what it shows.

Usage: chapter_test.py PAGE BIN [--files]. In the current folder. With --files, writes the files only. Without NumPy, exits
with 77 where the page needs it.
"""
import os
import re
import subprocess
import sys


def blocks(text):
    """(language, lines) of each block of code."""
    for match in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S):
        yield match.group(1), match.group(2)


def file_name(body):
    match = re.match(r"(?://|#) (\w+\.\w+)\n", body)
    return match.group(1) if match else None


def expected(line):
    """A line of output as a pattern: numbers may differ, and more may follow."""
    return re.sub(r"\\?\d+", r"\\d+", re.escape(line.strip()))


def python_with_numpy():
    for python in (os.environ.get("PERIAPT_PYTHON"), "python3", "/usr/bin/python3"):
        if python and subprocess.run([python, "-c", "import numpy"], stderr=subprocess.DEVNULL).returncode == 0:
            return python
    return None


def run(command, environment):
    done = subprocess.run(["sh", "-ec", command], env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    print(f"$ {command}\n{done.stdout}", end="", flush=True)
    if done.returncode != 0 or "nothing is moved" in done.stdout:
        sys.exit(f"failed with exit status {done.returncode}: {command}")
    return done.stdout


def main():
    page, tools = sys.argv[1:3]
    python = python_with_numpy()
    environment = dict(os.environ, PATH=tools + os.pathsep + os.environ["PATH"], PERIAPT_PYTHON=python or "python3")
    output = ""
    for language, body in blocks(open(page, encoding="utf-8").read()):
        name = file_name(body)
        if name:
            with open(name, "w", encoding="utf-8") as file:
                file.write(body)
        elif language == "sh" and "--files" not in sys.argv:
            for line in body.splitlines():
                if "mine.py" in line and not python:
                    print(f"no NumPy, so left out: {line}")
                    continue
                output = run(line, environment)
        elif language == "text" and "--files" not in sys.argv:
            for line in body.splitlines():
                if ".py" in line and not python:
                    continue
                if not re.search(expected(line), output):
                    sys.exit(f"the page shows this, and the program does not: {line}")
    return 0 if python or "--files" in sys.argv else 77


sys.exit(main())
