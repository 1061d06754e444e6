// The PE's side of a step. See balancer.h.
#include "runtime/loadbalance/balancer.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <deque>
#include <utility>

#include "base/fatal.h"
#include "base/log.h"
#include "runtime/array/array_manager.h"
#include "runtime/array/array_migration.h"
#include "runtime/face/startup.h"
#include "runtime/loadbalance/classic/balancers.h"
#include "runtime/loadbalance/classic/predictor.h"
#include "runtime/loadbalance/coordinator.h"
#include "runtime/loadbalance/lb_manager.h"
#include "runtime/loadbalance/options.h"
#include "runtime/loadbalance/part.h"
#include "runtime/loadbalance/simulation.h"
#include "runtime/registry/runtime_message.h"
#include "runtime/scheduler/process.h"

namespace periapt::loadbalance {

namespace {
int entry_ready, entry_probe, entry_count, entry_collect, entry_loads, entry_assign, entry_missing, entry_settled,
    entry_resume, entry_late, entry_resumed_element, entry_ask_decision, entry_decided, entry_claimed, entry_agree,
    entry_claim, entry_start, entry_set_period, entry_period, entry_collect_now, entry_sleep, entry_awake, entry_hold,
    entry_go_on, entry_set_tree, entry_tree, entry_over, entry_heard;

int center_of(const Pe& pe) { return options().center < pe.process.pes() ? options().center : 0; }

template <class T>
void append(std::vector<char>& bytes, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  bytes.resize(bytes.size() + sizeof value);
  std::memcpy(bytes.data() + bytes.size() - sizeof value, &value, sizeof value);
}

template <class T>
std::vector<T> all_of(const Delivery& call) {
  std::vector<T> all(call.length / sizeof(T));
  if (!all.empty()) std::memcpy(all.data(), call.arguments, all.size() * sizeof(T));
  return all;
}

}  // namespace

void Balancer::register_entries() {
  register_base_classes();
  entry_ready = register_runtime_entry("balancing: all elements here are in AtSync", on_ready, ep_balancing);
  entry_probe = register_runtime_entry("balancing: are you ready", on_probe, ep_balancing);
  entry_count = register_runtime_entry("balancing: count of elements", on_count, ep_balancing);
  entry_collect = register_runtime_entry("balancing: asks for loads", on_collect, ep_balancing);
  entry_loads = register_runtime_entry("balancing: loads", on_loads, ep_balancing);
  entry_assign = register_runtime_entry("balancing: who moves", on_assign, ep_balancing);
  entry_missing = register_runtime_entry("balancing: an element will not come", on_missing, ep_balancing);
  entry_settled = register_runtime_entry("balancing: all have come", on_settled, ep_balancing);
  entry_resume = register_runtime_entry("balancing: resume", on_resume, ep_balancing);
  entry_over = register_runtime_entry("balancing: the step is over", on_over, ep_balancing);
  entry_heard = register_runtime_entry("balancing: knows that it is over", on_heard, ep_balancing);
  entry_late = register_runtime_entry("balancing: resume those who came late", on_late, ep_balancing);
  entry_ask_decision = register_runtime_entry("balancing: asks to decide", on_ask_decision, ep_balancing);
  entry_decided = register_runtime_entry("balancing: what leaves", on_decided, ep_balancing);
  entry_claimed = register_runtime_entry("balancing: what comes", on_claimed, ep_balancing);
  entry_agree = register_runtime_entry("balancing: PEs agree", on_agree, ep_balancing);
  entry_claim = register_runtime_entry("balancing: asks for elements", on_claim, ep_balancing);
  entry_start = register_runtime_entry("balancing: a step is to begin", on_start, ep_balancing);
  entry_set_period = register_runtime_entry("balancing: asks for a period", on_set_period, ep_balancing);
  entry_period = register_runtime_entry("balancing: the period", on_period, ep_balancing);
  entry_collect_now = register_runtime_entry("balancing: asks for loads at any time", on_collect_now, ep_balancing);
  entry_sleep = register_runtime_entry("balancing: sleeps until something runs", on_sleep, ep_balancing);
  entry_awake = register_runtime_entry("balancing: something runs", on_awake, ep_balancing);
  entry_hold = register_runtime_entry("balancing: the next step is held", on_hold, ep_balancing);
  entry_go_on = register_runtime_entry("balancing: the step goes on", on_go_on, ep_balancing);
  entry_set_tree = register_runtime_entry("balancing: asks for a tree", on_set_tree, ep_balancing);
  entry_tree = register_runtime_entry("balancing: the tree", on_tree, ep_balancing);
  entry_resumed_element = register_runtime_entry("ResumeFromSync", on_late);  // a name for messages only
}

Balancer::Balancer(Pe& pe) : pe_(pe), objects_(pe) {
  if (options().period > 0) {
    period_ = options().period;
    take_all();
  }
  if (pe.index == center_of(pe)) coordinator_ = std::make_unique<Coordinator>(*this, pe.process.pes());
}
Balancer::~Balancer() = default;

// --- taking part -----------------------------------------------------------------------------------------------------

std::int32_t Balancer::add(ArrayElement& element, const BalanceTravel& travel) {
  if (all_take_part_) refuse_at_sync(element);
  const std::int32_t number = objects_.add(element, travel);
  set_record(element, number);
  if (objects_.is_first()) objects_.measure(step_);
  waiting_ += objects_[number].waits_in(step_);
  return number;
}

void Balancer::remove(ArrayElement& element) {
  const std::int32_t number = record_of(element);
  waiting_ -= objects_[number].waits_in(step_);
  objects_.remove(number);
  set_record(element, -1);
}

void Balancer::born(ArrayElement& element) {
  assert(ObjectRecords::array_of(element).find(element.ckGetID()) == &element);  // no further base of one
  BalanceTravel travel;
  travel.state.resumed = step_ - 1;
  add(element, travel);
}

void Balancer::arrived(ArrayElement& element, const BalanceTravel& travel) {
  Position position;
  if (record_of(element) >= 0) {  // its pup() said where it is
    position = objects_.said(record_of(element)).position;
    remove(element);
  }
  const std::int32_t number = add(element, travel);
  objects_.said(number).position = position;
  BalanceState& state = objects_[number].state;
  if (state.moved) {
    state.moved = false;
    moving_ = true;
    --expected_;
    tell_when_settled();
  }
  if (state.in_sync && state.step < step_) call(pe_.index, entry_late);
  tell_when_ready();
}

void Balancer::died(ArrayElement& element) {
  remove(element);
  tell_when_ready();
}

BalanceTravel Balancer::left(ArrayElement& element) {
  const std::int32_t number = record_of(element);
  objects_.gpu_times().charge();
  // Mostly in the entry that it leaves from.
  const BalanceTravel travel{objects_.spent(element), objects_[number].state};
  remove(element);
  tell_when_ready();
  return travel;
}

std::string Balancer::describe(const ObjectLoad& object) {
  if (ObjectManagers::is_own(object.array))
    return "object " + std::to_string(object.element) + " of manager " + std::to_string(-object.array);
  ArrayManager* const array = find_array(*Pe::current()->objects, CkArrayID(CkGroupID{object.array}));
  return array ? array->describe(object.element) : "element " + std::to_string(object.element);
}
LDObjHandle Balancer::add_own(const LDOMHandle& manager, CmiUInt8 id, void* user, bool migratable) {
  const LDObjHandle object = objects_.add_own(manager, id, user, migratable);
  if (objects_.is_first()) objects_.measure(step_);
  return object;
}
void Balancer::own_arrived(const LDObjHandle&, bool is_awaited) {
  if (!is_awaited || !began_) return;  // the program has moved it
  moving_ = true;
  --expected_;
  tell_when_settled();
}
void Balancer::set_position(ArrayElement& element, Position position) {
  if (record_of(element) < 0) born(element);  // called from its constructor
  objects_.said(record_of(element)).position = position;
}
void Balancer::set_phases(ArrayElement& element, const PhaseParts& parts) {
  if (record_of(element) < 0) born(element);  // called from its constructor
  objects_.said(record_of(element)).phases = parts;
}

char* Balancer::user_data(ArrayElement& element) {
  if (record_of(element) < 0) born(element);  // called from its constructor
  return objects_.user_data(record_of(element));
}

std::string Balancer::describe_waiting() const {
  std::string clients;
  if (coordinator_ && coordinator_->waits_for_balancer())
    clients = "a step of CkStartLB() waits until the program has made a balancer\n";
  if (all_take_part_) {
    if (barrier_.clients_.empty() || period_ > 0) return clients;
    return clients + std::to_string(barrier_.clients_.size()) + " clients of CkSyncBarrier on PE " +
           std::to_string(pe_.index) + " are resumed when the next step of CkStartLB() is over\n";
  }
  if (barrier_.members() > 0)
    clients += std::to_string(barrier_.waiting(step_)) + " of " + std::to_string(barrier_.clients_.size()) +
               " clients of CkSyncBarrier on PE " + std::to_string(pe_.index) + " wait" +
               (barrier_.on_ ? "\n" : "; it is turned off\n");
  if (const std::string name = undecided(step_); !name.empty())
    clients += "the member of " + name + " on PE " + std::to_string(pe_.index) +
               " has not called ProcessMigrationDecision() yet\n";
  if (objects_.elements() == 0) return clients;
  std::string text = std::to_string(waiting_) + " of " + std::to_string(objects_.elements()) + " elements on PE " +
                     std::to_string(pe_.index) + " wait in AtSync";
  const char* before = "; not called yet by ";
  for (const ObjectRecords::Record& record : objects_.all()) {
    if (!record.element || record.waits_in(step_)) continue;
    text += before + array_manager(record.element->ckGetArrayID()).describe(record.element->ckGetID());
    before = ", ";
  }
  return text + "\n" + clients;
}

void Balancer::turn_instrument(bool on) {
  objects_.turn_instrument(on);
  if (!on || objects_.size() > 0) objects_.measure(step_);
}
void Balancer::turn_communication(bool on) {
  objects_.turn_communication(on);
  if (!objects_.empty()) objects_.measure(step_);
}
void Balancer::set_predictor(LBPredictorFunction* function, int window) {
  if (!coordinator_) return;
  static std::deque<LoadModelInfo> kept;  // a model names its own
  // Said again, by each step perhaps: what is known of objects stays.
  if (window > 0 && window == predictor_window_ && function == predictor_) return;
  predictor_window_ = window;
  predictor_ = function;
  if (window <= 0) return coordinator_->set_model(nullptr);
  if (function) {
    kept.push_back(fitted_model(*function, window, options().predictor_delay));
  } else {
    Complaint complaint;
    kept.push_back(*read_load_model("trend", &complaint)->info);
    kept.back().options[0].standard = window;
  }
  coordinator_->set_model(&kept.back());
}
void Balancer::change_predictor(LBPredictorFunction* function) {
  if (predictor_window_ > 0) set_predictor(function, predictor_window_);
}

// --- sending ---------------------------------------------------------------------------------------------------------

void Balancer::call(int to, int entry, std::uint32_t value) { call_with(to, entry, value); }

template <class T>
void Balancer::call_with(int to, int entry, const T& value) {
  send_runtime(pe_, to, entry, 0, static_cast<std::uint64_t>(pe_.index), value);
}

void Balancer::send_bytes(int to, int entry, const std::vector<char>& bytes) {
  if (bytes.size() <= inline_arguments_max) {
    alignas(16) char room[inline_arguments_max] = {};
    std::copy(bytes.begin(), bytes.end(), room);
    return pe_.send_call(to, call_meta(entry, 0, bytes.size()), static_cast<std::uint64_t>(pe_.index), room,
                         counting(entry));
  }
  const std::string_view all(bytes.data(), bytes.size());
  send_to(pe_, to, runtime_message({all}, entry, 0, static_cast<std::uint64_t>(pe_.index)));
}

void Balancer::ask_count(int pe) { call(pe, entry_probe); }
void Balancer::ask_loads(int pe, int group, bool loads) {
  call_with(pe, entry_collect, Asked{entry_collect, group, loads});
}
void Balancer::order(int pe, const std::vector<Move>& moves, int expected) {
  static_assert(std::is_trivially_copyable_v<Move>);
  std::vector<char> bytes(sizeof expected + moves.size() * sizeof(Move));
  std::memcpy(bytes.data(), &expected, sizeof expected);
  if (!moves.empty()) std::memcpy(bytes.data() + sizeof expected, moves.data(), moves.size() * sizeof(Move));
  send_bytes(pe, entry_assign, bytes);
}
void Balancer::tell_over(int pe, int group) { call_with(pe, entry_over, Asked{entry_over, group, false}); }
void Balancer::order_resume(int pe, const Resumption& resumption) { call_with(pe, entry_resume, resumption); }
namespace {
struct Question {
  int group;     // whose member decides; 0: that of the step's strategy
  bool reports;  // to the coordinator
};
}  // namespace
void Balancer::ask_decision(int pe, int group) { call_with(pe, entry_ask_decision, Question{group, true}); }
void Balancer::ask_to_balance(int pe) { call_with(pe, entry_ask_decision, Question{0, false}); }
void Balancer::decided(const std::vector<Move>& moves) {
  std::vector<char> bytes;
  for (const Move& move : moves) append(bytes, move);
  send_bytes(center_of(pe_), entry_decided, bytes);
}

// --- a step ----------------------------------------------------------------------------------------------------------

void Balancer::at_sync(ArrayElement& element, ArrayElement& caller) {
  if (all_take_part_) refuse_at_sync(element);
  if (record_of(element) < 0) born(element);  // called from its constructor
  const std::int32_t number = record_of(element);
  if (objects_[number].state.in_sync)
    fatal("AtSync() is called twice", describe_running(pe_), "the element has not been resumed since the last call",
          "go on in ResumeFromSync()");
  if (ArrayElement& base = measured(caller) ? element : caller; !measured(base)) base.UserSetLBLoad();
  BalanceState& state = objects_[number].state;
  state.in_sync = true;
  state.step = std::max(step_ + closed_, state.resumed + 1);
  ++waiting_;
  tell_when_ready();
}

bool Balancer::waits(const ArrayElement& element) const {
  return record_of(element) >= 0 && objects_[record_of(element)].state.in_sync;
}
// Until all are there it is not counted, so that no step begins.
void Balancer::waits_again(ArrayElement& element, double seconds) {
  if (record_of(element) < 0) born(element);
  BalanceState& state = objects_[record_of(element)].state;
  state.in_sync = true;
  state.step = step_;
  objects_.meter().up_to_now(record_of(element)) = {seconds, seconds, seconds};
}
void Balancer::remade() {
  waiting_ = objects_.waiting_in(step_);
  if (waiting_ > 0) tell_when_ready();
}

void Balancer::hold_next_step() { call(center_of(pe_), entry_hold); }
void Balancer::go_on() { call(center_of(pe_), entry_go_on); }
void Balancer::on_hold(Pe& pe, Delivery&) { Balancer::of(pe).coordinator_->hold_next_step(); }
void Balancer::on_go_on(Pe& pe, Delivery&) { Balancer::of(pe).coordinator_->go_on(); }

Count Balancer::count() {
  return {objects_.elements() + barrier_.members(),
          waiting_ + barrier_.waiting(step_),
          elements_sent,
          elements_received,
          arrays_known,
          objects_.meter().wall() - objects_.meter().idle(),
          barrier_.members(),
          objects_.own().size()};
}

// (While a step's elements move every PE is ready, and the coordinator wants to hear of it for the next step only.)
void Balancer::tell_when_ready() {
  if (moving_ || all_take_part_ || objects_.elements() != waiting_) return;
  const std::uint32_t clients = barrier_.waiting(step_);
  if (clients != barrier_.members() || (told_ && told_waiting_ == waiting_ + clients)) return;
  told_ = true;
  told_waiting_ = waiting_ + clients;
  call(center_of(pe_), entry_ready, step_);
}
void Balancer::on_ready(Pe& pe, Delivery& call) {
  Balancer::of(pe).coordinator_->ready(static_cast<int>(call.element), call.read<std::uint32_t>());
}

void Balancer::on_probe(Pe& pe, Delivery& call) {
  Balancer& self = Balancer::of(pe);
  const Count count = self.count();
  if (!count.ready()) self.told_ = false;
  self.call_with(static_cast<int>(call.element), entry_count, count);
}
void Balancer::on_count(Pe& pe, Delivery& call) {
  Balancer::of(pe).coordinator_->answer(static_cast<int>(call.element), call.read<Count>());
}

bool Balancer::puts_off(const Asked& asked) {
  if (has_member(asked.group)) return false;
  put_off_ = asked;
  return true;
}
void Balancer::on_collect(Pe& pe, Delivery& call) {
  Balancer& self = Balancer::of(pe);
  const auto asked = call.read<Asked>();
  if (!self.puts_off(asked)) self.collect(asked.loads);
}
void Balancer::collect(bool loads) {
  const Count count = this->count();
  if (count.ready()) {
    closed_ = true;
    begin_step();
    // Also those elements that called after an attempt that was given up.
    for (ObjectRecords::Record& record : objects_.all())
      if (record.waits_in(step_)) record.state.step = step_;
  } else {
    told_ = false;
  }
  if (!loads || !count.ready()) return call_with(center_of(pe_), entry_count, count);
  LoadDatabase own = own_loads();
  send_loads(count, own);
  const Strategy* const strategy = options().strategy(step_);
  if (strategy && strategy->info->member) collected_ = std::move(own);
}
void Balancer::begin_step() {
  if (std::exchange(began_, true)) return;
  if (!all_take_part_) CkSyncBarrier::call(barrier_.begin_receivers_);
  at_begin.call();
  if (!all_take_part_) CkSyncBarrier::call(barrier_.receivers_);
}
int Balancer::Calls::add(std::function<void()> fn) {
  calls_.push_back({std::move(fn)});
  return static_cast<int>(calls_.size()) - 1;
}
void Balancer::Calls::turn(int handle, bool on) { calls_.at(static_cast<std::size_t>(handle)).on = on; }
void Balancer::Calls::call() const {
  const std::size_t count = calls_.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Call call = calls_[i];
    if (call.fn && call.on) call.fn();
  }
}
void Balancer::send_loads(const Count& count, LoadDatabase& own) {
  PUP::sizer sizer;
  own.pup(sizer);
  std::vector<char> bytes;
  append(bytes, count);
  bytes.resize(sizeof count + sizer.size());
  PUP::toMem p(bytes.data() + sizeof count);
  own.pup(p);
  send_bytes(center_of(pe_), entry_loads, bytes);
}
void Balancer::on_loads(Pe& pe, Delivery& call) {
  Coordinator& coordinator = *Balancer::of(pe).coordinator_;
  const int from = static_cast<int>(call.element);
  PUP::fromMem p(static_cast<const char*>(call.arguments) + sizeof(Count), call.length - sizeof(Count));
  coordinator.loads_of(from).pup(p);
  coordinator.answer(from, call.read<Count>());
}

