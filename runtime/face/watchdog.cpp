// See watchdog.h.
#include "runtime/face/watchdog.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/clock.h"
#include "base/fatal.h"
#include "base/log.h"
#include "runtime/array/array_manager.h"
#include "runtime/collective/quiescence.h"
#include "runtime/converse/converse.h"
#include "runtime/face/kernel_ports.h"
#include "runtime/objects/balance_hook.h"
#include "runtime/objects/futures.h"
#include "runtime/objects/node_groups.h"
#include "runtime/registry/runtime_message.h"
#include "runtime/scheduler/process.h"
#include "runtime/sections/sections.h"
#include "runtime/zero_copy/device_sums.h"
#include "runtime/zero_copy/packing.h"
#include "runtime/zero_copy/zero_copy_entries.h"

namespace periapt {

namespace {
int entry_ask, entry_answer, entry_explain, entry_explanation;
constexpr std::uint64_t second_ns = 1'000'000'000;
// How long nothing may move before messages without a receiver end the run, and before a standstill is told.
std::uint64_t patience_ns = 3 * second_ns;
bool ends_run = false;                 // a standstill that is told
std::optional<Complaint> known_cause;  // of a standstill, if there is one: end_at_standstill()
constexpr std::uint64_t warn_factor = 3;
constexpr std::uint64_t silence_factor = 20;  // the same for a PE that does not answer
// Of one PE's explanation: a standstill has one cause, and the first lines show it.
constexpr std::size_t lines_max = 12;
std::vector<Watchdog::Explainer> libraries;

std::string shortened(const std::string& text) {
  std::size_t at = 0, lines = 0;
  while (lines < lines_max && at < text.size()) {
    at = text.find('\n', at) + 1;
    ++lines;
  }
  if (at >= text.size()) return text;
  const auto more = std::count(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), '\n');
  return text.substr(0, at) + "... and " + std::to_string(more) + " more of PE " +
         std::to_string(Pe::current()->index) + "\n";
}
}  // namespace

void Watchdog::register_entries() {
  entry_ask = register_runtime_entry("watchdog: how are you", on_ask, ep_uncounted | ep_unordered);
  entry_answer = register_runtime_entry("watchdog: answer", on_answer, ep_uncounted | ep_unordered);
  entry_explain = register_runtime_entry("watchdog: who waits", on_explain, ep_uncounted | ep_unordered);
  entry_explanation = register_runtime_entry("watchdog: explanation", on_explanation, ep_uncounted | ep_unordered);
}

void Watchdog::take_option(char** argv) {
  const char* at_standstill = std::getenv("PERIAPT_STANDSTILL");
  ends_run = at_standstill != nullptr && std::strcmp(at_standstill, "end") == 0;
  int seconds;
  if (!CmiGetArgIntDesc(argv, "+watchdog", &seconds, "seconds without any movement before the run is explained"))
    return;
  if (seconds < 0)
    fatal("+watchdog " + std::to_string(seconds) + " makes no sense", "command line", "it is a number of seconds",
          "+watchdog 3 is usual, +watchdog 0 switches it off");
  patience_ns = static_cast<std::uint64_t>(seconds) * second_ns;
}

void Watchdog::end_at_standstill(const Complaint& complaint) { known_cause = complaint; }

void Watchdog::switch_off() { patience_ns = 0; }

void Watchdog::start() {
  if (patience_ns != 0 && !armed_) arm();
}

void Watchdog::arm() {
  armed_ = true;
  objects_.pe.conditions.call_after([](void* self, double) { static_cast<Watchdog*>(self)->tick(); }, this,
                                    std::min(second_ns, patience_ns), clock::now_ns());
}

void Watchdog::tick() {
  armed_ = false;
  if (objects_.pe.is_busy()) {
    silent_looks_ = 0;
    still_since_ns_ = 0;
  } else if (missing_ > 0) {
    wait_on();
  } else {
    ask();
  }
  arm();
}

// PE 0 looks at itself before any answer is in its queue, which would be work that may move things.
void Watchdog::ask() {
  const Answer own = look(objects_);
  sum_ = {};
  asked_ns_ = clock::now_ns();
  ask_all(entry_ask, 1);
  heard(0, own);
}

// All from PE `first` on; answers of all PEs are missing then.
void Watchdog::ask_all(int entry, int first) {
  Pe& pe = objects_.pe;
  missing_ = pe.process.pes();
  answered_.assign(static_cast<std::size_t>(missing_), false);
  silent_looks_ = 0;
  for (int to = first; to < pe.process.pes(); ++to) send_runtime(pe, to, entry, 0, 0, 0);
}

