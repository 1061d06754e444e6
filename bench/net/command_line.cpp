// See command_line.h.
#include "bench/net/command_line.h"

#include <CLI/CLI.hpp>
#include <sstream>

namespace periapt::bench {

CommandLine::CommandLine(const std::string& about, Plan& plan) : app_(std::make_unique<CLI::App>(about)) {
  app_->add_option("--ops", plan.operations, "only these operations")->delimiter(',');
  app_->add_option("--sizes", plan.sizes, "bytes of a message: 8,1K,16M")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::size_t{8}, kMostBytes));
  app_->add_option("--pairs", plan.pairs, "pairs at the same time")->check(CLI::Range(1, 16));
  app_->add_option("--across", plan.across, "HOST:PORT where the two sides meet, when they are on two hosts");
  app_->add_option("--side", plan.side, "which one this is; 1 listens")->check(CLI::Range(0, 1));
  app_->add_option("--effort", plan.effort, "times the repetitions")->check(CLI::Range(0.001, 1000.0));
}
CommandLine::~CommandLine() = default;

void CommandLine::flag(const std::string& name, bool& value, const std::string& meaning, const std::string& excludes) {
  CLI::Option* option = app_->add_flag(name, value, meaning);
  if (!excludes.empty()) option->excludes(excludes);
}
void CommandLine::text(const std::string& name, std::string& value, const std::string& meaning,
                       const std::vector<std::string>& choices) {
  CLI::Option* option = app_->add_option(name, value, meaning);
  if (name[0] != '-') option->required();
  if (!choices.empty()) option->check(CLI::IsMember(choices));
}
void CommandLine::texts(const std::string& name, std::vector<std::string>& values, const std::string& meaning) {
  app_->add_option(name, values, meaning);
}

template <class Parse>
std::optional<CommandLine::End> CommandLine::attempt(Parse parse) {
  try {
    parse();
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    std::ostringstream help, complaint;
    const int status = app_->exit(error, help, complaint);
    return End{status, help.str() + complaint.str()};
  }
}

std::optional<CommandLine::End> CommandLine::parse(int argc, const char* const* argv) {
  return attempt([&] { app_->parse(argc, argv); });
}
std::optional<CommandLine::End> CommandLine::parse(const std::string& arguments) {
  return attempt([&] { app_->parse(arguments); });
}

int CommandLine::End::print() const {
  std::fputs(text.c_str(), status == 0 ? stdout : stderr);
  return status;
}

}  // namespace periapt::bench
