// The protocols of a PE and the PE itself: what they send with, and how their messages find them.
#pragma once
#include <string>

#include "runtime/collective/quiescence.h"
#include "runtime/collective/sender.h"
#include "runtime/objects/pe_objects.h"

namespace periapt {

class PeProtocols final : public Sender, public Quiescence::Host {
 public:
  explicit PeProtocols(Pe& pe);
  // Those of reductions and of quiescence detection.
  static void register_entries();

  // Sender
  void send(int to, int entry, int collection, std::uint64_t element, const void* arguments,
            std::size_t length) override;
  void send(int to, Message&& message) override;
  void begin_pending() override { pe_.begin_pending(); }
  void end_pending() override { pe_.end_pending(); }
  void deliver(const CkCallback& callback, void* message) override;
  std::string name_of(int collection) const override;
  using Sender::send;

  // Quiescence::Host
  Quiescence::Counts counts() const override { return {pe_.created, pe_.processed}; }
  bool is_busy() const override { return pe_.is_busy() || pe_.port.parked(); }
  void remind(int entry, std::uint64_t element) override;
  void pause() override;
  void became_quiet() override;

 private:
  Pe& pe_;
};

}  // namespace periapt
