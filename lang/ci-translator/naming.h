// The names of everything that is generated for a chare and for an entry. One place, so that declarations, definitions
// and registration cannot disagree.
#pragma once

#include <string>
#include <vector>

#include "lang/ci-translator/ast.h"

namespace periapt::ci {

struct ChareNames {
  explicit ChareNames(const Chare& chare);

  const Chare& chare;
  std::string header;        ///< "template <class T>" or empty
  std::string arguments;     ///< "<T>" or empty
  std::string local;         ///< "Hello<T>"
  std::string index;         ///< "CkIndex_Hello<T>"
  std::string proxy;         ///< "CProxy_Hello<T>"
  std::string element;       ///< "CProxyElement_Hello<T>"; a chare's is its proxy
  std::string section;       ///< "CProxySection_Hello<T>"; empty for a chare
  std::string arrayIndex;    ///< "CkArrayIndex1D"; empty but for arrays
  std::string elementIndex;  ///< of ArrayElementT: "CkArrayIndex1D", or a type of the program's own
  int dimensions = -1;       ///< 1 to 6; -1 for an index of the user's own

  bool isArray() const { return chare.kind == ChareKind::array; }
  bool isGroup() const { return chare.kind == ChareKind::group || chare.kind == ChareKind::nodegroup; }
  bool isSingle() const { return !isArray() && !isGroup(); }
  /// Constructible from CkMigrateMessage.
  bool migrates() const { return isArray() || chare.has("migratable"); }

  /// "Chare", "Group", "NodeGroup", "ArrayElement": the runtime's own class at the root.
  std::string root() const;
  /// The class whose pointer a proxy can be made from: groups of both kinds have one.
  std::string handleClass() const { return isGroup() ? "IrrGroup" : root(); }
  /// Classes that `prefix` + each base names: "CProxy_", "CkIndex_" ... With no base, the runtime's.
  std::vector<std::string> bases(const std::string& prefix) const;
  /// ": public A, public B".
  std::string baseList(const std::string& prefix) const;
  /// The proxy as the runtime's calls take it: with several bases, one of them has to be chosen.
  std::string self(const std::string& prefix) const;
};

/// "N::CProxy_B<int>" for the base type N::B<int>.
std::string prefixed(const std::string& prefix, const Type& type);

struct EntryNames {
  explicit EntryNames(const Entry& entry);
  std::string suffixed;  ///< "work_marshall2", "take_Plain", "go_void"
  std::string ep;        ///< "ep_work_marshall2"
  std::string call;      ///< "_call_work_marshall2"
  std::string post;      ///< "_post_work_marshall2": calls the post entry method
  std::string index;     ///< what CkIndex_X calls it: "work", or "ckNew" for a constructor
  // Of one that has a body in the .ci, or that a when waits for.
  std::string arguments;  ///< "args_work_marshall2": their type, in CkIndex_X
  std::string body;       ///< "impl_body_work_marshall2": its steps
  std::string fragments;  ///< "impl_run_work_marshall2": its C++
};

/// Parameter types of the method itself, as in a pointer to it.
std::string methodTypes(const Entry& entry);
/// The same as Charm++ has them in the pointer that idx_name() takes, and so in methods whose address programs give it:
/// values of classes, enums and typedefs, and references of both kinds, come as `const T&`, unless they have a default
/// value, and arrays as `const T*`. Those that are sent without a copy are `T*` as in the method itself: Charm++ has
/// CkNcpyBuffer there, which no method takes whose address could be given.
std::string indexTypes(const Entry& entry);

/// A reduction target that gets a second entry point, which unpacks the reduction's result. An array of a GPU's comes
/// as in any call.
bool hasReductionWrapper(const Entry& entry);
/// [local] entries are plain calls: no message is for them.
bool isRegistered(const Entry& entry);
/// Has a number all the same, unless it is a template.
bool isNumbered(const Entry& entry);
/// Calls of it on the own PE are told to what records the run: [inline], [local], [whenidle].
bool isTold(const Entry& entry);

}  // namespace periapt::ci
