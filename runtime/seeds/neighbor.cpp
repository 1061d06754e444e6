// neighbor: the PEs lie in a mesh, and know of each of their up to four neighbours how many seeds wait there. One with
// more than the average of itself and its neighbours gives the rest to those that have fewer.
//
// A PE tells its neighbours when its number has doubled, or halved, since it told them last, and when it has nothing
// more to do; so it sends nothing while no seed comes or goes. It also says how many seeds have come from the one that
// hears it, which adds those that were on the way.
#include <algorithm>
#include <vector>

#include "runtime/scheduler/process.h"
#include "runtime/seeds/pool.h"

namespace periapt::seeds {

namespace {
class Neighbor final : public Policy {
 public:
  explicit Neighbor(Pool& pool) : pool_(pool) {
    const int me = pool.pe.index, pes = pool.pe.process.pes();
    int rows = 1;
    while ((rows + 1) * (rows + 1) <= pes) ++rows;
    const int columns = (pes + rows - 1) / rows, column = me % columns;
    if (column > 0) neighbors_.push_back({me - 1});
    if (column + 1 < columns && me + 1 < pes) neighbors_.push_back({me + 1});
    if (me >= columns) neighbors_.push_back({me - columns});
    if (me + columns < pes) neighbors_.push_back({me + columns});
  }

  void changed() override {
    told_all_ = false;
    balance();
    const std::size_t now = pool_.size();
    if (now > 2 * told_ + 1 || (now > 0 && 2 * now < told_)) tell(now);
  }
  void idle() override {
    if (!told_all_ && pool_.size() == 0) tell(0);
  }
  void came(int from) override {
    for (Other& other : neighbors_) other.taken += other.pe == from;
  }
  void heard(const Word& word) override {
    for (Other& other : neighbors_)
      if (other.pe == word.from) other.load = static_cast<std::size_t>(word.number + other.given - word.second);
    balance();
  }

 private:
  struct Other {
    int pe;
    std::size_t load = 0;               // as it said last, and what it was given since
    std::int64_t given = 0, taken = 0;  // in all: from here, and from there
  };

  void tell(std::size_t load) {
    told_ = load;
    told_all_ = true;
    for (const Other& other : neighbors_)
      pool_.tell(other.pe, {.number = static_cast<std::int64_t>(load), .second = other.taken}, Pool::Hurry::at_once);
  }

  void balance() {
    std::size_t sum = pool_.size();
    if (sum < 2) return;
    for (const Other& other : neighbors_) sum += other.load;
    const std::size_t average = sum / (neighbors_.size() + 1);
    for (Other& other : neighbors_) {
      if (pool_.size() <= std::max<std::size_t>(average, 1)) return;
      if (other.load >= average) continue;
      const std::size_t given = std::min(average - other.load, pool_.size() - average);
      other.load += given;
      other.given += static_cast<std::int64_t>(given);
      pool_.give(other.pe, given);
    }
  }

  Pool& pool_;
  std::vector<Other> neighbors_;
  std::size_t told_ = 0;
  bool told_all_ = true;  // no seed has come or gone since
};
}  // namespace

std::unique_ptr<Policy> neighbor(Pool& pool) { return std::make_unique<Neighbor>(pool); }

}  // namespace periapt::seeds
