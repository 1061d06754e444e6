"""Bodies of entries written down twice: as .ci, and as a walk in C++ over what the body must be sent and the steps that it must
take (talk.h)."""

from bodies import FEEDS, NAMES, NUMBERED

# How an object calls itself.
OWN = {"array": "thisProxy[thisIndex]", "group": "thisProxy[CkMyPe()]", "nodegroup": "thisProxy[CkMyNode()]"}
STREAM = 4  # calls of one


class BodyText:
    """A body in a .ci file. heads: in Charm++, where heads of statements have no calls in calls, they are macros: this lists them."""

    def __init__(self, body, type, heads=None):
        self.b, self.type, self.heads = body, type, heads
        self.own = OWN.get(type.kind, "thisProxy")
        self.main = body.name[0] == "b"
        self.depth = "0" if self.main else "depth"

    def lines(self):
        """What stands between the braces."""
        out = []
        if self.main:
            out.append(f"{self.serial('begin')} {{ scatter(event); }}")
        else:
            call = self.call("event", "depth + 1", self.b.by_message)
            out += ["if (depth < 1 + pick(event, 7, 0, 3)) {", f"  {self.serial('deeper')} {{ {call} }}", "}"]
        out += self.statements(self.b.tree, "0", 0)
        if self.main:
            check = "".join(f" checkArgument(event, {c});" for c in self.checks)
            out.append(f'{self.serial("end")} {{{check} self.talks.end(event, self.who); run(event, k); }}')
        else:
            out += ["if (depth < 1 + pick(event, 7, 0, 3)) {", "  when back[numberOf(event, depth + 1, 0, 0)](int64_t said) serial { }", "}",
                    f'{self.serial("told")} {{ {self.own}.back(numberOf(event, depth, 0, 0)); }}']
        return out

    def serial(self, label, word="serial"):
        """With a label, of which a class has no two."""
        return f'{word} "{self.b.name}_{label}"'

    def head(self, expression):
        if self.heads is None:
            return expression
        self.heads.append(expression)
        return f"HEAD_{len(self.heads) - 1}"

    def call(self, event, depth, message):
        message = message or self.heads is not None  # Charm++ ends a program that calls a body with whens as a function
        name = self.b.sub.name if self.b.sub else self.b.name
        return f"{self.own + '.' if message else ''}{name}({event}, {depth});"

    def statements(self, node, path, level):
        out, before = [], None
        for s in node.body:
            if before is not None and s.tag % 5 < 3:
                out.append(f"serial {{ self.talks.past(event, self.who, {self.depth}, {before.tag}, {before.last}, {path}, {level}); }}")
            out += getattr(self, "ci_" + s.kind)(s, path, level)
            before = s
        return out or ["serial { }"]

    def block(self, node, path, level):
        return ["  " + x for x in self.statements(node, path, level)]

    def step(self, tag, path):
        return f"self.talks.step(event, {self.depth}, {tag}, {path});"

    # -- whens -------------------------------------------------------------------------------------------------------
    def awaits(self, waits, path):
        out = []
        if self.heads is not None:  # Charm++'s translator counts those without a number in front of others wrongly
            waits = sorted(waits, key=lambda w: w[0] not in NUMBERED)
        for entry, tag in waits:
            parameters = FEEDS[entry][0].format(tag, n=self.type.number)
            number = f"[numberOf(event, {self.depth}, {tag}, {path})]" if entry in NUMBERED else ""
            out.append(f"{entry}{number}({parameters})")
        return "when " + ", ".join(out)

    def taken(self, waits, path, end):
        """C++ that looks at what came. end: it is not looked at again."""
        out = []
        for entry, tag in waits:
            x = "m%d->what" % tag if entry == "eatm" else f"what{tag}"
            if entry == "tick":
                out.append(self.step(tag, path))
            else:
                out.append(f"self.talks.{'any' if entry == 'any' else 'got'}(event, {self.depth}, {tag}, {path}, {x});")
        return out + self.looked(waits, end)

    @staticmethod
    def looked(waits, end):
        out = []
        for entry, tag in waits:
            x = "m%d->what" % tag if entry == "eatm" else f"what{tag}"
            if FEEDS[entry][2]:
                out.append(FEEDS[entry][2].format(tag, x=x))
            if entry == "eatm" and end:
                out.append(f"delete m{tag};")
        return out

    def ci_when(self, node, path, level):
        if not node.body:
            return [f"{self.awaits(node.waits, path)} {self.serial(f'when{node.tag}')} {{ {' '.join(self.taken(node.waits, path, True))} }}"]
        inner = [f"  serial {{ {' '.join(self.taken(node.waits, path, False))} }}"] + self.block(node.body[0], path, level)
        last = self.looked(node.waits, True)
        return [self.awaits(node.waits, path) + " {"] + inner + ([f"  serial {{ {' '.join(last)} }}"] if last else []) + ["}"]

    def ci_case(self, node, path, level):
        out = ["case {"]
        for w in node.body:
            out += ["  " + x for x in self.ci_when(w, path, level)]
        return out + ["}"]

    def ci_race(self, node, path, level):
        turn = f"self.talks.turn(event, {self.depth}, {node.tag}, {path})"
        one, two = ([w] for w in node.waits)
        line = lambda w, then: f"{self.awaits(w, path)} serial {{ {then}{' '.join(self.taken(w, path, True))} }}"
        return ["case {", "  " + line(one, f"{turn} = 1; "), "  " + line(two, f"{turn} = 2; "), "}",
                f"if ({self.head(f'{turn} == 1')}) {{ {line(two, '')} }}", f"else {{ {line(one, '')} }}"]

    def ci_stream(self, node, path, level):
        turn = f"self.talks.turn(event, {self.depth}, {node.tag}, {path})"
        tag, behind = (tag for _, tag in node.waits)
        what, number = (f"{of}(event, {self.depth}, {node.tag}, {path})" for of in ("whatOf", "numberOf"))
        ordered = {"array": "!mayMove(event)", "nodegroup": "false"}.get(self.type.kind, "true")
        return [f"{self.serial(f'stream{node.tag}')} {{ for (int i = 0; i < {STREAM}; ++i) {self.own}.flow({what}, i); {self.own}.lull({number}); }}",
                f"when lull[{number}]({self.type.number} number{behind}) serial {{ }}",
                self.counting(turn, STREAM),
                f"  {self.awaits(node.waits[:1], path)} serial {{ {self.step(node.tag, path)} self.talks.flowed(event, what{tag}, at{tag}, {ordered}); }}", "}"]

    # -- the others --------------------------------------------------------------------------------------------------
    def ci_serial(self, node, path, level):
        return [f"{self.serial(f'step{node.tag}', 'atomic' if node.tag % 3 == 0 else 'serial')} {{ {self.step(node.tag, path)} }}"]

    def ci_move(self, node, path, level):
        leave = f" leave(event, pick(event, {node.tag}, self.who, 1000));" if self.type.kind == "array" else ""
        return [f"{self.serial(f'move{node.tag}')} {{ {self.step(node.tag, path)}{leave} }}"]

    def ci_overlap(self, node, path, level):
        out = ["overlap {"]
        for s in node.body:
            lines = getattr(self, "ci_" + s.kind)(s, path, level)
            if s.kind in ("race", "call", "stream"):  # two statements
                lines = ["if (true) {"] + ["  " + x for x in lines] + ["}"]
            out += ["  " + x for x in lines]
        return out + ["}"]

    def ci_if(self, node, path, level):
        chance = self.b.chance(node, path, 2, "self.who", self.depth)
        out = [f"if ({self.head(f'{chance} == 1')}) {{"] + self.block(node.body[0], path, level) + ["}"]
        if len(node.body) == 2:
            out += ["else {"] + self.block(node.body[1], path, level) + ["}"]
        return out

    def ci_for(self, node, path, level):
        turn = f"self.talks.turn(event, {self.depth}, {node.tag}, {path})"
        trips = self.b.trips(node, path, "self.who", self.depth)
        return [self.counting(turn, trips)] + self.block(node.body[0], self.b.deeper(path, turn, level), level + 1) + ["}"]

    def counting(self, turn, trips):
        return f"for ({self.head(f'{turn} = 0')}; {self.head(f'{turn} < {trips}')}; {self.head(f'++{turn}')}) {{"

    def ci_while(self, node, path, level):
        turn = f"self.talks.turn(event, {self.depth}, {node.tag}, {path})"
        trips = self.b.trips(node, path, "self.who", self.depth)
        return [f"while ({self.head(f'{turn} < {trips}')}) {{"] + self.block(node.body[0], self.b.deeper(path, turn, level), level + 1) + [f"  serial {{ ++{turn}; }}", "}"]

    def ci_forall(self, node, path, level):
        i = f"i{node.tag}"
        trips = self.b.trips(node, path, "self.who", self.depth)
        inner = self.block(node.body[0], self.b.deeper(path, f"({i} - ({node.start})) / ({node.stride})", level), level + 1)
        end = self.head(f"{node.start} + ({trips} - 1) * ({node.stride})")
        loop = [f"forall [{i}] ({node.start} : {end}, {node.stride}) {{"] + inner + ["}"]
        # An empty one runs nothing here; in Charm++ it would run from its end to its start.
        return loop if node.trips not in ("0", "chance") else [f"if ({self.head(f'{trips} > 0')}) {{"] + ["  " + x for x in loop] + ["}"]

    def ci_call(self, node, path, level):
        return [f"{self.serial(f'call{node.tag}')} {{ {self.step(node.tag, path)} {self.call('event', '1', node.message)} }}",
                "when back[numberOf(event, 1, 0, 0)](int64_t said) serial { }"]


