"""Conversations: events whose entries have bodies (bodies.py), and what others send to the whens of them.

What a body waits for is sent in parts: by the event that begins it, before or after that; by others that it brings about;
and by objects that run the same body. No part waits for another one, so any order of arrival must do.
"""

from bodies import FEEDS, NAMES
from body_texts import OWN, BodyText, WalkText
from model import ALL, ONE

CONVERSATIONS = 16  # of an instance: more would not fit into a number of reference


class Talk:
    """What an event's body is fed by. parts: how many; inner: the step to the object that each one feeds, or None."""

    def __init__(self, body, number):
        self.body, self.number, self.parts, self.inner = body, number, 0, None
        self.orders = 0  # to move, with each part
        self.pieces = 0  # operations without which it could not end

    def part(self):
        self.parts += 1
        return self.parts - 1


class TalkPlans:
    """Of a Plan."""

    def talk_targets(self, e):
        return [i for i in self.sends(e) if i.type.bodies and i.population in ("whole", "inserted") and i.talks < CONVERSATIONS]

    def single_talk(self, e, guard):
        targets = self.talk_targets(e)
        # Others that feed it have to know it.
        targets = [i for i in targets if i.static or i.kind == "main" or i.number in e.known]
        if targets:
            self.talk(e, guard, self.r.choice(targets))

    def talk(self, e, guard, i):
        r = self.r
        name = r.choice([n for n in i.type.bodies if n[0] == "b"])
        everyone = i.kind in ("array", "group", "nodegroup") and (i.population == "whole" or i.number in e.complete) and r.random() < 0.5
        c = self.child(i, e, name, mode=ALL if everyone else ONE, place=None if everyone else self.place(i))
        t = c.talk = Talk(i.type.bodies[name], i.talks)
        i.talks += 1
        t.orders = r.choice([0, 1, 3]) if i.moves else 0
        ways = r.choice([["here"], ["here", "here"], ["relay"], ["here", "relay"], ["relay", "relay", "here"], ["inner"], ["inner", "here"], ["inner", "relay"]])
        begin = r.randrange(len(ways) + 1)
        for n in range(len(ways) + 1):
            if n == begin:
                self.op(e, "send", guard, event=c, options=self.options())
            if n < len(ways):
                getattr(self, "feed_" + ways[n])(e, guard, c)

    def feed_here(self, e, guard, c):
        c.talk.pieces += 1
        together = self.r.choice([None, "broadcast", "section"]) if c.mode == ALL and c.talk.body.uniform else None
        if together == "section" and c.instance.kind != "array":
            together = "broadcast"
        self.op(e, "feed", guard, event=None, to=c, part=c.talk.part(), together=together)

    def feed_relay(self, e, guard, c):
        targets = [i for i in self.sends(e) if i.population != "demand" and (i.static or i.kind == "main" or i.number in e.known)]
        i = self.r.choice(targets)
        relay = self.child(i, e, self.r.choice(["h0", "m0"]), place=self.place(i))
        self.op(e, "send", guard, event=relay, options=self.options())
        self.feed_here(relay, None, c)

    def feed_inner(self, e, guard, c):
        if c.talk.inner is not None:
            return self.feed_here(e, guard, c)
        c.talk.inner = (c.talk.part(), self.r.choice([0, 1, 1, 2, 5]) if c.mode == ALL else 0)


def drop_broken(plan, events):
    """Leaves out conversations that miss what feeds them."""
    feeds, begun = {}, set()
    for e in plan.events.values():
        for o in e.ops:
            if o.kind == "feed" and e.number in events:
                feeds[o.to.number] = feeds.get(o.to.number, 0) + 1
            if o.kind == "send" and o.event.talk:
                begun.add(o.event.number)

    def whole(c):
        return c.number in begun and feeds.get(c.number, 0) == c.talk.pieces

    for e in plan.events.values():
        e.ops = [o for o in e.ops if not (o.kind == "feed" and not whole(o.to)) and not (o.kind == "send" and o.event.talk and not whole(o.event))]


