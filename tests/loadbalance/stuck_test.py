"""Runs a program that hangs by mistake and reads until the watchdog names the element: stuck_test.py PROGRAM OPTIONS..."""
import subprocess
import sys

run = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
said = ""
try:
    for line in run.stdout:
        said += line
        if "Piece[4]" in line:
            ok = "not called yet by Piece[4]" in line and "in AtSync" in line
            break
    else:
        ok = False
finally:
    run.terminate()
    run.wait()
print(said)
sys.exit(0 if ok else 1)
