#include "tools/charmc/explain.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace periapt::charmc {
namespace {

constexpr std::size_t printed_at_most = 6;

/// Without colours, and with one kind of quotation marks.
std::string plain(const std::string& text) {
  static const std::regex colour("\x1b\\[[0-9;]*[mK]");
  static const std::regex quote("\xe2\x80\x98|\xe2\x80\x99|`");
  return std::regex_replace(std::regex_replace(text, colour, ""), quote, "'");
}

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

class Explanations {
 public:
  /// What comes again under the same hint is said once.
  void add(const std::string& what, const std::string& hint) {
    if (seen_.insert(hint).second) list_.push_back({what, hint});
  }
  bool empty() const { return list_.empty(); }
  std::vector<Explanation> take() { return std::move(list_); }

 private:
  std::set<std::string> seen_;
  std::vector<Explanation> list_;
};

const std::regex no_class("error: (expected class[- ]name|unknown class name|invalid use of incomplete type)");

void missingHeader(const std::string& module, const std::string& suffix, Explanations& out) {
  out.add(module + suffix + " is not there: the module " + module + " is not translated, or into another folder",
          "translate the .ci file that holds it first (charmc " + module +
              ".ci, in a Makefile a rule of its own), and name the folder with -I");
}

/// A chare whose declarations no header has that was included so far.
void unknownChare(const std::string& chare, Explanations& out) {
  out.add("no chare " + chare + " is known here", "include the .decl.h of the module that declares " + chare +
                                                      " in front of this, and spell it as in the .ci file");
}

/// The parameters of an entry, from the signature of its proxy's method.
std::string declared(std::string signature) {
  static const std::regex options(",? ?const CkEntryOptions ?\\*[^,)]*|,? ?CkEntryOptions const ?\\*[^,)]*");
  return std::regex_replace(signature, options, "");
}

void wrongArguments(const std::string& chare, const std::string& method, const std::string& signature,
                    Explanations& out) {
  const std::string of = chare.empty() ? "" : " for " + chare;
  const std::string shown = signature.empty() ? "" : "; the .ci file says " + method + declared(signature);
  out.add("the arguments of this call of " + method + "() are not what the .ci file declares" + of,
          "the call, the entry in the .ci file and the method of the class have to agree" + shown);
}

/// The signature in the first note behind line `from` that names `function`; parentheses included.
std::string candidate(const std::vector<std::string>& lines, std::size_t from, const std::string& function) {
  for (std::size_t i = from; i < std::min(lines.size(), from + 12); ++i) {
    const std::size_t at = lines[i].find(function + "(");
    if (at == std::string::npos || lines[i].find("note:") == std::string::npos) continue;
    const std::size_t open = at + function.size();
    const std::size_t close = lines[i].rfind(')');
    if (close != std::string::npos && close > open) return lines[i].substr(open, close - open + 1);
  }
  return {};
}

/// Errors that stand on one line.
void explainLine(const std::string& line, Explanations& out) {
  static const std::regex generated("\\.(decl|def)\\.h:\\d+");
  static const std::regex header(
      "error: '?([^ :']*/)?([A-Za-z_0-9]+)(\\.(decl|def)\\.h)(: No such file|' file not found)");
  static const std::regex target("redn_wrapper_(\\w+)'? (is not a member of|in) '?CkIndex_(\\w+)");
  static const std::regex clang_target("no member named 'redn_wrapper_(\\w+)' in 'CkIndex_(\\w+)'");
  static const std::regex method("'(class )?CProxy(Element|Section)?_(\\w+)' has no member named '(\\w+)'");
  static const std::regex clang_method("no member named '(\\w+)' in 'CProxy(Element|Section)?_(\\w+)'");
  static const std::regex proxy(
      "'C(Proxy|ProxyElement|ProxySection|kIndex|Base)_(\\w+)' (was not declared|has not been "
      "declared|does not name a type)");
  static const std::regex clang_proxy(
      "(unknown type name|undeclared identifier) 'C(Proxy|ProxyElement|ProxySection|kIndex"
      "|Base)_(\\w+)'");
  std::smatch m;
  auto notTarget = [&out](const std::string& chare, const std::string& entry) {
    out.add("entry " + entry + " of " + chare + " is no reduction target, and CkReductionTarget(" + chare + ", " +
                entry + ") wants one",
            "in the .ci file: entry [reductiontarget] void " + entry + "(...)");
  };
  auto noEntry = [&out](const std::string& chare, const std::string& entry) {
    out.add("the .ci file declares no entry " + entry + " of " + chare,
            "declare " + entry + " there and translate it anew; what is no entry is called on the object (ckLocal())");
  };
  if (std::regex_search(line, m, header)) missingHeader(m[2], m[3], out);
  if (std::regex_search(line, m, clang_target))
    notTarget(m[2], m[1]);
  else if (std::regex_search(line, m, target))
    notTarget(m[3], m[1]);
  if (std::regex_search(line, m, method)) noEntry(m[3], m[4]);
  if (std::regex_search(line, m, clang_method)) noEntry(m[3], m[1]);
  if (std::regex_search(line, m, proxy)) unknownChare(m[2], out);
  if (std::regex_search(line, m, clang_proxy)) unknownChare(m[3], out);
}

/// The last of the bases in a quoted line that begins at or before the mark below it: GCC puts that behind the base,
/// Clang in front of it.
std::string markedBase(const std::string& line, const std::string& marks) {
  static const std::regex base("public (virtual )?((\\w+::)*)CkIndex_(\\w+)");
  const std::size_t mark = std::min(marks.find('^'), line.size());
  std::string out;
  for (std::sregex_iterator m(line.begin(), line.end(), base), end; m != end; ++m)
    if (out.empty() || static_cast<std::size_t>(m->position(2)) <= mark) out = (*m)[2].str() + (*m)[4].str();
  return out;
}

/// A base that no header declares; the generated code names it in its first error, and behind it its place in the .ci
/// file.
void explainUnknownBase(const std::vector<std::string>& lines, std::size_t at, Explanations& out) {
  static const std::regex derived("(class|struct) CkIndex_(\\w+) ?: ?public .*CkIndex_\\w+");
  static const std::regex place("  // (.*:[0-9]+)$");
  std::smatch m;
  if (at + 1 >= lines.size() || !std::regex_search(lines[at], no_class)) return;
  const std::string& line = lines[at + 1];
  if (!std::regex_search(line, m, derived)) return;
  const std::string chare = m[2], base = markedBase(line, at + 2 < lines.size() ? lines[at + 2] : "");
  const std::string where = std::regex_search(line, m, place) ? m[1].str() + ": " : "";
  out.add(where + "the base " + base + " of " + chare + " is no chare that is known here",
          "declare " + base + " in the .ci file, or name its module there: extern module ...; or include the .decl.h " +
              "that declares it in front of this one");
}

/// Errors that the lines behind them explain: the quoted source, or notes.
void explainWithContext(const std::vector<std::string>& lines, std::size_t at, Explanations& out) {
  static const std::regex base("(class|struct) (\\w+).*?[:, ]CBase_(\\w+)");
  static const std::regex call("no matching function for call to 'CProxy(Element|Section)?_(\\w+)(<.*>)?::(\\w+)\\(");
  static const std::regex convert(
      "error: (cannot convert|could not convert|invalid conversion|invalid initialization)");
  static const std::regex of_proxy(
      "(argument \\d+|parameter) of '[^']*CProxy(Element|Section)?_(\\w+)::(\\w+)(\\(.*\\))");
  std::smatch m;
  const std::string& line = lines[at];
  const std::string& next = at + 1 < lines.size() ? lines[at + 1] : line;
  if (std::regex_search(line, no_class) && std::regex_search(next, m, base)) unknownChare(m[3], out);
  if (std::regex_search(line, m, call)) {
    const std::string chare = m[2], method = m[4];
    wrongArguments(chare, method, candidate(lines, at + 1, method), out);
  } else if (std::regex_search(line, convert)) {
    for (std::size_t i = at + 1; i < std::min(lines.size(), at + 9) && lines[i].find("error:") == std::string::npos;
         ++i)
      if (std::regex_search(lines[i], m, of_proxy)) return wrongArguments(m[3], m[4], m[5], out);
  }
}

/// A name that is the program's and one of std, which the program is using; empty if the error is another.
std::string ambiguousName(const std::vector<std::string>& lines, std::size_t at) {
  static const std::regex ambiguous(
      "error: (reference to|call of overloaded|call to) '(\\w+)(\\(.*\\))?' is ambiguous");
  static const std::regex std_header("/c\\+\\+/\\S*: note: candidate function");  // Clang does not write std:: there
  std::smatch m;
  if (!std::regex_search(lines[at], m, ambiguous)) return {};
  const std::string name = m[2];
  const std::regex of_std("\\bstd::" + name + "\\b");
  for (std::size_t i = at + 1; i < lines.size() && lines[i].find("error:") == std::string::npos; ++i)
    if (std::regex_search(lines[i], of_std) || std::regex_search(lines[i], std_header)) return name;
  return {};
}

void explainAmbiguousName(const std::vector<std::string>& lines, std::size_t at, Explanations& out) {
  const std::string name = ambiguousName(lines, at);
  if (!name.empty())
    out.add(
        name +
            " is a name of this program and, since C++17, one of the standard library, all of which it uses (using "
            "namespace std)",
        "write ::" + name + " where the program's own is meant, or give it another name, or compile with -std=c++14");
}

/// Clang names the declaration in a note, and quotes it below.
void explainByDeclaration(const std::vector<std::string>& lines, std::size_t at, Explanations& out) {
  static const std::regex call(
      "error: (no matching (member )?function for call|too (few|many) arguments to function call|"
      "cannot initialize a parameter|no viable conversion|reference to type)");
  static const std::regex in_proxy(
      "\\.decl\\.h:\\d+:\\d+: note: (candidate function|passing argument|'\\w+' declared here)");
  static const std::regex declaration("(\\w+)(\\(.*\\))");
  std::smatch m;
  if (!std::regex_search(lines[at], call)) return;
  for (std::size_t i = at + 1; i + 1 < lines.size() && lines[i].find("error:") == std::string::npos; ++i)
    if (std::regex_search(lines[i], in_proxy) && std::regex_search(lines[i + 1], m, declaration))
      return wrongArguments("", m[1], m[2], out);
}

struct Missing {
  std::map<std::string, std::string> modules;               ///< with the symbol that is missing, of each
  std::map<std::string, std::string> chares;                ///< the same; and messages
  std::map<std::string, std::string> templates;             ///< the same
  std::vector<std::pair<std::string, std::string>> others;  ///< a symbol, and the function that wants it
};

Missing missingSymbols(const std::vector<std::string>& lines) {
  static const std::regex in_function("in function '(.*)':?$");
  static const std::regex undefined("undefined (reference to|symbol:?) '?([^'].*[^'])'?$");
  static const std::regex referenced(">>>.*:\\((.*)\\)");  // lld
  static const std::regex module("^_register(\\w+)(\\(.*\\))?$");
  static const std::regex generated(
      "^(vtable for )?(CkIndex|CProxy|CProxyElement|CProxySection|CMessage)_(\\w+)(<.*>)?(::.*)?$");
  Missing out;
  std::string function;
  std::smatch m;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (std::regex_search(lines[i], m, in_function)) function = m[1];
    if (!std::regex_search(lines[i], m, undefined)) continue;
    const std::string symbol = m[2];
    for (std::size_t k = i + 1; k < std::min(lines.size(), i + 3); ++k)
      if (std::regex_search(lines[k], m, referenced)) function = m[1];
    if (std::regex_match(symbol, m, module))
      out.modules.emplace(m[1], symbol);
    else if (std::regex_match(symbol, m, generated))
      (m[4].matched ? out.templates : out.chares).emplace(m[3], symbol);
    else
      out.others.emplace_back(symbol, function);
  }
  return out;
}

