#include "lang/ci-translator/ast.h"

#include <algorithm>

namespace periapt::ci {

std::string Type::plain() const { return qualifier + name + arguments; }

std::string Type::text(std::string_view declarator) const {
  std::string out = isConst ? "const " : "";
  if (isTypename) out += "typename ";
  out += plain();
  for (bool constant : pointers) out += constant ? "* const" : "*";
  if (isFunction()) {
    out += " (*" + std::string(references ? "&" : "") + std::string(declarator) + ")" + functionParameters;
    return out;
  }
  out += references == 2 ? "&&" : references == 1 ? "&" : "";
  if (pack) out += "...";
  if (!declarator.empty()) out += " " + std::string(declarator);
  return out;
}

std::string TemplateHeader::text(bool withDefaults) const {
  std::string out = "template <";
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const TemplateParameter& p = parameters[i];
    out += (i ? ", " : "") + p.kind + (p.pack ? "..." : "") + " ";
    out += p.functionParameters.empty() ? p.name : "(*" + p.name + ")" + p.functionParameters;
    if (withDefaults && !p.defaultValue.empty()) out += " = " + p.defaultValue;
  }
  return out + ">";
}

std::string TemplateHeader::arguments() const {
  std::string out = "<";
  for (std::size_t i = 0; i < parameters.size(); ++i)
    out += (i ? ", " : "") + parameters[i].name + (parameters[i].pack ? "..." : "");
  return out + ">";
}

namespace {
bool hasAttribute(const std::vector<Attribute>& attributes, std::string_view name) {
  return std::any_of(attributes.begin(), attributes.end(), [name](const Attribute& a) { return a.name == name; });
}
}  // namespace

bool Entry::has(std::string_view attribute) const { return hasAttribute(attributes, attribute); }
bool Chare::has(std::string_view attribute) const { return hasAttribute(attributes, attribute); }

std::string_view toText(ChareKind kind) {
  switch (kind) {
    case ChareKind::mainchare:
      return "mainchare";
    case ChareKind::chare:
      return "chare";
    case ChareKind::group:
      return "group";
    case ChareKind::nodegroup:
      return "nodegroup";
    case ChareKind::array:
      return "array";
  }
  return "";
}

namespace {

std::string quoted(std::string_view code) {
  std::string out = "`";
  bool space = false;
  for (char c : code) {  // one line, whatever the author's layout
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      space = true;
    } else {
      if (space && out.size() > 1) out += ' ';
      space = false;
      out += c;
    }
  }
  return out + "`";
}

class Dumper {
 public:
  std::string take() { return std::move(out_); }

  void items(const std::vector<Item>& items) {
    for (const Item& item : items) {
      extern_ = item.isExtern ? "extern " : "";
      std::visit([this](const auto& node) { show(node); }, item.node);
    }
  }

 private:
  void line(const std::string& text) { out_ += std::string(depth_ * 2, ' ') + extern_ + text + "\n", extern_ = ""; }
  template <class Body>
  void inside(Body body) {
    ++depth_;
    body();
    --depth_;
  }

  static std::string attributes(const std::vector<Attribute>& list) {
    std::string out;
    for (const Attribute& a : list) {
      out += (out.empty() ? " [" : ", ") + a.name;
      for (std::size_t i = 0; i < a.arguments.size(); ++i)
        out += (i ? ", " : "(") + a.arguments[i].first + ": " + a.arguments[i].second;
      if (!a.arguments.empty()) out += ")";
    }
    return out.empty() ? out : out + "]";
  }
  static std::string header(const std::optional<TemplateHeader>& header) {
    return header ? " " + header->text(true) : "";
  }

