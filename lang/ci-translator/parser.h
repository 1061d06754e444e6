// Tokens -> tree. A mistake is reported and reading goes on behind it, so that one run shows several.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "lang/ci-translator/ast.h"
#include "lang/ci-translator/diagnostics.h"
#include "lang/ci-translator/source.h"

namespace periapt::ci {

File parse(const SourceText& source, const std::set<std::string, std::less<>>& defines, Diagnostics& out);

}  // namespace periapt::ci
