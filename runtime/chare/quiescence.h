// Quiescence detection: no message is on its way and none is being worked on.
//
// PE 0 asks all PEs, over a tree, how many messages they have created and processed; a PE answers when its queues are
// empty. When two waves in a row give the same sums, and as many were processed as created, nothing can be moving: a
// message created between the two answers of a PE would have changed its count. (Mattern's four-counter method.)
#pragma once
#include <vector>

#include "runtime/chare/callback.h"
#include "runtime/chare/pe_objects.h"

namespace periapt {

class Quiescence {
 public:
  explicit Quiescence(PeObjects& objects);
  static void register_entries();
  // Calls back once when all is quiet. Any PE.
  void start(const CkCallback& callback);
  // A timer of ours runs until the next wave.
  bool pausing() const { return pausing_; }

 private:
  struct Sums {
    std::uint64_t created = 0, processed = 0;
    bool operator==(const Sums& o) const { return created == o.created && processed == o.processed; }
  };
  static void on_request(Pe&, Delivery&);
  static void on_wave(Pe&, Delivery&);
  static void on_answer(Pe&, Delivery&);
  void begin_wave();
  void answer();
  void answer_later();
  void wave_done();
  void next_wave();

  Pe& pe_;
  int parent_ = -1;
  std::vector<int> children_;
  Sums sums_;                        // of the subtree, in this wave
  std::size_t answers_missing_ = 0;  // children and this PE
  // PE 0
  Sums last_;
  bool have_last_ = false, running_ = false, pausing_ = false;
  int waves_ = 0;
  std::vector<CkCallback> callbacks_;
};

}  // namespace periapt
