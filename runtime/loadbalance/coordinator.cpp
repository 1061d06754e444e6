// See coordinator.h and balancer.h.
#include "runtime/loadbalance/coordinator.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "base/fatal.h"
#include "base/log.h"
#include "runtime/converse/cmi.h"
#include "runtime/face/startup.h"
#include "runtime/loadbalance/available_pes.h"
#include "runtime/loadbalance/classic/balancers.h"
#include "runtime/loadbalance/explain.h"
#include "runtime/loadbalance/model.h"
#include "runtime/loadbalance/options.h"
#include "runtime/loadbalance/records.h"
#include "runtime/scheduler/process.h"

namespace periapt::loadbalance {

Coordinator::Coordinator(Balancer& balancer, int pes)
    : balancer_(balancer), answers_(pes), loads_(pes), ready_(pes, true) {
  if (options().model) history_.emplace(*options().model);
  if (options().meta && !options().sequence.empty()) meta_.emplace(options().sequence);
  period_ = options().period;
  arm();
}

bool Coordinator::Sum::operator==(const Sum& other) const {
  return total.members == other.total.members && total.waiting == other.total.waiting &&
         total.sent == other.total.sent && total.received == other.total.received && total.arrays == other.total.arrays;
}

void Coordinator::ready(int pe, std::uint32_t step) {
  if (step != step_ || at_any_time_) return;  // said before it heard that the step is over
  ready_[pe] = called_ = true;
  consider();
}

void Coordinator::consider() {
  if (state_ != State::waiting || std::count(ready_.begin(), ready_.end(), false) > 0) return;
  called_ = false;
  ask(have_before_ && before_.complete() ? State::collecting : State::probing);
}

void Coordinator::ask(State state) {
  state_ = state;
  outstanding_ = pes();
  asks_loads_ = state == State::collecting && wants_loads();
  strategy_ = options().strategy(step_);
  for (int pe = 0; pe < pes(); ++pe)
    state == State::probing ? balancer_.ask_count(pe) : balancer_.ask_loads(pe, group(), asks_loads_);
}

int Coordinator::group() const { return strategy_ ? strategy_->info->group : 0; }

bool Coordinator::is_wanted() const {
  if (!options().record.empty() || options().dumps(step_)) return true;
  return meta_ ? due_ : options().strategy(step_) || shows_loads();
}
bool Coordinator::wants_loads() const { return is_wanted() && (shows_loads() || !members_decide()); }
bool Coordinator::shows_loads() const {
  const Options& o = options();
  return !o.record.empty() || o.dumps(step_) || o.debug > 0 || o.explain;
}
// What changes loads before they are seen, or decisions after they are made, does so here. (A replay has the decisions
// of the run that it follows.) It comes to the same.
bool Coordinator::members_decide() const {
  const Strategy* const strategy = options().strategy(step_);
  if (!strategy || !strategy->info->member || history_ || meta_ || at_any_time_) return false;
  const Ordering* const ordering = Pe::current()->ordering();
  return !ordering || !ordering->is_recorded();
}

Coordinator::Sum Coordinator::sum() const {
  Sum result;
  for (const Count& count : answers_) {
    result.total.members += count.members;
    result.total.waiting += count.waiting;
    result.total.clients += count.clients;
    result.total.own += count.own;
    result.total.sent += count.sent;
    result.total.received += count.received;
    result.all_ready &= count.ready();
    result.same_arrays &= count.arrays == answers_[0].arrays;
  }
  result.total.arrays = answers_[0].arrays;
  return result;
}

void Coordinator::answer(int pe, const Count& count) {
  answers_[pe] = count;
  ready_[pe] = count.ready();
  if (--outstanding_ > 0) return;
  if (at_any_time_) return decide();
  const Sum now = sum();
  if (state_ == State::collecting && now.complete() && now == before_) return decide();
  before_ = now;
  have_before_ = true;
  state_ = State::waiting;
  if (asked_ && try_to_begin()) return;
  take_up();
  // Where no element waits, the next AtSync will call, or has called while answers were on their way: one that waits
  // may move from a PE that is yet to answer to one that has answered. Otherwise something is under way; ask again.
  if (now.total.waiting > 0 || called_) consider();
}

namespace {
// A line of JSON for each step.
void write(const LoadDatabase& database, const std::string& option, const std::string& name, bool first) {
  if (const std::string why = write_record(name, database, first); !why.empty())
    fatal(option + " " + name + " cannot be written: " + why, "load balancing, step " + std::to_string(database.step),
          "", "name a file in a folder that can be written to");
}

// As with Charm++, the run ends when all steps that were asked for have been written.
void dump(const LoadDatabase& database) {
  const Options& o = options();
  const int step = static_cast<int>(database.step) - 1;
  if (step >= o.dump_first + o.dump_steps) return;
  write(database, "+LBDumpFile", o.dump_name(step), true);
  CmiPrintf("LB step %u is in %s\n", database.step, o.dump_name(step).c_str());
  if (step + 1 < o.dump_first + o.dump_steps) return;
  CmiPrintf("+LBDump: that was all, and the run ends\n");
  request_exit(0);
}

void print(const LoadDatabase& database, const Assignment& assignment, const Strategy* strategy, double seconds) {
  const Balance before = balance_of(database, present(database)), after = balance_of(database, assignment);
  CmiPrintf("LB step %u, %s: %zu objects on %zu PEs, load max %.4f s, max/avg %.3f", database.step,
            strategy ? strategy->info->title() : "no balancer", database.objects.size(), database.pes.size(),
            before.max, before.ratio());
  if (strategy)
    CmiPrintf(" -> max %.4f s, max/avg %.3f, %d migrations, decided in %.2f ms", after.max, after.ratio(),
              after.migrations, 1e3 * seconds);
  if (options().communication(database.step)) {
    const Crossing was = crossing_of(database, present(database)), is = crossing_of(database, assignment);
    CmiPrintf(", messages between PEs %llu -> %llu, bytes %llu -> %llu", static_cast<unsigned long long>(was.messages),
              static_cast<unsigned long long>(is.messages), static_cast<unsigned long long>(was.bytes),
              static_cast<unsigned long long>(is.bytes));
  }
  CmiPrintf("\n");
  if (options().debug < 2) return;
  const std::vector<double> from = pe_loads(database, present(database)), to = pe_loads(database, assignment);
  for (std::size_t pe = 0; pe < from.size(); ++pe)
    CmiPrintf("  PE %zu: load %.4f s -> %.4f s, background %.4f s, idle %.4f s of %.4f s, speed %.2f\n", pe, from[pe],
              to[pe], database.pes[pe].background, database.pes[pe].idle, database.pes[pe].wall,
              database.pes[pe].speed);
}
}  // namespace

namespace {
// An object that two PEs have named, as it moved between their answers, gets one place and the load of both. The PE
// that it has left told most of its load, the one it came to what it has done there: it is at the latter.
void merge_twins(LoadDatabase& database) {
  std::unordered_map<ElementName, std::size_t> known;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < database.objects.size(); ++i) {
    const ObjectLoad object = database.objects[i];
    const auto [first, is_new] = known.try_emplace({object.array, object.element}, kept);
    if (!is_new) {
      ObjectLoad& other = database.objects[first->second];
      if (object.seconds < other.seconds) other.pe = object.pe;
      if (!database.phases.empty())
        database.phases[first->second].join(other.seconds, database.phases[i], object.seconds);
      other.seconds += object.seconds;
      other.wall += object.wall;
      other.migratable &= object.migratable;
      continue;
    }
    if (kept != i) {
      database.objects[kept] = object;
      if (!database.positions.empty()) database.positions[kept] = database.positions[i];
      if (!database.phases.empty()) database.phases[kept] = database.phases[i];
      const std::uint32_t bytes = database.user_bytes;
      if (bytes > 0) std::copy_n(&database.user_data[i * bytes], bytes, &database.user_data[kept * bytes]);
    }
    ++kept;
  }
  database.objects.resize(kept);
  if (!database.positions.empty()) database.positions.resize(kept);
  if (!database.phases.empty()) database.phases.resize(kept);
  database.user_data.resize(kept * database.user_bytes);
}
}  // namespace

