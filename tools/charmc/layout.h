// Where things are: compilers, headers, libraries. Found from charmc's own place (bin/../include, bin/../lib), so that
// an installed prefix can be moved; a file charmc.conf beside it may say otherwise.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace periapt::charmc {

/// Is the C++ compiler GCC? `unknown`: it has to be asked.
enum class Gnu { unknown, yes, no };

struct Layout {
  std::filesystem::path bin;
  std::vector<std::string> includes;
  std::vector<std::string> libraries;
  std::string cxx;
  Gnu cxxIsGnu = Gnu::unknown;
  std::string cc;
  std::vector<std::string> linkFlags;
};

Layout findLayout();
std::string versionText();
/// Its third word is the number that configure scripts compare with.
std::string charmVersionText();

}  // namespace periapt::charmc
