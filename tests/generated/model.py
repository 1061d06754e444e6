"""What plans are made of: types with their entries (a shape), instances, events, operations."""

import random

from bases import add_bases
from bodies import bodies_of

ALL, ONE, MANY = "all", "one", "many"  # an event is run by all of a collection once each, once, or often by any


class Entry:
    def __init__(self, name, form, attributes=(), extras=()):
        self.name, self.form, self.attributes, self.extras = name, form, list(attributes), list(extras)

    def plain(self):  # messages of one sender come in order through such entries
        return not set(self.attributes) & {"expedited", "inline", "local"}


class Type:
    def __init__(self, name, kind, dims=None, index=None):
        self.name, self.kind, self.dims, self.index = name, kind, dims, index
        self.entries = {}
        self.sparse = None  # (step, offset) of indices of arrays whose elements are inserted one at a time
        self.make = None  # createhere or createhome: elements are made by what is sent to them
        self.bodies = {}  # of entries (SDAG), by name
        self.instantiations = []  # of a template: arguments
        self.threaded = False  # its bodies
        self.base = None  # of its class

    @property
    def size(self):
        n = 1
        for d in self.dims or ():
            n *= d
        return n

    def own(self):
        """Its name in its own code."""
        return f"{self.name}<Value>" if self.instantiations else self.name

    def template(self):
        return "template <class Value> " if self.instantiations else ""  # (T is what Charm++'s own text calls others)

    def inherited(self):
        """What a template's code would not find in its base."""
        names = ["thisProxy", "contribute"] + (["thisIndex", "ckDestroy"] if self.kind == "array" else [])
        return names if self.instantiations else []

    def add(self, *arguments, **named):
        e = Entry(*arguments, **named)
        self.entries[e.name] = e


ARGUMENTS = ["int", "double", "std::string", "Point", "std::vector<int>"]  # of template entries
EXTRAS = ["vector", "string", "map", "point", "double", "array"]


class Shape:
    """The types of a set of programs."""

    def __init__(self, seed):
        self.seed = seed
        r = random.Random(f"shape {seed}")
        self.types = {"Main": Type("Main", "main")}
        kinds = [r.choice([1, 1, 2, 3]), r.choice([1, 2, 3, 4, 5, 6, "custom"]), r.choice([1, 2, 4, 5, 6, "custom"])]
        for i, index in enumerate(kinds):
            dims = {1: [r.choice([1, 2, 5, 8, 13, 24])], 2: [3, r.choice([2, 4])], 3: [2, 2, r.choice([2, 3])],
                    4: [2, 2, 1, 3], 5: [1, 2, 2, 2, 1], 6: [2, 1, 2, 1, 2, 2], "custom": [r.choice([3, 7])]}[index]
            t = self.types[f"A{i}"] = Type(f"A{i}", "array", dims, index)
            if index == "custom" or (i > 0 and r.random() < 0.5):
                t.sparse = (r.choice([1, 3, 101]), r.choice([0, 5, -40]))
            if i == 2 and r.random() < 0.6:
                t.sparse = t.sparse or (1, 0)
                t.make = r.choice(["createhere", "createhome"])
        if not any(t.kind == "array" and not t.sparse for t in self.types.values()):
            self.types["A0"].sparse = None
        first = self.types["A0"]
        if not first.sparse:
            self.types["B0"] = Type("B0", "array", first.dims, first.index)  # bound to arrays of type A0
        for name, kind in (("C0", "chare"), ("C1", "chare"), ("G0", "group"), ("G1", "group"), ("N0", "nodegroup")):
            self.types[name] = Type(name, kind)
        template = Type("T0", r.choice(["array", "group"]), [r.choice([2, 5, 9])], 1)
        template.instantiations = r.choice([["int"], ["Point"], ["int", "Point"], ["std::string", "double"]])
        self.types["T0"] = template
        for t in self.types.values():
            self.entries(t, r)
        self.add_bodies(r)
        add_bases(self)
        self.map_factor, self.map_offset = r.choice([1, 3, 7]), r.choice([0, 1, 5])

    def add_bodies(self, r):
        self.number_base = r.choice([0, 0, 100000, -70000, 2000000000, 1 << 40])  # of reference
        for t in self.types.values():
            if t.make or r.random() < 0.4:
                continue
            # Messages have a number of 32 bits.
            t.number = "int64_t" if self.number_base >> 32 > 0 else r.choice(["int", "int64_t"])
            t.bodies = bodies_of(self, t)
            t.threaded = t.kind in ("main", "chare", "group") and not t.instantiations and random.Random(f"threaded {self.seed} {t.name}").random() < 0.5
            t.expedited = r.choice([None, None, "eat", "eatm", "any"])
            for b in t.bodies.values():
                if b.name[0] == "b":
                    t.add(b.name, "body", ["exclusive"] if t.kind == "nodegroup" else [], b.extras)

    def entries(self, t, r):
        always = ["exclusive"] if t.kind == "nodegroup" else []
        t.add("h0", "param", always, r.sample(EXTRAS, r.choice([0, 1, 2])) + (["value"] if t.instantiations else []))
        if not t.instantiations:
            t.add("tk", "template", always)
        second = [] if t.kind == "nodegroup" else r.choice([[], ["expedited"], ["nokeep"]])
        form = "param" if second != ["nokeep"] and r.random() < 0.6 else "message"
        if form == "param":
            second = [a for a in second if a != "nokeep"]
        t.add("h1", form, always + [a for a in second if a != "nokeep"], r.sample(EXTRAS, r.choice([0, 1])) if form == "param" else ())
        t.add("m0", "message", always)
        t.add("f0", "fixed", always)
        if t.kind in ("array", "group"):
            t.add("sec", "post")
        if t.kind == "nodegroup":
            return
        t.add("th", "param", ["threaded"])
        if t.kind != "main":
            t.add("inl", "param", ["inline"])
            t.add("ask", "sync", ["sync"])
        t.add("hf", "later")
        if t.kind == "array":
            t.add("loc", "local", ["local"])
        if t.make:
            t.add("make", "param", [t.make])


