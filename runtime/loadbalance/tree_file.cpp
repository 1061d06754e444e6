// See tree_file.h.
#include "runtime/loadbalance/tree_file.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/nearest.h"
#include "runtime/loadbalance/model.h"

namespace periapt::loadbalance {

using nlohmann::json;

namespace {
enum class TreeLevelKind { process, group, root };

struct Level {
  TreeLevelKind part;
  std::uint32_t every = 1;
  std::vector<Strategy> strategies;
  bool repeat = false;
  const Strategy& at(std::uint32_t run) const {
    const auto count = static_cast<std::uint32_t>(strategies.size());
    return strategies[repeat ? run % count : std::min(run, count - 1)];
  }
};

// --- deciding --------------------------------------------------------------------------------------------------------

struct Plan {
  std::vector<Level> levels;  // from below
  int groups = 1;             // of processes
  std::uint32_t since = 1;    // the first step that it decides

  const Level& deciding(std::uint32_t step) const {
    const auto found =
        std::find_if(levels.rbegin(), levels.rend(), [&](const Level& level) { return step % level.every == 0; });
    return *found;  // the lowest decides at every step
  }

  Assignment solve(const LoadDatabase& database) const {
    const std::uint32_t step = std::max(database.step, 1u);
    const Level& level = deciding(step);
    std::uint32_t runs = 0;
    for (std::uint32_t before = since; before < step; ++before) runs += &deciding(before) == &level;
    const Strategy& strategy = level.at(runs);
    const std::vector<int> parts = parts_of(database, level.part);
    Assignment assignment = present(database);
    const int count = parts.empty() ? 0 : 1 + *std::max_element(parts.begin(), parts.end());
    for (int part = 0; part < count; ++part) solve_part(database, parts, part, strategy, assignment);
    return assignment;
  }

  // By PE, the part that it is in.
  std::vector<int> parts_of(const LoadDatabase& database, TreeLevelKind part) const {
    int processes = 1;
    for (const PeLoad& pe : database.pes) processes = std::max(processes, pe.process + 1);
    const int size = (processes + groups - 1) / groups;
    std::vector<int> parts;
    for (const PeLoad& pe : database.pes)
      parts.push_back(part == TreeLevelKind::root      ? 0
                      : part == TreeLevelKind::process ? pe.process
                                                       : pe.process / size);
    return parts;
  }

  static void solve_part(const LoadDatabase& database, const std::vector<int>& parts, int part,
                         const Strategy& strategy, Assignment& assignment) {
    LoadDatabase own;
    own.step = database.step;
    own.clock = database.clock;
    std::vector<int> pes, place(parts.size());
    for (std::size_t pe = 0; pe < parts.size(); ++pe) {
      if (parts[pe] != part) continue;
      place[pe] = static_cast<int>(pes.size());
      pes.push_back(static_cast<int>(pe));
      own.pes.push_back(database.pes[pe]);
    }
    std::vector<std::size_t> objects;
    for (std::size_t i = 0; i < database.objects.size(); ++i) {
      if (parts[database.objects[i].pe] != part) continue;
      objects.push_back(i);
      own.objects.push_back(database.objects[i]);
      own.objects.back().pe = place[own.objects.back().pe];
      if (!database.positions.empty()) own.positions.push_back(database.positions[i]);
      if (!database.phases.empty()) own.phases.push_back(database.phases[i]);
    }
    if (objects.size() == database.objects.size()) {
      for (Communication c : database.communication) {
        if (c.to_pe >= 0 && (!database.is_to_member(c) || parts[static_cast<std::size_t>(c.to_pe)] != part)) continue;
        if (c.to_pe >= 0) c.to_pe = place[static_cast<std::size_t>(c.to_pe)];
        own.communication.push_back(c);
      }
    }
    const Assignment to = strategy.solve(own);
    for (std::size_t k = 0; k < objects.size(); ++k) assignment[objects[k]] = pes[to[k]];
  }
};

// --- reading ---------------------------------------------------------------------------------------------------------

struct Refused {
  Complaint complaint;
};

class TreeReader {
 public:
  explicit TreeReader(const std::string& file) : file_(file) {}

