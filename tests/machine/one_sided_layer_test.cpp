// Get and put between the processes of a run, by every way there is: they bring the same bytes, end as events of the PE
// that asked, and say in words what is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <deque>
#include <random>

#include "machine/layer/one_sided.h"
#include "tests/machine/job.h"
#include "tests/machine/told.h"

namespace periapt {
namespace {

using machine::Audience;
using machine::MachineLayer;
using machine::MemoryKey;
using machine::OneSided;
using machine::TransferStatus;
using ::testing::HasSubstr;

constexpr std::size_t kBytes = 3'000'011;
constexpr std::size_t kSizes[] = {0, 1, 8, 63, 5000, 300'001, kBytes - 1};

// Where the processes of a job meet, whatever they share otherwise.
struct Table {
  MemoryKey keys[8];
  std::atomic<int> met;
};
Table* table = nullptr;

// What a scheduler does, for one PE.
class Driver {
 public:
  Driver(MachineLayer& layer, int pe) : layer_(layer), pe_(pe) {}
  OneSided& access() { return layer_.one_sided(); }
  void poll() {
    layer_.port(pe_).poll([this](std::uint64_t meta, const void* body, int) { arrived(meta, body); }, 64);
    const auto deliver = [](void* self, std::uint64_t meta, const void* body) {
      static_cast<Driver*>(self)->arrived(meta, body);
    };
    if (layer_.has_net()) layer_.port(pe_).far()->progress(layer_.port(pe_), deliver, this);
    access().poll(pe_);
  }
  void wait(const Told& told) {
    while (told.times == 0) poll();
  }
  // Waits for `count` drivers, answering what the others ask for.
  void meet(int count) {
    table->met.fetch_add(1);
    for (const int all = count * ++meetings_; table->met < all;) poll();
  }
  void meet() { meet(layer_.layout().process_count()); }
  // The key that a process shows; all of them do, each from one PE.
  MemoryKey show(const MemoryKey& mine, int process) {
    table->keys[layer_.process()] = mine;
    meet();
    return table->keys[process];
  }

 private:
  void arrived(std::uint64_t meta, const void* body) {
    void* block;
    std::memcpy(&block, body, sizeof block);
    if (meta == OneSided::kRmaRequestMeta) access().take_request(pe_, block);
  }
  MachineLayer& layer_;
  int pe_;
  int meetings_ = 0;
};

std::byte pattern(std::size_t i, int seed) {
  return static_cast<std::byte>((i * 2654435761u + static_cast<unsigned>(seed) * 40503u) >> 8);
}
void fill(std::byte* bytes, std::size_t size, int seed) {
  for (std::size_t i = 0; i < size; ++i) bytes[i] = pattern(i, seed);
}
bool holds(const std::byte* bytes, std::size_t from, std::size_t size, int seed) {
  for (std::size_t i = 0; i < size; ++i)
    if (bytes[i] != pattern(from + i, seed)) return false;
  return true;
}

#define DEMAND(condition)                                                              \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      std::fprintf(stderr, "line %d: this does not hold: %s\n", __LINE__, #condition); \
      return 1;                                                                        \
    }                                                                                  \
  } while (false)

// Where the memory is that is asked for, and that it goes to.
enum class Where { plain, arena };

std::byte* memory(MachineLayer& layer, int pe, Where where) {
  if (where == Where::arena) return static_cast<std::byte*>(layer.heap(pe).allocate(kBytes));
  return static_cast<std::byte*>(std::malloc(kBytes));
}

// Each process's memory is got from, and put to, by its neighbour.
int exchange(MachineLayer& layer, int pe, Where remote_where, Where local_where, bool expect_complete) {
  Driver drive(layer, pe);
  const int me = layer.process(), processes = layer.layout().process_count(), other = (me + 1) % processes;
  std::byte* mine = memory(layer, pe, remote_where);
  std::byte* local = memory(layer, pe, local_where);
  fill(mine, kBytes, me);
  Result<MemoryKey> key = drive.access().register_memory(mine, kBytes);
  DEMAND(key.ok());
  const MemoryKey theirs = drive.show(*key, other);
  DEMAND(theirs.process == other);

  for (std::size_t size : kSizes) {
    const std::size_t from = size == 0 ? 0 : (size * 7) % (kBytes - size) + 1;
    std::memset(local, 0xEE, kBytes);
    Told got;
    const TransferStatus moved = drive.access().get(pe, local + 1, size, theirs, theirs.address + from, got);
    DEMAND(got.times == 0);  // never inline
    DEMAND(!expect_complete || moved == TransferStatus::complete);
    DEMAND(moved == TransferStatus::pending || holds(local + 1, from, size, other));
    drive.wait(got);
    DEMAND(got.status.ok());
    DEMAND(holds(local + 1, from, size, other));
    DEMAND(local[0] == std::byte{0xEE} && (size + 1 >= kBytes || local[size + 1] == std::byte{0xEE}));
  }
  drive.meet();
  for (std::size_t size : kSizes) {
    fill(local, size, me + 100);
    Told put;
    drive.access().put(pe, local, size, theirs, theirs.address + 1, put);
    drive.wait(put);
    DEMAND(put.status.ok());
    drive.meet();
    DEMAND(holds(mine + 1, 0, size, (me + processes - 1) % processes + 100));
    DEMAND(mine[0] == pattern(0, me));
    drive.meet();
  }
  return 0;
}

class Ways : public ::testing::TestWithParam<std::vector<std::string>> {
 protected:
  Ways() {
    static void* shared = ::mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    table = new (shared) Table{};
  }
  bool expect_complete() const { return GetParam().size() == 3; }
  void expect_good(const test::JobResult& job) {
    EXPECT_EQ(job.status, 0) << job.errors;
    EXPECT_EQ(job.errors, "");
    EXPECT_FALSE(job.left_behind);
  }
};

TEST_P(Ways, PlainMemoryIsReached) {
  expect_good(test::run_job(GetParam(), [&](MachineLayer& layer) {
    return exchange(layer, layer.first_pe(), Where::plain, Where::plain, expect_complete());
  }));
}
TEST_P(Ways, MemoryOfTheArenaIsReached) {
  expect_good(test::run_job(GetParam(), [&](MachineLayer& layer) {
    return exchange(layer, layer.first_pe(), Where::arena, Where::plain, expect_complete());
  }));
}
TEST_P(Ways, TheArenaGetsPlainMemory) {
  expect_good(test::run_job(GetParam(), [&](MachineLayer& layer) {
    return exchange(layer, layer.first_pe(), Where::plain, Where::arena, expect_complete());
  }));
}

TEST_P(Ways, MistakesAreToldInWordsAndNothingIsCopied) {
  expect_good(test::run_job(GetParam(), [&](MachineLayer& layer) {
    const int pe = layer.first_pe(), me = layer.process();
    const int other = (me + 1) % layer.layout().process_count();
    Driver drive(layer, pe);
    std::vector<std::byte> mine(10'000), local(10'000, std::byte{0x11});
    fill(mine.data(), mine.size(), me);
    Result<MemoryKey> key = drive.access().register_memory(mine.data(), mine.size());
    DEMAND(key.ok());
    const MemoryKey theirs = drive.show(*key, other);
    const auto fails = [&](bool put, const MemoryKey& with, std::uint64_t at, std::size_t size, const char* why) {
      Told told;
      const TransferStatus moved = put ? drive.access().put(pe, local.data(), size, with, at, told)
                                       : drive.access().get(pe, local.data(), size, with, at, told);
      DEMAND(moved == TransferStatus::pending && told.times == 0);
      drive.wait(told);
      DEMAND(!told.status.ok());
      if (told.status.message().find(why) == std::string::npos)
        std::fprintf(stderr, "%s\n", told.status.message().c_str());
      DEMAND(told.status.message().find(why) != std::string::npos);
      return 0;
    };
    for (bool put : {false, true}) {
      DEMAND(fails(put, MemoryKey{}, theirs.address, 8, "no memory") == 0);
      DEMAND(fails(put, theirs, theirs.address + 9'995, 6, "not inside") == 0);
      DEMAND(fails(put, theirs, theirs.address - 1, 6, "offset -1") == 0);
      DEMAND(fails(put, theirs, theirs.address, ~std::size_t{0}, "not inside") == 0);
      DEMAND(fails(put, theirs, ~std::uint64_t{0} - 3, 8, "not inside") == 0);
      MemoryKey nobody = theirs;
      nobody.process = 99;
      DEMAND(fails(put, nobody, theirs.address, 8, "no memory") == 0);
    }
    if (other != me) drive.access().deregister_memory(theirs);  // not ours: nothing happens
    drive.meet();
    DEMAND(drive.access().is_registered(*key));
    DEMAND(holds(mine.data(), 0, mine.size(), me));
    drive.access().deregister_memory(*key);
    DEMAND(!drive.access().is_registered(*key));
    drive.access().deregister_memory(*key);
    drive.meet();
    for (bool put : {false, true}) {
      DEMAND(fails(put, theirs, theirs.address, 8, "not registered") == 0);
      DEMAND(fails(put, theirs, theirs.address, 10'000, "not registered") == 0);
    }
    drive.meet();
    DEMAND(holds(mine.data(), 0, mine.size(), me));
    DEMAND(local == std::vector<std::byte>(10'000, std::byte{0x11}));
    // The same memory again, by another key. The old one stays shut.
    Result<MemoryKey> again = drive.access().register_memory(mine.data(), mine.size());
    DEMAND(again.ok() && again->id != key->id);
    const MemoryKey theirs_again = drive.show(*again, other);
    DEMAND(fails(false, theirs, theirs.address, 8, "not registered") == 0);
    Told got;
    drive.access().get(pe, local.data(), 10'000, theirs_again, theirs_again.address, got);
    drive.wait(got);
    DEMAND(got.status.ok() && holds(local.data(), 0, 10'000, other));
    drive.meet();
    return 0;
  }));
}

// Every PE of every process gets from and puts to its own part of every PE's memory at random, several at a time.
TEST_P(Ways, ManyAtATimeKeepApart) {
  std::vector<std::string> arguments = GetParam();
  arguments[0] = "+p4";
  expect_good(test::run_job(arguments, [&](MachineLayer& layer) {
    constexpr std::size_t kPart = 40'000;
    const int pes = layer.pes(), processes = layer.layout().process_count();
    const std::size_t size = kPart * static_cast<std::size_t>(pes);
    std::vector<std::byte> mine(size);
    Result<MemoryKey> own = layer.one_sided().register_memory(mine.data(), size);
    DEMAND(own.ok());
    std::atomic<int> wrong{0};
    test::run_pes(layer, [&](int pe) {
      wrong += [&]() -> int {
        Driver drive(layer, pe);
        std::vector<MemoryKey> keys;
        table->keys[layer.process()] = *own;
        drive.meet(pes);
        for (int process = 0; process < processes; ++process) keys.push_back(table->keys[process]);
        std::mt19937 random(static_cast<unsigned>(pe) + 7);
        std::vector<std::vector<std::byte>> expected(static_cast<std::size_t>(processes),
                                                     std::vector<std::byte>(kPart));
        struct Job {
          Told told;
          bool put;
          int process;
          std::size_t at;
          std::vector<std::byte> bytes;
        };
        for (int round = 0; round < 30; ++round) {
          std::deque<Job> jobs;  // those of a round touch different pieces
          for (int piece = 0; piece < 8; ++piece) {
            Job& job = jobs.emplace_back();
            job.put = round == 0 || random() % 2 == 0;
            job.process = static_cast<int>(random()) & 0x7FFF;
            job.process %= processes;
            job.at = static_cast<std::size_t>(piece) * 5000 + random() % 100;
            job.bytes.resize(random() % 4900);
            if (job.put) {
              for (std::byte& byte : job.bytes) byte = static_cast<std::byte>(random());
              std::memcpy(expected[static_cast<std::size_t>(job.process)].data() + job.at, job.bytes.data(),
                          job.bytes.size());
            }
          }
          for (Job& job : jobs) {
            const MemoryKey& key = keys[static_cast<std::size_t>(job.process)];
            const std::uint64_t at = key.address + kPart * static_cast<std::size_t>(pe) + job.at;
            if (job.put)
              drive.access().put(pe, job.bytes.data(), job.bytes.size(), key, at, job.told);
            else
              drive.access().get(pe, job.bytes.data(), job.bytes.size(), key, at, job.told);
          }
          for (Job& job : jobs) {
            drive.wait(job.told);
            DEMAND(job.told.status.ok());
            DEMAND(std::memcmp(expected[static_cast<std::size_t>(job.process)].data() + job.at, job.bytes.data(),
                               job.bytes.size()) == 0);
          }
          for (Job& job : jobs) DEMAND(job.told.times == 1);
        }
        drive.meet(pes);
        return 0;
      }();
    });
    return wrong.load();
  }));
}

// A process of this host that is not one: its words say whatever a test wants.
class Neighbour : public ::testing::Test {
 protected:
  Neighbour() : layer_(std::move(*MachineLayer::start(test::layout(2, 1)))), layout_(test::layout(2, 2)) {
    config_.layout = &layout_;
    config_.process = &process_;
    config_.arena = &layer_->arena();
    config_.words = {&words_[0], &words_[1]};
    config_.ports = {&layer_->port(0)};
    access_ = std::make_unique<OneSided>(config_);
    words_[1].keys = theirs_.get();
    words_[1].cookie_at = reinterpret_cast<std::uintptr_t>(&cookie_);
    words_[1].cookie = cookie_;
  }
  MemoryKey key_to(void* memory, std::size_t size) {
    MemoryKey key{};
    key.address = reinterpret_cast<std::uintptr_t>(memory);
    key.size = size;
    key.process = 1;
    key.id = ring_.add(key.address, size, 0);
    return key;
  }
  Status get(const MemoryKey& key) {
    Told told;
    std::byte local[8];
    EXPECT_EQ(access_->get(0, local, sizeof local, key, key.address, told), TransferStatus::pending);
    EXPECT_EQ(told.times, 0);
    EXPECT_TRUE(access_->has_events(0));
    EXPECT_EQ(access_->poll(0), 1);
    EXPECT_EQ(told.times, 1);
    return told.status;
  }
  std::unique_ptr<MachineLayer> layer_;
  bootstrap::HostLayout layout_;
  int process_ = 0;
  machine::OneSidedWords words_[2] = {};
  machine::OneSidedConfig config_;
  std::unique_ptr<OneSided> access_;
  std::unique_ptr<host::KeyTable> theirs_{new host::KeyTable{}};
  host::KeyRing ring_{theirs_.get()};
  std::uint64_t cookie_ = 0x1234'5678;
  std::byte memory_[64] = {};
};

TEST_F(Neighbour, ThatHasDiedIsToldAsGone) {
  const pid_t child = ::fork();
  if (child == 0)
    for (;;) ::pause();
  words_[1].pid = static_cast<std::uint32_t>(child);
  const MemoryKey key = key_to(memory_, sizeof memory_);
  Told told;
  std::byte local[8];
  if (access_->get(0, local, 8, key, key.address, told) != TransferStatus::complete) {
    ::kill(child, SIGKILL);
    GTEST_SKIP() << "the kernel does not let processes copy from each other here";
  }
  EXPECT_EQ(access_->poll(0), 1);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_THAT(get(key).message(), HasSubstr("process 1 has gone"));
}

// Memory of a GPU is copied by a GPU, here and over there, and by nothing else: to copy it as if it were the host's
// would end the process. None is in use here.
TEST_F(Neighbour, WithoutADriverMemoryOfAGpuIsNotTouched) {
  words_[1].pid = static_cast<std::uint32_t>(::getpid());
  auto own = access_->register_memory(memory_, sizeof memory_, machine::Audience::run, ucx::MemoryKind::cuda);
  ASSERT_TRUE(own.ok());
  EXPECT_EQ(own->kind, static_cast<std::uint16_t>(ucx::MemoryKind::cuda));
  EXPECT_THAT(get(*own).message(), HasSubstr("no driver of a GPU is in use in this process"));
  EXPECT_TRUE(access_->describe(0, {memory_, ucx::MemoryKind::cuda}).empty());

  std::byte local[8];
  Told put, got, reached;
  const MemoryKey host = key_to(memory_, sizeof memory_);
  EXPECT_EQ(access_->put(0, local, 8, host, host.address, put, ucx::MemoryKind::cuda), TransferStatus::pending);
  EXPECT_EQ(access_->poll(0), 1);
  EXPECT_THAT(put.status.message(), HasSubstr("no driver of a GPU"));

  EXPECT_EQ(access_->when_reached(0, nullptr, {local}, reached), TransferStatus::complete)
      << "nothing can be working on it";
  EXPECT_EQ(access_->poll(0), 0);

  MemoryKey theirs = key_to(memory_, sizeof memory_);
  theirs.kind = static_cast<std::uint16_t>(ucx::MemoryKind::cuda);
  EXPECT_EQ(access_->get(0, local, 8, theirs, theirs.address, got), TransferStatus::pending);
  EXPECT_EQ(access_->poll(0), 0) << "the other process is asked";
}

TEST_F(Neighbour, ThatHasUnmappedItsMemoryIsNamed) {
  void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  words_[1].pid = static_cast<std::uint32_t>(::getpid());
  const MemoryKey key = key_to(page, 4096);
  Told told;
  std::byte local[8];
  const bool copies = access_->get(0, local, 8, key, key.address, told) == TransferStatus::complete;
  EXPECT_EQ(access_->poll(0), copies ? 1 : 0);
  if (!copies) GTEST_SKIP() << "the kernel does not let processes copy here";
  ::munmap(page, 4096);
  EXPECT_THAT(get(key).message(), HasSubstr("process 1 has registered memory that it has unmapped"));
}

TEST_F(Neighbour, WhoseKeyWasTakenBackIsNotLookedAt) {
  const MemoryKey key = key_to(memory_, sizeof memory_);
  ring_.remove(key.id);
  EXPECT_THAT(get(key).message(), HasSubstr("not registered"));
}

TEST_F(Neighbour, RegistrationsHaveAnEndThatIsTold) {
  std::vector<MemoryKey> keys;
  for (std::uint64_t i = 0; i < host::KeyTable::kEntries; ++i) {
    auto key = access_->register_memory(memory_, 1 + i % 64);
    ASSERT_TRUE(key.ok()) << i;
    keys.push_back(*key);
  }
  auto one_more = access_->register_memory(memory_, 8);
  ASSERT_FALSE(one_more.ok());
  EXPECT_THAT(one_more.message(), HasSubstr("65536 pieces of memory"));
  access_->deregister_memory(keys[777]);
  EXPECT_TRUE(access_->register_memory(memory_, 8).ok());
}

std::string name_of_way(const ::testing::TestParamInfo<std::vector<std::string>>& info) {
  static const char* const names[] = {"InOneProcess", "OnOneHost",    "WithoutTheKernel",
                                      "OverTcp",      "ByTwoWorkers", "OverShm"};
  return names[info.index];
}
using Line = std::vector<std::string>;
const Line kLines[] = {{"+p1", "+np", "1"},
                       {"+p2", "+np", "2"},
                       {"+p2", "+np", "2", "+shm-cma", "off"},
                       {"+p2", "+np", "2", "+transports", "tcp"},
                       {"+p2", "+np", "2", "+transports", "tcp", "+workers", "2"},
                       {"+p2", "+np", "2", "+transports", "shm", "+no-shared-memory"}};
INSTANTIATE_TEST_SUITE_P(OneSidedLayer, Ways, ::testing::ValuesIn(kLines), name_of_way);

}  // namespace
}  // namespace periapt
