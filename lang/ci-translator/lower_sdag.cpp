#include "lang/ci-translator/lower_sdag.h"

#include <algorithm>

#include "lang/ci-translator/proxy_methods.h"
#include "lang/ci-translator/words.h"

namespace periapt::ci {
namespace {

class Lowering {
 public:
  explicit Lowering(const Entry& entry) {
    if (!entry.parameters.empty()) {
      for (std::size_t i = 0; i < entry.parameters.size(); ++i)
        visible_.push_back({parameterName(entry, i), Visible::own, i, 0});
      slot_ = out_.slots = 1;
    }
    statement(*entry.body);
    add({LoweredStep::Kind::end, entry.span});
  }
  LoweredBody take() { return std::move(out_); }

 private:
  using Kind = LoweredStep::Kind;

  std::size_t here() const { return out_.steps.size(); }
  std::size_t add(LoweredStep step) {
    out_.steps.push_back(std::move(step));
    return here() - 1;
  }
  int fragment(Fragment::Kind kind, std::vector<std::string> code, Span at) {
    // An inner variable hides an outer one of the same name.
    Fragment made{kind, std::move(code), at, {}};
    for (auto v = visible_.rbegin(); v != visible_.rend(); ++v)
      if (std::none_of(made.visible.begin(), made.visible.end(), [&](const Visible& o) { return o.name == v->name; }))
        made.visible.push_back(*v);
    std::reverse(made.visible.begin(), made.visible.end());
    out_.fragments.push_back(std::move(made));
    return static_cast<int>(out_.fragments.size()) - 1;
  }

  static bool isBlank(const std::string& code) {
    return std::all_of(code.begin(), code.end(),
                       [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; });
  }

  void statements(const std::vector<Sdag>& all) {
    for (const Sdag& one : all) statement(one);
  }

  void statement(const Sdag& s) {
    switch (s.kind) {
      case Sdag::Kind::sequence:
        return statements(s.body);
      case Sdag::Kind::serial:
        return code(s, 0, s.name);
      case Sdag::Kind::ifElse:
        return conditional(s);
      case Sdag::Kind::whileLoop:
        return loop(s, 0, 1);
      case Sdag::Kind::forLoop:
        code(s, 0, "");
        return loop(s, 1, 2);
      case Sdag::Kind::forall:
        return forall(s);
      case Sdag::Kind::overlap:
        return overlap(s);
      case Sdag::Kind::when:
        return when(s, awaits(s));
      case Sdag::Kind::caseOf:
        return choose(s);
    }
  }

  void code(const Sdag& s, std::size_t part, const std::string& label) {
    if (isBlank(s.code[part])) return;
    const int made =
        fragment(Fragment::Kind::serial, {s.code[part] + (s.kind == Sdag::Kind::serial ? "" : ";")}, s.places[part]);
    add({Kind::serial, s.span, made, 0, 0, 0, label});
  }

  std::size_t unless(const Sdag& s, std::size_t part) {
    const int made = fragment(Fragment::Kind::condition, {s.code[part]}, s.places[part]);
    return add({Kind::unless, s.span, made});
  }

  void conditional(const Sdag& s) {
    const std::size_t test = unless(s, 0);
    statements(s.body);
    const std::size_t behind = s.otherwise.empty() ? 0 : add({Kind::jump, s.span});
    out_.steps[test].target = here();
    if (s.otherwise.empty()) return;
    statements(s.otherwise);
    out_.steps[behind].target = here();
  }

  /// `step`: which part of the code goes on to the next turn; a while has none.
  void loop(const Sdag& s, std::size_t condition, std::size_t step) {
    const std::size_t start = here();
    const bool tests = !isBlank(s.code[condition]);
    const std::size_t test = tests ? unless(s, condition) : 0;
    statements(s.body);
    if (step < s.code.size()) code(s, step, "");
    add({Kind::jump, s.span, 0, 0, 0, start});
    if (tests) out_.steps[test].target = here();
  }