  Plan read(const json& all) const {
    if (!all.is_object()) refuse("is no object of JSON", "it begins with { and ends with }");
    know(all, "the file", {"tree", "root", "processgroup", "process", "mcast_bfactor"});
    const std::string tree = text(all, "tree", "the file");
    const std::vector<std::string_view> trees = {"PE_Root", "PE_Process_Root", "PE_Process_ProcessGroup_Root"};
    const auto kind = std::find(trees.begin(), trees.end(), tree);
    if (kind == trees.end()) refuse("has no tree called " + tree, "did you mean " + nearest(tree, trees) + "?");
    const auto depth = kind - trees.begin();
    Plan plan;
    if (depth >= 1) plan.levels.push_back(level(all, "process", TreeLevelKind::process, true));
    if (depth == 2) {
      plan.levels.push_back(level(all, "processgroup", TreeLevelKind::group, false));
      plan.groups = static_cast<int>(whole(all["processgroup"], "num_groups", "processgroup", 0));
      if (plan.groups < 1) refuse("says no num_groups in processgroup", "how many groups of processes there are");
    }
    const bool tokens = depth == 2;
    if (!tokens || flag(block(all, "root"), "token_passing", "root", true))
      plan.levels.push_back(level(all, "root", TreeLevelKind::root, depth == 0));
    check_frequencies(plan);
    return plan;
  }

 private:
  [[noreturn]] void refuse(const std::string& what, const std::string& why) const {
    throw Refused{{file_ + " " + what, "", why, "docs/load-balancing.md has the keys of this file"}};
  }
  // A key that nothing reads is a mistake of a person.
  void know(const json& object, const std::string& where, std::vector<std::string_view> keys) const {
    for (const auto& [key, value] : object.items()) {
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
      refuse("has an unknown key in " + where + ": " + key, "did you mean " + nearest(key, keys) + "?");
    }
  }
  const json& block(const json& all, const std::string& name) const {
    const auto found = all.find(name);
    if (found == all.end()) refuse("has no " + name, "this tree has that level: \"" + name + "\": {...}");
    if (!found->is_object()) refuse("has a " + name + " that is no object", "\"" + name + "\": {...}");
    return *found;
  }
  std::string text(const json& object, const std::string& key, const std::string& where) const {
    const auto found = object.find(key);
    if (found == object.end()) refuse("says no " + key + " in " + where, "a text is expected");
    if (!found->is_string()) refuse("has a " + key + " in " + where + " that is no text", "it stands in quotes");
    return *found;
  }
  bool flag(const json& object, const std::string& key, const std::string& where, bool otherwise) const {
    const auto found = object.find(key);
    if (found == object.end()) return otherwise;
    if (!found->is_boolean()) refuse("has a " + key + " in " + where + " that is not true or false", "without quotes");
    return *found;
  }
  std::uint32_t whole(const json& object, const std::string& key, const std::string& where, std::uint32_t least) const {
    const auto found = object.find(key);
    if (found == object.end()) return least;
    if (!found->is_number_integer() || *found < 1 || *found > 1'000'000)
      refuse("has a " + key + " in " + where + " that is no whole number from 1 on", "without quotes");
    return *found;
  }

