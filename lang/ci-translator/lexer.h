// Text -> tokens. The tokens are those of C++, since .ci files hold C++ types, expressions and (in SDAG) statements;
// only
// `::`, `...` and `->` are glued, every other sign is a token of its own, so that `>>` closes two template lists.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lang/ci-translator/diagnostics.h"
#include "lang/ci-translator/source.h"

namespace periapt::ci {

enum class TokenKind { word, number, string, sign, end };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  Span span;
  bool firstOnLine = false;
  bool spaceBefore = false;
};

/// Splits the whole text; the last token is of kind `end`. `defines` are the names that `#if NAME` and `#ifdef NAME`
/// know when the text has not been through the C preprocessor.
std::vector<Token> tokenize(const SourceText& source, const std::set<std::string, std::less<>>& defines,
                            Diagnostics& out);

/// Words that have a meaning in a .ci file and cannot be names in one.
bool isReserved(std::string_view word);
/// Words that make up built-in C++ types: `unsigned`, `long`, ...
bool isBuiltinWord(std::string_view word);

}  // namespace periapt::ci
