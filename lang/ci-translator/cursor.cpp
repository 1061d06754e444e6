// The parser's cursor: reading and expecting tokens, taking text as it stands, and skipping after a mistake.
#include <algorithm>

#include "lang/ci-translator/parser_impl.h"

namespace periapt::ci {
namespace {

/// "64K" -> "65536", as the numbers of a .ci file may be written; other text stays.
std::string numberText(std::string_view text) {
  const char unit = text.back();
  const bool digits = text.size() > 1 && text.size() < 12 &&
                      std::all_of(text.begin(), text.end() - 1, [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || (unit != 'K' && unit != 'k' && unit != 'M' && unit != 'm')) return std::string(text);
  const unsigned long long value = std::stoull(std::string(text.substr(0, text.size() - 1)));
  return std::to_string(value * (unit == 'K' || unit == 'k' ? 1024ULL : 1024ULL * 1024ULL));
}

bool opens(std::string_view t) { return t == "(" || t == "[" || t == "{"; }
bool closes(std::string_view t) { return t == ")" || t == "]" || t == "}"; }
std::string_view closing(std::string_view open) { return open == "(" ? ")" : open == "[" ? "]" : "}"; }

}  // namespace

bool Parser::isAny(std::initializer_list<std::string_view> texts, std::size_t ahead) const {
  return std::any_of(texts.begin(), texts.end(), [&](std::string_view t) { return is(t, ahead); });
}

bool Parser::accept(std::string_view text) {
  if (!is(text)) return false;
  next();
  return true;
}

std::string Parser::found(std::size_t ahead) const {
  if (peek(ahead).kind == TokenKind::end) return "the end of the file";
  return "'" + std::string(peek(ahead).text.substr(0, 40)) + "'";
}

void Parser::fail(Span at, std::string message, std::string hint) {
  out_.error(at, std::move(message), std::move(hint));
  throw Bail{};
}

void Parser::expect(std::string_view text, std::string_view after, std::string hint) {
  if (accept(text)) return;
  const std::string what = "expected '" + std::string(text) + "' " + std::string(after) + ", found " + found();
  fail(peek().span, what, std::move(hint));
}

void Parser::semicolon(std::string_view after, std::string hint) {
  if (accept(";")) return optionalSemicolons();
  const Span behind{lastEnd(), lastEnd()};
  const std::string what = "expected ';' after " + std::string(after);
  if (hint.empty()) hint = "end it with ';'";
  if (peek().firstOnLine || is("}") || atEnd()) {  // most likely just forgotten: read on as if it were there
    out_.error(behind, what, std::move(hint));
    return;
  }
  fail(behind, what + ", found " + found(), std::move(hint));
}

std::string Parser::name(std::string_view what, Span* span) {
  const Token token = peek();
  if (token.kind != TokenKind::word) fail(token.span, "expected " + std::string(what) + ", found " + found());
  if (isReserved(token.text))
    fail(token.span, "'" + std::string(token.text) + "' is a reserved word and cannot be " + std::string(what),
         "choose another name, such as '" + std::string(token.text) + "_'");
  next();
  if (span) *span = token.span;
  return std::string(token.text);
}

std::string Parser::qualifiedName(std::string_view what, Span* span) {
  Span first;
  std::string out = name(what, &first);
  while (accept("::")) {
    if (!isWord()) fail(peek().span, "expected a name after '::', found " + found());
    out += "::" + std::string(next().text);
  }
  if (span) *span = {first.begin, lastEnd()};
  return out;
}

std::string Parser::stringLiteral(std::string_view what) {
  if (peek().kind != TokenKind::string) fail(peek().span, "expected " + std::string(what) + ", found " + found());
  return std::string(next().text);
}

void Parser::enter(std::size_t levels_max) {
  if (++depth_ <= levels_max) return;
  --depth_;
  fail(peek().span, "this is nested too deeply (more than " + std::to_string(levels_max) + " levels)");
}

/// `open` has no partner before `end`, which ends what it stands in.
void Parser::failUnclosedIn(std::string_view what, const Token& open, const Token& end) {
  endReported_ |= open.text == "{";  // it takes a '}' from its surroundings
  fail(open.span, "the '" + std::string(open.text) + "' in " + std::string(what) + " is never closed",
       "write '" + std::string(closing(open.text)) + "' before the '" + std::string(end.text) + "' behind it");
}

/// `1 << 3`, of which each sign is a token.
bool Parser::isShift(std::size_t at) const {
  const auto isOpen = [this](std::size_t i) { return tokens_[i].text == "<"; };
  return (at + 1 < tokens_.size() && isOpen(at + 1) && !tokens_[at + 1].spaceBefore) ||
         (at > 0 && isOpen(at - 1) && !tokens_[at].spaceBefore);
}

std::size_t Parser::findStop(std::initializer_list<std::string_view> stops, std::string_view what, bool angles) {
  std::vector<std::size_t> open;  // brackets, by their tokens
  std::size_t angleDepth = 0;
  int questions = 0;  // of `a ? b : c`, whose ':' is no stop
  auto isStop = [&stops](const Token& token) {
    return std::find(stops.begin(), stops.end(), token.text) != stops.end();
  };
  for (std::size_t i = at_; i < tokens_.size(); ++i) {
    const Token& token = tokens_[i];
    if (token.kind == TokenKind::end) break;
    if (token.kind == TokenKind::string) continue;
    if (open.empty() && token.text == "?") ++questions;
    if (open.empty() && angleDepth == 0 && isStop(token) && !(token.text == ":" && questions-- > 0)) return i;
    if (opens(token.text)) open.push_back(i);
    if (closes(token.text)) {
      auto closesIt = [&](std::size_t at) { return closing(tokens_[at].text) == token.text; };
      if (open.empty() || !closesIt(open.back())) {
        const bool closesOther = token.text == "}" || isStop(token) || std::any_of(open.begin(), open.end(), closesIt);
        if (!open.empty() && closesOther) failUnclosedIn(what, tokens_[open.back()], token);
        fail(token.span, "unexpected '" + std::string(token.text) + "' in " + std::string(what),
             angles ? "is a '>' missing? A comparison with '<' stands in parentheses here" : "");
      }
      open.pop_back();
    }
    if (angles && open.empty() && token.text == "<" && !isShift(i)) ++angleDepth;
    if (angles && open.empty() && token.text == ">" && angleDepth > 0) --angleDepth;
  }
  fail(peek().span, std::string(what) + " that begins here has no end",
       "expected '" + std::string(*stops.begin()) + "' before the end of the file");
}

std::string Parser::takeText(std::size_t stop) {
  std::string out;
  const std::size_t first = at_;
  for (; at_ < stop; ++at_) {
    const Token& token = tokens_[at_];
    if (at_ > first && token.spaceBefore) out += ' ';
    out += token.kind == TokenKind::number ? numberText(token.text) : std::string(token.text);
  }
  return out;
}

std::string Parser::rawUntil(std::string_view close, std::string_view what) {
  const std::size_t from = lastEnd();
  at_ = findStop({close}, what);
  const std::string code(source_.slice({from, begin()}));
  next();
  return code;
}

/// Skips one token, or a whole {...}. Other brackets are not trusted: the mistake may be a missing one.
void Parser::skipBraces() {
  std::size_t depth = 0;
  do {
    if (is("{")) ++depth;
    if (is("}") && depth > 0) --depth;
    next();
  } while (depth > 0 && !atEnd());
}

/// Skips what began at token `start` and holds a mistake: to behind its `;` or `{...}`, or to a `}` that closes what we
/// are in, or to a line that begins with a word by which something new begins.
void Parser::recover(std::size_t start, bool (Parser::*startsHere)() const) {
  at_ = start;
  while (!atEnd() && !is("}")) {
    if (at_ > start && peek().firstOnLine && (this->*startsHere)()) return;
    const bool ends = is(";") || is("{");
    skipBraces();
    if (ends) return optionalSemicolons();
  }
}

void Parser::failUnclosed(Span at, std::string message, std::string hint) {
  if (endReported_) throw Bail{};
  endReported_ = true;
  fail(at, std::move(message), std::move(hint));
}

bool Parser::startsConstruct() const {
  return isAny({"module", "mainmodule", "extern", "readonly", "message", "mainchare", "chare", "group", "nodegroup",
                "array", "initnode", "initproc", "initcall", "include", "PUPable", "namespace", "using", "template",
                "class"});
}

bool Parser::startsMember() const {
  return isAny({"entry", "initnode", "initproc", "initcall", "PUPable", "template"}) ||
         (startsConstruct() && isAny({"mainchare", "chare", "group", "nodegroup", "array", "message", "module"}));
}

}  // namespace periapt::ci