void Balancer::on_assign(Pe& pe, Delivery& call) {
  Balancer& self = Balancer::of(pe);
  std::vector<Move> moves((call.length - sizeof(int)) / sizeof(Move));
  const char* first = static_cast<const char*>(call.arguments) + sizeof(int);
  if (!moves.empty()) std::memcpy(moves.data(), first, moves.size() * sizeof(Move));
  self.assign(std::move(moves), call.read<int>());
}
void Balancer::assign(std::vector<Move> moves, int expected) {
  assigned_ = moving_ = true;
  expected_ += expected;  // some may be here already
  // Those for one PE together.
  std::stable_sort(moves.begin(), moves.end(), [](const Move& a, const Move& b) { return a.to < b.to; });
  for (auto first = moves.begin(); first != moves.end();) {
    MigrationBatch batch(pe_, first->to);
    for (const int to = first->to; first != moves.end() && first->to == to; ++first) move_away(*first, batch);
  }
  tell_when_settled();
}
void Balancer::move_away(const Move& move, MigrationBatch& batch) {
  if (ObjectManagers::is_own(move.array)) {
    if (!objects_.own().move(move.array, move.element, move.to)) call(move.to, entry_missing);
    return;
  }
  ArrayElement* const element = objects_.find(move.array, move.element);
  if (!element || ObjectRecords::is_held(array_manager(element->ckGetArrayID()), move.element))
    return call(move.to, entry_missing);  // destroyed, moved by the program, or held here
  objects_[record_of(*element)].state.moved = true;
  if (const std::string wrong = batch.add(array_manager(element->ckGetArrayID()), element); !wrong.empty()) {
    if (ArrayElement* const still = objects_.find(move.array, move.element)) {
      objects_[record_of(*still)].state.moved = false;
      objects_.keep_here(*still, wrong, step_);
    }
    return call(move.to, entry_missing);
  }
  // It may go later, when buffers of its calls are filled or its home has heard of it. The step doesn't wait for that
  // while the program goes on.
  if (!all_take_part_ || objects_.find(move.array, move.element) != element) return;
  objects_[record_of(*element)].state.moved = false;
  call(move.to, entry_missing);
}
void Balancer::on_missing(Pe& pe, Delivery&) {
  Balancer& self = Balancer::of(pe);
  --self.expected_;
  self.tell_when_settled();
}
void Balancer::tell_when_settled() {
  if (!assigned_ || expected_ != 0) return;
  assigned_ = false;
  call(center_of(pe_), entry_settled);
}
void Balancer::on_settled(Pe& pe, Delivery&) { Balancer::of(pe).coordinator_->settled(); }