  void show(const Module& m) {
    line((m.isMain ? "mainmodule " : "module ") + m.name);
    inside([&] { items(m.items); });
  }
  void show(const Namespace& n) {
    line("namespace " + n.name);
    inside([&] { items(n.items); });
  }
  void show(const Using& u) { line(std::string("using ") + (u.isNamespace ? "namespace " : "") + u.name); }
  void show(const Include& i) { line("include " + i.file); }
  void show(const Readonly& r) {
    std::string text = std::string("readonly ") + (r.isMessage ? "message " : "") + r.name + ": " + r.type.text();
    for (const std::string& d : r.dimensions) text += " [" + quoted(d) + "]";
    line(text);
  }
  void show(const Message& m) {
    line("message " + m.name + m.arguments + attributes(m.attributes) + header(m.header));
    inside([&] {
      for (const MessageField& f : m.fields)
        line(std::string(f.conditional ? "conditional " : "") + (f.isArray ? "array " : "field ") + f.name + ": " +
             f.type.text());
    });
  }
  void show(const Chare& c) {
    std::string text = std::string(toText(c.kind)) + " ";
    if (c.kind == ChareKind::array) text += "[" + c.index + "] ";
    text += c.name + c.arguments + attributes(c.attributes) + header(c.header);
    for (std::size_t i = 0; i < c.bases.size(); ++i) text += (i ? ", " : " : ") + c.bases[i].text();
    line(text);
    inside([&] { items(c.items); });
  }
  void show(const InitCall& i) { line((i.perNode ? "initnode " : "initproc ") + i.name); }
  void show(const PupAble& p) {
    for (const Type& t : p.types) line("PUPable " + t.text());
  }
  void show(const ForwardClass& c) { line("class " + c.name); }
  void show(const ExternEntry& e) {
    line("extern entry of " + e.target.text());
    inside([&] { show(e.entry, e.arguments); });
  }
  void show(const Block& b) {
    line("block");
    inside([&] { items(b.items); });
  }
  void show(const AccelBlock&) { line("accelblock"); }
  void show(const Accel&) { line("accel"); }
  void show(const Entry& e) { show(e, ""); }
  void show(const Entry& e, const std::string& arguments) {
    std::string text = e.isConstructor ? "constructor " : "entry ";
    text += e.name + arguments + attributes(e.attributes) + header(e.header);
    if (e.result) text += " -> " + e.result->text();
    if (e.stackSize) text += " stacksize " + quoted(*e.stackSize);
    line(text);
    inside([&] {
      parameters(e.parameters);
      if (e.body) show(*e.body);
    });
  }
  void parameters(const std::vector<Parameter>& list) {
    for (const Parameter& p : list) {
      static constexpr const char* transfers[] = {"", "nocopy ", "nocopypost ", "nocopydevice "};
      std::string text = std::string("parameter ") + transfers[static_cast<int>(p.transfer)] +
                         (p.conditional ? "conditional " : "") + (p.name.empty() ? "(unnamed)" : p.name) + ": " +
                         p.type.text();
      if (p.length) text += " [" + quoted(*p.length) + "]";
      if (!p.defaultValue.empty()) text += " = " + quoted(p.defaultValue);
      line(text);
    }
  }
  void show(const Sdag& s) {
    static constexpr const char* kinds[] = {"sequence", "serial",  "if",   "while", "for",
                                            "forall",   "overlap", "when", "case"};
    std::string text = kinds[static_cast<int>(s.kind)];
    if (!s.name.empty()) text += " " + s.name;
    for (const std::string& code : s.code) text += " " + quoted(code);
    line(text);
    inside([&] {
      for (const Awaited& a : s.awaited) {
        line("await " + a.name + (a.reference ? " [" + quoted(*a.reference) + "]" : ""));
        inside([&] { parameters(a.parameters); });
      }
      for (const Sdag& child : s.body) show(child);
    });
    if (s.otherwise.empty()) return;
    line("else");
    inside([&] {
      for (const Sdag& child : s.otherwise) show(child);
    });
  }

  std::string out_;
  std::string extern_;
  std::size_t depth_ = 0;
};

}  // namespace

std::string dump(const File& file) {
  Dumper dumper;
  dumper.items(file.items);
  return dumper.take();
}

}  // namespace periapt::ci
