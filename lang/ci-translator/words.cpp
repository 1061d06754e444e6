#include "lang/ci-translator/words.h"

#include <algorithm>
#include <iterator>

namespace periapt::ci {

bool isMessagePointer(const Parameter& p) {
  return !p.length && !p.type.builtin && !p.type.isFunction() && p.type.pointers.size() == 1 &&
         p.type.references == 0 && p.transfer == Transfer::marshalled;
}

bool takesMessage(const Entry& entry) {
  return entry.parameters.size() == 1 && isMessagePointer(entry.parameters.front());
}

bool returnsMessage(const Entry& entry) {
  return entry.result && !entry.result->builtin && entry.result->pointers.size() == 1;
}
bool isAnswered(const Entry& entry) { return entry.has("sync") || entry.has("iget"); }

bool isNcpy(const Parameter& p) { return p.transfer != Transfer::marshalled; }
bool isOnDevice(const Parameter& p) { return p.transfer == Transfer::nocopydevice; }

int ncpyCount(const Entry& entry) {
  return static_cast<int>(std::count_if(entry.parameters.begin(), entry.parameters.end(), isNcpy));
}

bool isPosted(const Entry& entry) {
  return std::any_of(entry.parameters.begin(), entry.parameters.end(),
                     [](const Parameter& p) { return p.transfer == Transfer::nocopypost || isOnDevice(p); });
}

bool isForDevice(const Entry& entry) {
  return std::any_of(entry.parameters.begin(), entry.parameters.end(), isOnDevice);
}

bool isScalar(const Type& type) {
  if (!type.pointers.empty() || type.isFunction()) return false;
  if (type.builtin) return true;
  static constexpr std::string_view names[] = {"size_t",   "ssize_t",  "ptrdiff_t", "int8_t",         "int16_t",
                                               "int32_t",  "int64_t",  "uint8_t",   "uint16_t",       "uint32_t",
                                               "uint64_t", "intptr_t", "uintptr_t", "CmiUInt8",       "CmiInt8",
                                               "CmiUInt4", "CmiInt4",  "CmiUInt2",  "CMK_REFNUM_TYPE"};
  const bool known = std::find(std::begin(names), std::end(names), type.name) != std::end(names);
  return known && type.arguments.empty() &&
         (type.qualifier.empty() || type.qualifier == "std::" || type.qualifier == "::");
}

Type sentType(const Parameter& p) {
  Type type = p.type;
  if (!p.conditional) return type;
  type.arguments = "<" + type.plain() + ">";
  type.qualifier = "periapt::";
  type.name = "Conditional";
  return type;
}

std::string heldType(const Parameter& p) {
  Type type = sentType(p);
  type.isConst = false;
  type.references = 0;
  return type.text();
}

Type typeInClass(const Parameter& p) {
  Type type = p.type;
  if (p.conditional) type.pointers = {false};
  return type;
}

std::string signature(const Entry& entry) {
  std::string out = entry.result && !entry.isConstructor ? entry.result->text() + " " : "";
  out += entry.name + "(";
  for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
    const Parameter& p = entry.parameters[i];
    out += (i ? ", " : "") + typeInClass(p).text(p.name);
    if (p.length) out += "[" + *p.length + "]";
  }
  return out + ")";
}

std::string overloadKey(const Entry& entry) {
  std::string out = entry.name + "(";
  for (const Parameter& p : entry.parameters) {
    Type type = sentType(p);
    if (type.references == 1 || (p.length && type.isConst)) type.isConst = false;
    if (type.references == 1) type.references = 0;
    if (type.pointers.empty() && !p.length) type.isConst = false;  // a const value is the same overload
    if (takesMessage(entry)) type.isConst = false;                 // a when may look at its message as const
    out += type.text() + (p.length ? "*" : "") + ",";
  }
  out.erase(std::remove(out.begin(), out.end(), ' '), out.end());
  return out;
}

std::vector<const Entry*> entriesOf(const Chare& chare) {
  std::vector<const Entry*> out;
  for (const Item& item : chare.items)
    if (auto* entry = std::get_if<Entry>(&item.node)) out.push_back(entry);
  return out;
}

}  // namespace periapt::ci
