#include "lang/ci-translator/naming.h"

#include "lang/ci-translator/words.h"

namespace periapt::ci {

ChareNames::ChareNames(const Chare& c) : chare(c) {
  if (c.header) {
    header = c.header->text(false);
    arguments = c.header->arguments();
  }
  if (c.isInstantiation()) arguments = c.arguments;
  const std::string name = c.name + arguments;
  local = name;
  index = "CkIndex_" + name;
  proxy = "CProxy_" + name;
  element = (isSingle() ? "CProxy_" : "CProxyElement_") + name;
  if (!isSingle()) section = "CProxySection_" + name;
  if (isArray()) {
    arrayIndex = "CkArrayIndex" + c.index;
    elementIndex = c.index == "Max" ? "CkIndexMax" : c.index;
    if (c.index.size() == 2 && c.index[1] == 'D' && c.index[0] >= '1' && c.index[0] <= '6')
      dimensions = c.index[0] - '0';
    if (dimensions > 0) elementIndex = arrayIndex;
  }
}

std::string ChareNames::root() const {
  switch (chare.kind) {
    case ChareKind::group:
      return "Group";
    case ChareKind::nodegroup:
      return "NodeGroup";
    case ChareKind::array:
      return "ArrayElement";
    default:
      return "Chare";
  }
}

std::string prefixed(const std::string& prefix, const Type& type) {
  return type.qualifier + prefix + type.name + type.arguments;
}

std::vector<std::string> ChareNames::bases(const std::string& prefix) const {
  std::vector<std::string> out;
  for (const Type& base : chare.bases) out.push_back(prefixed(prefix, base));
  if (out.empty()) out.push_back(prefix + root());
  return out;
}

std::string ChareNames::baseList(const std::string& prefix) const {
  std::string out;
  for (const std::string& base : bases(prefix)) out += (out.empty() ? " : public " : ", public ") + base;
  return out;
}

std::string ChareNames::self(const std::string& prefix) const {
  if (chare.bases.size() < 2) return "*this";
  return "static_cast<const " + prefixed(prefix, chare.bases[0]) + "&>(*this)";
}

EntryNames::EntryNames(const Entry& entry) {
  suffixed = entry.name + "_";
  if (entry.parameters.empty())
    suffixed += "void";
  else if (!isRegistered(entry))  // its pointers are to no messages
    suffixed += "local" + std::to_string(entry.ordinal);
  else if (takesMessage(entry))
    suffixed += entry.parameters[0].type.name;
  else
    suffixed += "marshall" + std::to_string(entry.ordinal);
  ep = "ep_" + suffixed;
  call = "_call_" + suffixed;
  post = "_post_" + suffixed;
  index = entry.isConstructor ? "ckNew" : entry.name;
  arguments = "args_" + suffixed;
  body = "impl_body_" + suffixed;
  fragments = "impl_run_" + suffixed;
}

std::string methodTypes(const Entry& entry) {
  std::string out;
  for (const Parameter& p : entry.parameters) {
    Type type = typeInClass(p);
    if (p.length) type.pointers.push_back(false);
    out += (out.empty() ? "" : ", ") + type.text();
  }
  return out;
}

std::string indexTypes(const Entry& entry) {
  std::string out;
  for (const Parameter& p : entry.parameters) {
    Type type = typeInClass(p);
    if (p.length) {
      type.pointers.push_back(false);
      type.isConst = type.isConst || !isNcpy(p);
    } else if (type.pointers.empty() && !type.isFunction()) {
      const bool isClass = !type.builtin || type.name == "bool";  // to Charm++ bool is a name like others
      const bool byReference = type.references != 0 || (isClass && !type.isConst);
      if (byReference && p.defaultValue.empty()) {
        type.isConst = true;
        type.references = 1;
      }
    }
    out += (out.empty() ? "" : ", ") + type.text();
  }
  return out;
}

bool hasReductionWrapper(const Entry& entry) {
  return entry.has("reductiontarget") && !takesMessage(entry) && !isForDevice(entry);
}
bool isRegistered(const Entry& entry) { return !entry.has("local") || entry.body.has_value(); }
bool isNumbered(const Entry& entry) { return isRegistered(entry) || !entry.header; }
bool isTold(const Entry& entry) {
  const bool direct = entry.has("local") || entry.has("whenidle") || (entry.has("inline") && ncpyCount(entry) == 0);
  return direct && !entry.has("notrace") && !entry.header;
}

}  // namespace periapt::ci
