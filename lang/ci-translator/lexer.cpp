#include "lang/ci-translator/lexer.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <iterator>

namespace periapt::ci {
namespace {

bool isWordStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' || (c & 0x80); }
bool isWordPart(char c) { return isWordStart(c) || std::isdigit(static_cast<unsigned char>(c)); }
bool isDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }

class Lexer {
 public:
  Lexer(const SourceText& source, const std::set<std::string, std::less<>>& defines, Diagnostics& out)
      : text_(source.text()), defines_(defines), out_(out) {}

  std::vector<Token> run() {
    while (skipToToken()) take();
    if (!conditions_.empty()) out_.error(conditions_.back().at, "this condition has no #endif");
    push(TokenKind::end, text_.size());
    return std::move(tokens_);
  }

 private:
  struct Condition {
    Span at;
    bool active;  // this branch is read
    bool parent;  // and so is what it stands in
  };

  char at(std::size_t offset) const { return offset < text_.size() ? text_[offset] : '\0'; }
  bool reading() const { return conditions_.empty() || conditions_.back().active; }

  /// Skips space, comments, line markers and text that a condition leaves out. False at the end of the text.
  bool skipToToken() {
    space_ = false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        lineStart_ = true;
        space_ = true;
        ++at_;
      } else if (std::isspace(static_cast<unsigned char>(c)) || (c == '\\' && at(at_ + 1) == '\n')) {
        space_ = true;
        at_ += c == '\\' ? 2 : 1;
      } else if (c == '#' && lineStart_) {
        directive();
      } else if (!reading()) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '/' && at(at_ + 1) == '/') {
        space_ = true;
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '/' && at(at_ + 1) == '*') {
        space_ = true;
        const std::size_t end = text_.find("*/", at_ + 2);
        if (end == text_.npos) out_.error({at_, at_ + 2}, "this comment has no end", "close it with */");
        at_ = end == text_.npos ? text_.size() : end + 2;
      } else {
        return true;
      }
    }
    return false;
  }

  /// A line that begins with '#': a line marker (SourceText has read it), or one of the few conditions that are
  /// understood without the C preprocessor.
  void directive() {
    const std::size_t begin = at_;
    at_ = std::min(text_.find('\n', at_), text_.size());
    std::string_view line = text_.substr(begin + 1, at_ - begin - 1);
    auto word = [&line] {
      while (!line.empty() && std::isspace(static_cast<unsigned char>(line.front()))) line.remove_prefix(1);
      std::size_t n = 0;
      while (n < line.size() && isWordPart(line[n])) ++n;
      const std::string_view taken = line.substr(0, n);
      line.remove_prefix(n);
      return taken;
    };
    const Span span{begin, at_};
    const std::string_view keyword = word();
    if (keyword.empty() || isDigit(keyword.front()) || keyword == "line" || keyword == "pragma") return;
    if (keyword == "if" || keyword == "ifdef" || keyword == "ifndef") {
      const std::string_view name = word();
      bool holds = defines_.count(name) != 0;
      if (keyword == "ifndef") holds = !holds;
      if (keyword == "if" && !name.empty() && isDigit(name.front())) holds = name != "0";
      conditions_.push_back({span, reading() && holds, reading()});
    } else if (keyword == "else" && !conditions_.empty()) {
      conditions_.back().active = conditions_.back().parent && !conditions_.back().active;
    } else if (keyword == "endif" && !conditions_.empty()) {
      conditions_.pop_back();
    } else if (reading()) {
      out_.error(span, "this line needs the C preprocessor", "leave out -no-preprocess-ci");
    }
  }

  void take() {
    const char c = text_[at_];
    if (isWordStart(c)) return takeWord();
    if (isDigit(c) || (c == '.' && isDigit(at(at_ + 1)))) return takeNumber();
    if (c == '"' || c == '\'') return takeQuoted(at_);
    std::size_t length = 1;
    if (text_.substr(at_, 3) == "...")
      length = 3;
    else if (text_.substr(at_, 2) == "::" || text_.substr(at_, 2) == "->")
      length = 2;
    push(TokenKind::sign, at_ + length);
  }

  void takeWord() {
    std::size_t end = at_;
    while (end < text_.size() && isWordPart(text_[end])) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    if (at(end) == '"' && (word == "R" || word == "LR" || word == "u8R" || word == "uR" || word == "UR"))
      return takeRaw(end);
    push(TokenKind::word, end);
  }

  /// A preprocessing number, as C++ has it: digits, letters, points, digit separators and signed exponents.
  void takeNumber() {
    std::size_t end = at_ + 1;
    while (end < text_.size()) {
      const char c = text_[end];
      const bool separator = c == '\'' && isWordPart(at(end + 1));
      const char before = text_[end - 1];
      const bool hex = text_.substr(at_, 2) == "0x" || text_.substr(at_, 2) == "0X";
      const bool exponent =
          (c == '+' || c == '-') && (hex ? before == 'p' || before == 'P' : before == 'e' || before == 'E');
      if (!isWordPart(c) && c != '.' && !separator && !exponent) break;
      ++end;
    }
    push(TokenKind::number, end);
  }

  void takeQuoted(std::size_t quote) {
    std::size_t end = quote + 1;
    while (end < text_.size() && text_[end] != text_[quote] && text_[end] != '\n') end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size() || text_[end] == '\n') {
      out_.error({quote, quote + 1},
                 std::string("the text that begins with ") + text_[quote] + " has no end on its line",
                 std::string("close it with ") + text_[quote]);
      if (end <= text_.size() && end > quote + 1 && text_[end - 1] == ';') --end;  // most likely not part of it
      return push(TokenKind::string, std::min(end, text_.size()));
    }
    push(TokenKind::string, end + 1);
  }

  void takeRaw(std::size_t quote) {
    const std::size_t open = text_.find('(', quote);
    std::size_t end = text_.npos;
    if (open != text_.npos && open - quote <= 17) {
      const std::string closing = ")" + std::string(text_.substr(quote + 1, open - quote - 1)) + "\"";
      end = text_.find(closing, open);
      if (end != text_.npos) end += closing.size();
    }
    if (end == text_.npos) {
      out_.error({at_, quote + 1}, "this raw string has no end");
      end = text_.size();
    }
    push(TokenKind::string, end);
  }

  void push(TokenKind kind, std::size_t end) {
    const std::size_t begin = std::min(at_, end);
    tokens_.push_back({kind, text_.substr(begin, end - begin), {begin, end}, lineStart_, space_});
    at_ = end;
    lineStart_ = false;
    space_ = false;
  }

  std::string_view text_;
  const std::set<std::string, std::less<>>& defines_;
  Diagnostics& out_;
  std::vector<Token> tokens_;
  std::vector<Condition> conditions_;
  std::size_t at_ = 0;
  bool lineStart_ = true;
  bool space_ = false;
};

