#!/bin/bash
# The headers of include/ compile without a warning with clang++ as C++17, all in one file; those that say they are plain C
# compile as C, each alone. (That each compiles alone as C++ is with the style tests.) Usage: headers.sh SOURCE_DIR
set -u
cd "$1" || exit 1
command -v clang++ >/dev/null || { echo "skipped: there is no clang++"; exit 77; }
flags=(-fsyntax-only -Wall -Wextra -Wno-unused-parameter -Werror -I. -Iinclude)
status=0
clang++ -x c++ -std=c++17 "${flags[@]}" - < <(cd include && printf '#include "%s"\n' *.h) || status=1
for header in $(cd include && grep -l 'Plain C\.' -- *.h); do
  clang -x c -std=c11 "${flags[@]}" - <<<"#include \"$header\"" || status=1
done
exit $status
