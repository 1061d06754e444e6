// A network made up for a test: PEs in one thread, and between them what they have sent. Messages from one PE to
// another keep their order; else a step delivers any of them, drawn from a seed. Some PEs are slow for a while: what is
// sent by them or to them takes long.
#pragma once
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/collective/sender.h"

namespace periapt::test {

class FakeNetwork {
 public:
  // A call of the runtime on its way, inline or as a message.
  struct Packet {
    Delivery call;
    std::vector<char> bytes;  // of an inline one

    // As its receiver gets it.
    Delivery& deliver() {
      if (!call.message) call.arguments = bytes.data();
      return call;
    }
  };

  // A PE's way in.
  class Port final : public Sender {
   public:
    Port(FakeNetwork& network, int me) : Sender(me, network.pes(), network.random_state_), network_(network) {}
    using Sender::send;
    void send(int to, int entry, int collection, std::uint64_t element, const void* arguments,
              std::size_t length) override {
      const char* bytes = static_cast<const char*>(arguments);
      network_.add(me, to,
                   {Delivery(static_cast<std::uint16_t>(entry), Target::runtime, static_cast<std::uint32_t>(collection),
                             element, nullptr, length),
                    {bytes, bytes + length}});
    }
    void send(int to, Message&& message) override { network_.add(me, to, {Delivery(std::move(message)), {}}); }
    void begin_pending() override { ++created; }
    void end_pending() override { ++processed; }
    void count_created() { ++created; }
    void count_processed() { ++processed; }
    void deliver(const CkCallback& callback, void* message) override { network_.on_result(me, callback, message); }
    std::string name_of(int collection) const override { return "collection " + std::to_string(collection); }

    std::uint64_t created = 0, processed = 0;

   private:
    FakeNetwork& network_;
  };

  FakeNetwork(int pes, std::mt19937& chance) : chance_(chance), links_(static_cast<std::size_t>(pes * pes)), pes_(pes) {
    for (int pe = 0; pe < pes; ++pe) ports_.push_back(std::make_unique<Port>(*this, pe));
  }

  // Set before the first message is sent. `packet` is the receiver's.
  std::function<void(int pe, Packet packet)> on_packet;
  std::function<void(int pe, const CkCallback& callback, void* message)> on_result;

  int pes() const { return pes_; }
  Port& port(int pe) { return *ports_[static_cast<std::size_t>(pe)]; }
  std::size_t on_their_way() const { return on_their_way_; }

  // Delivers a message. False when there is none.
  bool step() {
    if (on_their_way_ == 0) return false;
    if (pick(100) == 0) slow_ = chance_();
    for (int tries = 0;; ++tries) {
      const int from = pick(pes_), to = pick(pes_);
      std::deque<Packet>& link = links_[static_cast<std::size_t>(from * pes_ + to)];
      const bool slow = (slow_ >> (from % 32) | slow_ >> (to % 32)) & 1;
      if (link.empty() || (slow && tries < 20 * pes_ * pes_)) continue;
      Packet packet = std::move(link.front());
      link.pop_front();
      --on_their_way_;
      on_packet(to, std::move(packet));
      return true;
    }
  }
  int pick(int below) { return static_cast<int>(chance_() % static_cast<unsigned>(below)); }

 private:
  void add(int from, int to, Packet packet) {
    links_[static_cast<std::size_t>(from * pes_ + to)].push_back(std::move(packet));
    ++on_their_way_;
  }

  std::mt19937& chance_;
  std::uint64_t random_state_ = 0;
  std::vector<std::deque<Packet>> links_;  // by sender and receiver
  std::size_t on_their_way_ = 0;
  std::uint32_t slow_ = 0;
  const int pes_;
  std::vector<std::unique_ptr<Port>> ports_;
};

}  // namespace periapt::test
