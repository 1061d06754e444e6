// Quiescence detection: no message is on its way and none is being worked on.
//
// PE 0 asks all PEs, over a tree, how many messages they have created and processed; a PE answers when its queues are
// empty. When two waves in a row give the same sums, and as many were processed as created, nothing can be moving: a
// message created between the two answers of a PE would have changed its count. (Mattern's four-counter method.)
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/api/callback.h"
#include "runtime/collective/sender.h"

namespace periapt {

class Quiescence {
 public:
  struct Counts {  // of messages
    std::uint64_t created = 0, processed = 0;
    bool operator==(const Counts& o) const { return created == o.created && processed == o.processed; }
  };
  // What is asked of the PE.
  class Host {
   public:
    virtual ~Host() = default;
    virtual Counts counts() const = 0;
    // Whether anything waits in its queues, or for room in those of others.
    virtual bool is_busy() const = 0;
    // Has receive() called with such a call when all that is queued has run: it is the least urgent there is.
    virtual void remind(int entry, std::uint64_t element) = 0;
    // Calls go_on() after a while.
    virtual void pause() = 0;
    // Quiescence has been reached, and all PEs that asked for it have been told.
    virtual void became_quiet() = 0;
  };

  Quiescence(Sender& sender, Host& host);
  // `function` has receive() called.
  static void register_entries(RuntimeFunction function);
  void receive(const Delivery& call);
  // Calls back once when all is quiet. Any PE.
  void start(const CkCallback& callback);
  // The Host has been asked for a pause that has not ended.
  bool pausing() const { return pausing_; }
  void go_on();

 private:
  void on_request(const CkCallback& callback);
  void on_answer(const Counts& counts);
  void begin_wave();
  void answer();
  void wave_done();
  void next_wave();

  Sender& sender_;
  Host& host_;
  const TreePlace place_;
  Counts sums_;                      // of the subtree, in this wave
  std::size_t answers_missing_ = 0;  // children and this PE
  // PE 0
  Counts last_;
  bool have_last_ = false, running_ = false, pausing_ = false;
  int waves_ = 0;
  std::vector<CkCallback> callbacks_;
};

}  // namespace periapt