  void forall(const Sdag& s) {
    const int made = fragment(Fragment::Kind::range, s.code, s.places.front());
    const int slot = slot_++;
    out_.slots = std::max(out_.slots, slot_);
    const std::size_t head = add({Kind::forall, s.span, made, static_cast<std::size_t>(slot)});
    visible_.push_back({s.name, Visible::index, 0, slot});
    statements(s.body);
    visible_.pop_back();
    --slot_;
    add({Kind::end, s.span});
    out_.steps[head].target = here();
  }

  void overlap(const Sdag& s) {
    const std::size_t head = add({Kind::overlap, s.span, 0, 0, s.body.size()});
    for (std::size_t i = 0; i < s.body.size(); ++i) add({Kind::jump, s.span});
    for (std::size_t i = 0; i < s.body.size(); ++i) {
      out_.steps[head + 1 + i].target = here();
      statement(s.body[i]);
      add({Kind::end, s.span});
    }
    out_.steps[head].target = here();
  }

  /// The step of a when: its numbers are found out before its arguments are there.
  std::size_t awaits(const Sdag& s) {
    const std::size_t first = out_.awaited.size();
    int slot = slot_;
    for (const Awaited& a : s.awaited) {
      const int reference = a.reference ? fragment(Fragment::Kind::reference, {*a.reference}, a.referenceSpan) : -1;
      out_.awaited.push_back({&a, reference, slot++});
    }
    return add({Kind::when, s.span, 0, first, s.awaited.size()});
  }

  void when(const Sdag& s, std::size_t head) {
    out_.links = std::max(out_.links, s.awaited.size());
    out_.steps[head].target = here();
    const std::size_t outside = visible_.size();
    const std::size_t first = out_.steps[head].first;
    const auto count = static_cast<int>(s.awaited.size());
    for (int i = 0; i < count; ++i) {
      const std::vector<Parameter>& parameters = s.awaited[i].parameters;
      for (std::size_t j = 0; j < parameters.size(); ++j)
        if (!parameters[j].name.empty())
          visible_.push_back({parameters[j].name, static_cast<int>(first) + i, j, slot_ + i});
    }
    slot_ += count;
    out_.slots = std::max(out_.slots, slot_);
    statements(s.body);
    slot_ -= count;
    visible_.resize(outside);
    add({Kind::release, s.span, 0, static_cast<std::size_t>(slot_), s.awaited.size()});
  }

  void choose(const Sdag& s) {
    add({Kind::choose, s.span, 0, 0, s.body.size()});
    std::vector<std::size_t> heads;
    std::size_t links = 0;
    for (const Sdag& one : s.body) {
      heads.push_back(awaits(one));
      links += one.awaited.size();
    }
    out_.links = std::max(out_.links, links);
    std::vector<std::size_t> jumps;
    for (std::size_t i = 0; i < s.body.size(); ++i) {
      when(s.body[i], heads[i]);
      jumps.push_back(add({Kind::jump, s.span}));
    }
    for (std::size_t jump : jumps) out_.steps[jump].target = here();
  }