template <std::size_t N>
bool contains(const std::string_view (&sorted)[N], std::string_view word) {
  return std::binary_search(std::begin(sorted), std::end(sorted), word);
}

}  // namespace

std::vector<Token> tokenize(const SourceText& source, const std::set<std::string, std::less<>>& defines,
                            Diagnostics& out) {
  return Lexer(source, defines, out).run();
}

bool isBuiltinWord(std::string_view word) {
  static constexpr std::string_view words[] = {"bool", "char",  "char16_t", "char32_t", "double", "float",  "int",
                                               "long", "short", "signed",   "unsigned", "void",   "wchar_t"};
  static_assert(std::is_sorted(std::begin(words), std::end(words)));
  return contains(words, word);
}

bool isReserved(std::string_view word) {
  static constexpr std::string_view words[] = {
      "PUPable",         "accel",    "accelblock", "aggregate",  "appwork",    "array",    "atomic",       "case",
      "chare",           "class",    "const",      "createhere", "createhome", "else",     "entry",        "exclusive",
      "expedited",       "extern",   "for",        "forall",     "group",      "if",       "iget",         "immediate",
      "include",         "initcall", "initnode",   "initproc",   "inline",     "local",    "mainchare",    "mainmodule",
      "memcritical",     "message",  "migratable", "module",     "namespace",  "nocopy",   "nocopydevice", "nocopypost",
      "nodegroup",       "nokeep",   "notrace",    "overlap",    "packed",     "pupable",  "python",       "readonly",
      "reductiontarget", "serial",   "stacksize",  "sync",       "template",   "threaded", "typename",     "using",
      "varsize",         "virtual",  "when",       "whenidle",   "while"};
  static_assert(std::is_sorted(std::begin(words), std::end(words)));
  return contains(words, word) || isBuiltinWord(word);
}

}  // namespace periapt::ci
