// The calls of programs that are about load balancing, but for those that ask for the load data base, which are in
// classic/statistics.cpp. See lb_manager.h, and balancer.h for what they do.
#include "runtime/loadbalance/lb_manager.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "base/clock.h"
#include "base/fatal.h"
#include "runtime/array/array_manager.h"
#include "runtime/face/startup.h"
#include "runtime/loadbalance/available_pes.h"
#include "runtime/loadbalance/balancer.h"
#include "runtime/loadbalance/load_model.h"
#include "runtime/loadbalance/options.h"
#include "runtime/scheduler/process.h"

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
using periapt::Process;
using periapt::TimeSpent;
using periapt::loadbalance::available_pes;
using periapt::loadbalance::Balancer;
using periapt::loadbalance::load_of;

namespace {
Balancer& this_balancer() { return Balancer::of(*Pe::current()); }
}  // namespace

// --- when and how it is balanced -------------------------------------------------------------------------------------

void LBTurnInstrumentOn() { this_balancer().turn_instrument(true); }
void LBTurnInstrumentOff() { this_balancer().turn_instrument(false); }
void LBTurnPredictorOn(LBPredictorFunction* model, int window) {
  this_balancer().set_predictor(model, std::max(window, 2));
}
void LBTurnPredictorOn(LBPredictorFunction* model) {
  LBTurnPredictorOn(model, periapt::loadbalance::options().predictor_window);
}
void LBTurnPredictorOff() { this_balancer().set_predictor(nullptr, 0); }
void LBChangePredictor(LBPredictorFunction* model) { this_balancer().change_predictor(model); }
void LBTurnCommOn() { this_balancer().turn_communication(true); }
void LBTurnCommOff() { this_balancer().turn_communication(false); }
void LBManager::SetLBPeriod(double seconds) {
  const Pe* const pe = Pe::current();
  if (pe && pe->objects && pe->objects->balance) return Balancer::of(*pe).set_period(seconds);
  periapt::loadbalance::set_first_period(seconds);
}
double LBManager::GetLBPeriod() { return this_balancer().period(); }
void LBManager::StartLB() { this_balancer().start_step(); }
void LBManager::TurnManualLBOn() { this_balancer().take_all(); }
void LBManager::configureTreeLB(const char* json) { this_balancer().configure_tree(json); }
int LBManager::AddStartLBFn(std::function<void()> fn) { return this_balancer().at_begin.add(std::move(fn)); }
void LBManager::TurnOnStartLBFn(int handle) { this_balancer().at_begin.turn(handle, true); }
void LBManager::TurnOffStartLBFn(int handle) { this_balancer().at_begin.turn(handle, false); }
void LBManager::RemoveStartLBFn(int handle) { this_balancer().at_begin.remove(handle); }
int LBManager::AddMigrationDoneFn(std::function<void()> fn) { return this_balancer().at_end.add(std::move(fn)); }
void LBManager::RemoveMigrationDoneFn(int handle) { this_balancer().at_end.remove(handle); }
void LBClearLoads() { this_balancer().clear_loads(); }
void LBDefaultCreate(const char* name) { periapt::loadbalance::add_default_strategy(name); }

// The PE that balances stays the same one, which +LBCentPE names before the run.
void LBManager::set_avail_vector(const char* available, int) {
  available_pes().set(available, Process::current()->pes());
}
const char* LBManager::availVector() const {
  static thread_local std::vector<char> all;
  get_avail_vector(all);
  return all.data();
}
void LBManager::get_avail_vector(char* available) const {
  for (int pe = 0; pe < Process::current()->pes(); ++pe) available[pe] = available_pes().may_get(pe);
}
void LBManager::get_avail_vector(std::vector<char>& available) const {
  available.resize(static_cast<std::size_t>(Process::current()->pes()));
  get_avail_vector(available.data());
}

// --- what elements say of themselves ---------------------------------------------------------------------------------

