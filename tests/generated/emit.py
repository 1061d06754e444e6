"""Plans written down: one module of a shape's types and the code of some of its plans, chosen by the first argument."""

import re

from plan import ALL, MANY, ONE, primaries

FIELDS = {1: None, 2: "xy", 3: "xyz", 4: "wxyz", 5: "vwxyz", 6: ["x1", "y1", "z1", "x2", "y2", "z2"]}
PARAMETER = {"vector": "std::vector<int> v", "string": "std::string s", "map": "std::map<int, std::string> w", "point": "Point t", "double": "double d",
             "array": "int n, double a[n]"}
ARGUMENT = {"vector": "vectorFor({0})", "string": "textFor({0})", "map": "mapFor({0})", "point": "pointFor({0})", "double": "{0} * 0.125",
            "array": "static_cast<int>(doublesFor({0}).size()), doublesFor({0}).data()"}
CHECK = {"vector": "v", "string": "s", "map": "w", "point": "t", "double": "d", "array": "n, a"}


class Emitter:
    def __init__(self, shape, plans, name):
        self.shape, self.plans, self.name = shape, plans, name
        self.types = [t for t in shape.types.values() if any(i.type is t for p in plans for i in self.instances(p))]
        self.used = {t.name: self.entries_used(t) for t in self.types}
        self.statics = {}
        for p in plans:
            for i in self.instances(p):
                if i.static and i.kind != "main":
                    self.statics[i.name] = i.type

    @staticmethod
    def instances(p):
        return [i for i in p.instances if p.made is None or i.number in p.made]

    def entries_used(self, t):
        used = set()
        for p in self.plans:
            for e in p.events.values():
                if e.instance.type is t:
                    if e.entry == "result":
                        used.add(self.result_entry(e))
                    elif e.entry:
                        used.add(e.entry)
                for o in e.ops:
                    if o.kind == "send" and o.event.instance.type is t and o.event.entry == "loc":
                        used.add("h0")
        if t.kind == "main":
            used.add("h0")
        return used

    @staticmethod
    def result_entry(e):
        round = e.result[1]
        if round["way"] in ("set", "concat", "tuple"):
            return "red_" + round["way"]
        return "red_" + (round["of"] or "int")

    # -- .ci ---------------------------------------------------------------------------------------------------------
    def ci(self):
        out = [f"mainmodule {self.name} {{", '  include "scene.h";', "  readonly int plan;", "  readonly int magic;", "  readonly CProxy_Main mainProxy;",
               "  readonly CProxy_Judge judge;", "  readonly CkCallback landing;"]
        out += [f"  readonly CProxy_{t.name} {n};" for n, t in sorted(self.statics.items())]
        out += ["  initnode void registerReducer();", "  message Mail { char bytes[]; int numbers[]; };", "  message Card;", "  group Judge { entry Judge(); entry void report(); };",
                "  group OwnMap : CkArrayMap { entry OwnMap(int factor); };"]
        for t in self.types:
            out += self.ci_type(t)
        return "\n".join(out + ["};", ""])

    def ci_type(self, t):
        head = {"main": "mainchare", "chare": "chare", "group": "group", "nodegroup": "nodegroup"}.get(t.kind)
        if t.kind == "array":
            head = f"array [{'Key' if t.index == 'custom' else str(t.index) + 'D'}]"
        out = [f"  {head} {t.name} {{"]
        if t.kind == "main":
            out += ["    entry Main(CkArgMsg* m);", "    entry void quiet();", "    entry void settled();",
                    "    entry void gather(int pe, std::vector<Run> runs, std::vector<std::string> said);"]
        else:
            out.append(f"    entry {t.name}(int event, Known k);")
        if t.make:
            out.append(f"    entry {t.name}();")
        used = self.used[t.name]
        for e in t.entries.values():
            if e.name in used:
                attributes = f"[{', '.join(e.attributes)}] " if e.attributes else ""
                result = "int" if e.form == "sync" else "void"
                out.append(f"    entry {attributes}{result} {e.name}({self.parameters(e, True)});")
        for q in sorted(u for u in used if re.fullmatch(r"q\d", u)):
            out.append(f"    entry void {q}();")
        for x in sorted(u for u in used if u.startswith("red_")):
            of = x[4:]
            if of in ("set", "concat", "tuple"):
                out.append(f"    entry void {x}(CkReductionMsg* m);")
            else:
                out.append(f"    entry [reductiontarget] void {x}(int n, {of} v[n]);")
        return out + ["  };"]

    @staticmethod
    def parameters(e, ci):
        if e.form == "message":
            return "Mail* m"
        if e.form == "fixed":
            return "Card* m"
        if e.form == "later":
            return "int event, Known k, ck::future<int> f"
        if e.form == "local":
            return "int event, Known k"
        parts = ["int event", "Known k"] + [PARAMETER[x] for x in e.extras]
        text = ", ".join(parts)
        return text if ci else text.replace("double a[n]", "double* a")

    # -- C++ ---------------------------------------------------------------------------------------------------------
    def cpp(self):
        out = ['#include "scene.h"', "struct Mail;", "struct Card;", f'#include "{self.name}.decl.h"', "",
               "int plan, magic;", "CProxy_Main mainProxy;", "CProxy_Judge judge;", "CkCallback landing;"]
        out += [f"CProxy_{t.name} {n};" for n, t in sorted(self.statics.items())]
        out.append(PRELUDE)
        out += self.tables()
        for t in self.types:
            out += self.declare(t)
        for t in self.types:
            out += self.run_of(t)
            out += self.next_of(t)
        out += self.main_constructor()
        out.append(CLOSING)
        out += [f'#include "{self.name}.def.h"', ""]
        return "\n".join(out)

    def tables(self):
        out = ["// By plan and event: how many contribute to it, and how; its collection; what it must have been in the end.",
               "int contributorsOf(int event) {", "  switch (plan * 1000 + event) {"]
        ways = ["Way wayOf(int event) {", "  switch (plan * 1000 + event) {"]
        where = ["int instanceOf(int event) {", "  switch (plan * 1000 + event) {"]
        expected = ["std::vector<Expected> expectations() {", "  switch (plan) {"]
        quiets = ["int quietEvent(int instance, int slot) {", "  switch (plan * 1000 + instance * 10 + slot) {"]
        for p in self.plans:
            lines = []
            primary = primaries(p)
            for e in p.events.values():
                if e.number == 0:
                    continue
                if e.result:
                    out.append(f"    case {self.key(p, e)}: return {e.result[0].count()};")
                    way = e.result[1]["way"]
                    if way in ("sum", "most", "least", "product", "both", "either", "custom"):
                        ways.append(f"    case {self.key(p, e)}: return {'sum' if way == 'custom' else way};")
                where.append(f"    case {self.key(p, e)}: return {e.instance.number};")
                count = e.instance.count()
                times = e.join or (f"{e.times} * {count}" if e.mode == ALL else e.times)
                each = count if e.mode == ALL else "0"
                place = e.place if e.mode == ONE and not e.join else "-1"
                lines.append(f"        {{{e.number}, {times}, {each}, {place}, {'true' if e.number in primary else 'false'}, \"{self.title(e)}\"}},")
            expected += [f"    case {p.number}:", "      return {"] + lines + ["      };"]
            for i in self.instances(p):
                for s, e in enumerate(i.quiet):
                    quiets.append(f"    case {p.number * 1000 + i.number * 10 + s}: return {e.number};")
        return out + ["  }", "  return -1;", "}"] + ways + ["  }", "  return sum;", "}"] + where + ["  }", "  return -1;", "}"] + quiets + \
            ["  }", "  return -1;", "}"] + expected + ["  }", "  return {};", "}"]

    @staticmethod
    def title(e):
        to = f"{e.instance.name or e.instance.type.name + ' no. ' + str(e.instance.number)}"
        what = "broadcast " if e.mode == ALL and e.entry != "constructor" else ""
        if e.section:
            what = "multicast "
        if e.result:
            what = f"reduction ({e.result[1]['way']}) of {e.result[0].name or 'no. ' + str(e.result[0].number)} to "
        return f"{what}{to}.{e.entry}"

    @staticmethod
    def key(plan, e):
        return plan.number * 1000 + e.number

    def at(self, t, linear):
        return f"{t.name}::at({linear})"

    def declare(self, t):
        used = self.used[t.name]
        migrates = t.kind == "array"
        out = [f"struct {t.name} : CBase_{t.name} {{", "  Self self;"]
        if t.kind == "nodegroup":
            out.append("  std::atomic<int> inside{0};  // its entries are exclusive")
        if t.kind == "main":
            out += ["  std::map<int, int> arrived;", "  std::vector<Run> all;", "  std::vector<std::string> said;",
                    "  int reports = 0, settles = 0;", "  double quietAt = 0;", "  Main(CkArgMsg* m);", "  void quiet();", "  void settled();",
                    "  void gather(int pe, std::vector<Run> runs, std::vector<std::string> s);", "  void judgeAll();"]
        else:
            place = {"chare": "0", "group": "CkMyPe()", "nodegroup": "CkMyNode()"}.get(t.kind, "linear(thisIndex)")
            out += [f"  {t.name}(int event, Known k) {{ self.begin(instanceOf(event), {place}); run(event, k); }}"]
        if t.make:
            out.append(f"  {t.name}() {{}}")
        if migrates:
            out += [f"  {t.name}(CkMigrateMessage*) {{}}", "  void pup(PUP::er& p) { p | self; }"]
            out += self.indices(t)
            out += ["  void move(int pe) {", "    if (self.waiting == 0) migrateMe(((pe % CkNumPes()) + CkNumPes()) % CkNumPes());", "  }"]
        out += ["  void run(int event, Known& k);", "  void next(Known& k);"]
        for p in self.plans:
            out += [f"  void event{self.key(p, e)}(int event, Known& k);" for e in p.events.values()
                    if e.instance.type is t and e.number and e.entry not in ("function", "mark") and self.body(p, e)]
            out += [f"  void give{p.number * 10000 + i.number * 100 + r}(Known& k);" for i in self.instances(p) if i.type is t for r in range(len(i.rounds))]
        for e in t.entries.values():
            if e.name in used:
                out.append(self.entry(t, e))
        for q in sorted(u for u in used if re.fullmatch(r"q\d", u)):
            out.append(f"  void {q}() {{ Known k; run(quietEvent(self.instance, {q[1]}), k); }}")
        for x in sorted(u for u in used if u.startswith("red_")):
            of = x[4:]
            if of in ("set", "concat", "tuple"):
                out.append(f"  void {x}(CkReductionMsg* m) {{ const int event = check{of.capitalize()}(m); delete m; Known k; run(event, k); }}")
            else:
                out.append(f"  void {x}(int n, {of}* v) {{ Known k; run(checkResult(n, v), k); }}")
        return out + ["};"]

    def indices(self, t):
        d = t.dims
        step, offset = t.sparse or (1, 0)
        if t.index == "custom":
            return [f"  static CkArrayIndexKey at(int i) {{ Key k; k.a = i * {step} + {offset}; k.b = static_cast<int16_t>(i - 3); k.c = 77; return CkArrayIndexKey(k); }}",
                    f"  static int linear(const Key& k) {{ return (k.a - ({offset})) / {step}; }}"]
        parts, div = [], 1
        for n in reversed(d):
            parts.insert(0, f"(i / {div} % {n}) * {step} + {offset}")
            div *= n
        if t.index == 1:
            return [f"  static CkArrayIndex1D at(int i) {{ return CkArrayIndex1D({parts[0]}); }}",
                    f"  static int linear(int x) {{ return (x - ({offset})) / {step}; }}"]
        text = "0"
        for f, n in zip(FIELDS[t.index], d):
            text = f"({text}) * {n} + (x.{f} - ({offset})) / {step}"
        cast = "" if t.index < 4 else "static_cast<short>"
        return [f"  static CkArrayIndex{t.index}D at(int i) {{ return CkArrayIndex{t.index}D({', '.join(f'{cast}({p})' for p in parts)}); }}",
                f"  static int linear(const CkIndex{t.index}D& x) {{ return {text}; }}"]

    def entry(self, t, e):
        check = "".join(f" checkArgument(event, {CHECK[x]});" for x in e.extras)
        if e.form == "message":
            keep = "" if "nokeep" in e.attributes else ""
            return f"  void {e.name}(Mail* m) {{ const int event = m->event; Known k = m->open(); delete m;{keep} run(event, k); }}"
        if e.form == "fixed":
            return f"  void {e.name}(Card* m) {{ const int event = m->event; delete m; Known k; run(event, k); }}"
        if e.form == "later":
            return f"  void {e.name}(int event, Known k, ck::future<int> f) {{ run(event, k); f.set(event); }}"
        if e.form == "sync":
            return f"  int {e.name}(int event, Known k) {{ run(event, k); return event * 3; }}"
        if e.form == "local":
            return f"  void {e.name}(int event, Known k) {{ run(event, k); }}"
        if "threaded" in e.attributes:
            return f"  void {e.name}({self.parameters(e, False)}) {{ ++self.waiting; run(event, k); --self.waiting;{check} }}"
        return f"  void {e.name}({self.parameters(e, False)}) {{{check} run(event, k); }}"

    # -- events ------------------------------------------------------------------------------------------------------
    def run_of(self, t):
        begin = "" if t.kind != "array" else f"  if (self.instance < 0) self.begin(instanceOf(event), linear(thisIndex));\n"
        out = [f"void {t.name}::run(int event, Known& k) {{", begin + "  saw(event, self.who);",
               '  if (magic != 4711 || self.instance != instanceOf(event)) bad(event, magic != 4711 ? "a readonly is not set" : "it came to another collection");',
               "  self.checkBody(event);"]
        if t.kind == "nodegroup":
            out += ['  if (inside++ != 0) bad(event, "another exclusive entry runs");', "  const Leaving leaving{inside};"]
        out.append("  switch (plan * 1000 + event) {")
        bodies = []  # functions of their own: a thread's stack is small, and unoptimized code has a place for each variable
        for p in self.plans:
            for e in p.events.values():
                if e.instance.type is t and e.number and e.entry not in ("function", "mark"):
                    body = self.body(p, e)
                    if body:
                        out.append(f"    case {self.key(p, e)}: return event{self.key(p, e)}(event, k);")
                        bodies += [f"/// {self.title(e)}", f"void {t.name}::event{self.key(p, e)}(int event, Known& k) {{"] + \
                            ["  " + line for line in body] + ["}"]
        return out + ["    default: break;", "  }", "}"] + bodies

    def proxy(self, i, e, local=None):
        if i.kind == "main":
            return "mainProxy"
        if i.static and not (i is e.instance and e.constructor):  # in which it may not be set yet
            return i.name
        if i is e.instance:
            return f"CProxy_{i.type.name}(thisProxy)" if i.kind != "chare" else "thisProxy"
        return f"CProxy_{i.type.name}(k.{'chare' if i.kind == 'chare' else 'group'}({i.number}))"

    def element(self, i, e, place):
        p = self.proxy(i, e)
        if i.kind in ("main", "chare"):
            return p
        if i.kind == "array":
            return f"{p}[{self.at(i.type, place)}]"
        return f"{p}[{place}]"

    def body(self, p, e):
        out = []
        if e.join:
            out.append(f"if (++arrived[event] < {e.join}) return;")
        if e.constructor and not e.instance.static:
            out.append({"array": f"k.add({e.instance.number}, thisProxy.ckGetArrayID());", "chare": f"k.add({e.instance.number}, thisProxy.ckGetChareID());"}
                       .get(e.instance.kind, f"k.add({e.instance.number}, thisProxy.ckGetGroupID());"))
        if e.after:
            out.append(f"self.after({e.after.number}, event);")
        if e.noted:
            out.append("self.note(event);")
        statics = [i for i in self.instances(p) if i.static and i.kind in ("group", "nodegroup") and (e.visible is None or i.number in e.visible) and
                   i is not e.instance]
        for i in statics[:2]:
            out.append(f'need({i.name}.ckLocalBranch(), event, "{i.name}");')
        i = e.instance
        for other, name in ((i.bound_to, "its leader"), (i.follower if not e.constructor else None, "its follower")):
            if other:
                proxy = other.name if other.static else None
                if proxy is None and other.number in e.known:
                    proxy = f"CProxy_{other.type.name}(k.group({other.number}))"
                if proxy and (other.static is False or e.visible is None or other.number in e.visible):
                    out.append(f'with({proxy}[thisIndex].ckLocal(), event, "{other.type.name} {name}");')
        for o in e.ops:
            lines = self.operation(p, e, o)
            if o.guard is not None:
                out += [f"if (self.who == {o.guard}) {{"] + ["  " + x for x in lines] + ["}"]
            else:
                out += lines
        if e.answers == "callback":
            out.append("k.callbacks.back().send(mail(event, k));")
        if e.answers == "future":
            out.append("CkSendToFuture(k.futures.back(), mail(event, k));")
        if e.life and e.entry != "constructor":
            again = e.life["again"]
            out.append(f"if (++self.got == {e.life['feeds']}) {{")
            if again is not None:
                out.append(f"  {self.send(p, e, again, 'k', None)}")
            out += ["  ckDestroy();", "  return;", "}"]
        if e.moves:
            out.append(f"return move(self.who * {e.moves[0]} + {e.moves[1]});")
        return out

    def arguments(self, entry, e, k):
        return ", ".join([str(e.number), k] + [ARGUMENT[x].format(e.number) for x in entry.extras])

    def target(self, e, c, each=None):
        i = c.instance
        if c.mode == ALL:
            return self.proxy(i, e)
        place = c.place
        if c.mode == MANY:
            place = f"(self.who * {each[0]} + {each[1]}) % ({i.count()})" if each else "0"
        return self.element(i, e, place)

    def send(self, p, e, c, k, options, each=None):
        to = self.target(e, c, each)
        if c.entry == "loc":
            entry = c.instance.type.entries["loc"]
            h0 = c.instance.type.entries["h0"]
            return f"if ({to}.ckLocal()) {to}.loc({c.number}, {k}); else {to}.h0({self.arguments(h0, c, k)});"
        entry = c.instance.type.entries[c.entry]
        kind = options[0] if options else None
        if entry.form in ("message", "fixed"):
            make = f"mail({c.number}, {k}" if entry.form == "message" else f"card({c.number}"
            if kind == "int":
                make += f", {options[1]}"
            text = f"{to}.{c.entry}({make}));"
            return text
        arguments = self.arguments(entry, c, k)
        if kind and "expedited" not in entry.attributes and "inline" not in entry.attributes:
            setting = {"int": f"o.setPriority({options[1]});", "bits": f"const unsigned int bits = {options[1]}; o.setPriority(16, &bits);",
                       "lifo": "o.setQueueing(CK_QUEUEING_LIFO);"}[kind]
            return f"{{ CkEntryOptions o; {setting} {to}.{c.entry}({arguments}, &o); }}"
        return f"{to}.{c.entry}({arguments});"

    def operation(self, p, e, o):
        name = getattr(self, "op_" + o.kind)
        return name(p, e, o)

    def op_send(self, p, e, o):
        return [self.send(p, e, o.event, "k", getattr(o, "options", None), getattr(o, "each", None))]

    def op_section(self, p, e, o):
        c, t = o.event, o.event.instance.type
        entry = t.entries[c.entry]
        index = f"CkArrayIndex{'Key' if t.index == 'custom' else str(t.index) + 'D'}"
        arguments = f"mail({c.number}, k)" if entry.form == "message" else self.arguments(entry, c, "k")
        list = ", ".join(self.at(t, x) for x in o.places)
        return ["{", f"  std::vector<{index}> members{{{list}}};",
                f"  CProxySection_{t.name} s = CProxySection_{t.name}::ckNew({self.proxy(c.instance, e)}.ckGetArrayID(), members.data(), static_cast<int>(members.size()));",
                f"  s.{c.entry}({arguments});", "}"]

    def op_contribute(self, p, e, o):
        return ["next(k);"]

    def op_make(self, p, e, o):
        i, t, c = o.instance, o.instance.type, o.event
        number = c.number if c else None
        add = "" if i.static else f"k.add({i.number}, made.{'ckGetArrayID' if t.kind == 'array' else 'ckGetChareID' if t.kind == 'chare' else 'ckGetGroupID'}());"
        keep = [f"  {i.name} = made;"] if i.static else ["  " + add]
        out = ["{"]
        if t.kind == "chare":
            pe = "CK_PE_ANY" if o.pe is None else f"{o.pe} % CkNumPes()"
            options = ""
            if o.depends:
                out.append(f"  CkEntryOptions o; o.addGroupDepID(k.group({o.depends.number}));")
                options = ", &o"
            out += ["  CkChareID id;", f"  CProxy_{t.name}::ckNew({number}, k, &id, {pe}{options});", f"  CProxy_{t.name} made(id);"]
        elif t.kind in ("group", "nodegroup"):
            options = ""
            if o.depends:
                out.append(f"  CkEntryOptions o; o.addGroupDepID(k.group({o.depends.number}));")
                options = ", &o"
            out.append(f"  CProxy_{t.name} made = CProxy_{t.name}::ckNew({number}, k{options});")
        else:
            out += self.new_array(e, i, number, o)
        return out + keep + ["}"]

    def new_array(self, e, i, number, o, k="k"):
        t = i.type
        out = []
        if i.population == "whole":
            out.append(f"  CkArrayOptions o({', '.join(map(str, t.dims))});")
        else:
            out.append("  CkArrayOptions o;")
        out.append("  o.setSectionAutoDelegate(false);")  # with it, Charm++ wants messages of a base class of its own
        if i.bound_to:
            out.append(f"  o.bindTo({self.proxy(i.bound_to, e)});")
        elif i.map:
            out.append(f"  o.setMap({ {'own': f'CProxy_OwnMap::ckNew({self.shape.map_factor})', 'rr': 'RoundRobin::ckNew()'}[i.map]});")
        arguments = f"{number}, {k}, " if i.population == "whole" else ""
        out.append(f"  CProxy_{t.name} made = CProxy_{t.name}::ckNew({arguments}o);" if arguments else f"  CProxy_{t.name} made = CProxy_{t.name}::ckNew(o);")
        if i.population == "inserted":
            if o.step:
                out.append("  made.beginInserting();")
            pe = "" if o.pe is None else f", (i + {o.pe}) % CkNumPes()"
            out.append(f"  for (int i = 0; i < {t.size}; ++i) made[{self.at(t, 'i')}].insert({number}, {k}{pe});")
        if i.population in ("inserted", "mortal") and o.finish:
            out.append("  made.doneInserting();")
        return out

    def op_insert(self, p, e, o):
        c = o.event
        pe = "" if o.pe is None else f", {o.pe} % CkNumPes()"
        return [f"{self.element(c.instance, e, c.place)}.insert({c.number}, k{pe});"]

    def callback(self, c, e, entry, function="CkIndex"):
        """A callback to the event's object or objects. entry: the index of its entry method."""
        i = c.instance
        if i.kind in ("main", "chare"):
            return f"CkCallback({entry}, {self.proxy(i, e)})"
        if c.mode == ALL:
            return f"CkCallback({entry}, {self.proxy(i, e)})"
        return f"CkCallback({entry}, {self.element(i, e, c.place)})"

    def op_quiet(self, p, e, o):
        c = o.event
        return [f"CkStartQD({self.callback(c, e, f'CkIndex_{c.instance.type.name}::{c.entry}()')});"]

    def op_function(self, p, e, o):
        return [f"CkCallback(landed, reinterpret_cast<void*>({o.event.number}L)).send(mail({o.event.number}, k));"]

    def op_callback(self, p, e, o):
        c = o.event
        return [f"{self.callback(c, e, f'CkIndex_{c.instance.type.name}::m0(nullptr)')}.send(mail({c.number}, k));"]

    def op_yield(self, p, e, o):
        return ["CthYield();"]

    def op_wait(self, p, e, o):
        c = o.event
        if o.how == "quiet":
            return ["CkWaitQD();", f"saw({c.number}, self.who);"]
        if o.how == "callback":
            return ["{", "  void* answer = nullptr;", "  {", "    CkCallbackResumeThread resume(answer);", "    Known asked = k.answering(resume);",
                    "    " + self.send(p, e, c, "asked", None), "  }",
                    f"  if (static_cast<Mail*>(answer)->event != {c.number}) bad({c.number}, \"another answer\");", "  delete static_cast<Mail*>(answer);", "}"]
        if o.how == "future":
            return ["{", "  CkFuture future = CkCreateFuture();", "  Known asked = k.answering(future);", "  " + self.send(p, e, c, "asked", None),
                    "  Mail* answer = static_cast<Mail*>(CkWaitFuture(future));", f"  if (answer->event != {c.number}) bad({c.number}, \"another answer\");",
                    "  delete answer;", "  CkReleaseFuture(future);", "}"]
        if o.how == "later":
            return ["{", "  ck::future<int> future;", f"  {self.target(e, c)}.hf({c.number}, k, future);",
                    f"  if (future.get() != {c.number}) bad({c.number}, \"another answer\");", "  future.release();", "}"]
        if o.how == "sync":
            return [f"if ({self.target(e, c)}.ask({c.number}, k) != {c.number} * 3) bad({c.number}, \"another answer\");"]
        i = o.instance  # made
        return ["{", "  void* answer = nullptr;", "  {", "    CkCallbackResumeThread resume(answer);", "    Known asked = k.answering(resume);"] + \
            ["  " + x for x in self.new_array(e, i, c.number, o, "asked")] + [f"    k.add({i.number}, made.ckGetArrayID());", "  }",
             "  CkReductionMsg* m = static_cast<CkReductionMsg*>(answer);",
             f"  if (*static_cast<int*>(m->getData()) != {i.count()}) bad({c.number}, \"a thread waits for a reduction over {i.count()} and gets \" + std::to_string(*static_cast<int*>(m->getData())));",
             "  delete m;", "}"]

    # -- contributions -----------------------------------------------------------------------------------------------
    def next_of(self, t):
        lines, bodies = [], []
        for p in self.plans:
            for i in self.instances(p):
                if i.type is t:
                    for r, round in enumerate(i.rounds):
                        key = p.number * 10000 + i.number * 100 + r
                        lines.append(f"    case {key}: return give{key}(k);")
                        bodies += [f"void {t.name}::give{key}(Known& k) {{"] + ["  " + x for x in self.give(p, i, round)] + ["}"]
        if not lines:
            return [f"void {t.name}::next(Known&) {{}}"]
        return [f"void {t.name}::next(Known& k) {{", "  switch (plan * 10000 + self.instance * 100 + self.round++) {"] + lines + ["  }", "}"] + bodies

    def give(self, p, i, round):
        e, way, of = round["event"], round["way"], round["of"]
        if round["target"] == "answer":
            return ["const int one = 1;", "contribute(sizeof one, &one, CkReduction::sum_int, k.callbacks.back());"]
        number = e.number if e else 0
        if round["target"] == "ignore":
            callback = "CkCallback(CkCallback::ignore)"
        elif round["target"] == "function":
            callback = "landing"
        else:
            name = e.instance.type.name
            fake = type(e)(e.number, e.instance, e.mode, None, e.entry, place=e.place)
            source = type(e)(0, i, ALL, None, None)
            source.constructor = True
            x = self.result_entry(e) if e.entry == "result" else e.entry
            if e.entry != "result":
                index = f"CkIndex_{name}::{e.entry}()"
            elif x in ("red_set", "red_concat", "red_tuple"):
                index = f"CkIndex_{name}::{x}(nullptr)"
            else:
                index = f"CkReductionTarget({name}, {x})"
            callback = self.callback(fake, source, index)
        if way == "nothing":
            return [f"contribute({callback});"]
        if way == "set":
            return [f"int v[2] = {{{number}, self.who}};", f"contribute(sizeof v, v, CkReduction::set, {callback});"]
        if way == "concat":
            return [f"int v = {number};", f"contribute(sizeof v, &v, CkReduction::concat, {callback});"]
        if way == "tuple":
            return [f"int event = {number}, one = 1;", "double half = 0.5;",
                    "CkReduction::tupleElement parts[] = {CkReduction::tupleElement(sizeof event, &event, CkReduction::max_int), CkReduction::tupleElement(sizeof one, &one, CkReduction::sum_int),",
                    "                                     CkReduction::tupleElement(sizeof half, &half, CkReduction::min_double)};",
                    "CkReductionMsg* m = CkReductionMsg::buildFromTuple(parts, 3);", f"m->setCallback({callback});", "contribute(m);"]
        if way == "custom":
            return [f"const std::vector<int> v = contribution(sum, {number}, self.who);",
                    f"contribute(v.size() * sizeof(int), v.data(), addedUp, {callback});"]
        reducer = {"sum": f"sum_{of}", "most": f"max_{of}", "least": f"min_{of}", "product": f"product_{of}", "both": "bitvec_and_int", "either": "bitvec_or_int"}[way]
        return [f"const std::vector<{of}> v = contributionOf<{of}>({way}, {number}, self.who);",
                f"contribute(v.size() * sizeof({of}), v.data(), CkReduction::{reducer}, {callback});"]

    # -- Main --------------------------------------------------------------------------------------------------------
    def main_constructor(self):
        out = ["Main::Main(CkArgMsg* m) {", "  plan = m->argc > 1 ? std::atoi(m->argv[1]) : 0;", "  delete m;", "  magic = 4711;", "  mainProxy = thisProxy;",
               "  landing = CkCallback(landedReduction, nullptr);",
               "  self.begin(0, 0);", "  Known k;", "  switch (plan) {"]
        for p in self.plans:
            out += [f"    case {p.number}: {{"]
            for o in p.start.ops:
                out += ["      " + x for x in self.operation(p, p.start, o)]
            out += ["      break;", "    }"]
        out += ["    default: CkAbort(\"BAD argument: there is no plan %d here\\n\", plan);", "  }", "  judge = CProxy_Judge::ckNew();",
                "  CkStartQD(CkCallback(CkIndex_Main::quiet(), thisProxy));", "}"]
        exits = [str(p.number) for p in self.plans if p.exit_by_callback]
        out += ["bool exitsByCallback() {", "  switch (plan) {"] + [f"    case {x}:" for x in exits] + (["      return true;"] if exits else []) + \
            ["    default: return false;", "  }", "}"]
        return out