// What all PEs have measured, or what is expected of it.
void Coordinator::gather() {
  LoadDatabase& database = database_;
  database.clear();
  database.step = step_;
  std::size_t objects = 0;
  for (const LoadDatabase& own : loads_) objects += own.objects.size();
  database.objects.reserve(objects);
  for (const LoadDatabase& own : loads_) database.append(own);
  available_pes().mark(database);
  if (at_any_time_) merge_twins(database);
  const Options& o = options();
  if (!o.record.empty()) write(database, "+LBRecord", o.record, step_ == 1);
  if (o.dumps(step_)) dump(database);
  if (history_) {
    history_->add(database);
    database = history_->expected(std::move(database));
  }
}

Interval Coordinator::interval() const {
  Interval interval;
  for (const Count& count : answers_) {
    interval.max = std::max(interval.max, count.busy);
    interval.average += count.busy / pes();
  }
  return interval;
}

namespace {
// What depends on clocks goes into a recording of the run's messages, and comes out of it in a replay.
bool as_recorded(bool choice) {
  if (Ordering* const ordering = Pe::current()->ordering()) {
    std::vector<std::byte> decision{std::byte{choice}};
    ordering->settle(decision);
    choice = decision.size() == 1 && decision[0] == std::byte{1};
  }
  return choice;
}
}  // namespace

