#include "lang/ci-translator/emit_sdag.h"

#include <set>

#include "lang/ci-translator/lower_sdag.h"
#include "lang/ci-translator/proxy_methods.h"
#include "lang/ci-translator/words.h"

namespace periapt::ci {
namespace {

/// What only a [local] entry can be given.
bool isAddress(const Parameter& p) { return !p.length && (!p.type.pointers.empty() || p.type.isFunction()); }

/// "periapt::sdag::Arguments<int, periapt::sdag::Array<double>>": how the arguments lie while a body goes on.
std::string argumentsType(const std::vector<Parameter>& parameters, bool message, bool lent) {
  std::string out;
  for (const Parameter& p : parameters) {
    std::string type = message ? p.type.plain() : heldType(p);
    if (message)
      type = (lent ? "periapt::sdag::Lent<" : "periapt::sdag::Carried<") + type + ">";
    else if (isAddress(p))
      type = "periapt::sdag::Address<" + type + ">";
    else if (p.length)
      type = (isNcpy(p) ? "periapt::sdag::Ncpy<" : "periapt::sdag::Array<") + type + ">";
    out += (out.empty() ? "" : ", ") + type;
  }
  return "periapt::sdag::Arguments<" + out + ">";
}

std::string typeOf(const std::string& arguments) { return "periapt::sdag::ArgumentsTypeOf<" + arguments + ">::type"; }

std::string typenameIn(const Chare& chare) { return chare.header ? "typename " : ""; }

bool takesMessage(const Awaited& awaited) {
  Entry entry;
  entry.parameters = awaited.parameters;
  return ci::takesMessage(entry);
}

}  // namespace

struct BodyEmitter::Lowered : LoweredBody {
  std::vector<AwaitedEntry> entries;   // that the awaited ones are
  std::vector<std::string> arguments;  // their types
  std::string own;                     // the entry's arguments; empty: it has none
};

/// The CkIndex_X that names the entry. What a base of a base declares is named through the nearer one, in which the
/// name of each base stands with its arguments; the nearer one may have an entry of the same name.
std::string BodyEmitter::indexOf(const AwaitedEntry& found) const {
  if (!found.base) return names_.index;
  const std::string nearer = prefixed("CkIndex_", *found.base);
  return found.farther.empty() ? nearer : nearer + "::CkIndex_" + found.farther;
}
/// The type of an entry's arguments, by the name that its CkIndex_X gives it.
std::string BodyEmitter::argumentsOf(const std::string& index, const Entry& entry) const {
  return typenameIn(names_.chare) + index + "::" + EntryNames(entry).arguments;
}

// --- declarations ---

void BodyEmitter::declareIndex(const Entry& entry) {
  out_.line("  typedef " + argumentsType(entry.parameters, ci::takesMessage(entry), entry.has("nokeep")) + " " +
            EntryNames(entry).arguments + ";");
}

/// Whether a class may derive from something else than its CBase_X. (A template's base is not looked into for its
/// names.)
bool BodyEmitter::mayOwn() const { return names_.header.empty() && names_.chare.bases.size() < 2; }

void BodyEmitter::sdagCode() {
  const Chare& chare = names_.chare;
  std::string text = "#define " + chare.name + "_SDAG_CODE";
  if (!hasBodies(chare)) return out_.line(text);
  text += " \\\n public: \\\n  typedef " + chare.name + " impl_sdag_class; \\\n";
  if (chare.bases.size() > 1)
    text += "  typedef " + typenameIn(chare) + "periapt::sdag::With<" + chare.bases[0].plain() + ", " + names_.local +
            ">::impl_sdag_root impl_sdag_root; \\\n";
  // Older programs call these, and some of their classes derive from no CBase_X, where the machine would be.
  const std::string pack = mayOwn() ? "(PUP::er& p) { impl_sdag_own.pup(p); }" : "(PUP::er&) {}";
  if (mayOwn())
    text +=
        "  [[no_unique_address]] periapt::sdag::Own<impl_sdag_root, " + names_.local + "> impl_sdag_own{this}; \\\n";
  text += "  void _sdag_init() {} void __sdag_init() {} void _sdag_pup" + pack + " void __sdag_pup" + pack;
  for (const Entry* entry : entriesOf(chare)) {
    if (!isStructured(chare, *entry)) continue;
    const EntryNames names(*entry);
    if (entry->body)
      text += " \\\n  static const periapt::sdag::Procedure& " + names.body + "(); void " + names.fragments +
              "(int, periapt::sdag::Frame&);";
    if (ncpyCount(*entry) == 0) text += " \\\n  void " + entry->name + "(" + methodFormals(*entry) + ");";
  }
  out_.line(text);
}

// --- receiving ---

void BodyEmitter::call(const Entry& entry) {
  const EntryNames names(entry);
  const bool message = ci::takesMessage(entry);
  if (isAnswered(entry)) out_.line("  periapt::sdag::Answering impl_answering(impl_call, " + names.ep + ");");
  std::string text = std::string("periapt::sdag::") + (entry.body ? "begin" : "arrive") + (message ? "Message(" : "(") +
                     "periapt::sdag::holder<" + names_.local + ">(impl_obj), " + names.ep + ", " +
                     (message ? "impl_call.arguments" : "impl_call");
  if (!message && !entry.body && entry.has("reductiontarget") && isForDevice(entry)) {
    // Its first argument is how many items came: the number is the callback's, as of any result of a reduction.
    text += ", periapt::sdag::Reference{CkGetRefNum(impl_call.arguments), true}";
  } else if (!message && !entry.body) {
    const bool refers = !entry.parameters.empty() && !entry.parameters[0].length;
    const int arrays = ncpyCount(entry);
    text += ", periapt::sdag::referenceOf<" + (refers ? heldType(entry.parameters[0]) : "void") +
            (arrays ? ", " + std::to_string(arrays) : "") + ">(impl_call)";
  }
  out_.lineAt(entry.nameSpan.begin, "  " + text + ");");
}

void BodyEmitter::method(const Entry& entry) {
  if (ncpyCount(entry) != 0) return;
  const EntryNames names(entry);
  const std::string call = names_.index + "::" + names.call;
  const std::string header = names_.header.empty() ? "" : names_.header + " ";
  const bool message = ci::takesMessage(entry);
  std::string text = message ? "periapt::sdag::directMessage(" + call : "periapt::sdag::direct(" + call;
  text += ", this";
  for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
    const Parameter& p = entry.parameters[i];
    const std::string name = parameterName(entry, i);
    text += ", " + (p.length                   ? "periapt::arrayArg(" + name + ", " + *p.length + ")"
                    : !message && isAddress(p) ? "periapt::sdag::address(" + name + ")"
                                               : name);
  }
  out_.lineAt(entry.nameSpan.begin, header + "void " + names_.local + "::" + entry.name + "(" + methodFormals(entry) +
                                        ") { " + text + "); }");
}

