// See whens.h.
#include "runtime/sdag/whens.h"

namespace periapt::sdag {

void Whens::add_to_many(Link* link) {
  if (!hashed_) hash_all();
  ++size_;
  add_to(by_key_[link->key], link);
}

// Its neighbours know already.
void Whens::remove_hashed(Link* link) {
  if (link->before && link->behind) return;
  List& list = *by_key_.find(link->key);
  if (!link->before) list.first = link->behind;
  if (!link->behind) list.last = link->before;
  if (!list.first) by_key_.erase(link->key);
  hashed_ = size_ != 0;
}

void Whens::hash_all() {
  hashed_ = true;
  for (Link* link = few_.first; link;) {
    Link* const behind = link->behind;
    add_to(by_key_[link->key], link);
    link = behind;
  }
  few_ = {};
}

void Whens::find_hashed(Fitting& fitting) {
  auto first = [this](Key of) {
    const List* list = by_key_.find(of);
    return list ? list->first : nullptr;
  };
  fitting.number_ = is_any(fitting.key_) ? nullptr : first(fitting.key_);
  fitting.any_ = first(without_number(fitting.key_));
}

Link* Whens::Fitting::next_hashed() {
  if (!number_ && !any_) return nullptr;
  const bool number = !any_ || (number_ && number_->order < any_->order);
  Link*& at = number ? number_ : any_;
  Link* const taken = at;
  at = taken->behind;
  return taken;
}

}  // namespace periapt::sdag
