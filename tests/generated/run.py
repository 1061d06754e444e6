#!/usr/bin/env python3
"""Writes random programs from seeds, builds them, runs them on several layouts, and says which went wrong.

    tests/generated/run.py 0..499                        500 programs
    tests/generated/run.py 1234 --shrink                 one; what fails is made small and left in the work folder

A program is told by its seed alone: seed // 25 is its shape (the types that there are), the rest its plan. Programs of a
shape are built as one executable, `batch PLAN [+p...]`. --charmc builds them with another charmc; --reference leaves out
what Charm++ 8.0.1 cannot do. Status 1: a program failed.
"""

import argparse
import concurrent.futures
import functools
import glob
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from emit import Emitter
from model import Shape
from plan import Plan, one_pe_in_charm, ours_alone, prune

HERE = os.path.dirname(os.path.abspath(__file__))
PER_SHAPE = 25
LAYOUTS = ["+p1", "+p2", "+p7", "+p4 +ppn 2", "+p4 +ppn 1 +transports tcp"]
REFERENCE_LAYOUTS = ["+p1", "+p2 +setcpuaffinity", "+p7 +setcpuaffinity"]


def seeds_of(texts):
    out = []
    for text in texts:
        first, dots, last = text.partition("..")
        out += range(int(first), int(last) + 1) if dots else [int(first)]
    return out


@functools.lru_cache(maxsize=None)
def shape_of(seed):
    return Shape(seed // PER_SHAPE)


def plan_of(seed, budget=None):
    return Plan(shape_of(seed - seed % PER_SHAPE), seed % PER_SHAPE, budget)


class Builder:
    def __init__(self, options):
        self.options = options

    def write(self, folder, shape, plans, name="scene"):
        shutil.rmtree(folder, ignore_errors=True)  # charmc may take what is there for what it would write
        os.makedirs(folder)
        emitter = Emitter(shape, plans, name, self.options.reference)
        for file, text in ((f"{name}.ci", emitter.ci()), (f"{name}.C", emitter.cpp())):
            with open(os.path.join(folder, file), "w") as f:
                f.write(text)
        for header in ("scene.h", "talk.h"):
            shutil.copy(os.path.join(HERE, header), folder)

    def build(self, folder, name="scene"):
        """Status and output."""
        if self.options.source_only:
            return 0, ""
        charmc = self.options.charmc
        flags = shlex.split(self.options.flags) + (["-DREFERENCE", "-std=c++17"] if self.options.reference else [])
        for command in ([charmc, f"{name}.ci"], [charmc, *flags, "-o", "batch", f"{name}.C", "-module", "CkMulticast"]):
            done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
            if done.returncode != 0:
                return done.returncode, done.stdout
        return 0, ""


def run(folder, number, layout, limit):
    """Status (None: it did not end) and output of a program."""
    command = ["./batch", str(number)] + layout.split()
    child = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                             errors="replace", start_new_session=True)
    try:
        text, _ = child.communicate(timeout=limit)
        status = child.returncode
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        text, _ = child.communicate()
        status = None
    return status, text


def passed(status, text):
    return status == 0 and "\nOK " in "\n" + text


def words(status, text):
    """What went wrong, in a line or some."""
    lines = [line for line in text.splitlines() if re.search(r"BAD|fatal|Reason:|rror:|exception", line)]
    how = "did not end" if status is None else f"status {status}"
    return [how] + (lines or [line for line in text.splitlines() if line.strip()][-3:])


