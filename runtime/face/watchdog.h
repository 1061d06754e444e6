// The watchdog: says which objects wait for which when a run has come to a standstill.
//
// While PE 0 is idle it asks every PE, once a second, what it has counted and what waits there. When nothing has moved
// for a while, it collects sentences from all PEs: messages that wait for an element, group or chare that doesn't
// exist, unfinished reductions, threads that wait for a value. Messages that can never be delivered end the run; a
// standstill without any is told once, because something may still come from outside; so is any while a kernel may
// still send something (kernel_ports.h). A PE that works does not answer; one that has not answered for a long time
// while PE 0 was idle is told once as well. PERIAPT_STANDSTILL=end ends the run then too, as tests want it. `+watchdog
// N`: after N seconds; 0: never.
//
// A busy run pays one timer a second on PE 0, and nothing anywhere else.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/fatal.h"
#include "runtime/objects/pe_objects.h"

namespace periapt {

class Watchdog {
 public:
  explicit Watchdog(PeObjects& objects) : objects_(objects) {}
  static void register_entries();
  // Takes +watchdog out of the program's arguments. Before the PEs run.
  static void take_option(char** argv);
  static void switch_off();
  // PE 0: begins to watch.
  void start();
  // Of a run whose course is known: a standstill ends it, with that complaint, once this is set.
  static void end_at_standstill(const Complaint& complaint);
  // What waits on this PE, a line each; empty: nothing.
  static std::string explain(PeObjects& objects);
  // A library of chares says what waits in it on a PE, a line each. Called while the process starts.
  using Explainer = std::string (*)(int pe);
  static void also_explain(Explainer library);

 private:
  // What one PE says, and the sum over all.
  struct Answer {
    std::uint64_t created = 0, processed = 0;
    std::uint64_t undeliverable = 0;  // messages that wait for a receiver that doesn't exist here
    std::uint64_t waiting = 0;        // threads, and rounds of reductions that have begun
    double more_idle_s = 0;           // idle time less all other, until it looked, which may be late
    std::uint32_t may_move = 0;       // queued work, or a timer that may bring some
    std::uint32_t from_gpus = 0;      // what kernels may still send or bring to an end
  };
  static void on_ask(Pe&, Delivery&);
  static void on_answer(Pe&, Delivery&);
  static void on_explain(Pe&, Delivery&);
  static void on_explanation(Pe&, Delivery&);
  static Answer look(PeObjects& objects);

  void arm();
  void tick();
  void ask();
  void ask_all(int entry, int first);
  void wait_on();
  void tell_silent();
  void heard(int pe, const Answer& answer);
  void judge();
  void ask_for_explanations();
  void tell();

  PeObjects& objects_;
  // PE 0
  Answer sum_, last_;
  int missing_ = 0;             // answers, or explanations
  std::vector<bool> answered_;  // by PE
  int silent_looks_ = 0;        // in a row, at which nothing had come and PE 0 was idle
  bool armed_ = false;
  std::uint64_t asked_ns_ = 0, last_asked_ns_ = 0;
  std::uint64_t still_since_ns_ = 0;  // 0: something moved since the last look
  bool fatal_ = false, warned_ = false, silence_told_ = false;
  bool gpu_told_ = false;           // of a standstill that a kernel may end, which is another one
  std::vector<std::string> texts_;  // by PE
};

}  // namespace periapt