void Balancer::on_ask_decision(Pe& pe, Delivery& call) {
  Balancer& self = Balancer::of(pe);
  const auto question = call.read<Question>();
  if (question.group == 0) return self.begin_member(question.reports);
  begin_distributed(question.group, self.all_take_part_ ? self.collected_ : self.own_loads());
}
void Balancer::on_decided(Pe& pe, Delivery& call) { Balancer::of(pe).coordinator_->decided(all_of<Move>(call)); }

// --- members of a strategy -------------------------------------------------------------------------------------------

// Messages of others may be here before this PE is asked.
Member& Balancer::member() {
  if (!member_) {
    const Strategy& strategy = *options().strategy(step_);
    const Seat seat{
        pe_.index, pe_.process.pes(), step_,
        [this](int to, const std::vector<char>& bytes) { send_bytes(to, entry_agree, bytes); },
        [this](const std::vector<Claim>& claims, const std::string& wrong) { member_decided(claims, wrong); }};
    member_ = strategy.info->member(strategy.options, seat);
  }
  return *member_;
}
void Balancer::begin_member(bool reports) {
  reports_ = reports;
  if (!reports) collected_ = own_loads();
  member().begin(collected_);
}
void Balancer::on_agree(Pe& pe, Delivery& call) {
  Balancer::of(pe).member().hear(static_cast<int>(call.element), static_cast<const char*>(call.arguments), call.length);
}
void Balancer::member_decided(const std::vector<Claim>& claims, const std::string& wrong) {
  if (!reports_) {
    if (!wrong.empty()) log::warn(nothing_moves(step_, wrong));
    return claim(claims);
  }
  std::vector<char> bytes;
  for (const Claim& claim : claims) append(bytes, claim);
  send_bytes(center_of(pe_), entry_claimed, bytes);
}
void Balancer::on_claimed(Pe& pe, Delivery& call) {
  Balancer::of(pe).coordinator_->claimed(static_cast<int>(call.element), all_of<Claim>(call));
}
void Balancer::claim(std::vector<Claim> claims) {
  assigned_ = moving_ = true;
  expected_ += static_cast<int>(claims.size());
  std::stable_sort(claims.begin(), claims.end(), [](const Claim& a, const Claim& b) { return a.home < b.home; });
  for (auto first = claims.begin(); first != claims.end();) {
    std::vector<char> bytes;
    const int home = first->home;
    for (; first != claims.end() && first->home == home; ++first) append(bytes, first->object);
    send_bytes(home, entry_claim, bytes);
  }
  tell_when_settled();
}
void Balancer::on_claim(Pe& pe, Delivery& call) {
  Balancer& self = Balancer::of(pe);
  const int to = static_cast<int>(call.element);
  self.moving_ = true;
  MigrationBatch batch(pe, to);
  for (const std::uint32_t i : all_of<std::uint32_t>(call)) {
    const ObjectLoad& object = self.collected_.objects.at(i);
    self.move_away({object.array, to, object.element}, batch);
  }
}