// Whether this AtSync is a balancing, in the eyes of the MetaBalancer. The first time that it is, loads are still to be
// asked for.
bool Coordinator::is_due() {
  due_since_ = clock::seconds();
  due_ = as_recorded(meta_->is_due(interval()));
  if (options().debug > 0 || options().explain)
    CmiPrintf("LB step %u, MetaLB: %s: %s\n", step_, due_ ? "balances" : "goes on", meta_->reason().c_str());
  return due_;
}

void Coordinator::set_model(const LoadModelInfo* model) {
  history_.reset();
  if (model)
    history_.emplace(LoadModel(*model));
  else if (options().model)
    history_.emplace(*options().model);
}

void Coordinator::go_on() {
  if (state_ == State::held) decide();
}

void Coordinator::decide() {
  if (!at_any_time_ && std::exchange(holds_, false)) {
    state_ = State::held;
    Pe& pe = *Pe::current();
    return pe.objects->all_wait_in_sync(pe);
  }
  if (at_any_time_ && period_ > 0 && !something_ran()) return sleep();
  if (meta_ && !due_) {
    const bool have_loads = at_any_time_ || wants_loads();
    if (!is_due()) {
      if (have_loads) gather();  // they are to be recorded
      return resume();
    }
    if (!have_loads) return ask(State::collecting);
  }
  const Count& all = before_.total;
  const bool nothing_can_move = !at_any_time_ && all.members == all.clients && all.own == 0;
  if (nothing_can_move || !is_wanted()) return resume();
  // The program has made its balancer since the others were asked for their part, or has said that its loads are to be
  // seen. (At any time it decides the next step.)
  const Strategy* const now = options().strategy(step_);
  const bool others_decide = now && now->info->group != group();
  if (!at_any_time_ && (others_decide || (wants_loads() && !asks_loads_))) return ask(State::collecting);
  if (!at_any_time_ && strategy_ && strategy_->info->wants && !strategy_->info->wants(step_)) {
    due_ = false;
    return resume(false);
  }
  if (strategy_ && strategy_->info->member) available_pes().say_unread(strategy_->info->classic);
  if (!wants_loads()) {  // and so members decide
    state_ = State::moving;
    outstanding_ = pes();
    for (int pe = 0; pe < pes(); ++pe) balancer_.ask_to_balance(pe);
    return;
  }
  const double start = clock::seconds();
  gather();
  const LoadDatabase& database = database_;
  if (strategy_) say_what_is_unread();
  if (strategy_ && (strategy_->info->distributed || members_decide())) {
    said_.clear();
    deciding_since_ = start;
    state_ = State::deciding;
    outstanding_ = pes();
    for (int pe = 0; pe < pes(); ++pe) balancer_.ask_decision(pe, strategy_->info->group);
    return;
  }
  Assignment assignment = present(database);
  // A mistake of a strategy, or a load that the program set and that is none, costs a step and not the run.
  std::string wrong;
  if (meta_ && options().sequence.size() > 1) {
    strategy_ = meta_->choose(database, &assignment, &wrong);
    if (strategy_) say_what_is_unread();
  } else if (strategy_) {
    wrong = strategy_->answer(database, &assignment);
  }
  carry_out(assignment, wrong, clock::seconds() - start);
}

// What the strategy misses, and what it does not look at.
void Coordinator::say_what_is_unread() {
  const LoadDatabase& database = database_;
  const StrategyInfo& info = *strategy_->info;
  if (info.positions && database.positions.empty() && !database.objects.empty() &&
      !std::exchange(told_of_positions_, true))
    log::warn(
        std::string(info.classic) +
        " wants to know where objects are, and none has said it: they go where there is room, neighbours or not. Call "
        "setObjPosition(x, y, z) in each before AtSync()");
  if (!info.phases && !database.phases.empty() && !std::exchange(told_of_phases_, true))
    log::note(std::string(info.title()) +
              " balances the sum of the phases that objects say by setObjPhases(); PhasesLB and SfcLB make each even");
}

