// Mistakes in the bodies of entries.
#include <algorithm>

#include "lang/ci-translator/checks.h"
#include "lang/ci-translator/lower_sdag.h"
#include "lang/ci-translator/naming.h"
#include "lang/ci-translator/words.h"

namespace periapt::ci {
namespace {

class BodyChecker {
 public:
  BodyChecker(const std::vector<Item>& items, const Chare& chare, Diagnostics& out)
      : items_(items), chare_(chare), out_(out) {}

  void run() {
    checkBases();
    for (const Entry* entry : entriesOf(chare_)) {
      if (isStructured(chare_, *entry)) checkEntry(*entry);
      if (!entry->body) continue;
      forEachStatement(*entry->body, [this](const Sdag& s) {
        if (s.kind == Sdag::Kind::when) checkWhen(s);
        checkReached(s.body);
        checkReached(s.otherwise);
      });
    }
  }

 private:
  static constexpr std::size_t awaited_max = 64;  // of one when: machine.cpp

  /// One machine an object (runtime/sdag/holder.h).
  void checkBases() {
    std::vector<const Type*> with;
    for (const Type& base : chare_.bases)
      if (inheritsBodies(items_, base)) with.push_back(&base);
    if (with.size() > 1)
      out_.error(with[1]->span,
                 "'" + chare_.name + "' inherits bodies of entries from two bases, '" + with[0]->plain() + "' and '" +
                     with[1]->plain() + "'",
                 "only one base may have them: turn those of one into methods, or derive one base from the other");
  }

  void checkEntry(const Entry& entry) {
    const std::string what = entry.body ? "has a body" : "is waited for by a when";
    if (entry.isConstructor)
      return out_.error(entry.nameSpan, "a constructor cannot have a body in the .ci file",
                        "call an entry that has one from the constructor");
    if (isAnswered(entry) && entry.result && !entry.result->isVoid())
      out_.error(entry.result->span, "entry '" + entry.name + "' " + what + ", and cannot return a value",
                 "its caller is answered when it waits for the first time: declare it void, and send the value");
    for (const char* attribute : {"local", "whenidle", "python"})
      for (const Attribute& a : entry.attributes)
        if (a.name == attribute && !(a.name == "local" && entry.body))
          out_.error(a.span, "entry '" + entry.name + "' " + what + ", and cannot be [" + a.name + "]",
                     "its caller would not wait for it; leave the word out");
  }

  void checkWhen(const Sdag& when) {
    for (const Awaited& a : when.awaited) checkAwaited(a);
    if (when.awaited.size() > awaited_max)
      out_.error(when.span, "a when can wait for " + std::to_string(awaited_max) + " entries at most");
  }

  void checkAwaited(const Awaited& awaited) {
    using Where = AwaitedEntry::Where;
    const AwaitedEntry found = awaitedEntry(items_, chare_, awaited);
    if (found.where == Where::nowhere) return undeclared(awaited);
    if (!found.entry) return;
    const Entry& entry = *found.entry;
    if (entry.body)
      out_.error(awaited.span, "a when waits for '" + entry.name + "', which has a body of its own",
                 "a message for it begins that body; let the when wait for an entry that ends in ';'");
    else if (found.where == Where::base && !isTrigger(*found.chare, entry))
      out_.error(awaited.span,
                 "a when waits for '" + entry.name + "' of '" + found.chare->name + "', where it is a method",
                 "declare the entry in '" + chare_.name + "' too");
    if (awaited.reference) checkReference(awaited, entry);
  }

  void undeclared(const Awaited& awaited) {
    std::string declared;
    std::vector<std::string_view> known;
    for (const Entry* entry : entriesOf(chare_)) {
      const auto& all = entry->parameters;
      if (entry->name == awaited.name &&
          std::any_of(all.begin(), all.end(), [](const Parameter& p) { return p.conditional; }))
        return out_.error(awaited.span,
                          "a when cannot wait for '" + awaited.name + "', which has a conditional parameter",
                          "send a message with a conditional field");
      if (entry->name == awaited.name) declared += (declared.empty() ? "" : ", ") + signature(*entry);
      known.push_back(entry->name);
    }
    if (!declared.empty())
      return out_.error(awaited.span, "no entry '" + awaited.name + "' of '" + chare_.name + "' has these parameters",
                        "the types have to be those of the entry: " + declared);
    const std::string_view near = nearest(awaited.name, known);
    out_.error(awaited.span, "a when waits for '" + awaited.name + "', but '" + chare_.name + "' has no such entry",
               near.empty() ? "declare it: entry void " + awaited.name + "(...);"
                            : "did you mean '" + std::string(near) + "'?");
  }

  /// The reference number of a message is set by CkSetRefNum(), of a reduction's result by the callback's setRefNum();
  /// of other calls it is the first argument.
  void checkReference(const Awaited& awaited, const Entry& entry) {
    if (takesMessage(entry) || entry.has("reductiontarget")) return;
    const bool none = entry.parameters.empty();
    if (!none && !entry.parameters[0].length) return;
    out_.error(awaited.referenceSpan,
               "calls of '" + entry.name + "' have no reference number: nothing could ever reach this when",
               none ? "give the entry a first parameter: int number"
                    : "the number is the first argument, which is an array here: put an int before it");
  }

  void checkReached(const std::vector<Sdag>& statements) {
    for (std::size_t i = 0; i + 1 < statements.size(); ++i)
      if (isEndless(statements[i]))
        return out_.warning({statements[i + 1].span.begin, statements[i + 1].span.begin + 1},
                            "nothing reaches this statement: the loop before it never ends",
                            "give the loop a condition, or put this before it");
  }

  const std::vector<Item>& items_;
  const Chare& chare_;
  Diagnostics& out_;
};

}  // namespace

void checkBodies(const File& file, Diagnostics& out) {
  forEachItem(file.items, "", [&](const Item& item, const std::string&) {
    if (auto* chare = std::get_if<Chare>(&item.node)) BodyChecker(file.items, *chare, out).run();
  });
}

}  // namespace periapt::ci
