// The inputs in golden/ (constructs) and errors/ (mistakes) and what the translator makes of each, as the tests of this
// folder use them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "lang/ci-translator/translate.h"

namespace periapt::ci {

inline std::filesystem::path goldenRoot() { return PERIAPT_GOLDEN_DIR; }

inline std::string readWhole(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// All .ci files of a folder, sorted.
inline std::vector<std::filesystem::path> ciFiles(const std::string& folder) {
  std::vector<std::filesystem::path> out;
  for (const auto& file : std::filesystem::directory_iterator(goldenRoot() / folder))
    if (file.path().extension() == ".ci") out.push_back(file.path());
  std::sort(out.begin(), out.end());
  return out;
}

inline TranslateOutput translateFile(const std::string& name, const std::string& text) {
  TranslateInput input;
  input.file = name;
  input.text = text;
  input.defines = {"DEFINED"};
  input.wantTree = true;
  return translate(input);
}

/// What a golden input is compared with, by suffix.
inline std::map<std::string, std::string> expectedFiles(const std::filesystem::path& ci) {
  const TranslateOutput output = translateFile(ci.filename().string(), readWhole(ci));
  std::map<std::string, std::string> out;
  const bool isError = ci.parent_path().filename() == "errors";
  if (!isError) out[".tree"] = output.tree;
  if (!output.messages.empty() || isError) out[".messages"] = output.messages;
  for (const TranslatedModule& module : output.modules) {
    out[".decl"] += module.decl;
    out[".def"] += module.def;
  }
  return out;
}

}  // namespace periapt::ci
