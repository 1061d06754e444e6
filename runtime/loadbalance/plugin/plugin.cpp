// See plugin.h.
#include "runtime/loadbalance/plugin/plugin.h"

#include <cstdlib>
#include <cstring>
#include <memory>

#include "runtime/loadbalance/plugin/child.h"
#include "runtime/loadbalance/plugin/wire.h"

namespace periapt::loadbalance {

extern const char* const python_host;  // python_host.py

namespace {
constexpr double start_limit_s = 60;

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::vector<std::string> command_for(const std::string& file) {
  if (!ends_with(file, ".py")) return {host_program ? host_program : "/proc/self/exe", host_option, file};
  const char* const wanted = std::getenv("PERIAPT_PYTHON");
  return {wanted && *wanted ? wanted : "python3", "-c", python_host, file};
}

class Plugin {
 public:
  explicit Plugin(const std::string& file) : file_(file), child_(command_for(file)) {}

  // What it says of itself: flags, and a summary.
  Answer start() {
    child_.start();
    Answer said = child_.receive(start_limit_s);
    if (said.status != static_cast<std::uint32_t>(AnswerStatus::right)) {
      child_.end();
      throw PluginFailure(said.text());
    }
    flags_ = said.flags;
    return said;
  }
  // Before other processes are made of this one, which would hold its socket too.
  void end() { child_.end(); }

  Assignment solve(const LoadDatabase& database, double limit_s) try {
    if (!child_.runs()) start();
    child_.send(write_question(database, flags_ & flag_messages), limit_s);
    const Answer answer = child_.receive(limit_s);
    if (answer.status != static_cast<std::uint32_t>(AnswerStatus::right)) throw PluginFailure(answer.text());
    std::vector<std::int32_t> places(answer.data.size() / sizeof(std::int32_t));
    if (!places.empty()) std::memcpy(places.data(), answer.data.data(), places.size() * sizeof(std::int32_t));
    return {places.begin(), places.end()};
  } catch (const PluginFailure& failure) {
    throw PluginFailure("the plug-in " + file_ + " " + failure.what());
  }

 private:
  std::string file_;
  Child child_;
  std::uint32_t flags_ = 0;
};
}  // namespace

bool names_plugin(const std::string& name) { return ends_with(name, ".so") || ends_with(name, ".py"); }

const StrategyInfo* add_plugin(const std::string& file, Complaint* complaint) {
  const auto plugin = std::make_shared<Plugin>(file);
  try {
    const Answer said = plugin->start();
    plugin->end();
    StrategyInfo info{
        .name = keep_text(file),
        .classic = keep_text(file),
        .summary = keep_text(said.text()),
        .solve = [plugin](const LoadDatabase& database,
                          const StrategyOptions& options) { return plugin->solve(database, options["limit"]); },
        .options = {{"limit", 60, 0.01, 1e6, "seconds after which it is given up for a step"}}};
    info.communication = said.flags & flag_messages;
    return add_strategy(std::move(info));
  } catch (const PluginFailure& failure) {
    *complaint = {"the balancer " + file + " " + failure.what(), "",
                  "a name that ends in .so or .py is taken for a file that holds a balancer",
                  "docs/first-balancer.md shows one of each kind; lb-lab tries them without a program"};
    return nullptr;
  }
}

}  // namespace periapt::loadbalance
