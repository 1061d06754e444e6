#!/usr/bin/env python3
"""Rules about functions and types, held over the folders of IN. Usage: definitions.py ROOT; prints what breaks them and exits 1 if
any does.

  functions   at most LINES_MAX lines each, from the line that opens it to its closing brace
  homonyms    a type's name stands for at most NAMESAKES_MAX types, those of classes and sources included, but for NAMESAKES: a new
              type gets a name of its own

Both lean on the format that scripts/format gives: what a line opens ends with the next brace as far to the left.
"""
import re
import sys
from collections import defaultdict
from pathlib import Path

import tree

IN = ("base/", "machine/", "runtime/", "lang/", "tools/", "include/")
LINES_MAX = 60
NAMESAKES_MAX = 3
# How many types have the names that more have; a number here may only fall. Those of transports, which are siblings, mean the same
# (Address, Choice, State of a link, Operation).
NAMESAKES = {
    "Address": 7, "Answer": 7, "Array": 4, "Arrival": 4, "Block": 6, "Buffer": 4, "Calls": 4, "Choice": 5, "Copies": 4, "Counts": 5,
    "Entry": 6, "Event": 5, "File": 4, "Frame": 4, "Kind": 15, "Known": 4, "List": 5, "Member": 4, "Memory": 4, "Operation": 4,
    "Options": 5, "Order": 7, "Part": 4, "Piece": 4, "Place": 8, "Placement": 4, "Pool": 4, "Request": 6, "Ring": 4, "Run": 5, "Slot": 4,
    "Stage": 5, "State": 17, "Stream": 4, "Sum": 4, "Told": 4, "Transfer": 5, "Tree": 4, "Waiting": 10, "Writer": 4,
}

TYPE = re.compile(r"^\s*(?:template\s*<.*>\s*)?(?:class|struct|union|enum(?:\s+class)?)\s+(?:alignas\([\w:]+\)\s+)?(?:[A-Z_]+\s+)?"
                  r"(?:\w+::)*(\w+)\s*(?:final\s*)?(?::[^:;{}][^;{}]*)?\{")
# What opens a block that is none of a function.
OTHER = re.compile(r"^\s*(?:(?:if|else|for|while|do|switch|try|catch|case|default|return|namespace|class|struct|union|enum|extern"
                   r"|typedef|using|static_assert)\b|#|//|\}|\w+:$)")

# What a line ends with, or is, behind which a statement begins.
BEGINS_BEHIND = re.compile(r"[;{}:\\]$|^\s*(?://|#|template\b.*>$)|\*/$|;\s*//|[{}]\s*//")
LAMBDA_OR_LIST = re.compile(r"=\s*(?:\w+)?\{$|\](?:\s*\([^()]*(?:\([^()]*\)[^()]*)*\))?(?:\s*(?:mutable|noexcept|->\s*[\w:<>*& ]+))*\s*\{$|[(,]\s*\{$")


def functions(lines: list[str]) -> list[tuple[int, int, str]]:
    """First line, number of lines and opening text of each function that has a body of more than a line."""
    found = []
    for at, line in enumerate(lines):
        if not line.endswith("{") or line.lstrip().startswith(("*", "//")):
            continue
        first = at  # where the statement begins
        while first > 0 and lines[first - 1].strip() and not BEGINS_BEHIND.search(lines[first - 1]):
            first -= 1
        said = " ".join(part.strip() for part in lines[first:at + 1])
        if "(" not in said or OTHER.match(said) or LAMBDA_OR_LIST.search(said):
            continue
        indent = len(lines[first]) - len(lines[first].lstrip())
        for end in range(at + 1, len(lines)):
            if lines[end].startswith(" " * indent + "}"):
                found.append((first + 1, end - first + 1, said))
                break
    return found


def types(lines: list[str]) -> list[tuple[int, str]]:
    """Line and name of each type that is defined."""
    return [(number, match[1]) for number, line in enumerate(lines, 1) if (match := TYPE.match(line))]


def check(root: Path, names: list[str], namesakes: dict[str, int]) -> tuple[str, list[str]]:
    """One line of figures, and what is wrong."""
    problems: list[str] = []
    places = defaultdict(list)
    count = longest = 0
    for name in names:
        if not name.startswith(IN) or Path(name).suffix not in tree.CPP or tree.is_data(name):
            continue
        lines = (root / name).read_text(encoding="utf-8").splitlines()
        for first, length, text in functions(lines):
            count, longest = count + 1, max(longest, length)
            if length > LINES_MAX:
                problems.append(f"{name}:{first}: {length} lines, at most {LINES_MAX}: it is two functions: {text[:100]}")
        for number, type_name in types(lines):
            places[type_name].append(f"{name}:{number}")
    for type_name, where in sorted(places.items()):
        most = namesakes.get(type_name, NAMESAKES_MAX)
        if len(where) < namesakes.get(type_name, 0):
            problems.append(f"{len(where)} types are named {type_name}, and NAMESAKES says {most}: lower its number")
        if len(where) > most:
            problems.append(f"{len(where)} types are named {type_name}, at most {most}: give the new one a name that says which it is:"
                            f" {' '.join(where)}")
    return f"{count} functions of several lines, the longest of {longest}; {len(places)} names of types", problems


def main() -> int:
    root = Path(sys.argv[1]).resolve()
    figures, problems = check(root, tree.files_of(root), NAMESAKES)
    print("\n".join(problems + [f"{figures}; {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