using Defining = std::function<std::string(const std::string& symbol)>;

/// The hint, or the object that only has to be named.
std::string orObject(const Defining& defining, const std::string& symbol, const std::string& hint) {
  const std::string file = defining ? defining(symbol) : "";
  return file.empty() ? hint : "name " + file + ", which has it, on the link line";
}

void explainOther(const std::string& symbol, const std::string& function, const Defining& defining, Explanations& out) {
  static const std::regex entry("CkIndex_(\\w+)(<.*>)?::_call_|::_callInline");
  static const std::regex registering("^_register\\w+(\\(.*\\))?$");
  static const std::regex able("^(.*<.*>)::my_PUP_ID$");
  static const std::regex migration("^(.*::)?(\\w+)::\\2\\(CkMigrateMessage ?\\*\\)$");
  std::smatch m;
  if (symbol.find("CkRegisterMainModule") == 0) {
    out.add("no mainmodule is linked, so the program would not know where to start",
            orObject(defining, symbol,
                     "link the object whose source includes the .def.h of the mainmodule; a program without one says "
                     "-nomain-module"));
  } else if (std::regex_match(symbol, m, able)) {
    out.add("the PUPable class " + m[1].str() +
                " is defined in none of the files that are linked: it is an instance of "
                "a template, and these stand in the part of the .def.h that is for templates",
            "in one source, behind the class: #define CK_TEMPLATES_ONLY, #include the .def.h that has it, #undef "
            "CK_TEMPLATES_ONLY");
  } else if (std::regex_match(symbol, m, migration)) {
    out.add("class " + m[2].str() + " declares the constructor that migration calls, and defines it nowhere",
            m[2].str() + "(CkMigrateMessage* m) : CBase_" + m[2].str() + "(m) {}");
  } else if (std::regex_search(function, m, entry) && symbol.find(m[1].str() + "::") != std::string::npos) {
    // (What an entry calls that the compiler has put there is a matter between the program and its libraries.)
    const std::string chare = symbol.substr(0, symbol.find("::"));
    out.add("entries of " + chare +
                " are declared in the .ci file and defined in none of the files that are linked: " + symbol,
            orObject(defining, symbol,
                     "name the object file of class " + chare +
                         " on the link line, or define them with just these parameters"));
  } else if (std::regex_match(function, registering) && symbol.find('(') == std::string::npos) {
    out.add(
        "the readonly " + symbol + " of the .ci file is defined in none of the files that are linked",
        orObject(defining, symbol,
                 "define " + symbol + " once, outside of any class, where the .def.h is included, and link that file"));
  }
}

