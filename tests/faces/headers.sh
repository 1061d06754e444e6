#!/bin/bash
# Every header of include/ compiles alone, without a warning, as C++17 and C++20 with each compiler there is; those that
# say they are plain C compile as C. Usage: headers.sh SOURCE_DIR
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
list() {
  for header in include/*.h; do
    name=${header#include/}
    for compiler in g++ clang++; do
      command -v "$compiler" >/dev/null || continue
      for standard in c++17 c++20; do echo "$name $compiler $standard c++"; done
    done
    if grep -q 'Plain C\.' "$header"; then echo "$name gcc c11 c"; fi
  done
}
list | xargs -P "$(nproc)" -L 1 bash -c 'check "$@"' check
