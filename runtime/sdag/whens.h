// The whens of an object that wait. A few lie in one list, in the order in which they began to wait; once there are
// more, in a hash of (entry, reference number) until none waits. C++17.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/flat_map.h"
#include "runtime/sdag/key.h"

namespace periapt::sdag {

class Frame;

// A when that waits for one entry: a frame has one for each entry that it waits for.
struct Link {
  Frame* frame;
  Link* before;
  Link* behind;
  Key key;
  std::uint64_t order;    // the same for all of a frame
  std::uint32_t step;     // of the when
  std::uint32_t awaited;  // in the procedure's table
};

class Whens {
 public:
  // Behind all that wait: its order is not smaller.
  void add(Link* link);
  void remove(Link* link);

  // Those that a message with this key fits, the one that has waited longest first. Valid until one is added or
  // removed.
  class Fitting {
   public:
    Link* next() { return number_ || any_ ? take() : nullptr; }

   private:
    friend class Whens;
    Link* take();
    Link* first_fitting(Link* link) const;
    Key key_ = 0;
    Link* number_ = nullptr;  // with a number, or, in one list, the next that fits
    Link* any_ = nullptr;
    bool few_ = true;
  };
  Fitting fitting(Key key);

 private:
  static constexpr std::size_t few_max = 8;
  struct List {
    Link* first = nullptr;
    Link* last = nullptr;
  };
  static void add_to(List& list, Link* link);
  void hash_all();

  List few_;
  FlatMap<List> by_key_;
  std::size_t size_ = 0;
  bool hashed_ = false;
};

}  // namespace periapt::sdag