class Shrinker:
    """Leaves out operations as long as the program still fails, many attempts to an executable."""

    def __init__(self, builder, options, seed, layout):
        self.builder, self.options, self.seed, self.layout = builder, options, seed, layout
        self.folder = os.path.join(options.work, f"shrink-{seed}")

    def variant(self, number, dropped):
        plan = prune(plan_of(self.seed, self.options.budget), dropped)
        plan.number = number
        return plan

    def failing(self, attempts):
        """The first of the sets of dropped operations with which the program fails still."""
        plans = [self.variant(n, dropped) for n, dropped in enumerate(attempts)]
        self.builder.write(self.folder, plans[0].shape, plans)
        status, text = self.builder.build(self.folder)
        if status != 0:
            print(f"shrinking {self.seed}: {text[-2000:]}")
            return None
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            found = list(pool.map(self.fails, range(len(attempts))))
        return next((n for n, yes in enumerate(found) if yes), None)

    def fails(self, number):
        """Twice, where there are runs enough: what fails ever more rarely cannot be read."""
        wanted = 2 if self.options.repeat >= 8 else 1
        for _ in range(self.options.repeat):
            status, text = run(self.folder, number, self.layout, min(self.options.limit, 10))
            wanted -= not passed(status, text)
            if wanted == 0:
                return True
        return False

    def shrink(self):
        dropped = set()
        left = lambda: sorted(o.number for e in self.variant(0, dropped).events.values() for o in e.ops)
        chunk = max(1, len(left()) // 2)
        rounds = 0
        while True:
            ops = left()
            groups = [ops[i:i + chunk] for i in range(0, len(ops), chunk)]
            attempts = [dropped | set(g) for g in groups][:24]
            found = self.failing(attempts) if attempts else None
            rounds += 1
            if found is not None:
                dropped = attempts[found]
                continue
            if chunk == 1 or rounds > 60:
                break
            chunk = max(1, chunk // 3)
        small = self.variant(0, dropped)
        self.builder.write(self.folder, small.shape, [small])
        self.builder.build(self.folder)
        print(f"seed {self.seed} {self.layout}: {len(left())} operations are left; see {self.folder}/scene.C, `./batch 0 {self.layout}`")


def library_files(name):
    """What a program is linked with: the archive, or the shared library under the name for linking and the one for running."""
    for ending in (".a", ".so"):
        path = subprocess.run(["c++", f"-print-file-name={name}{ending}"], stdout=subprocess.PIPE, text=True).stdout.strip()
        if os.path.isabs(path):
            beside = glob.glob(os.path.join(os.path.dirname(path), f"{name}.so.*"))
            return [path] if ending == ".a" else [path, *(other for other in beside if os.path.samefile(path, other))]
    return []


def pack(file, charmc):
    """An archive that unpacks to a tree in which run.py runs: charmc and what it links, and the generator."""
    build = os.path.dirname(os.path.dirname(charmc))
    with tarfile.open(file, "w:xz", dereference=True) as archive:
        for part in ("bin/charmc", "bin/charmc.conf", "include", "lib/libperiapt.a"):
            archive.add(os.path.join(build, part), os.path.join("build/release", part))
        for path in library_files("libboost_context"):  # which another machine may lack
            archive.add(path, os.path.join("build/release/lib", os.path.basename(path)))
        for name in sorted(n for n in os.listdir(HERE) if n.endswith((".py", ".h"))):
            archive.add(os.path.join(HERE, name), os.path.join("tests/generated", name))
    print(f"{file}: {os.path.getsize(file) / 1e6:.1f} MB; there: tar xf, then LD_LIBRARY_PATH=$PWD/build/release/lib tests/generated/run.py 0..999 --layout \"+p16\"")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seeds", nargs="*", help="A..B or single ones")
    parser.add_argument("--charmc", default=os.path.join(HERE, "../../build/release/bin/charmc"))
    parser.add_argument("--flags", default="-O0", help="for charmc")
    parser.add_argument("--work", default="build/generated", help="folder for what is made")
    parser.add_argument("--layout", action="append", help="options of a run; may be given several times")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--repeat", type=int, default=1, help="runs of each program and layout; of an attempt to shrink")
    parser.add_argument("--budget", type=int, help="events of a program, at most 900; makes other programs of the same seeds")
    parser.add_argument("--limit", type=float, default=300, help="seconds after which a run counts as one that does not end")
    parser.add_argument("--reference", action="store_true", help="the runtime is Charm++ 8.0.1: leave out what it cannot do")
    parser.add_argument("--shrink", action="store_true", help="make failing programs small")
    parser.add_argument("--pack", metavar="FILE", help="an archive for a machine that has a compiler and more cores; no more")
    parser.add_argument("--source-only", action="store_true", help="write the programs, no more")
    parser.add_argument("--keep", action="store_true", help="keep executables of programs that pass, and don't build what is there")
    options = parser.parse_args()
    options.charmc = os.path.abspath(options.charmc)
    options.work = os.path.abspath(options.work)
    if options.pack:
        return pack(options.pack, options.charmc)
    if not options.seeds:
        parser.error("which programs? (0..99, for instance)")
    layouts = options.layout or (REFERENCE_LAYOUTS if options.reference else LAYOUTS)
    builder = Builder(options)
    by_shape = {}
    for seed in seeds_of(options.seeds):
        by_shape.setdefault(seed // PER_SHAPE, []).append(seed)
    lock, failures, counts = threading.Lock(), [], {"programs": 0, "runs": 0, "failed": 0, "left out": 0}
    began = time.monotonic()

    def one(folder, seed, layout):
        for _ in range(options.repeat):
            status, text = run(folder, seed % PER_SHAPE, layout, options.limit)
            ok = passed(status, text)
            with lock:
                counts["runs"] += 1
                if not ok:
                    counts["failed"] += 1
                    failures.append((seed, layout))
                    said = words(status, text)
                    print(f"FAILED seed {seed} {layout}: " + "\n    ".join(line[:300] for line in said[:6]), flush=True)
                    with open(os.path.join(options.work, f"failed-{seed}-{re.sub('[^a-z0-9]+', '-', layout)}.txt"), "w") as f:
                        f.write(text)
            if not ok:
                return

    def batch(shape_seed, seeds):
        plans = [plan_of(s, options.budget) for s in seeds]
        shape = plans[0].shape
        if options.reference:
            kept = [(p, s) for p, s in zip(plans, seeds) if not ours_alone(p)]
            with lock:
                counts["left out"] += len(plans) - len(kept)
            if not kept:
                return []
            plans, seeds = [p for p, _ in kept], [s for _, s in kept]
        folder = os.path.join(options.work, f"shape-{shape_seed}")
        if not (options.keep and os.path.exists(os.path.join(folder, "batch"))):
            builder.write(folder, shape, plans)
            status, text = builder.build(folder)
            if status != 0:
                with lock:
                    counts["failed"] += 1
                    errors = [line for line in text.splitlines() if "rror" in line or "undefined" in line]
                    print(f"FAILED shape {shape_seed}: charmc says:\n" + "\n".join(errors[:8])[:3000], flush=True)
                return []
        with lock:
            counts["programs"] += len(plans)
        if options.source_only:
            return []
        alone = {s for p, s in zip(plans, seeds) if options.reference and one_pe_in_charm(p)}
        return [(folder, s, layout) for s in seeds for layout in layouts if s not in alone or layout.split()[0] == "+p1"]

    os.makedirs(options.work, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        builds = {pool.submit(batch, shape, seeds): shape for shape, seeds in by_shape.items()}
        runs = []
        for done in concurrent.futures.as_completed(builds):
            runs += [pool.submit(one, *job) for job in done.result()]
        for r in runs:
            r.result()
    if not options.keep:
        bad = {seed // PER_SHAPE for seed, _ in failures}
        for shape in set(by_shape) - bad:
            shutil.rmtree(os.path.join(options.work, f"shape-{shape}"), ignore_errors=True)
    if options.shrink:
        for seed, layout in sorted({s: l for s, l in reversed(failures)}.items())[:20]:
            Shrinker(builder, options, seed, layout).shrink()
    print(f"{counts['programs']} programs, {counts['runs']} runs, {counts['failed']} failed, {counts['left out']} programs left out, "
          f"{time.monotonic() - began:.0f} s")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
