"""Plans written down: one module of a shape's types and the code of some of its plans, chosen by the first argument."""

import re

from bases import BaseText
from model import ALL, MANY, ONE
from musters import MusterText
from plan import primaries
from prelude import CLOSING, PRELUDE
from talks import TalkText

FIELDS = {1: None, 2: "xy", 3: "xyz", 4: "wxyz", 5: "vwxyz", 6: ["x1", "y1", "z1", "x2", "y2", "z2"]}
PARAMETER = {"vector": "std::vector<int> v", "string": "std::string s", "map": "std::map<int, std::string> w", "point": "Point t", "double": "double d",
             "array": "int n, double a[n]", "value": "Value value"}
ARGUMENT = {"vector": "vectorFor({0})", "string": "textFor({0})", "map": "mapFor({0})", "point": "pointFor({0})", "double": "{0} * 0.125",
            "array": "static_cast<int>(doublesFor({0}).size()), doublesFor({0}).data()", "value": "valueFor<{1}>({0})"}
CHECK = {"vector": "v", "string": "s", "map": "w", "point": "t", "double": "d", "array": "n, a", "value": "value"}


class Emitter(TalkText, MusterText, BaseText):
    CHECK = CHECK

    def __init__(self, shape, plans, name, reference=False):
        self.heads = [] if reference else None
        if reference:  # numbers of reference have 16 bits there
            shape.number_base = 7
            for t in shape.types.values():
                t.number, t.base, t.threaded = "int", None, False
            self.spare_template_entries(plans)
        self.shape, self.plans, self.name = shape, plans, name
        self.types = [t for t in shape.types.values() if any(i.type is t for p in plans for i in self.instances(p))]
        self.used = {t.name: self.entries_used(t) for t in self.types}
        self.statics = {}
        for p in plans:
            for i in self.instances(p):
                if i.static and i.kind != "main":
                    self.statics[i.name] = i

    @staticmethod
    def spare_template_entries(plans):
        """Charm++ has none in classes with bodies, and takes their values by reference: those of built-in types are not found."""
        for e in (e for p in plans for e in p.events.values() if e.entry == "tk"):
            if e.instance.type.bodies:
                e.entry = "h0"
            elif e.arg in ("int", "double"):
                e.arg = "std::string"

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
               "  readonly CProxy_Judge judge;", "  readonly CkCallback landing;", "  readonly CkGroupID multicasts;"]
        out += [f"  readonly {i.cpp('CProxy_')} {n};" for n, i in sorted(self.statics.items())]
        out += ["  initnode void registerReducer();", "  message Mail { char bytes[]; int numbers[]; };", "  message Card;", "  message Feed { int numbers[]; };", "  message Post { char bytes[]; };", "  group Judge { entry Judge(); entry void report(); };",
                "  group OwnMap : CkArrayMap { entry OwnMap(int factor); };"]
        for t in self.types:
            out += self.ci_type(t)
        return "\n".join(out + ["};", ""])

    def ci_type(self, t):
        head = {"main": "mainchare", "chare": "chare", "group": "group", "nodegroup": "nodegroup"}.get(t.kind)
        if t.kind == "array":
            head = f"array [{'Key' if t.index == 'custom' else str(t.index) + 'D'}]"
        out = [f"  {t.template()}{head} {t.name}{f' : {t.name}Base' if t.base else ''} {{"]
        inherited = []
        if t.kind == "main":
            out += ["    entry Main(CkArgMsg* m);", "    entry void quiet();", "    entry void settled();",
                    "    entry void gather(int pe, std::vector<Run> runs, std::vector<std::string> said);"]
        else:
            out.append(f"    entry {t.name}(int event, Known k);")
        if t.make:
            out.append(f"    entry {t.name}();")
        used = self.used[t.name]
        for e in t.entries.values():
            if e.name in used and e.form != "body":
                attributes = f"[{', '.join(e.attributes)}] " if e.attributes else ""
                result = "int" if e.form == "sync" else "void"
                template = "template <class T> " if e.form == "template" else ""
                of = inherited if t.base and e.name in t.base.entries else out
                of.append(f"    {template}entry {attributes}{result} {e.name}({self.parameters(e, True)});")
        for q in sorted(u for u in used if re.fullmatch(r"q\d", u)):
            out.append(f"    entry void {q}();")
        for x in sorted(u for u in used if u.startswith("red_")):
            of = x[4:]
            if of in ("set", "concat", "tuple"):
                out.append(f"    entry void {x}(CkReductionMsg* m);")
            else:
                out.append(f"    entry [reductiontarget] void {x}(int n, {of} v[n]);")
        out = (self.ci_base(t, head, inherited) if t.base else []) + out + ([] if self.bodies_in_base(t) else self.ci_bodies(t))
        return out + ["  };"] + [f"  {head} {t.name}<{x}>;" for x in t.instantiations] + self.ci_instances(t)

    def ci_instances(self, t):
        """Of its template entry."""
        used = {e.arg for p in self.plans for e in p.events.values() if e.instance.type is t and e.entry == "tk"}
        return [f"  extern entry void {t.name} tk(int, Known, {x});" for x in sorted(used)]

    @staticmethod
    def parameters(e, ci):
        if e.form == "message":
            return "Mail* m"
        if e.form == "post":
            return "Post* m"
        if e.form == "fixed":
            return "Card* m"
        if e.form == "later":
            return "int event, Known k, ck::future<int> f"
        if e.form == "local":
            return "int event, Known k"
        parts = ["int event", "Known k"] + [PARAMETER[x] for x in e.extras] + (["T value"] if e.form == "template" else [])
        text = ", ".join(parts)
        return text if ci else text.replace("double a[n]", "double* a")

    # -- C++ ---------------------------------------------------------------------------------------------------------
    def cpp(self):
        out = ['#include "scene.h"', "struct Mail;", "struct Card;", "struct Feed;", "struct Post;", f'#include "{self.name}.decl.h"', "",
               "int plan, magic;", "CProxy_Main mainProxy;", "CProxy_Judge judge;", "CkCallback landing;", "CkGroupID multicasts;"]
        out += [f"{i.cpp('CProxy_')} {n};" for n, i in sorted(self.statics.items())]
        out.append(PRELUDE)
        if any(t.instantiations for t in self.types):  # in Charm++, what templates derive from is there
            out += ["#ifdef REFERENCE", "#define CK_TEMPLATES_ONLY", f'#include "{self.name}.def.h"', "#undef CK_TEMPLATES_ONLY", "#endif"]
        out += self.tables()
        out += self.talk_tables() + self.muster_table()
        for t in self.types:
            out += self.declare(t)
        for t in self.types:
            out += self.run_of(t)
            out += self.next_of(t)
            out += self.scatter_of(t) + self.answers_of(t)
        out += self.main_constructor()
        out.append(CLOSING)
        out += [f"#define HEAD_{n} {expression}" for n, expression in enumerate(self.heads or [])]
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
        out += ["  }", "  return -1;", "}", "// Of a multicast to two arrays: the event of the other one.", "int twinOf(int event) {", "  switch (plan * 1000 + event) {"]
        out += [f"    case {self.key(p, e)}: return {e.twin.number};" for p in self.plans for e in p.events.values() if e.twin]
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

    def at(self, i, linear):
        return f"{i.cpp()}::at({linear})"

    def declare(self, t):
        used = self.used[t.name]
        migrates = t.kind == "array"
        base = f"CBase_{t.own()}"
        code = [f"  {t.name}_SDAG_CODE", " public:"] if self.bodies_used(t) and not self.bodies_in_base(t) else []
        out = [f"{t.template()}struct {t.name} : {base} {{"] + [f"  using {base}::{x};" for x in t.inherited()] + code
        out = self.declare_base(t) + out if t.base else out + ["  Self self;"]
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
            out.append(f"  {t.name}(CkMigrateMessage*) {{}}")
            out += ["  int own = 4242;", "  void pup(PUP::er& p) { p | own; }"] if t.base else ["  void pup(PUP::er& p) { p | self; }"] + self.mover(t)
            out += self.indices(t)
        out += ["  void run(int event, Known& k);", "  void next(Known& k);"]
        for p in self.plans:
            out += [f"  void event{self.key(p, e)}(int event, Known& k);" for e in p.events.values()
                    if e.instance.type is t and e.number and e.entry not in ("function", "mark") and self.body(p, e)]
            out += [f"  void give{p.number * 10000 + i.number * 100 + r}(Known& k);" for i in self.instances(p) if i.type is t for r in range(len(i.rounds))]
        out += self.declare_talks(t)[:1 if self.bodies_in_base(t) else None] + self.declare_musters(t)
        for e in t.entries.values():
            if e.name in used and e.form not in ("body", "post"):
                if not t.base or e.name not in t.base.entries:
                    out.append(self.entry(t, e))
                elif e.name in t.base.virtual:
                    out.append(self.entry(t, e).replace(") {", ") override {", 1))
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
        if e.form == "template":
            return f"  template <class T>\n  void {e.name}({self.parameters(e, False)}) {{ checkArgument(event, value); run(event, k); }}"
        if "threaded" in e.attributes:
            return f"  void {e.name}({self.parameters(e, False)}) {{ ++self.waiting; run(event, k); --self.waiting;{check} }}"
        return f"  void {e.name}({self.parameters(e, False)}) {{{check} run(event, k); }}"

    # -- events ------------------------------------------------------------------------------------------------------
    def run_of(self, t):
        begin = "" if t.kind != "array" else f"  if (self.instance < 0) self.begin(instanceOf(event), linear(thisIndex));\n"
        twins = ["  if (self.instance >= 0 && self.instance != instanceOf(event) && twinOf(event) >= 0) event = twinOf(event);"] if any(i.twins for p in self.plans for i in self.instances(p) if i.type is t) else []
        own = ['  if (own != 4242) bad(event, "what the class has beside its base is not packed");'] if t.base and t.kind == "array" else []
        out = [f"{t.template()}void {t.own()}::run(int event, Known& k) {{"] + twins + own + [begin + "  saw(event, self.who);",
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
                        bodies += [f"/// {self.title(e)}", f"{t.template()}void {t.own()}::event{self.key(p, e)}(int event, Known& k) {{"] + \
                            ["  " + line for line in body] + ["}"]
        return out + ["    default: break;", "  }", "}"] + bodies

    def proxy(self, i, e, local=None):
        if i.kind == "main":
            return "mainProxy"
        if i.static and not (i is e.instance and e.constructor):  # in which it may not be set yet
            return i.name
        if i is e.instance:
            return f"CProxy_{i.type.own()}(thisProxy)" if i.kind != "chare" else "thisProxy"
        return f"{i.cpp('CProxy_')}(k.{'chare' if i.kind == 'chare' else 'group'}({i.number}))"

    def element(self, i, e, place):
        p = self.proxy(i, e)
        if i.kind in ("main", "chare"):
            return p
        if i.kind == "array":
            return f"{p}[{self.at(i, place)}]"
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
                    proxy = f"{other.cpp('CProxy_')}(k.group({other.number}))"
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
            where = f"self.who * {e.moves[0]} + {e.moves[1]}"
            out.append(f"return leave(event, {where});" if e.talk else f"return move({where});")
        return out

    def arguments(self, entry, e, k, at):
        """at: the event that sends, through a proxy(); None: the proxy is of the instance's own class."""
        i = e.instance
        arg = "Value" if at and i is at.instance and not (i.static and not at.constructor) else i.arg
        value = [f"valueFor<{e.arg}>({e.number})"] if entry.form == "template" else []
        return ", ".join([str(e.number), k] + [ARGUMENT[x].format(e.number, arg) for x in entry.extras] + value)

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
            return f"if ({to}.ckLocal()) {to}.loc({c.number}, {k}); else {to}.h0({self.arguments(h0, c, k, e)});"
        entry = c.instance.type.entries[c.entry]
        kind = options[0] if options else None
        if entry.form in ("message", "fixed"):
            make = f"mail({c.number}, {k}" if entry.form == "message" else f"card({c.number}"
            if kind == "int":
                make += f", {options[1]}"
            text = f"{to}.{c.entry}({make}));"
            return text
        arguments = self.arguments(entry, c, k, e)
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
        arguments = f"mail({c.number}, k)" if entry.form == "message" else self.arguments(entry, c, "k", None)
        list = ", ".join(self.at(c.instance, x) for x in o.places)
        section = c.instance.cpp("CProxySection_")
        if c.twin:
            other = ", ".join(self.at(c.twin.instance, x) for x in c.twin.section)
            arrays = ", ".join(f"{self.proxy(i, e)}.ckGetArrayID()" for i in (c.instance, c.twin.instance))
            return ["{", f"  std::vector<CkArrayID> arrays{{{arrays}}};", f"  std::vector<std::vector<CkArrayIndex>> members{{{{{list}}}, {{{other}}}}};",
                    f"  {section} s(arrays, members);", f"  s.{c.entry}({arguments});", "}"]
        return ["{", f"  std::vector<{index}> members{{{list}}};",
                f"  {section} s = {section}::ckNew({self.proxy(c.instance, e)}.ckGetArrayID(), members.data(), static_cast<int>(members.size()));",
                f"  s.{c.entry}({arguments});", "}"]

    def op_contribute(self, p, e, o):
        return ["next(k);"]

    def op_make(self, p, e, o):
        i, t, c = o.instance, o.instance.type, o.event
        number = c.number if c else None
        proxy = i.cpp("CProxy_")
        add = "" if i.static else f"k.add({i.number}, made.{'ckGetArrayID' if t.kind == 'array' else 'ckGetChareID' if t.kind == 'chare' else 'ckGetGroupID'}());"
        keep = [f"  {i.name} = made;"] if i.static else ["  " + add]
        out = ["{"]
        if t.kind == "chare":
            pe = "CK_PE_ANY" if o.pe is None else f"{o.pe} % CkNumPes()"
            options = ""
            if o.depends:
                out.append(f"  CkEntryOptions o; o.addGroupDepID(k.group({o.depends.number}));")
                options = ", &o"
            out += ["  CkChareID id;", f"  {proxy}::ckNew({number}, k, &id, {pe}{options});", f"  {proxy} made(id);"]
        elif t.kind in ("group", "nodegroup"):
            options = ""
            if o.depends:
                out.append(f"  CkEntryOptions o; o.addGroupDepID(k.group({o.depends.number}));")
                options = ", &o"
            out.append(f"  {proxy} made = {proxy}::ckNew({number}, k{options});")
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
        proxy = i.cpp("CProxy_")
        out.append(f"  {proxy} made = {proxy}::ckNew({arguments}o);")
        if i.population == "inserted":
            if o.step:
                out.append("  made.beginInserting();")
            pe = "" if o.pe is None else f", (i + {o.pe}) % CkNumPes()"
            out.append(f"  for (int i = 0; i < {t.size}; ++i) made[{self.at(i, 'i')}].insert({number}, {k}{pe});")
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
        entry = c.instance.cpp("CkIndex_") + f"::{c.entry}()"
        return [f"CkStartQD({self.callback(c, e, entry)});"]

    def op_function(self, p, e, o):
        return [f"CkCallback(landed, reinterpret_cast<void*>({o.event.number}L)).send(mail({o.event.number}, k));"]

    def op_callback(self, p, e, o):
        c = o.event
        entry = c.instance.cpp("CkIndex_") + "::m0(nullptr)"
        return [f"{self.callback(c, e, entry)}.send(mail({c.number}, k));"]

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
                        bodies += [f"{t.template()}void {t.own()}::give{key}(Known& k) {{"] + ["  " + x for x in self.give(p, i, round)] + ["}"]
        if not lines:
            return [f"{t.template()}void {t.own()}::next(Known&) {{}}"]
        return [f"{t.template()}void {t.own()}::next(Known& k) {{", "  switch (plan * 10000 + self.instance * 100 + self.round++) {"] + lines + ["  }", "}"] + bodies

    def give(self, p, i, round):
        e, way, of = round["event"], round["way"], round["of"]
        if round["target"] == "answer":
            return ["const int one = 1;", "contribute(sizeof one, &one, CkReduction::sum_int, k.callbacks.back());"]
        return self.contribution(i, round, "contribute", "self.who", "")

    def contribution(self, i, round, contribute, who, cookie):
        """What an object of i contributes with: its place among those that do, as C++; cookie: of a section, as an argument."""
        e, way, of = round["event"], round["way"], round["of"]
        number = e.number if e else 0
        if round["target"] == "ignore":
            callback = "CkCallback(CkCallback::ignore)"
        elif round["target"] == "function":
            callback = "landing"
        else:
            name = e.instance.cpp()
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
            return [f"{contribute}({f'cookie, {callback}' if cookie else callback});"]
        if way == "set":
            return [f"int v[2] = {{{number}, {who}}};", f"{contribute}(sizeof v, v, CkReduction::set{cookie}, {callback});"]
        if way == "concat":
            return [f"int v = {number};", f"{contribute}(sizeof v, &v, CkReduction::concat{cookie}, {callback});"]
        if way == "tuple":
            return [f"int event = {number}, one = 1;", "double half = 0.5;",
                    "CkReduction::tupleElement parts[] = {CkReduction::tupleElement(sizeof event, &event, CkReduction::max_int), CkReduction::tupleElement(sizeof one, &one, CkReduction::sum_int),",
                    "                                     CkReduction::tupleElement(sizeof half, &half, CkReduction::min_double)};",
                    "CkReductionMsg* m = CkReductionMsg::buildFromTuple(parts, 3);", f"m->setCallback({callback});", "contribute(m);"]
        if way == "custom":
            return [f"std::vector<int> v = contribution(sum, {number}, {who});",
                    f"{contribute}(v.size() * sizeof(int), v.data(), addedUp{cookie}, {callback});"]
        reducer = {"sum": f"sum_{of}", "most": f"max_{of}", "least": f"min_{of}", "product": f"product_{of}", "both": "bitvec_and_int", "either": "bitvec_or_int"}[way]
        return [f"std::vector<{of}> v = contributionOf<{of}>({way}, {number}, {who});",
                f"{contribute}(v.size() * sizeof({of}), v.data(), CkReduction::{reducer}{cookie}, {callback});"]

    # -- Main --------------------------------------------------------------------------------------------------------
    def main_constructor(self):
        out = ["Main::Main(CkArgMsg* m) {", "  plan = m->argc > 1 ? std::atoi(m->argv[1]) : 0;", "  delete m;", "  magic = 4711;", "  mainProxy = thisProxy;",
               "  landing = CkCallback(landedReduction, nullptr);", "  multicasts = CProxy_CkMulticastMgr::ckNew();",
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