class WalkText:
    """The same body as a C++ function that visits its steps, and what it waits for."""

    def __init__(self, body):
        self.b = body
        self.main = body.name[0] == "b"
        self.depth = "0" if self.main else "depth"

    def lines(self, type):
        name = f"walk{type.name}{self.b.name}"
        head = f"template <class V>\nvoid {name}(int event, int who, int depth, V& v) {{"
        out = [head, "  static_cast<void>(who), static_cast<void>(depth);"]
        if not self.main:
            out += ["  if (depth < 1 + pick(event, 7, 0, 3))", f"    {name}(event, who, depth + 1, v);"]
        self.type = type
        return out + ["  " + x for x in self.statements(self.b.tree, "0", 0)] + ["}"]

    def statements(self, node, path, level):
        out = []
        for s in node.body:
            out += getattr(self, "walk_" + s.kind, self.walk_step)(s, path, level)
        return out

    def walk_step(self, node, path, level):
        return [f"v.step({self.depth}, {node.tag}, {path});"]

    def walk_when(self, node, path, level):
        out = []
        for entry, tag in node.waits:
            out += [f"v.food({NAMES.index(entry)}, {self.depth}, {tag}, {path});", f"v.step({self.depth}, {tag}, {path});"]
        return out + (self.statements(node.body[0], path, level) if node.body else [])

    walk_race = walk_when

    def walk_stream(self, node, path, level):
        return [f"for (int i = 0; i < {STREAM}; ++i) v.step({self.depth}, {node.tag}, {path});"]

    def walk_overlap(self, node, path, level):
        return self.statements(node, path, level)

    def walk_case(self, node, path, level):
        out = [f"switch ({self.b.chance(node, path, len(node.body), 'who', self.depth)}) {{"]
        for n, w in enumerate(node.body):
            out += [f"  case {n}:"] + ["    " + x for x in self.walk_when(w, path, level)] + ["    break;"]
        return out + ["}"]

    def walk_if(self, node, path, level):
        out = [f"if ({self.b.chance(node, path, 2, 'who', self.depth)} == 1) {{"] + self.inner(node.body[0], path, level) + ["}"]
        if len(node.body) == 2:
            out += ["else {"] + self.inner(node.body[1], path, level) + ["}"]
        return out

    def inner(self, node, path, level):
        return ["  " + x for x in self.statements(node, path, level)]

    def walk_for(self, node, path, level):
        i = f"i{node.tag}"
        trips = self.b.trips(node, path, "who", self.depth)
        return [f"for (int {i} = 0; {i} < {trips}; ++{i}) {{"] + self.inner(node.body[0], self.b.deeper(path, i, level), level + 1) + ["}"]

    walk_while = walk_forall = walk_for

    def walk_call(self, node, path, level):
        return self.walk_step(node, path, level) + [f"walk{self.type.name}{self.b.sub.name}(event, who, 1, v);"]
