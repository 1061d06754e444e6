#!/usr/bin/env python3
"""The body of ./check: configure, build and ctest for a few presets, and one summary over all of them.

A run is a preset and the labels it takes from ctest (docs/testing.md says what the labels mean). The release run builds
everything but the programs of tests that the address sanitizer's run has for itself; a sanitizer run builds only the programs
that its tests name, beside the tests of the run before. Cases are counted as GoogleTest counts them where a test is a GoogleTest program, otherwise a ctest test is one case. Logs are left
in build/check/.
"""
import argparse
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "check"

# A test may take as long as it needs; one that hangs must not keep the others from being run.
HANG_S = 900

# Tests labelled so mostly wait (for a silence to be long enough, for a launcher): they are run beside those that compute, so
# many at once, however many cores there are.
WAITS = "waits"
WAITING_AT_ONCE = 3

# Tests labelled so are compiled and run once, under the address sanitizer: docs/testing.md says which. Without that run
# (--quick) they are in the release run like all others.
ASAN_ALONE = "asan_alone"

# One more than there are cores: what they start has to begin and to end, and is waited for.
COMPUTING_AT_ONCE = (os.cpu_count() or 2) + 1


@dataclass
class Run:
    """One preset and the tests taken from it, before; counts and sentences, after."""
    preset: str
    why: str
    label: str = ""  # ctest -L, empty: all
    without: str = ""  # ctest -LE
    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)  # name, reason
    unsteady: list[str] = field(default_factory=list)  # failed, and passed alone
    printed: dict[str, list[str]] = field(default_factory=dict)  # by failed test: the part of its output that says why
    beside: bool = False  # its build gets what the tests of the run before leave of the processors
    build_s: float = 0.0
    test_s: float = 0.0
    test_processor_s: float = 0.0  # of all processes of its tests
    note: str = ""

    @property
    def log(self) -> Path:
        return LOGS / f"{self.preset}.log"

    @property
    def build(self) -> Path:
        return ROOT / "build" / self.preset


def execute(command: list[str], log: Path, options) -> tuple[int, float]:
    """Runs a command with its output in a log, and on the terminal too with -v; its status, and the processor seconds of
    what it started."""
    with open(log, "a", encoding="utf-8") as out:
        out.write("$ " + " ".join(command) + "\n")
        out.flush()
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE if options.verbose else out,
                                   stderr=subprocess.STDOUT, text=True, errors="replace")
        for line in process.stdout or ():
            sys.stdout.write(line)
            out.write(line)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return process.returncode, used.ru_utime + used.ru_stime


def show_tail(log: Path, lines: int = 60) -> None:
    text = log.read_text(encoding="utf-8", errors="replace").splitlines()
    errors = [i for i, line in enumerate(text) if re.search(r"\berror\b|^FAILED:|CMake Error", line)]
    start = max(0, errors[0] - 2) if errors else max(0, len(text) - lines)
    print("\n".join("    " + line for line in text[start:start + lines]))
    print(f"    (all of it: {log.relative_to(ROOT)})")


@functools.cache
def clang() -> str:
    """Clang where it makes a program with the run-time libraries of all sanitizers, unless CXX says otherwise; otherwise nothing."""
    found = shutil.which("clang++")
    if os.environ.get("CXX") or not found or not shutil.which("clang"):
        return ""
    for sanitizers in ("address,undefined", "thread"):
        made = subprocess.run([found, "-std=c++20", f"-fsanitize={sanitizers}", "-x", "c++", "-", "-o", os.devnull],
                              input="#include <concepts>\nint main() {}\n", capture_output=True, text=True, check=False)
        if made.returncode != 0:
            return ""
    return found


def compilers_for(preset: str) -> list[str]:
    """At -O0 Clang compiles in 40 to 75 % of GCC's time what a sanitizer looks at, and most tests in 40 % of what GCC takes at -Og:
    it is taken for both where it is there. What users get is compiled by the compiler that they would take."""
    if preset == "release":
        # Of code for several GPUs one says what there is to say: a later one gets it translated.
        return [f"-DPERIAPT_TEST_CXX={clang()}", "-DPERIAPT_CUDA_ARCHITECTURES=80", "-DPERIAPT_HIP_ARCHITECTURES=gfx90a"]
    # The numbers of lines cost a tenth of the time to compile. What a sanitizer finds is named by function without them.
    taken = ["-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O0"]
    return [*taken, "-DCMAKE_C_COMPILER=clang", "-DCMAKE_CXX_COMPILER=clang++"] if clang() else taken


