// The parser's insides, shared by parser.cpp (modules, chares, entries), parse_type.cpp (types, parameters, templates)
// and parse_sdag.cpp (the bodies of entries). Recursive descent; each function reads one construct of the grammar.
//
// On a mistake a function reports it and throws Bail; the nearest loop over members or constructs catches it and skips
// to where reading makes sense again. No exception leaves parse().
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "lang/ci-translator/ast.h"
#include "lang/ci-translator/diagnostics.h"
#include "lang/ci-translator/lexer.h"

namespace periapt::ci {

class Parser {
 public:
  Parser(const SourceText& source, std::vector<Token> tokens, Diagnostics& out)
      : source_(source), tokens_(std::move(tokens)), out_(out) {}

  File file();

 private:
  struct Bail {};

  // --- the cursor ---
  const Token& peek(std::size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const Token& next() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool atEnd() const { return peek().kind == TokenKind::end; }
  bool is(std::string_view text, std::size_t ahead = 0) const {
    return peek(ahead).text == text && peek(ahead).kind != TokenKind::string;
  }
  bool isAny(std::initializer_list<std::string_view> texts, std::size_t ahead = 0) const;
  bool isWord(std::size_t ahead = 0) const { return peek(ahead).kind == TokenKind::word; }
  bool accept(std::string_view text);
  std::size_t begin() const { return peek().span.begin; }
  std::size_t lastEnd() const { return at_ > 0 ? tokens_[at_ - 1].span.end : 0; }
  /// The next token as a message names it: 'foo', or "the end of the file".
  std::string found(std::size_t ahead = 0) const;

  [[noreturn]] void fail(Span at, std::string message, std::string hint = {});
  /// Reads `text` or reports that it is missing behind what was just read: "expected ')' after ...".
  void expect(std::string_view text, std::string_view after, std::string hint = {});
  /// Reads the `;` that ends a construct. A missing one at the end of a line is reported and read on.
  void semicolon(std::string_view after, std::string hint = {});
  void optionalSemicolons() {
    while (accept(";")) {
    }
  }
  /// Reads a name that the author chooses; `what` says of what, for the message.
  std::string name(std::string_view what, Span* span = nullptr);
  std::string qualifiedName(std::string_view what, Span* span = nullptr);
  std::string stringLiteral(std::string_view what);
  /// Nesting is bounded: a hostile file must not use up the stack.
  struct Depth;
  void enter(std::size_t levels_max = 200);

  // --- text kept as it is ---
  /// Index of the first token at nesting depth 0 that is one of `stops`; fails at the end of the file.
  std::size_t findStop(std::initializer_list<std::string_view> stops, std::string_view what, bool angles = false);
  bool isShift(std::size_t at) const;
  [[noreturn]] void failUnclosedIn(std::string_view what, const Token& open, const Token& end);
  /// Takes the tokens up to `stop` as one line of text; numbers with K or M are written out.
  std::string takeText(std::size_t stop);
  std::string textUntil(std::initializer_list<std::string_view> stops, std::string_view what, bool angles = false) {
    return takeText(findStop(stops, what, angles));
  }
  /// ... and takes `stop` itself.
  std::string textThrough(std::string_view stop, std::string_view what, bool angles = false) {
    std::string text = textUntil({stop}, what, angles);
    next();
    return text;
  }
  /// Takes the author's bytes between here and the matching `close`, and reads `close`.
  std::string rawUntil(std::string_view close, std::string_view what);

  // --- skipping after a mistake ---
  void skipBraces();
  void recover(std::size_t start, bool (Parser::*startsHere)() const);
  /// The file ended inside a construct: said once, for the innermost one.
  [[noreturn]] void failUnclosed(Span at, std::string message, std::string hint);
  bool startsConstruct() const;
  bool startsMember() const;

  // --- parser.cpp ---
  std::vector<Item> items(std::string_view closedBy);
  Item construct();
  Item member(const std::string& chare);
  std::optional<Item> commonMember();
  Item externThing(std::size_t from);
  Module module();
  Item namespaceOrUsing();
  Readonly readonly();
  Message message(std::optional<TemplateHeader> header);
  void nameOfTemplate(const std::optional<TemplateHeader>& header, const std::string& kind, const std::string& name,
                      std::string& arguments);
  MessageField messageField();
  Chare chare(std::optional<TemplateHeader> header);
  void indexOrAttributes(Chare& chare);
  void chareBody(Chare& chare);
  InitCall initCall();
  std::vector<Attribute> attributes(const std::vector<std::string_view>& known, std::string_view of);
  Entry entry(std::optional<TemplateHeader> header, const std::string& chare);
  void entryTail(Entry& entry);
  Item accelBlock();
  Item accel(std::size_t from);
  /// Both report what they skip, and answer whether there was any.
  bool misplacedDirective();
  bool accessSpecifier();
  [[noreturn]] void unknownConstruct();
  [[noreturn]] void unknownMember(const std::string& chare);

  // --- parse_type.cpp ---
  Type type(std::string_view what);
  void specifiers(Type& type, std::string_view what);
  void refuseVolatile();
  void builtinName(Type& type);
  void namedType(Type& type, std::string_view what);
  void pointersAndReferences(Type& type);
  void functionPointer(Type& type);
  std::string templateArguments();
  std::vector<Parameter> parameters(std::string_view of);
  Parameter parameter();
  TemplateHeader templateHeader();
  TemplateParameter templateParameter();

  // --- parse_sdag.cpp ---
  bool startsSdag() const;
  Sdag sdag();
  Sdag sdagBlock(std::string_view of);
  std::vector<Sdag> sdagBody(std::string_view of);
  Sdag begun(Sdag::Kind kind);
  void code(Sdag& of, std::string_view stop, std::string_view what);
  Sdag serial();
  Sdag conditional();
  Sdag loop();
  Sdag forLoop();
  void refuseDeclaration();
  Sdag forall();
  Sdag when();
  Awaited awaited();
  Sdag overlapOrCase();
  [[noreturn]] void unknownSdag();

  const SourceText& source_;
  std::vector<Token> tokens_;
  Diagnostics& out_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  bool endReported_ = false;
};

/// Counts one level of nesting for as long as it lives.
struct Parser::Depth {
  explicit Depth(Parser& p) : parser(p) { parser.enter(); }
  ~Depth() { --parser.depth_; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
  Parser& parser;
};

}  // namespace periapt::ci
