#!/usr/bin/env python3
"""Which headers one file can show to compile alone, so that few files show it of all.

Usage: header_chains.py ROOT [--first FIRST]... [--begun-in SOURCE]... HEADER...
Prints a line for each file: the headers that it is to include, in that order, separated by blanks. Each header includes the one before it, directly or by others, so that having it there first adds nothing
that the header would not have without it: what it leans on is its own includes', or theirs, of which another line shows the
same. For each FIRST the lines are as few as can be (a least cover of the headers by chains, by matching). A line whose headers include a FIRST
begins with it, which can be compiled once for all of these: with the one that has most in it, where they include several. A SOURCE
is compiled anyway, with no header of the tree before it: what it begins with, what that begins with, and so on is shown by it, and in
no line. Nor is a header that includes one of the others and has nothing else.
"""
import argparse
import re
import sys
from pathlib import Path

# What stands before a header and may lend it something: a header that is not C++'s own, a macro, a condition.
LENDS = re.compile(r'^\s*#\s*(if|define|include\s*[<"][^">]*[./])', re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.MULTILINE)


def in_tree(root: Path, includer: Path, name: str) -> Path | None:
    return next(((folder / name).resolve() for folder in (includer.parent, root, root / "include") if (folder / name).is_file()), None)


def includes_of(root: Path, header: Path) -> list[Path]:
    """Those that lie in the tree."""
    names = INCLUDE.findall(header.read_text(encoding="utf-8", errors="replace"))
    return [found for found in (in_tree(root, header, name) for name in names) if found]


def begun_in(root: Path, source: Path) -> list[Path]:
    """The header of the tree that the source begins with, the one that this begins with, and so on."""
    text = source.read_text(encoding="utf-8", errors="replace")
    for include in INCLUDE.finditer(text):
        found = in_tree(root, source, include[1])
        if found:
            leans = LENDS.search(text[:include.start()])
            return [] if leans else [found, *begun_in(root, found)]
    return []


def other_name_of(root: Path, header: Path) -> Path | None:
    """The header that this one includes and has nothing beside."""
    lines = [line for line in header.read_text(encoding="utf-8", errors="replace").splitlines()
             if line.strip() and not re.match(r"//|#pragma once", line)]
    include = INCLUDE.match(lines[0]) if len(lines) == 1 else None
    return in_tree(root, header, include[1]) if include else None


class Tree:
    def __init__(self, root: Path):
        self.root = root
        self.reached: dict[Path, set[Path]] = {}

    def reaches(self, header: Path) -> set[Path]:
        """All that it includes, directly or not."""
        if header not in self.reached:
            self.reached[header] = set()  # a circle ends here
            for other in includes_of(self.root, header):
                self.reached[header] |= {other} | self.reaches(other)
        return self.reached[header]


def chains(tree: Tree, headers: list[Path]) -> list[list[Path]]:
    behind = {one: [other for other in headers if one in tree.reaches(other)] for one in headers}
    before: dict[Path, Path] = {}  # the one before it in its chain

    def place(one: Path, seen: set[Path]) -> bool:
        for other in behind[one]:
            if other not in seen:
                seen.add(other)
                if other not in before or place(before[other], seen):
                    before[other] = one
                    return True
        return False

    for one in headers:
        place(one, set())
    after = {one: other for other, one in before.items()}
    lines = []
    for first in headers:
        if first in before:
            continue
        lines.append([first])
        while lines[-1][-1] in after:
            lines[-1].append(after[lines[-1][-1]])
    return lines


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=lambda name: Path(name).resolve())
    parser.add_argument("--first", type=lambda name: Path(name).resolve(), action="append", default=[])
    parser.add_argument("--begun-in", type=lambda name: Path(name).resolve(), action="append", default=[])
    parser.add_argument("headers", nargs="+", type=lambda name: Path(name).resolve())
    options = parser.parse_args()
    sys.setrecursionlimit(10000)
    tree = Tree(options.root)
    shown = {header for source in options.begun_in for header in begun_in(options.root, source)}
    shown |= {header for header in options.headers if other_name_of(options.root, header) in options.headers}

    def first_of(header: Path) -> Path | None:
        there = [first for first in options.first if first == header or first in tree.reaches(header)]
        return max(there, key=lambda first: len(tree.reaches(first)), default=None)

    behind: dict[Path | None, list[Path]] = {}  # what does not include any is shown without it
    for header in options.headers:
        if header not in shown:
            behind.setdefault(first_of(header), []).append(header)
    for first, headers in behind.items():
        for line in chains(tree, headers):
            print(" ".join(map(str, dict.fromkeys([first, *line] if first else line))))


if __name__ == "__main__":
    main()
