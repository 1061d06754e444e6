#include "lang/ci-translator/checks.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "lang/ci-translator/lower_sdag.h"
#include "lang/ci-translator/words.h"

namespace periapt::ci {
namespace {

/// Messages that every program has without declaring them.
const std::set<std::string, std::less<>> runtime_messages = {"CkArgMsg",
                                                             "CkDataMsg",
                                                             "CkMessage",
                                                             "CkReductionMsg",
                                                             "CkMigrateMessage",
                                                             "CkMarshallMsg",
                                                             "CkMarshalledMessage",
                                                             "CkMcastBaseMsg",
                                                             "CkEventMsg",
                                                             "CkQdMsg",
                                                             "CkArrayCreatedMsg",
                                                             "CMessage_CkReductionMsg",
                                                             "CkCheckpointStatusMsg",
                                                             "CkCcsRequestMsg",
                                                             "liveVizRequestMsg",
                                                             "CkReductionTypesExt",
                                                             "CkIndexMsg"};

bool isMigrationConstructor(const Entry& e) {
  return e.isConstructor && takesMessage(e) && e.parameters[0].type.name == "CkMigrateMessage";
}

bool takesArgMsg(const Entry& e) { return takesMessage(e) && e.parameters[0].type.name == "CkArgMsg"; }

/// What Charm++ does: where one array of an entry is nocopy, all are, and no post entry method is called.
void settleTransfers(Entry& entry, Diagnostics& out) {
  auto& all = entry.parameters;
  if (std::none_of(all.begin(), all.end(), [](const Parameter& p) { return p.transfer == Transfer::nocopy; })) return;
  for (Parameter& p : all) {
    if (p.transfer != Transfer::nocopypost) continue;
    out.warning(p.span, "a nocopypost array beside one that is nocopy is nocopy too: no post entry method is called",
                "send it by an entry of its own, or write nocopy");
    p.transfer = Transfer::nocopy;
  }
}

void checkConditionals(const Entry& entry, Diagnostics& out) {
  for (const Parameter& p : entry.parameters)
    if (p.conditional && (p.length || p.type.builtin || !p.type.pointers.empty() || p.type.references))
      out.error(p.span, "a conditional parameter names the type of one object",
                p.type.builtin ? "make it of a class that is derived from CkConditional"
                               : "write '" + p.type.plain() + " " + p.name + " conditional' here and '" +
                                     p.type.plain() + "* " + p.name + "' in the class");
}

/// No result of a reduction fits such parameters. Charm++ takes the word all the same, and the entry can be called.
void settleTarget(Entry& entry, Diagnostics& out) {
  const auto arrays = std::count_if(entry.parameters.begin(), entry.parameters.end(),
                                    [](const Parameter& p) { return p.length.has_value(); });
  if (!entry.has("reductiontarget") || arrays == 0 || (arrays == 1 && entry.parameters.size() <= 2)) return;
  out.warning(entry.nameSpan, "a reduction target takes values, or one array and its length, so that this is none",
              "take a CkReductionMsg* and unpack it yourself, or leave [reductiontarget] out");
  auto isTarget = [](const Attribute& a) { return a.name == "reductiontarget"; };
  entry.attributes.erase(std::remove_if(entry.attributes.begin(), entry.attributes.end(), isTarget),
                         entry.attributes.end());
}

void settleChare(Chare& chare, Diagnostics& out) {
  auto taken = [&](const Item& item) {
    const auto* entry = std::get_if<Entry>(&item.node);
    if (!entry || !isMigrationConstructor(*entry)) return false;
    out.warning(entry->nameSpan, "the constructor from CkMigrateMessage* is understood without being declared",
                "leave this line out");
    return true;
  };
  chare.items.erase(std::remove_if(chare.items.begin(), chare.items.end(), taken), chare.items.end());
  int ordinal = 0;
  for (Item& item : chare.items) {
    auto* entry = std::get_if<Entry>(&item.node);
    if (!entry) continue;
    entry->ordinal = ++ordinal;
    settleTransfers(*entry, out);
    checkConditionals(*entry, out);
    settleTarget(*entry, out);
    if (chare.kind == ChareKind::mainchare && entry->isConstructor && entry->parameters.empty()) {
      out.warning(entry->nameSpan, "the constructor of a mainchare takes a CkArgMsg*, which is added here",
                  "write entry " + entry->name + "(CkArgMsg*);");
      Parameter argument;
      argument.span = argument.nameSpan = entry->nameSpan;
      argument.type.name = "CkArgMsg";
      argument.type.pointers = {false};
      entry->parameters.push_back(std::move(argument));
    }
  }
}

/// Does a way over bases lead from this one to the chare?
bool leadsTo(const std::vector<Item>& all, const Type& base, const Chare& chare, std::set<const Chare*>& seen) {
  const Chare* declared = findChare(all, base);
  if (!declared || declared == &chare) return declared;
  return seen.insert(declared).second &&
         std::any_of(declared->bases.begin(), declared->bases.end(),
                     [&](const Type& deeper) { return leadsTo(all, deeper, chare, seen); });
}

/// A chare that is its own base is none of its bases any more: what follows looks through all of them.
void settleBases(const std::vector<Item>& all, Chare& chare, Diagnostics& out) {
  auto circular = [&](const Type& base) {
    std::set<const Chare*> seen;
    if (!leadsTo(all, base, chare, seen)) return false;
    out.error(base.span,
              "'" + chare.name + "' is its own base" + (base.name == chare.name ? "" : ", by way of " + base.plain()),
              "leave one of the bases out; of a chare with the same name elsewhere, write its namespace");
    return true;
  };
  chare.bases.erase(std::remove_if(chare.bases.begin(), chare.bases.end(), circular), chare.bases.end());
}

void settleItems(const std::vector<Item>& all, std::vector<Item>& items, Diagnostics& out) {
  for (Item& item : items) {
    if (auto* module = std::get_if<Module>(&item.node)) settleItems(all, module->items, out);
    if (auto* space = std::get_if<Namespace>(&item.node)) settleItems(all, space->items, out);
    if (auto* block = std::get_if<Block>(&item.node)) settleItems(all, block->items, out);
    if (auto* chare = std::get_if<Chare>(&item.node)) {
      settleChare(*chare, out);
      settleBases(all, *chare, out);
    }
    if (auto* init = std::get_if<InitCall>(&item.node); init && init->deprecated)
      out.warning(item.span, "initcall is an old word for initnode",
                  "write initnode, or initproc to run it on every PE");
  }
}

/// The checks of one file. What the file declares is gathered first.
class Checker {
 public:
  Checker(const File& file, Diagnostics& out) : file_(file), out_(out) {}

