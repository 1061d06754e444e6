// See location.h.
#include "runtime/array/location.h"

#include <algorithm>

#include "runtime/array/news.h"

namespace periapt {

namespace {
int entry_claim, entry_probe, entry_found, entry_claim_answer, entry_gone, entry_is_known, entry_known;
// PEs that one goes after what it is bound to before it asks the home again.
constexpr std::uint32_t follows_max = 8;
}  // namespace

void Location::register_entries(RuntimeFunction function) {
  entry_claim = register_runtime_entry("an element claims its index", function, ep_uncounted);
  entry_probe = register_runtime_entry("is an index taken", function, ep_uncounted);
  entry_found = register_runtime_entry("whether an index is taken", function, ep_uncounted);
  entry_claim_answer = register_runtime_entry("where an element belongs", function);
  entry_gone = register_runtime_entry("element is gone", function, ep_uncounted);
  entry_is_known = register_runtime_entry("may a hint be forgotten", function, ep_uncounted);
  entry_known = register_runtime_entry("whether a hint may be forgotten", function, ep_uncounted);
}

void Location::receive(const Delivery& call) {
  const std::uint64_t id = call.element;
  if (call.entry == entry_claim) return on_claim(id, call.read<Claim>());
  if (call.entry == entry_probe) return on_probe(id, call.read<Probe>());
  if (call.entry == entry_found) return on_found(id, call.read<Found>());
  if (call.entry == entry_claim_answer) return on_claim_answer(id, call.read<ClaimAnswer>());
  if (call.entry == entry_gone) return gone(id, call.read<Gone>());
  if (call.entry == entry_is_known) return on_is_known(call);
  for_each_item<Known>(call, [&](const Known& answer) { heard_known(answer); });
}

ArrayHost* Location::here(std::uint64_t id) const {
  for (ArrayHost* array : bound)
    if (array->has(id)) return array;
  return nullptr;
}

// --- hints -----------------------------------------------------------------------------------------------------------

bool Location::learn(std::uint64_t id, int pe, Age age, bool arrived, int home) {
  const Hint news{pe, age, static_cast<std::uint32_t>(home), arrived};
  auto [hint, made] = hints_.try_emplace(id, news);
  ++changes_;
  if (made) {
    if (home == sender_.me) return true;
    oldest_.push_back(id);
    make_room();
    return true;
  }
  if (!age.younger_than(hint->age)) return false;
  *hint = news;
  return true;
}

// Many at a time, as a message to a home is for all that it is asked about; and twice as many as have come since the
// last time.
void Location::make_room() {
  const std::size_t slack = hints_slack();
  if (oldest_.size() <= hints_kept + slack) return;
  News<Known> questions;
  for (std::size_t i = 0; i < 2 * (slack + 1) && oldest_.size() > hints_kept; ++i) {
    const std::uint64_t id = oldest_.front();
    oldest_.pop_front();
    if (const Hint* hint = find(id)) questions.add(static_cast<int>(hint->home), {id, hint->age, sender_.me, 0});
  }
  questions.send(sender_, entry_is_known, collection());
}

void Location::doubt(std::uint64_t id, int pe) {
  const Hint* hint = find(id);
  const int to = hint ? static_cast<int>(hint->home) : sender_.me;
  if (to != sender_.me && hint->pe == pe)
    sender_.send(to, entry_is_known, collection(), id, Known{id, hint->age, sender_.me, 0});
}

// As a home: nothing younger than what is known here will be found by a hint of that age.
bool Location::knows(std::uint64_t id, Age age) const {
  if (ArrayHost* array = here(id)) {
    const Age own = array->age_of(id);
    if (!own.unconfirmed()) return !age.younger_than(own);
  }
  const Hint* record = find(id);
  return !record || !age.younger_than(record->age);  // without a record it has died
}

std::size_t Location::hints_of_others() const {
  std::size_t count = 0;
  hints_.for_each([&](std::uint64_t, const Hint& hint) { count += static_cast<int>(hint.home) != sender_.me; });
  return count;
}

// One that has come home is known there from now on.
void Location::confirm(std::uint64_t id, Age age) {
  Hint* hint = hints_.find(id);
  if (!hint || !(hint->age == age)) return;
  if (hint->pe == static_cast<std::int32_t>(hint->home)) return forget(id);
  hint->arrived = true;
}

void Location::set_out(std::uint64_t id, int to) {
  Hint* hint = hints_.find(id);
  if (hint && hint->pe == sender_.me) hint->pe = to;
  ++changes_;
}

// Without a record it has come here meanwhile, or has died.
void Location::moved(std::uint64_t id, int pe, Age age) {
  if (!find(id)) return;
  learn(id, pe, age, true, sender_.me);
  release_waiting(id);
}

void Location::release_waiting(std::uint64_t id) {
  for (ArrayHost* array : bound) array->release_waiting(id);
}

// --- births and deaths: where the element is -------------------------------------------------------------------------

Age Location::birth(ArrayHost& array, std::uint64_t id, const CkArrayIndex& index, bool at_home) {
  if (bound.size() > 1)
    if (ArrayHost* other = here(id)) return other->age_of(id);
  const bool home_here = at_home || home(index) == sender_.me;
  if (home_here && !find(id) && !is_claimed(id)) return {deaths_, 0};
  if (!home_here) forget(id);
  claim(array, id, index);
  return {};
}

Age Location::begin_life(std::uint64_t id, int pe) {
  const Age age{deaths_, 0};
  if (pe != sender_.me) learn(id, pe, age, true, sender_.me);
  release_waiting(id);
  return age;
}

void Location::claim(ArrayHost& array, std::uint64_t id, const CkArrayIndex& index) {
  set_age(id, {});
  const Claim claim{index, array.id().index(), sender_.me, ++claims_made_};
  unconfirmed_[id] = {claim.serial, -1, &array};
  sender_.begin_pending();
  array.claim_begins();
  // Always as a message: the element is not made yet.
  tell(home(index), entry_claim, id, claim);
}

void Location::rejoin(ArrayHost& array, std::uint64_t id, const CkArrayIndex& index, std::uint32_t follows) {
  const Hint* hint = find(id);
  if (hint && hint->pe != sender_.me && follows < follows_max) {
    array.migrate_element(id, hint->pe, follows + 1);
  } else {
    claim(array, id, index);
  }
}

void Location::set_age(std::uint64_t id, Age age) {
  for (ArrayHost* array : bound) array->set_age(id, age);
}

void Location::set_pending_migration(std::uint64_t id, int to) {
  Unconfirmed& one = unconfirmed_.at(id);
  if (to == sender_.me) to = -1;
  if (one.pending_migration < 0 && to >= 0) sender_.begin_pending();
  if (one.pending_migration >= 0 && to < 0) sender_.end_pending();
  one.pending_migration = to;
}

// It is no longer unconfirmed. Returns its pending migration, or -1.
int Location::close(std::uint64_t id) {
  auto found = unconfirmed_.find(id);
  const int pending = found->second.pending_migration;
  found->second.array->claim_ends();
  unconfirmed_.erase(found);
  if (pending >= 0) sender_.end_pending();
  return pending;
}

int Location::joined(std::uint64_t id, Age age) {
  set_age(id, age);
  return unconfirmed_.count(id) ? close(id) : -1;
}

void Location::on_claim_answer(std::uint64_t id, const ClaimAnswer& answered) {
  auto found = unconfirmed_.find(id);
  if (found == unconfirmed_.end() || found->second.serial != answered.serial) {
    // It has been joined, or has died: a life that was to begin here is given back.
    if (answered.what == Answer::begins && answered.home != sender_.me)
      tell(answered.home, entry_gone, id, Gone{answered.age, sender_.me, 0});
    return;
  }
  // (One that was joined and has moved on is taken for a second one there: it is not unconfirmed here any more.)
  // (The element that it was claimed for may have died, and its index be used again; those bound to it go there.)
  ArrayHost& claimant = *found->second.array;
  if (answered.what == Answer::taken && claimant.has(id)) claimant.refuse_second(claimant.index_of(id), answered.pe);
  const int pending = close(id);
  ArrayHost* array = here(id);
  if (answered.what == Answer::begins) {
    set_age(id, answered.age);
    if (pending >= 0) array->migrate_element(id, pending, 0);
    return;
  }
  const CkArrayIndex index = array->index_of(id);
  learn(id, answered.pe, answered.age, true, answered.home);
  array->migrate_element(id, answered.pe, 1);
  if (pending >= 0) array->order_migration(id, index, pending);
}

void Location::died(std::uint64_t id, const CkArrayIndex& index, Age age) {
  if (here(id)) return;                       // what it was bound to remains
  if (bound.size() > 1) release_waiting(id);  // what waited here for one that was to come to it
  Gone news{age, sender_.me, 0};
  if (age.unconfirmed()) {
    news.serial = unconfirmed_.at(id).serial;
    close(id);
  }
  const int to = home(index);
  if (to == sender_.me && !age.unconfirmed()) return gone(id, news);
  tell(to, entry_gone, id, news);  // behind its claim
}

// --- births and deaths: at home --------------------------------------------------------------------------------------

// The first claim of an index, and those behind it as long as there is an answer.
void Location::consider(std::uint64_t id) {
  for (auto list = claims_.find(id); list != claims_.end(); list = claims_.find(id)) {
    if (list->second.empty()) {
      claims_.erase(list);
      return;
    }
    const Claim claim = list->second.front();
    ArrayHost* array = here(id);
    const Age age = array ? array->age_of(id) : Age();
    if (!age.unconfirmed()) {
      answer(id, taken(id, claim) ? Answer::taken : Answer::joins, sender_.me, age);
    } else if (const Hint* record = find(id)) {
      return tell(record->pe, entry_probe, id, Probe{claim, record->age.life});
    } else {
      answer(id, Answer::begins, claim.pe, {deaths_, 0});
    }
  }
}

// To the first claim.
void Location::answer(std::uint64_t id, Answer what, int pe, Age age) {
  std::deque<Claim>& list = claims_.at(id);
  const Claim claim = list.front();
  list.pop_front();
  if (what == Answer::begins && pe != sender_.me) learn(id, pe, age, true, sender_.me);
  sender_.end_pending();  // of the claim: perhaps on another PE than it began
  const ClaimAnswer answered{what, claim.serial, pe, sender_.me, age};
  if (claim.pe == sender_.me) {
    on_claim_answer(id, answered);  // at once: the next claim is looked at with this one confirmed
  } else {
    tell(claim.pe, entry_claim_answer, id, answered);
  }
  release_waiting(id);
}

void Location::gone(std::uint64_t id, const Gone& gone) {
  if (gone.age.unconfirmed()) return withdraw(id, gone);
  const Hint* record = find(id);
  if (gone.pe != sender_.me && (!record || record->age.life != gone.age.life)) return;
  forget(id);
  ++deaths_;
  consider(id);
}
void Location::withdraw(std::uint64_t id, const Gone& gone) {
  auto list = claims_.find(id);
  if (list == claims_.end()) return;
  auto claim = std::find_if(list->second.begin(), list->second.end(),
                            [&](const Claim& c) { return c.pe == gone.pe && c.serial == gone.serial; });
  if (claim == list->second.end()) return;  // answered meanwhile
  const bool first = claim == list->second.begin();
  list->second.erase(claim);
  sender_.end_pending();
  if (first) consider(id);
}

bool Location::taken(std::uint64_t id, const Claim& claim) const {
  return claim.pe != sender_.me && std::any_of(bound.begin(), bound.end(), [&](ArrayHost* array) {
           return array->id().index() == claim.array && array->has(id);
         });
}

// --- messages --------------------------------------------------------------------------------------------------------

int Location::collection() const { return bound.front()->id().index(); }

template <class T>
void Location::tell(int pe, int entry, std::uint64_t id, const T& what) {
  sender_.send(pe, entry, collection(), id, what);
}

void Location::on_claim(std::uint64_t id, const Claim& claim) {
  std::deque<Claim>& list = claims_[id];
  list.push_back(claim);
  if (list.size() == 1) consider(id);
}

// On the PE of a record: is it there? One that is still unconfirmed here is another one: its claim waits behind this.
void Location::on_probe(std::uint64_t id, const Probe& probe) {
  Found found{probe.claim.pe, probe.claim.serial, -1, false, {}};
  ArrayHost* array = here(id);
  const Age age = array ? array->age_of(id) : Age();
  if (!age.unconfirmed() && age.life == probe.life) {
    found.pe = sender_.me;
    found.taken = taken(id, probe.claim);
    found.age = age;
  }
  tell(home(probe.claim.index), entry_found, id, found);
}

// Not there: it has moved on or died, and the news of that has come before this answer or is on its way.
void Location::on_found(std::uint64_t id, const Found& found) {
  auto list = claims_.find(id);
  if (list == claims_.end() || list->second.empty()) return;
  const Claim& claim = list->second.front();
  if (claim.pe != found.claimant || claim.serial != found.serial) return;  // withdrawn
  if (found.pe >= 0 && find(id)) answer(id, found.taken ? Answer::taken : Answer::joins, found.pe, found.age);
  consider(id);
}

void Location::on_is_known(const Delivery& call) {
  News<Known> answers;
  for_each_item<Known>(call, [&](Known question) {
    question.known = knows(question.id, question.age);
    answers.add(question.asker, question);
  });
  answers.send(sender_, entry_known, collection());
}

void Location::heard_known(const Known& answer) {
  const Hint* hint = find(answer.id);
  if (!hint || static_cast<int>(hint->home) == sender_.me) return;
  // (One that says "here" keeps what is sent to an element that has come, but cannot be made yet.)
  if (answer.known && hint->age == answer.age && hint->pe != sender_.me)
    forget(answer.id);
  else
    oldest_.push_back(answer.id);
}

}  // namespace periapt
