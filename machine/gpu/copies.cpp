#include "machine/gpu/copies.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace periapt::gpu {
namespace {

/// Ends of one stream in one progress(), so that others get their turn.
constexpr int kMostEnds = 16;
// Bytes up to which a courier is faster than a copy engine: where it reads memory of the host; and between GPUs.
constexpr std::uint64_t kMostFromHost = 8 << 10, kMostBetween = 128 << 10;
// And if it has others of as many to copy, one after the other, where engines take some at the same time.
constexpr std::uint64_t kMostOfMany = 64 << 10;

}  // namespace

void Copies::finish() {
  for (const WithCourier& one : with_couriers_) {
    one.courier->forget_told(one.number);
    while (one.courier->look(one.number) == Courier::State::under_way) {
    }
  }
  with_couriers_.clear();
  given_back_.clear();
  for (auto& lanes : lanes_) {
    for (auto& lane : lanes) {
      if (lane == nullptr) continue;
      // What it says is nothing that could be told any more: the completions have gone.
      static_cast<void>(driver_.finish(lane->stream));
      for (const Pending& pending : lane->pending) {
        give_event(pending.done);
        give_event(pending.after);
      }
      lane->pending.clear();
    }
  }
  under_way_ = 0;
}

Copies::~Copies() {
  finish();
  for (auto& lanes : lanes_) {
    for (auto& lane : lanes) {
      if (lane != nullptr) driver_.destroy(lane->stream);
    }
  }
  for (Event event : events_) driver_.destroy(event);
}

// A copy belongs to the GPU that it goes to: what that GPU reads from others and from imported memory, it is allowed
// to.
Result<Copies::Lane*> Copies::lane_for(const Copy& copy) {
  const int gpu = copy.to_gpu >= 0 ? copy.to_gpu : copy.from_gpu;
  if (gpu < 0 || static_cast<std::size_t>(gpu) >= lanes_.size()) {
    return Status::failure("a copy with neither side on a GPU: the driver knows neither address");
  }
  const Direction direction = copy.to_gpu < 0 ? out : copy.from_gpu < 0 ? in : copy.within ? within : across;
  std::unique_ptr<Lane>& lane = lanes_[static_cast<std::size_t>(gpu)][direction];
  if (lane == nullptr) {
    Result<Stream> stream = driver_.make_stream(gpu);
    if (!stream) return stream.status();
    lane = std::make_unique<Lane>(Lane{*stream, {}});
  }
  if (direction == across && copy.from_gpu != gpu) static_cast<void>(reach(gpu, copy.from_gpu));
  return lane.get();
}

// Tried once: where it is not allowed, the driver copies through the host.
bool Copies::reach(int gpu, int other) {
  std::vector<Reach>& of_gpu = reached_[static_cast<std::size_t>(gpu)];
  of_gpu.resize(lanes_.size());
  Reach& known = of_gpu[static_cast<std::size_t>(other)];
  if (known == Reach::untried) {
    const Status reached = driver_.reach(gpu, other);
    known = reached ? Reach::granted : Reach::refused;
    if (!reached) log::detail(reached.message());
  }
  return known == Reach::granted;
}

Result<Event> Copies::take_event(int gpu) {
  const auto found = std::find_if(events_.begin(), events_.end(), [gpu](Event event) { return event.gpu == gpu; });
  if (found == events_.end()) return driver_.make_event(gpu);
  const Event event = *found;
  *found = events_.back();
  events_.pop_back();
  return event;
}

void Copies::give_event(Event event) {
  if (event.native != nullptr) events_.push_back(event);
}

// The event is kept until the copy has ended: recorded anew, it would be another place in the program's stream.
Status Copies::order_after(const Copy& copy, Lane& lane, Event* event) {
  if (copy.after == nullptr) return {};
  const int gpu = copy.from_gpu >= 0 ? copy.from_gpu : copy.to_gpu;
  Result<Event> taken = take_event(gpu);
  if (!taken) return taken.status();
  *event = *taken;
  if (Status recorded = driver_.record(*taken, Stream{copy.after, gpu}); !recorded) return recorded;
  return driver_.wait_for(lane.stream, *taken);
}

// ---- by couriers

bool Copies::may_touch(int gpu, int lies_on, Touch touch) {
  if (touch == Touch::any) return true;
  if (touch == Touch::none || lies_on == gpu) return touch != Touch::none;
  return touch == Touch::peers && reach(gpu, lies_on);
}

