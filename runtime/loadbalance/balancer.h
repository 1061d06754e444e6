// AtSync on one PE, balancing at any time, and the coordinator on one of them.
//
// A step at AtSync: every element that takes part calls AtSync; their loads go to the coordinator; a strategy says
// which move where; when everything has arrived, every element is resumed on its PE.
//
// Have all called? Each PE knows of its own elements only, while others are created, or on their way between PEs. A PE
// whose elements have all called tells the coordinator (`ready`), which then asks all PEs (`probe`, answered by a
// `Count`). It goes on when two rounds of answers, one begun after the other ended, agree: all ready, as many elements
// received as sent, the same arrays known everywhere. (Two equal rounds because one alone may see an element's
// arrival but not its departure: F. Mattern, "Algorithms for distributed termination detection", 1987.) The second
// round brings the loads (`collect`). A PE that has answered that it isn't ready says so again when it is.
//
// Every element carries the step that it waits in and the last one it was resumed from. So it is resumed exactly once,
// however it is moved, and one that arrives where the others were resumed already is resumed on arrival.
//
// A step can be held when all have called (hold_next_step()), before anything else happens: runtime/resize writes a
// checkpoint then. Elements that wait come back from it as they were (waits_again()), and their step begins anew.
//
// With a strategy whose PEs decide for themselves (StrategyInfo::member) a step brings no loads to the coordinator,
// where nothing else there reads them. Its members agree by messages (`agree`); then each PE asks the homes of the
// objects that are to come to it (`claim`), and has settled when they are there. The coordinator only begins such a
// step and ends it.
//
// What is no element may wait too: the clients of CkSyncBarrier (sync_barrier.h). They count like elements until the
// step begins, and no strategy hears of them.
//
// Balancing at any time (+LBPeriod, LBSetPeriod(), CkStartLB()): all elements take part, none calls AtSync, and the
// program goes on during a step. The coordinator asks all PEs for loads at once (`collect_now`) and orders moves; an
// element that is no longer where it was seen, or is held there, is reported as missing and stays. Where an element is
// named by two PEs, it has moved between their answers: merge_twins(). A step that finds no load puts balancing to
// sleep: there is no timer and no message until an entry of an element runs somewhere (`awake`), so that a program in
// which nothing moves any more is seen to stand still.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/loadbalance/database.h"
#include "runtime/loadbalance/member.h"
#include "runtime/loadbalance/object_records.h"
#include "runtime/loadbalance/sync_barrier.h"
#include "runtime/objects/balance_hook.h"
#include "runtime/objects/pe_objects.h"

namespace periapt {
class MigrationBatch;
}
class LBPredictorFunction;

namespace periapt::loadbalance {

// What a PE answers.
struct Count {
  std::uint32_t members = 0, waiting = 0;  // elements that take part, and clients; in AtSync
  std::uint64_t sent = 0, received = 0;    // elements of any array
  std::uint64_t arrays = 0;
  double busy = 0;            // seconds of this interval, for +MetaLB
  std::uint32_t clients = 0;  // of the members
  std::uint32_t own = 0;      // objects of the program's own, which move too
  bool ready() const { return members == waiting; }
};

class Coordinator;
struct LoadModelInfo;

class Balancer : public BalanceHook {
 public:
  // Of an object: the element of this array, or one bound to it.
  struct Move {
    std::int32_t array, to;
    std::uint64_t element;
  };

  explicit Balancer(Pe& pe);
  ~Balancer() override;
  static Balancer& of(const Pe& pe) { return *static_cast<Balancer*>(pe.objects->balance); }
  static void register_entries();

  // --- BalanceHook ---
  void born(ArrayElement& element) override;
  void arrived(ArrayElement& element, const BalanceTravel& travel) override;
  void died(ArrayElement& element) override;
  BalanceTravel left(ArrayElement& element) override;
  void at_sync(ArrayElement& element, ArrayElement& caller) override;
  bool waits(const ArrayElement& element) const override;
  void waits_again(ArrayElement& element, double seconds) override;
  void remade() override;
  void hold_next_step() override;
  void go_on() override;
  double load(const ArrayElement& element) const override { return objects_.load(element); }
  void set_load(ArrayElement& element, double seconds) override { objects_.set_load(element, seconds); }
  std::size_t waiting() const override { return waiting_ + barrier_.waiting(step_); }
  std::string describe_waiting() const override;

