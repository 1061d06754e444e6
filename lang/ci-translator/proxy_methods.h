// The methods of the proxies of a chare: what each entry becomes on the sending side. Declarations and definitions are
// printed from the same list.
#pragma once

#include <string>
#include <vector>

#include "lang/ci-translator/naming.h"

namespace periapt::ci {

struct Function {
  struct Formal {
    std::string text;          ///< "const double* x"
    std::string defaultValue;  ///< "nullptr" or empty
  };
  std::string owner;           ///< "CProxyElement_Hello<T>"
  std::string header;          ///< "template <class T>" of a template entry, or empty
  std::string declaredHeader;  ///< the same with the default arguments
  std::string result;          ///< empty for a constructor
  std::string name;
  std::vector<Formal> formals;
  std::vector<std::string> body;
  std::string initializer;  ///< " : CProxy_G(...)" of a constructor
  bool isStatic = false;
  bool isConst = false;
  bool isExplicit = false;
  std::size_t at = 0;  ///< place of the entry in the .ci

  std::string declaration() const;
  /// Head of the definition, up to the `{`.
  std::string head(const std::string& templateHeader) const;
};

/// Methods of the element proxy (the only one of a chare), the whole proxy and the section proxy, in the order of the
/// .ci.
std::vector<Function> elementMethods(const ChareNames& names);
std::vector<Function> proxyMethods(const ChareNames& names);
std::vector<Function> sectionMethods(const ChareNames& names);

/// The name of a parameter in generated text; those that have none get one.
std::string parameterName(const Entry& entry, std::size_t i);
/// The parameters as a method of the class itself takes them.
std::string methodFormals(const Entry& entry);
/// A parameter as proxies take it: arrays and objects by pointer or reference to const.
std::string sentFormal(const Parameter& parameter, const std::string& name);

}  // namespace periapt::ci