namespace {
// What one of its bases (further_bases.cpp) says, the element does. Null: it takes no part.
ArrayElement* taking_part(const Balancer& balancer, ArrayElement& base) {
  ArrayElement* const element = base.ckGetArrayManager()->manager().element_of(&base);
  return balancer.takes_part(*element) || balancer.takes_part(base) ? element : nullptr;
}
}  // namespace
void ArrayElement::setObjPosition(double x, double y, double z) {
  Balancer& balancer = this_balancer();
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
  Balancer& balancer = this_balancer();
  ArrayElement* const element = taking_part(balancer, *this);
  if (!element) return;
  balancer.set_phases(*element, parts);
  setObjTime(all);
}
void* ArrayElement::getObjUserData(int index) {
  Balancer& balancer = this_balancer();
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

// --- objects of the program's own ------------------------------------------------------------------------------------

LDOMHandle LBManager::RegisterOM(LDOMid id, void*, LDCallbacks calls) {
  return this_balancer().own_objects().add_manager(id, calls);
}
void LBManager::UnregisterOM(LDOMHandle manager) { this_balancer().own_objects().remove_manager(manager); }
LDObjHandle LBManager::RegisterObj(LDOMHandle manager, CmiUInt8 id, void* user, int migratable) {
  return this_balancer().add_own(manager, id, user, migratable != 0);
}
void LBManager::UnregisterObj(LDObjHandle object) { this_balancer().remove_own(object); }
int LBManager::Migrate(LDObjHandle object, int to) {
  return this_balancer().own_objects().move(periapt::loadbalance::ObjectManagers::array_of(object.omhandle), object.id,
                                            to);
}
void LBManager::Migrated(LDObjHandle object, int wait_barrier) {
  this_balancer().own_arrived(object, wait_barrier != 0);
}
void LBManager::ObjectStart(const LDObjHandle& object) { this_balancer().own_objects().start(object); }
void LBManager::ObjectStop(const LDObjHandle& object) { this_balancer().own_objects().stop(object); }
void LBManager::ObjTime(LDObjHandle object, double wall, double processor) {
  TimeSpent sum = this_balancer().own_objects().spent(object);
  this_balancer().own_objects().set_spent(object, sum += TimeSpent{wall, processor});
}
void LBManager::EstObjLoad(const LDObjHandle& object, double seconds) {
  this_balancer().own_objects().set_spent(object, {seconds, seconds, seconds});
}
void LBManager::GetObjLoad(LDObjHandle& object, LBRealType& wall, LBRealType& processor) {
  const TimeSpent spent = this_balancer().own_objects().spent(object);
  wall = spent.wall;
  processor = load_of(spent);
}
void* LBManager::GetObjUserData(LDObjHandle& object) { return this_balancer().own_objects().user(object); }
void* LBManager::GetDBObjUserData(LDObjHandle& object, int index) {
  std::vector<char>& data = this_balancer().own_objects().user_data(object);
  data.resize(static_cast<std::size_t>(this_balancer().claim_user_data(0)));
  return data.data() + index;
}
void LBManager::NonMigratable(LDObjHandle object) { this_balancer().own_objects().set_migratable(object, false); }
void LBManager::Migratable(LDObjHandle object) { this_balancer().own_objects().set_migratable(object, true); }
void LBManager::setPupSize(LDObjHandle object, std::size_t bytes) {
  this_balancer().own_objects().set_bytes(object, bytes);
}
void LBManager::Send(const LDOMHandle& manager, const CmiUInt8& to, unsigned int bytes, int, int) {
  this_balancer().own_objects().sent(manager, to, 1, bytes);
}
void LBManager::MulticastSend(const LDOMHandle& manager, CmiUInt8* to, int count, unsigned int bytes, int messages) {
  for (int i = 0; i < count; ++i)
    this_balancer().own_objects().sent(manager, to[i], static_cast<std::uint64_t>(messages), bytes);
}
bool LBManager::StatsOn() { return this_balancer().measures(); }
void LBManager::IdleTime(LBRealType* wall) { *wall = this_balancer().meter().idle(); }
void LBManager::TotalTime(LBRealType* wall, LBRealType* processor) {
  *wall = *processor = this_balancer().meter().wall();
}
void LBManager::BackgroundLoad(LBRealType* wall, LBRealType* processor) {
  const TimeSpent& spent = this_balancer().meter().background();
  *wall = spent.wall;
  *processor = load_of(spent);
}
void LBManager::GetTime(LBRealType* total_wall, LBRealType* total_processor, LBRealType* idle,
                        LBRealType* background_wall, LBRealType* background_processor) {
  TotalTime(total_wall, total_processor);
  IdleTime(idle);
  BackgroundLoad(background_wall, background_processor);
}
