// The parts of the TCP transport that need no socket: the proof, the handshake, the choice of devices, the outbox.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>
#include <string>

#include "machine/tcp/devices.h"
#include "machine/tcp/handshake.h"
#include "machine/tcp/hmac.h"
#include "machine/tcp/outbox.h"
#include "tests/machine/hex.h"

namespace periapt::tcp {
namespace {

Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// ---- the proof: published vectors

TEST(Sha256, GivesThePublishedDigests) {  // FIPS 180-4's examples
  EXPECT_EQ(test::to_hex(Sha256().finish()), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(test::to_hex(Sha256().add(bytes_of("abc")).finish()),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(test::to_hex(Sha256().add(bytes_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")).finish()),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(test::to_hex(Sha256().add(bytes_of(std::string(1'000'000, 'a'))).finish()),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Hmac, GivesThePublishedDigests) {  // RFC 4231, test cases 1, 2, 3, 6
  auto digest = [](const std::string& secret, const std::string& text) {
    return test::to_hex(hmac(bytes_of(secret), {bytes_of(text)}));
  };
  EXPECT_EQ(digest(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(digest("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(digest(std::string(20, '\xaa'), std::string(50, '\xdd')),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  EXPECT_EQ(digest(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Hmac, PartsAreOneText) {
  std::string a = "some", b = "thing";
  EXPECT_EQ(hmac(bytes_of("key"), {bytes_of(a), bytes_of(b)}), hmac(bytes_of("key"), {bytes_of("something")}));
}

// ---- the handshake

struct Talk {
  Talk(const std::string& opener_secret, const std::string& accepter_secret, std::uint64_t wanted = 2)
      : opener(1, wanted, bytes_of(opener_secret)), accepter(2, 0, bytes_of(accepter_secret)) {}

  /// Carries what each says to the other, in pieces of `piece` bytes, until neither says anything.
  void run(std::size_t piece = 1000) {
    while (carry(opener, accepter, piece) || carry(accepter, opener, piece) || admit()) {
    }
  }
  bool admit() {
    if (accepter.state() != Handshake::State::proved) return false;
    accepter.welcome();
    return true;
  }
  bool carry(Handshake& from, Handshake& to, std::size_t piece) {
    if (from.output().empty()) return false;
    std::size_t size = std::min(piece, from.output().size());
    std::vector<std::byte> part(from.output().begin(), from.output().begin() + static_cast<std::ptrdiff_t>(size));
    from.output().erase(from.output().begin(), from.output().begin() + static_cast<std::ptrdiff_t>(size));
    said.insert(said.end(), part.begin(), part.end());
    to.feed(part);
    return true;
  }

  Handshake opener, accepter;
  std::vector<std::byte> said;
};

TEST(Handshake, AgreesOnTheSameSecret) {
  for (std::size_t piece : {1000u, 7u, 1u}) {
    Talk talk("the secret", "the secret");
    talk.run(piece);
    EXPECT_EQ(talk.opener.state(), Handshake::State::agreed);
    EXPECT_EQ(talk.accepter.state(), Handshake::State::agreed);
    EXPECT_EQ(talk.accepter.peer(), 1u);
  }
}

TEST(Handshake, TheSecretDoesNotTravel) {
  const std::string secret = "the secret of this job";
  Talk talk(secret, secret);
  talk.run();
  Bytes wanted = bytes_of(secret);
  EXPECT_EQ(std::search(talk.said.begin(), talk.said.end(), wanted.begin(), wanted.end()), talk.said.end());
}

TEST(Handshake, BothSidesRefuseAnotherSecret) {
  Talk talk("this", "that");
  talk.run();
  for (Handshake* side : {&talk.opener, &talk.accepter}) {
    EXPECT_EQ(side->state(), Handshake::State::refused);
    EXPECT_NE(side->reason().find("secret"), std::string::npos);
  }
}

TEST(Handshake, WhatWasSaidOnceProvesNothingLater) {
  Talk first("the secret", "the secret");
  std::vector<std::byte> opening = first.opener.output();
  first.carry(first.opener, first.accepter, 1000);
  first.carry(first.accepter, first.opener, 1000);
  std::vector<std::byte> proof = first.opener.output();
  Handshake later(2, 0, bytes_of("the secret"));
  later.feed(opening);
  later.feed(proof);
  EXPECT_EQ(later.state(), Handshake::State::refused);
}

TEST(Handshake, AProofDoesNotWorkInTheOtherDirection) {
  // A stranger without the secret sends an accepter's own proof back to it.
  Handshake accepter(2, 0, bytes_of("the secret"));
  Handshake opener(1, 2, bytes_of("unknown"));
  accepter.feed(opener.output());
  std::vector<std::byte> challenge = accepter.output();
  accepter.feed(Bytes(challenge).last(sizeof(Proof)));
  EXPECT_EQ(accepter.state(), Handshake::State::refused);
}

TEST(Handshake, AStaleAddressIsToldApart) {
  Talk talk("the secret", "the secret", 77);
  talk.run();
  EXPECT_NE(talk.opener.reason().find("out of date"), std::string::npos) << talk.opener.reason();
  EXPECT_NE(talk.accepter.reason().find("worker 77"), std::string::npos) << talk.accepter.reason();
}

TEST(Handshake, VersionsTellEachOtherApart) {
  Talk talk("the secret", "the secret");
  std::uint32_t newer = kVersion + 5;
  std::memcpy(talk.opener.output().data() + offsetof(Opening, version), &newer, sizeof newer);
  talk.opener.output().resize(16);  // and its opening has another length behind the first words
  talk.carry(talk.opener, talk.accepter, 1000);
  EXPECT_EQ(talk.accepter.state(), Handshake::State::refused);
  EXPECT_NE(talk.accepter.reason().find("version " + std::to_string(newer)), std::string::npos);
  // The accepter answers with its own version, which is all that the opener needs.
  Handshake opener(1, 2, bytes_of("the secret"));
  std::vector<std::byte> answer = talk.accepter.output();
  ASSERT_GE(answer.size(), 16u);
  std::memcpy(answer.data() + offsetof(Opening, version), &newer, sizeof newer);
  opener.feed(Bytes(answer).first(16));
  EXPECT_NE(opener.reason().find("build both"), std::string::npos) << opener.reason();
}

TEST(Handshake, StrangersAreToldApartAtOnce) {
  Handshake accepter(2, 0, bytes_of("the secret"));
  accepter.feed(bytes_of("GET / HT"));
  EXPECT_EQ(accepter.state(), Handshake::State::refused);
}

TEST(Handshake, WhatFollowsItIsNotTaken) {
  Talk talk("the secret", "the secret");
  talk.carry(talk.opener, talk.accepter, 1000);
  talk.carry(talk.accepter, talk.opener, 1000);
  talk.carry(talk.opener, talk.accepter, 1000);
  talk.accepter.welcome();
  std::vector<std::byte> bytes = talk.accepter.output();
  bytes.resize(bytes.size() + 24);
  EXPECT_EQ(talk.opener.feed(bytes), sizeof(Welcome));
  EXPECT_EQ(talk.opener.state(), Handshake::State::agreed);
}

// ---- devices

Interface interface(const std::string& name, int family, const std::string& ip) {
  Interface made;
  made.name = name;
  made.up = true;
  made.family = family;
  if (family != 0) {
    std::array<std::byte, 16> bytes{};
    for (int part = 0, at = 0; family == AF_INET && part < 4; ++part) {
      std::size_t length = 0;
      bytes[static_cast<std::size_t>(part)] =
          static_cast<std::byte>(std::stoi(ip.substr(static_cast<std::size_t>(at)), &length));
      at += static_cast<int>(length) + 1;
    }
    if (family == AF_INET6) bytes[0] = std::byte{0xfd}, bytes[15] = static_cast<std::byte>(std::stoi(ip));
    made.ip = bytes;
  }
  return made;
}

std::vector<Interface> host() {
  std::vector<Interface> list = {interface("lo", AF_INET, "127.0.0.1"),
                                 interface("eth0", AF_INET, "10.0.0.7"),
                                 interface("eth0", AF_INET6, "7"),
                                 interface("eth1", AF_INET, "192.168.3.9"),
                                 interface("docker0", AF_INET, "172.17.0.1"),
                                 interface("eth2", 0, ""),
                                 interface("eth3", AF_INET, "10.9.0.1")};
  list[0].loopback = true;
  list[6].up = false;
  return list;
}

std::string usable(const std::vector<Choice>& choices) {
  std::string names;
  for (const Choice& choice : choices)
    if (choice.device.usable) names += choice.device.name + " ";
  return names;
}

const ucx::Device& named(const std::vector<Choice>& choices, const std::string& name) {
  for (const Choice& choice : choices)
    if (choice.device.name == name) return choice.device;
  throw std::runtime_error("no device " + name);
}

TEST(Devices, WithoutAChoiceEverythingThatLeadsSomewhere) {
  std::vector<Choice> choices = choose(host(), "");
  EXPECT_EQ(usable(choices), "eth0 eth1 ");
  EXPECT_NE(named(choices, "lo").detail.find("nothing else"), std::string::npos);
  EXPECT_NE(named(choices, "docker0").detail.find("containers"), std::string::npos);
  EXPECT_EQ(named(choices, "docker0").remedy, "+net-devices docker0");
  EXPECT_NE(named(choices, "eth2").detail.find("no IPv4"), std::string::npos);
  EXPECT_NE(named(choices, "eth3").detail.find("down"), std::string::npos);
  EXPECT_NE(named(choices, "eth0").detail.find("10.0.0.7"), std::string::npos);
}

TEST(Devices, LoopbackWhenNothingElseIsThere) {
  std::vector<Interface> alone = {host()[0]};
  EXPECT_EQ(usable(choose(alone, "")), "lo ");
}

TEST(Devices, LoopbackAloneWhenAllWorkersAreOnThisHost) {
  std::vector<Choice> choices = choose(host(), "", true);
  EXPECT_EQ(usable(choices), "lo ");
  EXPECT_NE(named(choices, "eth0").detail.find("all processes are on this host"), std::string::npos);
  EXPECT_EQ(named(choices, "eth0").remedy, "+net-devices eth0");
  EXPECT_EQ(usable(choose(host(), "eth1", true)), "eth1 ");
  std::vector<Interface> others = host();
  others.erase(others.begin());
  EXPECT_EQ(usable(choose(others, "", true)), "eth0 eth1 ") << "there is no loopback";
}

TEST(Devices, AreChosenByNameAddressAndNetwork) {
  EXPECT_EQ(usable(choose(host(), "eth1")), "eth1 ");
  EXPECT_EQ(usable(choose(host(), "lo,docker0")), "lo docker0 ");
  EXPECT_EQ(usable(choose(host(), "192.168.3.9")), "eth1 ");
  EXPECT_EQ(usable(choose(host(), "10.0.0.0/8")), "eth0 ");  // eth3 is down
  EXPECT_EQ(usable(choose(host(), "0.0.0.0/0")), "lo eth0 eth1 docker0 ");
  EXPECT_EQ(usable(choose(host(), "10.0.0.0/30")), "");
}

TEST(Devices, AnIpv6AddressIsTakenWhenItIsWanted) {
  for (const Choice& choice : choose(host(), "fd00::/8"))
    if (choice.device.usable) {
      EXPECT_EQ(choice.interface.family, AF_INET6);
    }
  EXPECT_EQ(usable(choose(host(), "fd00::/8")), "eth0 ");
}

TEST(Devices, AChoiceThatNothingMeetsIsSaid) {
  std::vector<Choice> choices = choose(host(), "eth1,ib0,10.0.0.0/99");
  EXPECT_EQ(usable(choices), "eth1 ");
  EXPECT_NE(named(choices, "ib0").detail.find("there are: lo eth0"), std::string::npos);
  EXPECT_FALSE(named(choices, "10.0.0.0/99").usable);
}

TEST(Devices, WhatIsHereIsDescribed) {
  const auto interfaces = list_interfaces();
  ASSERT_TRUE(interfaces.ok());
  for (const Choice& choice : choose(*interfaces, "")) {
    EXPECT_FALSE(choice.device.detail.empty());
    if (!choice.device.usable) {
      EXPECT_FALSE(choice.device.remedy.empty());
    }
  }
}

// ---- the outbox

struct Counted : ucx::Completion {
  int ended = 0;
  ucx::Outcome outcome = ucx::Outcome::failed;
};
void count_end(void*, ucx::Completion& completion, ucx::Outcome outcome) {
  ++static_cast<Counted&>(completion).ended;
  static_cast<Counted&>(completion).outcome = outcome;
}

TEST(Outbox, WhatGoesOutIsWhatWentInWhateverTheKernelTakes) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    ChunkPool pool;
    std::deque<Counted> lent;
    std::vector<std::byte> expected, went;
    std::deque<std::vector<std::byte>> memory;
    int owned_alive = 0;
    Outbox outbox(pool, count_end, nullptr);
    auto random_bytes = [&](std::size_t size) {
      std::vector<std::byte> bytes(size);
      std::uint32_t word = random();
      for (std::byte& byte : bytes) byte = static_cast<std::byte>((word = word * 1664525 + 1013904223) >> 24);
      return bytes;
    };
    auto expect = [&](Prefix prefix, Bytes header, Bytes payload) {
      auto add = [&](Bytes bytes) { expected.insert(expected.end(), bytes.begin(), bytes.end()); };
      add(std::as_bytes(std::span(&prefix, 1))), add(header), add(payload);
      expected.resize(padded(expected.size()));
    };
    for (int step = 0; step < 400; ++step) {
      std::vector<std::byte> header = random_bytes(random() % 48);
      std::size_t size = random() % 3 == 0 ? 5000 + random() % 70000 : random() % 300;
      Prefix prefix(FrameKind::message, header.size(), size);
      memory.push_back(random_bytes(size));
      expect(prefix, header, memory.back());
      if (size < 5000) {
        outbox.add_frame(prefix, header, memory.back());
      } else if (random() % 2 == 0) {
        outbox.add_lent(header, memory.back(), lent.emplace_back());
      } else {
        auto* copy = new std::byte[size];
        std::copy(memory.back().begin(), memory.back().end(), copy);
        ++owned_alive;
        auto release = [](void* alive, void* bytes) {
          delete[] static_cast<std::byte*>(bytes);
          --*static_cast<int*>(alive);
        };
        outbox.add_owned(header, ucx::Buffer(copy, size, release, &owned_alive));
      }
      while (random() % 2 == 0 && !outbox.empty()) {
        iovec parts[8];
        std::size_t offered = 0;
        int count = outbox.gather(parts, &offered);
        std::size_t taken = random() % 4 == 0 ? offered : random() % (offered + 1), left = taken;
        for (int i = 0; i < count && left > 0; ++i) {
          std::size_t part = std::min(left, parts[i].iov_len);
          const auto* at = static_cast<const std::byte*>(parts[i].iov_base);
          went.insert(went.end(), at, at + part);
          left -= part;
        }
        outbox.written(taken);
        EXPECT_EQ(outbox.bytes(), expected.size() - went.size());
      }
    }
    while (!outbox.empty()) {
      iovec parts[64];
      std::size_t offered = 0;
      int count = outbox.gather(parts, &offered);
      for (int i = 0; i < count; ++i) {
        const auto* at = static_cast<const std::byte*>(parts[i].iov_base);
        went.insert(went.end(), at, at + parts[i].iov_len);
      }
      outbox.written(offered);
    }
    EXPECT_EQ(went, expected);
    EXPECT_EQ(outbox.copied(), 0u);
    EXPECT_EQ(outbox.bytes(), 0u);
    EXPECT_EQ(owned_alive, 0);
    for (const Counted& one : lent) EXPECT_TRUE(one.ended == 1 && one.outcome == ucx::Outcome::ok);
  }
}

TEST(Outbox, WhatNeverGoesOutEndsAsToldOnce) {
  ChunkPool pool;
  std::deque<Counted> lent;
  std::vector<std::byte> payload(10000);
  {
    Outbox outbox(pool, count_end, nullptr);
    for (int i = 0; i < 5; ++i) outbox.add_lent({}, payload, lent.emplace_back());
    outbox.written(10008 + 8 + 100);  // the first, and some of the second
    EXPECT_EQ(lent[0].outcome, ucx::Outcome::ok);
    outbox.clear(ucx::Outcome::peer_lost);
    EXPECT_TRUE(outbox.empty());
  }
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(lent[i].ended, 1);
    EXPECT_EQ(lent[i].outcome, i == 0 ? ucx::Outcome::ok : ucx::Outcome::peer_lost);
  }
}

}  // namespace
}  // namespace periapt::tcp
