// The tree of a .ci file: what the author wrote, before anything is judged. Every node knows its Span.
//
// A File holds Items (modules); a Module, a Namespace and a Chare hold Items again. Expressions and C++ statements are
// kept as text: they are the C++ compiler's to understand.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lang/ci-translator/source.h"

namespace periapt::ci {

/// A C++ type, taken apart as far as the translator needs: `const std::vector<int>* const &`.
struct Type {
  Span span;
  std::string qualifier;    ///< "std::", with its trailing "::", or empty
  std::string name;         ///< "vector", "unsigned long"
  std::string arguments;    ///< "<int>" or empty
  bool isTypename = false;  ///< written with `typename`
  bool builtin = false;
  bool isConst = false;            ///< const of what stands left of the pointers
  std::vector<bool> pointers;      ///< one for each `*`: is that pointer const
  int references = 0;              ///< 1: &, 2: &&
  bool pack = false;               ///< `...`
  std::string functionParameters;  ///< "(int, char)" of a function pointer, whose result type is all of the above
  std::string functionName;        ///< the name inside `(*name)`

  bool isFunction() const { return !functionParameters.empty(); }
  bool isVoid() const { return builtin && name == "void" && pointers.empty() && !isFunction(); }
  /// qualifier + name + arguments.
  std::string plain() const;
  /// All of it, as C++. `declarator` stands where a variable's name would.
  std::string text(std::string_view declarator = {}) const;
};

enum class Transfer { marshalled, nocopy, nocopypost, nocopydevice };

struct Parameter {
  Span span;
  Type type;
  std::string name;  ///< empty when the author gave none
  Span nameSpan;
  std::optional<std::string> length;  ///< `x[length]`: an array
  std::string defaultValue;
  Transfer transfer = Transfer::marshalled;
  bool conditional = false;
};

struct Attribute {
  Span span;
  std::string name;
  std::vector<std::pair<std::string, std::string>> arguments;  ///< aggregate(key: value, ...)
  std::string documentation;                                   ///< python "what it does", with the quotes
};

struct TemplateParameter {
  std::string kind;  ///< "class", "typename" or a type; of a pointer to functions the type of their result
  std::string functionParameters;  ///< "(int, char)" of a pointer to functions
  bool pack = false;
  std::string name;
  std::string defaultValue;
};

struct TemplateHeader {
  Span span;
  std::vector<TemplateParameter> parameters;
  std::string text(bool withDefaults) const;  ///< "template <class T>"
  std::string arguments() const;              ///< "<T>"
};

/// One entry that a `when` waits for: `name[reference](parameters)`.
struct Awaited {
  Span span;
  std::string name;
  std::optional<std::string> reference;
  Span referenceSpan;
  std::vector<Parameter> parameters;
};

/// A statement of SDAG.
struct Sdag {
  enum class Kind { sequence, serial, ifElse, whileLoop, forLoop, forall, overlap, when, caseOf };
  Kind kind = Kind::sequence;
  Span span;
  std::string name;               ///< serial "name"; the index of a forall
  std::vector<std::string> code;  ///< serial: {body}; if, while: {condition}; for: {init, condition, step};
                                  ///< forall: {first, last, stride}
  std::vector<Span> places;       ///< of each code
  std::vector<Awaited> awaited;   ///< when
  std::vector<Sdag> body;
  std::vector<Sdag> otherwise;  ///< else
};

struct Entry {
  Span span;
  Span nameSpan;
  std::vector<Attribute> attributes;
  std::optional<Type> result;
  std::string name;
  std::vector<Parameter> parameters;
  std::optional<std::string> stackSize;
  Span stackSizeSpan;
  std::optional<Sdag> body;
  std::optional<TemplateHeader> header;
  bool isConstructor = false;
  int ordinal = 0;  ///< 1, 2, ... within its chare: the N of `work_marshallN`

  bool has(std::string_view attribute) const;
};

struct Item;

struct Module {
  std::string name;
  Span nameSpan;
  bool isMain = false;
  bool hasBody = false;
  std::vector<Item> items;
};

struct Namespace {
  std::string name;
  std::vector<Item> items;
};

struct Using {
  bool isNamespace = false;
  std::string name;
};

struct Include {
  std::string file;  ///< with its quotes
};

struct Readonly {
  Type type;
  std::string name;  ///< may be qualified
  Span nameSpan;
  std::vector<std::string> dimensions;
  bool isMessage = false;
};

struct MessageField {
  Span span;
  Type type;
  std::string name;
  bool isArray = false;
  bool conditional = false;
};

struct Message {
  std::string name;
  Span nameSpan;
  std::string arguments;  ///< "<int>": an instantiation of a template
  std::vector<Attribute> attributes;
  std::vector<MessageField> fields;
  std::optional<TemplateHeader> header;
};

enum class ChareKind { mainchare, chare, group, nodegroup, array };
std::string_view toText(ChareKind kind);

struct Chare {
  ChareKind kind = ChareKind::chare;
  std::string name;
  Span nameSpan;
  std::string arguments;  ///< "<int>": an instantiation of a template
  std::string index;      ///< arrays: "1D" ... "6D" or the name of a custom index
  Span indexSpan;
  std::vector<Attribute> attributes;
  std::vector<Type> bases;
  std::vector<Item> items;
  std::optional<TemplateHeader> header;
  bool hasBody = false;

  bool has(std::string_view attribute) const;
  bool isInstantiation() const { return !arguments.empty(); }
};

struct InitCall {
  bool perNode = true;      ///< initnode; else initproc
  bool deprecated = false;  ///< written `initcall`
  std::string name;         ///< with template arguments
};

struct PupAble {
  std::vector<Type> types;
};

struct ForwardClass {
  std::string name;
};

/// `extern entry void Chare name(T&);`: registers an instance of a template entry.
struct ExternEntry {
  Type target;
  std::string arguments;
  Entry entry;
};

/// `{ ... }` or `extern { ... }`.
struct Block {
  std::vector<Item> items;
};

/// `accelblock { C++ }`: stands in the .def.h as it is.
struct AccelBlock {
  std::string code;
  Span at;
};

/// [accel] entries: read, never translated.
struct Accel {};

struct Item {
  Span span;
  bool isExtern = false;
  std::variant<Module, Namespace, Using, Include, Readonly, Message, Chare, InitCall, PupAble, ForwardClass,
               ExternEntry, Block, AccelBlock, Accel, Entry>
      node;
};

struct File {
  std::vector<Item> items;
};

/// The tree as indented text, for golden tests and for people.
std::string dump(const File& file);

}  // namespace periapt::ci
