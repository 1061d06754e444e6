"""What one run in partitions leaves behind: exit codes, files of output, checkpoints. Usage: partitions.py PROGRAM"""
import os
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])


def run(folder, *arguments):
    done = subprocess.run([PROGRAM, *arguments], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def expect(right, what, *shown):
    if not right:
        print("wrong:", what, *shown)
        sys.exit(1)


with tempfile.TemporaryDirectory() as folder:
    code, said = run(folder, "code", "7", "+p4", "+partitions", "2")
    expect(code == 7, "the exit code of the last partition is that of the run", code, said)
    code, said = run(folder, "aborts", "+p4", "+partitions", "2")
    expect(code == 1 and said.count("had enough") == 1, "a partition that aborts ends the run", code, said)
    for more in ([], ["+transports", "tcp"]):
        code, said = run(folder, "dies", "0.5", "+p2", "+partitions", "2", *more)
        expect(code == 128 + 9 and "killed by signal 9" in said, "a process that dies after others ended is missed", code, said)
    code, said = run(folder, "quits", "0.5", "+p2", "+partitions", "2")
    expect(code == 3 and "left with status 3 before the run had ended" in said, "one that leaves is missed", code, said)
    code, said = run(folder, "meets", "file", "+p2", "+partitions", "2")
    expect(code == 0, "partitions meet at a barrier", code, said)
    code, said = run(folder, "stays", "0", "+p3", "+partitions", "3", "+stdout", "log")
    expect(code == 0 and "went on" not in said, "output goes to files", code, said)
    code, said = run(folder, "stays", "0", "+p3", "+partitions", "3", "+stdout", "%d-%d-%d", "+transports", "tcp")
    expect(code == 0 and "went on" not in said, "output goes to files over a network too", code, said)
    for name in ("log.1", "log.2", "1-1-1", "2-2-2"):
        with open(os.path.join(folder, name)) as file:
            text = file.read()
        number = name.replace("-", ".").split(".")[1]
        expect(text == f"partition {number} went on\n", "each partition has its file", name, text)

    code, said = run(folder, "kept", "state", "+p4", "+partitions", "2")
    expect(code == 0 and said.count("is here again") == 2, "each partition writes a checkpoint", code, said)
    expect(sorted(os.listdir(os.path.join(folder, "state"))) == ["part-0", "part-1"], "each has its folder")
    code, said = run(folder, "+restart", "state", "+p6", "+partitions", "2")
    expect(code == 0 and said.count("is here again") == 2, "each partition restarts", code, said)
    code, said = run(folder, "+restart", "state", "+p6", "+partitions", "3")
    expect(code != 0 and "state/part-2" in said, "a partition more has no checkpoint", code, said)
print("passed")
