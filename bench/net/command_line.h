// The command line of a program of bench/net: the options of its plan, and its own. CLI11 is compiled behind it once,
// not with each program.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/net/plan.h"

namespace CLI {
class App;
}

namespace periapt::bench {

class CommandLine {
 public:
  // Help or a complaint: the program is over before it has begun.
  struct End {
    int status;
    std::string text;
    // To the standard output, or the standard error; returns the status.
    int print() const;
  };

  /// Everything that is given by reference stays the caller's, and is written by parse().
  CommandLine(const std::string& about, Plan& plan);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;

  /// A `name` without hyphens is required, and goes by its place.
  void flag(const std::string& name, bool& value, const std::string& meaning, const std::string& excludes = "");
  void text(const std::string& name, std::string& value, const std::string& meaning,
            const std::vector<std::string>& choices = {});
  void texts(const std::string& name, std::vector<std::string>& values, const std::string& meaning);

  [[nodiscard]] std::optional<End> parse(int argc, const char* const* argv);
  /// The arguments alone, with spaces between them.
  [[nodiscard]] std::optional<End> parse(const std::string& arguments);

 private:
  template <class Parse>
  std::optional<End> attempt(Parse parse);

  std::unique_ptr<CLI::App> app_;
};

}  // namespace periapt::bench
