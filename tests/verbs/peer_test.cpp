// Peers that are not as this version is, or say what they may not: written out here, step by step, with the peer of
// the fuzzer (tests/fuzz/verbs_peer.h), on the fake libibverbs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "machine/verbs/link.h"
#include "machine/verbs/transport.h"
#include "tests/fuzz/verbs_peer.h"
#include "tests/machine/conformance.h"

namespace periapt::fuzz {
// As the fuzzer's driver has it: what must hold whatever the peer says.
void expect(bool holds, const char* what, CodePlace) { EXPECT_TRUE(holds) << what; }
}  // namespace periapt::fuzz

namespace periapt::conformance {
namespace {

using ::testing::HasSubstr;
using verbs::Call;

fake_verbs::InPlace in_place;

// As detour.cpp has it in front of the bytes of puts and gets that go around.
struct Piece {
  std::uint64_t remote = 0, bytes = 0;
  std::uint32_t key = 0, outcome = 0;
};

class VerbsPeerTest : public testing::Test {
 protected:
  void SetUp() override {
    fake_verbs::faults() = {};
    worker = std::make_unique<Worker>(subject, fuzz::VerbsPeer::kOther, kSecret);
    OpenRequest request;
    request.self = fuzz::VerbsPeer::kOther + 1;
    request.secret = std::as_bytes(std::span(kSecret));
    request.host = "here";
    request.option = [](const std::string& name) {
      return name == "+net-devices" ? std::string("127.0.0.1") : std::string();
    };
    peer = std::make_unique<fuzz::VerbsPeer>(verbs::choices_for(request).front(), request);
  }
  void TearDown() override {
    worker.reset();
    peer.reset();
    fake_verbs::faults() = {};
  }
  template <class Condition>
  void until(Condition&& condition) {
    test::Standstill standstill([this] { return worker->describe(); });
    while (!condition()) {
      standstill.look(worker->progress() > 0);
      peer->look();
    }
  }
  /// Both queue pairs of messages are connected, by the next right steps of the peer.
  void connect() {
    link = &worker->connect(fuzz::VerbsPeer::kOther + 1, peer->address());
    until([&] {
      peer->step();
      return peer->messages != nullptr && peer->messages->connected && worker->transport().handed_over(*link) &&
             worker->send_inline(*link, 8) == Accepted::done;
    });
  }
  void ask(Call::Kind kind, const Piece& piece) { peer->tell(ucx::packed(peer->call_of(kind)), ucx::packed(piece)); }
  std::string why_lost() const { return worker->losses.empty() ? "" : worker->losses.front().reason; }

  const std::string kSecret = "a secret of the tests";
  const Subject subject{.factory = &verbs::factory, .options = {{"+net-devices", "127.0.0.1"}}};
  std::unique_ptr<Worker> worker;
  std::unique_ptr<fuzz::VerbsPeer> peer;
  Link* link = nullptr;
};

// Until the peer has heard that this side goes around too, its questions wait; one that is honest has so many at most.
TEST_F(VerbsPeerTest, APeerThatAsksForMoreThanItMayAroundIsALoss) {
  connect();
  peer->tell(peer->call_of(Call::Kind::around));
  until([&] { return peer->around.has_value(); });
  for (std::size_t i = 0; i < verbs::kOperationsMax; ++i) ask(i % 2 == 0 ? Call::Kind::get : Call::Kind::put, {});
  for (int i = 0; i < 1000; ++i) worker->progress(), peer->look();
  EXPECT_EQ(why_lost(), "") << "so many may wait";
  ask(Call::Kind::get, {});
  until([&] { return !worker->losses.empty(); });
  EXPECT_THAT(why_lost(), HasSubstr(verbs::kNotUnderstood));
}

}  // namespace
}  // namespace periapt::conformance