namespace {
void put(const std::vector<Balancer::Move>& moves, const LoadDatabase& database, Assignment* assignment) {
  *assignment = present(database);
  const ObjectIndex index(database);
  for (const Balancer::Move& move : moves)
    if (const std::uint32_t i = index.find({move.array, move.element}); i != ObjectIndex::none)
      (*assignment)[i] = move.to;
}
}  // namespace

void Coordinator::decided(const std::vector<Balancer::Move>& moves) {
  said_.insert(said_.end(), moves.begin(), moves.end());
  if (--outstanding_ > 0) return;
  const LoadDatabase& database = database_;
  Assignment assignment;
  put(said_, database, &assignment);
  std::string wrong = check_database(database);
  if (wrong.empty()) wrong = check_assignment(database, assignment);
  if (!wrong.empty()) assignment = present(database);
  carry_out(assignment, wrong, clock::seconds() - deciding_since_);
}

void Coordinator::claimed(int pe, const std::vector<Claim>& claims) {
  std::vector<Balancer::Move> moves;
  moves.reserve(claims.size());
  for (const Claim& claim : claims) {
    const ObjectLoad& object = loads_.at(static_cast<std::size_t>(claim.home)).objects.at(claim.object);
    moves.push_back({object.array, pe, object.element});
  }
  decided(moves);
}

std::string nothing_moves(std::uint32_t step, const std::string& wrong) {
  return "load balancing, step " + std::to_string(step) + ": nothing is moved, as " + wrong;
}

namespace {
// The loads of a run that is recorded are in no replay of it: there objects move as they did then.
void settle(const LoadDatabase& database, Assignment* assignment) {
  Ordering* const ordering = Pe::current()->ordering();
  if (ordering == nullptr) return;
  std::vector<Balancer::Move> moves;
  for (std::size_t i = 0; i < assignment->size(); ++i) {
    const ObjectLoad& object = database.objects[i];
    if ((*assignment)[i] != object.pe) moves.push_back({object.array, (*assignment)[i], object.element});
  }
  std::vector<std::byte> decision(moves.size() * sizeof moves[0]);
  if (!moves.empty()) std::memcpy(decision.data(), moves.data(), decision.size());
  ordering->settle(decision);
  moves.resize(decision.size() / sizeof moves[0]);
  if (!moves.empty()) std::memcpy(moves.data(), decision.data(), moves.size() * sizeof moves[0]);
  put(moves, database, assignment);
}
}  // namespace

void Coordinator::carry_out(Assignment assignment, const std::string& wrong, double seconds) {
  const LoadDatabase& database = database_;
  settle(database, &assignment);
  const Strategy* const strategy = strategy_;
  if (!wrong.empty()) log::warn(nothing_moves(step_, wrong));
  if (options().debug > 0) print(database, assignment, strategy, seconds);
  if (options().explain) {
    const Decision decision{database,       assignment, strategy,          wrong, seconds, predicted_,
                            moved_seconds_, moved_,     Balancer::describe};
    CmiPrintf("%s", explain(decision).c_str());
    predicted_ = balance_of(database, assignment).ratio();
  }

  balancer_.expected_loads.assign(database.pes.size(), 0);
  for (std::size_t pe = 0; pe < database.pes.size(); ++pe) balancer_.expected_loads[pe] = database.pes[pe].background;
  for (std::size_t i = 0; i < assignment.size(); ++i)
    balancer_.expected_loads[static_cast<std::size_t>(assignment[i])] += database.objects[i].seconds;
  std::vector<std::vector<Balancer::Move>> moves(pes());
  std::vector<int> expected(pes());
  int count = 0;
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    const ObjectLoad& object = database.objects[i];
    if (assignment[i] == object.pe) continue;
    moves[object.pe].push_back({object.array, assignment[i], object.element});
    ++expected[assignment[i]];
    ++count;
  }
  moves_now_ = count;
  if (count == 0) return resume();
  moved_ = count;
  moving_since_ = clock::seconds();
  state_ = State::moving;
  outstanding_ = pes();
  for (int pe = 0; pe < pes(); ++pe) balancer_.order(pe, moves[pe], expected[pe]);
}

