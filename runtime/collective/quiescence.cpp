// See quiescence.h.
#include "runtime/collective/quiescence.h"

#include <utility>

namespace periapt {

namespace {
int entry_request, entry_wave, entry_answer;
constexpr int eager_waves = 16;
// The element field of a wave's message.
enum Wave : std::uint64_t { begins, reminder, next };
}  // namespace

void Quiescence::register_entries(RuntimeFunction function) {
  entry_request = register_runtime_entry("quiescence: request", function, ep_uncounted | ep_unordered);
  entry_wave = register_runtime_entry("quiescence: wave", function, ep_uncounted | ep_unordered);
  entry_answer = register_runtime_entry("quiescence: answer", function, ep_uncounted | ep_unordered);
}

Quiescence::Quiescence(Sender& sender, Host& host) : sender_(sender), host_(host), place_(sender.me, sender.pes) {}

void Quiescence::start(const CkCallback& callback) {
  // Not counted: a question for quiescence does not disturb it.
  sender_.send(0, entry_request, 0, 0, callback);
}

void Quiescence::receive(const Delivery& call) {
  if (call.entry == entry_request) return on_request(call.read<CkCallback>());
  if (call.entry == entry_answer) return on_answer(call.read<Counts>());
  call.element == Wave::reminder ? answer() : begin_wave();
}

void Quiescence::on_request(const CkCallback& callback) {
  callbacks_.push_back(callback);
  have_last_ = false;
  if (!running_) {
    running_ = true;
    begin_wave();
  }
}

void Quiescence::begin_wave() {
  sums_ = {};
  answers_missing_ = place_.children.size() + 1;
  for (int child : place_.children) sender_.send(child, entry_wave, 0, Wave::begins, 0);
  answer();
}

void Quiescence::answer() {
  if (host_.is_busy()) return host_.remind(entry_wave, Wave::reminder);
  on_answer(host_.counts());
}

void Quiescence::on_answer(const Counts& counts) {
  sums_.created += counts.created;
  sums_.processed += counts.processed;
  if (--answers_missing_ == 0) wave_done();
}

void Quiescence::wave_done() {
  if (place_.parent >= 0) return sender_.send(place_.parent, entry_answer, 0, 0, sums_);
  const bool quiet = have_last_ && sums_ == last_ && sums_.created == sums_.processed;
  last_ = sums_;
  have_last_ = true;
  if (!quiet) return next_wave();
  running_ = false;
  waves_ = 0;
  // No message, as Charm++ has it: an entry gets an empty one, and a C function would have to free it.
  for (const CkCallback& callback : std::exchange(callbacks_, {})) sender_.deliver(callback, nullptr);
  host_.became_quiet();
}

// Soon, then with pauses: the program may be busy for long.
void Quiescence::next_wave() {
  if (++waves_ < eager_waves) return sender_.send(sender_.me, entry_wave, 0, Wave::next, 0);
  pausing_ = true;
  host_.pause();
}

void Quiescence::go_on() {
  pausing_ = false;
  begin_wave();
}

}  // namespace periapt
