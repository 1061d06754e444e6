"""Plans of random programs: which collections there are, what makes them, and what each event does.

A shape is a set of types (chares, groups, arrays) with their entry methods; a plan is a tree of events over it. Both come
from a seed and nothing else. emit.py writes them down as .ci and C++; what an answer must be is known here.
"""

import random
import re

from model import ALL, ARGUMENTS, MANY, ONE, Event, Instance, Op
from musters import MusterPlans
from talks import TalkPlans, drop_broken

WAYS = [("sum", "int"), ("sum", "int"), ("sum", "double"), ("sum", "float"), ("sum", "long"), ("most", "int"), ("most", "double"), ("least", "int"),
        ("least", "float"), ("product", "double"), ("product", "int"), ("both", "int"), ("either", "int"),
        ("set", None), ("concat", None), ("tuple", None), ("custom", None), ("nothing", None)]


class Plan(TalkPlans, MusterPlans):
    """One program of a shape."""

    def __init__(self, shape, seed, budget=None):
        self.shape, self.seed, self.number = shape, seed, seed  # number: of the plan among those of a program
        self.r = r = random.Random(f"plan {shape.seed} {seed}")
        self.instances, self.events, self.ops, self.lives = [], {}, 0, {}
        # Charm++ 8.0.1 makes arrays on PE 0 only.
        self.anywhere = r.random() < 0.4
        self.exit_by_callback = r.random() < 0.3
        self.budget = budget or r.choice([12, 20, 30, 45, 70])
        self.dynamic = 0
        self.musters = []
        self.made = None  # numbers of the instances that there are; None: all
        main = self.instance(self.shape.types["Main"], True, "whole")
        main.name = "mainProxy"
        self.start = Event(0, main, ONE, None, None, place="0")
        self.events[0] = self.start
        self.start.visible = {0}
        self.queue = []
        self.begin()
        while self.queue:
            self.expand(self.queue.pop(r.randrange(len(self.queue)) if r.random() < 0.3 else 0))

    # -- parts -------------------------------------------------------------------------------------------------------
    def instance(self, type, static, population):
        i = Instance(len(self.instances), type, static, population)
        i.arg = self.r.choice(type.instantiations) if type.instantiations else None
        self.instances.append(i)
        return i

    def event(self, instance, mode, cause, entry, **named):
        e = Event(len(self.events), instance, mode, cause, entry, **named)
        self.events[e.number] = e
        self.queue.append(e)
        return e

    def op(self, at, kind, guard=None, **fields):
        o = Op(self.ops, kind, guard, **fields)
        self.ops += 1
        at.ops.append(o)
        return o

    def left(self):
        return len(self.events) < self.budget

    # -- the mainchare's constructor ---------------------------------------------------------------------------------
    def begin(self):
        r, types = self.r, self.shape.types
        wanted = [t for t in types.values() if t.kind in ("array", "group", "nodegroup", "chare") and t.name != "B0"]
        r.shuffle(wanted)
        named = {}
        for t in wanted:
            for _ in range(r.choice([0, 1, 1, 1, 2] if t.kind != "chare" else [0, 0, 1])):
                slot = named[t.name] = named.get(t.name, -1) + 1
                self.make(self.start, t, name=f"{t.name.lower()}_{slot}")
                if r.random() < 0.3 and self.left():
                    self.single(self.start, None)
        for _ in range(r.choice([2, 3, 5])):
            self.single(self.start, None)

    def visible(self, event):
        """Instances that code of an event can name."""
        out = [i for i in self.instances if i.static and (event.visible is None or i.number in event.visible)]
        out += [self.instances[n] for n in sorted(event.known)]
        if event.instance not in out and event.instance.kind != "main":
            out.append(event.instance)
        return out

    def make(self, event, type, guard=None, name=None):
        """An instance, made by event. Its constructors' event, and those of its elements."""
        r, static = self.r, name is not None
        population = "whole"
        if type.kind == "array":
            population = "whole" if not type.sparse else "demand" if type.make else r.choice(["inserted", "inserted", "mortal"])
        i = self.instance(type, static, population)
        i.name = name if i.arg is None or name is None else f"{name}_{re.sub('[^a-z]', '', i.arg)}"
        if not static:
            self.dynamic += 1
        if type.kind == "array":
            i.moves = r.random() < 0.6
            i.map = r.choice([None, None, "own", "rr" if not type.sparse else "own"])
        binds = population == "whole" and type.name == "A0" and "B0" in self.shape.types and r.random() < 0.6
        depends = None
        if type.kind in ("group", "chare") and not static and r.random() < 0.5:
            # (What runs in one itself knows it by thisProxy, and need not have been told of it.)
            groups = [g for g in self.visible(event) if g.kind == "group" and not g.static and g is not event.instance]
            depends = r.choice(groups) if groups else None
        o = self.op(event, "make", guard, instance=i, event=None, inserts=[], depends=depends,
                    pe=r.choice([None, None, r.randrange(8)]), step=r.random() < 0.5, finish=True)
        if population == "whole":
            mode = ONE if type.kind == "chare" else ALL
            e = self.event(i, mode, event, "constructor", place="0" if mode == ONE else None)
            self.constructor(e, event)
            o.event = e
            # Elements that others will be bound to cause nothing before those are there; what Main makes is there at once.
            e.silent = binds and not static
            if not e.silent and type.kind in ("array", "group", "nodegroup") and r.random() < 0.45:
                self.contribute(e, i)
        if population == "inserted":
            # every element is inserted by its maker; its constructor reports to Main, whose join knows that all are there
            e = self.event(i, ALL, event, "constructor")
            self.constructor(e, event)
            o.event = e
            o.join = self.join(e, i)
            if r.random() < 0.5:
                self.contribute(e, i)
        if event.visible is not None and static:
            event.visible.add(i.number)
        elif not static:
            event.known.add(i.number)
        if binds:
            self.bind(event, i, guard)
        return i

    def bind(self, event, leader, guard):
        r = self.r
        b = self.instance(self.shape.types["B0"], leader.static, "whole")
        b.name = leader.name.replace("a0", "b0") if leader.static else None
        b.bound_to, leader.follower = leader, b
        b.moves = leader.moves
        o = self.op(event, "make", guard, instance=b, event=None, inserts=[], depends=None, pe=None, step=False, finish=True)
        e = self.event(b, ALL, event, "constructor")
        self.constructor(e, event)
        o.event = e
        e.silent = not leader.static
        if not leader.static:
            # They are used once all of them are there: until then a leader that moved would be apart from its follower.
            together = self.join(e, b)
            together.known.add(leader.number)
            together.complete.add(leader.number)
        if r.random() < 0.4:
            self.contribute(e, b)
        if event.visible is not None and leader.static:
            event.visible.add(b.number)
        if not leader.static:
            event.known.discard(leader.number)

    def constructor(self, e, cause):
        e.constructor = e.inline = True
        if not e.instance.static:
            e.known.add(e.instance.number)
        e.visible = set(cause.visible) if cause.visible is not None else None

    def join(self, cause, instance):
        """An event of Main that is there when all elements of instance have been made; the op that reports is cause's."""
        main = self.instances[0]
        e = self.event(main, ONE, cause, "h0", place="0")
        e.visible = None
        e.join = instance.count()
        e.complete.add(instance.number)
        if not instance.static:
            e.known.add(instance.number)
        self.op(cause, "send", None, event=e)
        return e

    def contribute(self, event, instance):
        r = self.r
        if len(instance.rounds) >= 6:
            return
        way, of = r.choice(WAYS)
        if instance.kind == "nodegroup" and way == "nothing":
            way, of = "sum", "int"
        index = len(instance.rounds)
        round = {"way": way, "of": of, "trigger": event, "event": None, "target": None}
        instance.rounds.append(round)
        o = self.op(event, "contribute", None, round=round)
        # Instances that all contributors can name, whatever event brings them to it.
        targets = [i for i in self.instances if i.static and i.kind != "nodegroup" and i.population == "whole"]
        if event.visible is not None:
            targets = [i for i in targets if i.number in event.visible]
        if instance.kind in ("array", "group"):
            targets.append(instance)
        target = r.choice(targets) if r.random() < 0.7 else self.instances[0]
        if r.random() < 0.06:
            round["target"] = "ignore"
            return o
        if r.random() < 0.1 and way != "nothing":
            round["target"], round["way"], round["of"] = "function", "sum", "int"
            e = Event(len(self.events), self.instances[0], ONE, event, "function", place="-1")
            self.events[e.number] = e
        else:
            round["target"] = target
            everyone = target.kind in ("array", "group") and r.random() < 0.4
            slot = way == "nothing"
            if slot and len(target.quiet) >= 3:
                round["way"], round["of"], slot = "sum", "int", False
            place = None if everyone else self.place(target)
            e = self.event(target, ALL if everyone else ONE, event, "result", place=place)
            e.everyone = everyone
            if slot:
                e.entry = f"q{len(target.quiet)}"
                target.quiet.append(e)
        e.result = (instance, round)
        e.known = set()
        e.visible = None
        e.complete.add(instance.number)
        round["event"] = e
        return o

    def place(self, instance):
        """Which object of an instance, as C++."""
        r = self.r
        if instance.kind in ("main", "chare"):
            return "0"
        if instance.kind == "group":
            return r.choice(["0", "0", f"{r.randrange(8)} % CkNumPes()"])
        if instance.kind == "nodegroup":
            return f"{r.randrange(4)} % CkNumNodes()"
        return str(r.randrange(instance.type.size))

    # -- what an event does ------------------------------------------------------------------------------------------
    def expand(self, e):
        r = self.r
        i = e.instance
        if e.entry == "function" or e.silent:
            return
        counted = i.population in ("mortal",)
        if e.mode == ALL:
            if not counted and not e.constructor and r.random() < (0.5 if i.kind != "nodegroup" else 0.4) and self.all_once(e):
                self.contribute(e, i)
            if self.left() and r.random() < 0.35:
                self.each(e)
            if self.left() and r.random() < 0.7:
                for _ in range(r.choice([1, 1, 2])):
                    # The mainchare's constructor is not over yet on PE 0, so what it has not set is not named.
                    self.single(e, self.guard(i))
        elif e.mode == MANY:
            if self.left() and r.random() < 0.3:
                self.each(e)
        else:
            n = r.choice([0, 1, 1, 2, 3]) if e.depth > 1 else r.choice([1, 2, 3])
            for _ in range(n):
                if self.left():
                    self.single(e, None)
        if i.kind == "array" and i.moves and not e.inline and e.entry not in ("ask", "th") and r.random() < 0.6:
            e.moves = (r.choice([1, 3, 5]), r.randrange(8))

    def all_once(self, e):
        return e.times == "1" and (e.instance.population == "whole" or e.instance.number in e.complete)

    def guard(self, i):
        if i.kind == "group":
            return self.r.choice(["0", f"{self.r.randrange(7)} % CkNumPes()"])
        if i.kind == "nodegroup":
            return "0"
        return str(self.r.randrange(i.type.size))

    def sends(self, e, everyone=False):
        """Instances to which e may send."""
        out = []
        for i in self.visible(e):
            if i.population == "mortal":
                continue
            if everyone and i.population != "whole" and i.number not in e.complete:
                continue
            out.append(i)
        return out

    def entry(self, i, e, everyone=False):
        r = self.r
        names = ["h0", "h0", "h1", "m0", "f0"] + (["tk"] if "tk" in i.type.entries else [])
        if not everyone and i.kind != "nodegroup":
            names += ["th"] if i.kind in ("main", "chare", "group") or not (i.bound_to or i.follower) else []
            if not e.constructor and not e.instance.kind == "main" and i.kind not in ("main",):
                names += ["inl"]
            if not e.constructor and e is not self.start and i.kind == "array":
                names += ["loc"]
        elif i.kind in ("group", "array") and not (i.bound_to or i.follower):
            names += ["th"]
        if i.population == "demand":
            names = ["make"]
        name = r.choice(names)
        if name == "f0" and (e.known or not i.static):
            name = "m0"
        return name

    def options(self):
        r = self.r
        return r.choice([None, None, None, ("int", r.randrange(-50, 50)), ("bits", r.randrange(1 << 16)), ("lifo", None)])

    def each(self, e):
        """All that run e send to one of a collection."""
        r = self.r
        targets = self.sends(e)
        targets = [t for t in targets if t.population != "demand"]
        if not targets:
            return
        i = r.choice(targets)
        c = self.event(i, MANY, e, self.entry(i, e), place=None, times=self.times(e))
        c.arg = ARGUMENTS[c.number % len(ARGUMENTS)]
        if c.entry in ("inl", "loc"):
            c.entry = "h0"
        c.visible = None
        self.op(e, "send", None, event=c, each=(r.choice([1, 3]), r.randrange(5)), options=self.options())

    def times(self, e):
        if e.mode == ALL:
            return e.instance.count() if e.times == "1" else f"{e.times} * {e.instance.count()}"
        return e.times

    def single(self, e, guard):
        """An operation that one object does once."""
        r = self.r
        choices = ["send"] * 5 + ["broadcast"] * 5 + ["talk"] * 4 + ["section"] * 2 + ["muster"] * 2 + ["make"] * 3 + ["mortal"] * 2 + ["quiet", "function", "callback", "callback"]
        if e.entry == "th" and not e.inline and e.mode == ONE:
            choices += ["wait"] * 12 + ["yield"] * 2
        getattr(self, "single_" + r.choice(choices))(e, guard)

    def child(self, i, e, entry, **named):
        c = self.event(i, named.pop("mode", ONE), e, entry, **named)
        c.arg = ARGUMENTS[c.number % len(ARGUMENTS)]
        c.visible = None
        if entry in ("inl", "loc"):
            c.inline = True
            c.visible = None if e.visible is None else set(e.visible)
        return c

    def single_send(self, e, guard):
        r = self.r
        targets = self.sends(e)
        if not targets:
            return
        i = r.choice(targets)
        entry = self.entry(i, e)
        if entry == "make" and i.type.make == "createhere":
            places = [p for p in range(i.type.size) if p not in i.fed]
            if not places:
                return
            place = r.choice(places)
            i.fed[place] = True
            place = str(place)
        else:
            place = self.place(i)
        c = self.child(i, e, entry, place=place)
        self.op(e, "send", guard, event=c, options=self.options() if entry not in ("inl", "loc") else None)

    def single_broadcast(self, e, guard):
        r = self.r
        targets = [i for i in self.sends(e, everyone=True) if i.kind in ("array", "group", "nodegroup") and i.population != "demand"]
        arrays = [i for i in targets if i.kind == "array"]
        if not targets:
            return
        i = r.choice(arrays if arrays and r.random() < 0.6 else targets)
        before = None
        for _ in range(r.choice([1, 1, 2, 3])):
            entry = self.entry(i, e, everyone=True)
            if entry == "inl":
                entry = "h0"
            c = self.child(i, e, entry, mode=ALL, place=None)
            options = self.options() if r.random() < 0.3 else None
            self.op(e, "send", guard, event=c, options=options)
            ordered = i.kind == "array" and i.type.entries[entry].plain() and options is None and entry != "th"
            if ordered and before is not None:
                c.after = before
                before.noted = True
            before = c if ordered else None

    def single_section(self, e, guard):
        r = self.r
        targets = [i for i in self.sends(e) if i.kind == "array" and i.population in ("whole", "inserted") and i.type.size > 1]
        if not targets:
            return
        i = r.choice(targets)
        places = sorted(r.sample(range(i.type.size), r.randrange(1, i.type.size)))
        c = self.child(i, e, r.choice(["h0", "m0"]), mode=MANY, place=None, times=str(len(places)))
        c.section = places
        others = [j for j in targets if j is not i and j.type is i.type]
        if others and not i.type.instantiations:
            self.cross(e, c, others)
        self.op(e, "section", guard, event=c, places=places)

    def cross(self, e, c, others):
        """The section has elements of another array of the type, too."""
        r = random.Random(f"cross {self.shape.seed} {self.seed} {c.number}")
        i = r.choice(others)
        places = sorted(r.sample(range(i.type.size), r.randrange(1, i.type.size)))
        c.twin = self.child(i, e, c.entry, mode=MANY, place=None, times=str(len(places)))
        c.twin.section = places
        i.twins = True

    def single_make(self, e, guard):
        r = self.r
        if not self.left() or self.dynamic >= 8:
            return
        kinds = ["chare", "chare", "group", "nodegroup"]
        on_first = e.instance.kind == "main" or (e.instance.kind == "group" and e.mode == ONE and e.place == "0") or \
            (e.instance.kind == "group" and guard == "0" and e.mode == ALL)
        if self.anywhere or on_first:
            kinds += ["array"] * 3
        kind = r.choice(kinds)
        types = [t for t in self.shape.types.values() if t.kind == kind and t.name != "B0"]
        i = self.make(e, r.choice(types), guard)
        i.anywhere = not on_first
        if i.follower is not None:
            i.follower.anywhere = not on_first
        if guard is not None:
            # What is known inside the guard only is used there, and forgotten.
            for _ in range(r.choice([1, 2])):
                if i.number in e.known:
                    self.use(e, guard, i)
            self.forget(e, i)
        elif i.number in e.known and r.random() < 0.8:
            self.use(e, guard, i)

    def forget(self, e, i):
        for j in (i, i.follower):
            if j is not None:
                e.known.discard(j.number)

    def use(self, e, guard, i):
        if i.population == "mortal":
            return
        # What made an array has inserted all that it has: what is sent to all behind that reaches each of them.
        everyone = i.kind in ("array", "group", "nodegroup") and i.population in ("whole", "inserted") and self.r.random() < 0.6
        entry = self.entry(i, e, everyone)
        if entry in ("inl", "loc"):
            entry = "h0"
        if entry == "make" and i.type.make == "createhere":
            return
        c = self.child(i, e, entry, mode=ALL if everyone else ONE, place=None if everyone else self.place(i))
        self.op(e, "send", guard, event=c, options=None)

    def single_mortal(self, e, guard):
        """A life of an element: it is inserted, gets messages and dies; perhaps its index is used again afterwards."""
        r = self.r
        targets = [i for i in self.visible(e) if i.population == "mortal"]
        if not targets or not self.left():
            return
        i = r.choice(targets)
        place = len(i.fed)
        if place >= i.type.size:
            return
        i.fed[place] = True
        self.life(e, guard, i, place, again=r.random() < 0.5)

    def life(self, e, guard, i, place, again):
        r = self.r
        feeds = r.choice([1, 2, 3])
        before = r.randrange(feeds + 1) if r.random() < 0.4 else 0
        life = {"feeds": feeds, "again": None, "instance": i, "place": place}
        for n in range(feeds + 1):
            if n == before:
                c = self.child(i, e, "constructor", place=str(place))
                c.constructor = c.inline = True
                c.visible = None if e.visible is None else set(e.visible)
                c.life = life
                self.op(e, "insert", guard, event=c, pe=r.choice([None, None, r.randrange(8)]))
            if n < feeds:
                c = self.child(i, e, r.choice(["h0", "m0"]), place=str(place))
                c.life = life
                self.op(e, "send", guard, event=c, options=None)
        if again:
            main = self.instances[0]
            c = self.event(main, ONE, e, "h0", place="0")
            c.visible = None
            if not i.static:
                c.known.add(i.number)
            life["again"] = c
            self.life(c, None, i, place, False)
        self.lives[(i.number, place, again)] = life

    def single_quiet(self, e, guard):
        r = self.r
        if e.after_quiet:
            return
        targets = [i for i in self.sends(e) if i.kind not in ("nodegroup",) and i.population == "whole" and len(i.quiet) < 3]
        if not targets:
            return
        i = r.choice(targets)
        everyone = i.kind in ("array", "group") and r.random() < 0.4
        c = self.child(i, e, f"q{len(i.quiet)}", mode=ALL if everyone else ONE, place=None if everyone else self.place(i))
        i.quiet.append(c)
        c.known = set()
        c.after_quiet = True
        self.op(e, "quiet", guard, event=c)

    def single_function(self, e, guard):
        c = Event(len(self.events), self.instances[0], ONE, e, "function", place="-1")
        self.events[c.number] = c
        self.op(e, "function", guard, event=c)

    def single_callback(self, e, guard):
        """A message through a callback to an entry of any kind of object."""
        r = self.r
        targets = [i for i in self.sends(e, True) if i.kind != "nodegroup" and i.population != "demand"]
        if not targets:
            return
        i = r.choice(targets)
        everyone = i.kind in ("array", "group") and r.random() < 0.4
        c = self.child(i, e, "m0", mode=ALL if everyone else ONE, place=None if everyone else self.place(i))
        self.op(e, "callback", guard, event=c)

    def single_yield(self, e, guard):
        self.op(e, "yield", guard)

    def single_wait(self, e, guard):
        """A thread waits for an answer."""
        r = self.r
        how = r.choice(["callback", "future", "later", "sync", "quiet", "made"])
        if how == "quiet":
            if e.after_quiet or any(o.kind == "wait" for o in e.ops):
                return
            c = Event(len(self.events), e.instance, ONE, e, "mark", place=e.place)
            self.events[c.number] = c
            c.after_quiet = True
            self.op(e, "wait", guard, how=how, event=c)
            e.after_quiet = True
            return
        if how == "made":
            if not (self.anywhere or e.instance.kind == "main"):
                return
            types = [t for t in self.shape.types.values() if t.kind == "array" and not t.sparse and t.name != "B0"]
            i = self.instance(r.choice(types), False, "whole")
            i.anywhere = e.instance.kind != "main"
            i.moves = r.random() < 0.5
            c = self.event(i, ALL, e, "constructor")
            self.constructor(c, e)
            i.rounds.append({"way": "sum", "of": "int", "trigger": c, "event": None, "target": "answer"})
            self.op(c, "contribute", None, round=i.rounds[0])
            self.op(e, "wait", guard, how=how, event=c, instance=i)
            e.known.add(i.number)
            return
        targets = [i for i in self.sends(e) if i.kind not in ("nodegroup",) and i.population != "demand"]
        if how == "sync":
            targets = [i for i in targets if i.kind != "main"]
        if not targets:
            return
        i = r.choice(targets)
        entry = {"sync": "ask", "later": "hf"}.get(how, "h0")
        c = self.child(i, e, entry, place=self.place(i))
        c.answers = how
        self.op(e, "wait", guard, how=how, event=c)


