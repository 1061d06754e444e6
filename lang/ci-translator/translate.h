// The whole translator behind one call: text in, headers and messages out. No file is read or written here.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace periapt::ci {

struct TranslateInput {
  std::string file;                              ///< its name, for messages and #line
  std::string text;                              ///< may hold line markers of the C preprocessor
  std::map<std::string, std::string> originals;  ///< by name: the author's text, which messages quote
  std::set<std::string, std::less<>> defines;    ///< for #ifdef NAME in text that was not preprocessed
  bool wantTree = false;                         ///< fill in TranslateOutput::tree
};

struct TranslatedModule {
  std::string name;
  bool isMain = false;
  std::vector<std::string> externModules;  ///< the modules it names
  std::string decl;                        ///< text of name.decl.h
  std::string def;                         ///< text of name.def.h
};

struct TranslateOutput {
  bool ok = false;                        ///< no error; warnings are possible
  std::string messages;                   ///< errors and warnings, ready to print
  std::string tree;                       ///< when asked for
  std::vector<TranslatedModule> modules;  ///< empty unless ok
};

TranslateOutput translate(const TranslateInput& input);

}  // namespace periapt::ci
