#!/bin/bash
# Every header of include/ compiles alone and without a warning with clang++ as C++17; those that say they are plain C
# compile as C. (g++, and C++20, are with the style tests.) Usage: headers.sh SOURCE_DIR
set -u
cd "$1" || exit 1
warnings="-Wall -Wextra -Wno-unused-parameter -Werror"
check() {  # header, compiler, standard, language
  if ! output=$(printf '#include "%s"\n' "$1" | $2 -x "$4" -std="$3" -fsyntax-only $warnings -I. -Iinclude - 2>&1); then
    printf '%s as %s with %s:\n%s\n' "$1" "$3" "$2" "$output"
    return 255  # xargs stops
  fi
}
export -f check
export warnings
command -v clang++ >/dev/null || { echo "skipped: there is no clang++"; exit 77; }
list() {
  for header in include/*.h; do
    echo "${header#include/} clang++ c++17 c++"
    if grep -q 'Plain C\.' "$header"; then echo "${header#include/} clang c11 c"; fi
  done
}
list | xargs -P "$(nproc)" -L 1 bash -c 'check "$@"' check