# -- what follows from a plan --------------------------------------------------------------------------------------------


def primaries(plan):
    """Events that follow from no quiescence. A result of round k does when k + 1 of what contributes does."""
    primary = {0}
    changed = True
    while changed:
        changed = False
        for e in plan.events.values():
            if e.number in primary:
                continue
            if e.entry == "mark" or (e.entry and e.entry[0] == "q" and not e.result):
                continue
            if e.result:
                i, round = e.result
                k = i.rounds.index(round)
                yes = sum(1 for t in i.rounds if t["trigger"].number in primary) > k
            else:
                yes = e.cause.number in primary and not quiet_before(e.cause, e)
            if yes:
                primary.add(e.number)
                changed = True
    return primary


def quiet_before(cause, e):
    """Whether the thread that brings e waits for quiescence first."""
    waited = False
    for o in cause.ops:
        if getattr(o, "event", None) is e:
            return waited
        if o.kind == "wait" and o.how == "quiet":
            waited = True
    return waited


def ours_alone(plan):
    """Whether the plan makes an array away from PE 0, or uses bodies of templates, which Charm++ 8.0.1 cannot."""
    return any(i.kind == "array" and i.anywhere for i in plan.instances) or \
        any(e.talk and e.instance.type.instantiations for e in plan.events.values())


