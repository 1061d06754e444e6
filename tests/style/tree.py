#!/usr/bin/env python3
"""Rules about single files that a program can hold. Usage: tree.py ROOT; prints what breaks them and exits 1 if any does.

  opening     a file of ours opens with a comment that says what it is; x.cpp may leave that to the x.h beside it
  machine     no path and no host name of one machine
  length      no file over LINES_MAX lines, golden data apart
  words       a comment, and a page, names its subject with a noun: none of RIDDLE in WORDS_IN and PROSE_IN
  conditions  #if lives in the files that EDGES names: elsewhere at most CONDITIONS_PER_1000 in a thousand lines of C++, not counting
              include guards, __cplusplus, __has_include and questions about sanitizers
"""
import ast
import io
import re
import socket
import subprocess
import sys
import tokenize
from pathlib import Path

LINES_MAX = 1000
CONDITIONS_PER_1000 = 2.0

# Where compilers, systems and processors differ, and the one place that says how.
EDGES = ("base/platform", "base/sanitizer.h", "examples/nbody/simd.h", "examples/nbody/dispatch.cpp",
         "examples/gpu/", "machine/gpu/device_send.h")

CPP = {".h", ".hpp", ".cpp", ".cc", ".C", ".c", ".cu"}
# What a file of each kind may open with, after a shebang.
OPENING = {**{suffix: ("//", "/*") for suffix in CPP | {".ci"}},
           ".py": ('"""', "#"), ".cmake": ("#",), ".sh": ("#",), ".txt": ("#",)}
# A home, a temporary checkout, a work folder: none means anything on another machine.
PLACES = re.compile(r"/(?:home|Users)/(?!user\b|you\b|name\b|runner\b)[a-z]\w*/|/ro" r"ot/|/wo" r"rk/|/tmp/r" r"ef\b")
CONDITION = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif)\b(.*)")
HARMLESS = re.compile(r"__cplusplus|__has_include|__has_feature|__SANITIZE_|_SANITIZER")
# Folders whose comments name their subjects.
WORDS_IN = ("base/", "machine/", "runtime/", "lang/", "tools/", "tests/", "examples/", "bench/")
# Where each line is one: the pages.
PROSE_IN = ("docs/", "README.md")
# The pronoun may follow the noun that it stands for, where that is a person.
RIDDLE = re.compile(r"\b(whoever|nobody|somebody|anybody|everybody|someone|everyone"
                    r"|(?<!person )(?<!people )(?<!user )(?<!users )who)\b", re.IGNORECASE)
# Words of programs and messages in a page.
QUOTED = re.compile(r"`[^`]*`")
TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"')
# Texts that are input or expected output of a test, or come from elsewhere.
DATA_FOLDERS = {"golden", "data", "corpus", "errors"}


def files_of(root: Path) -> list[str]:
    """What git would commit: tracked files, and new ones that it does not ignore. Without git, all but what builds make."""
    try:
        names = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"], capture_output=True,
                               text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        names = [file.relative_to(root).as_posix() for file in root.rglob("*")]
        names = [name for name in names if not {".git", "build", "demo-out", "__pycache__"} & set(name.split("/"))]
    return sorted(name for name in set(names) if (root / name).is_file())


def is_data(name: str) -> bool:
    return bool(DATA_FOLDERS & set(Path(name).parts[:-1]))


def host_names() -> list[str]:
    """This machine's name, when it is one that could not be an ordinary word."""
    name = socket.gethostname().split(".")[0]
    return [name] if len(name) >= 6 and re.search(r"[-\d]", name) else []


def opening_problem(root: Path, name: str, lines: list[str]) -> str | None:
    wanted = OPENING.get(Path(name).suffix)
    said = [line for line in lines if line.strip() and not line.startswith("#!")]
    if name.endswith("CMakeLists.txt") and len(said) <= 12:  # a list of a folder's files says it itself
        return None
    if Path(name).suffix in CPP - {".h", ".hpp"} and (root / name).with_suffix(".h").exists():
        return None
    if wanted and said and not said[0].lstrip().startswith(wanted):
        return f"{name}:1: opens without a comment: say in a line or two what the file is and how to read it"
    return None


