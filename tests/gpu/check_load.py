# Usage: check_load.py RECORD [none]. What gpu_load has had measured; `none`: nothing was to be.
import json
import sys

steps = [json.loads(line) for line in open(sys.argv[1])]
assert len(steps) == 1, f"{len(steps)} steps"
objects = {o["element"] % 2**32: round(1000 * o.get("gpu_s", 0), 3) for o in steps[0]["objects"]}
background = [round(1000 * pe.get("background_gpu_s", 0), 3) for pe in steps[0]["pes"]]
some = sys.argv[2:] != ["none"]
wanted = {i: i + 1 if some and i < 8 else 0 for i in range(16)}
assert objects == wanted, f"by element: {objects}"
assert background == [3 if some else 0] * len(background), f"background: {background}"
assert steps[0].get("gpu_time", False) == ("load_s" in steps[0]["objects"][0] and "wall_s" in steps[0]["objects"][0])
print("the record is right")
