#include "lang/ci-translator/translate.h"

#include "lang/ci-translator/checks.h"
#include "lang/ci-translator/emit.h"
#include "lang/ci-translator/parser.h"
#include "lang/ci-translator/words.h"

namespace periapt::ci {

TranslateOutput translate(const TranslateInput& input) {
  SourceText source(input.text, input.file);
  for (const auto& [name, text] : input.originals) source.setOriginal(name, text);
  Diagnostics diagnostics(source);
  File file = parse(source, input.defines, diagnostics);
  TranslateOutput out;
  if (input.wantTree) out.tree = dump(file);
  settle(file, diagnostics);
  check(file, diagnostics);
  checkBodies(file, diagnostics);
  if (diagnostics.errors() == 0) checkSupported(file, diagnostics);
  addPythonRequests(file);
  if (diagnostics.errors() == 0 && file.items.empty())
    diagnostics.warningOfFile("this file holds no module, so that no headers are written",
                              "write module name { ... } or mainmodule name { ... }");
  out.messages = diagnostics.render();
  out.ok = diagnostics.errors() == 0;
  if (!out.ok) return out;
  for (const Item& item : file.items) {
    const Module& module = std::get<Module>(item.node);
    if (item.isExtern) continue;
    TranslatedModule text{module.name, module.isMain, {}, emitDecl(module, source), emitDef(module, source)};
    forEachItem(module.items, "", [&text](const Item& inner, const std::string&) {
      if (auto* other = std::get_if<Module>(&inner.node)) text.externModules.push_back(other->name);
    });
    out.modules.push_back(std::move(text));
  }
  return out;
}

}  // namespace periapt::ci
