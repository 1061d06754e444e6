// What a target of a transport gives to it: operations that know whether they end as they should, and a receiver that
// believes whatever comes, and closes a link now and then.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "machine/ucx-like/transport.h"
#include "tests/fuzz/fuzz.h"

namespace periapt::fuzz {

/// One operation. Where it was taken it ends once, with an outcome that there is.
struct Ended : ucx::Completion {
  bool taken = false, told = false;
  Ended() {
    done = [](Completion& self, ucx::Outcome outcome) {
      auto& one = static_cast<Ended&>(self);
      expect(one.taken, "what was not taken does not end, nor does anything within its beginning");
      expect(!std::exchange(one.told, true), "what was taken ends once");
      expect(outcome <= ucx::Outcome::failed, "an outcome is one of those that there are");
    };
  }
};

class Careless final : public ucx::Receiver {
 public:
  explicit Careless(Input& now) : input(now) {}
  bool arrived(ucx::Link& from, ucx::Header header, Bytes payload) override {
    know(from);
    for (std::byte byte : header) sum += static_cast<unsigned>(byte);
    for (std::byte byte : payload) sum += static_cast<unsigned>(byte);
    if (input.below(64) == 63) close(from);
    return true;
  }
  void arrived_owned(ucx::Link&, ucx::Header, ucx::Buffer) override { expect(false, "it hands up no buffers"); }
  std::byte* place(ucx::Link&, ucx::Header, std::uint64_t) override { return nullptr; }
  void placed(ucx::Link&) override {}
  void link_lost(ucx::Link& link, const std::string& reason) override {
    expect(!reason.empty(), "a loss has a reason");
    close(link);
  }
  void link_degraded(ucx::Link& link) override {
    expect(link.degraded, "a link that goes another way says so");
    know(link);
  }
  void link_restored(ucx::Link& link) override {
    expect(!link.degraded, "a link that has come back does not go another way");
    know(link);
  }

  void know(ucx::Link& link) {
    if (std::find(links.begin(), links.end(), &link) == links.end()) links.push_back(&link);
  }
  void close(ucx::Link& link) {
    std::erase(links, &link);
    link.transport().close(link);
  }
  Input& input;
  std::vector<ucx::Link*> links;  ///< that are open and known
  unsigned sum = 0;
};

}  // namespace periapt::fuzz