void Coordinator::settled() {
  if (--outstanding_ > 0) return;
  moved_seconds_ = clock::seconds() - moving_since_;
  resume();
}

void Coordinator::resume(bool balanced) {
  ++step_;
  balanced_ = balanced;
  asked_ = false;
  have_before_ = false;
  if (std::exchange(due_, false)) meta_->balanced(clock::seconds() - due_since_, std::exchange(moves_now_, 0));
  std::fill(ready_.begin(), ready_.end(), false);
  if (!at_any_time_) return end();
  state_ = State::ending;
  outstanding_ = pes();
  for (int pe = 0; pe < pes(); ++pe) balancer_.tell_over(pe, group());
}
void Coordinator::heard() {
  if (--outstanding_ == 0) end();
}
void Coordinator::end() {
  state_ = State::waiting;
  // A period resumes no clients, as in Charm++.
  const Balancer::Resumption end{step_ - 1, group(), balanced_, at_any_time_, at_any_time_ && period_ <= 0};
  for (int pe = 0; pe < pes(); ++pe) balancer_.order_resume(pe, end);
  if (!at_any_time_) return;
  if (!asked_ || !try_to_begin()) arm();
}

// Each PE may say it, and some later than others.
void Coordinator::set_tree(std::uint32_t step, const std::string& text) {
  if (step < tree_step_ || text == tree_) return;
  tree_step_ = step;
  tree_ = text;
  balancer_.announce_tree(text);
}

// --- balancing at any time -------------------------------------------------------------------------------------------

void Coordinator::set_period(double seconds) {
  if (seconds == period_) return;  // each PE may say it
  period_ = seconds;
  balancer_.announce_period(seconds);
  if (state_ == State::waiting && !asleep_) arm();
}

void Coordinator::take_up() {
  if (state_ != State::waiting) return;
  if (asked_) return balancer_.start_any_step();
  if (!armed_ && !asleep_) arm();
}

// A message and not the timer begins a step: a replay has it in the right place among the others.
void Coordinator::arm() {
  if (period_ <= 0 || (!is_wanted() && !meta_)) return;
  const std::uint64_t now_ns = clock::now_ns(), delay_ns = static_cast<std::uint64_t>(1e9 * period_);
  armed_ = true;
  deadline_ns_ = now_ns + delay_ns;
  Pe::current()->conditions.call_after(
      [](void* argument, double) {
        Coordinator& self = *static_cast<Coordinator*>(argument);
        // Not the timer of a period that another has taken the place of.
        if (!self.armed_ || clock::now_ns() < self.deadline_ns_) return;
        self.armed_ = false;
        self.balancer_.start_any_step();
      },
      this, delay_ns, now_ns);
}

void Coordinator::begin(std::uint32_t step) {
  // (The end of a step at AtSync is told at once: a PE may ask that has not heard it.)
  if (at_any_time_ && step != any_step && step != step_) return;
  if (state_ != State::waiting) {
    const bool looks = !at_any_time_ && (state_ == State::probing || state_ == State::collecting);
    asked_ |= looks || (state_ == State::ending && step != any_step);
    return arm();
  }
  try_to_begin();
}

// False: its balancer is still to be made here.
bool Coordinator::try_to_begin() {
  strategy_ = options().strategy(step_);
  asked_ = !options().can_begin(step_) || !has_member(group());
  if (asked_) return false;
  at_any_time_ = true;
  armed_ = asleep_ = false;
  if (options().off || (strategy_ && strategy_->info->wants && !strategy_->info->wants(step_))) {
    resume(false);
    return true;
  }
  state_ = State::collecting;
  outstanding_ = pes();
  for (int pe = 0; pe < pes(); ++pe) balancer_.ask_loads_now(pe, group());
  return true;
}

bool Coordinator::something_ran() const {
  bool ran = false;
  for (const LoadDatabase& own : loads_)
    ran |= std::any_of(own.objects.begin(), own.objects.end(), [](const ObjectLoad& o) { return o.seconds != 0; });
  return as_recorded(ran);
}

void Coordinator::sleep() {
  state_ = State::waiting;
  asleep_ = true;
  for (int pe = 0; pe < pes(); ++pe) balancer_.order_sleep(pe);
}
void Coordinator::awake() {
  if (std::exchange(asleep_, false)) arm();
}

}  // namespace periapt::loadbalance