def configure(run: Run, options) -> bool:
    command = ["cmake", "--preset", run.preset, "-DPERIAPT_BUILD_TESTS=ON", *compilers_for(run.preset)]
    if run.without == ASAN_ALONE:
        command.append(f"-DPERIAPT_LEAVE_OUT={ASAN_ALONE}")
    # The release run's translator serves the sanitizers' programs too, and its kernels: building them again twice costs minutes.
    release = ROOT / "build" / "release"
    charmc = release / "bin" / "charmc"
    if run.preset != "release" and charmc.exists():
        command += [f"-DPERIAPT_CHARMC={charmc}", f"-DPERIAPT_CHARMC_TARGET={charmc}",
                    f"-DPERIAPT_KERNEL_IMAGES={release / 'machine' / 'gpu'}"]
    if shutil.which("ccache"):
        command += ["-DCMAKE_C_COMPILER_LAUNCHER=ccache", "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"]
    return execute(command, run.log, options)[0] == 0


def selection(run: Run, options, waits: bool | None = None) -> list[str]:
    """Which tests of the run ctest takes: all, or only those that wait, or only the others."""
    arguments = []
    for label in (run.label, options.label, WAITS if waits else ""):
        arguments += ["-L", label] if label else []
    without = [label for label in (run.without, WAITS if waits is False else "") if label]
    return arguments + (["-LE", f"^({'|'.join(without)})$"] if without else [])


