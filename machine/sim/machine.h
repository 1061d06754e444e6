// Machine: the simulated machine that a whole program runs on, in virtual time and in one thread. It knows PEs by
// number only, blocks by their length, and when what happens; runtime/scheduler runs the PEs and asks it which one is
// next:
//
//   while ((pe = machine.next()) >= 0) {     // its clock stands at the time of its turn
//     ... take() what has arrived, run one piece of work, send() ...
//     machine.done(...);                      // when it has more to do, or wants to be woken
//   }
//
// Each PE has a clock. What it runs takes its measured processor time (times `scale`), or a fixed cost. A message costs
// its sender and its receiver `o` of their time, and the network in between what the model says; within a node it takes
// `local` and no time of the PEs. Everything happens in the order of virtual time, equal times in the order in which
// they came up: with a fixed cost a run is the same each time.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "machine/sim/model.h"
#include "machine/sim/options.h"

namespace periapt::sim {

inline constexpr Time kNever = ~Time{0};

/// What a PE's time goes into.
enum class Account : std::uint8_t { work, balancing };

class Machine {
 public:
  explicit Machine(Options options);
  ~Machine();
  Machine(const Machine&) = delete;

  const Options& options() const { return options_; }
  const Model& model() const { return model_; }
  int pes() const { return static_cast<int>(pes_.size()); }
  /// "4096 PEs on 1024 simulated nodes: 3D torus 8x8x16".
  std::string describe() const;
  int node_of(int pe) const { return pe / options_.ppn; }

  // ---- the loop

  /// The PE whose turn is next. -1: nothing will ever happen again.
  int next();
  /// The end of the turn. `again_at`: when it wants the next one at the latest, whatever arrives (now(): at once).
  void done(Time again_at);
  /// The PE will have no more turns.
  void retire(int pe) { pes_[static_cast<std::size_t>(pe)].retired = true; }
  /// How long a PE waits that looks again and again for something that another PE of the node changes.
  static constexpr Time kPoll = 100 * kNs;

  // ---- within a turn

  /// The clock of the PE that runs; between turns, the time of the latest.
  Time now();
  int running() const { return running_; }
  /// A piece of work begins: what follows is on its account.
  void begin_work(Account account);
  bool has_begun_work() const { return worked_; }
  /// Takes the block over.
  void send(int to, std::uint64_t meta, void* block, std::uint64_t bytes);
  struct Arrival {
    std::uint64_t meta;
    void* block;
  };
  /// What has arrived for the PE that runs, in order. False: nothing more.
  bool take(Arrival* arrival);

  // ---- the end

  /// The program has come to its end: the time that counts.
  void note_end();
  Time end_time() const { return end_time_; }

  struct Usage {
    Time work = 0, balancing = 0, overhead = 0;
    Time busy() const { return work + balancing + overhead; }
  };
  const Usage& usage(int pe) const { return pes_[static_cast<std::size_t>(pe)].usage; }

  /// The chain of work and messages that ended last, each link of which had to wait for the one before.
  struct Chain {
    Time work = 0, network = 0;
    std::uint64_t messages = 0, bytes = 0, hops = 0;
  };
  const Chain& critical() const { return critical_; }
  std::uint64_t sent_within_nodes() const { return local_.messages; }
  std::uint64_t sent_again() const { return sent_again_; }
  std::uint64_t events() const { return events_; }

  /// For people, and as JSON.
  std::string summary() const;
  std::string json() const;

 private:
  struct Message {
    Message* next = nullptr;  // in an inbox or in the list of free ones
    int from, to;
    std::uint64_t meta;
    void* block;
    std::uint64_t bytes;
    Chain chain;
    Time sent;
  };
  struct PeState {
    Time clock = 0;
    Time turn_at = kNever;
    Message* first = nullptr;  // inbox
    Message** last = &first;
    bool waiting = true;  // had nothing to do at the end of its turn
    bool retired = false;
    Usage usage;
    Chain chain;  // that has led to its clock
  };
  enum class Kind : std::uint8_t { depart, arrive, turn };
  struct Event {
    Time at;
    std::uint64_t number;  // breaks ties
    Kind kind;
    int pe;
    Message* message;
  };
  static bool later(const Event& a, const Event& b) { return a.at != b.at ? a.at > b.at : a.number > b.number; }

  void push(Time at, Kind kind, int pe, Message* message);
  void want_turn(int pe, Time at);
  void depart(const Event& event);
  void arrive(const Event& event);
  bool begin_turn(const Event& event);
  void charge(Time time);
  void charge_overhead();
  void measure();
  bool happens(double probability);
  Message* new_message();

  Options options_;
  Model model_;
  std::vector<PeState> pes_;
  std::vector<Event> events_queue_;  // a heap, the next one first
  std::uint64_t next_number_ = 0;
  std::deque<Message> all_messages_;
  Message* free_messages_ = nullptr;
  std::mt19937_64 random_;

  int running_ = -1;
  bool worked_ = false;
  Account account_ = Account::work;
  std::uint64_t measured_from_ = 0;  // real processor time, ns
  std::uint64_t measuring_ns_ = 0;   // what a look at that clock takes
  Time latest_ = 0;
  std::unordered_map<std::uint64_t, Time> latest_between_;  // arrivals, by pair of nodes; only with faults

  Time end_time_ = 0;
  Chain critical_;
  Model::Traffic local_;
  std::uint64_t sent_again_ = 0;
  std::uint64_t events_ = 0;
};

}  // namespace periapt::sim
