// The objects behind the fake's verbs. As a real device would, it checks what it is given: keys, states, depths, and
// that a completion queue never runs over, which ends the test. What a real device does by itself happens here whenever
// the program calls into the library: so nothing runs beside the test, and a run can be stepped.
#pragma once

#include <infiniband/verbs.h>

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "tests/verbs/fake/fabric.h"
#include "tests/verbs/fake/faults.h"

namespace periapt::fake_verbs {

Faults& faults();

struct Context;

struct Region : ibv_mr {
  int access = 0;
  std::byte* real = nullptr;  ///< where the bytes are; memory of a fake GPU is not at its addresses
  void* mapped = nullptr;     ///< from a dma-buf, with what lies before it
  std::size_t mapped_bytes = 0;
  std::byte* at(std::uint64_t address) const { return real + (address - reinterpret_cast<std::uint64_t>(addr)); }
  bool covers(std::uint64_t address, std::uint64_t size, int wanted) const;
};

struct CompletionQueue : ibv_cq {
  struct Entry {
    ibv_wc wc{};
    bool receives = false;
    std::uint64_t retires = 0;  ///< sends of the queue pair up to here have room again when it is taken
  };
  std::deque<Entry> entries;
  bool armed = false;
  Context& owner() { return *reinterpret_cast<Context*>(context); }
  void push(const Entry& entry);
};

struct Receive {
  std::uint64_t id = 0;
  ibv_sge place{};
};
struct SharedReceives : ibv_srq {
  std::deque<Receive> waiting;
  std::size_t most = 0;
};

struct Request {
  std::uint64_t id = 0, number = 0;
  ibv_wr_opcode code{};
  bool signaled = false;
  bool forced = false;  ///< ends with `status`, without being sent
  ibv_wc_status status = IBV_WC_SUCCESS;
  std::vector<std::byte> copied;
  std::vector<ibv_sge> parts;
  std::uint64_t remote = 0, total = 0, sent = 0;
  std::uint32_t key = 0;
  bool all_sent = false;
  void copy_out(std::uint64_t offset, std::span<std::byte> to) const;
  void copy_in(std::uint64_t offset, Bytes from) const;
};

/// Where datagrams go to. In this network the number of the queue pair is enough.
struct Way : ibv_ah {};

struct Pair : ibv_qp {
  // Asking.
  std::deque<Request> requests;  ///< without an answer, the oldest first
  std::size_t next = 0;          ///< of them: the first that has not gone out whole
  std::uint64_t posted = 0, retired = 0;
  std::uint32_t depth = 0, inline_most = 0;
  bool signals_all = false;
  std::uint64_t doomed_ns = 0;  ///< when those under way time out; 0: they do not
  // Answering.
  struct Inbound {
    Packet packet;
    std::vector<std::byte> bytes;
  };
  std::deque<Inbound> inbound;  ///< waits for a receive
  bool receiving = false;
  Receive receive;
  std::uint64_t answers_ns = 0;  ///< when a read that waits has its bytes; 0: none waits
  int access = 0;
  std::uint32_t destination = 0;
  std::uint16_t partition = 0;  ///< its key
  bool silent = false;          ///< until the error state: nothing goes, comes, ends or fails
  // Of datagrams.
  std::uint32_t key = 0;
  Packet late;  ///< one that goes after the next
  std::vector<std::byte> late_bytes;
  bool has_late = false;

  Context& owner() { return *reinterpret_cast<Context*>(context); }
  SharedReceives& receives() { return *reinterpret_cast<SharedReceives*>(srq); }

  int post(const ibv_send_wr& wr);
  void transmit();
  void take(const Packet& packet, Bytes bytes);
  bool hears(const Packet& packet) const;
  void take_waiting();
  void doom();
  void tick(std::uint64_t now_ns);
  void fail();  ///< the error state: all that is under way is flushed

 private:
  static void rewrite(Request& request);
  int post_datagram(const ibv_send_wr& wr, Request& request);
  void take_datagram(const Packet& packet, Bytes bytes);
  bool answer_one(const Packet& packet, Bytes bytes);
  bool may_read(const Packet& packet);
  bool take_send(const Packet& packet, Bytes bytes);
  void take_write(const Packet& packet, Bytes bytes);
  void take_read(const Packet& packet);
  void take_answer(const Packet& packet, Bytes bytes);
  void answer(const Packet& packet, ibv_wc_status status);
  void refuse_access(const Packet& packet);
  bool send_part(Request& request);
  void end_first(ibv_wc_status status);
  bool local_parts_are_good(const Request& request, int wanted) const;
};

struct Context : ibv_context {
  explicit Context(int device_number);
  ~Context();
  void pump();
  void raise(ibv_async_event event);
  Region* region(std::uint32_t key) const;

  // From any thread.
  void count(std::uint64_t bytes, bool one_sided) const {
    const auto device_at = static_cast<std::size_t>(number);
    __atomic_fetch_add(&faults().sent[device_at], bytes, __ATOMIC_RELAXED);
    if (one_sided) __atomic_fetch_add(&faults().one_sided[device_at], bytes, __ATOMIC_RELAXED);
  }
  /// When so many bytes, from now on, have passed a device that carries only so much (Faults::bytes_per_us).
  std::uint64_t passed_ns(std::uint64_t bytes);
  bool is_down() const { return faults().port_down || (faults().ports_down >> number & 1) != 0; }

  const int number;  ///< of its device
  Fabric fabric;
  std::map<std::uint32_t, Pair*> pairs;
  std::map<std::uint32_t, Region*> regions;
  std::deque<ibv_async_event> events;
  std::deque<CompletionQueue*> told;  ///< completion events that have not been taken
  std::uint32_t last_pair = 0;
  std::uint64_t free_ns = 0;  ///< when all that it was given has passed
  bool pumping = false;
};

}  // namespace periapt::fake_verbs
