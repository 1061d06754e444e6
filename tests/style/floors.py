#!/usr/bin/env python3
"""Holds the floors: a file includes only from its own folder and from floors below (docs/architecture.md). Inside a
folder, units (x.h with x.cpp) may include each other in a circle only if it is a small one.

Usage: floors.py ROOT. Prints each include that goes up or sideways and each circle that is too large, with what to do,
and exits 1 if there is one.
FLOORS below is the architecture as a table; a folder that is not in it may not hold C++ at all, so a new folder gets its
place here on the day it is made.
"""
import re
import sys
from pathlib import Path

# Folder -> folders that it may include besides itself and what those may include. From the bottom up.
FLOORS = {
    "base": [],
    # floor 1. Message memory and mailboxes of a host: what the runtime stands on.
    "machine/host": ["base"],
    # Transports know the contract and nothing of each other; layer/ is the one place that names them all.
    "machine/ucx-like": ["base"],
    "machine/shm": ["machine/host", "machine/ucx-like"],
    "machine/tcp": ["machine/ucx-like"],
    # verbs and ofi meet their peers over a link of the TCP transport, by the contract alone.
    "machine/verbs": ["machine/tcp"],
    "machine/ofi": ["machine/tcp"],
    "machine/gpu": ["machine/ucx-like"],
    "machine/sim": ["machine/ucx-like"],
    "machine/transport-template": ["machine/ucx-like"],
    "machine/bootstrap": ["base"],
    "machine/layer": ["machine/host", "machine/shm", "machine/tcp", "machine/verbs", "machine/ofi", "machine/gpu", "machine/sim", "machine/bootstrap"],
    # libucp's functions over the engine: a library of its own, that nothing of ours uses.
    "machine/c-face": ["machine/layer"],
    # NCCL's network over the engine: the same.
    "machine/nccl-net": ["machine/layer"],
    # floor 2. pup stands alone.
    "runtime/pup": ["base"],
    "runtime/containers": ["runtime/pup"],
    "runtime/message": ["machine/layer", "runtime/pup"],
    "runtime/scheduler": ["runtime/message", "runtime/containers"],
    # The API of Converse, for programs; a sibling of what Charm++ is made of.
    "runtime/converse": ["runtime/scheduler"],
    # floor 3. Charm++'s objects, from what is registered up to what programs call.
    "runtime/registry": ["runtime/scheduler"],
    "runtime/api": ["runtime/registry", "runtime/converse"],
    "runtime/collective": ["runtime/api"],
    "runtime/objects": ["runtime/collective"],
    "runtime/zero_copy": ["runtime/objects"],
    "runtime/array": ["runtime/zero_copy"],
    "runtime/sections": ["runtime/array"],
    # Where chares go that are made without a PE.
    "runtime/seeds": ["runtime/objects"],
    "runtime/entry": ["runtime/sections", "runtime/converse", "runtime/seeds"],
    "runtime/aggregation": ["runtime/entry"],
    "runtime/face": ["runtime/aggregation"],
    # The bodies of entries: generated code and include/ reach it.
    "runtime/sdag": ["runtime/face"],
    # floor 4. Siblings.
    "runtime/loadbalance": ["runtime/face"],
    "runtime/ccs": ["runtime/face"],
    "runtime/checkpoint": ["runtime/face"],
    "runtime/resize": ["runtime/ccs", "runtime/checkpoint"],
    "runtime/order": ["runtime/face"],
    "runtime/trace": ["runtime/face"],
    "runtime/libs": ["runtime/ccs"],
    # names the parts of a program, and main()
    "runtime/program": ["runtime/sdag", "runtime/loadbalance", "runtime/ccs", "runtime/resize", "runtime/order", "runtime/trace", "runtime/libs"],
    # floor 5
    "include": ["runtime/program"],
    # floor 6. The translator is a library that knows C++ text and no runtime.
    "lang/ci-translator": ["base"],
    "tools/png": [],
    "tools": ["include", "lang/ci-translator", "tools/png"],
    # floor 7
    "examples/pingpong": ["include"],
    "examples/gpu": ["include"],
    "examples/jacobi3d": ["examples/gpu"],
    "examples/nbody": ["examples/gpu", "tools/png"],
    "bench": ["tools", "examples/jacobi3d"],
    "tests": ["tools", "bench", "machine/transport-template", "machine/nccl-net", "examples/pingpong", "examples/nbody"],
}

