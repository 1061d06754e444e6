"""Bodies of entries (SDAG): random trees of statements.

Statements have numbers (tags), in the order of the text; loops count in digits of two bits, of which a path has three. body_texts.py
writes bodies down.
"""

import random

TAGS, LEVELS = 62, 3
# What whens wait for: parameters, what is sent, and the check of what came. {0}: the number of the statement; {n}: the type of numbers
# of reference; {x}: what it is told.
FEEDS = {
    "eat": ("{n} number{0}, int what{0}", "number, f.what", None),
    "eatv": ("{n} number{0}, int what{0}, std::vector<int> v{0}", "number, f.what, vectorFor(f.what % 997)", "checkFed(event, {x}, v{0});"),
    "eata": ("{n} number{0}, int what{0}, int n{0}, double a{0}[n{0}]", "number, f.what, static_cast<int>(a.size()), a.data()",
             "checkFed(event, {x}, n{0}, a{0});"),
    "eatm": ("Feed* m{0}", "feed(f)", "m{0}->check();"),
    "any": ("std::string s{0}, int what{0}", "textFor(f.what % 997), f.what", "checkFed(event, {x}, s{0});"),
    "tick": ("", "", None),
    # These an object sends itself.
    "flow": ("int what{0}, int at{0}", "", None),
    "lull": ("{n} number{0}", "", None),
}
NAMES = [n for n in FEEDS if n not in ("flow", "lull")]
NUMBERED = ["eat", "eat", "eatv", "eata", "eatm"]


class Node:
    def __init__(self, kind, tag, body=(), **fields):
        self.kind, self.tag, self.body = kind, tag, list(body)
        self.__dict__.update(fields)