  void run() {
    forEachItem(file_.items, "", [this](const Item& item, const std::string& scope) { gather(item, scope); });
    forEachItem(file_.items, "", [this](const Item& item, const std::string& scope) {
      enter(item);
      if (auto* chare = std::get_if<Chare>(&item.node)) {
        checkOrder(*chare, scope);
        checkChare(*chare, item.isExtern);
      }
      if (auto* readonly = std::get_if<Readonly>(&item.node)) checkReadonly(*readonly);
      if (auto* message = std::get_if<Message>(&item.node)) checkMessage(*message);
    });
  }

 private:
  /// What stands in `extern module b { ... }` is made where that stands.
  void enter(const Item& item) {
    if (auto* module = std::get_if<Module>(&item.node); module && !item.isExtern) module_ = module;
  }

  void gather(const Item& item, const std::string& scope) {
    enter(item);
    if (auto* message = std::get_if<Message>(&item.node)) {
      messages_.insert(message->name);
      if (!item.isExtern) declare(scope + message->name + message->arguments, message->nameSpan, "message");
    }
    if (auto* chare = std::get_if<Chare>(&item.node)) {
      chares_.insert(chare->name);
      allChares_[scope + chare->name].insert(module_);
      if (!item.isExtern) declare(scope + chare->name + chare->arguments, chare->nameSpan, toText(chare->kind));
    }
    if (auto* readonly = std::get_if<Readonly>(&item.node); readonly && !item.isExtern)
      declare(scope + readonly->name, readonly->nameSpan, "readonly");
    if (auto* module = std::get_if<Module>(&item.node)) {
      if (item.isExtern) {
        seesOthers_ = true;
      } else {
        declare("module " + module->name, module->nameSpan, "module");
      }
    }
    if (std::holds_alternative<Include>(item.node)) seesOthers_ = true;
  }

  void declare(const std::string& name, Span at, std::string_view what) {
    const auto [earlier, fresh] = declared_.try_emplace(name, what);
    if (fresh) return;
    const std::string shown = name.rfind("module ", 0) == 0 ? name.substr(7) : name;
    out_.error(at, std::string(what) + " '" + shown + "' is declared twice",
               "the first declaration is a " + earlier->second + "; give one of them another name");
  }

