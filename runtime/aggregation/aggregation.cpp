// See aggregation.h.
#include "runtime/aggregation/aggregation.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/fatal.h"
#include "runtime/registry/runtime_message.h"
#include "runtime/scheduler/pe.h"
#include "runtime/scheduler/process.h"
#include "runtime/scheduler/wire_check.h"

namespace periapt {
namespace {

constexpr int buffer_bytes_min = 256;
constexpr std::uint64_t held_ns = 1'000'000;
// So few calls to another PE of this host go each by itself: a message is an allocation and three lines.
constexpr std::uint32_t few_calls = 4;

int entry_runs;
int buffer_bytes = 0;  // 0: no entry is [aggregate]

// A buffer holds runs, each from a multiple of 8 bytes on: this head, and as many bodies of body_bytes(meta) bytes,
// which are the element and the arguments of a call.
struct Run {
  std::uint64_t meta;
  std::int32_t to;
  std::uint32_t calls;
};
constexpr std::size_t next_run(std::size_t filled) { return (filled + alignof(Run) - 1) & ~(alignof(Run) - 1); }
// What a call may need: the head of a run, and a line that is written whole.
constexpr std::size_t call_bytes_max = alignof(Run) + sizeof(Run) + sizeof(std::uint64_t) + inline_arguments_max;

[[noreturn]] void refuse(std::size_t bytes, const char* why) {
  fatal("a message of " + std::to_string(bytes) + " bytes with aggregated calls is not whole: " + why,
        "what another host has sent", "its process is another build, or its memory was overwritten",
        "install the same program on every host");
}

// Calls visit(to, work) for each call in a buffer.
template <class Visit>
void for_each_call(std::span<const std::byte> buffer, Visit&& visit) {
  std::size_t at = 0;
  while (at < buffer.size()) {
    Run run;
    if (buffer.size() - at < sizeof run) refuse(buffer.size(), "its last run is cut off");
    std::memcpy(&run, buffer.data() + at, sizeof run);
    at += sizeof run;
    const std::size_t length = body_bytes(run.meta);
    if (run.calls == 0 || (buffer.size() - at) / length < run.calls)
      refuse(buffer.size(), "a run of it is longer than what there is");
    if (const char* why = scheduler::wrong_line(run.meta, buffer.subspan(at, length))) refuse(buffer.size(), why);
    if (static_cast<WorkKind>(run.meta & 3) != WorkKind::call) refuse(buffer.size(), "a line of it is no call");
    Work work;
    for (std::uint32_t i = 0; i < run.calls; ++i, at += length) {
      work.meta = run.meta;
      std::memcpy(&work.element, buffer.data() + at, length);
      visit(run.to, work);
    }
    at = next_run(at);
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
    auto* const bytes = static_cast<std::byte*>(buffer->message.payload());
    Run* run = reinterpret_cast<Run*>(bytes + buffer->last_run);
    if (buffer->calls == 0 || run->meta != meta || run->to != to) {
      buffer->last_run = next_run(buffer->filled);
      buffer->filled = buffer->last_run + sizeof(Run);
      run = new (bytes + buffer->last_run) Run{meta, to, 0};
    }
    ++run->calls;
    ++buffer->calls;
    std::byte* const body = bytes + buffer->filled;
    buffer->filled += body_bytes(meta);
    std::memcpy(body, &element, sizeof element);
    return body + sizeof element;
  }

 private:
  struct Buffer {
    Message message;  // there while the buffer is in open_
    std::size_t filled = 0;
    std::size_t last_run = 0;
    std::uint32_t calls = 0;
  };
  struct Open {
    Buffer* buffer;
    int to;  // the PE that gets its message
  };

  bool is_near(int pe) const { return pe >= here_.first_pe && pe < here_.first_pe + here_.pes; }

  // One with room for a call. None for PEs of this host where a step runs one piece of work: a record of arrivals could
  // not name the calls in a buffer, and in a simulated run the way to PEs of other hosts leads here, too.
  Buffer* buffer_for(int to) {
    Buffer* buffer;
    if (is_near(to)) {
      if (pe_.runs_one_at_a_time()) return nullptr;
      buffer = &pes_[static_cast<std::size_t>(to - here_.first_pe)];
    } else {
      const int host = layout_.host_of(to);
      const bootstrap::Host& there = layout_.hosts[static_cast<std::size_t>(host)];
      buffer = &hosts_[static_cast<std::size_t>(host)];
      to = there.first_pe + (pe_.index - here_.first_pe) % there.pes;
    }
    if (!buffer->message) {
      open_.push_back({buffer, to});
      flush_in_time();
    } else if (buffer->filled + call_bytes_max > static_cast<std::size_t>(buffer_bytes)) {
      send({buffer, to});
    } else {
      return buffer;
    }
    buffer->message = Message::make(static_cast<std::size_t>(buffer_bytes));
    return buffer;
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
    Message message = std::move(open.buffer->message);
    message->size = std::exchange(open.buffer->filled, 0);
    if (std::exchange(open.buffer->calls, 0) > few_calls || !is_near(open.to))
      return pe_.send(open.to, runtime_message(std::move(message), entry_runs, 0));
    for_each_call({static_cast<const std::byte*>(message.payload()), message->size}, [this](int to, Work& work) {
      pe_.send_call(to, work.meta, work.element, work.arguments, Pe::Counting::no);
    });
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
  for_each_call(buffer, [&](int to, Work& work) {
    if (to == pe.index) return pe.accept_call(work);
    if (to < host.first_pe || to >= host.first_pe + host.pes) refuse(buffer.size(), "a call is for another host");
    pe.send_call(to, work.meta, work.element, work.arguments, Pe::Counting::no, true);
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