def one_pe_in_charm(plan):
    """Whether the plan has what Charm++ 8.0.1 loses on more than one PE: elements that are made by what is sent to them, and
    contributions of elements that are inserted, in their constructors."""
    return any(i.population == "demand" or (i.population == "inserted" and i.rounds and i.rounds[0]["trigger"].constructor) for i in plan.instances)


def prune(plan, dropped):
    """The plan without the operations whose numbers are in dropped, and without what follows from them."""
    for e in plan.events.values():
        e.ops = [o for o in e.ops if o.number not in dropped]
    while True:
        events, made = reachable(plan)
        before = sum(len(e.ops) for e in plan.events.values())
        for e in plan.events.values():
            e.ops = [o for o in e.ops if e.number in events and possible(o, events, made)] if e.number in events else []
        lives = {}
        for e in plan.events.values():
            for o in e.ops:
                if getattr(o, "event", None) is not None and o.event.life:
                    lives.setdefault(id(o.event.life), []).append(o.event.entry)
        for e in plan.events.values():
            e.ops = [o for o in e.ops if not (getattr(o, "event", None) is not None and o.event.life and
                                              len(lives[id(o.event.life)]) < o.event.life["feeds"] + 1)]
        drop_broken(plan, events)
        if sum(len(e.ops) for e in plan.events.values()) == before:
            break
    for i in plan.instances:
        kept = {id(o.round) for e in plan.events.values() for o in e.ops if o.kind == "contribute"}
        i.rounds = [r for r in i.rounds if id(r) in kept]
        for r in i.rounds:
            if isinstance(r["target"], Instance) and r["target"].number not in made:
                r["target"], r["event"] = "ignore", None
    events, made = reachable(plan)
    plan.events = {n: e for n, e in plan.events.items() if n in events}
    plan.made = made
    for e in plan.events.values():
        if e.after is not None and e.after.number not in plan.events:
            e.after = None
        if e.visible is not None:
            e.visible &= made
        if e.life and e.life["again"] is not None and e.life["again"].number not in plan.events:
            e.life["again"] = None
    for i in plan.instances:
        if i.follower is not None and i.follower.number not in made:
            i.follower = None
    return plan


