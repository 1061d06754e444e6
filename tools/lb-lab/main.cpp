// lb-lab: what balancing strategies make of load databases, recorded or made up. usage() says how it is called.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <optional>

#include "runtime/loadbalance/load_model.h"
#include "runtime/loadbalance/outcome.h"
#include "runtime/loadbalance/plugin/plugin.h"
#include "runtime/loadbalance/records.h"
#include "tools/lb-lab/lbaf.h"
#include "tools/lb-lab/memory.h"
#include "tools/lb-lab/optimum.h"
#include "tools/lb-lab/page.h"
#include "tools/lb-lab/plot.h"
#include "tools/lb-lab/problems.h"

using namespace periapt::lab;
using namespace periapt::loadbalance;

namespace {

[[noreturn]] void refuse(const periapt::Complaint& complaint) {
  std::fprintf(stderr, "lb-lab: %s\n", complaint.what.c_str());
  for (const std::string& more : {complaint.where, complaint.why, complaint.what_next})
    if (!more.empty()) std::fprintf(stderr, "        %s\n", more.c_str());
  std::exit(1);
}

void usage() {
  std::printf(
      "usage: lb-lab FILE [options] [STRATEGY[:option=value,...]...]\n"
      "       lb-lab --lbaf STEM ...           reads STEM.0.json, STEM.1.json ... as vt and LBAF write them\n"
      "       lb-lab --problem KIND[:option=value,...] ...\n"
      "FILE: written by a program that runs with +LBRecord FILE; - is the standard input. Without names of strategies\n"
      "all are tried; a file of yours with a balancer, ./mine.so or mine.py, is one too. Messages and bytes are those "
      "between objects on different PEs.\n\n"
      "  --follow          objects stay where a strategy has put them, and its next step begins there\n"
      "  --model MODEL     strategies see what the load model expects from the steps before, not what was measured\n"
      "  --json FILE, --csv FILE, --html FILE   the results; - is the standard output, without the table\n"
      "  --svg FILE, --png FILE   pictures of the same: the load of each PE before and after, and who moves where\n"
      "  --record FILE     the steps, as +LBRecord writes them; FILE.gz: compressed\n"
      "  --lbaf-out STEM   the steps as vt writes them, objects where the first strategy puts them\n\nProblems:\n");
  for (const ProblemKind& kind : problem_kinds()) {
    std::printf("  %-10s %s\n", kind.name, kind.summary);
    for (const StrategyOption& o : kind.options) std::printf("    :%s=%g  %s\n", o.name, o.standard, o.meaning);
  }
}

struct Arguments {
  std::string file, lbaf, problem, model, json, csv, html, svg, png, record, lbaf_out;
  bool follow = false;
  std::vector<std::string> strategies;
};

Arguments read_arguments(int argc, char** argv) {
  Arguments arguments;
  const std::vector<std::pair<std::string, std::string Arguments::*>> named = {
      {"--lbaf", &Arguments::lbaf},        {"--problem", &Arguments::problem}, {"--model", &Arguments::model},
      {"--json", &Arguments::json},        {"--csv", &Arguments::csv},         {"--html", &Arguments::html},
      {"--svg", &Arguments::svg},          {"--png", &Arguments::png},         {"--record", &Arguments::record},
      {"--lbaf-out", &Arguments::lbaf_out}};
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto option = std::find_if(named.begin(), named.end(), [&](const auto& o) { return o.first == word; });
    if (word == "--follow") {
      arguments.follow = true;
    } else if (option != named.end()) {
      if (++i == argc) refuse({word + " is the last word", "", "a value comes after it", "lb-lab --help"});
      arguments.*(option->second) = argv[i];
    } else if (word.size() > 2 && word.substr(0, 2) == "--") {
      refuse({"there is no option " + word, "", "", "lb-lab --help lists them"});
    } else {
      words.push_back(word);
    }
  }
  if (arguments.lbaf.empty() && arguments.problem.empty()) {
    if (words.empty()) refuse({"no load database is named", "", "", "lb-lab --help says how"});
    arguments.file = words.front();
    words.erase(words.begin());
  }
  arguments.strategies = words;
  return arguments;
}

struct Entrant {
  std::string name;  // as it was asked for
  Strategy strategy;
  std::optional<LoadHistory> history;
  std::unordered_map<ElementName, int> places;  // with --follow: where it has put objects
};

std::vector<Entrant> entrants(const Arguments& arguments) {
  std::vector<Entrant> all;
  periapt::Complaint complaint;
  for (const std::string& name : arguments.strategies) {
    const std::optional<Strategy> strategy = read_strategy(name, &complaint);
    if (!strategy) refuse(complaint);
    all.push_back({name, *strategy, {}, {}});
  }
  if (all.empty())
    for (const StrategyInfo& info : strategies())
      if (!info.missing || info.missing().empty()) all.push_back({info.name, Strategy(info), {}, {}});
  if (arguments.model.empty()) return all;
  const std::optional<LoadModel> model = read_load_model(arguments.model, &complaint);
  if (!model) refuse(complaint);
  for (Entrant& entrant : all) entrant.history.emplace(*model);
  return all;
}

// The steps, one after the other: a problem of ten million objects is there once only.
class Steps {
 public:
  explicit Steps(const Arguments& arguments) {
    periapt::Complaint complaint;
    if (!arguments.problem.empty()) {
      problem_ = read_problem(arguments.problem, &complaint);
      if (!problem_) refuse(complaint);
    } else if (!arguments.lbaf.empty()) {
      if (!read_lbaf(arguments.lbaf, &all_, &complaint)) refuse(complaint);
    } else if (!read_records(arguments.file, &all_, &complaint)) {
      refuse(complaint);
    }
  }
  bool next(LoadDatabase* database) {
    if (number_ == (problem_ ? steps_of(*problem_) : all_.size())) return false;
    *database = problem_ ? make_step(*problem_, static_cast<unsigned>(number_)) : std::move(all_[number_]);
    ++number_;
    return true;
  }

