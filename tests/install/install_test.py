#!/usr/bin/env python3
"""One step of the install test: install_test.py WAY --source S --build B --work W (see CMakeLists.txt beside this).

prefix installs into W, moves it and searches it for paths of the build. Every other way builds W/<way>/hello, mostly with
the moved prefix, runs it on two PEs and in two processes, and checks what it prints.
"""
import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

HELLO = Path(__file__).resolve().parent / "hello"
ELEMENTS = 8
SKIPPED = 77

# Nothing of the tree may help: what the environment of the build says is taken away.
CLEAN = {name: value for name, value in os.environ.items()
         if not name.startswith(("CHARM", "PERIAPT", "CMAKE_", "PKG_CONFIG", "CPATH", "LIBRARY_PATH"))}


def run(command: list, cwd: Path, environment: dict | None = None) -> str:
    words = [str(word) for word in command]
    print(f"$ (cd {cwd} && {' '.join(words)})", flush=True)
    done = subprocess.run(words, cwd=cwd, env=CLEAN | (environment or {}), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    print(done.stdout, flush=True)
    if done.returncode != 0:
        sys.exit(f"failed: {words[0]} ended with status {done.returncode}")
    return done.stdout


def check_output(output: str, pes: int) -> None:
    for index in range(ELEMENTS):
        if output.count(f"hello from {index}\n") != 1:
            sys.exit(f"failed: 'hello from {index}' is printed {output.count(f'hello from {index}')} times, not once")
    wanted = f"sum {sum(range(ELEMENTS))} on {pes} PEs"
    if wanted not in output:
        sys.exit(f"failed: '{wanted}' is not printed")


def run_hello(folder: Path, prefix: Path) -> None:
    check_output(run([folder / "hello", "+p2", ELEMENTS], folder), 2)
    check_output(run([folder / "hello", "+p4", "+ppn", 2, ELEMENTS], folder), 4)
    check_output(run([prefix / "bin" / "charmrun", "+p2", folder / "hello", ELEMENTS], folder), 2)


def install_and_move(options) -> None:
    shutil.rmtree(options.work, ignore_errors=True)
    options.work.mkdir(parents=True)
    first = options.work / "first"
    run(["cmake", "--install", options.build, "--prefix", first], options.work)
    first.rename(prefix_of(options))
    traces = [f"{file}: {place}" for file in sorted(prefix_of(options).rglob("*")) if file.is_file()
              for place in (options.source, first) if str(place).encode() in file.read_bytes()]
    links = [f"{file} -> {file.readlink()}" for file in prefix_of(options).rglob("*")
             if file.is_symlink() and (file.readlink().is_absolute() or ".." in file.readlink().parts)]
    if traces or links:
        sys.exit("failed: the prefix names places that another machine does not have:\n" + "\n".join(traces + links))
    for part in ("lib/libperiapt.a", "lib/libccs-client.a", "include/ccs-client.C", "include/periapt/runtime/ccs/client.c",
                 "include/periapt/runtime/ccs/sockets.c", "lib/cmake/Periapt/PeriaptConfig.cmake",
                 "lib/pkgconfig/periapt.pc", "bin/charmxi",
                 "include/conv-mach-opt.mak", "include/conv-mach-opt.sh", "include/conv-config.sh", "tmp/conv-config.sh"):
        if not (prefix_of(options) / part).exists():
            sys.exit(f"failed: the prefix has no {part}")


def prefix_of(options) -> Path:
    return options.work / "moved"


def by_hand(folder: Path, prefix: Path) -> None:
    """As in the README."""
    shutil.copy(HELLO / "hello.ci", folder)
    shutil.copy(HELLO / "hello.cpp", folder)
    charmc = prefix / "bin" / "charmc"
    run([charmc, "hello.ci"], folder)
    run([charmc, "-o", "hello", "hello.cpp"], folder)
    # A compiler that charmc does not call, as nvcc in Makefiles of Charm++ programs, is told of one folder.
    run(["c++", "-std=c++17", "-fsyntax-only", f"-I{prefix / 'include'}", "-I.", "hello.cpp"], folder)


def makefile(folder: Path, prefix: Path) -> None:
    if not shutil.which("make"):
        skip("make is not installed")
    for name in ("hello.ci", "hello.cpp"):
        shutil.copy(HELLO / name, folder)
    shutil.copy(HELLO / "Makefile.charm", folder / "Makefile")
    output = run(["make", "test", f"CHARMTOP={prefix}"], folder)
    if f"sum {sum(range(ELEMENTS))} on 4 PEs" not in output:
        sys.exit("failed: make test did not run hello on 4 PEs in two processes")


def configure(folder: Path, prefix: Path) -> None:
    """As the configure scripts of Charm++ programs do: a version to compare, then the compilers of tmp/conv-config.sh."""
    version = run([prefix / "bin" / "charmc", "-V"], folder).split()
    if version[:2] != ["Charm++", "Version"] or int(version[2]) < 60800:
        sys.exit("failed: the third word of charmc -V is no version that a program of today accepts")
    (folder / "plain.cpp").write_text("int main() { return 0; }\n", encoding="utf-8")
    script = """CHARM_PATH=$1 CHARMINC=$1/include
. "$CHARM_PATH/tmp/conv-config.sh"
$CMK_SEQ_CXX -c plain.cpp && $CMK_AR libplain.a plain.o && $CMK_RANLIB libplain.a && $CMK_SEQ_LDXX plain.o -o plain
echo "SMP $CMK_SMP"
"""
    if "SMP 1" not in run(["sh", "-e", "-c", script, "configure", prefix], folder):
        sys.exit("failed: conv-config.sh does not say CMK_SMP")
    run([folder / "plain"], folder)
    by_preprocessor(folder, prefix)


def by_preprocessor(folder: Path, prefix: Path) -> None:
    """As the Makefiles that run the preprocessor and charmxi themselves."""
    for name in ("hello.ci", "hello.cpp"):
        shutil.copy(HELLO / name, folder)
    run([os.environ.get("CXX", "c++"), "-E", "-x", "c++", "hello.ci", "-o", "hello.i"], folder)
    run([prefix / "bin" / "charmxi", "-orig-file", "hello.ci", "hello.i"], folder)
    run([prefix / "bin" / "charmc", "-o", "hello", "hello.cpp"], folder)


def cmake(folder: Path, prefix: Path) -> None:
    run(["cmake", "-G", "Ninja", "-S", HELLO / "cmake", "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}"], folder)
    run(["cmake", "--build", folder], folder)
    again = run(["cmake", "--build", folder], folder)
    if "no work to do" not in again:
        sys.exit("failed: a second build has work to do, so some output or depfile of periapt_add_ci is wrong")


def cmake_compiler(folder: Path, prefix: Path) -> None:
    run(["cmake", "-G", "Ninja", "-S", HELLO / "cmake_compiler", "-B", folder,
         f"-DCMAKE_CXX_COMPILER={prefix / 'bin' / 'charmc'}"], folder)
    run(["cmake", "--build", folder], folder)


def pkg_config(folder: Path, prefix: Path) -> None:
    """charmc translates; an ordinary compiler does the rest with what periapt.pc says."""
    for name in ("hello.ci", "hello.cpp"):
        shutil.copy(HELLO / name, folder)
    path = {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    flags = run(["pkg-config", "--cflags", "--libs", "periapt"], folder, path).split()
    run([prefix / "bin" / "charmc", "hello.ci"], folder)
    run([os.environ.get("CXX", "c++"), "-std=c++17", "-I.", "hello.cpp", "-o", "hello", *flags], folder)


def readme(folder: Path, prefix: Path) -> None:
    """The first program of README.md, as it stands there: its two files, then its commands."""
    text = (HELLO.parents[2] / "README.md").read_text(encoding="utf-8")
    section = text.split("## A first program", 1)[1].split("\n## ", 1)[0]
    ci, cpp, commands = (block.split("\n", 1)[1] for block in section.split("```")[1::2])
    (folder / "hello.ci").write_text(ci, encoding="utf-8")
    (folder / "hello.cpp").write_text(cpp, encoding="utf-8")
    path = {"PATH": f"{prefix / 'bin'}:{CLEAN['PATH']}"}
    typed = "\n".join(line for line in commands.splitlines() if not line.startswith("export PATH"))
    output = run(["bash", "-e", "-c", typed], folder, path)
    runs = typed.count("./hello")
    for said in ("hello from 7 on PE", "sum 28\n"):
        if output.count(said) != runs:
            sys.exit(f"failed: {runs} runs print '{said.strip()}' {output.count(said)} times")


def skip(why: str) -> None:
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def main() -> None:
    parser = argparse.ArgumentParser()
    ways = {"by_hand": by_hand, "build_tree": by_hand, "makefile": makefile, "configure": configure,
            "cmake": cmake, "cmake_compiler": cmake_compiler, "pkg_config": pkg_config, "readme": readme}
    parser.add_argument("way", choices=["prefix", *ways])
    for place in ("--source", "--build", "--work"):
        parser.add_argument(place, type=Path, required=True)
    options = parser.parse_args()
    if options.way == "prefix":
        install_and_move(options)
        return
    prefix = options.build if options.way == "build_tree" else prefix_of(options)
    for part in ("bin/charmc", "bin/charmrun", "include/charm++.h"):
        if not (prefix / part).exists():
            skip(f"{part} is not built yet")
    folder = options.work / options.way
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    ways[options.way](folder, prefix)
    if options.way != "readme":
        run_hello(folder, prefix)


if __name__ == "__main__":
    main()