def possible(o, events, made):
    """Whether the instances that an operation names are there."""
    if o.kind == "make":
        return (o.instance.bound_to is None or o.instance.bound_to.number in made) and (o.depends is None or o.depends.number in made)
    if o.kind == "wait" and o.how == "made":
        return True
    if o.kind == "muster":
        return o.muster.instance.number in made and all(e.instance.number in made for e in o.events)
    e = getattr(o, "event", None)
    return e is None or (e.instance.number in made and (e.twin is None or e.twin.instance.number in made))


def reachable(plan):
    """Events that are brought about, and instances that are made."""
    events, made, todo = {0}, {0}, [plan.start]
    while todo:
        e = todo.pop()
        for o in e.ops:
            if o.kind == "make" or (o.kind == "wait" and o.how == "made"):
                made.add(o.instance.number)
            for f in brought_by(o):
                if f.number not in events:
                    events.add(f.number)
                    todo.append(f)
    return events, made


def brought_by(o):
    """The events that an operation brings about."""
    if o.kind == "muster":
        return o.events
    e = o.round["event"] if o.kind == "contribute" else getattr(o, "event", None)
    again = e.life["again"] if e is not None and e.life else None
    twin = e.twin if e is not None else None
    return [f for f in (e, again, twin) if f is not None]
