// See mailbox.h.
#include "runtime/sdag/mailbox.h"

#include "runtime/sdag/bodies.h"

namespace periapt::sdag {

bool Mailbox::in_two_lists(Key key) { return !is_any(key) && wants_any(entry_of(key)); }

Held* Mailbox::first_hashed(Key key) {
  Held* const* found = by_key_.find(key);
  return found ? *found : nullptr;
}

void Mailbox::add_to_many(Held* held) {
  if (!hashed_) hash_all();
  ++size_;
  add_hashed(held);
}

void Mailbox::remove_hashed(Held* held) {
  if (in_two_lists(held->key)) remove_from(without_number(held->key), held);
  remove_from(held->key, held);
  hashed_ = size_ != 0;
}

void Mailbox::hash_all() {
  hashed_ = true;
  auto visit = [this](Held& held) { add_hashed(&held); };
  for_each_of(first_, Held::of_entry, visit);
  first_ = last_ = nullptr;
}

void Mailbox::add_hashed(Held* held) {
  if (in_two_lists(held->key)) add_to(without_number(held->key), held);
  add_to(held->key, held);
}

void Mailbox::add_to(Key key, Held* held) {
  const List list = list_of(key);
  const auto [first, made] = by_key_.try_emplace(key, held);
  if (made) {
    held->in(list) = {held, nullptr};
    return;
  }
  Held::Neighbours& head = (*first)->in(list);
  held->in(list) = {head.before, nullptr};
  head.before->in(list).behind = held;
  head.before = held;
}

void Mailbox::remove_from(Key key, Held* held) {
  const List list = list_of(key);
  const Held::Neighbours at = held->in(list);
  if (at.before == held) {  // the only one
    by_key_.erase(key);
    return;
  }
  Held*& first = *by_key_.find(key);
  if (first == held)
    first = at.behind;
  else
    at.before->in(list).behind = at.behind;
  (at.behind ? at.behind : first)->in(list).before = at.before;
}

}  // namespace periapt::sdag
