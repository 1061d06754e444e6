"""Types whose classes inherit some of their entries: from a class of the .ci with entries of its own, some of which are virtual and
overridden, and perhaps with the bodies."""

import random
import re

INHERITABLE = ("h0", "h1", "m0", "f0", "th", "inl", "ask", "hf")


class Base:
    """entries: names of those that the base declares; virtual: of those that the class itself defines; bodies: whether it has them."""

    def __init__(self, r, type):
        self.entries = {n for n in type.entries if n in INHERITABLE and r.random() < 0.6}
        self.virtual = {n for n in sorted(self.entries) if r.random() < 0.4}
        self.bodies = r.random() < 0.6


def add_bases(shape):
    r = random.Random(f"bases {shape.seed}")
    for t in shape.types.values():
        if t.kind in ("array", "group", "chare") and not t.instantiations and r.random() < 0.5:
            t.base = Base(r, t)


class BaseText:
    """Of an Emitter."""

    def bodies_in_base(self, t):
        return t.base is not None and t.base.bodies and bool(self.bodies_used(t))

    def ci_base(self, t, head, lines):
        """lines: of the entries that it declares."""
        name = f"{t.name}Base"
        return [f"  {head} {name} {{", f"    entry {name}();"] + lines + (self.ci_bodies(t) if self.bodies_in_base(t) else []) + ["  };"]

    def declare_base(self, t):
        name = f"{t.name}Base"
        code = [f"  {name}_SDAG_CODE", " public:"] if self.bodies_in_base(t) else []
        out = [f"struct {name} : CBase_{name} {{"] + code + ["  Self self;", f"  {name}() {{}}"]
        out.append('  virtual void run(int event, Known&) { bad(event, "what a base calls is not of the class"); }')
        if t.kind == "array":
            out += [f"  {name}(CkMigrateMessage*) {{}}", "  void pup(PUP::er& p) { p | self; }"] + self.mover(t)
        if self.bodies_in_base(t):
            out += ["  virtual void scatter(int event) { bad(event, \"what a base's body calls is not of the class\"); }"] + self.declare_talks(t)[1:]
        for e in t.entries.values():
            if e.name in t.base.entries and e.name in self.used[t.name]:
                text = self.entry(t, e)
                if e.name in t.base.virtual:
                    signature = re.match(r"\s*(.*?\)) \{", text)[1]
                    back = " return 0;" if e.form == "sync" else ""
                    text = f'  virtual {signature} {{ bad(0, "an entry of a base runs, not that of the class");{back} }}'
                out.append(text)
        return out + ["};"]

    @staticmethod
    def mover(t):
        migrate = "this->ckMigrate" if t.instantiations else "migrateMe"  # which templates do not find in Charm++
        return ["  void move(int pe) {", f"    if (self.waiting == 0) {migrate}(((pe % CkNumPes()) + CkNumPes()) % CkNumPes());", "  }"]