void explainTwice(const std::vector<std::string>& lines, Explanations& out) {
  static const std::regex twice(
      "(multiple definition of|duplicate symbol:?) '?(CkIndex_|CProxy_|CProxyElement_|_register|"
      "CkRegisterMainModule)(\\w*)");
  std::smatch m;
  for (const std::string& line : lines)
    if (std::regex_search(line, m, twice)) {
      out.add("the .def.h of a module is included in two of the files that are linked",
              "include it in one source, behind the classes; others include the .decl.h");
      return;
    }
}

}  // namespace

std::vector<Explanation> explainCompiler(const std::string& printed) {
  const std::vector<std::string> lines = linesOf(plain(printed));
  Explanations out;
  for (std::size_t i = 0; i < lines.size(); ++i) explainUnknownBase(lines, i, out);
  if (!out.empty()) return out.take();  // all else follows from it
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].find("error:") == std::string::npos) continue;
    explainLine(lines[i], out);
    explainWithContext(lines, i, out);
    explainAmbiguousName(lines, i, out);
    explainByDeclaration(lines, i, out);
  }
  return out.take();
}

std::string errorSinceCxx17(const std::string& printed) {
  static const std::regex of_language("error: (ISO C\\+\\+17 does not allow|.* is forbidden in C\\+\\+17)");
  static const std::regex unknown(
      "error: .*(no (template|type|member) named|unknown type name|undeclared identifier|is not a member of|"
      "was not declared|does not name a)");
  static const std::regex of_library(
      "'(std::)?(auto_ptr|random_shuffle|(unary|binary)_function|bind(1st|2nd)|mem_fun(_ref)?|ptr_fun|"
      "(set_)?unexpected)'");
  static const std::regex word("(fatal )?error: ");
  const std::vector<std::string> lines = linesOf(plain(printed));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    if (line.find("error: ") == std::string::npos) continue;
    if (std::regex_search(line, of_language) || !ambiguousName(lines, i).empty() ||
        (std::regex_search(line, unknown) && std::regex_search(line, of_library)))
      return std::regex_replace(line, word, "", std::regex_constants::format_first_only);
  }
  return {};
}