void Balancer::on_over(Pe& pe, Delivery& call) {
  Balancer& self = Balancer::of(pe);
  if (self.puts_off(call.read<Asked>())) return;
  self.next_ = self.step_ + 1;
  self.call(center_of(pe), entry_heard);
}
void Balancer::on_heard(Pe& pe, Delivery&) { Balancer::of(pe).coordinator_->heard(); }

void Balancer::on_resume(Pe& pe, Delivery& call) {
  Balancer& self = Balancer::of(pe);
  const auto [step, group, balanced, at_any_time, clients] = call.read<Resumption>();
  if (at_any_time) {
    self.take_all();
    self.begin_step();  // what the balancer has declined, before any PE was asked, begins and ends here
  }
  self.step_ = self.next_ = step + 1;
  self.closed_ = self.told_ = self.moving_ = false;
  self.member_.reset();
  self.collected_ = {};
  if (balanced && !at_any_time) self.clear_loads();
  if (!self.objects_.empty()) self.objects_.measure(self.step_);
  self.waiting_ = self.objects_.waiting_in(self.step_);
  const bool began = std::exchange(self.began_, false);
  if (began) self.at_end.call();
  end_step(group, began && balanced);
  if (clients || !self.all_take_part_) self.barrier_.resume(step, clients);
  self.resume_up_to(step);
}
void Balancer::on_late(Pe& pe, Delivery&) {
  Balancer& self = Balancer::of(pe);
  self.resume_up_to(self.step_ - 1);
}