# More units than these in one circle are a knot: none of them can be read, tested or changed alone.
CIRCLE_MAX = 6

SOURCES = {".h", ".hpp", ".cpp", ".cc", ".C", ".c", ".cu"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]')
# Written by charmc when the program is built, so not found in the tree.
GENERATED = re.compile(r"\.(decl|def)\.h$")


def below(folder: str) -> set[str]:
    """The folder itself and everything it may include."""
    found = {folder}
    for lower in FLOORS[folder]:
        found |= below(lower)
    return found


def folder_of(path: str) -> str | None:
    """The longest folder of the table that the path lies in."""
    fitting = [folder for folder in FLOORS if path.startswith(folder + "/")]
    return max(fitting, key=len, default=None)


def resolve(root: Path, file: Path, name: str, quoted: bool) -> str | None:
    """Where in the tree an include leads; None when it leads out of the tree (the system's headers)."""
    places = ([file.parent] if quoted else []) + [root, root / "include"]
    for place in places:
        target = (place / name).resolve()
        if target.is_file() and target.is_relative_to(root):
            return target.relative_to(root).as_posix()
    return None


def problems_in(root: Path, file: Path) -> list[str]:
    here = file.relative_to(root).as_posix()
    own = folder_of(here)
    if own is None:
        return [f"{here}: its folder has no floor: give it a line in FLOORS in tests/style/floors.py"]
    allowed = below(own)
    problems = []
    for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quoted, name = match[1] == '"', match[2]
        target = resolve(root, file, name, quoted)
        if target is None:
            if quoted and "/" in name and name.split("/")[0] in {folder.split("/")[0] for folder in FLOORS}:
                problems.append(f'{here}:{number}: "{name}" is not in the tree')
            elif quoted and own.split("/")[0] in ("base", "machine", "runtime") and not GENERATED.search(name):
                problems.append(f'{here}:{number}: "{name}" is not found: write includes from the root of the tree')
            continue
        theirs = folder_of(target)
        if theirs not in allowed:
            problems.append(f"{here}:{number}: {own} may not include {target}: {theirs} is not below it. "
                            f"Below it are: {', '.join(sorted(allowed - {own})) or 'nothing'}")
    return problems


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The strongly connected parts of a graph that have more than one node (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            part = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(part) > 1:
                found.append(sorted(part))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def knots(root: Path, files: list[Path]) -> list[str]:
    """The circles of includes inside a folder that have too many units."""
    graphs: dict[str, dict[str, set[str]]] = {}
    for file in files:
        folder = file.parent.relative_to(root).as_posix()
        units = graphs.setdefault(folder, {}).setdefault(file.stem, set())
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            match = INCLUDE.match(line)
            target = match and resolve(root, file, match[2], match[1] == '"')
            if target and Path(target).parent.as_posix() == folder and Path(target).stem != file.stem:
                units.add(Path(target).stem)
    return [f"{folder}: {len(circle)} units include each other in a circle, of at most {CIRCLE_MAX}: {', '.join(circle)}: "
            "let one of them know less, or part the folder"
            for folder, graph in sorted(graphs.items()) for circle in circles(graph) if len(circle) > CIRCLE_MAX]


def check(root: Path) -> tuple[int, list[str]]:
    """How many files were read, and what is wrong with them."""
    tops = sorted({folder.split("/")[0] for folder in FLOORS})
    files = [file for top in tops for file in sorted((root / top).rglob("*"))
             if file.suffix in SOURCES and not {"golden", "data"} & set(file.relative_to(root).parts)]
    return len(files), [problem for file in files for problem in problems_in(root, file)] + knots(root, files)


def main() -> int:
    count, problems = check(Path(sys.argv[1]).resolve())
    print("\n".join(problems + [f"{count} files, {len(problems)} includes or circles that break the floors"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
