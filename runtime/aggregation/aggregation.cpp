// See aggregation.h.
#include "runtime/aggregation/aggregation.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "base/bits.h"
#include "base/clock.h"
#include "base/fatal.h"
#include "base/platform.h"
#include "runtime/entry/dispatch.h"
#include "runtime/registry/runtime_message.h"
#include "runtime/scheduler/pe.h"
#include "runtime/scheduler/process.h"
#include "runtime/scheduler/wire_check.h"

namespace periapt {
namespace {

constexpr int buffer_bytes_min = 256;
constexpr std::uint64_t held_ns = 1'000'000;
// So few calls of one entry to a PE of this host go each by itself: a message is an allocation and three lines.
constexpr std::uint32_t few_calls = 4;

int entry_runs;
int buffer_bytes = 0;  // 0: no entry is [aggregate]

// A buffer holds runs, each from a multiple of 8 bytes on: this head, and as many bodies of body_bytes(meta) bytes,
// which are the element and the arguments of a call.
struct CallRun {
  std::uint64_t meta;
  std::int32_t to;
  std::uint32_t calls;
};
constexpr std::size_t next_run(std::size_t filled) { return round_up(filled, alignof(CallRun)); }
// What a call may need: the head of a run, and a line that is written whole.
constexpr std::size_t call_bytes_max =
    alignof(CallRun) + sizeof(CallRun) + sizeof(std::uint64_t) + inline_arguments_max;

[[noreturn]] void refuse(std::size_t bytes, const char* why) {
  fatal("a message of " + std::to_string(bytes) + " bytes with aggregated calls is not whole: " + why,
        "what another host has sent", "its process is another build, or its memory was overwritten",
        "install the same program on every host");
}

// Calls visit(run, bytes) for each run in a buffer, with the bytes from its first body on.
template <class Visit>
void for_each_run(std::span<const std::byte> buffer, Visit&& visit) {
  std::size_t at = 0;
  while (at < buffer.size()) {
    CallRun run;
    if (buffer.size() - at < sizeof run) refuse(buffer.size(), "its last run is cut off");
    std::memcpy(&run, buffer.data() + at, sizeof run);
    at += sizeof run;
    const std::size_t length = body_bytes(run.meta);
    if (run.calls == 0 || (buffer.size() - at) / length < run.calls)
      refuse(buffer.size(), "a run of it is longer than what there is");
    if (const char* why = scheduler::wrong_line(run.meta, buffer.subspan(at, length))) refuse(buffer.size(), why);
    if (static_cast<WorkKind>(run.meta & 3) != WorkKind::call) refuse(buffer.size(), "a line of it is no call");
    visit(run, buffer.subspan(at));
    at = next_run(at + run.calls * length);
  }
}

// Sends each call of a run by itself, or together with others.
void send_run(Pe& pe, const CallRun& run, const std::byte* bodies, bool together) {
  const std::size_t length = body_bytes(run.meta);
  Work work;
  for (std::uint32_t i = 0; i < run.calls; ++i, bodies += length) {
    std::memcpy(&work.element, bodies, length);
    pe.send_call(run.to, run.meta, work.element, work.arguments, Pe::Counting::no, together);
  }
}

class Buffers final : public Aggregator {
 public:
  explicit Buffers(Pe& pe)
      : pe_(pe),
        layout_(pe.process.layout()),
        here_(layout_.hosts[static_cast<std::size_t>(layout_.host_of(pe.index))]),
        pes_(static_cast<std::size_t>(here_.pes)),
        hosts_(layout_.hosts.size()) {
    const auto flush = [](void* buffers) { static_cast<Buffers*>(buffers)->flush(); };
    pe.conditions.call_always(scheduler::condition_begin_idle, flush, this);
  }

  void* reserve(int to, std::uint64_t meta, std::uint64_t element) override {
    Buffer* const buffer = buffer_for(to);
    if (!buffer) return nullptr;
    if (static_cast<std::size_t>(buffer->end - buffer->at) < call_bytes_max) [[unlikely]]
      open(*buffer, to);
    if (!buffer->run || buffer->run->meta != meta || buffer->run->to != to) [[unlikely]]
      begin_run(*buffer, to, meta);
    ++buffer->run->calls;
    std::byte* const body = std::exchange(buffer->at, buffer->at + body_bytes(meta));
    std::memcpy(body, &element, sizeof element);
    return body + sizeof element;
  }