// ResumeFromSync may do anything: call AtSync again, create, destroy or move elements.
void Balancer::resume_up_to(std::uint32_t step) {
  std::vector<std::pair<std::int32_t, std::uint32_t>> due;
  for (std::size_t i = 0; i < objects_.all().size(); ++i) {
    const ObjectRecords::Record& record = objects_.all()[i];
    if (record.element && record.state.in_sync && record.state.step <= step)
      due.emplace_back(static_cast<std::int32_t>(i), record.serial);
  }
  const Delivery* const outer = pe_.running;
  Meter& meter = objects_.meter();
  if (meter.is_on()) meter.begin(Meter::nobody);
  for (auto [number, serial] : due) {
    ObjectRecords::Record& record = objects_[number];
    if (record.serial != serial || !record.state.in_sync) continue;  // gone; one that was moved is resumed on arrival
    record.state.in_sync = false;
    record.state.resumed = record.state.step;
    ArrayElement* element = record.element;
    Delivery resumption;
    resumption.entry = static_cast<std::uint16_t>(entry_resumed_element);
    resumption.object = element;
    resumption.owner = ThreadOwner::of(element).key;
    pe_.running = &resumption;
    if (meter.is_on()) meter.go_on_with(number);
    ArrayElement* const caller = ObjectRecords::array_of(*element).in_sync(element);
    ObjectRecords::array_of(*element).set_in_sync(caller, false);
    caller->ResumeFromSync();
    pe_.running = outer;
  }
  meter.end();
  tell_when_ready();
}