std::vector<Explanation> explainLinker(const std::string& printed, const Defining& defining) {
  const std::vector<std::string> lines = linesOf(plain(printed));
  const Missing missing = missingSymbols(lines);
  Explanations out;
  for (const auto& [module, symbol] : missing.modules)
    out.add(
        "the module " + module + " is not linked, and another says extern module " + module + " or -module " + module,
        orObject(defining, symbol,
                 "link the object whose source includes " + module + ".def.h, or its library: -module " + module));
  if (missing.modules.empty())  // or they are of that module
    for (const auto& [chare, symbol] : missing.chares)
      out.add(
          "what charmc generated for " + chare + " is in none of the files that are linked",
          orObject(defining, symbol,
                   "include the .def.h of its module in one source, behind the class " + chare + ", and link that"));
  for (const auto& [name, symbol] : missing.templates)
    out.add("what charmc generated for the template " + name + " was not included where an instance of it is used",
            "in the header of the class " + name +
                ", behind it: #define CK_TEMPLATES_ONLY, #include the .def.h that has it, #undef CK_TEMPLATES_ONLY");
  for (const auto& [symbol, function] : missing.others) explainOther(symbol, function, defining, out);
  explainTwice(lines, out);
  return out.take();
}

void printExplanations(const std::vector<Explanation>& explanations) {
  for (std::size_t i = 0; i < explanations.size() && i < printed_at_most; ++i)
    std::fprintf(stderr, "charmc: error: %s\n      = hint: %s\n", explanations[i].what.c_str(),
                 explanations[i].hint.c_str());
  if (explanations.size() > printed_at_most)
    std::fprintf(stderr, "charmc: and %zu more of that kind\n", explanations.size() - printed_at_most);
}

}  // namespace periapt::charmc
