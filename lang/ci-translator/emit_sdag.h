// What the bodies of entries add to M.decl.h and M.def.h: the class's X_SDAG_CODE, tables of steps, and a function that
// holds the fragments of C++.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lang/ci-translator/ast.h"
#include "lang/ci-translator/naming.h"
#include "lang/ci-translator/writer.h"

namespace periapt::ci {

struct AwaitedEntry;
struct LoweredAwaited;

class BodyEmitter {
 public:
  using Place = std::function<std::string(std::size_t offset)>;  ///< "hello.ci:12"
  BodyEmitter(const std::vector<Item>& items, const ChareNames& names, Writer& out, Place place)
      : items_(items), names_(names), out_(out), place_(std::move(place)) {}

  // --- M.decl.h ---
  void declareIndex(const Entry& entry);  ///< in CkIndex_X
  void sdagCode();                        ///< #define X_SDAG_CODE

  // --- M.def.h ---
  /// The function that a message for the entry reaches.
  void call(const Entry& entry);
  /// The method that the program may call on an object that is here.
  void method(const Entry& entry);
  void body(const Entry& entry);
  /// In __register.
  void registerEntry(const Entry& entry);

 private:
  struct Lowered;
  bool mayOwn() const;
  void derives(const Entry& entry, const Lowered& lowered);
  void steps(const Lowered& lowered);
  void awaited(const Lowered& lowered);
  void numberExists(const LoweredAwaited& lowered);
  void fragments(const Entry& entry, const Lowered& lowered);
  std::string indexOf(const AwaitedEntry& found) const;
  std::string argumentsOf(const std::string& index, const Entry& entry) const;

  const std::vector<Item>& items_;
  const ChareNames& names_;
  Writer& out_;
  Place place_;
};

}  // namespace periapt::ci
