"""bench/messages: messages_test.py all_rows|nothing|failure|other_side SOURCE BUILD

all_rows: with hardly any repetitions, each column that can be measured here has each row that it should have, and each
that cannot is named with a reason. nothing: a figure of 0 is a figure like any other. failure: a program that fails is
named, and the driver's status says so. other_side: one between two hosts is not waited for when this one has failed.
What was measured is not looked at.
"""
import json
import os
import subprocess
import sys
import tempfile

SIZES = {"8": 8, "8K": 8192, "128K": 128 << 10}
# Rows for a size; which of them are a column's.
MESSAGES = [("latency", "rewritten"), ("latency", "untouched"), ("bandwidth", "rewritten"), ("bandwidth", "untouched"),
            ("both-ways", "rewritten"), ("both-ways", "untouched")]
ONE_SIDED = [("put", "rewritten"), ("put", "untouched"), ("get", "rewritten"), ("get", "untouched"),
             ("put-bandwidth", "rewritten")]
IN_PLACE = [("in-place", "rewritten"), ("in-place", "untouched")]
PRIVATE_ONLY = ["kernel", "slots"]  # limits of large messages
OVERLAPS = ["alone", "computing"]  # what was hidden may be nothing


def in_both_memories(column):
    return column in ("transport", "engine", "libucp") or column.startswith("ucx")


def messages(over, column, size):
    """A program's rows of messages: of large ones over shared memory in private buffers, allocated ones, or both."""
    if over != "shm" or size < 16 << 10:
        return MESSAGES if column not in PRIVATE_ONLY else []
    allocated = [(operation, "allocated-" + how) for operation, how in MESSAGES]
    return (MESSAGES if column != "limit" else []) + (allocated if column == "limit" or in_both_memories(column) else [])


def expected(over, column):
    if column in PRIVATE_ONLY:
        yield from ((*row, size) for size in SIZES.values() for row in messages(over, column, size))
        return
    one_sided = not column.startswith("chares") and column != "marshalled"
    one_sided = one_sided and not (over == "tcp" and column in ("limit", "transport"))
    in_place = not (column.startswith(("openmpi", "mpich")) or column == "marshalled" or (over, column) == ("tcp", "limit"))
    for size in SIZES.values():
        rows = messages(over, column, size) + (ONE_SIDED if one_sided else []) + (IN_PLACE if in_place and size <= 8192 else [])
        if size >= 1024:
            rows = rows + [("overlap", f"{what}-{how}") for what in ["exchange"] + (["put", "get"] if one_sided else [])
                           for how in OVERLAPS]
        yield from ((*row, size) for row in rows)
    yield "rate", "1", 8
    yield "rate", "2", 8


def all_rows(source, build):
    with tempfile.TemporaryDirectory(prefix="periapt-messages-") as folder:
        out = os.path.join(folder, "rows.json")
        done = subprocess.run([os.path.join(source, "bench", "messages"), "--build", build, "--rounds", "1", "--effort",
                               "0.002", "--sizes", ",".join(SIZES), "--pairs", "1,2", "--json", out],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        print(done.stdout)
        assert done.returncode == 0, "a program failed"
        with open(out, encoding="ascii") as file:
            result = json.load(file)
    check_rows(result)
    for over, least in (("shm", 8), ("tcp", 5)):  # ours, which are built wherever this test is
        assert sum(1 for c in result["columns"][over].values() if not c["missing"]) >= least - 1, f"{over}: columns are missing"
    assert "limit" in done.stdout and "# shm: latency" in done.stdout


def check_rows(result):
    have = {(row["over"], row["operation"], row["variant"], row["size"]): row["rounds"] for row in result["rows"]}
    measured = 0
    for over, columns in result["columns"].items():
        for name, column in columns.items():
            if column["missing"]:
                assert len(column["missing"]) > 20, f"{name} is missing without a reason"
                continue
            measured += 1
            for row in expected(over, name):
                values = have.get((over, *row), {}).get(name)
                assert values, f"{over} {name}: no figure for {row}"
    print(f"{measured} columns measured, {len(have)} rows")


def with_programs(source, programs, *options):
    """The driver over programs that are shell scripts, and what it left in its JSON file, if it did."""
    with tempfile.TemporaryDirectory(prefix="periapt-messages-") as folder:
        net, out = os.path.join(folder, "bench", "net"), os.path.join(folder, "rows.json")
        os.makedirs(net)
        for name, script in programs.items():
            with open(os.path.join(net, name), "w", encoding="ascii") as file:
                file.write("#!/bin/sh\n" + script)
            os.chmod(os.path.join(net, name), 0o755)
        done = subprocess.run([os.path.join(source, "bench", "messages"), "--build", folder, "--rounds", "1", "--json", out, *options],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        print(done.stdout)
        if not os.path.exists(out):
            return done, None
        with open(out, encoding="ascii") as file:
            return done, json.load(file)


def nothing(source, _):
    kinds = dict.fromkeys(row for over in ("shm", "tcp") for column in ("limit", "engine", "chares", "kernel")
                          for row in expected(over, column))
    rows = [f"row {operation} {variant} {size} 0.000" for operation, variant, size in kinds]
    # The driver itself says of rows that they were measured in allocated memory: what it asks for are plain messages then.
    plain = [row for row in rows if "allocated" not in row]
    script = ('case "$*" in *allocated*) grep -E "^row (latency|bandwidth|both-ways) ";; *) cat;; esac <<END\n' +
              "".join(row + "\n" for row in plain) + "END\necho about nothing\n")
    done, result = with_programs(source, {"bench_net": script, "bench_net_chares": script}, "--sizes", ",".join(SIZES),
                                 "--pairs", "1,2")
    assert done.returncode == 0, "a figure of 0 is taken for a failure"
    check_rows(result)


def failure(source, _):
    # (No load of the machine, which is printed too, looks like that figure.)
    script = "echo 'row latency rewritten 8 98765.4'\necho 'there is no such device' >&2\nexit 3\n"
    done, _ = with_programs(source, {"bench_net": script})
    assert done.returncode == 1, "the status does not tell"
    assert "engine: ended with 3: there is no such device" in done.stdout
    assert "bench_net_chares is not built" in done.stdout, "what is not there is not named"
    assert "98765" not in done.stdout, "a figure of a program that failed is printed"


def other_side(source, _):
    os.environ["CONV_RSH"] = "sh -c 'exec sleep 100000'"
    script = "echo 'the other side can not be reached' >&2\nexit 3\n"
    done, _ = with_programs(source, {"bench_net": script}, "--over", "verbs", "--across", "there", "--only", "engine")
    assert done.returncode == 1, "the status does not tell"
    assert "engine: ended with 3: the other side can not be reached" in done.stdout


if __name__ == "__main__":
    {"all_rows": all_rows, "nothing": nothing, "failure": failure, "other_side": other_side}[sys.argv[1]](sys.argv[2], sys.argv[3])