  Level level(const json& all, const std::string& name, TreeLevelKind part, bool lowest) const {
    const json& from = block(all, name);
    Level result{.part = part, .strategies = {}};
    std::vector<std::string_view> keys = {"strategies", "repeat_strategies", "step_freq"};
    if (part == TreeLevelKind::root) keys.insert(keys.end(), {"pe", "token_passing"});
    if (part == TreeLevelKind::group) keys.push_back("num_groups");
    std::vector<std::string> names = names_of(from, name);
    // At the root of four levels nothing is chosen: groups are balanced as a whole, then PEs within each.
    if (names.empty() && part == TreeLevelKind::root && all.contains("processgroup")) names = {"Tree"};
    if (names.empty()) {
      know(from, name, keys);
      refuse("names no strategies in " + name, "\"strategies\": [\"GreedyRefine\"]");
    }
    for (const std::string& strategy : names) {
      keys.push_back(keep_text(strategy));
      result.strategies.push_back(strategy_of(strategy, from, name));
    }
    know(from, name, keys);
    if (lowest && from.contains("step_freq"))
      refuse("has a step_freq in " + name, "the lowest level decides at every step that no other one decides");
    result.every = whole(from, "step_freq", name, 1);
    result.repeat = flag(from, "repeat_strategies", name, false);
    return result;
  }
  std::vector<std::string> names_of(const json& from, const std::string& level) const {
    std::vector<std::string> names;
    const auto found = from.find("strategies");
    if (found == from.end()) return names;
    if (!found->is_array()) refuse("has strategies in " + level + " that are no list", "\"strategies\": [\"Greedy\"]");
    for (const json& name : *found) {
      if (!name.is_string()) refuse("has a strategy in " + level + " that is no text", "it stands in quotes");
      names.push_back(name);
    }
    return names;
  }
  Strategy strategy_of(const std::string& name, const json& from, const std::string& level) const {
    // Charm++ has two of the name.
    std::string wanted = name == "RefineA" || name == "RefineB" ? "Refine" : name;
    char before = ':';
    if (const auto options = from.find(name); options != from.end()) {
      if (!options->is_object())
        refuse("has a " + name + " in " + level + " that is no object", "options stand in { }");
      for (const auto& [key, value] : options->items()) {
        wanted += before + key + "=" + (value.is_string() ? value.get<std::string>() : value.dump());
        before = ',';
      }
    }
    Complaint complaint;
    std::optional<Strategy> strategy = read_strategy(wanted, &complaint);
    if (!strategy) refuse("names in " + level + " what cannot be: " + complaint.what, complaint.why);
    return *strategy;
  }
  void check_frequencies(Plan& plan) const {
    for (std::size_t i = 1; i < plan.levels.size(); ++i) {
      Level& level = plan.levels[i];
      const std::uint32_t below = plan.levels[i - 1].every;
      if (level.every == 1) level.every = below;
      if (level.every % below != 0)
        refuse("has a step_freq of " + std::to_string(level.every) + " above one of " + std::to_string(below),
               "a level's is a multiple of that below it");
    }
  }

  const std::string& file_;
};
}  // namespace

std::optional<StrategyInfo> read_tree(const std::string& text, const std::string& file, Complaint* complaint,
                                      std::uint32_t since) {
  try {
    const json all = json::parse(text);
    Plan read = TreeReader(file).read(all);
    read.since = since;
    const auto plan = std::make_shared<const Plan>(std::move(read));
    StrategyInfo info{
        .name = keep_text("Tree of " + file),
        .classic = "TreeLB",
        .summary = keep_text("as " + file + " says"),
        .solve = [plan](const LoadDatabase& database, const StrategyOptions&) { return plan->solve(database); }};
    for (const Level& level : plan->levels)
      for (const Strategy& strategy : level.strategies) info.communication |= strategy.info->communication;
    return info;
  } catch (const Refused& refused) {
    *complaint = refused.complaint;
  } catch (const json::exception& e) {
    *complaint = {file + " is no JSON", "", e.what(), "docs/load-balancing.md has an example of this file"};
  }
  return std::nullopt;
}

void take_tree_file(const char* file) {
  const std::string name = file ? file : "treelb.json";
  std::ifstream in(name);
  if (!in && !file) return;
  Complaint complaint;
  if (!in) {
    fatal(name + " cannot be read", "+TreeLBFile", "", "name a file that is there");
  }
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  std::optional<StrategyInfo> info = read_tree(text, name, &complaint);
  if (!info) {
    complaint.where = file ? "+TreeLBFile" : "+balancer TreeLB, which reads treelb.json of the current folder";
    fatal(complaint);
  }
  add_strategy(std::move(*info));
}

}  // namespace periapt::loadbalance
