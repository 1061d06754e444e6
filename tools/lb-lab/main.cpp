// lb-lab: what balancing strategies would have done with recorded steps.
//
//   lb-lab FILE [STRATEGY[:option=value,...]...]
//
// FILE has a step in each line, as a program run with +LBRecord FILE writes it ("-": the standard input). Without names
// of strategies all are tried. Each step is taken as it was recorded: what a strategy did in one has no part in the
// next.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <optional>

#include "runtime/loadbalance/model.h"
#include "runtime/loadbalance/strategy.h"

using namespace periapt::loadbalance;

namespace {

[[noreturn]] void refuse(const periapt::Complaint& complaint) {
  std::fprintf(stderr, "lb-lab: %s\n", complaint.what.c_str());
  for (const std::string& more : {complaint.where, complaint.why, complaint.what_next})
    if (!more.empty()) std::fprintf(stderr, "        %s\n", more.c_str());
  std::exit(1);
}

struct Entrant {
  std::string name;  // as it was asked for
  Strategy strategy;
};

std::vector<Entrant> entrants(int count, char** names) {
  std::vector<Entrant> all;
  for (int i = 0; i < count; ++i) {
    periapt::Complaint complaint;
    const std::optional<Strategy> strategy = read_strategy(names[i], &complaint);
    if (!strategy) refuse(complaint);
    all.push_back({names[i], *strategy});
  }
  if (count == 0)
    for (const StrategyInfo& info : strategies()) all.push_back({info.name, Strategy(info)});
  return all;
}

void print_row(const LoadDatabase& database, const std::string& name, const Assignment& assignment, double ms) {
  const Balance balance = balance_of(database, assignment);
  const Crossing crossing = crossing_of(database, assignment);
  std::printf("  %-28s %10.4f %8.3f %8d %12llu %14llu %9.2f\n", name.c_str(), balance.max, balance.ratio(),
              balance.migrations, static_cast<unsigned long long>(crossing.messages),
              static_cast<unsigned long long>(crossing.bytes), ms);
}

void compare(const LoadDatabase& database, const std::vector<Entrant>& entrants) {
  std::printf("step %u: %zu objects on %zu PEs; no assignment has less than %.4f s on the fullest PE\n", database.step,
              database.objects.size(), database.pes.size(), lower_bound(database));
  std::printf("  %-28s %10s %8s %8s %12s %14s %9s\n", "", "max load s", "max/avg", "migrated", "messages", "bytes",
              "took ms");
  print_row(database, "(as it was)", present(database), 0);
  for (const Entrant& entrant : entrants) {
    const auto start = std::chrono::steady_clock::now();
    const Assignment assignment = entrant.strategy.solve(database);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    if (const std::string wrong = check_assignment(database, assignment); !wrong.empty())
      refuse({"the strategy " + entrant.name + " gave an assignment that cannot be carried out: " + wrong,
              "step " + std::to_string(database.step), "a mistake in the strategy", ""});
    print_row(database, entrant.name, assignment, took.count());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argv[1] == std::string("--help")) {
    std::printf(
        "usage: lb-lab FILE [STRATEGY[:option=value,...]...]\n"
        "FILE: written by a program that runs with +LBRecord FILE; - is the standard input.\n"
        "Compares strategies on each recorded step: messages and bytes are those between objects on different "
        "PEs.\n");
    return argc < 2;
  }
  const std::vector<Entrant> all = entrants(argc - 2, argv + 2);
  const std::string name = argv[1];
  std::ifstream file;
  if (name != "-") file.open(name);
  std::istream& in = name == "-" ? std::cin : file;
  if (!in) refuse({name + " cannot be read", "", "", "a program run with +LBRecord FILE writes such a file"});
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    LoadDatabase database;
    std::string error;
    ++number;
    if (!from_json(line, &database, &error))
      refuse({name + ":" + std::to_string(number) + ": no load database: " + error, "", "",
              "a program run with +LBRecord FILE writes one in each line"});
    compare(database, all);
  }
  if (number == 0) refuse({name + " holds no step", "", "the program came to no AtSync", ""});
}
