#include "lang/ci-translator/parser.h"

#include <algorithm>
#include <functional>

#include "lang/ci-translator/parser_impl.h"

namespace periapt::ci {
namespace {

const std::vector<std::string_view> construct_words = {
    "module", "mainmodule", "extern",   "readonly", "message", "mainchare", "chare", "group",    "nodegroup",
    "array",  "initnode",   "initproc", "include",  "PUPable", "namespace", "using", "template", "class"};
const std::vector<std::string_view> member_words = {"entry", "initnode", "initproc", "PUPable", "readonly", "template"};
const std::vector<std::string_view> entry_attributes = {
    "threaded",        "sync",    "exclusive",  "expedited",   "immediate", "nokeep",   "inline",
    "local",           "notrace", "createhere", "createhome",  "aggregate", "whenidle", "python",
    "reductiontarget", "iget",    "appwork",    "memcritical", "accel"};
const std::vector<std::string_view> chare_attributes = {"migratable", "python"};
const std::vector<std::string_view> message_attributes = {"packed", "varsize"};

/// "an array", "a group"
std::string withArticle(std::string_view word) {
  const bool isVowel = std::string_view("aeiou").find(word.front()) != std::string_view::npos;
  return (isVowel ? "an " : "a ") + std::string(word);
}

/// `extern { ... }` says it of all that stands inside.
void setExtern(Item& item) {
  item.isExtern = true;
  if (auto* module = std::get_if<Module>(&item.node)) {  // what it holds stands in its own .decl.h
    module->items.clear();
    module->hasBody = false;
  }
  if (auto* block = std::get_if<Block>(&item.node))
    for (Item& inner : block->items) setExtern(inner);
  if (auto* space = std::get_if<Namespace>(&item.node))
    for (Item& inner : space->items) setExtern(inner);
}

}  // namespace

File parse(const SourceText& source, const std::set<std::string, std::less<>>& defines, Diagnostics& out) {
  return Parser(source, tokenize(source, defines, out), out).file();
}

File Parser::file() {
  File out;
  while (!atEnd() && !out_.full()) {
    optionalSemicolons();
    if (atEnd()) break;
    const std::size_t from = begin();
    try {
      const bool isExtern = accept("extern");
      if (!isAny({"module", "mainmodule"})) {
        const std::string_view near = isWord() ? nearest(peek().text, {"module", "mainmodule"}) : "";
        fail(peek().span, "expected 'module' or 'mainmodule', found " + found(),
             near.empty() ? "a .ci file holds modules; everything else stands inside one: module name { ... }"
                          : "did you mean '" + std::string(near) + "'?");
      }
      Item item{{}, isExtern, module()};
      item.span = {from, lastEnd()};
      out.items.push_back(std::move(item));
    } catch (const Bail&) {
      accept("}");
      while (!atEnd() && !(peek().firstOnLine && isAny({"module", "mainmodule"}))) next();
    }
  }
  return out;
}

Module Parser::module() {
  Module out;
  out.isMain = next().text == "mainmodule";
  out.name = name("the name of a module", &out.nameSpan);
  if (accept(";")) {
    optionalSemicolons();
    return out;
  }
  if (!is("{") && (peek().firstOnLine || is("}"))) {
    semicolon("module '" + out.name + "'", "write ';' here, or the module's body in { ... }");
    return out;
  }
  expect("{", "after the name of the module");
  out.hasBody = true;
  out.items = items("module '" + out.name + "'");
  return out;
}

/// Constructs up to and with the `}` that closes what `of` names.
std::vector<Item> Parser::items(std::string_view of) {
  Depth depth(*this);
  const Span open{lastEnd() - 1, lastEnd()};
  std::vector<Item> out;
  while (!accept("}")) {
    if (accept(";") || misplacedDirective()) continue;
    if (atEnd()) failUnclosed(open, "the '{' of " + std::string(of) + " is never closed", "add '}' at its end");
    if (out_.full()) throw Bail{};
    const std::size_t start = at_;
    const std::size_t from = begin();
    try {
      Item item = construct();
      item.span = {from, lastEnd()};
      out.push_back(std::move(item));
    } catch (const Bail&) {
      recover(start, &Parser::startsConstruct);
    }
  }
  optionalSemicolons();
  return out;
}

Item Parser::construct() {
  const std::size_t from = begin();
  if (is("extern")) {
    next();
    return externThing(from);
  }
  if (is("{")) {
    next();
    return {{}, false, Block{items("this block")}};
  }
  if (isAny({"module", "mainmodule"})) return {{}, false, module()};
  if (isAny({"namespace", "using"})) return namespaceOrUsing();
  if (is("message")) return {{}, false, message({})};
  if (isAny({"mainchare", "chare", "group", "nodegroup", "array"})) return {{}, false, chare({})};
  if (is("accelblock")) return accelBlock();
  if (is("template")) {
    TemplateHeader header = templateHeader();
    if (is("message")) return {{}, false, message(std::move(header))};
    if (isAny({"mainchare", "chare", "group", "nodegroup", "array"})) return {{}, false, chare(std::move(header))};
    fail(peek().span,
         "expected a chare, group, nodegroup, array or message after the template header, found " + found(),
         is("entry") ? "entries stand inside a chare" : "");
  }
  if (auto common = commonMember()) return std::move(*common);
  unknownConstruct();
}

/// What may stand in a module and in a chare alike.
std::optional<Item> Parser::commonMember() {
  if (is("readonly")) return Item{{}, false, readonly()};
  if (isAny({"initnode", "initproc", "initcall"})) return Item{{}, false, initCall()};
  if (is("PUPable") || is("pupable")) {
    next();
    PupAble out;
    do {
      out.types.push_back(type("the name of a PUPable class"));
      if (const Type& last = out.types.back(); !last.pointers.empty() || last.references != 0 || last.isFunction())
        fail(last.span, "a PUPable declaration names classes, and '" + last.text() + "' is none",
             "write PUPable " + last.plain() + ";");
    } while (accept(","));
    semicolon("the PUPable declaration");
    return Item{{}, false, std::move(out)};
  }
  if (is("include")) {
    next();
    Include out{stringLiteral("the name of a header in quotes")};
    semicolon("the include", "in a .ci file an include ends in ';': include " + out.file + ";");
    return Item{{}, false, std::move(out)};
  }
  if (is("class")) {
    next();
    ForwardClass out{name("the name of a class")};
    if (isAny({"{", ":"}))
      fail(peek().span, "expected ';' after the class declaration, found " + found(),
           "what has entries is no class here: write chare, group or array");
    semicolon("the class declaration");
    return Item{{}, false, std::move(out)};
  }
  return std::nullopt;
}

Item Parser::externThing(std::size_t from) {
  if (!is("entry")) {
    if (is("extern")) fail(peek().span, "'extern' stands here twice");
    Item out = construct();
    setExtern(out);
    return out;
  }
  next();
  ExternEntry out;
  out.entry.attributes = attributes(entry_attributes, "entry");
  out.entry.result = type("the type that the entry returns");
  out.target = type("the chare of the entry");
  out.entry.name = name("the name of the entry", &out.entry.nameSpan);
  if (is("<")) out.arguments = templateArguments();
  out.entry.parameters = parameters("'" + out.entry.name + "'");
  semicolon("the extern entry");
  out.entry.span = {from, lastEnd()};
  return {{}, true, std::move(out)};
}

Item Parser::namespaceOrUsing() {
  if (next().text == "using") {
    Using out;
    out.isNamespace = accept("namespace");
    out.name = qualifiedName("a name");
    semicolon("the using declaration");
    return {{}, false, std::move(out)};
  }
  Namespace out;
  out.name = name("the name of a namespace");
  expect("{", "after the name of the namespace",
         is("::") ? "one stands in the other: namespace " + out.name + " { namespace ... { } }" : "");
  out.items = items("namespace '" + out.name + "'");
  return {{}, false, std::move(out)};
}

Readonly Parser::readonly() {
  Readonly out;
  const Span word = next().span;
  out.isMessage = accept("message");
  if (isWord() && !isBuiltinWord(peek().text) && (is(";", 1) || is("[", 1) || is("=", 1)))
    fail(word, "the readonly '" + std::string(peek().text) + "' has no type",
         "the type stands before the name, as in: readonly int " + std::string(peek().text));
  out.type = type("the type of a readonly");
  if (out.type.isFunction())
    fail(out.type.span, "a readonly cannot be a function pointer: its value may be another address in other processes",
         "send a number that names the function");
  out.name = qualifiedName("the name of a readonly", &out.nameSpan);
  while (accept("[")) {
    out.dimensions.push_back(textThrough("]", "the dimension of an array"));
  }
  if (is("="))
    fail(peek().span, "a readonly has no initial value here",
         "give it in the C++ file, or set it in the constructor of the mainchare");
  if (is(",")) fail(peek().span, "one readonly declaration names one variable", "write a readonly line for each");
  semicolon("the readonly", "end it with ';': readonly " + out.type.text() + " " + out.name + ";");
  return out;
}

Message Parser::message(std::optional<TemplateHeader> header) {
  Message out;
  next();
  out.header = std::move(header);
  out.attributes = attributes(message_attributes, "message");
  out.name = name("the name of a message", &out.nameSpan);
  nameOfTemplate(out.header, "message", out.name, out.arguments);
  if (accept("{")) {
    while (!accept("}")) {
      if (accept(";")) continue;
      if (atEnd()) failUnclosed(out.nameSpan, "message '" + out.name + "' is never closed", "add '};' at its end");
      out.fields.push_back(messageField());
    }
    optionalSemicolons();
    return out;
  }
  semicolon("message '" + out.name + "'");
  return out;
}

/// Behind the name of a chare or message: the arguments of an instance.
void Parser::nameOfTemplate(const std::optional<TemplateHeader>& header, const std::string& kind,
                            const std::string& name, std::string& arguments) {
  if (is("::"))
    fail(peek().span, "'" + name + "' cannot be the name of a namespace here",
         "put the declaration into it: namespace " + name + " { ... }");
  if (!is("<")) return;
  if (header)
    fail(peek().span, "the template '" + name + "' is declared by its name alone",
         "leave its arguments out; an instance has no template header: " + kind + " " + name + "<int>;");
  arguments = templateArguments();
}

MessageField Parser::messageField() {
  MessageField out;
  out.span.begin = begin();
  out.conditional = accept("conditional");
  if (is("entry")) fail(peek().span, "a message has fields, not entries");
  out.type = type("the type of a message's field");
  if (out.type.isFunction())
    fail(out.type.span, "a field that is declared here is an array or conditional, and no function pointer",
         "declare it in the class of the message alone");
  out.name = name("the name of a message's field");
  if (accept("[")) {
    out.isArray = true;
    if (!is("]"))
      fail(peek().span, "the length of an array in a message is left out here",
           "write " + out.name + "[]; the length is given to new: new (n) Message");
    next();
  }
  out.span.end = lastEnd();
  semicolon("the field '" + out.name + "'");
  return out;
}

Chare Parser::chare(std::optional<TemplateHeader> header) {
  Chare out;
  out.header = std::move(header);
  const std::string_view word = next().text;
  for (ChareKind kind :
       {ChareKind::mainchare, ChareKind::chare, ChareKind::group, ChareKind::nodegroup, ChareKind::array})
    if (toText(kind) == word) out.kind = kind;
  indexOrAttributes(out);
  out.name = name("the name of " + withArticle(word), &out.nameSpan);
  nameOfTemplate(out.header, std::string(word) + (out.index.empty() ? "" : " [" + out.index + "]"), out.name,
                 out.arguments);
  if (accept(":")) {
    do {
      if (isAny({"public", "virtual", "private", "protected"}))
        fail(peek().span, "the bases of a chare are only named in a .ci file",
             "leave '" + std::string(peek().text) + "' out");
      out.bases.push_back(type("the base of " + withArticle(word)));
    } while (accept(","));
  }
  if (accept("{")) {
    chareBody(out);
  } else {
    if (!is(";") && !peek().firstOnLine) fail(peek().span, "expected '{' after '" + out.name + "', found " + found());
    semicolon("'" + out.name + "'");
  }
  return out;
}

/// `[1D]`, `[migratable]`, in either order.
void Parser::indexOrAttributes(Chare& chare) {
  const bool isArray = chare.kind == ChareKind::array;
  while (is("[")) {
    const Span open = peek().span;
    if (!isArray || (isAny({"python", "migratable"}, 1))) {
      for (Attribute& a : attributes(chare_attributes, toText(chare.kind))) chare.attributes.push_back(std::move(a));
      continue;
    }
    if (!chare.index.empty()) fail(open, "an array has one index type; [" + chare.index + "] came before");
    next();
    chare.indexSpan = peek().span;
    if (peek().kind == TokenKind::number) {
      chare.index = next().text;
      if (isWord()) chare.index += next().text;  // [1 D]
      if (chare.index.size() == 2 && chare.index[1] == 'd') chare.index[1] = 'D';
      if (chare.index.size() != 2 || chare.index[0] < '1' || chare.index[0] > '6' || chare.index[1] != 'D')
        fail(chare.indexSpan, "an array has 1 to 6 dimensions: [1D] to [6D], found [" + chare.index + "]",
             "for anything else give the name of your own index class: array [Name] uses CkArrayIndexName");
    } else {
      const Type index = type("an index type such as 1D");
      chare.index = index.plain();
    }
    chare.indexSpan.end = lastEnd();
    expect("]", "after the index type");
  }
  if (isArray && chare.index.empty())
    fail(peek().span, "an array needs an index type before its name, found " + found(),
         "write array [1D] " + std::string(isWord() ? peek().text : "Name"));
}

std::vector<Attribute> Parser::attributes(const std::vector<std::string_view>& known, std::string_view of) {
  std::vector<Attribute> out;
  if (is("{")) fail(peek().span, "expected an attribute list [...] or a type, found '{'");
  if (!accept("[")) return out;
  if (accept("]")) return out;
  do {
    Attribute attribute;
    attribute.span = peek().span;
    if (!isWord()) fail(peek().span, "expected an attribute of " + withArticle(of) + ", found " + found());
    attribute.name = next().text;
    if (std::find(known.begin(), known.end(), attribute.name) == known.end()) {
      const std::string_view near = nearest(attribute.name, known);
      std::string all;
      for (std::string_view word : known) all += (all.empty() ? "" : ", ") + std::string(word);
      out_.error(attribute.span, "unknown attribute '" + attribute.name + "'",
                 near.empty() ? "known here: " + all : "did you mean '" + std::string(near) + "'?");
    }
    if (attribute.name == "python" && peek().kind == TokenKind::string) attribute.documentation = next().text;
    if (accept("(")) {
      do {
        std::string key = name("the name of an argument");
        expect(":", "after '" + key + "'", "write name: value");
        if (peek().kind != TokenKind::number) fail(peek().span, "expected a number, found " + found());
        attribute.arguments.emplace_back(std::move(key), takeText(at_ + 1));
      } while (accept(","));
      expect(")", "after the arguments of '" + attribute.name + "'");
    }
    out.push_back(std::move(attribute));
    if (isWord())
      fail(peek().span, "expected ',' or ']' in the attribute list, found " + found(),
           "attributes are separated by ','");
  } while (accept(","));
  expect("]", "after the attributes");
  if (of == "entry" && is("["))
    fail(peek().span, "an entry has one list of attributes", "put all of them into it, separated by ','");
  return out;
}

void Parser::chareBody(Chare& chare) {
  Depth depth(*this);
  chare.hasBody = true;
  int ordinal = 0;
  while (!accept("}")) {
    if (accept(";") || misplacedDirective() || accessSpecifier()) continue;
    if (atEnd())
      failUnclosed(chare.nameSpan, std::string(toText(chare.kind)) + " '" + chare.name + "' is never closed",
                   "add '};' at its end");
    if (out_.full()) throw Bail{};
    const std::size_t start = at_;
    const std::size_t from = begin();
    try {
      Item item = member(chare.name);
      item.span = {from, lastEnd()};
      if (auto* entry = std::get_if<Entry>(&item.node)) entry->ordinal = ++ordinal;
      chare.items.push_back(std::move(item));
    } catch (const Bail&) {
      recover(start, &Parser::startsMember);
    }
  }
  optionalSemicolons();
}

Item Parser::member(const std::string& chare) {
  const std::size_t from = begin();
  if (is("entry") && is("[", 1) && is("accel", 2)) return accel(from);
  if (is("entry")) return {{}, false, entry({}, chare)};
  if (is("template")) {
    TemplateHeader header = templateHeader();
    if (!is("entry")) fail(peek().span, "expected 'entry' after the template header, found " + found());
    return {{}, false, entry(std::move(header), chare)};
  }
  if (auto common = commonMember()) return std::move(*common);
  unknownMember(chare);
}

Entry Parser::entry(std::optional<TemplateHeader> header, const std::string& chare) {
  Entry out;
  out.span.begin = header ? header->span.begin : begin();
  out.header = std::move(header);
  next();
  out.attributes = attributes(entry_attributes, "entry");
  if (isAny({"static", "virtual", "inline", "explicit", "constexpr", "friend"}) && isWord(1))
    fail(peek().span, "an entry is not declared " + std::string(peek().text) + " in a .ci file",
         is("inline") ? "as an attribute it is known: entry [inline] void name(...)" : "leave the word out");
  if (!(isWord() && is("(", 1))) out.result = type("the type that the entry returns");
  if (is("(") && out.result) {
    // `entry unsigned(int)`: a type where the name should be
    fail(peek().span, "expected the name of the entry, found '('", "write entry void name(...)");
  }
  out.name = name("the name of an entry", &out.nameSpan);
  out.isConstructor = out.name == chare;
  out.parameters = parameters("'" + out.name + "'");
  entryTail(out);
  out.span.end = lastEnd();
  return out;
}

/// What may stand behind the parameters: stacksize, then `;` or a body.
void Parser::entryTail(Entry& entry) {
  if (isAny({"const", "noexcept", "override", "final"}))
    fail(peek().span, "an entry is not declared " + std::string(peek().text) + " in a .ci file",
         "leave the word out; the C++ method may be " + std::string(peek().text) + " all the same");
  if (is("stacksize")) {
    entry.stackSizeSpan = next().span;
    expect("=", "after 'stacksize'");
    entry.stackSize = textUntil({";", "{"}, "the stack size");
    if (entry.stackSize->empty()) fail(peek().span, "expected a number of bytes after 'stacksize =', found " + found());
  }
  if (startsSdag()) {
    // `{` opens a list of statements; any other word is one statement.
    entry.body = sdagBlock("'" + entry.name + "'");
    return;
  }
  semicolon("entry '" + entry.name + "'", "an entry without a body ends in ';'");
}

InitCall Parser::initCall() {
  InitCall out;
  const std::string_view word = next().text;
  out.perNode = word != "initproc";
  out.deprecated = word == "initcall";
  if (is("[")) {
    if (is("accel", 1))
      fail(peek(1).span, "[accel] is not supported: there is no accelerator that it would run on", "leave [accel] out");
    fail(peek().span, std::string(word) + " has no attributes");
  }
  if (is("void")) next();
  if (isWord() && isBuiltinWord(peek().text))
    fail(peek().span, withArticle(word) + " function returns nothing", "write " + std::string(word) + " void name();");
  out.name = qualifiedName("the name of a function");
  if (is("<")) out.name += templateArguments();
  if (accept("(")) {
    accept("void");
    expect(")", "after '" + out.name + "('", withArticle(word) + " function takes no parameters");
  }
  semicolon("the " + std::string(word));
  return out;
}

Item Parser::accelBlock() {
  next();
  AccelBlock out;
  if (accept("{")) {
    const std::size_t from = lastEnd();
    out.code = rawUntil("}", "the accelblock");
    out.at = {from, lastEnd() - 1};
  }
  semicolon("the accelblock");
  return {{}, false, std::move(out)};
}

Item Parser::accel(std::size_t from) {
  while (!isAny({";", "}"}) && !atEnd()) skipBraces();
  optionalSemicolons();
  return {{from, lastEnd()}, false, Accel{}};
}

/// A '#' that does not begin its line, which the C preprocessor has left there.
bool Parser::misplacedDirective() {
  if (!is("#")) return false;
  const Span sign = next().span;
  if (!accept("include")) {
    out_.error(sign, "a line of the C preprocessor begins with its '#'", "put it on a line of its own");
    while (!peek().firstOnLine && !atEnd()) next();
    return true;
  }
  const std::size_t from = begin();
  if (peek().kind == TokenKind::string)
    next();
  else
    while (!peek().firstOnLine && !atEnd() && !accept(">")) next();
  std::string file(source_.slice({from, std::max(from, lastEnd())}));
  const bool isNamed = file.size() > 2 && (file[0] == '"' || file[0] == '<');
  file = isNamed ? file.substr(1, file.size() - 2) : "name.h";
  out_.error({sign.begin, lastEnd()}, "an #include stands on a line of its own",
             "put it there; or write include \"" + file + "\";");
  return true;
}

/// `public:`
bool Parser::accessSpecifier() {
  if (!isAny({"public", "protected", "private"}) || !is(":", 1)) return false;
  const Token& word = next();
  next();
  out_.error({word.span.begin, lastEnd()}, "a .ci file has no access specifiers",
             "leave '" + std::string(word.text) + ":' out");
  return true;
}

void Parser::unknownConstruct() {
  if (is("entry"))
    fail(peek().span, "an entry stands inside a chare, group, nodegroup or array", "is a '}' too many before it?");
  if (is("struct"))
    fail(peek().span, "unknown construct " + found(), "what has entries is no class here: write chare, group or array");
  const std::string_view near = isWord() ? nearest(peek().text, construct_words) : "";
  fail(peek().span, isWord() ? "unknown construct " + found() : "expected a construct of a module, found " + found(),
       near.empty() ? "known here: readonly, message, mainchare, chare, group, nodegroup, array, initnode, initproc, "
                      "include, extern module, PUPable, namespace, using, template"
                    : "did you mean '" + std::string(near) + "'?");
}

void Parser::unknownMember(const std::string& chare) {
  // `void work(int n);` or `Hello(int);`: everything but the word `entry`. Only looked at as far as the line goes.
  bool looksLikeEntry = false;
  for (std::size_t i = 1; !looksLikeEntry && peek(i).kind != TokenKind::end && !peek(i).firstOnLine; ++i)
    looksLikeEntry = is("(", i) && isWord(i - 1);
  if (isWord() && is("entry", 1))
    fail(peek().span, "'" + std::string(peek().text) + "' cannot stand in front of an entry", "leave the word out");
  const std::string_view near = isWord() && !is("extern") ? nearest(peek().text, member_words) : "";
  if (!near.empty() && (near != "entry" || isWord(1) || is("[", 1)))
    fail(peek().span, "expected a member of '" + chare + "', found " + found(),
         "did you mean '" + std::string(near) + "'?");
  if (looksLikeEntry && (isWord() || is("["))) {
    std::size_t last = 0;
    auto ends = [this](std::size_t i) {
      return peek(i).kind == TokenKind::end || peek(i).firstOnLine || isAny({"{", "}"}, i);
    };
    while (!is(";", last) && !ends(last + 1)) ++last;
    const std::string line(source_.slice({begin(), peek(last).span.end}));
    fail(peek().span, "a member of '" + chare + "' begins with 'entry', found " + found(), "write: entry " + line);
  }
  if (startsConstruct())
    fail(peek().span, found() + " cannot stand inside '" + chare + "'", "is a '}' missing before it?");
  fail(peek().span, "expected a member of '" + chare + "', found " + found(),
       "a member is an entry, initnode, initproc, readonly or PUPable declaration");
}

}  // namespace periapt::ci
