#include "tests/verbs/fake/device.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace periapt::fake_verbs {
namespace {

constexpr std::uint64_t kPacketMost = 4096;  // of a datagram
constexpr std::size_t kHeadOfDatagram = 40;
constexpr std::size_t kWaitingMost = 1 << 20;  // in the network, before a request goes on

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace

bool Region::covers(std::uint64_t at, std::uint64_t size, int wanted) const {
  const std::uint64_t offset = at - reinterpret_cast<std::uint64_t>(addr);
  return offset <= length && size <= length - offset && (access & wanted) == wanted;
}

void CompletionQueue::push(const Entry& entry) {
  entries.push_back(entry);
  if (entries.size() > static_cast<std::size_t>(cqe)) {
    std::fprintf(stderr, "fake verbs: a completion queue of %d entries ran over\n", cqe);
    std::abort();
  }
  if (!std::exchange(armed, false)) return;
  owner().told.push_back(this);
  owner().fabric.signal(true);
}

void Request::copy_out(std::uint64_t offset, std::span<std::byte> to) const {
  if (!copied.empty() || total == 0) {
    std::copy_n(copied.begin() + static_cast<std::ptrdiff_t>(offset), to.size(), to.begin());
    return;
  }
  for (const ibv_sge& part : parts) {
    if (offset < part.length && !to.empty()) {
      const auto size = std::min<std::uint64_t>(part.length - offset, to.size());
      std::memcpy(to.data(), reinterpret_cast<const void*>(part.addr + offset), size);
      to = to.subspan(size);
      offset = 0;
    } else {
      offset -= std::min<std::uint64_t>(offset, part.length);
    }
  }
}

void Request::copy_in(std::uint64_t offset, Bytes from) const {
  // Reads have one part: the transport asks for no more.
  if (!from.empty()) std::memcpy(reinterpret_cast<void*>(parts.at(0).addr + offset), from.data(), from.size());
}

// ---- asking

bool Pair::local_parts_are_good(const Request& request, int wanted) const {
  const auto& context_of_this = *reinterpret_cast<const Context*>(context);
  return std::all_of(request.parts.begin(), request.parts.end(), [&](const ibv_sge& part) {
    const Region* region = context_of_this.region(part.lkey);
    return region != nullptr && region->covers(part.addr, part.length, wanted);
  });
}

int Pair::post(const ibv_send_wr& wr) {
  if (state != IBV_QPS_RTS && state != IBV_QPS_ERR) return EINVAL;
  if (posted - retired >= depth) return ENOMEM;
  Request request;
  request.id = wr.wr_id;
  request.code = wr.opcode;
  request.signaled = signals_all || (wr.send_flags & IBV_SEND_SIGNALED) != 0;
  for (int i = 0; i < wr.num_sge; ++i) request.total += wr.sg_list[i].length;
  if (qp_type == IBV_QPT_UD && (wr.opcode != IBV_WR_SEND || wr.wr.ud.ah == nullptr || request.total > kPacketMost))
    return EINVAL;
  if (wr.opcode != IBV_WR_SEND) request.remote = wr.wr.rdma.remote_addr, request.key = wr.wr.rdma.rkey;
  request.parts.assign(wr.sg_list, wr.sg_list + wr.num_sge);
  if ((wr.send_flags & IBV_SEND_INLINE) != 0) {
    if (request.total > inline_most || wr.opcode == IBV_WR_RDMA_READ) return EINVAL;
    std::vector<std::byte> bytes(request.total);
    request.copy_out(0, bytes);
    request.copied = std::move(bytes);
    request.parts.clear();
  } else if (!local_parts_are_good(request, wr.opcode == IBV_WR_RDMA_READ ? IBV_ACCESS_LOCAL_WRITE : 0)) {
    request.forced = true;
    request.status = IBV_WC_LOC_PROT_ERR;
  } else {
    for (ibv_sge& part : request.parts)
      part.addr = reinterpret_cast<std::uint64_t>(owner().region(part.lkey)->at(part.addr));
  }
  __atomic_fetch_add(&faults().posted, 1, __ATOMIC_RELAXED);
  if (!faults().next_sends.empty() && !request.forced) {
    request.forced = faults().next_sends.front() != IBV_WC_SUCCESS;
    request.status = faults().next_sends.front();
    faults().next_sends.pop_front();
  }
  if (qp_type == IBV_QPT_UD) return post_datagram(wr, request);
  if (!request.forced && faults().breaks()) {
    request.forced = true;
    request.status = IBV_WC_RETRY_EXC_ERR;
  }
  if (faults().rewrite && request.code == IBV_WR_SEND && !request.forced) rewrite(request);
  request.number = ++posted;
  requests.push_back(std::move(request));
  if (state == IBV_QPS_ERR) return fail(), 0;
  transmit();
  return 0;
}

void Pair::rewrite(Request& request) {
  std::vector<std::byte> message(request.total);
  request.copy_out(0, message);
  faults().rewrite(message);
  request.total = message.size();
  request.copied = std::move(message);
  request.parts.clear();
}

int Pair::post_datagram(const ibv_send_wr& wr, Request& request) {
  if (const int error = faults().hit("ibv_post_send, a datagram"); error != 0) return error;
  request.number = ++posted;
  Packet packet{.kind = Packet::Kind::datagram, .to = wr.wr.ud.remote_qpn, .from = qp_num, .key = wr.wr.ud.remote_qkey};
  packet.total = request.total;
  packet.partition = partition;
  std::vector<std::byte> bytes(request.total);
  const ibv_wc_status status = request.forced ? request.status : IBV_WC_SUCCESS;
  if (!request.forced) request.copy_out(0, bytes);
  requests.push_back(std::move(request));
  if (state == IBV_QPS_ERR) return fail(), 0;
  if (silent) return 0;
  end_first(status);
  if (status != IBV_WC_SUCCESS) return fail(), 0;
  Fabric& fabric = owner().fabric;
  if (owner().is_down() || faults().happens(faults().datagrams_lost_one_in)) return 0;
  if (!has_late && faults().happens(faults().datagrams_late_one_in)) {
    late = packet, late_bytes = std::move(bytes), has_late = true;
    return 0;
  }
  if (faults().happens(faults().datagrams_mangled_one_in)) {
    std::vector<std::byte> mangled = bytes;  // in addition: what arrives whole is not damaged, a device sees to that
    constexpr std::size_t kMark = 16;        // so many bytes say whose it is
    const int chosen = faults().mangled_at;
    const std::size_t at = chosen < 0 ? posted * 7 % (2 * kMark) : static_cast<std::size_t>(chosen);
    if (at < kMark) {
      mangled.at(at) ^= std::byte{0x55};
    } else {
      mangled.resize(at - kMark);
    }
    Packet strange = packet;
    strange.total = mangled.size();
    fabric.send(strange, mangled);
  }
  owner().count(bytes.size(), false);
  if (fabric.waiting(context_of(packet.to)) > kWaitingMost) return 0;
  fabric.send(packet, bytes);
  if (faults().happens(faults().datagrams_twice_one_in)) fabric.send(packet, bytes);
  if (std::exchange(has_late, false)) fabric.send(late, late_bytes);
  return 0;
}

/// What cannot be taken is dropped without a word.
void Pair::take_datagram(const Packet& packet, Bytes bytes) {
  const bool listens = state == IBV_QPS_RTR || state == IBV_QPS_RTS;
  if (!listens || qp_type != IBV_QPT_UD || packet.key != key || receives().waiting.empty()) return;
  const Receive into = receives().waiting.front();
  if (into.place.length < kHeadOfDatagram + packet.total) return;
  receives().waiting.pop_front();
  auto* at = reinterpret_cast<std::byte*>(into.place.addr);
  std::memset(at, 0xee, kHeadOfDatagram);  // means nothing where the packet did not come through a router
  if (!bytes.empty()) std::memcpy(at + kHeadOfDatagram, bytes.data(), bytes.size());
  CompletionQueue::Entry entry;
  entry.receives = true;
  entry.wc.wr_id = into.id;
  entry.wc.opcode = IBV_WC_RECV;
  entry.wc.byte_len = static_cast<std::uint32_t>(kHeadOfDatagram + packet.total);
  entry.wc.qp_num = qp_num;
  entry.wc.src_qp = packet.from;
  reinterpret_cast<CompletionQueue*>(recv_cq)->push(entry);
}

/// False: the network is full.
bool Pair::send_part(Request& request) {
  Packet packet{.to = destination, .from = qp_num, .key = request.key, .last = 1, .address = request.remote};
  packet.total = request.total;
  packet.partition = partition;
  if (request.code == IBV_WR_RDMA_READ) {
    packet.kind = Packet::Kind::read;
    owner().fabric.send(packet, {});
    return request.all_sent = true;
  }
  if (owner().fabric.waiting(context_of(destination)) > kWaitingMost || owner().free_ns > now_ns()) return false;
  packet.kind = request.code == IBV_WR_SEND ? Packet::Kind::send : Packet::Kind::write;
  std::vector<std::byte> bytes(std::min<std::uint64_t>(kFragment, request.total - request.sent));
  request.copy_out(request.sent, bytes);
  packet.offset = request.sent;
  request.sent += bytes.size();
  owner().passed_ns(bytes.size());
  owner().count(bytes.size(), request.code != IBV_WR_SEND);
  packet.last = request.all_sent = request.sent == request.total;
  owner().fabric.send(packet, bytes);
  return true;
}

void Pair::transmit() {
  while (state == IBV_QPS_RTS && !silent && next < requests.size()) {
    Request& request = requests[next];
    if (owner().is_down()) return doom();
    if (request.forced) {
      if (next != 0) return;  // those before it end first
      end_first(request.status);
      return fail();
    }
    if (!send_part(request)) return;
    if (owner().fabric.has_gone(context_of(destination))) doom();
    if (request.all_sent) ++next;
  }
}

void Pair::end_first(ibv_wc_status status) {
  const Request& request = requests.front();
  if (request.signaled || status != IBV_WC_SUCCESS) {
    CompletionQueue::Entry entry;
    entry.wc.wr_id = request.id;
    entry.wc.status = status;
    entry.wc.qp_num = qp_num;
    entry.wc.opcode = request.code == IBV_WR_SEND         ? IBV_WC_SEND
                      : request.code == IBV_WR_RDMA_WRITE ? IBV_WC_RDMA_WRITE
                                                          : IBV_WC_RDMA_READ;
    entry.retires = request.number;
    reinterpret_cast<CompletionQueue*>(send_cq)->push(entry);
  }
  requests.pop_front();
  if (next > 0) --next;
  if (requests.empty()) doomed_ns = 0;
}

void Pair::take_answer(const Packet& packet, Bytes bytes) {
  if (requests.empty() || next == 0) return;  // of what was flushed
  if (packet.kind == Packet::Kind::data) {
    requests.front().copy_in(packet.offset, bytes);
    if (packet.last != 0) end_first(IBV_WC_SUCCESS);
    return transmit();
  }
  const auto status = static_cast<ibv_wc_status>(packet.status);
  // No queue pair is there, or none that listens: a device that is asked in vain gives up after a while.
  if (status == IBV_WC_RETRY_EXC_ERR) return doom();
  const bool lost = status == IBV_WC_SUCCESS && requests.front().code == IBV_WR_SEND &&
                    (faults().answers_lost > 0 || faults().breaks());
  if (lost) {
    if (faults().answers_lost > 0) --faults().answers_lost;
    end_first(IBV_WC_RETRY_EXC_ERR);
    return fail();
  }
  end_first(status);
  status == IBV_WC_SUCCESS ? transmit() : fail();
}

void Pair::doom() {
  if (requests.empty() || doomed_ns != 0) return;
  doomed_ns = now_ns() + std::uint64_t{faults().timeout_ms} * 1'000'000;
  owner().fabric.wake_later();
}

void Pair::tick(std::uint64_t now) {
  if (doomed_ns == 0 || silent) return;
  if (now < doomed_ns) return owner().fabric.wake_later();
  end_first(IBV_WC_RETRY_EXC_ERR);
  fail();
}

void Pair::fail() {
  state = IBV_QPS_ERR;
  silent = false;
  while (!requests.empty()) end_first(IBV_WC_WR_FLUSH_ERR);
  inbound.clear();
  answers_ns = 0;
  receiving = false;
}

// ---- answering

void Pair::answer(const Packet& packet, ibv_wc_status status) {
  Packet back{.kind = Packet::Kind::answer, .to = packet.from, .from = qp_num};
  back.status = static_cast<std::uint32_t>(status);
  owner().fabric.send(back, {});
}

void Pair::take(const Packet& packet, Bytes bytes) {
  const bool answers = packet.kind == Packet::Kind::data || packet.kind == Packet::Kind::answer;
  if (silent && (answers || packet.kind == Packet::Kind::datagram)) return;
  if (packet.kind == Packet::Kind::datagram) return hears(packet) ? take_datagram(packet, bytes) : void();
  if (answers) return take_answer(packet, bytes);
  const bool listens =
      !silent && (state == IBV_QPS_RTR || state == IBV_QPS_RTS) && packet.from == destination && hears(packet);
  if (!listens) return answer(packet, IBV_WC_RETRY_EXC_ERR);
  if (inbound.empty() && answer_one(packet, bytes)) return;
  inbound.push_back({packet, {bytes.begin(), bytes.end()}});
}

/// What another partition sends is dropped, as is what one limited member sends to another.
bool Pair::hears(const Packet& packet) const {
  constexpr std::uint64_t kFull = 0x8000;
  return ((packet.partition ^ partition) & ~kFull) == 0 && ((packet.partition | partition) & kFull) != 0;
}

void Pair::take_waiting() {
  while (!inbound.empty() && !silent) {
    const Inbound first = std::move(inbound.front());
    inbound.pop_front();
    if (answer_one(first.packet, first.bytes)) continue;
    inbound.push_front(first);
    return;
  }
}

/// False: it has to wait for a receive.
bool Pair::answer_one(const Packet& packet, Bytes bytes) {
  switch (packet.kind) {
    case Packet::Kind::send:
      return take_send(packet, bytes);
    case Packet::Kind::write:
      return take_write(packet, bytes), true;
    default:
      return may_read(packet) && (take_read(packet), true);
  }
}

bool Pair::may_read(const Packet& packet) {
  if (answers_ns == 0) answers_ns = owner().passed_ns(packet.total);
  if (answers_ns > now_ns()) return false;
  answers_ns = 0;
  return true;
}

bool Pair::take_send(const Packet& packet, Bytes bytes) {
  if (!receiving) {
    if (receives().waiting.empty()) return false;
    receive = receives().waiting.front();
    receives().waiting.pop_front();
    receiving = true;
  }
  if (packet.total > receive.place.length) {
    receives().waiting.push_front(receive);
    answer(packet, IBV_WC_REM_INV_REQ_ERR);
    return fail(), true;
  }
  if (!bytes.empty())
    std::memcpy(reinterpret_cast<void*>(receive.place.addr + packet.offset), bytes.data(), bytes.size());
  if (packet.last == 0) return true;
  receiving = false;
  CompletionQueue::Entry entry;
  entry.receives = true;
  entry.wc.wr_id = receive.id;
  entry.wc.opcode = IBV_WC_RECV;
  entry.wc.byte_len = static_cast<std::uint32_t>(packet.total);
  entry.wc.qp_num = qp_num;
  reinterpret_cast<CompletionQueue*>(recv_cq)->push(entry);
  answer(packet, IBV_WC_SUCCESS);
  return true;
}

void Pair::refuse_access(const Packet& packet) {
  answer(packet, IBV_WC_REM_ACCESS_ERR);
  fail();
  ibv_async_event event{};
  event.event_type = IBV_EVENT_QP_ACCESS_ERR;
  event.element.qp = this;
  owner().raise(event);
}

void Pair::take_write(const Packet& packet, Bytes bytes) {
  const Region* region = owner().region(packet.key);
  const bool may = (access & IBV_ACCESS_REMOTE_WRITE) != 0 && region != nullptr &&
                   region->covers(packet.address, packet.total, IBV_ACCESS_REMOTE_WRITE);
  if (packet.total != 0 && !may) return refuse_access(packet);
  if (!bytes.empty()) std::memcpy(region->at(packet.address + packet.offset), bytes.data(), bytes.size());
  if (packet.last != 0) answer(packet, IBV_WC_SUCCESS);
}

void Pair::take_read(const Packet& packet) {
  const Region* region = owner().region(packet.key);
  const bool may = (access & IBV_ACCESS_REMOTE_READ) != 0 && region != nullptr &&
                   region->covers(packet.address, packet.total, IBV_ACCESS_REMOTE_READ);
  if (packet.total != 0 && !may) return refuse_access(packet);
  Packet data{.kind = Packet::Kind::data, .to = packet.from, .from = qp_num};
  do {
    const std::uint64_t size = std::min<std::uint64_t>(kFragment, packet.total - data.offset);
    data.last = data.offset + size == packet.total;
    owner().fabric.send(data, {size == 0 ? nullptr : region->at(packet.address + data.offset), size});
    owner().count(size, true);
    data.offset += size;
  } while (data.last == 0);
}

// ---- contexts

Context::Context(int device_number) : ibv_context{}, number(device_number) {
  async_fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC | EFD_SEMAPHORE);
}
Context::~Context() { ::close(async_fd); }