// --- another tree ----------------------------------------------------------------------------------------------------

void Balancer::configure_tree(const std::string& text) {
  if (!options().has_tree())
    fatal("configureTreeLB() is called, and no balancer of this run is TreeLB", describe_running(pe_),
          "it says anew what a treelb.json has said", "+balancer TreeLB, or charmc -balancer TreeLB");
  set_tree(text, step_, describe_running(pe_));
  std::vector<char> bytes(sizeof step_ + text.size());
  std::memcpy(bytes.data(), &step_, sizeof step_);
  std::copy(text.begin(), text.end(), bytes.begin() + sizeof step_);
  send_bytes(center_of(pe_), entry_set_tree, bytes);
}
void Balancer::on_set_tree(Pe& pe, Delivery& call) {
  const auto* const text = static_cast<const char*>(call.arguments) + sizeof(std::uint32_t);
  Balancer::of(pe).coordinator_->set_tree(call.read<std::uint32_t>(), std::string(text, call.end()));
}
void Balancer::announce_tree(const std::string& text) {
  for (int pe = 0; pe < pe_.process.pes(); ++pe) send_bytes(pe, entry_tree, {text.begin(), text.end()});
}
void Balancer::on_tree(Pe& pe, Delivery& call) {
  Balancer& self = Balancer::of(pe);
  set_tree({static_cast<const char*>(call.arguments), call.length}, self.step_, "");
  if (!self.objects_.empty()) self.objects_.measure(self.step_);  // its strategies may want messages counted
}

