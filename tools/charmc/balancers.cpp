// See balancers.h. A class of the program's own is known by its name in the bytes of an object: LBRegisterBalancer()
// hands a literal over by its address, so it stands there as it is (runtime/loadbalance/classic/balancer_options.h).
#include "tools/charmc/balancers.h"

#include <algorithm>

#include "lang/ci-translator/diagnostics.h"
#include "tools/charmc/files.h"

namespace periapt::charmc {
namespace {

std::string nameOf(const std::string& text) { return text.substr(0, text.find(':')); }

/// What cannot be looked into holds any name: an archive that only names its files, code that the linker is still to
/// compile, and a name that is put together when the program starts.
bool mayHoldAnything(const std::string& bytes) {
  static const std::string_view signs[] = {".gnu.lto_", "register_class_balancerERKNS"};
  return bytes.rfind("!<thin>", 0) == 0 || bytes.find("BC\xC0\xDE") != std::string::npos ||
         std::any_of(std::begin(signs), std::end(signs),
                     [&](std::string_view sign) { return bytes.find(sign) != std::string::npos; });
}

}  // namespace

bool hasBalancer(const std::string& text, const std::vector<std::string>& files) {
  const std::string name = nameOf(text);
  const std::vector<std::string_view> known = balancerNames();
  if (std::find(known.begin(), known.end(), name) != known.end()) return true;
  if (name.ends_with(".so") || name.ends_with(".py")) return true;
  const std::string literal = name + '\0';
  std::string bytes;
  return std::any_of(files.begin(), files.end(), [&](const std::string& file) {
    return readFile(file, bytes) && (mayHoldAnything(bytes) || bytes.find(literal) != std::string::npos);
  });
}

std::string likeBalancer(const std::string& text) {
  const std::vector<std::string_view> known = balancerNames();
  if (const std::string_view near = ci::nearest(nameOf(text), known); !near.empty())
    return "did you mean " + std::string(near) + "?";
  std::string list;
  for (std::string_view name : known)
    if (name.ends_with("LB")) list += (list.empty() ? "" : ", ") + std::string(name);
  return "there are " + list;
}

void appendBalancers(std::vector<std::string>& out, const std::vector<std::string>& pieces) {
  bool options = false;  // the last one has some
  for (const std::string& piece : pieces) {
    const bool continues = options && piece.find('=') != std::string::npos && piece.find(':') == std::string::npos;
    if (continues)
      out.back() += "," + piece;
    else
      out.push_back(piece);
    options = continues || piece.find(':') != std::string::npos;
  }
}

}  // namespace periapt::charmc