  // --- for the coordinator ---
  // What the others are asked waits for their member of `group`, the balancer of the step (0: it has no members), where
  // the program has made that and the member is still to be made: so all of them are told of the same steps.
  void ask_count(int pe);
  void ask_loads(int pe, int group, bool loads);
  void order(int pe, const std::vector<Move>& moves, int expected);
  // Before the end of a step at any time is told anywhere, all PEs know that it is over: what follows from the end may
  // reach a PE that has not been told it yet, and StartLB() asks for the next step there.
  void tell_over(int pe, int group);
  // What the end of a step is on each PE.
  struct Resumption {
    std::uint32_t step;
    int group;         // the balancer's
    bool balanced;     // false: the balancer has said no
    bool at_any_time;  // and so will be those that follow
    bool clients;      // of a step at any time: those of CkSyncBarrier are resumed
  };
  void order_resume(int pe, const Resumption& resumption);
  void ask_loads_now(int pe, int group);
  void order_sleep(int pe);
  void announce_period(double seconds);
  void announce_tree(const std::string& text);
  // Balancers whose members agree by messages: each PE is asked, and answers with what leaves it. (Of a strategy's
  // members, which have no group: with what comes to it.)
  void ask_decision(int pe, int group);
  void decided(const std::vector<Move>& moves);
  // The same, but nothing is answered: objects move as their PEs have decided, and each PE settles.
  void ask_to_balance(int pe);

  // --- for CkSyncBarrier ---
  CkSyncBarrier& barrier() { return barrier_; }
  // The last step that this PE's part of is told, or that is over.
  int epoch() const { return static_cast<int>(step_) - 1 + closed_; }
  // A client has come, or gone.
  void barrier_changed() { tell_when_ready(); }
  void refuse_at_barrier() const;

  // --- objects on this PE ---
  ObjectManagers& own_objects() { return objects_.own(); }
  LDObjHandle add_own(const LDOMHandle& manager, CmiUInt8 id, void* user, bool migratable);
  void remove_own(const LDObjHandle& object) { objects_.remove_own(object); }
  // It has come from another PE; by the order of a step, if it `is_awaited`.
  void own_arrived(const LDObjHandle& object, bool is_awaited);
  const Meter& meter() const { return objects_.meter(); }
  bool measures() const { return objects_.meter().is_on(); }
  GpuTimes& gpu_times() { return objects_.gpu_times(); }
  LoadDatabase own_loads() { return objects_.loads(step_); }

  // Of the whole run: from the next step on, on whichever PE it is said.
  void configure_tree(const std::string& text);

  // --- balancing at any time ---
  // Of the whole run, and a little later on other PEs; -1: none.
  void set_period(double seconds);
  double period() const { return period_; }
  // Asks the coordinator; nothing happens while a step is in progress, as this PE knows it or the coordinator.
  void start_step();
  // For tests: the step that the next StartLB() here asks for.
  std::uint32_t asks_for() const { return next_; }
  // The coordinator, of itself.
  void start_any_step();
  // The program has made its balancer's member here: what that is to see is measured, and a period begins.
  void balancer_is_made(int group);
  // All elements here take part, and none may call AtSync.
  void take_all();

  // "Piece[3]", where its array is known here.
  static std::string describe(const ObjectLoad& object);
  void set_position(ArrayElement& element, Position position);
  // How its load is spread over the program's phases.
  void set_phases(ArrayElement& element, const PhaseParts& parts);
  int claim_user_data(int bytes) { return objects_.claim_user_data(bytes); }
  char* user_data(ArrayElement& element);
  // By PE, after the last decision; empty where none was made or asked for.
  std::vector<double> expected_loads;
  // How many balancings this PE has been through.
  int balancings() const { return static_cast<int>(step_) - 1; }
  void turn_instrument(bool on);
  void turn_communication(bool on);
  bool counts_communication() const { return objects_.counts_communication(step_); }
  // A load model of the program's own, on the PE that decides; null: the line of +LBPredictor. 0 intervals: none.
  void set_predictor(LBPredictorFunction* function, int window);
  // Another function, where there is one.
  void change_predictor(LBPredictorFunction* function);
  void clear_loads() { objects_.clear_loads(); }