// Writing to another GPU is faster than reading from there: that of the source comes first.
Copies::OnGpu Copies::courier_for(const Copy& copy) {
  if (use_ == CourierUse::off || copy.after != nullptr || !Courier::takes(copy.to, copy.from, copy.bytes)) return {};
  if (copy.bytes > (copy.from_gpu < 0 ? kMostFromHost : copy.within ? Courier::kMost : kMostBetween)) return {};
  const auto is_large = [](const WithCourier& one) { return one.copy.bytes > kMostOfMany; };
  if (copy.bytes > kMostOfMany && std::any_of(with_couriers_.begin(), with_couriers_.end(), is_large)) return {};
  for (const int gpu : {copy.from_gpu, copy.to_gpu}) {
    if (gpu >= 0 && may_touch(gpu, copy.to_gpu, copy.to_touch) && may_touch(gpu, copy.from_gpu, copy.from_touch))
      return {couriers_.at(gpu, use_), gpu};
  }
  return {};
}

bool Copies::hand_over(const OnGpu& to, const Copy& copy, ucx::Completion& completion, bool may_be_pageable) {
  if (to.courier == nullptr || !to.courier->is_awake()) return false;
  // Another process's is only its own GPU's to touch, too.
  const bool near = copy.to_gpu == to.gpu && copy.to_touch == Touch::peers;
  const bool are_few = copy.bytes <= Courier::kFew;
  const std::uint64_t number = are_few && copy.from_gpu < 0 ? to.courier->send(copy.to, copy.from, copy.bytes, near)
                               : are_few && copy.to_gpu < 0 ? to.courier->tell(copy.to, copy.from, copy.bytes)
                                                            : to.courier->post(copy.to, copy.from, copy.bytes, near);
  if (number == 0) return false;
  with_couriers_.push_back({to.courier, number, copy, &completion, may_be_pageable});
  ++under_way_;
  return true;
}

bool Copies::carry(const Copy& copy, ucx::Completion& completion) {
  return hand_over(courier_for(copy), copy, completion, true);
}

int Copies::look_for_couriers() {
  int told = 0;
  for (std::size_t i = 0; i < with_couriers_.size();) {
    const WithCourier one = with_couriers_[i];
    const Courier::State state = one.courier->look(one.number);
    if (state == Courier::State::under_way) {
      ++i;
      continue;
    }
    with_couriers_[i] = with_couriers_.back();
    with_couriers_.pop_back();
    --under_way_;
    ucx::Outcome outcome = ucx::Outcome::ok;
    if (state != Courier::State::done && one.may_be_pageable) {
      given_back_.push_back({one.copy, one.completion});
      continue;
    }
    if (state == Courier::State::done) {
      ++carried_;
    } else {
      const Status begun = begin_by_engine(one.copy, *one.completion);
      if (begun) continue;
      failure_ = begun.message();
      outcome = ucx::Outcome::failed;
    }
    ++told;
    one.completion->done(*one.completion, outcome);
  }
  return told;
}

Status Copies::begin(const Copy& copy, ucx::Completion& completion) {
  const OnGpu to = courier_for(copy);
  if (hand_over(to, copy, completion, false)) return {};
  Status begun = begin_by_engine(copy, completion);
  if (to.courier != nullptr && begun) to.courier->missed();
  return begun;
}

// ---- by engines

Status Copies::begin_by_engine(const Copy& copy, ucx::Completion& completion) {
  Result<Lane*> found = lane_for(copy);
  if (!found) return found.status();
  Lane& lane = **found;
  Pending pending{{}, {}, &completion};
  Status given = order_after(copy, lane, &pending.after);
  Result<Event> event = given ? take_event(lane.stream.gpu) : given;
  if (event) {
    pending.done = *event;
    given = driver_.copy(lane.stream, copy.to, copy.from, copy.bytes);
    if (given) given = driver_.record(pending.done, lane.stream);
  }
  if (!given || !event) {
    give_event(pending.done);
    give_event(pending.after);
    return given ? event.status() : given;
  }
  lane.pending.push_back(pending);
  ++under_way_;
  return {};
}

int Copies::progress() {
  int told = 0;
  if (under_way_ == 0) return told;
  told += look_for_couriers();
  for (auto& lanes : lanes_) {
    for (auto& lane : lanes) {
      if (lane != nullptr) told += progress(*lane);
    }
  }
  return told;
}

int Copies::progress(Lane& lane) {
  int told = 0;
  while (!lane.pending.empty() && told < kMostEnds) {
    Result<bool> reached = driver_.reached(lane.pending.front().done);
    if (reached && !*reached) break;
    if (!reached) failure_ = reached.message();
    const Pending ended = lane.pending.front();
    lane.pending.pop_front();
    --under_way_;
    give_event(ended.done);
    give_event(ended.after);
    ++told;
    ended.completion->done(*ended.completion, reached ? ucx::Outcome::ok : ucx::Outcome::failed);
  }
  return told;
}

}  // namespace periapt::gpu
