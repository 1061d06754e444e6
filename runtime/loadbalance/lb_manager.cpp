// The calls of programs that are about load balancing. See lb_manager.h, and balancer.h for what they do.
#include "runtime/loadbalance/lb_manager.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "base/clock.h"
#include "base/fatal.h"
#include "runtime/array/array_manager.h"
#include "runtime/face/startup.h"
#include "runtime/loadbalance/balancer.h"
#include "runtime/loadbalance/load_model.h"
#include "runtime/loadbalance/options.h"

namespace {

int measure_speed() {
  constexpr std::uint64_t measured_ns = 10'000'000;
  constexpr int steps = 1000;
  const std::uint64_t begin = periapt::clock::now_ns();
  std::uint64_t now = begin;
  std::uint64_t done = 0;
  volatile double kept = 0;  // or the compiler would leave the loop out
  do {
    double x = kept;
    for (int i = 0; i < steps; ++i) x = x * 0.999 + 1.0;
    kept = x;
    done += steps;
    now = periapt::clock::now_ns();
  } while (now - begin < measured_ns);
  return std::max<int>(1, static_cast<int>(done * 1000 / (now - begin)));
}

}  // namespace

int LBManager::ProcessorSpeed() {
  static const int speed = measure_speed();
  return speed;
}

void LBRegisterLoadModel(const char* name, const char* summary, double (*predict)(const float* past, int intervals),
                         int depth) {
  if (predict == nullptr || depth < 1)
    periapt::fatal("the load model " + std::string(name) + " has no function, or looks back less than one interval",
                   "LBRegisterLoadModel()");
  static std::deque<std::string> texts;  // of programs that make theirs at run time
  const char* const kept_name = texts.emplace_back(name).c_str();
  const char* const kept_summary = texts.emplace_back(summary).c_str();
  periapt::loadbalance::add_load_model(
      {.name = kept_name,
       .summary = kept_summary,
       .predict =
           [predict](std::span<const float> past, const periapt::loadbalance::StrategyOptions&) {
             return predict(past.data(), static_cast<int>(past.size()));
           },
       .depth = static_cast<std::size_t>(depth)});
}

using periapt::Pe;
using periapt::loadbalance::Balancer;

void LBTurnInstrumentOn() { Balancer::of(*Pe::current()).turn_instrument(true); }
void LBTurnInstrumentOff() { Balancer::of(*Pe::current()).turn_instrument(false); }
void LBTurnPredictorOn(LBPredictorFunction* model, int window) {
  Balancer::of(*Pe::current()).set_predictor(model, std::max(window, 2));
}
void LBTurnPredictorOn(LBPredictorFunction* model) {
  LBTurnPredictorOn(model, periapt::loadbalance::options().predictor_window);
}
void LBTurnPredictorOff() { Balancer::of(*Pe::current()).set_predictor(nullptr, 0); }
void LBChangePredictor(LBPredictorFunction* model) { Balancer::of(*Pe::current()).change_predictor(model); }
void LBTurnCommOn() { Balancer::of(*Pe::current()).turn_communication(true); }
void LBTurnCommOff() { Balancer::of(*Pe::current()).turn_communication(false); }
void LBManager::SetLBPeriod(double seconds) {
  const Pe* const pe = Pe::current();
  if (pe && pe->objects && pe->objects->balance) return Balancer::of(*pe).set_period(seconds);
  periapt::loadbalance::set_first_period(seconds);
}
double LBManager::GetLBPeriod() { return Balancer::of(*Pe::current()).period(); }
void LBManager::StartLB() { Balancer::of(*Pe::current()).start_step(); }
void LBManager::TurnManualLBOn() { Balancer::of(*Pe::current()).take_all(); }
void LBManager::configureTreeLB(const char* json) { Balancer::of(*Pe::current()).configure_tree(json); }
int LBManager::AddStartLBFn(std::function<void()> fn) {
  return Balancer::of(*Pe::current()).at_begin.add(std::move(fn));
}
void LBManager::TurnOnStartLBFn(int handle) { Balancer::of(*Pe::current()).at_begin.turn(handle, true); }
void LBManager::TurnOffStartLBFn(int handle) { Balancer::of(*Pe::current()).at_begin.turn(handle, false); }
void LBManager::RemoveStartLBFn(int handle) { Balancer::of(*Pe::current()).at_begin.remove(handle); }
int LBManager::AddMigrationDoneFn(std::function<void()> fn) {
  return Balancer::of(*Pe::current()).at_end.add(std::move(fn));
}
void LBManager::RemoveMigrationDoneFn(int handle) { Balancer::of(*Pe::current()).at_end.remove(handle); }
void LBClearLoads() { Balancer::of(*Pe::current()).clear_loads(); }
namespace {
// What one of its bases (further_bases.cpp) says, the element does. Null: it takes no part.
ArrayElement* taking_part(const Balancer& balancer, ArrayElement& base) {
  ArrayElement* const element = base.ckGetArrayManager()->manager().element_of(&base);
  return balancer.takes_part(*element) || balancer.takes_part(base) ? element : nullptr;
}
}  // namespace
void ArrayElement::setObjPosition(double x, double y, double z) {
  Balancer& balancer = Balancer::of(*Pe::current());
  ArrayElement* const element = taking_part(balancer, *this);
  if (!element) return;
  balancer.set_position(*element, {static_cast<float>(x), static_cast<float>(y), static_cast<float>(z)});
}
void ArrayElement::setObjPhases(const double* seconds, int phases) {
  using periapt::loadbalance::PhaseParts;
  PhaseParts parts;
  if (phases < 1 || phases > PhaseParts::most)
    periapt::fatal("setObjPhases() is called with " + std::to_string(phases) + " phases",
                   describe_running(*Pe::current()),
                   "a balancer tells 1 to " + std::to_string(PhaseParts::most) + " phases apart",
                   "add up those that matter least");
  const double all = std::accumulate(seconds, seconds + phases, 0.0);
  for (int k = 0; k < phases && all > 0; ++k) parts.part[k] = static_cast<float>(seconds[k] / all);
  Balancer& balancer = Balancer::of(*Pe::current());
  ArrayElement* const element = taking_part(balancer, *this);
  if (!element) return;
  balancer.set_phases(*element, parts);
  setObjTime(all);
}
void* ArrayElement::getObjUserData(int index) {
  Balancer& balancer = Balancer::of(*Pe::current());
  const auto bytes = static_cast<std::size_t>(balancer.claim_user_data(0));
  if (index < 0 || static_cast<std::size_t>(index) >= bytes)
    periapt::fatal("getObjUserData(" + std::to_string(index) + ") is called, and there is no such user data",
                   describe_running(*Pe::current()),
                   "elements have " + std::to_string(bytes) + " bytes of it, as balancers have asked for",
                   "give it what LBRegisterObjUserData() has returned on this PE");
  if (ArrayElement* const element = taking_part(balancer, *this)) return balancer.user_data(*element) + index;
  // One that takes no part: nothing reads what it says.
  static thread_local std::vector<char> unread;
  unread.resize(bytes);
  return unread.data() + index;
}
void LBDefaultCreate(const char* name) { periapt::loadbalance::add_default_strategy(name); }