  // What the program wants to be called, by handle.
  class Calls {
   public:
    int add(std::function<void()> fn);
    void turn(int handle, bool on);
    void remove(int handle) { calls_.at(static_cast<std::size_t>(handle)).fn = nullptr; }
    // They may add others, which are not called this time.
    void call() const;

   private:
    struct Call {
      std::function<void()> fn;
      bool on = true;
    };
    std::vector<Call> calls_;
  };
  Calls at_begin, at_end;  // of a step

 private:
  static void on_ready(Pe&, Delivery&);
  static void on_probe(Pe&, Delivery&);
  static void on_count(Pe&, Delivery&);
  static void on_collect(Pe&, Delivery&);
  static void on_loads(Pe&, Delivery&);
  static void on_assign(Pe&, Delivery&);
  static void on_missing(Pe&, Delivery&);
  static void on_settled(Pe&, Delivery&);
  static void on_ask_decision(Pe&, Delivery&);
  static void on_decided(Pe&, Delivery&);
  static void on_claimed(Pe&, Delivery&);
  static void on_agree(Pe&, Delivery&);
  static void on_claim(Pe&, Delivery&);
  static void on_over(Pe&, Delivery&);
  static void on_heard(Pe&, Delivery&);
  static void on_resume(Pe&, Delivery&);
  static void on_late(Pe&, Delivery&);
  static void on_start(Pe&, Delivery&);
  static void on_set_tree(Pe&, Delivery&);
  static void on_tree(Pe&, Delivery&);
  static void on_set_period(Pe&, Delivery&);
  static void on_period(Pe&, Delivery&);
  static void on_collect_now(Pe&, Delivery&);
  static void on_sleep(Pe&, Delivery&);
  static void on_awake(Pe&, Delivery&);
  static void on_hold(Pe&, Delivery&);
  static void on_go_on(Pe&, Delivery&);

  std::int32_t add(ArrayElement& element, const BalanceTravel& travel);
  void remove(ArrayElement& element);
  void call(int to, int entry, std::uint32_t value = 0);
  template <class T>
  void call_with(int to, int entry, const T& value);
  void send_bytes(int to, int entry, const std::vector<char>& bytes);

  // What a PE is asked, or told, and which entry of ours does that.
  struct Asked {
    int entry, group;
    bool loads;
  };
  bool puts_off(const Asked& asked);
  void begin_step();
  Count count();
  void tell_when_ready();
  void collect(bool loads);
  void send_loads(const Count& count, LoadDatabase& own);
  void refuse_at_sync(const ArrayElement& element) const;
  void collect_now();
  void something_runs();
  Member& member();
  void begin_member(bool reports);
  void member_decided(const std::vector<Claim>& claims, const std::string& wrong);
  void claim(std::vector<Claim> claims);
  void assign(std::vector<Move> moves, int expected);
  void move_away(const Move& move, MigrationBatch& batch);
  void tell_when_settled();
  void resume_up_to(std::uint32_t step);

  Pe& pe_;
  ObjectRecords objects_;
  LBPredictorFunction* predictor_ = nullptr;
  int predictor_window_ = 0;
  std::uint32_t waiting_ = 0;  // elements in AtSync
  CkSyncBarrier barrier_{*this};

  std::uint32_t step_ = 1;  // the one we are in or before
  std::uint32_t next_ = 1;  // that StartLB() asks for: `step_`, or the one behind it when all know that it is over
  std::optional<Asked> put_off_;  // until our member of a balancer is made
  bool closed_ = false;           // our part of it is told: later calls are for the next
  bool told_ = false;             // that we are ready
  bool began_ = false;            // at_begin has been called
  std::uint32_t told_waiting_ = 0;
  bool moving_ = false;  // from the first order or arrival of a step's moves to its end
  bool assigned_ = false;
  int expected_ = 0;  // elements that still come
  double period_ = -1;
  bool ran_ = false, sleeping_ = false;  // since the last loads at any time: an entry of an element; we are to tell
  // What was told last, for members that decide by themselves: loads at any time, or those of this step.
  LoadDatabase collected_;
  std::unique_ptr<Member> member_;            // of a strategy, in this step
  bool reports_ = false;                      // the coordinator carries out what it decides
  std::unique_ptr<Coordinator> coordinator_;  // on one PE
};

}  // namespace periapt::loadbalance
