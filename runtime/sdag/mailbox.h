// The messages of an object that no when has taken yet. A few lie in one list, in the order of their arrival; once
// there are more, they are found in a hash until none is left: by entry and reference number, and by entry where a when
// without a number may ask for them. C++17.
#pragma once
#include <cstddef>

#include "base/flat_map.h"
#include "runtime/sdag/held.h"

namespace periapt::sdag {

class Mailbox {
 public:
  // The earliest message with this key, or of its entry if the key has no number; null: none. The next one.
  Held* first(Key key) {
    if (size_ == 0) return nullptr;
    return hashed_ ? first_hashed(key) : fitting(first_, key);
  }
  Held* next(const Held* held, Key key) const {
    if (hashed_) return held->in(list_of(key)).behind;
    return fitting(held->in(Held::of_entry).behind, key);
  }
  void add(Held* held) {
    if (PERIAPT_UNLIKELY(hashed_ || size_ == few_max)) return add_to_many(held);
    ++size_;
    held->in(Held::of_entry) = {last_, nullptr};
    (last_ ? last_->in(Held::of_entry).behind : first_) = held;
    last_ = held;
  }
  void remove(Held* held) {
    --size_;
    if (PERIAPT_UNLIKELY(hashed_)) return remove_hashed(held);
    const Held::Neighbours at = held->in(Held::of_entry);
    (at.before ? at.before->in(Held::of_entry).behind : first_) = at.behind;
    (at.behind ? at.behind->in(Held::of_entry).before : last_) = at.before;
  }
  std::size_t size() const { return size_; }

  // visit(held) for each message, which it may destroy; those with one key in the order of their arrival.
  template <class Visit>
  void for_each(Visit&& visit) {
    if (!hashed_) return for_each_of(first_, Held::of_entry, visit);
    by_key_.for_each([&](Key key, Held* first) {
      if (is_any(key) || !in_two_lists(key)) for_each_of(first, list_of(key), visit);
    });
  }

 private:
  typedef Held::List List;
  static constexpr std::size_t few_max = 8;
  static List list_of(Key key) { return is_any(key) ? Held::of_entry : Held::of_number; }
  static bool fits(const Held* held, Key key) {
    return held->key == key || (is_any(key) && without_number(held->key) == key);
  }
  static Held* fitting(Held* held, Key key) {
    while (held && !fits(held, key)) held = held->in(Held::of_entry).behind;
    return held;
  }
  template <class Visit>
  static void for_each_of(Held* held, List list, Visit& visit) {
    while (held) {
      Held* const behind = held->in(list).behind;
      visit(*held);
      held = behind;
    }
  }
  static bool in_two_lists(Key key);
  Held* first_hashed(Key key);
  void hash_all();
  void add_to_many(Held* held);
  void add_hashed(Held* held);
  void remove_hashed(Held* held);
  void add_to(Key key, Held* held);
  void remove_from(Key key, Held* held);

  Held* first_ = nullptr;  // of the few
  Held* last_ = nullptr;
  FlatMap<Held*> by_key_;  // the first one, whose `before` is the last one
  std::size_t size_ = 0;
  bool hashed_ = false;
};

}  // namespace periapt::sdag
