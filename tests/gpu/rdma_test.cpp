// Adapters that read and write memory of GPUs themselves: two workers over the verbs transport, with the fake
// libibverbs and the fake drivers. The adapter has the bytes by the file that the driver gives it, and keeps them when
// the program frees its memory, as real ones do: a registration that has outlived its memory is seen by the contents.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "machine/gpu/device_memory.h"
#include "machine/ucx-like/engine.h"
#include "machine/ucx-like/keys.h"
#include "machine/verbs/transport.h"
#include "tests/gpu/gpu_fixture.h"
#include "tests/gpu/watched_memory.h"
#include "tests/host/amount.h"
#include "tests/machine/standstill.h"
#include "tests/verbs/fake_verbs.h"

namespace periapt::gpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ucx::Endpoint;
using ucx::MemoryKind;
using ucx::Outcome;
using ucx::RequestPtr;

const fake_verbs::InPlace verbs_in_place;
fake_verbs::Faults& faults() { return fake_verbs::faults(); }

bool is_a_gpus(MemoryType kind) { return is_on_device(kind) || kind == MemoryType::managed; }

class RdmaTest : public GpuTest {
 protected:
  RdmaTest() {
    faults() = {};
    settings.begin = 512;  // where drivers begin them, within a page
  }
  ~RdmaTest() override {
    end();
    EXPECT_EQ(faults().dma_bufs, 0);
    settings.begin = 0;
    faults() = {};
  }

  struct Node {
    std::unique_ptr<ucx::Context> context;
    std::unique_ptr<ucx::Worker> worker;
    bool shares = true;
  };
  void start() {
    for (std::size_t i : {0u, 1u}) {
      ucx::ContextRequest request;
      request.factories = {&verbs::factory};
      request.self = i + 1;
      request.host = "here";
      request.secret.assign(16, std::byte{7});
      request.option = [this](const std::string& name) { return options[name]; };
      request.device_memory = [this, &shares = nodes[i].shares] {
        return std::make_unique<Watched>(make_device_memory(pieces), maps, shares);
      };
      auto context = ucx::Context::create(std::move(request));
      ASSERT_TRUE(context.ok()) << context.message();
      nodes[i].context = std::move(*context);
      nodes[i].worker = std::move(*ucx::Worker::create(*nodes[i].context));
    }
    for (std::size_t i : {0u, 1u}) to[i] = *nodes[i].worker->connect(nodes[1 - i].worker->address());
    settings.waits = settings.pageable = 0;
  }
  void end() {
    for (Node& node : nodes) {
      node.worker.reset();
      node.context.reset();
      node.shares = true;
    }
    faults().ports_down = 0;
  }
  template <class Condition>
  void until(Condition&& condition) {
    test::Standstill standstill([this] { return nodes[0].worker->explain() + nodes[1].worker->explain(); });
    while (!condition()) {
      int moved = 0;
      for (Node& node : nodes) moved += node.worker->progress();
      standstill.look(moved > 0);
    }
  }
  static bool ended(const RequestPtr& request) { return request == nullptr || request->ended(); }
  static Outcome outcome_of(const RequestPtr& request) { return request == nullptr ? Outcome::ok : request->outcome(); }
  Outcome finish(const RequestPtr& request) {
    until([&] { return ended(request); });
    return outcome_of(request);
  }