def tests_of(run: Run, options) -> list[dict]:
    """The tests that ctest would run, as ctest describes them."""
    listing = subprocess.run(["ctest", "--test-dir", str(run.build), "--show-only=json-v1", *selection(run, options)],
                             cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(listing.stdout)["tests"]


ADD_TEST = re.compile(r"^add_test\((?:\[(=*)\[(?P<quoted>.+?)\]\1\]|(?P<plain>\S+)) (?P<command>.*)\)$", re.MULTILINE)


def targets_for(run: Run, tests: list[dict]) -> list[str]:
    """What ninja has to build so that these tests can run: every path in their commands that ninja can make. It may stand
    within a word, as in sh -c 'program; test $? -eq 7'. The commands are read from CMake's files: ctest does not show
    those of programs that are not there yet."""
    known = subprocess.run(["ninja", "-C", str(run.build), "-t", "targets", "all"], capture_output=True, text=True,
                           check=True).stdout
    makes = {line.split(":")[0] for line in known.splitlines()}
    names = {test["name"] for test in tests}
    path = re.compile(re.escape(str(run.build) + os.sep) + r"""([^\s"';\\]+)""")
    inside: set[str] = set()
    for file in run.build.rglob("CTestTestfile.cmake"):
        for test in ADD_TEST.finditer(file.read_text(encoding="utf-8")):
            if (test["quoted"] or test["plain"]) in names:
                inside.update(path.findall(test["command"]))
    return sorted(inside & makes)


def build(run: Run, targets: list[str], options) -> bool:
    jobs = ["-j", str(options.jobs)] if options.jobs else []
    # Where nothing else runs, what is nice is as fast.
    before = ["nice", "-n", "19"] if run.beside else []
    return execute([*before, "ninja", "-C", str(run.build), "-k", "0", *jobs, *targets], run.log, options)[0] == 0


CASE = re.compile(r"^\[ *(OK|SKIPPED|FAILED) *\] (\S+?)(?:, where .*)? \(\d+ ms\)$")
RUNNING = re.compile(r"^\[ RUN +\] ")


def skip_reason(output: list[str]) -> str:
    """What a test said before it left: the first line about skipping or a warning, otherwise its last line."""
    said = [line.strip() for line in output if line.strip()]
    about = [line for line in said if re.match(r"skip|periapt: warning: ", line, re.IGNORECASE)]
    return re.sub(r"^skip\w*[:,]? *", "", (about or said[-1:])[0], flags=re.IGNORECASE) if said else "it did not say why"


def count_cases(run: Run, name: str, output: list[str], failed: bool) -> None:
    """Counts the cases of a GoogleTest program from what it printed."""
    since_run: list[str] = []
    failures = 0
    for line in output:
        case = CASE.match(line)
        if RUNNING.match(line):
            since_run = []
        elif not case:
            since_run.append(line)
        elif case[1] == "OK":
            run.passed += 1
        elif case[1] == "FAILED":
            failures += 1
            run.failed.append(f"{name}: {case[2]}")
        else:
            reason = max((i + 1 for i, text in enumerate(since_run) if re.search(r":\d+: Skipped$", text)), default=0)
            told = [text for text in since_run[reason:] if text.strip()]
            run.skipped.append((f"{name}: {case[2]}", " ".join(told) or "it did not say why"))
    if failed and not failures:
        run.failed.append(f"{name} (ended outside its cases: a crash, a sanitizer's finding, or too slow)")


FAILURE = re.compile(r": Failure$|^==\d+==ERROR|^WARNING: .*Sanitizer|^(?:\s*[\d.]+ s\s+)?FAILED ")


def part_of_failure(output: list[str], limit: int = 60) -> list[str]:
    """What a failed test printed: from its first failed case on where that is known, its end where it is not."""
    start = next((i for i, line in enumerate(output) if FAILURE.search(line)), max(0, len(output) - limit))
    return output[start:start + limit]


# Tests that start programs by launchers that are not ours, on hosts made of name spaces or in an emulated machine, beside
# other tests: what fails there may be the launcher's, or that the machine does not keep pace. One that fails is run once more, alone; what the first run said is shown either way, and one
# that passes then is listed, so that it is looked into.
FOREIGN = re.compile(r"^(launch|net)\.|^rdma\.guest$")


def passes_alone(run: Run, name: str, options) -> bool:
    return execute(["ctest", "--test-dir", str(run.build), "--timeout", str(HANG_S), "--output-on-failure",
                    "--no-tests=error", "-R", f"^{re.escape(name)}$"], run.log, options)[0] == 0


def show_failure(run: Run, name: str) -> None:
    print(f"\n   [{run.preset}] {name} failed and printed:")
    print("\n".join("    " + line for line in run.printed[name]), flush=True)


def read_results(run: Run, junit: Path, options) -> None:
    for case in ElementTree.parse(junit).getroot().iter("testcase"):
        name = case.get("name")
        output = (case.findtext("system-out") or "").splitlines()
        failed = case.find("failure") is not None or case.get("status") == "fail"
        if failed:
            run.printed[name] = part_of_failure(output)
            show_failure(run, name)
        if failed and FOREIGN.match(name) and passes_alone(run, name, options):
            run.unsteady.append(name)
            run.passed += 1
            continue
        if case.get("status") in ("notrun", "disabled") or case.find("skipped") is not None:
            said = case.find("skipped").get("message", "") if case.find("skipped") is not None else ""
            if "SKIP_" in said:
                run.skipped.append((name, skip_reason(output)))
            else:  # the program is not there: its build failed
                run.failed.append(f"{name} ({said or 'could not be started'})")
        elif any(RUNNING.match(line) for line in output):
            count_cases(run, name, output, failed)
        elif failed:
            run.failed.append(name)
        else:
            run.passed += 1


def without_random_addresses() -> list[str]:
    """GCC 12's thread sanitizer ends at once where the kernel spreads addresses wider than it knows. Where it may, this
    switches that off for what it starts."""
    prefix = ["setarch", "-R"]
    works = shutil.which("setarch") and subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0
    return prefix if works else []


def run_lane(run: Run, waits: bool, jobs: int, options) -> tuple[int, float, Path]:
    """Runs the tests that wait, or the others; ctest's status, the processor seconds, and the file with the results."""
    name = f"{run.preset}-{WAITS}" if waits else run.preset
    junit, log = LOGS / f"{name}.xml", LOGS / f"{name}.log"
    junit.unlink(missing_ok=True)
    if waits:
        log.unlink(missing_ok=True)
    before = without_random_addresses() if run.preset == "tsan" else []
    # The sizes keep ctest from cutting off the output that the cases are counted from.
    code, processor_s = execute([*before, "ctest", "--test-dir", str(run.build), "-j", str(jobs), "--timeout", str(HANG_S),
                                 "--output-on-failure", "--output-junit", str(junit), "--test-output-size-passed", "4000000",
                                 "--test-output-size-failed", "4000000", *selection(run, options, waits)], log, options)
    return code, processor_s, junit


def labels_of(test: dict) -> list[str]:
    return next((entry["value"] for entry in test["properties"] if entry["name"] == "LABELS"), [])


def run_tests(run: Run, tests: list[dict], options) -> None:
    there = {WAITS in labels_of(test) for test in tests}
    with ThreadPoolExecutor() as pool:
        lanes = [pool.submit(run_lane, run, waits, WAITING_AT_ONCE if waits else options.jobs or COMPUTING_AT_ONCE, options)
                 for waits in sorted(there)]
    for code, processor_s, junit in (lane.result() for lane in lanes):
        run.test_processor_s += processor_s
        before, unsteady = len(run.failed), len(run.unsteady)
        if junit.exists():
            read_results(run, junit, options)
        if code != 0 and len(run.failed) == before and len(run.unsteady) == unsteady:
            run.failed.append(f"ctest ended with status {code} and named no test")


def prepare(run: Run, options) -> list[dict]:
    """Configures and builds a preset: the tests that can be run then. What goes wrong is counted."""
    begin = time.monotonic()
    run.log.unlink(missing_ok=True)
    if not configure(run, options):
        run.failed.append("configure")
        show_tail(run.log)
        return []
    tests = tests_of(run, options)
    if run.label and not tests:
        run.note = "no test of this selection carries the label"
        return []
    here_alone = sum(ASAN_ALONE in labels_of(test) for test in tests)
    if run.label and here_alone:
        run.note = f"{here_alone} of its {len(tests)} tests are run here alone"
    if not build(run, targets_for(run, tests) if run.label else [], options):
        run.failed.append("build")
        show_tail(run.log)
    run.build_s = time.monotonic() - begin
    return tests


def test(run: Run, tests: list[dict], options) -> None:
    print(f"== {run.preset}: {run.why}\n   built in {run.build_s:.0f} s; {len(tests)} tests", flush=True)
    begin = time.monotonic()
    if tests:
        run_tests(run, tests, options)
    run.test_s = time.monotonic() - begin
    print(f"   {run.passed} passed, {len(run.failed)} failed, {len(run.skipped)} skipped in {run.test_s:.0f} s,"
          f" {run.test_processor_s:.0f} processor seconds" + (f" ({run.note})" if run.note else ""), flush=True)


def go(runs: list[Run], options) -> None:
    """Builds one preset after the other, and tests each when it is built: the tests leave much of the processors to the build
    of the next, because they wait for each other and for silences."""
    with ThreadPoolExecutor(max_workers=1) as builder:
        try:
            for run, built in [(run, builder.submit(prepare, run, options)) for run in runs]:
                test(run, built.result(), options)
        except BaseException:
            builder.shutdown(wait=False, cancel_futures=True)
            raise


def skipped_by_reason(runs: list[Run]) -> list[str]:
    """A line for each test and reason, with the presets and the number of cases where there are several."""
    cases: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for run in runs:
        for name, why in run.skipped:
            test, _, case = name.partition(": ")
            cases.setdefault((test, why), []).append((run.preset, case))
    lines = []
    for (test, why), of in cases.items():
        presets = ", ".join(dict.fromkeys(preset for preset, _ in of))
        which = f": {of[0][1]}" if len(of) == 1 and of[0][1] else f" ({len(of)} cases)" if len(of) > 1 else ""
        lines.append(f"[{presets}] {test}{which}: {why}")
    return lines


def print_list(title: str, lines: list[str]) -> None:
    if lines:
        print(f"\n   {title}:")
        print("\n".join(f"   - {line}" for line in lines))


def summary(runs: list[Run], seconds: float) -> int:
    """What failed and why comes last: where only the end of the output is kept, that is what it has to show."""
    print(f"\n== Summary ({seconds / 60:.1f} minutes)")
    for run in runs:
        print(f"   {run.preset:8} {run.passed:5} passed {len(run.failed):4} failed {len(run.skipped):4} skipped"
              f"  built in {run.build_s:4.0f} s, tested in {run.test_s:4.0f} s  {run.note}")
    print_list("Skipped", skipped_by_reason(runs))
    print_list("Unsteady: failed among others, passed alone", [f"[{run.preset}] {name}" for run in runs for name in run.unsteady])
    print_list("Failed", [f"[{run.preset}] {name}" for run in runs for name in run.failed])
    for run in runs:
        for name in run.printed:
            show_failure(run, name)
    failed = sum(len(run.failed) for run in runs)
    if failed:
        print("\n   Logs: build/check/. One test again: ctest --test-dir build/<preset> -R <name> --output-on-failure")
    print(f"{sum(run.passed for run in runs)} passed, {failed} failed, {sum(len(run.skipped) for run in runs)} skipped")
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="./check", description="Builds Periapt and runs its tests.")
    parser.add_argument("--quick", action="store_true", help="the release preset only, without tests labelled slow")
    parser.add_argument("-L", "--label", default="", help="only tests whose label matches (a regular expression)")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the output of every command as it comes")
    parser.add_argument("-j", "--jobs", type=int, default=0, help="how many compilers and tests at once")
    options = parser.parse_args()
    LOGS.mkdir(parents=True, exist_ok=True)

    runs = [Run("release", "all floors, tools, programs and tests" + ("" if options.quick else " but those of asan alone"),
                without="slow" if options.quick else ASAN_ALONE)]
    if not options.quick:
        runs += [Run("tsan", "queue, arena and location under the thread sanitizer", label="tsan", beside=True),
                 Run("asan", "the parts, PUP and shared memory under the address and undefined sanitizers", label="asan",
                     beside=True)]
    begin = time.monotonic()
    go(runs, options)
    return summary(runs, time.monotonic() - begin)


if __name__ == "__main__":
    sys.exit(main())