  LoweredBody out_;
  std::vector<Visible> visible_;
  int slot_ = 0;
};

std::string keyOf(const Awaited& awaited) {
  Entry entry;
  entry.name = awaited.name;
  entry.parameters = awaited.parameters;
  return overloadKey(entry);
}

bool isLike(const Entry& entry, const Awaited& awaited) {
  return entry.name == awaited.name && entry.parameters.size() == awaited.parameters.size();
}
bool names(const Chare& chare, const Awaited& awaited) {
  const auto entries = entriesOf(chare);
  return std::any_of(entries.begin(), entries.end(), [&](const Entry* e) { return isLike(*e, awaited); });
}

/// Is what stands in `scope` that which is named with `qualifier`? Without one, anything may be.
bool isNamedFrom(const std::string& scope, const std::string& qualifier) {
  if (qualifier.rfind("::", 0) == 0) return scope == qualifier.substr(2);
  return scope.size() >= qualifier.size() &&
         scope.compare(scope.size() - qualifier.size(), qualifier.size(), qualifier) == 0;
}

}  // namespace

const Chare* findChare(const std::vector<Item>& items, const Type& type) {
  const Chare* found = nullptr;
  forEachItem(items, "", [&](const Item& item, const std::string& scope) {
    auto* chare = std::get_if<Chare>(&item.node);
    if (chare && !item.isExtern && !chare->isInstantiation() && chare->name == type.name &&
        isNamedFrom(scope, type.qualifier))
      found = chare;
  });
  return found;
}

LoweredBody lower(const Entry& entry) { return Lowering(entry).take(); }

bool isEndless(const Sdag& s) {
  if (s.kind == Sdag::Kind::whileLoop) return s.code[0] == "true" || s.code[0] == "1";
  if (s.kind == Sdag::Kind::forLoop) return s.code[1].empty() || s.code[1] == "true" || s.code[1] == "1";
  return s.kind == Sdag::Kind::sequence && std::any_of(s.body.begin(), s.body.end(), isEndless);
}

AwaitedEntry awaitedEntry(const std::vector<Item>& items, const Chare& chare, const Awaited& awaited) {
  using Where = AwaitedEntry::Where;
  const std::string key = keyOf(awaited);
  for (const Entry* entry : entriesOf(chare))
    if (overloadKey(*entry) == key) return {Where::own, &chare, entry, nullptr, ""};
  AwaitedEntry out;
  for (const Type& base : chare.bases) {
    AwaitedEntry found;
    const Chare* declared = findChare(items, base);
    if (declared) found = awaitedEntry(items, *declared, awaited);
    // Of a template's entries any with as many parameters may be meant, and the nearest is.
    const bool mayHave = !declared || (!found.entry && declared->header && names(*declared, awaited));
    if (mayHave) found = {Where::elsewhere, nullptr, nullptr, nullptr, ""};
    if (found.base && found.farther.empty()) found.farther = found.chare ? found.chare->name : found.base->name;
    if (found.where != Where::nowhere) found.base = &base;
    if (found.where == Where::own) found.where = Where::base;
    if (out.where == Where::nowhere || found.where == Where::base) out = found;
  }
  return out;
}

bool mayBeReductionTarget(const std::vector<Item>& items, const Type& base, const Awaited& awaited) {
  const Chare* chare = findChare(items, base);
  if (!chare) return true;
  const auto entries = entriesOf(*chare);
  return std::any_of(entries.begin(), entries.end(),
                     [&](const Entry* e) { return isLike(*e, awaited) && e->has("reductiontarget"); }) ||
         std::any_of(chare->bases.begin(), chare->bases.end(),
                     [&](const Type& deeper) { return mayBeReductionTarget(items, deeper, awaited); });
}

bool isTrigger(const Chare& chare, const Entry& entry) {
  bool found = false;
  const std::string key = overloadKey(entry);
  for (const Entry* other : entriesOf(chare)) {
    if (!other->body) continue;
    forEachStatement(*other->body, [&](const Sdag& s) {
      for (const Awaited& a : s.awaited) found |= a.name == entry.name && keyOf(a) == key;
    });
  }
  return found;
}

bool isStructured(const Chare& chare, const Entry& entry) { return entry.body || isTrigger(chare, entry); }

bool hasBodies(const Chare& chare) {
  const auto entries = entriesOf(chare);
  return std::any_of(entries.begin(), entries.end(), [](const Entry* e) { return e->body.has_value(); });
}

bool inheritsBodies(const std::vector<Item>& items, const Type& base) {
  const Chare* chare = findChare(items, base);
  return chare && (hasBodies(*chare) || std::any_of(chare->bases.begin(), chare->bases.end(),
                                                    [&](const Type& deeper) { return inheritsBodies(items, deeper); }));
}

}  // namespace periapt::ci