def place_problems(name: str, lines: list[str], hosts: list[str]) -> list[str]:
    return [f"{name}:{number}: names a place of one machine: {line.strip()[:100]}"
            for number, line in enumerate(lines, 1)
            if PLACES.search(line) or any(re.search(rf"\b{re.escape(host)}\b", line) for host in hosts)]


def python_comments(text: str) -> list[tuple[int, str]]:
    """Number and text of each line of a comment or of a documentation string."""
    found = [(token.start[0], token.string) for token in tokenize.generate_tokens(io.StringIO(text).readline)
             if token.type == tokenize.COMMENT]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            said = node.body[0]
            found += enumerate(text.splitlines()[said.lineno - 1:said.end_lineno], said.lineno)
    return sorted(found)


def comments(name: str, lines: list[str]) -> list[tuple[int, str]]:
    """Number and text of each line's comment."""
    if Path(name).suffix == ".py":
        return python_comments("\n".join(lines))
    sign = "//" if Path(name).suffix in CPP | {".ci"} else "#"
    behind = ((number, TEXT.sub('""', line).partition(sign)[2]) for number, line in enumerate(lines, 1))
    return [(number, comment) for number, comment in behind if comment]


def prose(lines: list[str]) -> list[tuple[int, str]]:
    """Number and text of each line of a page, without what it quotes."""
    found, fenced = [], False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            found.append((number, QUOTED.sub("``", line)))
    return found


def word_problems(name: str, lines: list[str]) -> list[str]:
    if name.startswith(PROSE_IN):
        said = prose(lines)
    elif name.startswith(WORDS_IN) and Path(name).suffix != ".md":
        said = comments(name, lines)
    else:
        return []
    return [f'{name}:{number}: says "{match[1]}": name it with a noun: {comment.strip()[:100]}'
            for number, comment in said if (match := RIDDLE.search(comment))]


def conditions(lines: list[str]) -> list[int]:
    """Numbers of the lines with an #if that is not a guard and not one of the harmless questions."""
    found = []
    for number, line in enumerate(lines, 1):
        match = CONDITION.match(line)
        if not match or HARMLESS.search(match[2]):
            continue
        following = lines[number] if number < len(lines) else ""
        if match[1] == "ifndef" and re.match(rf"\s*#\s*define\s+{re.escape(match[2].split()[0])}\b", following):
            continue  # an include guard, or a default for a macro
        found.append(number)
    return found


def check(root: Path, names: list[str], hosts: list[str]) -> tuple[str, list[str]]:
    """One line of figures, and what is wrong."""
    problems: list[str] = []
    cpp_lines, found = 0, []
    for name in names:
        try:
            lines = (root / name).read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue  # a picture, a binary start
        problems += place_problems(name, lines, hosts)
        if is_data(name):
            continue
        problems += word_problems(name, lines)
        problem = opening_problem(root, name, lines)
        problems += [problem] if problem else []
        if len(lines) > LINES_MAX:
            problems.append(f"{name}: {len(lines)} lines: over {LINES_MAX} nobody reads it; it is two files")
        if Path(name).suffix in CPP and not name.startswith(EDGES):
            cpp_lines += len(lines)
            found += [f"{name}:{number}" for number in conditions(lines)]
    rate = 1000.0 * len(found) / max(cpp_lines, 1)
    if rate > CONDITIONS_PER_1000 and len(found) > 2:
        problems.append(f"{len(found)} #if in {cpp_lines} lines, {rate:.1f} in a thousand (at most {CONDITIONS_PER_1000}): "
                        f"ask at run time, choose by file list, or move it to one of {', '.join(EDGES)}: {' '.join(found)}")
    return f"{len(names)} files, {cpp_lines} lines of C++, {len(found)} #if outside the edges", problems


def main() -> int:
    root = Path(sys.argv[1]).resolve()
    names = files_of(root)
    figures, problems = check(root, names, host_names())
    print("\n".join(problems + [f"{figures}; {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
