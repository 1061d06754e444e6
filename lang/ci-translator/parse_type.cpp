// Types, parameters and template headers: full C++ types, as far as they can stand in a .ci file.
#include <map>
#include <sstream>
#include <utility>

#include "lang/ci-translator/parser_impl.h"

namespace periapt::ci {
namespace {

/// Whether words of built-in types make one together, in whatever order: `long unsigned int`.
bool isBuiltinType(const std::string& words) {
  std::map<std::string, int> count;
  std::istringstream in(words);
  int all = 0;
  for (std::string word; in >> word; ++all) ++count[word];
  const int signs = count["signed"] + count["unsigned"];
  if (count["char"] != 0) return count["char"] == 1 && signs <= 1 && all == 1 + signs;
  if (count["double"] != 0) return count["double"] == 1 && count["long"] <= 1 && all == 1 + count["long"];
  const int lengths = count["short"] + count["long"];
  if (signs + lengths + count["int"] == 0) return all == 1;
  return signs <= 1 && count["int"] <= 1 && count["short"] <= 1 && lengths <= (count["short"] != 0 ? 1 : 2) &&
         all == signs + lengths + count["int"];
}

}  // namespace

Type Parser::type(std::string_view what) {
  Depth depth(*this);
  Type out;
  out.span.begin = begin();
  specifiers(out, what);
  pointersAndReferences(out);
  if (is("(") && is("*", 1)) functionPointer(out);
  out.span.end = lastEnd();
  return out;
}

/// `const`, `typename` and so on around the name of the type.
void Parser::specifiers(Type& type, std::string_view what) {
  refuseVolatile();
  while (isAny({"const", "typename", "struct", "class", "enum"})) {
    if (is("const")) type.isConst = true;
    if (is("typename")) type.isTypename = true;
    next();
    refuseVolatile();
  }
  if (isWord() && isBuiltinWord(peek().text)) {
    builtinName(type);
  } else {
    namedType(type, what);
  }
  while (accept("const")) type.isConst = true;
  refuseVolatile();
}

void Parser::refuseVolatile() {
  if (is("volatile") || (is("register") && isWord(1)))
    fail(peek().span, "a type in a .ci file cannot be " + std::string(peek().text), "leave the word out");
}

void Parser::builtinName(Type& type) {
  type.builtin = true;
  const std::size_t from = begin();
  while (isWord() && (isBuiltinWord(peek().text) || is("const"))) {
    if (is("const")) {
      type.isConst = true;
    } else {
      type.name += (type.name.empty() ? "" : " ") + std::string(peek().text);
    }
    next();
  }
  if (!isBuiltinType(type.name)) fail({from, lastEnd()}, "'" + type.name + "' is no type");
}

void Parser::namedType(Type& type, std::string_view what) {
  if (accept("::")) type.qualifier = "::";
  if (!isWord()) fail(peek().span, "expected " + std::string(what) + ", found " + found());
  if (type.qualifier.empty() && isReserved(peek().text) && !is("::", 1))
    fail(peek().span, "expected " + std::string(what) + ", found the reserved word " + found());
  type.name = next().text;
  if (type.name == "decltype" && is("(")) {
    next();
    type.arguments = "(" + textThrough(")", "decltype(...)") + ")";
  }
  if (is("<")) type.arguments = templateArguments();
  while (is("::")) {
    next();
    accept("template");
    if (!isWord()) fail(peek().span, "expected a name after '::', found " + found());
    type.qualifier += type.name + type.arguments + "::";
    type.name = next().text;
    type.arguments = is("<") ? templateArguments() : "";
  }
}

void Parser::pointersAndReferences(Type& type) {
  while (is("*")) {
    next();
    type.pointers.push_back(false);
    while (accept("const")) type.pointers.back() = true;
  }
  while (type.references < 2 && accept("&")) ++type.references;
  if (accept("...")) type.pack = true;
}

/// `void (*name)(int, char)`: everything but the name is part of the type.
void Parser::functionPointer(Type& type) {
  next();
  next();
  if (isWord()) type.functionName = name("the name of a function pointer");
  expect(")", "after the name of a function pointer");
  expect("(", "before the parameters of a function pointer");
  type.functionParameters = "(" + textThrough(")", "the parameters of a function pointer") + ")";
}

/// `<...>` with its brackets. Arguments may be types or expressions; both are kept as text.
std::string Parser::templateArguments() {
  Depth depth(*this);
  next();
  const std::string inside = textThrough(">", "the list of template arguments", true);
  return "<" + inside + ">";
}

std::vector<Parameter> Parser::parameters(std::string_view of) {
  std::vector<Parameter> out;
  expect("(", "before the parameters of " + std::string(of), is("{") || is(";") ? "write () when there are none" : "");
  if (accept(")")) return out;
  do {
    out.push_back(parameter());
  } while (accept(","));
  expect(")", "after the parameters of " + std::string(of), "parameters are separated by ','");
  if (out.size() == 1 && out[0].type.isVoid() && out[0].name.empty()) out.clear();  // (void)
  return out;
}

Parameter Parser::parameter() {
  Parameter out;
  out.span.begin = begin();
  if (accept("nocopy"))
    out.transfer = Transfer::nocopy;
  else if (accept("nocopypost"))
    out.transfer = Transfer::nocopypost;
  else if (accept("nocopydevice"))
    out.transfer = Transfer::nocopydevice;
  if (accept("conditional")) out.conditional = true;
  out.type = type("the type of a parameter");
  out.name = out.type.functionName;
  if (isWord() && !is("conditional")) out.name = name("the name of a parameter", &out.nameSpan);
  if (accept("conditional")) out.conditional = true;
  if (accept("[")) {
    const Span bracket{lastEnd() - 1, lastEnd()};
    out.length = textThrough("]", "the length of an array");
    if (out.length->empty())
      fail(bracket, "the array parameter '" + out.name + "' has no length",
           "write how many elements are sent: " + out.name + "[n], with n another parameter or an expression");
    if (is("["))
      fail(peek().span, "an array parameter has one dimension",
           "send it flat, as " + out.name + "[rows*columns], or use a std::vector");
  }
  if (is("=") && out.length)
    out_.error(peek().span, "an array parameter has no default value", "leave it out, or use a std::vector");
  if (accept("=")) out.defaultValue = textUntil({",", ")"}, "a default value", true);
  out.span.end = lastEnd();
  return out;
}

TemplateHeader Parser::templateHeader() {
  TemplateHeader out;
  out.span.begin = begin();
  expect("template", "here");
  expect("<", "after 'template'");
  do {
    out.parameters.push_back(templateParameter());
  } while (accept(","));
  expect(">", "after the template parameters");
  out.span.end = lastEnd();
  return out;
}

TemplateParameter Parser::templateParameter() {
  TemplateParameter out;
  if (isAny({"class", "typename"}) && (isWord(1) || is("...", 1)) && !is("::", 2)) {
    out.kind = next().text;
    out.pack = accept("...");
    out.name = name("the name of a template parameter");
  } else {
    Type kind = type("a template parameter");
    out.functionParameters = std::exchange(kind.functionParameters, "");
    out.kind = kind.text();
    out.pack = false;
    out.name = kind.functionName.empty() ? name("the name of a template parameter") : kind.functionName;
  }
  if (accept("=")) out.defaultValue = textUntil({",", ">"}, "a default template argument", true);
  return out;
}

}  // namespace periapt::ci
