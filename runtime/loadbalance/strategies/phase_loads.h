// What PEs have in each phase, for strategies that keep each of them even: loads by phase of what has its place. Where
// objects say nothing of phases there is one.
#pragma once
#include <array>

#include "runtime/loadbalance/strategies/problem.h"

namespace periapt::loadbalance {

class PhaseLoads {
 public:
  // What cannot move has its place, and what PEs do besides is spread over the phases as the work of the objects is.
  explicit PhaseLoads(const Problem& problem) : database_(&problem.database) {
    double speed = 0;
    for (const int pe : problem.available) speed += database_->pes[static_cast<std::size_t>(pe)].speed;
    std::array<double, PhaseParts::most> all{};
    for (std::size_t i = 0; i < database_->objects.size(); ++i)
      for (int k = 0; k < PhaseParts::most; ++k) all[static_cast<std::size_t>(k)] += work(i, k);
    double total = 0;
    for (int k = 0; k < PhaseParts::most; ++k) {
      if (all[static_cast<std::size_t>(k)] <= 0 && k > 0) continue;
      phases_.push_back(k);
      total += all[static_cast<std::size_t>(k)];
    }
    loads_.resize(database_->pes.size() * phases_.size());
    for (std::size_t k = 0; k < phases_.size(); ++k) {
      const double work = all[static_cast<std::size_t>(phases_[k])];
      const double share = total > 0 ? work / total : static_cast<double>(k == 0);
      double busy = work;
      for (std::size_t pe = 0; pe < database_->pes.size(); ++pe) {
        load(static_cast<int>(pe), k) = share * database_->pes[pe].background;
        if (database_->pes[pe].available) busy += share * database_->pes[pe].background * database_->pes[pe].speed;
      }
      average_.push_back(speed > 0 && busy > 0 ? busy / speed : 1);
    }
    for (std::size_t i = 0; i < database_->objects.size(); ++i)
      if (!database_->objects[i].migratable || problem.available.empty()) put(i, database_->objects[i].pe);
  }

  // Those in which anything is done are numbered from 0 on.
  std::size_t phases() const { return phases_.size(); }
  // Seconds of an object on a PE of speed 1.
  double of(std::size_t object, std::size_t k) const { return work(object, phases_[k]); }
  // On available PEs, if all could be spread at will.
  double average(std::size_t k) const { return average_[k]; }
  double& load(int pe, std::size_t k) { return loads_[static_cast<std::size_t>(pe) * phases_.size() + k]; }
  double load(int pe, std::size_t k) const { return loads_[static_cast<std::size_t>(pe) * phases_.size() + k]; }
  double speed(int pe) const { return database_->pes[static_cast<std::size_t>(pe)].speed; }
  void put(std::size_t object, int pe) {
    for (std::size_t k = 0; k < phases_.size(); ++k) load(pe, k) += of(object, k) / speed(pe);
  }
  // The phase in which an object is the largest part of a PE's share.
  std::size_t main_phase(std::size_t object) const {
    std::size_t most = 0;
    for (std::size_t k = 1; k < phases_.size(); ++k)
      if (of(object, k) / average_[k] > of(object, most) / average_[most]) most = k;
    return most;
  }

 private:
  double work(std::size_t i, int phase) const {
    return database_->seconds_in(phase, i) * database_->pes[static_cast<std::size_t>(database_->objects[i].pe)].speed;
  }

  const LoadDatabase* database_;
  std::vector<int> phases_;
  std::vector<double> average_, loads_;  // loads: by PE, then by phase
};

}  // namespace periapt::loadbalance