void BodyEmitter::registerEntry(const Entry& entry) {
  const EntryNames names(entry);
  if (entry.body)
    out_.line("  periapt::sdag::registerBody(" + names.ep + ", " + names_.local + "::" + names.body + "());");
  else
    out_.line("  periapt::sdag::registerTrigger(" + names.ep + ", " + typeOf(argumentsOf(names_.index, entry)) + ");");
}

// --- bodies ---

void BodyEmitter::body(const Entry& entry) {
  Lowered lowered;
  static_cast<LoweredBody&>(lowered) = lower(entry);
  if (!entry.parameters.empty()) lowered.own = argumentsOf(names_.index, entry);
  for (const LoweredAwaited& a : lowered.awaited) {
    lowered.entries.push_back(awaitedEntry(items_, names_.chare, *a.awaited));
    const AwaitedEntry& found = lowered.entries.back();
    lowered.arguments.push_back(found.entry ? argumentsOf(indexOf(found), *found.entry)
                                            : argumentsType(a.awaited->parameters, takesMessage(*a.awaited), false));
  }
  const EntryNames names(entry);
  const std::string header = names_.header.empty() ? "" : names_.header + " ";
  out_.line(header + "const periapt::sdag::Procedure& " + names_.local + "::" + names.body + "() {");
  derives(entry, lowered);
  steps(lowered);
  awaited(lowered);
  out_.line("  static const periapt::sdag::Procedure impl_body = {&periapt::sdag::call<" + names_.local + ", &" +
            names_.local + "::" + names.fragments + ">, impl_steps, " +
            (lowered.awaited.empty() ? "nullptr" : "impl_awaited") + ", " +
            (lowered.own.empty() ? "nullptr" : "&" + typeOf(lowered.own)) + ", " +
            std::to_string(lowered.awaited.size()) + ", " + std::to_string(lowered.slots) + ", " +
            std::to_string(lowered.links) + "};");
  out_.line("  return impl_body;");
  out_.line("}");
  out_.line(header + "void " + names_.local + "::" + names.fragments +
            "(int impl_at, [[maybe_unused]] periapt::sdag::Frame& impl_frame) {");
  fragments(entry, lowered);
  out_.line("}");
}