// A PE is in a long entry, or will never answer. Looks are counted and not time, which passes for PE 0's own entries
// too.
void Watchdog::wait_on() {
  const std::uint64_t looked_ns = static_cast<std::uint64_t>(++silent_looks_) * std::min(second_ns, patience_ns);
  if (looked_ns >= silence_factor * patience_ns && (ends_run || !silence_told_)) tell_silent();
}

void Watchdog::tell_silent() {
  constexpr int names_max = 8;
  std::string silent;
  int count = 0;
  for (int pe = 0; pe < objects_.pe.process.pes(); ++pe) {
    if (answered_[static_cast<std::size_t>(pe)] || ++count > names_max) continue;
    silent += (count == 1 ? "PE " : ", PE ") + std::to_string(pe) + " of process " +
              std::to_string(objects_.pe.process.process_of(pe));
  }
  if (count > names_max) silent += " and " + std::to_string(count - names_max) + " more";
  silent += (count == 1 ? " has" : " have") + std::string(" not answered for ") +
            std::to_string(silence_factor * patience_ns / second_ns) + " s";
  const std::string why =
      "an entry there takes long or never ends, its process is stopped, or the network stands still";
  const std::string next = "`gdb -p` of that process shows where it is";
  if (ends_run) fatal(silent, "seen by PE 0, which is idle", why, next);
  silence_told_ = true;
  log::warn(silent + ", while PE 0 is idle: " + why + ". " + next + "\n  (told once; +watchdog 0 switches this off)");
}

void Watchdog::on_ask(Pe& pe, Delivery&) {
  send_runtime(pe, 0, entry_answer, 0, static_cast<std::uint64_t>(pe.index), look(*pe.objects));
}

Watchdog::Answer Watchdog::look(PeObjects& objects) {
  Pe& pe = objects.pe;
  Answer a;
  a.created = pe.created;
  a.processed = pe.processed;
  objects.for_each_waiting(
      [&](const std::string&, const std::vector<Message>& messages) { a.undeliverable += messages.size(); });
  if (pe.rank == 0) a.undeliverable += node_groups().waiting();
  a.waiting = objects.futures->waiting();
  objects.for_each_reduction([&](const Reduction& reduction) { a.waiting += reduction.open() ? 1 : 0; });
  a.waiting += objects.sections->waiting();
  if (objects.balance) a.waiting += objects.balance->waiting();
  if (objects.posts) a.waiting += objects.posts->waiting();
  a.more_idle_s = 2 * pe.idle_seconds() - 1e-9 * static_cast<double>(clock::now_ns());
  // The pauses of quiescence detection and of the watchdog are timers too, but bring nothing new; those that look at
  // what kernels send are told of by themselves.
  const std::size_t timers = pe.conditions.timers() - (objects.quiescence->pausing() ? 1 : 0) -
                             (objects.watchdog->armed_ ? 1 : 0) - kernel_port_timers(pe);
  a.may_move = (pe.is_busy() || pe.port.parked() != 0 || pe.has_transfers() || timers != 0) ? 1 : 0;
  a.from_gpus = static_cast<std::uint32_t>(kernels_that_may_send(pe));
  return a;
}

void Watchdog::on_answer(Pe& pe, Delivery& call) {
  const Answer answer = call.read<Answer>();
  pe.objects->watchdog->heard(static_cast<int>(call.element), answer);
}

void Watchdog::heard(int pe, const Answer& answer) {
  answered_[static_cast<std::size_t>(pe)] = true;
  sum_.created += answer.created;
  sum_.processed += answer.processed;
  sum_.undeliverable += answer.undeliverable;
  sum_.waiting += answer.waiting;
  sum_.more_idle_s += answer.more_idle_s;
  sum_.may_move += answer.may_move;
  sum_.from_gpus += answer.from_gpus;
  if (--missing_ == 0) judge();
}

void Watchdog::judge() {
  // Converse messages of a program are not counted, but take time. Each PE's is that between its own looks: where cpus
  // are busy it may look a second late, and again at once.
  const bool idle = sum_.more_idle_s > last_.more_idle_s;
  const bool same = last_asked_ns_ != 0 && sum_.created == last_.created && sum_.processed == last_.processed &&
                    sum_.undeliverable == last_.undeliverable;
  const bool still = same && idle && sum_.may_move == 0;
  if (!still)
    still_since_ns_ = 0;
  else if (still_since_ns_ == 0)
    still_since_ns_ = last_asked_ns_;
  last_ = sum_;
  last_asked_ns_ = asked_ns_;
  if (!still) return;
  const std::uint64_t for_ns = asked_ns_ - still_since_ns_;
  const bool tells = for_ns >= warn_factor * patience_ns;
  fatal_ = sum_.from_gpus == 0 &&
           (((sum_.undeliverable > 0 || known_cause) && for_ns >= patience_ns) || (ends_run && tells));
  const bool is_told = sum_.from_gpus != 0 ? gpu_told_ : warned_;
  if (fatal_ || (!is_told && tells)) ask_for_explanations();
}

