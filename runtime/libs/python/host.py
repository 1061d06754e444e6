"""What runs scripts: run and iterate are called for each, new for its names. Begins with the first script of a process.

All scripts share this interpreter and its modules; each has names of its own. `ck` (ck_module.cpp) knows which script
it is that calls."""
import builtins
import sys
import traceback
import types

import ck


class Output:
    """sys.stdout: what a script prints goes to its client."""

    def __init__(self, own):
        self._own = own

    def write(self, text):
        return len(text) if ck._print(text) else self._own.write(text)

    def __getattr__(self, name):
        return getattr(self._own, name)


class Charm(types.ModuleType):
    """The module charm: the [python] entry methods of the script's object."""

    @property
    def __doc__(self):
        return "\n".join(f"{name} -- {text}" for name, text in dict(ck._methods()).items())

    def __dir__(self):
        return list(dict(ck._methods()))

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        there = dir(self)
        if name not in there:
            raise AttributeError(f"the object of this script has no [python] entry method {name}; it has: {', '.join(there)}")
        return lambda *arguments: ck._call(name, arguments)


class CharmContainer:
    """What an iteration hands to the script's function; buildIterator() gives it its attributes."""


charm = Charm("charm")
sys.modules["charm"] = charm
sys.stdout = Output(sys.stdout)


def new():
    return {"__name__": "__main__", "__builtins__": builtins, "ck": ck, "sys": sys}


def execute(code, space):
    exec(compile(code, "<script>", "exec"), space)


def visit(code, method, space):
    if method not in space:
        execute(code, space)
    if not callable(space.get(method)):
        raise NameError(f"the script defines no function {method}")
    data = ck._first(CharmContainer())
    while data is not None:
        data = ck._next(data, space[method](data))


def run(code, method, space, is_high):
    """What went wrong, or None. `method`: the function of an iteration, or None."""
    if is_high:
        space["charm"] = charm
    else:
        space.pop("charm", None)
    try:
        if method is None:
            execute(code, space)
        else:
            visit(code, method, space)
    except SystemExit:
        pass
    except BaseException as error:
        place = error.__traceback__
        while place and place.tb_frame.f_globals is globals():
            place = place.tb_next
        return "".join(traceback.format_exception(type(error), error, place))
    return None