  MemoryKind kind_of(MemoryType kind) const {
    const bool cuda = std::string(GetParam()) == "cuda";
    if (kind == MemoryType::managed) return cuda ? MemoryKind::cuda_managed : MemoryKind::hip_managed;
    return is_on_device(kind) ? (cuda ? MemoryKind::cuda : MemoryKind::hip) : MemoryKind::host;
  }
  std::byte* memory_of(MemoryType kind, std::uint64_t bytes) {
    if (kind == MemoryType::host) return plain.emplace_back(bytes).data();
    if (kind != MemoryType::vmm) return make(kind, bytes);
    void* made = nullptr;
    EXPECT_EQ(fake_gpu::function<int(void**, std::size_t)>(GetParam(), "periapt_fake_gpu_map")(&made, bytes), 0);
    return static_cast<std::byte*>(made);
  }
  void put_in(MemoryType kind, std::byte* memory, const std::vector<std::byte>& bytes) {
    if (bytes.empty()) return;
    kind == MemoryType::host ? static_cast<void>(std::memcpy(memory, bytes.data(), bytes.size()))
                             : write(memory, bytes);
  }
  std::vector<std::byte> taken_from(MemoryType kind, const std::byte* memory, std::uint64_t size) {
    if (kind == MemoryType::host || size == 0) return {memory, memory + size};
    return read(memory, size);
  }
  /// A message from the first worker to the second, from one kind of memory to another; the contents are looked at.
  void send(MemoryType from, std::byte* source, MemoryType into, std::byte* target, std::uint64_t size, unsigned seed) {
    const std::vector<std::byte> bytes = pattern(size, seed);
    put_in(from, source, bytes);
    put_in(into, target, std::vector<std::byte>(size, std::byte{0x77}));
    const RequestPtr receive = nodes[1].worker->tag_receive_into(kind_of(into), {target, size}, seed);
    const RequestPtr sent = to[0]->tag_send_from(kind_of(from), {source, size}, seed);
    ASSERT_EQ(finish(receive), Outcome::ok);
    ASSERT_EQ(finish(sent), Outcome::ok);
    ASSERT_TRUE(taken_from(into, target, size) == bytes);
  }
  /// A message that is there already: nothing but the transfer.
  void transfer(MemoryKind from, std::byte* source, MemoryKind into, std::byte* target, std::uint64_t size) {
    const RequestPtr receive = nodes[1].worker->tag_receive_into(into, {target, size}, 7);
    const RequestPtr sent = to[0]->tag_send_from(from, {source, size}, 7);
    EXPECT_EQ(finish(receive), Outcome::ok);
    EXPECT_EQ(finish(sent), Outcome::ok);
  }
  void send_device(std::uint64_t size, unsigned seed) {
    std::byte *source = make(MemoryType::device, size), *target = make(MemoryType::device, size);
    send(MemoryType::device, source, MemoryType::device, target, size, seed);
    free(source);
    free(target);
  }
  static void lose(int device) {
    faults().ports_down |= 1u << device;
    fake_verbs::raise(IBV_EVENT_DEVICE_FATAL, device);
  }

  bool maps = false;  // as if the other worker were on another host
  DeviceMemorySettings pieces{.piece_bytes = 64 << 10, .pieces = 4};
  std::map<std::string, std::string> options = {{"+net-devices", "127.0.0.1"}};
  std::deque<std::vector<std::byte>> plain;
  Node nodes[2];
  Endpoint* to[2] = {};
};

/// Two GPUs, each beside a bridge of its own, and as many adapters as there are numbers: of their bridges.
class Bridges {
 public:
  Bridges(DeviceMemorySettings& pieces, const std::vector<int>& adapters)
      : root_(std::filesystem::temp_directory_path() / ("periapt-near-" + std::to_string(::getpid()))) {
    for (const int bridge : {1, 2}) {
      const std::string gpu = "0000:1" + std::to_string(bridge - 1) + ":00.0";
      place(bridge, gpu, "gpus/" + gpu);
    }
    faults().devices = static_cast<int>(adapters.size());
    for (std::size_t i = 0; i < adapters.size(); ++i) {
      const std::string name = "fake" + std::to_string(i);
      place(adapters[i], "0000:2" + std::to_string(i) + ":00.0", name + "/device");
      faults().folder[i] = root_ / name;
    }
    pieces.pci_folder = root_ / "gpus";
  }
  ~Bridges() {
    for (std::string& folder : faults().folder) folder.clear();
    std::filesystem::remove_all(root_);
  }
  Bridges(const Bridges&) = delete;
  Bridges& operator=(const Bridges&) = delete;