class Body:
    """The body of one entry. sub: another of its type that it calls; uniform: nothing in it depends on the object."""

    def __init__(self, r, name, uniform, sub, feeds):
        self.r, self.name, self.uniform, self.sub, self.feeds = r, name, uniform, sub, feeds
        self.tags, self.calls = 0, False
        self.extras = r.sample(["vector", "string", "point", "array"], r.choice([0, 0, 1])) if name[0] == "b" else []
        self.by_message = r.random() < 0.5
        self.tree = self.sequence(0, r.choice([2, 3, 4]))
        if not self.awaits():  # Charm++'s translator ends where a class waits for nothing
            self.tree.body.append(self.make_when(0))
            self.tree.body[-1].last = self.tree.last = self.tags - 1
        assert self.tags <= 64, "statements have numbers of six bits"

    def awaits(self, node=None):
        """The entries that its whens wait for."""
        node = node or self.tree
        out = {entry for entry, _ in getattr(node, "waits", ())}
        for n in node.body:
            out |= self.awaits(n)
        return out

    def tag(self):
        self.tags += 1
        return self.tags - 1

    # -- trees -------------------------------------------------------------------------------------------------------
    def sequence(self, level, length):
        node = Node("sequence", self.tag())
        for _ in range(length):
            if self.tags < TAGS - 20:
                node.body.append(self.statement(level))
        node.last = self.tags - 1
        return node

    def statement(self, level):
        r = self.r
        kinds = ["when"] * 6 + ["serial", "overlap", "overlap", "if", "if", "case", "race", "move", "stream"]
        if level < LEVELS:
            kinds += ["for", "while", "forall", "forall"]
        if level == 0 and self.sub is not None and not self.calls:
            kinds += ["call"] * 4
        node = getattr(self, "make_" + r.choice(kinds))(level)
        node.last = self.tags - 1
        return node

    def inner(self, level, most=2):
        return self.sequence(level, self.r.choice(range(1, most + 1)))

    def awaited(self, numbered=False):
        """The entry of a when and its tag."""
        names = [n for n in NUMBERED if n in self.feeds] + ([] if numbered else [n for n in ("any", "tick") if n in self.feeds])
        return (self.r.choice(names), self.tag())

    def make_when(self, level):
        r = self.r
        tag = self.tag()
        waits = [self.awaited() for _ in range(r.choice([1, 1, 1, 2, 3]))]
        body = [self.inner(level)] if r.random() < 0.4 and self.tags < TAGS - 24 else []
        return Node("when", tag, body, waits=waits)

    def make_serial(self, level):
        return Node("serial", self.tag())

    def make_move(self, level):
        return Node("move", self.tag())

    def make_overlap(self, level):
        tag = self.tag()
        return Node("overlap", tag, [self.statement(level) if self.tags < TAGS - 20 else self.short() for _ in range(self.r.choice([2, 2, 3]))])

    def short(self):
        node = self.make_serial(LEVELS)
        node.last = node.tag
        return node

    def make_if(self, level):
        tag = self.tag()
        return Node("if", tag, [self.inner(level) for _ in range(self.r.choice([1, 2]))])

    def make_case(self, level):
        """One of its whens is sent something."""
        tag = self.tag()
        branches = [Node("when", self.tag(), [self.inner(level, 1)] if self.r.random() < 0.3 and self.tags < TAGS - 24 else [],
                         waits=[self.awaited(True) for _ in range(self.r.choice([1, 1, 2]))]) for _ in range(self.r.choice([2, 3]))]
        for b in branches:
            b.last = self.tags - 1
        return Node("case", tag, branches)

    def make_race(self, level):
        """Both come; that which the case has not taken is waited for behind it."""
        return Node("race", self.tag(), waits=[self.awaited(True), self.awaited(True)])

    def make_stream(self, level):
        """The object sends itself some calls, and takes them when all are there: in that order, if it stays where it is."""
        return Node("stream", self.tag(), waits=[("flow", self.tag()), ("lull", self.tag())])

    def loop(self, kind, level):
        tag = self.tag()
        trips = self.r.choice(["0", "1", "2", "3", "4", "chance", "chance"])
        return Node(kind, tag, [self.inner(level + 1)], trips=trips)

    def make_for(self, level):
        return self.loop("for", level)

    def make_while(self, level):
        return self.loop("while", level)

    def make_forall(self, level):
        node = self.loop("forall", level)
        node.stride, node.start = self.r.choice([1, 1, 2, -1, -3]), self.r.choice([0, 0, 1, -5, 7])
        return node

    def make_call(self, level):
        """Another body, as a function or by a message; it tells when it is over."""
        self.calls = True
        return Node("call", self.tag(), message=self.r.random() < 0.5)

    # -- what both texts need ----------------------------------------------------------------------------------------
    def chance(self, node, path, n, who, depth):
        return f"pick(event, placeOf({depth}, {node.tag}, {path}), {'0' if self.uniform else who}, {n})"

    def trips(self, node, path, who, depth):
        return self.chance(node, path, 5, who, depth) if node.trips == "chance" else node.trips

    @staticmethod
    def deeper(path, index, level):
        return f"{path} + (({index}) << {4 - 2 * level})" if path != "0" else f"(({index}) << {4 - 2 * level})"


def bodies_of(shape, type):
    """The bodies of a type: by name; b: those that a plan begins, s: what they call, which calls itself."""
    r = random.Random(f"bodies {shape.seed} {type.name}")
    uniform = r.random() < 0.5
    feeds = [n for n in NAMES if r.random() < 0.6 or n in ("eat", "eatv", "eata") or (n == "eatm" and shape.number_base >> 32 <= 0)]
    if shape.number_base >> 32 > 0:
        feeds = [n for n in feeds if n != "eatm"]
    sub = Body(r, "s0", uniform, None, feeds) if r.random() < 0.6 else None
    out = {"s0": sub} if sub else {}
    for name in ("b0", "b1")[:r.choice([1, 1, 2])]:
        out[name] = Body(r, name, uniform, sub, feeds)
    return out
