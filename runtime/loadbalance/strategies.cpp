// The table of strategies, and how a person's choice of one is read.
#include <charconv>
#include <cmath>
#include <deque>
#include <exception>
#include <sstream>

#include "base/nearest.h"
#include "runtime/loadbalance/model.h"
#include "runtime/loadbalance/plugin/plugin.h"
#include "runtime/loadbalance/strategy.h"

namespace periapt::loadbalance {

#define STRATEGY(name) StrategyInfo name();
#include "runtime/loadbalance/strategies/list.inc"
#undef STRATEGY

const std::vector<StrategyInfo>& strategies() {
  static const std::vector<StrategyInfo> list = {
#define STRATEGY(name) name(),
#include "runtime/loadbalance/strategies/list.inc"
#undef STRATEGY
  };
  return list;
}

namespace {
std::deque<StrategyInfo>& added() {
  static std::deque<StrategyInfo> list;
  return list;
}
}  // namespace

const StrategyInfo* add_strategy(StrategyInfo info) { return &added().emplace_back(std::move(info)); }

const char* keep_text(const std::string& text) {
  static std::deque<std::string> kept;
  return kept.emplace_back(text).c_str();
}

const StrategyInfo* find_strategy(std::string_view name) {
  for (const StrategyInfo& s : added())  // first: a program's own balancer may have the name of one of ours
    if (name == s.name || name == s.classic) return &s;
  for (const StrategyInfo& s : strategies())
    if (name == s.name || name == s.classic) return &s;
  return nullptr;
}

StrategyOptions::StrategyOptions(const std::vector<StrategyOption>& options) {
  for (const StrategyOption& option : options) values_.emplace_back(option.name, option.standard);
}
double& StrategyOptions::operator[](std::string_view name) {
  for (auto& [known, value] : values_)
    if (known == name) return value;
  fatal("a balancing strategy asks for its option " + std::string(name) + ", which it does not have", "load balancing",
        "its StrategyInfo does not list the option", "add it to StrategyInfo::options of the strategy");
}
double StrategyOptions::operator[](std::string_view name) const { return const_cast<StrategyOptions&>(*this)[name]; }

std::string Strategy::answer(const LoadDatabase& database, Assignment* assignment) const {
  *assignment = present(database);
  if (std::string wrong = check_database(database); !wrong.empty()) return wrong;
  Assignment found;
  try {
    found = solve(database);
  } catch (const PluginFailure& failure) {
    return failure.what();
  } catch (const std::exception& e) {
    return std::string(info->name) + " has thrown an exception: " + e.what();
  }
  std::string wrong = check_assignment(database, found);
  if (wrong.empty()) *assignment = std::move(found);
  return wrong.empty() ? wrong : "what " + std::string(info->name) + " says cannot be carried out: " + wrong;
}

namespace {
constexpr const char* see_help = "+balancer help lists balancers and their options";

std::string number(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

Complaint no_such_strategy(const std::string& name) {
  std::vector<std::string_view> known;
  for (const StrategyInfo& s : strategies()) known.insert(known.end(), {s.name, s.classic});
  for (const StrategyInfo& s : added()) known.push_back(s.name);
  return {"there is no balancer called " + name, "", "did you mean " + nearest(name, known) + "?",
          "+balancer help lists them"};
}

Complaint no_such_option(const OptionOwner& owner, const std::string& name) {
  const std::string what = "the " + std::string(owner.kind) + " " + owner.title + " has no option " + name;
  if (owner.options.empty()) return {what, "", "it has no options", see_help};
  std::vector<std::string_view> known;
  for (const StrategyOption& option : owner.options) known.push_back(option.name);
  return {what, "", "did you mean " + nearest(name, known) + "?", see_help};
}

// One "name=value". False, and a complaint, when it is none.
bool read_option(const std::string& text, const OptionOwner& owner, StrategyOptions& values, Complaint* complaint) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const StrategyOption* option = nullptr;
  for (const StrategyOption& known : owner.options)
    if (name == known.name) option = &known;
  if (!option) {
    *complaint = no_such_option(owner, name);
    return false;
  }
  const std::string written = equals == std::string::npos ? "" : text.substr(equals + 1);
  const std::string of = "the option " + name + " of the " + owner.kind + " " + owner.title;
  double value = 0;
  const auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), value);
  if (error != std::errc() || end != written.data() + written.size() || !std::isfinite(value)) {
    *complaint = {of + " is given as '" + written + "', which is no number", "", option->meaning,
                  "write it as " + std::string(owner.example) + ":" + name + "=" + number(option->standard)};
    return false;
  }
  if (value < option->least || value > option->most) {
    *complaint = {of + " cannot be " + written, "", option->meaning,
                  "give it a value from " + number(option->least) + " to " + number(option->most)};
    return false;
  }
  values[name] = value;
  return true;
}
}  // namespace

bool read_options(const std::string& text, const OptionOwner& owner, StrategyOptions& values, Complaint* complaint) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return true;
  std::istringstream options(text.substr(colon + 1) + ",");
  for (std::string option; std::getline(options, option, ',');)
    if (!read_option(option, owner, values, complaint)) return false;
  return true;
}

std::optional<Strategy> read_strategy(const std::string& text, Complaint* complaint) {
  const std::string name = text.substr(0, text.find(':'));
  const StrategyInfo* info = find_strategy(name);
  if (!info && names_plugin(name)) {
    info = add_plugin(name, complaint);
    if (!info) return std::nullopt;
  }
  if (!info) {
    *complaint = no_such_strategy(name);
    return std::nullopt;
  }
  if (const std::string missing = info->missing ? info->missing() : ""; !missing.empty()) {
    *complaint = {"the balancer " + std::string(info->classic) + " cannot run here: " + missing, "",
                  "it uses a library that is not part of Periapt",
                  "install it (scripts/packages.txt has its packages), or take RecBipartLB, which needs none"};
    return std::nullopt;
  }
  Strategy strategy(*info);
  const OptionOwner owner{"balancer", info->classic, info->name, info->options};
  if (!read_options(text, owner, strategy.options, complaint)) return std::nullopt;
  return strategy;
}

}  // namespace periapt::loadbalance