 private:
  void place(int bridge, const std::string& name, const std::filesystem::path& link) {
    const auto device = root_ / "pci0000:00" / ("0000:00:0" + std::to_string(bridge) + ".0") / name;
    std::filesystem::create_directories(device);
    std::filesystem::create_directories((root_ / link).parent_path());
    std::filesystem::create_directory_symlink(device, root_ / link);
  }
  const std::filesystem::path root_;
};

/// Which of the two sides' memory adapters reach, by which way, over how many adapters.
struct Mixture {
  bool first, second;
  const char* way;
  int devices;
};
constexpr Mixture kMixtures[] = {{true, true, "", 1},     {false, true, "", 2}, {true, true, "put", 2},
                                 {true, true, "data", 1}, {true, false, "", 1}, {true, false, "get", 2},
                                 {true, false, "put", 1}, {false, false, "", 1}};
std::span<const Mixture> mixtures() {
  const std::span all(kMixtures);
  return all.first(tests::amount(all.size()));
}

TEST_P(RdmaTest, ContentsSurviveFromEveryKindOfMemoryToEveryKind) {
  for (const Mixture& mixture : mixtures()) {
    faults().devices = mixture.devices;
    options["+rendezvous"] = mixture.way;
    nodes[0].shares = mixture.first;
    nodes[1].shares = mixture.second;
    start();
    unsigned seed = 0;
    for (MemoryType from : kAll) {
      std::byte* source = memory_of(from, kLargest + kOffset);
      for (MemoryType into : kAll) {
        if (!is_a_gpus(from) && !is_a_gpus(into)) continue;
        std::byte* target = memory_of(into, kLargest + kOffset);
        for (std::uint64_t size : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{13}, std::uint64_t{9'000},
                                   std::uint64_t{65'537}, kLargest}) {
          SCOPED_TRACE(testing::Message() << size << " bytes, " << name_of(from) << " to " << name_of(into)
                                          << ", reached: " << mixture.first << mixture.second << " " << mixture.way);
          send(from, source + kOffset, into, target + 1, size, ++seed);
          if (HasFatalFailure()) return;
        }
      }
    }
    EXPECT_EQ(settings.pageable, 0) << "a copy from pageable memory may wait";
    end();
  }
}

TEST_P(RdmaTest, WhatAdaptersReachIsNotCopied) {
  for (const char* way : {"get", "put"}) {
    options["+rendezvous"] = way;
    start();
    std::byte *source = make(MemoryType::device, 3 << 20), *target = make(MemoryType::device, 3 << 20);
    std::vector<std::byte> host(3 << 20);
    const struct {
      MemoryKind from, into;
      std::byte *source, *target;
    } messages[] = {{kind_of(MemoryType::device), kind_of(MemoryType::device), source, target},
                    {kind_of(MemoryType::device), MemoryKind::host, source, host.data()},
                    {MemoryKind::host, kind_of(MemoryType::device), host.data(), target}};
    for (const auto& message : messages) {
      settings.copies = 0;
      faults().one_sided[0] = 0;
      transfer(message.from, message.source, message.into, message.target, 3 << 20);
      EXPECT_EQ(settings.copies, 0) << way;
      EXPECT_EQ(faults().one_sided[0], 3u << 20) << way;
    }
    EXPECT_THAT(nodes[0].worker->explain(),
                HasSubstr("memory of GPUs: read and written by verbs/fake0:1 where it lies"));
    end();
  }
}

TEST_P(RdmaTest, OneSideThatAdaptersReachIsNotCopiedWhateverTheOther) {
  for (const bool first : {true, false}) {
    nodes[0].shares = first;
    nodes[1].shares = !first;
    start();
    std::byte *source = make(MemoryType::device, 1 << 20), *target = make(MemoryType::device, 1 << 20);
    write(source, pattern(1 << 20, 5));
    settings.copies = 0;
    faults().one_sided[0] = 0;
    transfer(kind_of(MemoryType::device), source, kind_of(MemoryType::device), target, 1 << 20);
    EXPECT_EQ(settings.copies, 16) << "one for each piece of the side that is not reached";
    EXPECT_EQ(faults().one_sided[0], 1u << 20);
    EXPECT_TRUE(read(target, 1 << 20) == pattern(1 << 20, 5));
    end();
  }
}

TEST_P(RdmaTest, PutsAndGetsReachEveryKindOfMemory) {
  for (const Mixture& mixture : mixtures()) {
    faults().devices = mixture.devices;
    nodes[0].shares = mixture.first;
    nodes[1].shares = mixture.second;
    start();
    unsigned seed = 0;
    for (MemoryType there : kAll) {
      std::byte* remote = memory_of(there, kLargest + kOffset);
      auto memory = nodes[1].worker->register_memory({remote, kLargest + kOffset}, kind_of(there));
      ASSERT_TRUE(memory.ok()) << memory.message();
      auto key = to[0]->unpack(nodes[1].worker->pack_key(*memory));
      ASSERT_TRUE(key.ok()) << key.message();
      for (MemoryType here : kAll) {
        if (!is_a_gpus(here) && !is_a_gpus(there)) continue;
        std::byte* local = memory_of(here, kLargest);
        for (std::uint64_t size : {std::uint64_t{0}, std::uint64_t{9}, std::uint64_t{5'000}, kLargest}) {
          SCOPED_TRACE(testing::Message() << size << " bytes, " << name_of(here) << " and " << name_of(there)
                                          << ", reached: " << mixture.first << mixture.second);
          const auto address = reinterpret_cast<std::uintptr_t>(remote + kOffset);
          const std::vector<std::byte> bytes = pattern(size, ++seed), others = pattern(size, 1000 + seed);
          put_in(here, local, bytes);
          ASSERT_EQ(finish(to[0]->put({local, size}, address, *key, nullptr, nullptr, kind_of(here))), Outcome::ok);
          ASSERT_EQ(finish(to[0]->flush()), Outcome::ok);
          ASSERT_TRUE(taken_from(there, remote + kOffset, size) == bytes) << "a flush says that puts are there";
          put_in(there, remote + kOffset, others);
          ASSERT_EQ(finish(to[0]->get({local, size}, address, *key, nullptr, nullptr, kind_of(here))), Outcome::ok);
          ASSERT_TRUE(taken_from(here, local, size) == others);
        }
      }
      key->reset();
    }
    end();
  }
}

// Its address comes back with other memory, of another size too.
TEST_P(RdmaTest, FreedMemoryIsNotReachedByItsOldRegistration) {
  start();
  std::byte* target = make(MemoryType::device, 900'000);
  for (unsigned round = 1; round <= 12; ++round) {
    const std::uint64_t size = (round % 3 + 1) * 300'000;
    std::byte* source = make(MemoryType::device, size);
    send(MemoryType::device, source, MemoryType::device, target, size, round);
    send(MemoryType::device, source, MemoryType::device, target, size, 100 + round);
    free(source);
    if (HasFatalFailure()) return;
  }
  EXPECT_LE(faults().dma_bufs, 3) << "old registrations go";
}

TEST_P(RdmaTest, WhatIsFreedIsLetGoSoonAfterAndWhatIsNotStaysRegistered) {
  start();
  std::byte *source = make(MemoryType::device, 100'000), *target = make(MemoryType::device, 100'000);
  send(MemoryType::device, source, MemoryType::device, target, 100'000, 1);
  EXPECT_EQ(faults().dma_bufs, 2);
  const std::int64_t shared = settings.shared;
  send(MemoryType::device, source + 500, MemoryType::device, target, 90'000, 2);
  EXPECT_EQ(settings.shared, shared) << "both are registered whole";
  free(source);
  for (int i = 0; i < 20'000; ++i) nodes[0].worker->progress();
  EXPECT_EQ(faults().dma_bufs, 1);
}

// What may be missing, a step after the other, and what is said of it.
TEST_P(RdmaTest, WhatIsRefusedGoesThroughPinnedMemoryAndIsSaidOnce) {
  const bool cuda = std::string(GetParam()) == "cuda";
  const struct {
    std::int64_t dma_buf;
    int device_refuses;
    const char* sentence;
  } refusals[] = {
      {0, 0, cuda ? "GPU 0: its driver has no dma-buf; it wants NVIDIA's open kernel modules" : "on GPU 0: an error"},
      {-1, 0, cuda ? "cuMemGetHandleForAddressRange on GPU 0: error 801" : "hsa_amd_portable_export_dmabuf on GPU 0"},
      {1, EOPNOTSUPP, "its driver takes no dma-buf: "},
      {1, EINVAL, "it does not take the dma-buf: "}};
  for (const auto& refusal : refusals) {
    settings.dma_buf = refusal.dma_buf;
    if (refusal.device_refuses != 0) faults().fails["ibv_reg_dmabuf_mr"] = {0, refusal.device_refuses};
    start();
    testing::internal::CaptureStderr();
    for (unsigned seed = 1; seed <= 3; ++seed) send_device(500'000, seed);
    const std::string said = testing::internal::GetCapturedStderr(), text = nodes[0].worker->explain();
    EXPECT_THAT(said,
                HasSubstr("verbs/fake0:1 does not reach memory of a GPU, which goes through the host's instead: "));
    EXPECT_THAT(said, HasSubstr(refusal.sentence));
    EXPECT_THAT(said, HasSubstr("nor does it take the memory by its addresses: Bad address"));
    EXPECT_EQ(said.find("(modprobe nvidia_peermem)") != std::string::npos, cuda);
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 2) << "once for each of the two workers: " << said;
    EXPECT_THAT(text,
                HasSubstr("memory of GPUs: some, at least, through pinned memory of the host, for verbs/fake0:1: "));
    EXPECT_THAT(text, HasSubstr(refusal.sentence));
    EXPECT_EQ(faults().dma_bufs, 0);
    end();
    faults().fails.clear();
    settings.dma_buf = 1;
  }
}

TEST_P(RdmaTest, WithoutADmaBufAModuleOfTheKernelsMayKnowTheAddresses) {
  faults().peer_memory = true;
  for (const bool gives : {false, true}) {
    settings.dma_buf = gives ? 1 : -1;
    if (gives) faults().fails["ibv_reg_dmabuf_mr"] = {0, EOPNOTSUPP};
    start();
    std::byte *source = make(MemoryType::device, 500'000), *target = make(MemoryType::device, 500'000);
    send(MemoryType::device, source, MemoryType::device, target, 500'000, 1);
    settings.copies = 0;
    transfer(kind_of(MemoryType::device), source, kind_of(MemoryType::device), target, 500'000);
    EXPECT_EQ(settings.copies, 0);
    end();
    settings.dma_buf = 1;
  }
}

// One adapter takes the memory, and the other does not.
TEST_P(RdmaTest, AnAdapterThatRefusesLeavesItToTheOthers) {
  faults().devices = 2;
  for (const int taken : {0, 1, 2, 3}) {
    // The sender's memory by both, then the receiver's by both.
    faults().fails["ibv_reg_dmabuf_mr"] = {taken, EOPNOTSUPP};
    start();
    std::byte *source = make(MemoryType::device, 2'000'000), *target = make(MemoryType::device, 2'000'000);
    write(source, pattern(2'000'000, 9));
    settings.copies = 0;
    transfer(kind_of(MemoryType::device), source, kind_of(MemoryType::device), target, 2'000'000);
    EXPECT_EQ(settings.copies == 0, taken == 3) << taken << " registrations: " << settings.copies << " copies";
    EXPECT_TRUE(read(target, 2'000'000) == pattern(2'000'000, 9));
    for (unsigned seed = 1; seed <= 3; ++seed) send_device(2'000'000, seed);
    end();
  }
}

// Two GPUs and three adapters: the first GPU shares a bridge with two of them, the second with the other one.
TEST_P(RdmaTest, MemoryOfAGpuGoesOverTheAdaptersThatAreNearestToIt) {
  const Bridges bridges(pieces, {2, 1, 1});
  options["+verbs-rails"] = "3";
  constexpr std::uint64_t kSize = 3 << 20, kSmall = 100'000;  // over all that are near, over one
  for (const char* way : {"get", "put"}) {
    options["+rendezvous"] = way;
    start();
    std::byte* on_first[] = {make(MemoryType::device, kSize), make(MemoryType::device, kSize)};
    std::byte* on_second[] = {make(MemoryType::device, kSize, 1), make(MemoryType::device, kSize, 1)};
    std::vector<std::byte> host(kSize);
    const MemoryKind device = kind_of(MemoryType::device);
    const auto carried = [&](MemoryKind from, std::byte* source, MemoryKind into, std::byte* target,
                             std::uint64_t size) {
      settings.copies = 0;
      faults().one_sided = {};
      transfer(from, source, into, target, size);
      EXPECT_EQ(settings.copies, 0);
      return std::vector<std::uint64_t>(faults().one_sided.begin(), faults().one_sided.begin() + 3);
    };
    SCOPED_TRACE(way);
    for (const std::uint64_t size : {kSmall, kSize}) {
      EXPECT_THAT(carried(device, on_second[0], device, on_second[1], size), ElementsAre(size, 0, 0));
      const std::vector<std::uint64_t> by = carried(device, on_first[0], device, on_first[1], size);
      EXPECT_EQ(by[0], 0u);
      EXPECT_EQ(by[1] + by[2], size);
      EXPECT_EQ(by[1] != 0 && by[2] != 0, size == kSize) << "both are as near";
    }
    EXPECT_EQ(carried(device, on_first[0], MemoryKind::host, host.data(), kSize)[0], 0u);
    EXPECT_EQ(carried(MemoryKind::host, host.data(), device, on_first[0], kSize)[0], 0u);
    end();
    faults().devices = 3;
    for (std::byte* memory : {on_first[0], on_first[1], on_second[0], on_second[1]}) free(memory);
  }
}

// The sender's memory is known to the adapter next to it, and the receiver's to the one next to that, which does not
// take the sender's: it goes through pinned memory, whatever else knows it.
TEST_P(RdmaTest, WhatAnotherAdapterTakesIsNotReachedByTheOneThatLeadsToThePeer) {
  const Bridges bridges(pieces, {1, 2});
  options["+rendezvous"] = "put";
  faults().fails["ibv_reg_dmabuf_mr"] = {2, EOPNOTSUPP};
  start();
  constexpr std::uint64_t kSize = 1 << 20;
  std::byte *source = make(MemoryType::device, kSize), *target = make(MemoryType::device, kSize, 1);
  write(source, pattern(kSize, 3));
  settings.copies = 0;
  faults().one_sided = {};
  transfer(kind_of(MemoryType::device), source, kind_of(MemoryType::device), target, kSize);
  EXPECT_EQ(faults().fails["ibv_reg_dmabuf_mr"].struck, 1) << "the sender's, by the second adapter";
  EXPECT_EQ(settings.copies, 16) << "one for each piece of the sender's";
  EXPECT_EQ(faults().one_sided[0], 0u);
  EXPECT_EQ(faults().one_sided[1], kSize);
  EXPECT_TRUE(read(target, kSize) == pattern(kSize, 3));
}

TEST_P(RdmaTest, MessagesThatAreUnderWayEndWhenAnAdapterGoes) {
  for (const char* way : {"get", "put"}) {
    for (const int devices : {1, 2}) {
      for (const int device : {0, devices - 1}) {
        for (const bool shares : {true, false}) {
          SCOPED_TRACE(testing::Message() << way << ", " << device << " of " << devices << ", reached: " << shares);
          faults().devices = devices;
          options["+rendezvous"] = way;
          nodes[1].shares = shares;
          start();
          send_device(1'000'000, 99);
          constexpr std::uint64_t kSize = 2'000'000;
          struct Message {
            std::byte *source, *target;
            RequestPtr send, receive;
          };
          std::vector<Message> all;
          for (unsigned i = 0; i < 6; ++i) {
            Message& message = all.emplace_back();
            message.source = make(MemoryType::device, kSize), message.target = make(MemoryType::device, kSize);
            write(message.source, pattern(kSize, i));
            const std::size_t from = i % 2;
            message.receive =
                nodes[1 - from].worker->tag_receive_into(kind_of(MemoryType::device), {message.target, kSize}, i);
            message.send = to[from]->tag_send_from(kind_of(MemoryType::device), {message.source, kSize}, i);
          }
          for (int i = 0; i < 20; ++i) nodes[i % 2].worker->progress();
          lose(device);
          for (unsigned i = 0; i < all.size(); ++i) {
            EXPECT_EQ(finish(all[i].receive), Outcome::ok) << i;
            EXPECT_EQ(finish(all[i].send), Outcome::ok) << i;
            EXPECT_TRUE(read(all[i].target, kSize) == pattern(kSize, i)) << i;
          }
          send_device(1'000'000, 98);
          all.clear();
          end();
        }
      }
    }
  }
}

TEST_P(RdmaTest, PutsAndGetsGoOnWhenTheAdapterGoes) {
  for (const bool shares : {true, false}) {
    for (const MemoryType here : {MemoryType::device, MemoryType::host}) {
      nodes[0].shares = shares;
      start();
      std::byte *remote = make(MemoryType::device, kLargest), *local = memory_of(here, kLargest);
      auto memory = nodes[1].worker->register_memory({remote, kLargest}, kind_of(MemoryType::device));
      auto key = to[0]->unpack(nodes[1].worker->pack_key(*memory));
      const auto address = reinterpret_cast<std::uintptr_t>(remote);
      for (unsigned round = 0; round < 4; ++round) {
        put_in(here, local, pattern(kLargest, round));
        const RequestPtr put = to[0]->put({local, kLargest}, address, *key, nullptr, nullptr, kind_of(here));
        if (round == 1) {
          for (int i = 0; i < 20; ++i) nodes[i % 2].worker->progress();
          lose(0);
        }
        EXPECT_EQ(finish(to[0]->flush()), Outcome::ok);
        EXPECT_EQ(finish(put), Outcome::ok);
        EXPECT_TRUE(read(remote, kLargest) == pattern(kLargest, round)) << round;
        write(remote, pattern(kLargest, 100 + round));
        EXPECT_EQ(finish(to[0]->get({local, kLargest}, address, *key, nullptr, nullptr, kind_of(here))), Outcome::ok);
        EXPECT_TRUE(taken_from(here, local, kLargest) == pattern(kLargest, 100 + round)) << round;
      }
      key->reset();
      memory->reset();
      end();
    }
  }
}

// Few pinned pieces for many messages at a time, both ways.
TEST_P(RdmaTest, WithoutAPieceMessagesWait) {
  pieces = {.piece_bytes = 4096, .pieces = 2};
  nodes[0].shares = false;
  start();
  struct Message {
    std::byte *source, *target;
    std::uint64_t size;
    RequestPtr send, receive;
  };
  std::vector<Message> all;
  for (unsigned i = 0; i < 24; ++i) {
    Message& message = all.emplace_back();
    message.size = i % 3 == 0 ? 100 : 100'000;
    message.source = make(MemoryType::device, message.size), message.target = make(MemoryType::device, message.size);
    write(message.source, pattern(message.size, i));
    const std::size_t from = i % 2;
    message.receive =
        nodes[1 - from].worker->tag_receive_into(kind_of(MemoryType::device), {message.target, message.size}, i);
    message.send = to[from]->tag_send_from(kind_of(MemoryType::device), {message.source, message.size}, i);
  }
  for (unsigned i = 0; i < all.size(); ++i) {
    EXPECT_EQ(finish(all[i].receive), Outcome::ok) << i;
    EXPECT_EQ(finish(all[i].send), Outcome::ok) << i;
    EXPECT_TRUE(read(all[i].target, all[i].size) == pattern(all[i].size, i)) << i;
  }
  all.clear();
}

TEST_P(RdmaTest, ALostGpuEndsMessagesOnBothSides) {
  for (const bool first : {true, false}) {
    for (const std::int64_t copies : {0, 3, 8}) {
      SCOPED_TRACE(testing::Message() << first << ", after " << copies);
      nodes[0].shares = first;
      nodes[1].shares = !first;
      start();
      std::byte *source = make(MemoryType::device, kLargest), *target = make(MemoryType::device, kLargest);
      {
        const RequestPtr receive =
            nodes[1].worker->tag_receive_into(kind_of(MemoryType::device), {target, kLargest}, 7);
        settings.copies_until_loss = copies;
        const RequestPtr sent = to[0]->tag_send_from(kind_of(MemoryType::device), {source, kLargest}, 7);
        EXPECT_EQ(finish(receive), Outcome::failed);
        finish(sent);
      }
      end();
      settings.copies_until_loss = -1;
      settings.lost = 0;
    }
  }
}

// A kernel that runs already might not see what an adapter has written; and copies that the program waits for have to
// be at their end.
// The runtime's keys have 127 bytes, and describe the memory apart from them.
TEST_P(RdmaTest, AKeyOfFewBytesHasWhatEachAdapterKnows) {
  faults().devices = 2;
  start();
  auto memory =
      nodes[1].worker->register_memory({make(MemoryType::device, 100'000), 100'000}, kind_of(MemoryType::device));
  ASSERT_TRUE(memory.ok()) << memory.message();
  const auto names = [&](std::uint64_t most) {
    std::vector<std::string> all;
    const auto packed = ucx::read_packed_key(nodes[1].worker->pack_key(*memory, most));
    for (const auto& key : packed->keys) all.push_back(key.transport);
    return all;
  };
  EXPECT_THAT(names(126), ElementsAre("verbs", "verbs"));
  EXPECT_THAT(names(1000), ElementsAre("verbs", "verbs", ucx::kDeviceMemoryKey));
}

TEST_P(RdmaTest, WhatAdaptersWriteIsNotForTheCourierAndTheDriverIsTold) {
  settings.in_time = 0;
  start();
  std::byte *source = make(MemoryType::device, 100'000), *other = make(MemoryType::device, 100'000);
  send(MemoryType::device, source, MemoryType::host, memory_of(MemoryType::host, 100'000), 100'000, 1);
  EXPECT_EQ(settings.in_time, std::string(GetParam()) == "cuda" ? 1 : 0);
  EXPECT_TRUE(driver.may_be_written(driver.look(source)->buffer));
  EXPECT_FALSE(driver.may_be_written(driver.look(other)->buffer));
}

TEST_P(RdmaTest, SmallMessagesGoThroughAPieceAsEver) {
  start();
  settings.shared = 0;
  send_device(8, 1);
  send_device(4'000, 2);
  EXPECT_EQ(settings.shared, 0) << "what is copied is not registered";
}

INSTANTIATE_TEST_SUITE_P(Both, RdmaTest, ::testing::Values("cuda", "hip"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace periapt::gpu