PRELUDE = r"""
struct Mail : CMessage_Mail {
  int event = 0, length = 0, count = 0;
  char* bytes;
  int* numbers;
  Known open() {
    for (int i = 0; i < count; ++i)
      if (numbers[i] != event * 31 + i) {
        bad(event, "its message's array is not what was sent");
        break;
      }
    Known k;
    PUP::fromMem p(bytes);
    p | k;
    return k;
  }
};
struct Card : CMessage_Card {
  int event = 0;
};
inline void fill(Mail* m, int event, Known& k, int length) {
  m->event = event, m->length = length, m->count = lengthFor(event);
  PUP::toMem p(m->bytes);
  p | k;
  for (int i = 0; i < m->count; ++i) m->numbers[i] = event * 31 + i;
}
Mail* mail(int event, Known& k) {
  PUP::sizer size;
  size | k;
  const int length = static_cast<int>(size.size());
  Mail* m = new (length, lengthFor(event)) Mail;
  fill(m, event, k, length);
  return m;
}
Mail* mail(int event, Known& k, int priority) {
  PUP::sizer size;
  size | k;
  const int length = static_cast<int>(size.size());
  Mail* m = new (length, lengthFor(event), 8 * sizeof(int)) Mail;
  fill(m, event, k, length);
  *static_cast<int*>(CkPriorityPtr(m)) = priority;
  CkSetQueueing(m, priority % 2 ? CK_QUEUEING_IFIFO : CK_QUEUEING_ILIFO);
  return m;
}
Card* card(int event) {
  Card* c = new Card;
  c->event = event;
  return c;
}
Card* card(int event, int priority) {
  Card* c = new (8 * sizeof(int)) Card;
  c->event = event;
  *static_cast<int*>(CkPriorityPtr(c)) = priority;
  CkSetQueueing(c, CK_QUEUEING_IFIFO);
  return c;
}
struct Judge : CBase_Judge {
  Judge() {}
  void report() {
    std::vector<Run> runs;
    std::vector<std::string> said;
    runs.swap(ledgers[CkMyPe()]), said.swap(complaints[CkMyPe()]);
    mainProxy.gather(CkMyPe(), runs, said);
  }
};
struct OwnMap : CBase_OwnMap {
  int factor;
  OwnMap(int f) : factor(f) {}
  int procNum(int, const CkArrayIndex& index) {
    unsigned sum = 0;
    for (int i = 0; i < index.nInts; ++i) sum = sum * 31u + static_cast<unsigned>(index.data()[i]);
    return static_cast<int>((sum * factor >> 1) % static_cast<unsigned>(CkNumPes()));
  }
};
#ifdef HAS_BUILT_IN_MAPS
using RoundRobin = CProxy_RRMap;
#else
struct RoundRobin {
  static CkGroupID ckNew() { return CProxy_OwnMap::ckNew(1); }
};
#endif
void landed(void* param, void* message) {
  const int event = static_cast<int>(reinterpret_cast<std::intptr_t>(param));
  if (static_cast<Mail*>(message)->event != event) bad(event, "the function gets another message");
  delete static_cast<Mail*>(message);
  saw(event, -1);
}
void landedReduction(void*, void* message) {
  CkReductionMsg* m = static_cast<CkReductionMsg*>(message);
  saw(checkResult(m->getSize() / static_cast<int>(sizeof(int)), static_cast<const int*>(m->getData())), -1);
  delete m;
}
CkReductionMsg* addUp(int n, CkReductionMsg** messages) {
  const int length = messages[0]->getSize() / static_cast<int>(sizeof(int));
  std::vector<int> v(length);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < length; ++j) v[j] += static_cast<int*>(messages[i]->getData())[j];
  return CkReductionMsg::buildNew(length * sizeof(int), v.data());
}
CkReduction::reducerType addedUp;
void registerReducer() { addedUp = CkReduction::addReducer(addUp); }
"""