void BodyEmitter::steps(const Lowered& lowered) {
  using Kind = LoweredStep::Kind;
  out_.line("  static constexpr periapt::sdag::Step impl_steps[] = {");
  for (const LoweredStep& s : lowered.steps) {
    const std::string fragment = std::to_string(s.fragment);
    const std::string first = std::to_string(s.first);
    const std::string count = std::to_string(s.count);
    const std::string target = std::to_string(s.target);
    const std::string where = "\"" + place_(s.at.begin) + "\"";
    const std::string text = [&]() -> std::string {
      switch (s.kind) {
        case Kind::serial:
          return "serial(" + fragment + ", " + where + (s.label.empty() ? "" : ", " + s.label);
        case Kind::unless:
          return "unless(" + fragment + ", " + target;
        case Kind::jump:
          return "jump(" + target;
        case Kind::when:
          return "when(" + first + ", " + count + ", " + target + ", " + where;
        case Kind::release:
          return "release(" + first + ", " + count;
        case Kind::overlap:
          return "overlap(" + count + ", " + target + ", " + where;
        case Kind::forall:
          return "forall(" + fragment + ", " + first + ", " + target + ", " + where;
        case Kind::choose:
          return "choose(" + count + ", " + where;
        case Kind::end:
          break;
      }
      return "end(";
    }();
    out_.line("      periapt::sdag::" + text + "),");
  }
  out_.line("  };");
}

/// Sentences where a class that derives from ArrayElement1D, Chare and their like in place of its CBase_X does not do:
/// the machine of such a class is a member, which templates and classes of several bases have not, and in which no
/// class that derives from it looks for its messages.
void BodyEmitter::derives(const Entry& entry, const Lowered& lowered) {
  const auto assertion = [&](const Span& at, const std::string& holds, const std::string& why,
                             const std::string& name) {
    out_.lineAt(at.begin, "  static_assert(" + holds + ", \"" + place_(at.begin) + ": " + why + ": class " + name +
                              " has to be derived from CBase_" + name + "\");");
  };
  const auto isHolder = [](const std::string& local) {
    return "std::is_base_of<periapt::sdag::Holder, " + local + ">::value";
  };
  const Chare& chare = names_.chare;
  if (!mayOwn())
    assertion(entry.nameSpan, isHolder(names_.local),
              "entries of " + std::string(chare.header ? "a template" : "a chare with several bases") + " have bodies",
              chare.name);
  std::set<std::string> said;
  for (std::size_t i = 0; i < lowered.awaited.size(); ++i) {
    const AwaitedEntry& found = lowered.entries[i];
    if (!found.base) continue;
    const bool near = found.farther.empty();
    const std::string local = near ? found.base->plain() : typenameIn(chare) + names_.local + "::" + found.farther;
    const Awaited& awaited = *lowered.awaited[i].awaited;
    if (said.insert(local).second)
      assertion(awaited.span, isHolder(local) + " || !periapt::sdag::hasCode<" + local + ">()",
                "a when waits for '" + awaited.name + "' of a base", near ? found.base->name : found.farther);
  }
}

