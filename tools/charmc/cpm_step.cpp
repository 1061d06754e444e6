// -gen-cpm source: finds what the source declares as CpmInvokable and writes source.cpm.h, with a function Cpm_f for
// each function f, which packs a call into a message, and one that unpacks and calls (runtime/converse/cpm.h).
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tools/charmc/files.h"
#include "tools/charmc/steps.h"

namespace periapt::charmc {
namespace {

struct Parameter {
  std::string type;
  bool array = false, pointer = false;
};
struct Function {
  std::string name;
  bool is_static = false;
  std::vector<Parameter> parameters;
};

bool isWord(const std::string& token) { return std::isalpha(static_cast<unsigned char>(token[0])) || token[0] == '_'; }

/// Names, numbers and signs of preprocessed text; a literal is one token, lines of the preprocessor are none.
std::vector<std::string> tokensOf(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    std::size_t end = at + 1;
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (std::isspace(static_cast<unsigned char>(c))) {
      ++at;
      continue;
    }
    if (c == '"' || c == '\'') {
      while (end < text.size() && text[end] != c) end += text[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, text.size());
    } else if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
      const bool number = std::isdigit(static_cast<unsigned char>(c));  // 1'000 has a ' in it
      while (end < text.size() &&
             (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_' || (number && text[end] == '\'')))
        ++end;
    }
    out.push_back(text.substr(at, end - at));
    at = end;
  }
  return out;
}

/// What a source declares, or the first mistake in it.
class Declarations {
 public:
  explicit Declarations(std::vector<std::string> tokens) : tokens_(std::move(tokens)) {
    while (at_ < tokens_.size() && error.empty()) next();
  }
  std::vector<Function> functions;
  std::string error;

 private:
  const std::string& token(std::size_t ahead = 0) const {
    static const std::string none = " ";
    return at_ + ahead < tokens_.size() ? tokens_[at_ + ahead] : none;
  }
  void next() {
    const std::string& first = token();
    if (first == "CpmDeclareSimple1" || first == "CpmDeclarePointer1") {
      constexpr const char* prefix = "CpmType_";
      if (token(1).rfind(prefix, 0) == 0) is_pointer_[token(1).substr(8)] = first == "CpmDeclarePointer1";
      at_ += 2;
    } else if (first == "CpmInvokable" && token(1) != ";") {
      function();
    } else if (first == "{" && !isOpen()) {
      body();
    } else {
      ++at_;
    }
  }
  /// Does the brace belong to extern "C" or a namespace? What is in those counts.
  bool isOpen() const {
    if (at_ >= 1 && tokens_[at_ - 1][0] == '"') return true;
    return (at_ >= 1 && tokens_[at_ - 1] == "namespace") || (at_ >= 2 && tokens_[at_ - 2] == "namespace");
  }
  void body() {
    int depth = 0;
    for (; at_ < tokens_.size(); ++at_) {
      depth += token() == "{" ? 1 : token() == "}" ? -1 : 0;
      if (depth == 0) break;
    }
    ++at_;
  }
  void function() {
    Function f;
    f.is_static = at_ > 0 && tokens_[at_ - 1] == "static";
    ++at_;
    if (token() == "static") {
      f.is_static = true;
      ++at_;
    }
    f.name = token();
    if (!isWord(f.name) || token(1) != "(") return fail("a function's name and ( belong behind CpmInvokable");
    at_ += 2;
    while (token() != ")") {
      parameter(f);
      if (!error.empty()) return;
      if (token() == ",") ++at_;
    }
    ++at_;
    for (const Function& known : functions)
      if (known.name == f.name) return;  // its definition, behind its declaration
    functions.push_back(std::move(f));
  }
  void parameter(Function& f) {
    Parameter p;
    p.type = token();
    const auto known = is_pointer_.find(p.type);
    if (known == is_pointer_.end())
      return fail("the parameters of " + f.name + " have a type that is not declared: " + p.type +
                  "; say CpmDeclareSimple(" + p.type + "), or CpmDeclarePointer, before");
    p.pointer = known->second;
    ++at_;
    if (token() == "*") {
      p.array = true;
      ++at_;
      if (f.parameters.empty() || f.parameters.back().type != "CpmDim" || f.parameters.back().array)
        return fail("an array of " + f.name + " has no length: a CpmDim belongs before " + p.type + " *");
    }
    if (isWord(token())) ++at_;
    if (token() != "," && token() != ")") return fail("a parameter of " + f.name + " ends in " + token());
    f.parameters.push_back(std::move(p));
  }
  void fail(const std::string& what) { error = what; }

