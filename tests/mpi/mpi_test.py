"""Charm++ beside MPI: programs compiled with each MPI that is here, run by its mpirun.

Usage: mpi_test.py CHARMC SOURCES WORK"""
import os
import shutil
import subprocess
import sys
import unittest

CHARMC, SOURCES, WORK = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
MPIS = {name: how for name, how in {
    "openmpi": ("mpicxx.openmpi", ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"]),
    "mpich": ("mpicxx.mpich", ["mpiexec.hydra"]),
}.items() if shutil.which(how[0]) and shutil.which(how[1][0])}
if not MPIS:
    print("skipped: no mpicxx.openmpi and no mpicxx.mpich with its mpirun")
    sys.exit(77)


def execute(folder, *command):
    done = subprocess.run(command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stdout}")


def build(mpi, name, library=None):
    """NAME.cpp, with MPI's compiler, and a library of chares beside it."""
    folder = os.path.join(WORK, mpi)
    os.makedirs(folder, exist_ok=True)
    compiler = MPIS[mpi][0]
    if library:
        execute(folder, CHARMC, f"{SOURCES}/{library}.ci")
        execute(folder, CHARMC, "-c", f"{SOURCES}/{library}.cpp", "-I.", "-o", f"{library}.o")
        execute(folder, CHARMC, "-o", f"libmodule{library}.a", f"{library}.o")
    else:
        execute(folder, CHARMC, f"{SOURCES}/{name}.ci")
    execute(folder, CHARMC, "-c++", compiler, "-c", f"{SOURCES}/{name}.cpp", "-I.", "-o", f"{name}.o")
    execute(folder, CHARMC, "-ld++", compiler, "-mpi", "-o", name, f"{name}.o",
            *(["-L.", "-module", library] if library else ["-nomain-module"]))
    return os.path.join(folder, name)


PROGRAMS = {mpi: build(mpi, "beside_main", "beside") for mpi in MPIS}
MAIN_MODULES = {mpi: build(mpi, "main_module") for mpi in MPIS}


def run(mpi, processes, program, *arguments):
    command = [*MPIS[mpi][1], "-n", str(processes), program, *arguments]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


class Mpi(unittest.TestCase):
    def each(self):
        for mpi in MPIS:
            with self.subTest(mpi):
                yield mpi

    def test_two_communicators_are_two_runs(self):
        for mpi in self.each():
            for arguments in ([], ["", "+ppn", "2"], ["", "+no-shared-memory"]):
                code, said = run(mpi, 4, PROGRAMS[mpi], *arguments)
                self.assertEqual(code, 0, said)
                self.assertIn("all checks passed in 4 processes", said)

    def test_one_communicator_is_one_run_and_each_process_may_be_one(self):
        for mpi in self.each():
            for arguments in (["all"], ["alone"], ["alone", "+p3"]):
                code, said = run(mpi, 3, PROGRAMS[mpi], *arguments)
                self.assertEqual(code, 0, said)
                self.assertIn("all checks passed in 3 processes", said)

    def test_the_exit_code_is_that_of_main(self):
        for mpi in self.each():
            code, said = run(mpi, 2, PROGRAMS[mpi], "code")
            self.assertEqual(code, 5, said)
            self.assertIn("all checks passed", said)

    def test_a_run_that_ends_badly_ends_the_program(self):
        for mpi in self.each():
            code, said = run(mpi, 4, PROGRAMS[mpi], "aborts")
            self.assertNotEqual(code, 0, said)
            self.assertEqual(said.count("the second run has had enough"), 1, said)
            self.assertNotIn("all checks passed", said)

    def test_processes_come_from_mpirun(self):
        for mpi in self.each():
            code, said = run(mpi, 1, PROGRAMS[mpi], "all", "+p4", "+ppn", "2")
            self.assertNotEqual(code, 0, said)
            self.assertIn("MPI has started the processes of this run, one", said)

    def test_a_mainmodule_runs_until_it_says_so(self):
        for mpi in self.each():
            code, said = run(mpi, 3, MAIN_MODULES[mpi], "+ppn", "2")
            self.assertEqual(code, 0, said)
            self.assertIn("all checks passed", said)


if __name__ == "__main__":
    unittest.main()
