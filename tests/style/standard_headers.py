#!/usr/bin/env python3
"""Holds that a file includes the standard headers whose names it uses, by itself or by headers of ours: what a compiler's
own library brings in by chance differs from one version to the next.

Usage: standard_headers.py ROOT. Prints each header that is missing, and exits 1 if there is one.
HEADERS has the names that have been missed on some compiler, those like them, and all of what is compiled once and there
before every source (cmake/PeriaptBuild.cmake); it need not be complete.
"""
import os
import re
import sys
from pathlib import Path

HEADERS = {
    "algorithm": r"(all_of|any_of|none_of|find|find_if|count_if|sort|stable_sort|max_element|min_element|fill|fill_n|copy|copy_n|"
                 r"reverse|unique|lower_bound|upper_bound|equal|transform|rotate|shuffle|clamp|min|max|for_each|remove_if)\s*[(<]",
    "array": r"array<",
    "atomic": r"atomic(<|_)",
    "chrono": r"chrono::",
    "cmath": r"(sqrt|pow|fabs|floor|ceil|isnan|isfinite|log2)\(",
    "condition_variable": r"condition_variable\b",
    "cstdint": r"u?int(8|16|32|64|ptr)_t\b",
    "cstring": r"(mem(cpy|move|set|cmp|chr)|str(len|n?cmp|r?chr|str|error))\(",
    "deque": r"deque<",
    "filesystem": r"filesystem::",
    "fstream": r"[io]fstream\b",
    "functional": r"(function|greater|hash)<",
    "iomanip": r"(setw|setprecision)\(",
    "limits": r"numeric_limits<",
    "map": r"(multi)?map<",
    "memory": r"((unique|shared|weak)_ptr<|make_(unique|shared)<)",
    "mutex": r"(mutex|lock_guard|unique_lock|scoped_lock)\b",
    "numeric": r"(accumulate|iota|partial_sum)\(",
    "optional": r"(optional<|nullopt\b)",
    "random": r"(mt19937|uniform_\w+_distribution)",
    "set": r"(multi)?set<",
    "span": r"span<",
    "sstream": r"[io]?stringstream\b",
    "string": r"(string\b|to_string\()",
    "thread": r"(thread\b|this_thread::)",
    "tuple": r"(tuple<|tie\()",
    "unordered_map": r"unordered_map<",
    "variant": r"(variant<|get_if<|holds_alternative<)",
    "vector": r"vector<",
}
NAMES = {header: re.compile(r"\bstd::" + names) for header, names in HEADERS.items()}
NAMES["fmt/format.h"] = re.compile(r"\bfmt::(format|print|join|memory_buffer)")
INCLUDE = re.compile(r'^ *#include [<"]([^>"]+)[>"]', re.M)
FOLDERS = ("base", "machine", "runtime", "lang", "tools", "examples", "bench", "tests")


class Tree:
    def __init__(self, root):
        self.root = Path(root).resolve()
        self.known = {}

    def read(self, path):
        """Its text without comments, and what it includes."""
        text = path.read_text(errors="replace")
        return re.sub(r"//.*", "", text), set(INCLUDE.findall(text))

    def ours(self, name, beside):
        """The file of an include, or None: it is not one of this tree."""
        for folder in (self.root, self.root / "include", self.root / "runtime/libs", beside):
            if (folder / name).is_file():
                return (folder / name).resolve()
        found = [path for path in (self.root / "runtime/libs").glob(f"*/{name}")]
        return found[0].resolve() if found else None

    def all_includes(self, path):
        """What a file includes, headers of ours followed; None in it: one that is generated, and may include anything."""
        if path in self.known:
            return self.known[path]
        self.known[path] = set()  # a circle ends here
        includes = self.read(path)[1]
        found = set(includes)
        for name in includes:
            file = self.ours(name, path.parent)
            if file:
                found |= self.all_includes(file)
            elif name.endswith((".decl.h", ".def.h")):
                found.add(None)
        self.known[path] = found
        return found

    def missing(self, path):
        text, _ = self.read(path)
        found = self.all_includes(path)
        if None in found:
            found = found | self.all_includes(self.root / "include/charm++.h")
        return [header for header, names in NAMES.items() if header not in found and names.search(text)]


def check(root):
    """A sentence for each header that is missing."""
    tree = Tree(root)
    for folder in FOLDERS:
        for place, folders, names in os.walk(tree.root / folder):
            folders.sort()
            for name in sorted(names):
                if name.endswith((".h", ".cpp")):
                    path = Path(place) / name
                    yield from (f"{path.relative_to(tree.root)} uses names of <{header}> and does not include it"
                                for header in tree.missing(path))


def main():
    problems = list(check(sys.argv[1]))
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