  void checkReadonly(const Readonly& readonly) {
    checkProxyType(readonly.type);
    if (readonly.type.pointers.empty() ? readonly.type.isConst : readonly.type.pointers.back())
      out_.error(readonly.type.span, "a readonly cannot be const: its value is that which PE 0 sends",
                 "leave the const out here and in the C++ file; it is set where a mainchare is constructed");
    if (readonly.isMessage) {
      if (readonly.type.pointers.size() != 1)
        out_.error(readonly.type.span, "a readonly message is a pointer",
                   "write readonly message " + readonly.type.plain() + "* " + readonly.name + ";");
      if (!readonly.dimensions.empty()) out_.error(readonly.nameSpan, "a readonly message cannot be an array");
    } else if (!readonly.type.pointers.empty() && messages_.count(readonly.type.name)) {
      // Others may have an operator that makes them on other processes, which the generated code asks for.
      out_.error(readonly.type.span,
                 "a readonly cannot be a pointer: what it points to does not exist on other processes",
                 "of a message, write readonly message " + readonly.type.text() + " " + readonly.name + ";");
    }
    if (readonly.type.isVoid()) out_.error(readonly.type.span, "a readonly cannot be void");
  }

  void checkMessage(const Message& message) {
    std::set<std::string> names;
    for (const MessageField& field : message.fields) {
      if (!names.insert(field.name).second)
        out_.error(field.span, "message '" + message.name + "' has two fields named '" + field.name + "'");
      if (field.isArray && (field.type.references || field.type.isVoid()))
        out_.error(field.span, "an array in a message cannot be of type " + field.type.text());
      if (field.conditional && (field.isArray || !field.type.pointers.empty() || field.type.references))
        out_.error(field.span, "a conditional field names the type of one object",
                   "write 'conditional " + field.type.plain() + " " + field.name + ";' here and '" +
                       field.type.plain() + "* " + field.name + ";' in the class");
    }
  }

  /// What is made of a chare needs the whole of what is made of its bases, as classes of C++ do. Another module of the
  /// file is in headers of its own, wherever it stands.
  void checkOrder(const Chare& chare, const std::string& scope) {
    for (const Type& base : chare.bases) {
      bool isBehind = false;
      for (std::string outer = scope;;) {
        const std::string name = outer + base.qualifier + base.name;
        if (charesSoFar_.count(name) || name == scope + chare.name) break;
        const auto found = allChares_.find(name);
        isBehind |= found != allChares_.end() && found->second.count(module_) != 0;
        if (outer.empty()) {
          if (isBehind)
            out_.error(base.span, "the base '" + base.plain() + "' of '" + chare.name + "' is declared behind it",
                       "put '" + base.name + "' in front");
          break;
        }
        const std::size_t last = outer.size() < 3 ? outer.npos : outer.rfind("::", outer.size() - 3);
        outer.resize(last == outer.npos ? 0 : last + 2);
      }
    }
    charesSoFar_.insert(scope + chare.name);
  }

  /// One method under two entries, of which one has arrays that are not to be copied, as Charm++ takes it: a call says
  /// by a CkNcpyBuffer which it means.
  static bool isOtherTransfer(const Chare& chare, const Entry& one, const Entry& other) {
    return !one.header && !other.header && !isStructured(chare, one) && !isStructured(chare, other);
  }

  void checkChare(const Chare& chare, bool isExtern) {
    if (chare.kind == ChareKind::array && chare.has("migratable"))
      out_.warning(chare.nameSpan, "array elements are migratable anyway", "leave [migratable] out");
    // The first of each, by whether it has arrays that are not to be copied: there may be one of both.
    std::map<std::string, const Entry*> seen[2];
    std::set<std::string> targets;
    for (const Entry* entry : entriesOf(chare)) {
      const std::string key = overloadKey(*entry);
      const bool isPlain = ncpyCount(*entry) == 0;
      const bool isFresh = seen[isPlain].try_emplace(key, entry).second;
      const auto other = seen[!isPlain].find(key);
      if (!isFresh || (other != seen[!isPlain].end() && !isOtherTransfer(chare, *other->second, *entry)))
        out_.error(entry->nameSpan, "entry '" + signature(*entry) + "' is declared twice in '" + chare.name + "'",
                   "remove one, or give it other parameters");
      if (entry->has("reductiontarget") && !targets.insert(entry->name).second)
        out_.error(entry->nameSpan, "two overloads of '" + entry->name + "' are reduction targets",
                   "CkReductionTarget names a target by its name alone: rename one");
      checkEntry(chare, *entry);
    }
    for (const Type& base : chare.bases)
      if (base.isConst || !base.pointers.empty() || base.references || base.builtin)
        out_.error(base.span, "a base of '" + chare.name + "' has to be the name of a chare");
      else
        checkBase(base);
    if (chare.kind == ChareKind::mainchare && !isExtern && chare.hasBody && out_.errors() == 0) checkMainchare(chare);
  }

