// See array_broadcasts.h.
#include "runtime/array/array_broadcasts.h"

#include <algorithm>
#include <cassert>

#include "runtime/registry/packing.h"

namespace periapt {

namespace {
int entry_arrived, entry_low_water_mark;

// Kept broadcasts are looked through for ones that can go once in so many, and so many bytes of them: what is kept is
// memory that the next broadcast could use while it is in the cache.
constexpr std::uint32_t broadcasts_unasked_max = 16;
constexpr std::uint64_t bytes_unasked_max = 256 << 10;
// Elements that a broadcast asks the memory for ahead of their turn.
constexpr std::size_t prefetch_ahead = 8;

std::uint32_t epoch_of(const Message& message) { return static_cast<std::uint32_t>(message->element); }
}  // namespace

ArrayBroadcasts::ArrayBroadcasts(ArrayHost& host, Sender& sender, int collection, LocalElements& elements,
                                 Location& location)
    : host_(host), sender_(sender), collection_(collection), elements_(elements), location_(location) {}

void ArrayBroadcasts::register_entries(RuntimeFunction function) {
  entry_arrived = register_runtime_entry("element has arrived", function, ep_uncounted);
  entry_low_water_mark = register_runtime_entry("broadcasts seen", function, ep_uncounted);
}

void ArrayBroadcasts::receive(const Delivery& call) {
  if (call.entry == entry_low_water_mark) return heard_low_water_mark(call.read<std::uint32_t>());
  hold_acknowledgements();
  for_each_item<Acknowledgement>(call, [&](const Acknowledgement& ack) { ended(ack.id, ack.leave); });
  release_acknowledgements();
}

// --- the way of a broadcast ------------------------------------------------------------------------------------------

void ArrayBroadcasts::send(Message message) {
  if (sender_.me == 0) return number(std::move(message));
  sender_.send(0, std::move(message));
}

void ArrayBroadcasts::number(Message message) {
  message = unshared(std::move(message));
  if (!shareable(message)) pack(message);
  message->element = ++root_.last;
  message->extra = root_.low_water_mark;
  message->hops = 0;
  root_.unasked_bytes += message->size;
  const bool many = root_.last % broadcasts_unasked_max == 0 || root_.unasked_bytes >= bytes_unasked_max;
  if (!root_.asking && many && sender_.pes > 1) {
    root_.asking = true;
    root_.unasked_bytes = 0;
    root_.heard = 0;
    root_.least = root_.last;
    message->hops = 1;
  }
  host_.send_to_all(std::move(message));
}

void ArrayBroadcasts::deliver(Message message) {
  if (message->element == 0) return number(std::move(message));
  if (giving_ || message->element != epoch_ + 1) {
    auto later = [](const Message& a, const Message& b) { return a->element < b->element; };
    sender_.begin_pending();
    delayed_.insert(std::upper_bound(delayed_.begin(), delayed_.end(), message, later), std::move(message));
    return;
  }
  run(std::move(message));
  run_delayed();
}

void ArrayBroadcasts::run_delayed() {
  while (!delayed_.empty() && delayed_.front()->element == epoch_ + 1) {
    Message next = std::move(delayed_.front());
    delayed_.pop_front();
    sender_.end_pending();
    run(std::move(next));
  }
}

void ArrayBroadcasts::run(Message message) {
  giving_ = true;
  epoch_ = epoch_of(message);
  const bool alone = sender_.pes == 1;
  if (!alone) {
    drop_history(message->extra);
    history_.push_back(message.share());
  }
  do {
    disordered_ = false;
    give_to_all(message);
  } while (disordered_);
  giving_ = false;
  if (!alone && message->hops) sender_.send(0, entry_low_water_mark, collection_, 0, low_water_mark());
}

// Elements may vanish, move and appear while we are at it: the last one takes the place of one that goes, and one that
// appears has seen this epoch.
void ArrayBroadcasts::give_to_all(const Message& message) {
  const std::vector<ArrayElement*>& all = elements_.all();
  for (std::size_t i = 0; i < all.size();) {
    ArrayElement* element = all[i];
    giving_at_ = i;
    if (i + prefetch_ahead < all.size()) {
      const char* later = reinterpret_cast<const char*>(all[i + prefetch_ahead]);
      __builtin_prefetch(later);
      __builtin_prefetch(later + 64);
    }
    if (element->broadcast_epoch_ + 1 == epoch_) [[likely]] {
      give(element, message);
    } else if (element->broadcast_epoch_ < epoch_ && give_missed(element)) {
      continue;
    }
    if (i < all.size() && all[i] != element) continue;
    ++i;
  }
}

// The next one to an element that came from a slower PE while a broadcast was being given. False: none is kept for it.
bool ArrayBroadcasts::give_missed(ArrayElement* element) {
  const std::uint64_t id = element->ckGetID();
  auto missed = std::find_if(history_.begin(), history_.end(),
                             [&](const Message& m) { return m->element > element->broadcast_epoch_; });
  if (missed == history_.end()) return false;
  give(element, missed->share());
  keeps_up(id);
  return true;
}

void ArrayBroadcasts::give(ArrayElement* element, const Message& message) {
  element->broadcast_epoch_ = epoch_of(message);
  host_.give(element, message);
}

// --- elements that come and go ---------------------------------------------------------------------------------------

// One that has not had the broadcast being given may come to a place that has been passed.
void ArrayBroadcasts::removing(const ArrayElement* element) {
  if (giving_ && elements_.position(element) < giving_at_) disordered_ = true;
}

void ArrayBroadcasts::left(const ArrayElement* element, Age age) {
  const std::uint64_t id = element->ckGetID();
  const Leave leave{age, element->broadcast_epoch_};
  ++departures_[leave.epoch];
  if (behind_.empty()) [[likely]]
    return;
  auto found = behind_.find(id);
  if (found == behind_.end()) return;
  owed_.insert({id, {leave, found->second}});
  behind_.erase(found);
}

void ArrayBroadcasts::arrived(std::uint64_t id, std::uint32_t seen, int from, Age age) {
  const ForwardingAck ack{from, {age, seen}};
  if (seen < epoch_)
    behind_[id] = ack;
  else
    acknowledge(id, ack);
}

// giving_ is held: a broadcast that comes meanwhile waits.
void ArrayBroadcasts::catch_up(std::uint64_t id) {
  if (giving_) return;  // run()'s loop reaches the element
  giving_ = true;
  giving_at_ = 0;
  for (std::size_t i = 0; i < history_.size(); ++i) {
    ArrayElement* element = elements_.find(id);
    if (!element) break;
    if (history_[i]->element > element->broadcast_epoch_) {
      Message message = history_[i].share();
      give(element, message);
    }
  }
  giving_ = false;
  keeps_up(id);
  run_delayed();
}

// An element that came here and is no longer behind, or is gone: the PE it came from need not count with it any more.
void ArrayBroadcasts::keeps_up(std::uint64_t id) {
  auto found = behind_.find(id);
  if (found == behind_.end()) return;
  ArrayElement* element = elements_.find(id);
  if (element && element->broadcast_epoch_ < epoch_) return;
  const ForwardingAck ack = found->second;
  behind_.erase(found);
  acknowledge(id, ack);
}

void ArrayBroadcasts::acknowledge(std::uint64_t id, const ForwardingAck& ack) {
  acknowledgements_.add(ack.to, {id, ack.leave});
  if (holds_ == 0) send_acknowledgements();
}
void ArrayBroadcasts::send_acknowledgements() { acknowledgements_.send(sender_, entry_arrived, collection_); }
// A departure ends. What was owed goes on to where the element came from before.
void ArrayBroadcasts::ended(std::uint64_t id, const Leave& leave) {
  location_.confirm(id, leave.age);
  const auto departures = departures_.find(leave.epoch);
  assert(departures != departures_.end());  // each is acknowledged once
  if (--departures->second == 0) departures_.erase(departures);
  if (owed_.empty()) [[likely]]
    return;
  const auto [first, end] = owed_.equal_range(id);
  const auto owed = std::find_if(first, end, [&](const auto& one) { return one.second.leave == leave; });
  if (owed == end) return;
  const ForwardingAck ack = owed->second.ack;
  owed_.erase(owed);
  acknowledge(id, ack);
}

// --- low-water marks -------------------------------------------------------------------------------------------------

std::uint32_t ArrayBroadcasts::low_water_mark() const {
  return departures_.empty() ? epoch_ : std::min(epoch_, departures_.begin()->first);
}

// PE 0: once all have answered, every element has seen the least of the answers; the next broadcast says so.
void ArrayBroadcasts::heard_low_water_mark(std::uint32_t mark) {
  root_.least = std::min(root_.least, mark);
  if (++root_.heard < static_cast<std::uint32_t>(sender_.pes)) return;
  root_.low_water_mark = root_.least;
  root_.asking = false;
}

void ArrayBroadcasts::drop_history(std::uint32_t mark) {
  while (!history_.empty() && history_.front()->element <= mark) history_.pop_front();
}

}  // namespace periapt
