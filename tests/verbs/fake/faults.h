// What a test may break in the fake libibverbs. The library is loaded by the transport; a test finds these by
// faults_of() in tests/verbs/fake_verbs.h.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "tests/machine/failing_calls.h"

namespace periapt::fake_verbs {

/// Calls fail by the name of the function, "ibv_create_qp", or "ibv_post_send, a datagram", with what in errno.
struct Faults : conformance::FailingCalls {
  std::deque<ibv_wc_status> next_sends;  ///< how the next sends, puts and gets end that are posted anywhere
  unsigned break_one_in = 0;             ///< not 0: so many of what is posted break their queue pair, by chance
  unsigned seed = 0;                     ///< not 0: completions of different queue pairs come in another order
  // Of so many datagrams one, by chance; 0: none.
  unsigned datagrams_lost_one_in = 0;
  unsigned datagrams_late_one_in = 0;  ///< comes after the next one
  unsigned datagrams_twice_one_in = 0;
  unsigned datagrams_mangled_one_in = 0;  ///< a byte of it is another, or it is cut short
  int mangled_at = -1;                    ///< the byte of them that is another; -1: by turns
  bool without_datagrams = false;         ///< no queue pair for them is given
  /// What a peer that is wrong says instead of the messages that it posts on queue pairs that connect.
  std::function<void(std::vector<std::byte>& message)> rewrite;
  int answers_lost = 0;        ///< of so many messages the sender hears that they timed out, and they are there
  unsigned timeout_ms = 200;   ///< after which a device that asks in vain gives up
  bool port_down = false;      ///< what is sent does not arrive, and ends with a timeout
  bool without_gid = false;    ///< a port that nothing can address
  bool port_inactive = false;  ///< as ibv_query_port tells it
  int path_mtu = 0;            ///< ibv_mtu of the queue pair that was connected last
  bool infiniband = false;     ///< otherwise RoCE
  /// As its vendor's number tells it. A port that goes down leaves its queue pairs silent for good, and gives no way.
  bool soft_roce = false;
  bool iwarp = false;              ///< what the devices are, as their list tells it
  int receives_most = 1 << 14;     ///< of a shared receive queue
  int completions_most = 1 << 16;  ///< of a completion queue
  unsigned inline_most = 256;      ///< more is refused
  bool peer_memory = false;        ///< memory of a fake GPU is registered by its addresses
  int devices = 1;
  unsigned pairs_made = 0;   ///< reliable queue pairs so far
  std::uint64_t posted = 0;  ///< sends, puts and gets so far
  int dma_bufs = 0;          ///< that are registered

  // Of one device, by its number.
  static constexpr int kDevicesMost = 4;
  unsigned ports_down = 0;                                 ///< a bit each: as port_down, which is for all
  unsigned ports_inactive = 0;                             ///< the same: as port_inactive
  std::array<int, kDevicesMost> speed = {32, 32, 32, 32};  ///< ibv_port_attr::active_speed
  std::array<unsigned, kDevicesMost> bytes_per_us = {};    ///< that it really carries; 0: as fast as it goes
  std::array<std::uint64_t, kDevicesMost> one_sided = {};  ///< of those by puts and gets
  std::array<std::uint8_t, kDevicesMost> subnet = {};      ///< of InfiniBand
  std::array<std::uint64_t, kDevicesMost> sent = {};       ///< bytes so far
  std::array<std::string, kDevicesMost> folder;            ///< in /sys, or in place of it
  std::array<std::uint64_t, kDevicesMost> adapter = {};    ///< the same: of the same; 0: not told
  /// The keys in the table of its port; empty: the usual one.
  std::array<std::vector<std::uint16_t>, kDevicesMost> partitions;
  std::vector<std::uint16_t> partitions_of(int device) const {
    const auto& keys = partitions[static_cast<std::size_t>(device)];
    return keys.empty() ? std::vector<std::uint16_t>{0xffff} : keys;
  }

  /// Whether this one breaks. From any thread.
  bool breaks() { return happens(break_one_in); }
  bool happens(unsigned one_in) {
    if (one_in == 0) return false;
    const std::uint64_t next = __atomic_load_n(&chance, __ATOMIC_RELAXED) * 6364136223846793005u + 1442695040888963407u;
    __atomic_store_n(&chance, next, __ATOMIC_RELAXED);
    return (next >> 33) % one_in == 0;
  }
  std::uint64_t chance = 1;
};

/// An asynchronous event for every context of that device, or of all (-1), that is open in this process.
using Raise = void (*)(ibv_event_type type, int device);

}  // namespace periapt::fake_verbs