// --- balancing at any time -------------------------------------------------------------------------------------------

void Balancer::start_step() {
  // Where the program may make a balancer, PE 0 has perhaps, and this process has not heard of it: the step waits.
  if (!options().can_begin(next_) && class_balancers().empty())
    fatal("CkStartLB() is called, and there is no balancer", describe_running(pe_),
          "what waits for the end of its step would wait for good", "name one with +balancer or charmc -balancer");
  call(center_of(pe_), entry_start, next_);
}
void Balancer::start_any_step() { call(center_of(pe_), entry_start, Coordinator::any_step); }
void Balancer::ask_loads_now(int pe, int group) {
  call_with(pe, entry_collect_now, Asked{entry_collect_now, group, true});
}
void Balancer::order_sleep(int pe) { call(pe, entry_sleep); }
void Balancer::announce_period(double seconds) {
  for (int pe = 0; pe < pe_.process.pes(); ++pe) call_with(pe, entry_period, seconds);
}

void Balancer::on_start(Pe& pe, Delivery& call) { Balancer::of(pe).coordinator_->begin(call.read<std::uint32_t>()); }

void Balancer::set_period(double seconds) {
  check_period(seconds, "LBSetPeriod(" + std::to_string(seconds) + ")", describe_running(pe_));
  if (seconds < 0 && !all_take_part_) return;  // there has been none
  period_ = seconds;
  call_with(center_of(pe_), entry_set_period, seconds);
}
void Balancer::on_set_period(Pe& pe, Delivery& call) { Balancer::of(pe).coordinator_->set_period(call.read<double>()); }
void Balancer::on_period(Pe& pe, Delivery& call) {
  Balancer& self = Balancer::of(pe);
  self.period_ = call.read<double>();
  self.take_all();
}