  void checkMainchare(const Chare& chare) {
    const auto entries = entriesOf(chare);
    if (std::none_of(entries.begin(), entries.end(), [](const Entry* e) { return e->isConstructor; }))
      out_.error(chare.nameSpan, "mainchare '" + chare.name + "' has no constructor, so the program could not start",
                 "add: entry " + chare.name + "(CkArgMsg*);");
  }

  void checkEntry(const Chare& chare, const Entry& entry) {
    checkResult(chare, entry);
    checkAttributes(chare, entry);
    if (!entry.has("local")) checkParameters(entry);
    checkNcpy(entry);
    if (takesArgMsg(entry) && !(entry.isConstructor && chare.kind == ChareKind::mainchare))
      out_.error(entry.parameters[0].span, "only the constructor of a mainchare takes a CkArgMsg*",
                 "send what is needed of the command line as arguments of your own");
    if (entry.stackSize && !entry.has("threaded"))
      out_.error(entry.stackSizeSpan, "'stacksize' is for threaded entries only", "add [threaded], or leave it out");
  }

  void checkResult(const Chare& chare, const Entry& entry) {
    if (entry.isConstructor) {
      if (entry.result && !entry.result->isVoid())
        out_.error(entry.result->span, "a constructor returns nothing", "write entry " + entry.name + "(...)");
      return;
    }
    if (!entry.result) {
      const std::string_view near = nearest(entry.name, {chare.name});
      out_.error(entry.nameSpan, "entry '" + entry.name + "' has no return type",
                 near.empty()
                     ? "write entry void " + entry.name + "(...)"
                     : "write entry void " + entry.name + "(...), or is it the constructor '" + chare.name + "'?");
      return;
    }
    const bool mayReturn = entry.has("sync") || entry.has("local") || entry.has("iget") || entry.has("whenidle");
    if (!entry.result->isVoid() && !mayReturn)
      out_.error(entry.result->span,
                 "entry '" + entry.name + "' cannot return a value: the caller does not wait for it",
                 "make it void and send the answer by another entry or a CkCallback, or declare it [sync] or [local]");
    if (entry.has("sync") && entry.result->builtin && !entry.result->pointers.empty() &&
        (entry.result->name != "void" || entry.result->pointers.size() != 1))  // void* is any message
      out_.error(entry.result->span,
                 "a [sync] entry returns a value or a message, not a pointer to " + entry.result->name);
    if (entry.has("iget") && !entry.result->isVoid() && !returnsMessage(entry))
      out_.error(
          entry.result->span,
          "an [iget] entry returns a message: the caller's future holds no value of type " + entry.result->text(),
          "declare it [sync], or put the value into a message");
  }