class TalkText:
    """Of an Emitter."""

    def talkers(self):
        return [t for t in self.types if self.bodies_used(t)]

    def bodies_used(self, t):
        used = [b for n, b in t.bodies.items() if n in self.used[t.name]]
        subs = {b.sub.name: b.sub for b in used if b.sub is not None and b.calls}
        return used + list(subs.values())

    def awaited(self, t):
        """The entries that whens of a type wait for: without a when, one would be a method."""
        return sorted(set().union(*(b.awaits() for b in self.bodies_used(t))), key=list(FEEDS).index)

    def conversations(self):
        return [(p, e) for p in self.plans for e in p.events.values() if e.talk]

    # -- .ci ---------------------------------------------------------------------------------------------------------
    def ci_bodies(self, t):
        out = []
        exclusive = "[exclusive] " if t.kind == "nodegroup" else ""
        if not self.bodies_used(t):
            return out
        for b in self.bodies_used(t):
            text = BodyText(b, t, self.heads)
            text.checks = [self.CHECK[x] for x in b.extras]
            parameters = self.parameters(t.entries[b.name], True) if b.name[0] == "b" else "int event, int depth"
            threaded = "[threaded] " if t.threaded and b.name[0] == "b" else ""
            out += [f"    entry {exclusive}{threaded}void {b.name}({parameters}) {{"] + ["      " + x for x in text.lines()] + ["    };"]
        for name in self.awaited(t):
            parameters = FEEDS[name][0].format("", n=t.number)
            attributes = exclusive if exclusive else "[expedited] " if name == t.expedited else ""
            out.append(f"    entry {attributes}void {name}({parameters});")
        if any(b.calls for b in self.bodies_used(t)):
            out.append(f"    entry {exclusive}void back(int64_t said);")
        if t.kind == "array":
            out.append("    entry void roam(int event, int where);")
        return out

    # -- C++ ---------------------------------------------------------------------------------------------------------
    def talk_tables(self):
        out = ["int64_t numberOf(int event, int depth, int tag, int path) {",
               f"  return INT64_C({self.shape.number_base}) + conversationOf(event) * 16384 + placeOf(depth, tag, path);", "}"]
        for t in self.talkers():
            for b in sorted(self.bodies_used(t), key=lambda b: -ord(b.name[0])):  # those that are called come first
                out += WalkText(b).lines(t)
        out += ["template <class V>", "void walk(int event, int who, V& v) {", "  switch (plan * 1000 + event) {"]
        out += [f"    case {self.key(p, e)}: return walk{e.instance.type.name}{e.talk.body.name}(event, who, 0, v);" for p, e in self.conversations()]
        out += ["  }", "}", "std::vector<int> stepsOf(int event, int who) {", "  Steps s;", "  walk(event, who, s);", "  return s.places;", "}",
                "std::vector<Food> foodsOf(int event, int who) {", "  Foods f{event, {}};", "  walk(event, who, f);", "  return f.all;", "}"]
        out += ["int conversationOf(int event) {", "  switch (plan * 1000 + event) {"]
        out += [f"    case {self.key(p, e)}: return {e.talk.number};" for p, e in self.conversations()]
        out += ["  }", "  return 0;", "}", "bool mayMove(int event) {", "  switch (plan * 1000 + event) {"]
        movers = [f"    case {self.key(p, e)}:" for p, e in self.conversations() if e.instance.moves]
        out += movers + (["      return true;"] if movers else []) + ["  }", "  return false;", "}"]
        for t in self.talkers():
            out += self.feeder(t)
        return out

    def feeder(self, t):
        out = ["template <class To>", f"void feed{t.name}(To to, const Food& f) {{", f"  const auto number = static_cast<{t.number}>(f.number);",
               "  switch (f.entry) {"]
        for name in self.awaited(t):
            if name not in NAMES:
                continue
            n = NAMES.index(name)
            before = "const std::vector<double> a = doublesFor(f.what % 997); " if name == "eata" else ""
            out.append(f"    case {n}: {{ {before}to.{name}({FEEDS[name][1]}); break; }}")
        if t.kind == "array":
            out.append("    default: to.roam(f.what / 16384, f.what);")
        return out + ["  }", "  static_cast<void>(number);", "}"]

    def declare_talks(self, t):
        if not self.bodies_used(t):
            return []
        out = ["  void scatter(int event);"]
        if t.kind == "array":
            # The element leaves when the block of its body is over; in Charm++ it may not leave from there.
            out += ["  void roam(int, int where) { move(where); }", "#ifndef REFERENCE", "  void leave(int event, int where) { if (mayMove(event)) move(where); }", "#else",
                    "  void leave(int event, int where) { if (mayMove(event)) thisProxy[thisIndex].roam(event, where); }", "#endif"]
        return out

    def scatter_of(self, t):
        """What objects that run a body send to others that run it."""
        if not self.bodies_used(t):
            return []
        out = [f"{t.template()}void {t.own()}::scatter(int event) {{", "  switch (plan * 1000 + event) {"]
        for p, e in self.conversations():
            if e.instance.type is t and e.talk.inner is not None:
                part, step = e.talk.inner
                to = OWN.get(t.kind, "thisProxy") if e.mode == ONE else f"thisProxy[{f'{t.own()}::at(to)' if t.kind == 'array' else 'to'}]"
                who = "self.who" if e.mode == ONE else f"(self.who + {step}) % {e.instance.count()}"
                out.append(f"    case {self.key(p, e)}: {{ const int to = {who}; for (const Food& f : portionOf(event, to, {part}, {e.talk.parts}, {e.talk.orders})) "
                           f"feed{t.name}({to}, f); break; }}")
        return out + ["  }", "}"]

    def op_feed(self, p, e, o):
        c, t = o.to, o.to.instance.type
        portion = lambda who: f"for (const Food& f : portionOf({c.number}, {who}, {o.part}, {c.talk.parts}, {c.talk.orders}))"
        feed = f"feed{t.name}"
        if c.mode == ONE:
            return [f"{portion(c.place)} {feed}({self.element(c.instance, e, c.place)}, f);"]
        if o.together == "broadcast":
            return [f"{portion('0')} {feed}({self.proxy(c.instance, e)}, f);"]
        if o.together == "section":
            section = c.instance.cpp("CProxySection_")
            return ["{", "  std::vector<CkArrayIndex> members;", f"  for (int to = 0; to < {t.size}; ++to) members.push_back({self.at(c.instance, 'to')});",
                    f"  {section} s = {section}::ckNew({self.proxy(c.instance, e)}.ckGetArrayID(), members.data(), static_cast<int>(members.size()));",
                    f"  {portion('0')} {feed}(s, f);", "}"]
        return [f"for (int to = 0; to < {c.instance.count()}; ++to)", f"  {portion('to')} {feed}({self.element(c.instance, e, 'to')}, f);"]