CLOSING = r"""
void Main::quiet() {
  quietAt = hostTime();
  settled();
}
// What other quiescences bring takes its time after the first.
void Main::settled() {
  if (++settles % 3) CkStartQD(CkCallback(CkIndex_Main::settled(), thisProxy));
  else judge.report();
}
void Main::gather(int, std::vector<Run> runs, std::vector<std::string> s) {
  all.insert(all.end(), runs.begin(), runs.end());
  said.insert(said.end(), s.begin(), s.end());
  if (++reports < CkNumPes()) return;
  reports = 0;
  judgeAll();
}
void Main::judgeAll() {
  std::map<int, std::vector<int>> places;
  std::map<int, double> last;
  for (const Run& r : all) {
    places[r.event].push_back(r.who);
    last[r.event] = std::max(last[r.event], r.time);
  }
  std::vector<std::string> wrong;
  bool missing = false;
  for (const Expected& x : expectations()) {
    std::vector<int>& p = places[x.event];
    const std::string name = "event " + std::to_string(x.event) + " (" + x.name + ") ";
    if (static_cast<int>(p.size()) != x.times) {
      wrong.push_back(name + "was run " + std::to_string(p.size()) + " times instead of " + std::to_string(x.times));
      missing = missing || static_cast<int>(p.size()) < x.times;
    }
    std::sort(p.begin(), p.end());
    for (int i = 0; i < static_cast<int>(p.size()); ++i)
      if (x.each > 0 ? p[i] != i / std::max(1, x.times / x.each) : x.place >= 0 && p[i] != x.place) {
        wrong.push_back(name + "was run by " + std::to_string(p[i]) + ", not by those it is for, once each");
        break;
      }
    if (x.primary && last[x.event] > quietAt)
      wrong.push_back(name + "was run " + std::to_string((last[x.event] - quietAt) * 1e6) + " us after quiescence was told");
    places.erase(x.event);
  }
  for (const auto& p : places) wrong.push_back("event " + std::to_string(p.first) + " is none of this plan");
  if (missing && settles < 9) {  // late, or lost?
    settled();
    return;
  }
  for (const std::string& s : said) CkPrintf("BAD %s\n", s.c_str());
  for (const std::string& s : wrong) CkPrintf("BAD %s\n", s.c_str());
  if (!said.empty() || !wrong.empty()) return CkExit(1);
  CkPrintf("OK %d (%d runs of events, %d PEs, %d processes)\n", plan, static_cast<int>(all.size()), CkNumPes(), CkNumNodes());
  if (exitsByCallback()) CkCallback(CkCallback::ckExit).send();
  else CkExit();
}
"""