  std::vector<std::string> tokens_;
  std::size_t at_ = 0;
  std::map<std::string, bool> is_pointer_;
};

/// Code for one function. Parameter i is `a<i>`; in the message it is `f<i>`, of what isn't simple an offset.
class StubWriter {
 public:
  StubWriter(std::string& out, const Function& f) : out_(out), f_(f) {}
  void write() {
    const std::string linkage = f_.is_static ? "static " : "";
    line("CpvStaticDeclare(int, CpmIndex_" + f_.name + ");");
    line(linkage + "void " + f_.name + "(" + list([](const Parameter& p, const std::string&) { return typeOf(p); }) +
         ");");
    line("struct CpmSt_" + f_.name + " {");
    line("  char head[CmiMsgHeaderSizeBytes];");
    line("  int envpos;");
    each([&](const Parameter& p, const std::string& i) {
      line("  " + (isSimple(p) ? p.type : "int") + " f" + i + ";");
    });
    line("};");
    receive();
    send(linkage);
  }

 private:
  static bool isSimple(const Parameter& p) { return !p.array && !p.pointer; }
  static std::string typeOf(const Parameter& p) { return p.type + (p.array ? " *" : ""); }
  void line(const std::string& text) { out_ += text + "\n"; }
  template <class Fn>
  void each(Fn fn) {
    for (std::size_t i = 0; i < f_.parameters.size(); ++i) fn(f_.parameters[i], std::to_string(i));
  }
  template <class Fn>
  std::string list(Fn fn) {
    std::string text;
    each([&](const Parameter& p, const std::string& i) { text += (text.empty() ? "" : ", ") + fn(p, i); });
    return text;
  }
  /// The length of array i is the parameter before it.
  static std::string loop(const std::string& i) {
    return "  for (int i = 0; i < a" + std::to_string(std::stoi(i) - 1) + "; i++) ";
  }

  void receive() {
    line("static void CpmRecv_" + f_.name + "(void *message) {");
    line("  struct CpmSt_" + f_.name + " *call = (struct CpmSt_" + f_.name + " *)message;");
    each([&](const Parameter& p, const std::string& i) {
      const std::string place = "(" + typeOf(p) + ")((char *)message + call->f" + i + ")";
      line("  " + typeOf(p) + " a" + i + " = " + (isSimple(p) ? "call->f" + i : place) + ";");
      if (!p.array) return line("  Cpm" + std::string(p.pointer ? "Ptr" : "") + "Unpack_" + p.type + "(a" + i + ");");
      if (!p.pointer) return line(loop(i) + "CpmUnpack_" + p.type + "(a" + i + "[i]);");
      line(loop(i) + "{");
      line("    a" + i + "[i] = (" + p.type + ")((char *)message + (size_t)a" + i + "[i]);");
      line("    CpmPtrUnpack_" + p.type + "(a" + i + "[i]);");
      line("  }");
    });
    line("  (void)call;");
    line("  " + f_.name + "(" + list([](const Parameter&, const std::string& i) { return "a" + i; }) + ");");
    line("  CmiFree(message);");
    line("}");
  }

