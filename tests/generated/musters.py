"""Musters: sections of an array or a group that get multicasts and contribute to reductions of their own, while elements move.

A muster sends its section some multicasts, one event each. Each member contributes once for each of them, and counts that in
what it keeps, not by the multicast: two of them may change places on their way to an element that moves.
"""

from model import MANY, ALL, ONE

ROUNDS = [("sum", "int"), ("sum", "double"), ("most", "int"), ("least", "float"), ("product", "int"), ("both", "int"), ("either", "int"),
          ("set", None), ("concat", None), ("custom", None), ("nothing", None)]


class Muster:
    """Stands where an instance does, as what contributes to a reduction."""

    def __init__(self, number, instance, places, step, name):
        self.number, self.instance, self.places, self.step, self.name = number, instance, places, step, name
        self.rounds, self.delegated, self.branching = [], True, None

    def count(self):
        """How many members it has, as C++."""
        return str(len(self.places)) if self.places else f"((CkNumPes() + {self.step - 1}) / {self.step})"

    def rank(self, who):
        """Which of them an object is, as C++; -1: none."""
        if not self.places:
            return f"({who} % {self.step} == 0 ? {who} / {self.step} : -1)"
        return f"rankIn({{{', '.join(map(str, self.places))}}}, {who})"


class MusterPlans:
    """Of a Plan."""

    def single_muster(self, e, guard):
        r = self.r
        targets = [i for i in self.sends(e) if (i.kind == "group" or (i.kind == "array" and i.population in ("whole", "inserted") and i.type.size > 1)) and
                   "sec" in i.type.entries]
        if not targets or e.constructor:
            return
        i = r.choice(targets)
        places = r.sample(range(i.type.size), r.randrange(1, i.type.size + 1)) if i.kind == "array" else None
        m = Muster(1 + len(self.musters), i, places, r.choice([1, 2, 3]), f"a section of {i.name or i.type.name}")
        self.musters.append(m)
        m.delegated, m.branching = r.random() < 0.7, r.choice([None, 2, 3])
        events = []
        for _ in range(r.choice([1, 1, 2, 3])):
            c = self.child(i, e, "sec", mode=MANY, place=None, times=m.count())
            c.muster = m
            way, of = r.choice(ROUNDS)
            round = {"way": way, "of": of, "trigger": c, "event": None, "target": None}
            m.rounds.append(round)
            events += [c, self.muster_result(m, round, c)]
        self.op(e, "muster", guard, event=None, muster=m, events=events)

    def muster_result(self, m, round, c):
        r, i = self.r, m.instance
        targets = [t for t in self.instances if t.static and t.kind != "nodegroup" and t.population == "whole"] + [i]
        target = r.choice(targets)
        if round["way"] == "nothing" and len(target.quiet) >= 3:
            round["way"], round["of"] = "sum", "int"
        everyone = target.kind in ("array", "group") and r.random() < 0.4 and (target.population == "whole" or target.number in c.complete)
        e = self.event(target, ALL if everyone else ONE, c, "result", place=None if everyone else self.place(target))
        e.everyone = everyone
        if round["way"] == "nothing":
            e.entry = f"q{len(target.quiet)}"
            target.quiet.append(e)
        e.result, e.known, e.visible = (m, round), set(), None
        round["target"], round["event"] = target, e
        return e


class MusterText:
    """Of an Emitter."""

    def musters_of(self, t):
        return [(p, o.muster) for p in self.plans for e in p.events.values() for o in e.ops if o.kind == "muster" and o.muster.instance.type is t]

    def op_muster(self, p, e, o):
        m, i = o.muster, o.muster.instance
        t, section = i.type, i.cpp("CProxySection_")
        out = ["{"]
        if m.places:
            index = f"CkArrayIndex{'Key' if t.index == 'custom' else str(t.index) + 'D'}"
            out.append(f"  std::vector<{index}> members{{{', '.join(self.at(i, x) for x in m.places)}}};")
            of = "ckGetArrayID"
        else:
            out += ["  std::vector<int> members;", f"  for (int pe = 0; pe < CkNumPes(); pe += {m.step}) members.insert(members.begin(), pe);"]
            of = "ckGetGroupID"
        factor = f", {m.branching}" if m.branching and m.places else ""
        make = f"{section} s = {section}::ckNew(" if m.places else f"{section} s("  # as Charm++ has it
        out.append(f"  {make}{self.proxy(i, e)}.{of}(), members.data(), static_cast<int>(members.size()){factor});")
        delegate = "  s.ckSectionDelegate(CProxy_CkMulticastMgr(multicasts).ckLocalBranch());"
        out += [delegate] if m.delegated else ["#ifdef REFERENCE", delegate, "#endif"]
        return out + [f"  s.sec(post({c.number}, k));" for c in o.events[::2]] + ["}"]

    def answers_of(self, t):
        """What a member contributes: the next round of its section."""
        musters = self.musters_of(t)
        if not musters:
            return []
        out = [f"{t.template()}void {t.own()}::answer(int event, CkSectionInfo& cookie) {{", "  switch (plan * 1000 + event) {"]
        for p, m in musters:
            for n, c in enumerate(r["trigger"] for r in m.rounds):
                out.append(f"    case {self.key(p, c)}: rank = {m.rank('self.who')}; muster = {m.number}; break;")
        out[1:1] = ["  int rank = -1, muster = 0;"]
        out += ["  }", '  if (rank < 0) return bad(event, "a multicast comes to an object that is no member");',
                "  switch (plan * 10000 + muster * 10 + self.answered[muster]++) {"]
        manager = "CProxy_CkMulticastMgr(multicasts).ckLocalBranch()->contribute"
        # In Charm++ the section's own function takes the manager that the array has by itself, to which this one is not delegated.
        contribute = f"CProxySection_{t.own()}::contribute" if t.kind == "array" and self.heads is None else manager
        for p, m in musters:
            for n, round in enumerate(m.rounds):
                out += [f"    case {p.number * 10000 + m.number * 10 + n}: {{"] + \
                    ["      " + x for x in self.contribution(m.instance, round, contribute, "rank", ", cookie")] + ["      break;", "    }"]
        return out + ['    default: bad(event, "a multicast comes a second time");', "  }", "}"]

    def declare_musters(self, t):
        if not self.musters_of(t):
            return []
        return ["  void answer(int event, CkSectionInfo& cookie);",
                "  void sec(Post* m) {", "    const int event = m->event;", "    Known k = m->open();",
                "    CkSectionInfo& cookie = self.cookies[musterOf(event)];", "    CkGetSectionInfo(cookie, m);", "    delete m;",
                "    answer(event, cookie);", "    run(event, k);", "  }"]

    def muster_table(self):
        out = ["int musterOf(int event) {", "  switch (plan * 1000 + event) {"]
        for p in self.plans:
            for e in p.events.values():
                if e.muster:
                    out.append(f"    case {self.key(p, e)}: return {e.muster.number};")
        return out + ["  }", "  return 0;", "}"]
