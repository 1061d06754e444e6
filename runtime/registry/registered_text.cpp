// See registered_text.h.
#include "runtime/registry/registered_text.h"

#include <sstream>

#include "runtime/registry/registry.h"

namespace periapt {

std::string registered_text() {
  std::ostringstream out;
  const Registry& all = registry();
  for (const ChareInfo& chare : all.chares) out << "class " << chare.name << "\n";
  for (const EntryInfo& entry : all.entries) {
    out << "entry ";
    if (entry.target != Target::runtime && entry.target != Target::converse)
      out << all.chares[entry.chare].name << "::";
    out << entry.name << "\n";
  }
  for (const MessageInfo& message : all.messages) out << "message " << message.name << "\n";
  for (const ReadonlyInfo& readonly : all.readonlys)
    out << "readonly " << readonly.type << " " << readonly.name << ", " << readonly.size << " bytes\n";
  return out.str();
}

std::string first_difference(const std::string& written, const std::string& here) {
  std::istringstream one(written), other(here);
  std::string there, mine;
  while (true) {
    const bool more_there = static_cast<bool>(std::getline(one, there));
    const bool more_here = static_cast<bool>(std::getline(other, mine));
    if (!more_there && !more_here) return "nothing differs";
    if (!more_there) return "it has no " + mine;
    if (!more_here) return "it has " + there + ", which this program has not";
    if (there != mine) return "it has " + there + " where this program has " + mine;
  }
}

}  // namespace periapt
