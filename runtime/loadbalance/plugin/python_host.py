# The process of a balancer in Python: python3 -c THIS FILE. Answers on descriptor 3; wire.h says what is written there.
import os
import struct
import sys
import traceback

RIGHT, WRONG, MESSAGES = 0, 1, 1


class Problem:
    """What balance(problem) gets: NumPy arrays, by object (load, pe, migratable ...) and by PE (pe_speed ...)."""


def receive(count):
    parts = bytearray()
    while len(parts) < count:
        part = os.read(3, min(count - len(parts), 1 << 20))
        if not part:
            os._exit(0)
        parts += part
    return parts


def answer(status, flags, data):
    message = struct.pack("QII", 8 + len(data), status, flags) + data
    while message:
        message = message[os.write(3, message):]


def fail(text):
    answer(WRONG, 0, text.encode())


def last_line(error):
    where = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == sys.argv[1]]
    line = f" (line {where[-1].lineno})" if where else ""
    return f"has raised {type(error).__name__}: {error}{line}"


def read_problem(numpy):
    data = receive(struct.unpack("Q", receive(8))[0])
    p = Problem()
    p.step, p.pes, p.objects, positions, p.pairs = struct.unpack_from("5Q", data)
    at = 40

    def take(kind, count):
        nonlocal at
        values = numpy.frombuffer(data, kind, count, at) if count else numpy.empty(0, kind)
        at += (values.nbytes + 7) // 8 * 8
        return values

    for name in ("pe_wall", "pe_idle", "pe_background", "pe_speed", "pe_gpu"):
        setattr(p, name, take("f8", p.pes))
    p.pe_available = take("u1", p.pes).astype(bool)
    p.load = take("f8", p.objects)
    p.gpu = take("f8", p.objects)
    p.pe = take("i4", p.objects)
    p.migratable = take("u1", p.objects).astype(bool)
    p.array = take("i4", p.objects)
    p.element = take("u8", p.objects)
    p.bytes = take("u8", p.objects)
    p.position = take("f4", 3 * p.objects).reshape(-1, 3) if positions else None
    p.pair_from = take("u4", p.pairs)
    p.pair_to = take("u4", p.pairs)
    p.pair_messages = take("u8", p.pairs)
    p.pair_bytes = take("u8", p.pairs)
    return p


def load(path):
    """The names of the file, or None after a complaint."""
    names = {"__name__": "balancer", "__file__": path}
    try:
        with open(path, encoding="utf-8") as file:
            exec(compile(file.read(), path, "exec"), names)
    except OSError as error:
        return fail(f"cannot be read: {error.strerror}")
    except BaseException as error:
        return fail("cannot be loaded: it " + last_line(error))
    if not callable(names.get("balance")):
        return fail("has no function balance(problem)")
    return names


def places_of(numpy, problem, result):
    """The answer as bytes; raises ValueError where it is none."""
    places = numpy.asarray(result)
    if places.shape != (problem.objects,):
        raise ValueError(f"has returned an array of shape {places.shape} for {problem.objects} objects")
    if places.dtype.kind not in "iu" and places.size:
        raise ValueError(f"has returned {places.dtype} for PEs, which are whole numbers")
    return numpy.clip(places, -1, 2**31 - 1).astype("i4").tobytes()


def main():
    try:
        import numpy
    except ImportError:
        return fail("needs NumPy, which this python3 does not have: apt-get install python3-numpy, or name another "
                    "python3 in PERIAPT_PYTHON")
    names = load(sys.argv[1])
    if names is None:
        return
    summary = (names.get("__doc__") or "a balancer in Python").strip().splitlines()[0]
    answer(RIGHT, MESSAGES if names.get("messages") else 0, summary.encode())
    while True:
        problem = read_problem(numpy)
        try:
            result = names["balance"](problem)
        except BaseException as error:
            fail(last_line(error))
            continue
        try:
            answer(RIGHT, 0, places_of(numpy, problem, result))
        except (TypeError, ValueError) as error:
            fail(str(error))


main()