Region* Context::region(std::uint32_t key) const {
  auto known = regions.find(key);
  return known == regions.end() ? nullptr : known->second;
}

void Context::raise(ibv_async_event event) {
  events.push_back(event);
  const std::uint64_t one = 1;
  if (::write(async_fd, &one, sizeof one) < 0) std::abort();
}

std::uint64_t Context::passed_ns(std::uint64_t bytes) {
  const unsigned carries = faults().bytes_per_us[static_cast<std::size_t>(number)];
  if (carries == 0) return 0;
  free_ns = std::max(free_ns, now_ns()) + bytes * 1000 / carries;
  fabric.wake_later();
  return free_ns;
}

void Context::pump() {
  if (std::exchange(pumping, true)) return;
  const auto take = [this](const Packet& packet, Bytes bytes) {
    auto known = pairs.find(packet.to);
    if (known != pairs.end()) return known->second->take(packet, bytes);
    if (packet.kind == Packet::Kind::data || packet.kind >= Packet::Kind::answer) return;
    Packet nobody{.kind = Packet::Kind::answer, .to = packet.from, .from = packet.to};
    nobody.status = IBV_WC_RETRY_EXC_ERR;
    fabric.send(nobody, {});
  };
  const auto gone = [this](std::uint32_t context) {
    for (auto& [number, pair] : pairs) {
      if (context_of(pair->destination) == context) pair->doom();
    }
  };
  fabric.pump(take, gone);
  const std::uint64_t now = now_ns();
  for (auto& [number, pair] : pairs) {
    pair->take_waiting();
    pair->transmit();
    pair->tick(now);
  }
  pumping = false;
}

}  // namespace periapt::fake_verbs