class Instance:
    def __init__(self, number, type, static, population):
        self.number, self.type, self.static, self.population = number, type, static, population
        self.arg = None  # of a template
        self.name = None  # of its readonly
        self.map = None
        self.bound_to = self.follower = None
        self.moves = False
        self.rounds = []  # of reductions
        self.quiet = []  # events that callbacks without data bring, by slot
        self.anywhere = False
        self.fed = {}  # (place, life) -> ids of the events that are sent to it; where elements die
        self.contributes_when_made = False
        self.talks = 0  # conversations
        self.twins = False  # multicasts to it and another array

    @property
    def kind(self):
        return self.type.kind

    def cpp(self, prefix=""):
        """The name of its class; CProxy_ and so on in front."""
        return f"{prefix}{self.type.name}{f'<{self.arg}>' if self.arg else ''}"

    def count(self):
        """How many objects it has, as C++."""
        return {"main": "1", "chare": "1", "group": "CkNumPes()", "nodegroup": "CkNumNodes()"}.get(self.kind) or str(self.type.size)


class Event:
    def __init__(self, number, instance, mode, cause, entry, place=None, times="1"):
        self.number, self.instance, self.mode, self.cause, self.entry, self.place, self.times = number, instance, mode, cause, entry, place, times
        self.ops = []
        self.known = set(cause.known) if cause else set()  # instances that its message carries
        self.complete = set(cause.complete) if cause else set()  # inserted arrays of which every element exists by now
        self.visible = None  # readonlys that are set; None: all
        self.inline = False  # it runs inside another one, so it neither moves nor waits
        self.constructor = False
        self.answers = None
        self.after = None
        self.noted = False
        self.join = None
        self.section = None
        self.twin = None  # the event of the other array of a section of two
        self.result = None  # (instance, round) whose reduction brings it
        self.after_quiet = cause.after_quiet if cause else False
        self.depth = cause.depth + 1 if cause else 0
        self.silent = False
        self.life = None  # (instance, place, life) of an element that counts what it gets
        self.moves = None
        self.muster = None  # the section that it is multicast to
        self.arg = None  # the type that its template entry is given
        self.talk = None  # where its entry has a body


class Op:
    def __init__(self, number, kind, guard=None, **fields):
        self.number, self.kind, self.guard = number, kind, guard
        self.__dict__.update(fields)