void Balancer::balancer_is_made(int group) {
  if (!objects_.empty()) objects_.measure(step_);
  if (put_off_ && put_off_->group == group) {
    // It is still being made: its last constructor is to run.
    call_with(pe_.index, put_off_->entry, *put_off_);
    put_off_.reset();
  }
  if (coordinator_) coordinator_->take_up();
}

void Balancer::take_all() {
  if (all_take_part_) return;
  all_take_part_ = true;
  for (const ObjectRecords::Record& record : objects_.all())
    if (record.element) refuse_at_sync(*record.element);
  pe_.objects->for_each_array([&](ArrayPart& array) {
    for (ArrayElement* element : static_cast<ArrayManager&>(array).elements())
      if (record_of(*element) < 0) born(*element);
  });
}
void Balancer::refuse_at_sync(const ArrayElement& element) const {
  if (!element.ckUsesAtSync()) return;
  const ArrayManager& array = array_manager(element.ckGetArrayID());
  fatal(array.describe(element.ckGetID()) + " sets usesAtSync, but balancing moves elements at any time",
        "PE " + std::to_string(pe_.index),
        "+LBPeriod, LBSetPeriod() or CkStartLB() asks for that; AtSync() is for elements that can be moved there only",
        "leave that away, or don't set usesAtSync where pup() is right at any time");
}

void Balancer::refuse_at_barrier() const {
  if (!all_take_part_) return;
  fatal("CkSyncBarrier's atBarrier() is called, but balancing moves elements at any time", describe_running(pe_),
        "+LBPeriod, LBSetPeriod() or CkStartLB() asks for that; then there is no AtSync to wait with",
        "leave that away, or don't wait where LBManager::GetLBPeriod() is not -1");
}

// What runs during the step counts for the next one.
void Balancer::on_collect_now(Pe& pe, Delivery& call) {
  Balancer& self = Balancer::of(pe);
  if (!self.puts_off(call.read<Asked>())) self.collect_now();
}
void Balancer::collect_now() {
  take_all();
  begin_step();
  const Count count = this->count();
  collected_ = own_loads();
  clear_loads();
  ran_ = sleeping_ = false;
  objects_.meter().when_something_runs([](void* self) { static_cast<Balancer*>(self)->something_runs(); }, this);
  send_loads(count, collected_);
}
void Balancer::something_runs() {
  ran_ = true;
  if (std::exchange(sleeping_, false)) call(center_of(pe_), entry_awake);
}
void Balancer::on_sleep(Pe& pe, Delivery&) {
  Balancer& self = Balancer::of(pe);
  self.sleeping_ = true;
  if (self.ran_) self.something_runs();
}
void Balancer::on_awake(Pe& pe, Delivery&) { Balancer::of(pe).coordinator_->awake(); }

Part part() {
  Part part{"load balancing", Balancer::register_entries, take_options};
  part.begin = [](Pe& pe) {
    resolve(pe);
    pe.objects->balance = new Balancer(pe);
  };
  part.start = [](Pe& pe) {
    make_balancers(pe);
    if (options().simulated_first < 0) return false;
    if (pe.index == 0) {
      simulate();
      request_exit(0);
    }
    return true;  // instead of the program
  };
  return part;
}
}  // namespace periapt::loadbalance