  void checkAttributes(const Chare& chare, const Entry& entry) {
    auto wrong = [&](std::string_view attribute, const std::string& why, std::string hint = {}) {
      for (const Attribute& a : entry.attributes)
        if (a.name == attribute) out_.error(a.span, "[" + a.name + "] " + why, std::move(hint));
    };
    std::set<std::string> seen;
    for (const Attribute& a : entry.attributes)
      if (!seen.insert(a.name).second) out_.warning(a.span, "[" + a.name + "] is given twice");
    const bool array = chare.kind == ChareKind::array;
    if (entry.isConstructor) {
      for (const char* a : {"sync", "exclusive", "reductiontarget", "local", "whenidle", "iget", "aggregate", "python"})
        wrong(a, "cannot stand on a constructor");
      if (chare.kind != ChareKind::chare)
        wrong("threaded", "cannot stand on a constructor, unless it is that of a chare (no mainchare, group or array)");
    } else if (!array) {
      for (const Attribute& a : entry.attributes)
        if (a.name == "createhere" || a.name == "createhome")
          out_.warning(a.span, "[" + a.name + "] is for array elements only", "leave it out");
    }
    if (chare.kind != ChareKind::nodegroup) {
      wrong("exclusive", "is for nodegroups only: elsewhere one entry of an object runs at a time anyway");
      wrong("immediate", "is for nodegroups only");
      if (!array && chare.kind != ChareKind::group) wrong("local", "is for arrays and groups only");
    } else {
      wrong("local", "is for arrays and groups only");
    }
    if (entry.has("python") && !chare.has("python"))
      wrong("python", "needs a [python] chare", "write " + std::string(toText(chare.kind)) + " [python] " + chare.name);
    if (entry.has("python") && !(entry.parameters.size() == 1 && entry.parameters[0].type.text() == "int"))
      wrong("python", "needs exactly one parameter, of type int");
    if (entry.has("local"))
      wrong("reductiontarget", "cannot stand on a [local] entry: the result of a reduction comes as a message",
            "leave [local] out");
    if (entry.has("aggregate")) checkAggregate(chare, entry);
    if (entry.has("whenidle")) {
      if (!entry.result || entry.result->text() != "bool") wrong("whenidle", "needs an entry that returns bool");
      if (!entry.parameters.empty()) wrong("whenidle", "needs an entry without parameters");
    }
  }

  void checkAggregate(const Chare& chare, const Entry& entry) {
    // What Charm++ knows, in its translator's words and in its manual's; only bufferSize means something here.
    static const std::set<std::string_view> known = {
        "bufferSize",     "numDimensions",          "maxItems",       "maxNumDataItemsBuffered",
        "thresholdNumer", "thresholdFractionNumer", "thresholdDenom", "thresholdFractionDenom",
        "cutoffNumer",    "cutoffFractionNumer",    "cutoffDenom",    "cutoffFractionDenom"};
    for (const Attribute& a : entry.attributes) {
      if (a.name != "aggregate") continue;
      if (takesMessage(entry)) out_.error(a.span, "[aggregate] needs parameters: a message is sent by itself");
      if (chare.kind != ChareKind::array && chare.kind != ChareKind::group)
        out_.error(a.span, "[aggregate] is for arrays and groups only");
      for (const auto& [key, value] : a.arguments) {
        if (!known.count(key))
          out_.error(a.span, "[aggregate] knows no " + key, "write bufferSize: a number of bytes, or nothing");
      }
    }
  }

  void checkParameters(const Entry& entry) {
    std::set<std::string> names;
    for (const Parameter& p : entry.parameters) {
      if (!p.name.empty() && !names.insert(p.name).second)
        out_.error(p.nameSpan, "two parameters of '" + entry.name + "' are named '" + p.name + "'");
      checkParameter(entry, p);
    }
  }

  void checkNcpy(const Entry& entry) {
    if (ncpyCount(entry) == 0) return;
    const auto first = std::find_if(entry.parameters.begin(), entry.parameters.end(), isNcpy);
    if (entry.isConstructor)
      out_.error(first->span, "a constructor cannot get an array without a copy",
                 "send it by an entry of its own, once the object is there");
    const bool onDevice = isForDevice(entry);
    for (const char* attribute : {"sync", "iget", "local", "reductiontarget"}) {
      const bool isTarget = attribute == std::string("reductiontarget");
      const bool isAnswer = attribute == std::string("sync") || attribute == std::string("iget");
      if (entry.has(attribute) && !(onDevice ? isTarget : isAnswer))
        out_.error(first->span, "an entry that is [" + std::string(attribute) + "] cannot get an array without a copy",
                   "leave the word out: the array is then copied");
    }
    if (onDevice && entry.has("reductiontarget"))
      for (const Parameter& p : entry.parameters)
        if (!p.length && p.type.text() != "int")
          out_.error(p.span, "what a reduction says of the length of a nocopydevice array is an int", "write: int");
    const auto other = std::find_if(first, entry.parameters.end(),
                                    [&](const Parameter& p) { return isNcpy(p) && p.transfer != first->transfer; });
    if (other != entry.parameters.end())
      out_.error(other->span, "nocopydevice cannot be used beside nocopy and nocopypost in one entry",
                 "a nocopydevice array goes to memory that may be a GPU's: send the others by an entry of their own");
  }

