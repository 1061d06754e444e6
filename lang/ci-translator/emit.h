// Tree -> C++ text: one M.decl.h (classes) and one M.def.h (definitions, registration) for each module M. What the text
// leans on is described in docs/generated-code.md.
#pragma once

#include <string>

#include "lang/ci-translator/ast.h"
#include "lang/ci-translator/source.h"

namespace periapt::ci {

/// Both expect a tree that has passed all checks. emit_decl.cpp and emit_def.cpp.
std::string emitDecl(const Module& module, const SourceText& source);
std::string emitDef(const Module& module, const SourceText& source);

}  // namespace periapt::ci
