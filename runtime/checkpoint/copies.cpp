// See copies.h.
#include "runtime/checkpoint/copies.h"

#include <cstring>
#include <utility>

#include "machine/bootstrap/kept_memory.h"
#include "runtime/checkpoint/checkpoints.h"
#include "runtime/registry/runtime_message.h"
#include "runtime/scheduler/process.h"

namespace periapt::checkpoint {

using bootstrap::KeptMemory;

namespace {
int entry_order, entry_block, entry_sent, entry_stored, entry_commit, entry_committed;

Copies& of(Pe& pe) { return Checkpoints::of(pe).copies(); }
}  // namespace

void Copies::register_entries() {
  constexpr unsigned aside = ep_expedited | ep_uncounted;
  entry_order = register_runtime_entry("checkpoint: copy to other hosts", on_order, aside);
  entry_block = register_runtime_entry("checkpoint: a copy of a block", on_block, aside);
  entry_sent = register_runtime_entry("checkpoint: copies are sent", on_sent, aside);
  entry_stored = register_runtime_entry("checkpoint: a copy is stored", on_stored, aside);
  entry_commit = register_runtime_entry("checkpoint: it counts", on_commit, aside);
  entry_committed = register_runtime_entry("checkpoint: it counts on a host", on_committed, aside);
}

void Copies::begin(const Manifest& manifest, std::vector<int> others, std::function<void(std::string)> done) {
  manifest_ = manifest;
  others_ = std::move(others);
  done_ = std::move(done);
  told_ = sent_ = stored_ = committed_ = 0;
  failed_ = false;
  const std::string_view pes(reinterpret_cast<const char*>(others_.data()), others_.size() * sizeof(int));
  const Order head{KeptMemory::of_run()->identity(), manifest_.number};
  Message order = runtime_message({bytes_of(head), pes}, entry_order, 0);
  pe_.broadcast(order);
  Delivery own(std::move(order));
  on_order(pe_, own);
}

void Copies::on_order(Pe& pe, Delivery& call) {
  Copies& self = of(pe);
  const auto order = call.read<Order>();
  const auto* others = reinterpret_cast<const int*>(static_cast<const char*>(call.arguments) + sizeof order);
  int sent = 0;
  if (pe.index == 0) {
    for (std::size_t i = 0; i < (call.length - sizeof order) / sizeof(int); ++i)
      sent += self.send_parts(others[i], order.number);
  } else if (KeptMemory::of_run()->identity() != order.memory) {
    sent = self.send_parts(0, order.number);
  }
  send_runtime(pe, 0, entry_sent, 0, 0, sent);
}

int Copies::send_parts(int to, int number) {
  int sent = 0;
  for (const Part& part : parts_) {
    const Place place = memory_storage()->place(number, part.name);
    for (std::uint64_t block = 0; block < part.blocks; ++block, ++sent) {
      const char* from = place.memory->block(place.region, block);
      BlockHead written;
      std::memcpy(&written, from, sizeof written);
      const std::size_t bytes = sizeof written + written.bytes;
      const Head head{block, number, static_cast<std::int32_t>(part.name.size())};
      pe_.send(to, runtime_message({bytes_of(head), part.name, {from, bytes}}, entry_block, 0));
    }
  }
  return sent;
}

void Copies::on_block(Pe& pe, Delivery& call) {
  const auto head = call.read<Head>();
  const char* behind = static_cast<const char*>(call.arguments) + sizeof head;
  const std::string name(behind, static_cast<std::size_t>(head.name_bytes));
  const Place place = memory_storage()->place(head.number, name);
  char* to = place.memory->block(place.region, head.block);
  if (to) std::memcpy(to, behind + name.size(), call.length - sizeof head - name.size());
  send_runtime(pe, 0, entry_stored, 0, 0, to != nullptr);
}

void Copies::on_sent(Pe& pe, Delivery& call) {
  Copies& self = of(pe);
  ++self.told_;
  self.sent_ += call.read<int>();
  self.look();
}

void Copies::on_stored(Pe& pe, Delivery& call) {
  Copies& self = of(pe);
  ++self.stored_;
  self.failed_ = self.failed_ || !call.read<bool>();
  self.look();
}

void Copies::look() {
  if (told_ < pe_.process.pes() || stored_ < sent_) return;
  if (failed_) return done_("there is no room for what other hosts have sent");
  if (Status committed = memory_storage()->commit(manifest_); !committed) return done_(committed.message());
  const std::string text = manifest_.text();
  for (int other : others_) {
    pe_.send(other, runtime_message({bytes_of(manifest_.number), text}, entry_commit, 0));
  }
  if (others_.empty()) done_("");
}

void Copies::on_commit(Pe& pe, Delivery& call) {
  const std::string text(static_cast<const char*>(call.arguments) + sizeof(int), call.length - sizeof(int));
  const Result<Manifest> manifest = parse_manifest(text, "what PE 0 sends");
  const bool good = manifest && memory_storage()->commit(*manifest);
  send_runtime(pe, 0, entry_committed, 0, 0, good);
}

void Copies::on_committed(Pe& pe, Delivery& call) {
  Copies& self = of(pe);
  self.failed_ = self.failed_ || !call.read<bool>();
  if (++self.committed_ < static_cast<int>(self.others_.size())) return;
  self.done_(self.failed_ ? "a host could not write its manifest" : "");
}

}  // namespace periapt::checkpoint
