// What the TCP transport beside a verbs transport hands up: calls (wire.h) and losses.
#pragma once

#include "machine/verbs/transport.h"

namespace periapt::verbs {

class VerbsTransport::Control final : public ucx::Receiver {
 public:
  explicit Control(VerbsTransport& transport) : transport_(transport) {}

  bool arrived(ucx::Link& from, ucx::Header header, std::span<const std::byte>) override {
    transport_.take_call(from, header);
    return true;
  }
  // Calls have no payload, so no peer of this version sends one that changes owner or is placed.
  void arrived_owned(ucx::Link& from, ucx::Header, ucx::Buffer) override { transport_.take_call(from, {}); }
  std::byte* place(ucx::Link&, ucx::Header, std::uint64_t) override { return nullptr; }
  void placed(ucx::Link&) override {}
  void link_lost(ucx::Link& link, const std::string& reason) override { transport_.control_lost(link, reason); }

 private:
  VerbsTransport& transport_;
};

}  // namespace periapt::verbs