  void checkParameter(const Entry& entry, const Parameter& p) {
    if (p.type.isVoid()) return out_.error(p.span, "a parameter cannot be void", "write () when there are none");
    if (p.transfer != Transfer::marshalled && !p.length)
      out_.error(p.span, "only an array can be sent without a copy", "write its length: name[n]");
    if (p.type.isFunction()) return;
    if (p.length) {
      if (!p.type.pointers.empty() || p.type.references)
        out_.error(p.span, "an array of " + p.type.text() + " cannot be sent: it would send addresses",
                   "send an array of values, or a std::vector");
      return;
    }
    if (p.type.pointers.empty()) return checkValue(p);
    if (isMessagePointer(p) && entry.parameters.size() == 1) return checkMessageType(p);
    const std::string name = p.name.empty() ? "x" : p.name;
    if (messages_.count(p.type.name) && p.type.pointers.size() == 1 && !p.type.references)
      return out_.error(p.span, "a message is an entry's only parameter", "put the other arguments into the message");
    const bool text = p.type.builtin && p.type.name == "char";
    out_.error(p.span, "a pointer cannot be sent: '" + p.type.text() + "' would be an address on another PE",
               text ? "use a std::string, or an array: char " + name + "[n]"
                    : "if it is an array, write its length: " + p.type.plain() + " " + name +
                          "[n]; a message is declared "
                          "with: message " +
                          (p.type.builtin ? "Name" : p.type.name) + ";");
  }

  /// A proxy of a chare that no file has declared: most often a forgotten `extern module`.
  void checkProxyType(const Type& type) {
    for (std::string_view prefix : {"CProxy_", "CProxyElement_", "CProxySection_"}) {
      if (type.name.rfind(prefix, 0) != 0 || !type.qualifier.empty()) continue;
      const std::string chare = type.name.substr(prefix.size());
      if (chare.rfind("FuncCk", 0) != 0) checkChareIsKnown(type.span, chare, std::string(prefix));
    }
  }

  void checkBase(const Type& base) {
    if (!base.qualifier.empty()) return;
    for (std::string_view end : {"LB", "Map", "Group"})  // the runtime's: balancers, maps, IrrGroup
      if (base.name.size() >= end.size() && base.name.compare(base.name.size() - end.size(), end.size(), end) == 0)
        return;
    checkChareIsKnown(base.span, base.name, "");
  }

  void checkChareIsKnown(const Span& where, const std::string& chare, const std::string& prefix) {
    if (seesOthers_ || chares_.count(chare) || chare.rfind("Ck", 0) == 0) return;
    std::vector<std::string_view> known(chares_.begin(), chares_.end());
    const std::string_view near = nearest(chare, known);
    out_.warning(
        where, "no chare '" + chare + "' is declared in this file, nor is another module named that could",
        near.empty() ? "name its module: extern module name;" : "did you mean '" + prefix + std::string(near) + "'?");
  }

  void checkValue(const Parameter& p) {
    checkProxyType(p.type);
    if (messages_.count(p.type.name) && p.type.qualifier.empty() && !chares_.count(p.type.name))
      out_.error(p.span, "'" + p.type.name + "' is a message, and messages are passed by pointer",
                 "write " + p.type.plain() + "* " + p.name);
  }

  void checkMessageType(const Parameter& p) {
    if (messages_.count(p.type.name) || runtime_messages.count(p.type.name) || !p.type.qualifier.empty()) return;
    if (!p.type.arguments.empty()) return;
    std::vector<std::string_view> known(messages_.begin(), messages_.end());
    known.insert(known.end(), runtime_messages.begin(), runtime_messages.end());
    const std::string_view near = nearest(p.type.name, known);
    if (seesOthers_) return;  // declared in a module or a header that this file names
    out_.warning(p.span,
                 "message '" + p.type.name + "' is not declared in this file, nor is another module named that could",
                 near.empty() ? "declare it (message " + p.type.name + ";) or name its module (extern module name;)"
                              : "did you mean '" + std::string(near) + "'?");
  }

