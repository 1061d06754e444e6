// The command line of charmc, understood. Flags of our own are taken out; everything else keeps its place and goes to
// the compiler or the linker.
#pragma once

#include <string>
#include <vector>

namespace periapt::charmc {

enum class InputKind { ci, c, cxx, other, link };  // other: a source that the compiler knows by itself (.s, .S)

/// One thing that the link line holds, in the order given: a file, or a flag such as -lm.
struct LinkItem {
  std::string text;
  bool isSource = false;  ///< a source that has to be compiled first
  bool isFile = false;    ///< a file, not a flag
};

struct Options {
  std::vector<std::string> ciFiles;
  std::vector<std::string> cpmFiles;  ///< -gen-cpm
  std::vector<std::string> sources;
  std::vector<LinkItem> link;           ///< objects, archives, link flags and sources, in order
  std::vector<std::string> preprocess;  ///< -D -U -I -include ...: for .ci files and sources
  std::vector<std::string> compile;     ///< other flags, for sources and the linker
  std::vector<std::string> depend;      ///< -MD -MF x ...: for sources
  std::string output;
  std::string dependFile;       ///< -MF
  std::string dependTarget;     ///< -MT, -MQ
  bool dependOnly = false;      ///< -M, -MM
  bool dependAlso = false;      ///< -MD, -MMD
  bool compileOnly = false;     ///< -c
  bool defaultOutput = false;   ///< -default-to-aout: a program without a name is a.out
  bool preprocessOnly = false;  ///< -E
  bool assembleOnly = false;    ///< -S
  bool shared = false;          ///< -shared, -build-shared
  bool seq = false;             ///< -seq: no Charm++ at all
  bool verbose = false;
  bool save = false;
  bool noMain = false;
  bool noMainModule = false;
  bool noCharmrun = false;
  bool fortran = false;         ///< -flib and its like: what objects of a Fortran compiler need
  bool noModuleInit = false;    ///< -standalone, -skip-module-init: nothing registers modules
  bool touchOnFailure = false;  ///< -touch-on-failure: an empty file in place of what did not come about, and go on
  bool noPreprocessCi = false;
  bool printBuildingBlocks = false;
  bool help = false;
  bool version = false;
  bool charmVersion = false;  ///< -V
  std::string language;
  std::vector<std::string> modules;
  std::vector<std::string> balancers;
  std::string seedBalancer;  ///< -balance
  std::vector<std::string> traceModes;
  std::string cxx, cc, ldxx;  ///< compilers to use instead of ours
  std::vector<std::string> cxxOptions, ccOptions, ldOptions;
  std::vector<std::string> sharedOptions;  ///< -ldro-option: for shared objects
  std::string originalFile;                ///< charmxi -orig-file: what the preprocessed .ci file was made of
  std::string copyTo;                      ///< -cp DIR
  std::vector<std::string> warnings;       ///< things accepted without effect that a user should know of
  std::vector<std::string> remarks;        ///< the same, shown with -verbose only
  std::string error;                       ///< not empty: what is wrong with the command line
  std::string linkError;                   ///< the same, where a program is linked: Makefiles compile with such flags
};

Options parseOptions(const std::vector<std::string>& arguments);

/// The command line of charmxi, which Makefiles of old call for a .ci file that they have preprocessed.
Options parseCharmxiOptions(const std::vector<std::string>& arguments);

/// By suffix; -x LANG is the compiler's business and makes any file a source.
InputKind kindOf(const std::string& file);

/// A language standard below C++14 raised to it, since the headers need that: -std=c++11 -> -std=c++14. Compilers know
/// C++14 by an older name too (-std=c++1y), which becomes its own.
std::string raisedStandard(const std::string& flag);

std::string helpText();

}  // namespace periapt::charmc
