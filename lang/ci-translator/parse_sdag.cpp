// The body of an entry in SDAG ("structured dagger"): serial, when, if, for, while, forall, overlap, case. Read whole
// here and kept in the tree; lower_sdag.cpp makes steps of it.
#include "lang/ci-translator/parser_impl.h"

namespace periapt::ci {

bool Parser::startsSdag() const {
  return isAny({"{", "serial", "atomic", "when", "if", "for", "while", "forall", "overlap", "case"});
}

/// One statement.
Sdag Parser::sdag() {
  Depth depth(*this);
  const std::size_t from = begin();
  auto finish = [&](Sdag node) {
    node.span = {from, lastEnd()};
    optionalSemicolons();
    return node;
  };
  if (isAny({"serial", "atomic", "{"})) return finish(serial());
  if (is("when")) return finish(when());
  if (is("if")) return finish(conditional());
  if (is("while")) return finish(loop());
  if (is("for")) return finish(forLoop());
  if (is("forall")) return finish(forall());
  if (isAny({"overlap", "case"})) return finish(overlapOrCase());
  unknownSdag();
}

/// `{ statements }` behind a when, a loop and so on, or one statement without braces.
std::vector<Sdag> Parser::sdagBody(std::string_view of) {
  std::vector<Sdag> out;
  if (!accept("{")) {
    out.push_back(sdag());
    return out;
  }
  while (!is("}")) {
    if (atEnd()) failUnclosed(peek().span, "the body of " + std::string(of) + " has no end", "close it with '}'");
    if (accept(";")) continue;
    out.push_back(sdag());
  }
  next();
  return out;
}

Sdag Parser::sdagBlock(std::string_view of) {
  Sdag out;
  out.kind = Sdag::Kind::sequence;
  out.span.begin = begin();
  out.body = sdagBody(of);
  out.span.end = lastEnd();
  optionalSemicolons();
  return out;
}

/// A statement whose keyword is next: taken.
Sdag Parser::begun(Sdag::Kind kind) {
  Sdag out;
  out.kind = kind;
  next();
  return out;
}

/// C++ up to `stop`, which is taken too.
void Parser::code(Sdag& of, std::string_view stop, std::string_view what) {
  const std::size_t from = begin();
  const std::size_t end = findStop({stop}, what);
  for (std::size_t i = at_, depth = 0; i < end; ++i) {
    const std::string_view text = tokens_[i].kind == TokenKind::string ? "" : tokens_[i].text;
    if (text == "(" || text == "[" || text == "{") ++depth;
    if (text == ")" || text == "]" || text == "}") --depth;
    if (text == ";" && depth == 0)
      fail(tokens_[i].span, "unexpected ';' in " + std::string(what),
           "it is one expression; what it uses is made before");
  }
  of.code.push_back(takeText(end));
  next();
  of.places.push_back({from, lastEnd() - 1});
}

Sdag Parser::serial() {
  Sdag out;
  out.kind = Sdag::Kind::serial;
  if (!is("{")) {
    next();
  } else if ((is("when", 1) && isWord(2)) || (is("overlap", 1) && is("{", 2)) || (is("forall", 1) && is("[", 2))) {
    fail(peek(1).span,
         "braces alone hold C++, and '" + std::string(peek(1).text) + "' is a statement of an entry's body",
         "leave the braces out");
  }
  if (peek().kind == TokenKind::string) out.name = next().text;
  expect("{", "to open the C++ statements of a serial block", is("{") ? "" : "write serial { ... }");
  const std::size_t from = lastEnd();
  out.code.push_back(rawUntil("}", "the serial block"));
  out.places.push_back({from, lastEnd() - 1});
  return out;
}

Sdag Parser::conditional() {
  Sdag out = begun(Sdag::Kind::ifElse);
  expect("(", "after 'if'");
  code(out, ")", "the condition");
  out.body = sdagBody("the if");
  if (accept("else")) out.otherwise = sdagBody("the else");
  return out;
}

Sdag Parser::loop() {
  Sdag out = begun(Sdag::Kind::whileLoop);
  expect("(", "after 'while'");
  code(out, ")", "the condition");
  out.body = sdagBody("the while loop");
  return out;
}

Sdag Parser::forLoop() {
  Sdag out = begun(Sdag::Kind::forLoop);
  expect("(", "after 'for'");
  refuseDeclaration();
  for (const char* part : {"the start of a for loop", "the condition of a for loop"}) {
    code(out, ";", part);
  }
  code(out, ")", "the step of a for loop");
  out.body = sdagBody("the for loop");
  return out;
}

/// At the start of a for loop: `int i`, `const std::size_t i`. No variable of C++ outlives a statement of a body.
void Parser::refuseDeclaration() {
  std::size_t at = 0;
  while (is("const", at) || (peek(at).kind == TokenKind::word && isBuiltinWord(peek(at).text) && isWord(at + 1))) ++at;
  while (isWord(at) && is("::", at + 1)) at += 2;
  if (isWord(at) && isWord(at + 1))
    ++at;
  else if (at == 0 || !is("=", at + 1) || is("::", at - 1))
    return;
  const std::string variable(peek(at).text);
  fail({begin(), peek(at).span.end},
       "a for loop of an entry's body cannot declare '" + variable +
           "': each statement is a call of its own, in which it is unknown",
       "make it a member of the class and write for (" + variable + " = ...; a forall [" + variable +
           "] declares its index");
}

/// `forall [i] (first : last, stride)`.
Sdag Parser::forall() {
  Sdag out = begun(Sdag::Kind::forall);
  expect("[", "after 'forall'", "write forall [i] (first : last, stride)");
  if (isWord() && (isBuiltinWord(peek().text) || isWord(1) || is("::", 1)))
    fail(peek().span, "the index of a forall is an int that the forall declares",
         "write its name alone: forall [i] (first : last, stride)");
  out.name = name("the index of a forall");
  expect("]", "after the index of a forall");
  expect("(", "before the range of a forall", "write forall [i] (first : last, stride)");
  code(out, ":", "the range of a forall");
  code(out, ",", "the range of a forall");
  code(out, ")", "the stride of a forall");
  out.body = sdagBody("the forall");
  return out;
}

Sdag Parser::when() {
  Sdag out = begun(Sdag::Kind::when);
  do {
    if (is("when") && !out.awaited.empty()) {
      out_.error(peek().span, "unexpected 'when' in the list of entries that a when waits for",
                 "leave the second when out: when a(...), b(...)");
      next();
    }
    out.awaited.push_back(awaited());
  } while (accept(","));
  if (is(";")) fail(peek().span, "a when needs a body", "write {} if there is nothing to do");
  out.body = sdagBody("the when");
  return out;
}

Awaited Parser::awaited() {
  Awaited out;
  out.span.begin = begin();
  out.name = name("the entry that a when waits for");
  if (accept("[")) {
    const std::size_t from = begin();
    out.reference = textThrough("]", "a reference number");
    out.referenceSpan = {from, lastEnd() - 1};
  }
  out.parameters = parameters("'" + out.name + "'");
  out.span.end = lastEnd();
  return out;
}

Sdag Parser::overlapOrCase() {
  const bool isCase = is("case");
  Sdag out = begun(isCase ? Sdag::Kind::caseOf : Sdag::Kind::overlap);
  expect("{", isCase ? "after 'case'" : "after 'overlap'");
  if (isCase && is("}"))
    fail(peek().span, "a case block without a when would wait for ever", "leave it out, or put a when into it");
  while (!accept("}")) {
    if (atEnd()) failUnclosed(peek().span, "this block has no end", "close it with '}'");
    if (accept(";")) continue;
    if (isCase && !is("when"))
      fail(peek().span, "a case block can only contain when clauses, found " + found(),
           "put other statements into the body of a when");
    out.body.push_back(sdag());
  }
  return out;
}

void Parser::unknownSdag() {
  const std::string_view near =
      isWord() ? nearest(peek().text, {"serial", "when", "while", "for", "forall", "if", "overlap", "case"}) : "";
  if (is("else")) fail(peek().span, "this else belongs to no if");
  if (isWord() && (isBuiltinWord(peek().text) || (isAny({"const", "constexpr", "static", "auto"}) && isWord(1))))
    fail(peek().span, "a variable cannot be declared in the body of an entry, found " + found(),
         "make it a member of the class, or declare it in a serial { ... }, which it does not outlive");
  if (!near.empty() && (is("{", 1) || is("(", 1) || is("[", 1) || isWord(1)))
    fail(peek().span, "unknown statement " + found() + " in the body of an entry",
         "did you mean '" + std::string(near) + "'? C++ statements stand in serial { ... }");
  fail(peek().span, "expected a statement of an entry's body, found " + found(),
       "C++ statements stand in serial { ... }; or is a ';' missing after the entry before?");
}

}  // namespace periapt::ci
