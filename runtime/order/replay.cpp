// See replay.h.
#include "runtime/order/replay.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "base/clock.h"
#include "base/fatal.h"
#include "base/log.h"
#include "runtime/objects/pe_objects.h"

namespace periapt::order {

namespace {
// How long a poll is held for a piece that ran in it.
constexpr std::uint64_t hold_ns_max = 1'000'000'000;

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  fatal("the recording " + name + " cannot be replayed: " + why, "+replay", "",
        "replay with the program, the arguments and the layout of the run that recorded it");
}
}  // namespace

void Replay::open() {
  Result<RecordingReader> reader = RecordingReader::open(name_, expected_);
  if (!reader) refuse(name_, reader.message());
  reader_ = std::move(*reader);
  advance();
}

// To the next event.
void Replay::advance() {
  Result<RecordingReader::Event> event = reader_->next();
  if (!event) refuse(name_, event.message());
  next_ = std::move(*event);
  if (next_.kind == RecordingReader::Event::end && reader_->head().whole == 0) go_free();
}

void Replay::go_free() {
  static std::once_flag once;
  std::call_once(once, [&] {
    log::note("the recording " + name_ + " ends here, after " + std::to_string(done_) +
              " pieces of work, as its run did not come to its end: what follows runs as it comes");
  });
  std::map<std::uint64_t, Arrival> left;  // in the order of coming
  for (const auto& [_, alike] : waiting_)
    for (const Waiting& one : alike) left.emplace(one.coming, one.arrival);
  waiting_.clear();
  held_ = 0;
  free_.emplace();
  for (const auto& [_, arrival] : left) free_->add(arrival);
}

void Replay::add(const Arrival& arrival) {
  const Piece piece = Piece::of(arrival);
  if (piece.unordered()) return unordered_.push_back(arrival);
  if (free_) return free_->add(arrival);
  waiting_[piece].push_back({arrival, comings_++});
  ++held_;
}

const std::deque<Replay::Waiting>* Replay::alike_next() const {
  if (next_.kind != RecordingReader::Event::piece || !polls_.lets_run(next_.polls)) return nullptr;
  const auto found = waiting_.find(next_.what);
  return found != waiting_.end() && found->second.size() > next_.rank ? &found->second : nullptr;
}

bool Replay::has_next() const {
  if (!reader_) return size() != 0;
  return !unordered_.empty() || alike_next() != nullptr || (free_ && free_->has_next());
}

// Of the first piece of all a PE knows nothing yet. What ran in this poll may be the answer to what the program sends
// only when it has stopped polling for a time, and this time it has polled more often until then: a poll that was held
// in vain ends, and a later one may run it. The time is the piece's, as timers and other steps go on in the poll.
bool Replay::holds_poll() const {
  if (!reader_ || next_.kind != RecordingReader::Event::piece || !polls_.is_in(next_.polls)) return false;
  const std::uint64_t now = clock::now_ns();
  if (held_since_ns_ == 0) held_since_ns_ = now;
  return now - held_since_ns_ < hold_ns_max;
}

bool Replay::take(Arrival& next) {
  if (!reader_ && held_ != 0) open();
  if (alike_next() != nullptr) {
    const auto alike = waiting_.find(next_.what);
    const auto at = alike->second.begin() + static_cast<std::ptrdiff_t>(next_.rank);
    next = at->arrival;
    alike->second.erase(at);
    if (alike->second.empty()) waiting_.erase(alike);
    --held_;
    ++done_;
    polls_.begun = 0;
    held_since_ns_ = 0;
    advance();
    return true;
  }
  if (free_ && free_->take(next)) return true;
  // Only now: quiescence detection calls itself as long as there is something else.
  if (unordered_.empty()) return false;
  next = unordered_.front();
  unordered_.pop_front();
  return true;
}

void Replay::settle(std::vector<std::byte>& decision) {
  if (free_) return;
  if (next_.kind != RecordingReader::Event::decision) {
    Pe& pe = *Pe::current();
    fatal("the replay of " + name_ + " does something else than its recording: after " + std::to_string(done_) +
              " pieces of work PE " + std::to_string(pe.index) + " decides how to balance loads",
          stands(pe), "the program, its arguments or what it reads are not those of the recorded run",
          "record it again");
  }
  decision = std::move(next_.bytes);
  advance();
}

std::string Replay::stands(Pe& pe) const {
  using Event = RecordingReader::Event;
  std::string text = "PE " + std::to_string(pe.index) + " has run " + std::to_string(done_) + " pieces of work; ";
  if (next_.kind == Event::end)
    text += "its recording ends there";
  else if (next_.kind == Event::decision)
    text += "expected next: a decision of a load balancer";
  else
    text += "expected next: " + next_.what.describe(*pe.objects) +
            (polls_.lets_run(next_.polls) ? "" : " (within another poll of an entry than the one it is in)");
  std::vector<std::pair<std::uint64_t, const Piece*>> got;
  for (const auto& [piece, all] : waiting_)
    for (const Waiting& one : all) got.push_back({one.coming, &piece});
  std::sort(got.begin(), got.end());
  constexpr std::size_t named_max = 3;
  for (std::size_t i = 0; i < std::min(named_max, got.size()); ++i)
    text += (i == 0 ? "; got: " : ", ") + got[i].second->describe(*pe.objects);
  if (got.empty()) text += "; got: nothing";
  if (got.size() > named_max) text += " and " + std::to_string(got.size() - named_max) + " more";
  return text;
}

std::string Replay::explain(int) {
  Pe& pe = *Pe::current();
  const auto* const replay = dynamic_cast<const Replay*>(pe.ordering());
  if (replay == nullptr || !replay->reader_ || replay->free_) return "";
  if (replay->next_.kind == RecordingReader::Event::end && replay->waiting_.empty()) return "";
  return replay->stands(pe) + "\n";
}

}  // namespace periapt::order