 private:
  struct Buffer {
    std::byte* at = nullptr;  // where the next call goes; null, as `end`: the buffer is empty, and not in open_
    std::byte* end = nullptr;
    CallRun* run = nullptr;  // the last; null: none yet
    Message message;
  };
  struct Open {
    Buffer* buffer;
    int to;  // the PE that gets its message
  };

  bool is_near(int pe) const { return pe >= here_.first_pe && pe < here_.first_pe + here_.pes; }

  // None for PEs of this host where a step runs one piece of work: a record of arrivals could not name the calls in a
  // buffer, and in a simulated run the way to PEs of other hosts leads here, too.
  Buffer* buffer_for(int to) {
    if (!is_near(to)) return &hosts_[static_cast<std::size_t>(layout_.host_of(to))];
    return pe_.runs_one_at_a_time() ? nullptr : &pes_[static_cast<std::size_t>(to - here_.first_pe)];
  }
  // The PE that gets the message with calls for `to`.
  int receiver(int to) const {
    if (is_near(to)) return to;
    const bootstrap::Host& there = layout_.hosts[static_cast<std::size_t>(layout_.host_of(to))];
    return there.first_pe + (pe_.index - here_.first_pe) % there.pes;
  }

  // Makes room for a call: what the buffer holds is sent. Not inline, as reserve() would save its registers for it.
  PERIAPT_COLD void open(Buffer& buffer, int to) {
    if (buffer.at) {
      send({&buffer, receiver(to)});
    } else {
      open_.push_back({&buffer, receiver(to)});
      flush_in_time();
    }
    buffer.message = Message::make(static_cast<std::size_t>(buffer_bytes));
    buffer.at = static_cast<std::byte*>(buffer.message.payload());
    buffer.end = buffer.at + buffer_bytes;
  }

  void begin_run(Buffer& buffer, int to, std::uint64_t meta) {
    auto* const payload = static_cast<std::byte*>(buffer.message.payload());
    std::byte* const head = payload + next_run(static_cast<std::size_t>(buffer.at - payload));
    buffer.run = new (head) CallRun{meta, to, 0};
    buffer.at = head + sizeof(CallRun);
  }

  void flush_in_time() {
    if (timer_runs_) return;
    timer_runs_ = true;
    const auto due = [](void* context, double) {
      auto* buffers = static_cast<Buffers*>(context);
      buffers->timer_runs_ = false;
      buffers->flush();
    };
    pe_.conditions.call_after(due, this, held_ns, clock::now_ns());
  }

  void send(const Open& open) {
    Buffer buffer = std::exchange(*open.buffer, {});
    Message& message = buffer.message;
    const auto* const payload = static_cast<std::byte*>(message.payload());
    message->size = static_cast<std::size_t>(buffer.at - payload);
    const CallRun* const first = reinterpret_cast<const CallRun*>(payload);
    if (buffer.run == first && first->calls <= few_calls && is_near(open.to))
      send_run(pe_, *first, payload + sizeof(CallRun), false);
    else
      pe_.send(open.to, runtime_message(std::move(message), entry_runs, 0));
  }

  void flush() {
    for (const Open& open : open_) send(open);
    open_.clear();
  }

  Pe& pe_;
  const bootstrap::HostLayout& layout_;
  const bootstrap::Host& here_;
  std::vector<Buffer> pes_;    // for each of this host
  std::vector<Buffer> hosts_;  // for each other one
  std::vector<Open> open_;
  bool timer_runs_ = false;
};

void on_runs(Pe& pe, Delivery& call) {
  const bootstrap::HostLayout& layout = pe.process.layout();
  const bootstrap::Host& host = layout.hosts[static_cast<std::size_t>(layout.host_of(pe.index))];
  const std::span buffer(static_cast<const std::byte*>(call.arguments), call.length);
  for_each_run(buffer, [&](const CallRun& run, std::span<const std::byte> bytes) {
    if (run.to == pe.index) return deliver_run(*pe.objects, run.meta, run.calls, bytes);
    if (run.to < host.first_pe || run.to >= host.first_pe + host.pes)
      refuse(buffer.size(), "a call is for another host");
    send_run(pe, run, bytes.data(), true);
  });
}

}  // namespace

void begin_aggregation(Pe& pe) {
  if (buffer_bytes > 0) pe.aggregator = std::make_shared<Buffers>(pe);
}

void register_aggregation_entries() {
  entry_runs = register_runtime_entry("calls that travel together", on_runs, ep_uncounted | ep_unordered);
}

}  // namespace periapt

void CkRegisterAggregate(int bytes) {
  periapt::buffer_bytes = std::max({periapt::buffer_bytes, periapt::buffer_bytes_min, bytes});
}