/// What the checks cannot know: whether the first argument is a number.
void BodyEmitter::numberExists(const LoweredAwaited& lowered) {
  const Awaited& awaited = *lowered.awaited;
  if (lowered.fragment < 0 || awaited.parameters.empty() || takesMessage(awaited)) return;
  const AwaitedEntry found = awaitedEntry(items_, names_.chare, awaited);
  if (found.entry && found.entry->has("reductiontarget")) return;
  if (!found.entry && found.base && mayBeReductionTarget(items_, *found.base, awaited)) return;
  const std::string type = heldType(awaited.parameters[0]);
  if (type == "int") return;
  out_.line("  static_assert(periapt::sdag::refers<" + type + ">, \"" + place_(awaited.span.begin) + ": calls of '" +
            awaited.name +
            "' have no reference number, which is the first argument if that is a number: nothing could " +
            "ever reach this when\");");
}

void BodyEmitter::awaited(const Lowered& lowered) {
  if (lowered.awaited.empty()) return;
  for (const LoweredAwaited& a : lowered.awaited) numberExists(a);
  out_.line("  static constexpr periapt::sdag::Awaited impl_awaited[] = {");
  for (std::size_t i = 0; i < lowered.awaited.size(); ++i) {
    const LoweredAwaited& a = lowered.awaited[i];
    const AwaitedEntry& found = lowered.entries[i];
    std::string entry;
    if (found.entry) {
      entry = "&" + indexOf(found) + "::idx_" + EntryNames(*found.entry).suffixed;
    } else {
      std::string types;
      for (const Parameter& p : a.awaited->parameters)
        types += (types.empty() ? "" : ", ") + p.type.text() + (p.length ? "*" : "");
      entry = "[]() -> int { return " + indexOf(found) + "::idx_" + a.awaited->name + "(periapt::sdag::AnyMethod<" +
              types + ">()); }";
    }
    out_.lineAt(a.awaited->span.begin,
                "      {" + entry + ", " +
                    (a.fragment < 0 ? "periapt::sdag::no_fragment" : std::to_string(a.fragment)) + ", " +
                    std::to_string(a.slot) + ", &" + typeOf(lowered.arguments[i]) + "},");
  }
  out_.line("  };");
}

void BodyEmitter::fragments(const Entry&, const Lowered& lowered) {
  // The names of those arguments' types that a fragment uses.
  std::set<int> used;
  for (const Fragment& f : lowered.fragments)
    for (const Visible& v : f.visible)
      if (v.awaited != Visible::index) used.insert(v.awaited);
  for (int i : used)
    out_.line("  using impl_" + (i < 0 ? "own" : std::to_string(i)) + " = " +
              (i < 0 ? lowered.own : lowered.arguments[i]) + ";");
  out_.line("  switch (impl_at) {");
  for (std::size_t i = 0; i < lowered.fragments.size(); ++i) {
    const Fragment& f = lowered.fragments[i];
    std::string head = "    case " + std::to_string(i) + ": {";
    for (const Visible& v : f.visible) {
      head += " [[maybe_unused]] auto& " + v.name + " = impl_frame.";
      if (v.awaited == Visible::index)
        head += "index(" + std::to_string(v.slot) + ");";
      else
        head += "get<impl_" + (v.awaited < 0 ? "own" : std::to_string(v.awaited)) + ", " + std::to_string(v.parameter) +
                ">(" + std::to_string(v.slot) + ");";
    }
    std::string code = f.code[0];
    if (f.kind == Fragment::Kind::condition) code = "impl_frame.answer(static_cast<bool>(" + code + "));";
    if (f.kind == Fragment::Kind::reference) code = "impl_frame.reference((" + code + "));";
    if (f.kind == Fragment::Kind::range)
      code = "impl_frame.range((" + code + "), (" + f.code[1] + "), (" + f.code[2] + "));";
    out_.line(head + " {");
    out_.lineAt(f.at.begin, code);
    out_.line("    } } break;");
  }
  out_.line("  }");
}

}  // namespace periapt::ci
