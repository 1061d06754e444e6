"""How the programs of a build folder were compiled: ./check, which looks at no figure, compiles those of bench/ without optimization."""
import os
import re
import sys


def look(build):
    """Says so where they are such as nothing should be measured with."""
    try:
        with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8", errors="replace") as file:
            quick = re.search(r"^PERIAPT_TEST_CXX:\w+=.+", file.read(), re.MULTILINE)
    except OSError:
        return
    if quick:
        print(f"{build} was configured by ./check: bench/ is not optimized there, and these figures say nothing. For such as do:\n"
              "    cmake --preset release && cmake --build --preset release", file=sys.stderr)
