// See whens.h.
#include "runtime/sdag/whens.h"

namespace periapt::sdag {

void Whens::add_to(List& list, Link* link) {
  link->before = list.last;
  link->behind = nullptr;
  (list.last ? list.last->behind : list.first) = link;
  list.last = link;
}

void Whens::add(Link* link) {
  if (!hashed_ && size_ == few_max) hash_all();
  ++size_;
  add_to(hashed_ ? by_key_[link->key] : few_, link);
}

void Whens::remove(Link* link) {
  --size_;
  if (link->before) link->before->behind = link->behind;
  if (link->behind) link->behind->before = link->before;
  if (link->before && link->behind) return;
  List& list = hashed_ ? *by_key_.find(link->key) : few_;
  if (!link->before) list.first = link->behind;
  if (!link->behind) list.last = link->before;
  if (!hashed_) return;
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

Whens::Fitting Whens::fitting(Key key) {
  Fitting out;
  out.key_ = key;
  out.few_ = !hashed_;
  if (!hashed_) {
    out.number_ = out.first_fitting(few_.first);
    return out;
  }
  auto first = [this](Key of) {
    const List* list = by_key_.find(of);
    return list ? list->first : nullptr;
  };
  out.number_ = is_any(key) ? nullptr : first(key);
  out.any_ = first(without_number(key));
  return out;
}

Link* Whens::Fitting::first_fitting(Link* link) const {
  while (link && link->key != key_ && link->key != without_number(key_)) link = link->behind;
  return link;
}

Link* Whens::Fitting::take() {
  const bool number = !any_ || (number_ && number_->order < any_->order);
  Link*& at = number ? number_ : any_;
  Link* const taken = at;
  at = few_ ? first_fitting(taken->behind) : taken->behind;
  return taken;
}

}  // namespace periapt::sdag