 private:
  std::optional<Problem> problem_;
  std::vector<LoadDatabase> all_;
  std::size_t number_ = 0;
};

class Lab {
 public:
  explicit Lab(const Arguments& arguments) : arguments_(arguments), entrants_(entrants(arguments)) {
    for (const std::string* name : {&arguments.json, &arguments.csv, &arguments.html, &arguments.svg, &arguments.png})
      quiet_ |= *name == "-";
  }

  void step(const LoadDatabase& database) {
    StepOutcomes outcomes{database.step,         database.objects.size(), database.pes.size(),
                          lower_bound(database), optimum(database),       {}};
    outcomes.rows.push_back(outcome_of(database, present(database), outcomes.bound, outcomes.optimum));
    outcomes.rows.back().strategy = "(as it was)";
    for (std::size_t k = 0; k < entrants_.size(); ++k) {
      const Assignment assignment = try_one(entrants_[k], database, outcomes);
      if (k == 0 && !arguments_.lbaf_out.empty()) placed_.push_back(assignment);
    }
    if (!arguments_.record.empty()) keep_record(database);
    if (!arguments_.lbaf_out.empty()) kept_.push_back(database);
    if (!quiet_) print_table(std::cout, outcomes);
    all_.push_back(std::move(outcomes));
  }

  void finish() {
    write(arguments_.json, [&](std::ostream& out) { print_json(out, all_); });
    write(arguments_.csv, [&](std::ostream& out) { print_csv(out, all_); });
    write(arguments_.html, [&](std::ostream& out) {
      Page page;
      for (const View& view : views_) page.add(view);
      page.write(out);
    });
    write(arguments_.svg, [&](std::ostream& out) { write_svg(out, views_); });
    write(arguments_.png, [&](std::ostream& out) { write_png(out, views_); });
    periapt::Complaint complaint;
    if (!arguments_.lbaf_out.empty() && !write_lbaf(arguments_.lbaf_out, kept_, placed_, &complaint)) refuse(complaint);
  }

 private:
  Assignment try_one(Entrant& entrant, const LoadDatabase& measured, StepOutcomes& outcomes) {
    LoadDatabase own;  // where it differs from what was measured
    const bool follows = arguments_.follow && !entrant.places.empty();
    if (follows || entrant.history) own = measured;
    if (follows) follow(entrant, own);
    const LoadDatabase& start = follows ? own : measured;
    std::optional<LoadDatabase> expected;
    if (entrant.history) expected = entrant.history->expected(start);
    const LoadDatabase& seen = expected ? *expected : start;

    Assignment assignment;
    const std::uint64_t before = begin_peak();
    const std::clock_t begin = std::clock();  // processor time: other programs on the machine don't count
    const std::string wrong = entrant.strategy.answer(seen, &assignment);
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    const std::uint64_t peak = peak_bytes();
    if (!wrong.empty())
      refuse({entrant.name + " cannot be tried: " + wrong, "step " + std::to_string(measured.step), "", ""});
    Outcome outcome = outcome_of(start, assignment, outcomes.bound, outcomes.optimum);
    outcome.strategy = entrant.name;
    outcome.seconds = seconds;
    outcome.memory_bytes = peak > before ? peak - before : 0;
    outcomes.rows.push_back(std::move(outcome));
    if (entrant.history) entrant.history->add(start);
    if (shows_views()) views_.push_back(view_of(start, entrant.name, assignment));
    if (arguments_.follow)
      for (std::size_t i = 0; i < assignment.size(); ++i)
        entrant.places[{measured.objects[i].array, measured.objects[i].element}] = assignment[i];
    return assignment;
  }

  // What was measured on one PE takes as long on another of another speed as it does there.
  static void follow(const Entrant& entrant, LoadDatabase& database) {
    for (ObjectLoad& object : database.objects) {
      const auto place = entrant.places.find({object.array, object.element});
      if (place == entrant.places.end() || place->second >= static_cast<int>(database.pes.size())) continue;
      object.seconds = seconds_on(database, object, place->second);
      object.pe = place->second;
    }
  }

  bool shows_views() const { return !(arguments_.html.empty() && arguments_.svg.empty() && arguments_.png.empty()); }

  void keep_record(const LoadDatabase& database) {
    if (const std::string why = write_record(arguments_.record, database, all_.empty()); !why.empty())
      refuse({arguments_.record + " cannot be written: " + why, "", "", "name another file"});
  }

  template <class Print>
  void write(const std::string& name, Print print) {
    if (name.empty()) return;
    if (name == "-") return print(std::cout);
    std::ofstream file(name);
    print(file);
    if (!file.flush()) refuse({name + " cannot be written", "", "", "name another file"});
  }

  const Arguments& arguments_;
  std::vector<Entrant> entrants_;
  std::vector<StepOutcomes> all_;
  std::vector<View> views_;         // with --html, --svg or --png
  std::vector<LoadDatabase> kept_;  // with --lbaf-out
  std::vector<Assignment> placed_;
  bool quiet_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && argv[1] == std::string(host_option)) run_plugin_host(argv[2]);
  if (argc < 2 || argv[1] == std::string("--help")) {
    usage();
    return argc < 2;
  }
  const Arguments arguments = read_arguments(argc, argv);
  Steps steps(arguments);
  Lab lab(arguments);
  LoadDatabase database;
  int number = 0;
  for (; steps.next(&database); ++number) lab.step(database);
  lab.finish();
  if (number == 0) refuse({arguments.file + " holds no step", "", "the program came to no AtSync", ""});
}
