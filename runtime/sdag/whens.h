// The whens of an object that wait. A few lie in one list, in the order in which they began to wait; once there are
// more, in a hash of (entry, reference number) until none waits. C++17.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/flat_map.h"
#include "base/platform.h"
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
  void add(Link* link) {
    if (PERIAPT_UNLIKELY(hashed_ || size_ == few_max)) return add_to_many(link);
    ++size_;
    add_to(few_, link);
  }
  void remove(Link* link) {
    --size_;
    if (link->before) link->before->behind = link->behind;
    if (link->behind) link->behind->before = link->before;
    if (PERIAPT_UNLIKELY(hashed_)) return remove_hashed(link);
    if (!link->before) few_.first = link->behind;
    if (!link->behind) few_.last = link->before;
  }

  // Those that a message with this key fits, the one that has waited longest first. Valid until one is added or
  // removed.
  class Fitting {
   public:
    Link* next() {
      if (PERIAPT_UNLIKELY(!few_)) return next_hashed();
      Link* const taken = number_;
      if (taken) number_ = first_fitting(taken->behind);
      return taken;
    }

   private:
    friend class Whens;
    Link* next_hashed();
    Link* first_fitting(Link* link) const {
      while (link && link->key != key_ && link->key != without_number(key_)) link = link->behind;
      return link;
    }
    Key key_ = 0;
    Link* number_ = nullptr;  // with a number, or, in one list, the next that fits
    Link* any_ = nullptr;
    bool few_ = true;
  };
  Fitting fitting(Key key) {
    Fitting out;
    out.key_ = key;
    out.few_ = !hashed_;
    if (PERIAPT_UNLIKELY(hashed_))
      find_hashed(out);
    else
      out.number_ = out.first_fitting(few_.first);
    return out;
  }

 private:
  static constexpr std::size_t few_max = 8;
  struct List {
    Link* first = nullptr;
    Link* last = nullptr;
  };
  static void add_to(List& list, Link* link) {
    link->before = list.last;
    link->behind = nullptr;
    (list.last ? list.last->behind : list.first) = link;
    list.last = link;
  }
  void hash_all();
  void add_to_many(Link* link);
  void remove_hashed(Link* link);
  void find_hashed(Fitting& fitting);

  List few_;
  FlatMap<List> by_key_;
  std::size_t size_ = 0;
  bool hashed_ = false;
};

}  // namespace periapt::sdag
