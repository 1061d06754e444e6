// See aggregation.h.
#include "runtime/aggregation/aggregation.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/fatal.h"
#include "runtime/registry/registry.h"
#include "runtime/registry/runtime_message.h"
#include "runtime/scheduler/pe.h"
#include "runtime/scheduler/process.h"
#include "runtime/scheduler/wire_check.h"

namespace periapt {
namespace {

constexpr int buffer_bytes_min = 256;
constexpr std::uint64_t held_ns = 1'000'000;

int entry_lines;
int buffer_bytes = 0;  // 0: no entry is [aggregate]

// A line in a buffer: `meta`, the PE that it is for in 32 bits, and body_bytes(meta) bytes of its body.
constexpr std::size_t head_bytes = sizeof(std::uint64_t) + sizeof(std::int32_t);
constexpr std::size_t line_bytes_max = head_bytes + sizeof(std::uint64_t) + inline_arguments_max;

class Buffers final : public Aggregator {
 public:
  explicit Buffers(Pe& pe)
      : pe_(pe), layout_(pe.process.layout()), host_(layout_.host_of(pe.index)), hosts_(layout_.hosts.size()) {
    const auto flush = [](void* buffers) { static_cast<Buffers*>(buffers)->flush(); };
    pe.conditions.call_always(scheduler::condition_begin_idle, flush, this);
  }

  bool take(int to, std::uint64_t meta, const void* body) override {
    const auto entry = static_cast<std::uint16_t>(meta >> 8);
    if (static_cast<WorkKind>(meta & 3) != WorkKind::call || !(entry_info(entry).flags & ep_aggregate)) return false;
    const int host = layout_.host_of(to);
    if (host == host_) return false;  // (to other PEs of a simulated host, too, the way leads here)
    Buffer& buffer = hosts_[static_cast<std::size_t>(host)];
    if (!buffer.message) open(host);
    const std::size_t length = body_bytes(meta);
    char* at = static_cast<char*>(buffer.message.payload()) + buffer.filled;
    std::memcpy(at, &meta, sizeof meta);
    std::memcpy(at + sizeof meta, &to, sizeof(std::int32_t));
    std::memcpy(at + head_bytes, body, length);
    buffer.filled += head_bytes + length;
    if (buffer.filled + line_bytes_max > static_cast<std::size_t>(buffer_bytes)) {
      send(host);
      std::erase(open_, host);
    }
    return true;
  }

 private:
  struct Buffer {
    Message message;  // empty when nothing waits
    std::size_t filled = 0;
  };

  void open(int host) {
    Buffer& buffer = hosts_[static_cast<std::size_t>(host)];
    buffer.message = Message::make(static_cast<std::size_t>(buffer_bytes));
    buffer.filled = 0;
    open_.push_back(host);
    if (timer_runs_) return;
    timer_runs_ = true;
    const auto due = [](void* context, double) {
      auto* buffers = static_cast<Buffers*>(context);
      buffers->timer_runs_ = false;
      buffers->flush();
    };
    pe_.conditions.call_after(due, this, held_ns, clock::now_ns());
  }

  void send(int host) {
    Buffer& buffer = hosts_[static_cast<std::size_t>(host)];
    const bootstrap::Host& there = layout_.hosts[static_cast<std::size_t>(host)];
    const int column = pe_.index - layout_.hosts[static_cast<std::size_t>(host_)].first_pe;
    buffer.message->size = buffer.filled;
    pe_.send(there.first_pe + column % there.pes, runtime_message(std::move(buffer.message), entry_lines, 0));
  }

  void flush() {
    for (const int host : open_) send(host);
    open_.clear();
  }

  Pe& pe_;
  const bootstrap::HostLayout& layout_;
  const int host_;  // this PE's
  std::vector<Buffer> hosts_;
  std::vector<int> open_;  // hosts that something waits for
  bool timer_runs_ = false;
};

[[noreturn]] void refuse(const Delivery& call, const char* why) {
  fatal("a message of " + std::to_string(call.length) + " bytes with aggregated calls is not whole: " + why,
        "what another host has sent", "its process is another build, or its memory was overwritten",
        "install the same program on every host");
}

void on_lines(Pe& pe, Delivery& call) {
  const bootstrap::HostLayout& layout = pe.process.layout();
  const bootstrap::Host& host = layout.hosts[static_cast<std::size_t>(layout.host_of(pe.index))];
  const auto* at = static_cast<const std::byte*>(call.arguments);
  const auto* const end = at + call.length;
  while (at < end) {
    if (end - at < static_cast<std::ptrdiff_t>(head_bytes)) refuse(call, "its last call is cut off");
    std::uint64_t meta;
    std::int32_t to;
    std::memcpy(&meta, at, sizeof meta);
    std::memcpy(&to, at + sizeof meta, sizeof to);
    at += head_bytes;
    const std::size_t length = std::min(body_bytes(meta), static_cast<std::size_t>(end - at));
    if (const char* why = scheduler::wrong_line(meta, std::span(at, length))) refuse(call, why);
    if (static_cast<WorkKind>(meta & 3) != WorkKind::call) refuse(call, "a line of it is no call");
    if (to < host.first_pe || to >= host.first_pe + host.pes) refuse(call, "a call is for another host");
    Work work;
    std::memcpy(&work.element, at, length);
    pe.send_call(to, meta, work.element, work.arguments, Pe::Counting::no);
    at += length;
  }
}

}  // namespace

void begin_aggregation(Pe& pe) {
  if (buffer_bytes > 0 && pe.process.layout().host_count() > 1) pe.aggregator = std::make_shared<Buffers>(pe);
}

void register_aggregation_entries() {
  entry_lines = register_runtime_entry("calls that travel together", on_lines, ep_uncounted | ep_unordered);
}

}  // namespace periapt

void CkRegisterAggregate(int, int bytes) {
  periapt::buffer_bytes = std::max({periapt::buffer_bytes, periapt::buffer_bytes_min, bytes});
}
