"""A program on Converse alone that answers requests over TCP: converse_test.py PROGRAM OPTIONS..."""
import re
import struct
import subprocess
import sys

from client import Program, expect, failures

PROGRAM, OPTIONS = sys.argv[1], sys.argv[2:]
PES = int(re.search(r"\+p ?(\d+)", " ".join(OPTIONS))[1])

program = Program([PROGRAM, *OPTIONS, "++server"])
info = program.ask("ccs_getinfo")
expect("PEs", sum(struct.unpack(f">{len(info) // 4}I", info)[1:]), PES)
for pe in range(PES):
    expect("echo", program.ask("echo", pe, b"this"), b"PE %d has this" % pe)
    expect("later", program.ask("later", pe), b"of PE %d from PE %d" % (pe, (pe + 1) % PES))
expect("to all", program.ask("echo", -1, b"it"), b"".join(b"PE %d has it" % pe for pe in range(PES)))
expect("nobody's handler", program.ask("bananas"), None)
expect("stop", program.ask("stop"), b"bye")
expect("status", program.wait(), 0)
expect("what is not there is said", "no handler of that name is registered on PE 0; there: echo, later, stop" in program.text, True)
early = subprocess.run([PROGRAM, "early", *OPTIONS], capture_output=True, text=True, check=False)
expect("early", (early.returncode, "CcsRegisterHandler() is called before the runtime has begun" in early.stderr), (1, True))
print("\n".join([*failures, program.text]) if failures else "all as expected")
sys.exit(1 if failures else 0)
