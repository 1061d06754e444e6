// Persistent channels: what may go where. A handle holds its PE above and the number of its channel below.
#include "runtime/converse/persistent.h"

#include <string>

#include "base/fatal.h"
#include "runtime/converse/converse_state.h"
#include "runtime/scheduler/process.h"

namespace periapt {

namespace {
constexpr int pe_shift = 32;

[[noreturn]] void no_channel(const char* function, const std::string& why) {
  fatal("a PersistentHandle that is no channel of PE " + std::to_string(CmiMyPe()), function, why,
        "use a handle on the PE that made it, until CmiDestroyPersistent");
}

PersistentChannel& channel_of(ConverseState& s, PersistentHandle handle, const char* function) {
  const auto bits = reinterpret_cast<std::uintptr_t>(handle);
  const std::size_t number = (bits & 0xffffffffu) - 1;
  if (static_cast<int>(bits >> pe_shift) != CmiMyPe() || number >= s.channels.size())
    no_channel(function, "another PE made it, or none did");
  if (s.channels[number].destroyed) no_channel(function, "it was destroyed");
  return s.channels[number];
}

PersistentHandle make(int to, int bytes_max, const char* function) {
  Pe& pe = require_pe(function);
  if (to < 0 || to >= pe.process.pes()) {
    fatal("a persistent channel to PE " + std::to_string(to), function,
          "the run has " + std::to_string(pe.process.pes()) + " PEs");
  }
  if (bytes_max < CmiMsgHeaderSizeBytes) {
    fatal("a persistent channel for messages of " + std::to_string(bytes_max) + " bytes", function,
          "the header of a message alone has " + std::to_string(CmiMsgHeaderSizeBytes), "sizes count the header");
  }
  auto& channels = ConverseState::of(pe).channels;
  channels.push_back({to, bytes_max, false});
  return reinterpret_cast<PersistentHandle>(static_cast<std::uintptr_t>(pe.index) << pe_shift | channels.size());
}
int first_pe_of(int node) {
  if (node < 0 || node >= CmiNumNodes()) {
    fatal("a persistent channel to process " + std::to_string(node), "CmiCreateNodePersistent",
          "the run has " + std::to_string(CmiNumNodes()));
  }
  return CmiNodeFirst(node);
}

void check_channel(ConverseState& s, int to, std::size_t bytes) {
  if (static_cast<unsigned>(to) >= static_cast<unsigned>(CmiNumPes())) return;  // another partition's
  const PersistentHandle handle = s.channels_in_use[s.next_channel++ % s.channels_in_use.size()];
  if (!handle) return;
  const PersistentChannel& channel = channel_of(s, handle, "CmiUsePersistentHandle");
  if (bytes > static_cast<std::size_t>(channel.bytes_max)) {
    fatal("a message of " + std::to_string(bytes) + " bytes for a persistent channel of " +
              std::to_string(channel.bytes_max),
          "CmiUsePersistentHandle", "it was made for smaller messages", "give CmiCreatePersistent the largest size");
  }
  if (CmiNodeOf(channel.to) != CmiNodeOf(to)) {
    fatal("a message to PE " + std::to_string(to) + " while a persistent channel to PE " + std::to_string(channel.to) +
              " is in use",
          "CmiUsePersistentHandle", "", "end its use with CmiUsePersistentHandle(NULL, 0) before sending elsewhere");
  }
}
}  // namespace

}  // namespace periapt

using namespace periapt;

extern "C" {

PersistentHandle CmiCreatePersistent(int pe, int maxBytes) { return make(pe, maxBytes, "CmiCreatePersistent"); }
PersistentHandle CmiCreateNodePersistent(int node, int maxBytes) {
  return make(first_pe_of(node), maxBytes, "CmiCreateNodePersistent");
}
PersistentReq CmiCreateReceiverPersistent(int maxBytes) {
  return {require_pe("CmiCreateReceiverPersistent").index, maxBytes, nullptr, nullptr};
}
PersistentHandle CmiRegisterReceivePersistent(PersistentReq request) {
  return make(request.pe, request.maxBytes, "CmiRegisterReceivePersistent");
}
void CmiUsePersistentHandle(PersistentHandle* channels, int n) {
  ConverseState& s = ConverseState::of(require_pe("CmiUsePersistentHandle"));
  s.next_channel = 0;
  s.channels_in_use.clear();
  if (!channels) return;
  s.channels_in_use.assign(channels, channels + n);
  s.check_channel = check_channel;
  for (const PersistentHandle handle : s.channels_in_use)
    if (handle) channel_of(s, handle, "CmiUsePersistentHandle");
}
void CmiDestroyPersistent(PersistentHandle channel) {
  if (!channel) return;
  channel_of(ConverseState::of(require_pe("CmiDestroyPersistent")), channel, "CmiDestroyPersistent").destroyed = true;
}
void CmiDestroyAllPersistent() {
  for (PersistentChannel& channel : ConverseState::of(require_pe("CmiDestroyAllPersistent")).channels)
    channel.destroyed = true;
}

PersistentHandle CmiCreateCompressPersistent(int pe, int maxBytes, int, int) {
  return CmiCreatePersistent(pe, maxBytes);
}
PersistentHandle CmiCreateCompressNodePersistent(int node, int maxBytes, int, int) {
  return CmiCreateNodePersistent(node, maxBytes);
}
PersistentHandle CmiCreateCompressPersistentSize(int pe, int maxBytes, int, int, int) {
  return CmiCreatePersistent(pe, maxBytes);
}
PersistentHandle CmiCreateCompressNodePersistentSize(int node, int maxBytes, int, int, int) {
  return CmiCreateNodePersistent(node, maxBytes);
}
void CmiPersistentInit() {}
}