void Watchdog::ask_for_explanations() {
  texts_.assign(static_cast<std::size_t>(objects_.pe.process.pes()), {});
  ask_all(entry_explain, 0);
}

std::string Watchdog::explain(PeObjects& objects) {
  std::string text;
  objects.for_each_waiting([&](const std::string& receiver, const std::vector<Message>& messages) {
    const Envelope* first = messages.front().envelope();
    text += std::to_string(messages.size()) + (messages.size() == 1 ? " message waits for " : " messages wait for ") +
            receiver + ", which does not exist: " + entry_name(first->entry) + " from PE " +
            std::to_string(first->source) + "\n";
  });
  if (objects.pe.rank == 0) text += node_groups().describe_waiting();
  objects.for_each_reduction([&](const Reduction& reduction) { text += reduction.describe(); });
  objects.for_each_array([&](const ArrayPart& array) { text += array.describe_late(); });
  text += objects.sections->describe();
  if (std::size_t threads = objects.futures->waiting())
    text += std::to_string(threads) + (threads == 1 ? " thread" : " threads") + " on PE " +
            std::to_string(objects.pe.index) + " wait for a future, a callback or the answer of a [sync] call\n";
  if (objects.balance) text += objects.balance->describe_waiting();
  if (objects.waiting_bodies) text += objects.waiting_bodies->describe();
  if (objects.posts) text += objects.posts->describe();
  text += zero_copy::describe_waiting_for_room(objects.pe);
  text += zero_copy::describe_gathers(objects.pe);
  text += describe_kernel_ports(objects.pe);
  for (const Explainer library : libraries) text += library(objects.pe.index);
  return shortened(text);
}

void Watchdog::also_explain(Explainer library) {
  // (Processes that are simulated start here one after the other.)
  if (std::find(libraries.begin(), libraries.end(), library) == libraries.end()) libraries.push_back(library);
}

void Watchdog::on_explain(Pe& pe, Delivery&) {
  pe.send(0, runtime_message({explain(*pe.objects)}, entry_explanation, 0, static_cast<std::uint64_t>(pe.index)));
}

void Watchdog::on_explanation(Pe& pe, Delivery& call) {
  Watchdog& self = *pe.objects->watchdog;
  self.answered_[call.element] = true;
  self.texts_[call.element].assign(static_cast<const char*>(call.arguments), call.length);
  if (--self.missing_ == 0) self.tell();
}

namespace {
// Of a run in which nothing that could be told waits.
std::string why_nothing_waits(bool has_begun) {
  if (!registry().mains.empty() || has_begun)
    return "No reduction is open and no thread waits: did a message get lost in the program's logic?";
  return "The program has no mainchare, and no message of an initproc's has begun it";
}
}  // namespace

void Watchdog::tell() {
  std::string all;
  for (const std::string& text : texts_) all += text;
  if (!all.empty()) all.pop_back();  // the last end of line
  const std::string seconds = std::to_string((asked_ns_ - still_since_ns_) / second_ns);
  if (!fatal_ && sum_.from_gpus != 0) {
    gpu_told_ = true;
    if (known_cause) all += "\nIf they do not: " + known_cause->what + ", " + known_cause->why;
    return log::warn("nothing has moved for " + seconds + " s. GPUs may still bring something:\n" + all +
                     "\n  (told once; +watchdog 0 switches this off)");
  }
  if (known_cause) fatal(known_cause->what, all, known_cause->why, known_cause->what_next);
  if (fatal_ && sum_.undeliverable > 0)
    fatal("nothing has moved for " + seconds + " s, and messages wait for receivers that do not exist", all,
          "an index or proxy is wrong, an element was never inserted or has been destroyed, or a chare was deleted",
          "correct the receiver; if it is made later, by something outside, give +watchdog 0 or more seconds");
  const std::string nothing_waits = all.empty() ? why_nothing_waits(sum_.created != 0) : "";
  if (fatal_)
    fatal("nothing has moved for " + seconds + " s, and CkExit() was not called", all, nothing_waits,
          "PERIAPT_STANDSTILL=end ends the run here; without it, it would go on");
  warned_ = true;
  log::warn("nothing has moved for " + seconds + " s, and CkExit() was not called. " +
            (all.empty() ? nothing_waits : "Who waits:\n" + all) + "\n  (told once; +watchdog 0 switches this off)");
}

}  // namespace periapt