  const File& file_;
  Diagnostics& out_;
  std::set<std::string, std::less<>> messages_;
  std::set<std::string, std::less<>> chares_;
  const Module* module_ = nullptr;                            ///< in which it is
  std::map<std::string, std::set<const Module*>> allChares_;  ///< with their namespaces: where they are declared
  std::set<std::string> charesSoFar_;                         ///< the same, of those before
  std::map<std::string, std::string> declared_;
  bool seesOthers_ = false;
};

void unsupportedTemplateEntry(const Entry& entry, Diagnostics& out) {
  const std::string instead = "make the class of the chare a template, or write an entry for each type";
  if (entry.isConstructor)
    out.error(entry.nameSpan, "a constructor that is a template entry is not supported", instead);
  for (const char* word : {"whenidle", "python"})
    for (const Attribute& a : entry.attributes)
      if (a.name == word) out.error(a.span, "[" + a.name + "] cannot stand on a template entry", instead);
  for (const Parameter& p : entry.parameters) {
    if (p.type.pack)
      out.error(p.span, "a parameter that is a pack is not supported",
                "make one value of it, a tuple<" + p.type.plain() + "...>");
    if (p.transfer == Transfer::nocopypost || isOnDevice(p))
      out.error(p.span,
                std::string(isOnDevice(p) ? "nocopydevice" : "nocopypost") + " cannot be used in a template entry",
                "write an entry for each type");
  }
}

void unsupportedEntry(const Entry& entry, Diagnostics& out) {
  if (entry.header && entry.body)
    out.error(entry.header->span, "a template entry with a body is not supported",
              "make the class of the chare a template, or write an entry for each type");
  if (entry.header) unsupportedTemplateEntry(entry, out);
  for (const Parameter& p : entry.parameters) {
    if (p.type.isFunction() && !entry.has("local"))
      out.error(p.span, "a function pointer cannot be sent", "send a number that names the function");
    if (p.type.pack && !entry.header) out.error(p.span, "a parameter pack needs a template entry");
  }
}

/// What runs scripts of clients (PythonCCS.h), in a thread with room for the interpreter.
Entry pythonRequest(const Chare& chare, const std::string& name, int ordinal) {
  Parameter request;
  request.span = request.nameSpan = chare.nameSpan;
  request.type.name = "CkCcsRequestMsg";
  request.type.pointers = {false};
  Type result;
  result.name = "void";
  result.builtin = true;
  Entry entry;
  entry.span = entry.nameSpan = entry.stackSizeSpan = chare.nameSpan;
  entry.attributes.push_back({chare.nameSpan, "threaded", {}, {}});
  entry.result = result;
  entry.name = name;
  entry.parameters.push_back(request);
  entry.stackSize = "periapt::python_stack_bytes";
  entry.ordinal = ordinal;
  return entry;
}

void addPythonRequests(std::vector<Item>& items) {
  for (Item& item : items) {
    if (auto* module = std::get_if<Module>(&item.node)) addPythonRequests(module->items);
    if (auto* space = std::get_if<Namespace>(&item.node)) addPythonRequests(space->items);
    if (auto* block = std::get_if<Block>(&item.node)) addPythonRequests(block->items);
    auto* chare = std::get_if<Chare>(&item.node);
    if (!chare || !chare->has("python") || chare->isInstantiation()) continue;
    const int entries = static_cast<int>(entriesOf(*chare).size());
    for (const auto& [name, ordinal] : {std::pair("pyRequest", entries + 1), std::pair("pyRequestAlone", entries + 2)})
      chare->items.push_back({chare->nameSpan, false, pythonRequest(*chare, name, ordinal)});
  }
}

}  // namespace

void settle(File& file, Diagnostics& out) { settleItems(file.items, file.items, out); }

void check(const File& file, Diagnostics& out) { Checker(file, out).run(); }

void addPythonRequests(File& file) { addPythonRequests(file.items); }

void checkSupported(const File& file, Diagnostics& out) {
  forEachItem(file.items, "", [&](const Item& item, const std::string&) {
    if (auto* chare = std::get_if<Chare>(&item.node)) {
      for (const Entry* entry : entriesOf(*chare)) unsupportedEntry(*entry, out);
      for (const Item& member : chare->items)
        if (std::holds_alternative<Accel>(member.node))
          out.error(member.span, "[accel] entries are not supported: there is no accelerator that they would run on",
                    "write a plain entry whose method does what stands in the braces and then calls the method that is "
                    "named behind them");
    }
  });
  for (const Item& item : file.items) {
    const Module& outer = std::get<Module>(item.node);
    forEachItem(outer.items, "", [&](const Item& inner, const std::string&) {
      if (auto* module = std::get_if<Module>(&inner.node); module && module->hasBody)
        out.error(module->nameSpan, "a module inside a module is not supported",
                  "put '" + module->name + "' beside it");
    });
  }
}

}  // namespace periapt::ci
