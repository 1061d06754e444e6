// The body of an entry as the runtime wants it: a list of steps (runtime/sdag/steps.h), and the fragments of C++ that
// they call by number. Here it is still data; emit_sdag.cpp prints it.
#pragma once

#include <string>
#include <vector>

#include "lang/ci-translator/ast.h"

namespace periapt::ci {

/// A variable that a fragment sees: an argument of a when or of the entry itself, or the index of a forall.
struct Visible {
  static constexpr int own = -1;    ///< `awaited` of the entry's own arguments
  static constexpr int index = -2;  ///< ... of a forall's variable
  std::string name;
  int awaited = own;
  std::size_t parameter = 0;
  int slot = 0;
};

struct Fragment {
  enum class Kind { serial, condition, range, reference };
  Kind kind = Kind::serial;
  std::vector<std::string> code;
  Span at;
  std::vector<Visible> visible;
};

struct LoweredStep {
  enum class Kind { serial, unless, jump, when, release, overlap, forall, choose, end };
  Kind kind;
  Span at;
  int fragment = 0;
  std::size_t first = 0;
  std::size_t count = 0;
  std::size_t target = 0;
  std::string label = {};  ///< with its quotes, or empty
};

struct LoweredAwaited {
  const Awaited* awaited;
  int fragment = -1;  ///< that answers the reference number
  int slot = 0;
};

struct LoweredBody {
  std::vector<LoweredStep> steps;
  std::vector<Fragment> fragments;
  std::vector<LoweredAwaited> awaited;
  int slots = 0;
  std::size_t links = 0;  ///< most entries waited for at one place
};

/// Of an entry that has a body.
LoweredBody lower(const Entry& entry);

/// Whether nothing behind this statement is ever reached: an endless loop.
bool isEndless(const Sdag& statement);

/// Calls visit(statement) for it and all that is in it.
template <class Visit>
void forEachStatement(const Sdag& statement, const Visit& visit) {
  visit(statement);
  for (const Sdag& child : statement.body) forEachStatement(child, visit);
  for (const Sdag& child : statement.otherwise) forEachStatement(child, visit);
}

/// Which entry a when waits for.
struct AwaitedEntry {
  enum class Where { own, base, elsewhere, nowhere };
  Where where = Where::nowhere;
  const Chare* chare = nullptr;  ///< that declares it
  const Entry* entry = nullptr;
  /// The base by which the chare has it, named as where the chare stands; null: it is the chare's own. Elsewhere: one
  /// that may have it, as another file declares it, or as a template whose types it names otherwise.
  const Type* base = nullptr;
  /// Not empty: a base of that one declares it, of this name, which stands in the nearer one's scope.
  std::string farther = {};
};
AwaitedEntry awaitedEntry(const std::vector<Item>& items, const Chare& chare, const Awaited& awaited);
/// Whether what is awaited, of the base or its bases, may be a reduction target, as far as this file tells.
bool mayBeReductionTarget(const std::vector<Item>& items, const Type& base, const Awaited& awaited);

/// Some when of the chare waits for this entry of it.
bool isTrigger(const Chare& chare, const Entry& entry);
/// Its messages go to the chare's machine, not to a method: it has a body or is waited for.
bool isStructured(const Chare& chare, const Entry& entry);
/// Any of the chare's entries is.
bool hasBodies(const Chare& chare);
/// The chare of that name that the file declares, or null.
const Chare* findChare(const std::vector<Item>& items, const Type& type);
/// The base, as far as this file declares it, or one of its own does.
bool inheritsBodies(const std::vector<Item>& items, const Type& base);

}  // namespace periapt::ci
