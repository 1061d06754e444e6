// workstealing: seeds stay where they are made. A PE that has nothing to do asks another one, by chance, for half of
// what waits there.
//
// After a few PEs that had nothing it asks its buddies to remember it, and is silent: each gives half of what comes to
// it later. The buddies of a PE are those 1, 2, 4 ... further on, so what comes anywhere reaches every idle PE in a
// logarithmic number of steps, and idle PEs send nothing. (Saraswat and others, Lifeline-based Global Load Balancing,
// PPoPP 2011.)
#include <algorithm>
#include <vector>

#include "runtime/scheduler/process.h"
#include "runtime/seeds/pool.h"

namespace periapt::seeds {

namespace {
class WorkStealing final : public Policy {
 public:
  explicit WorkStealing(Pool& pool) : pool_(pool) {
    for (int further = 1; further < pool.pe.process.pes(); further *= 2)
      buddies_.push_back({(pool.pe.index + further) % pool.pe.process.pes(), false});
  }

  void changed() override {
    if (!remembered_.empty()) [[unlikely]]
      give_to_remembered();
  }

  void idle() override {
    if (!asking_ && pool_.size() == 0) ask_next();
  }

  void heard(const Word& word) override {
    switch (word.kind) {
      case ask:
        if (!give_half(word.from)) pool_.tell(word.from, nothing, 0, Pool::Hurry::no);
        return;
      case remember_me:
        if (!give_half(word.from)) remembered_.push_back(word.from);
        return;
      case nothing:
        asking_ = false;
        if (pool_.size() == 0 && !pool_.pe.has_work()) ask_next();
        return;
      default:  // gave
        asking_ = false;
        tries_left_ = tries;
        for (Buddy& buddy : buddies_)
          if (buddy.pe == word.from) buddy.remembers = false;
    }
  }

 private:
  enum StealMessage { ask, remember_me, nothing, gave };
  static constexpr int tries = 2;
  struct Buddy {
    int pe;
    bool remembers;  // this PE: it has asked for that, and has got nothing since
  };

  void ask_next() {
    if (tries_left_ > 0) {
      --tries_left_;
      asking_ = true;
      return pool_.tell(pool_.other_by_chance(), ask, 0, Pool::Hurry::at_once);
    }
    for (Buddy& buddy : buddies_)
      if (!std::exchange(buddy.remembers, true)) pool_.tell(buddy.pe, remember_me, 0, Pool::Hurry::at_once);
  }

  // False: there are too few. One stays, as this PE would be idle next.
  bool give_half(int to) {
    const std::size_t half = pool_.size() / 2;
    if (half == 0) return false;
    pool_.give(to, half);
    pool_.tell(to, gave, 0, Pool::Hurry::no);
    return true;
  }
  void give_to_remembered() {
    while (!remembered_.empty() && give_half(remembered_.back())) remembered_.pop_back();
  }

  Pool& pool_;
  std::vector<Buddy> buddies_;
  std::vector<int> remembered_;  // PEs that have asked for that
  int tries_left_ = tries;       // until this PE has got something again
  bool asking_ = false;          // and has no answer yet
};
}  // namespace

std::unique_ptr<Policy> workstealing(Pool& pool) { return std::make_unique<WorkStealing>(pool); }

}  // namespace periapt::seeds