  void send(const std::string& linkage) {
    std::string parameters;
    each([&](const Parameter& p, const std::string& i) { parameters += ", " + typeOf(p) + " a" + i; });
    line(linkage + "void *Cpm_" + f_.name + "(CpmDestination to" + parameters + ") {");
    line("  const int envpos = CpmAlign((int)sizeof(struct CpmSt_" + f_.name + "), double);");
    line("  int bytes = CpmAlign(envpos + to->envsize, double);");
    each([&](const Parameter& p, const std::string& i) {
      if (isSimple(p)) return;
      line("  const int at" + i + " = bytes;");
      const std::string size = p.array ? "a" + std::to_string(std::stoi(i) - 1) + " * (int)sizeof(" + p.type + ")"
                                       : "(int)CpmPtrSize_" + p.type + "(a" + i + ")";
      line("  bytes = CpmAlign(bytes + " + size + ", double);");
      if (p.array && p.pointer)
        line(loop(i) + "bytes = CpmAlign(bytes + (int)CpmPtrSize_" + p.type + "(a" + i + "[i]), double);");
    });
    line("  struct CpmSt_" + f_.name + " *call = (struct CpmSt_" + f_.name + " *)CmiAlloc(bytes);");
    line("  char *data = (char *)call;");
    line("  call->envpos = envpos;");
    each([&](const Parameter& p, const std::string& i) { pack(p, i); });
    line("  (void)data;");
    line("  CmiSetHandler(call, CpvAccess(CpmIndex_" + f_.name + "));");
    line("  return to->sendfn(to, bytes, call);");
    line("}");
  }
  void pack(const Parameter& p, const std::string& i) {
    const std::string place = "(" + typeOf(p) + ")(data + at" + i + ")";
    if (isSimple(p)) {
      line("  CpmPack_" + p.type + "(a" + i + ");");
      return line("  call->f" + i + " = a" + i + ";");
    }
    line("  call->f" + i + " = at" + i + ";");
    if (!p.array) return line("  CpmPtrPack_" + p.type + "((" + place + "), a" + i + ");");
    const std::string count = "a" + std::to_string(std::stoi(i) - 1);
    if (!p.pointer) {
      line("  memcpy(data + at" + i + ", a" + i + ", " + count + " * sizeof(" + p.type + "));");
      return line(loop(i) + "CpmPack_" + p.type + "(((" + place + ")[i]));");
    }
    line("  size_t next" + i + " = CpmAlign(at" + i + " + " + count + " * sizeof(" + p.type + "), double);");
    line(loop(i) + "{");
    line("    ((size_t *)(data + at" + i + "))[i] = next" + i + ";");
    line("    CpmPtrPack_" + p.type + "(((" + p.type + ")(data + next" + i + ")), a" + i + "[i]);");
    line("    next" + i + " = CpmAlign(next" + i + " + CpmPtrSize_" + p.type + "(a" + i + "[i]), double);");
    line("  }");
  }

  std::string& out_;
  const Function& f_;
};

std::string headerOf(const std::vector<Function>& functions, const std::string& source) {
  std::string out = "// Written by charmc -gen-cpm " + source + ".\n";
  for (const Function& f : functions) StubWriter(out, f).write();
  out += "static void CpmInitializeThisModule() {\n";
  for (const Function& f : functions) {
    out += "  CpvInitialize(int, CpmIndex_" + f.name + ");\n";
    out += "  CpvAccess(CpmIndex_" + f.name + ") = CmiRegisterHandler(CpmRecv_" + f.name + ");\n";
  }
  return out + "}\n";
}

bool fail(const std::string& file, const std::string& what) {
  std::fprintf(stderr, "charmc: error: -gen-cpm %s: %s\n", file.c_str(), what.c_str());
  return false;
}
}  // namespace

bool generateCpm(const Job& job, const std::string& file) {
  const std::string header = std::filesystem::path(file).replace_extension(".cpm.h").string();
  std::string error = replaceFile(header, "");  // the source includes it
  if (!error.empty()) return fail(file, error);
  std::vector<std::string> command = compileCommand(job, file);
  command.insert(command.end(), {"-E", "-P", file});
  std::string text;
  if (runStep(job, command, &text) != 0) return false;
  const Declarations found(tokensOf(text));
  if (!found.error.empty()) return fail(file, found.error);
  if (found.functions.empty()) return fail(file, "it declares nothing as CpmInvokable");
  error = replaceFile(header, headerOf(found.functions, std::filesystem::path(file).filename().string()));
  return error.empty() || fail(file, error);
}

}  // namespace periapt::charmc
