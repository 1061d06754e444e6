// What of the Converse API works without a run: the command line, queues, streams, topology, names of events.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "TopoManager.h"
#include "ck128bitHash.h"
#include "ckregex.h"
#include "ckstream.h"
#include "converse.h"
#include "crc32.h"
#include "hrctimer.h"
#include "lrtslock.h"
#include "mempool.h"
#include "msgq.h"
#include "queueing.h"

namespace {

// An argv that can be changed.
class Line {
 public:
  Line(std::initializer_list<const char*> words) : words_(words.begin(), words.end()) {
    for (std::string& word : words_) argv_.push_back(&word[0]);
    argv_.push_back(nullptr);
  }
  char** argv() { return argv_.data(); }
  std::string left() {
    std::string all;
    for (char** word = argv(); *word; ++word) all += (all.empty() ? "" : " ") + std::string(*word);
    return all;
  }

 private:
  std::vector<std::string> words_;
  std::vector<char*> argv_;
};

TEST(CmiGetArg, takes_integers_in_every_form) {
  Line line{"pgm", "+a", "5", "+b6", "+c=-7", "+d", "0x10", "file", "+bb"};
  int a = 0, b = 0, c = 0, d = 0, e = 42;
  EXPECT_EQ(CmiGetArgInt(line.argv(), "+a", &a), 1);
  EXPECT_EQ(CmiGetArgIntDesc(line.argv(), "+b", &b, "what it is for"), 1);
  EXPECT_EQ(CmiGetArgInt(line.argv(), "+c", &c), 1);
  EXPECT_EQ(CmiGetArgInt(line.argv(), "+d", &d), 1);
  EXPECT_EQ(CmiGetArgInt(line.argv(), "+e", &e), 0);
  EXPECT_EQ((std::vector<int>{a, b, c, d, e}), (std::vector<int>{5, 6, -7, 16, 42}));
  EXPECT_EQ(line.left(), "pgm file +bb");
}

TEST(CmiGetArg, takes_the_other_kinds) {
  Line line{"pgm", "-x", "2.5", "-name", "a name", "-v", "-vv", "-big", "5000000000"};
  double x = 0;
  char* name = nullptr;
  CmiInt8 big = 0;
  EXPECT_EQ(CmiGetArgDouble(line.argv(), "-x", &x), 1);
  EXPECT_EQ(CmiGetArgString(line.argv(), "-name", &name), 1);
  EXPECT_EQ(CmiGetArgFlag(line.argv(), "-v"), 1);
  EXPECT_EQ(CmiGetArgFlagDesc(line.argv(), "-v", "again"), 0);
  EXPECT_EQ(CmiGetArgLong(line.argv(), "-big", &big), 1);
  EXPECT_EQ(x, 2.5);
  EXPECT_STREQ(name, "a name");
  EXPECT_EQ(big, 5000000000);
  EXPECT_EQ(line.left(), "pgm -vv");
  EXPECT_EQ(CmiGetArgc(line.argv()), 2);
  char** copy = CmiCopyArgs(line.argv());
  CmiDeleteArgs(copy, 1);
  EXPECT_STREQ(copy[0], "-vv");
  EXPECT_EQ(line.left(), "pgm -vv");
  free(copy);
}

TEST(CmiGetArgDeathTest, says_what_is_wrong_with_a_value) {
  int n;
  double x;
  EXPECT_DEATH(CmiGetArgInt(Line{"pgm", "+n"}.argv(), "+n", &n), "\\+n needs a value");
  EXPECT_DEATH(CmiGetArgInt(Line{"pgm", "+n", "many"}.argv(), "+n", &n), "\\+n cannot be 'many'");
  EXPECT_DEATH(CmiGetArgInt(Line{"pgm", "+n7x"}.argv(), "+n", &n), "\\+n cannot be '7x'");
  EXPECT_DEATH(CmiGetArgInt(Line{"pgm", "+n", "3000000000"}.argv(), "+n", &n), "2147483647");
  EXPECT_DEATH(CmiGetArgDouble(Line{"pgm", "-x", "1.5.2"}.argv(), "-x", &x), "a number");
}

TEST(CmiReadSize, knows_units) {
  EXPECT_EQ(CmiReadSize("64"), 64);
  EXPECT_EQ(CmiReadSize("1.5k"), 1536);
  EXPECT_EQ(CmiReadSize("2G"), 2147483648.0);
  EXPECT_DEATH(CmiReadSize("3 apples"), "not a size");
}

TEST(Cqs, orders_by_priority_of_every_kind) {
  Queue q = CqsCreate();
  std::vector<long> items(10);
  auto put = [&](int item, int strategy, std::vector<unsigned> words) {
    CqsEnqueueGeneral(q, &items[item], strategy, static_cast<int>(words.size() * 32), words.data());
  };
  EXPECT_TRUE(CqsEmpty(q));
  put(5, CQS_QUEUEING_IFIFO, {7});
  put(1, CQS_QUEUEING_ILIFO, {static_cast<unsigned>(-3)});
  put(0, CQS_QUEUEING_ILIFO, {static_cast<unsigned>(-3)});
  put(6, CQS_QUEUEING_BFIFO, {0xf0000000u, 1});
  put(7, CQS_QUEUEING_BFIFO, {0xf0000000u, 2});
  CqsEnqueue(q, &items[3]);
  CqsEnqueueFifo(q, &items[4]);
  CqsEnqueueLifo(q, &items[2]);
  EXPECT_EQ(CqsLength(q), 8u);
  for (int i = 0; i < 8; ++i) {
    void* item;
    CqsDequeue(q, &item);
    EXPECT_EQ(static_cast<long*>(item) - items.data(), i);
  }
  void* none = &none;
  CqsDequeue(q, &none);
  EXPECT_EQ(none, nullptr);
  CqsDelete(q);
}

TEST(Cqs, lists_its_items_in_memory_to_be_freed) {
  Queue q = CqsCreate();
  int items[2];
  CqsEnqueueFifo(q, &items[0]);
  CqsEnqueueFifo(q, &items[1]);
  void** all = nullptr;
  CqsEnumerateQueue(q, &all);
  EXPECT_EQ(std::count(all, all + 2, static_cast<void*>(&items[1])), 1);
  std::free(all);
  EXPECT_EQ(CqsLength(q), 2u);
  CqsDelete(q);
}

TEST(Cqs, has_items_without_a_priority_before_those_with_the_priority_0) {
  Queue q = CqsCreate();
  int items[4];
  unsigned zero = 0;
  CqsEnqueueGeneral(q, &items[2], CQS_QUEUEING_IFIFO, 32, &zero);
  CqsEnqueueFifo(q, &items[0]);
  CqsEnqueueGeneral(q, &items[3], CQS_QUEUEING_IFIFO, 32, &zero);
  CqsEnqueueFifo(q, &items[1]);
  for (int& item : items) {
    void* next = nullptr;
    CqsDequeue(q, &next);
    EXPECT_EQ(next, &item);
  }
  CqsDelete(q);
}

TEST(msgQ, gives_smaller_priorities_first_and_keeps_order_among_equals) {
  conv::msgQ<int> q;
  char item[6];
  q.enq(&item[2], 0);
  q.enq(&item[3], 0);
  q.enq(&item[1], 0, false);
  q.enq(&item[4], 5);
  q.enq(&item[0], -5);
  void* all[5] = {};
  q.enumerate(all, all + 5);
  EXPECT_EQ(std::count(all, all + 5, static_cast<void*>(&item[4])), 1);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(q.deq(), &item[i]);
  EXPECT_TRUE(q.empty());
  EXPECT_EQ(q.deq(), nullptr);
}

TEST(Streams, write_a_line_at_its_end) {
  testing::internal::CaptureStdout();
  ckout << "n=" << 5 << ' ' << 2.5 << ' ' << 7UL << ' ' << std::string("text") << ' ' << CkBitVector(1, 4);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  testing::internal::CaptureStdout();
  ckout << endl;
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "n=5 2.500000 7 text 01\n");
  using namespace std;
  testing::internal::CaptureStderr();
  ckerr << static_cast<short>(-1) << endl << (unsigned char)200 << endl;
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "-1\n200\n");
}

struct Point {
  int x;
};
CkOutStream& operator<<(CkOutStream& out, const Point& p) { return out << "(" << p.x << ")"; }
TEST(Streams, take_a_programs_own_types_in_the_middle_of_a_line) {
  testing::internal::CaptureStdout();
  ckout << "at " << Point{3} << "." << endl;
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "at (3).\n");
}

struct Pair {
  int x, y;
};
CkOStream& operator<<(CkOStream& out, const Pair& p) { return out << p.x << ',' << p.y; }
TEST(Streams, take_types_that_are_written_to_either_of_them) {
  testing::internal::CaptureStdout();
  ckout << "at " << Pair{1, 2} << '.' << endl;
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "at 1,2.\n");
  testing::internal::CaptureStderr();
  ckerr << Pair{3, 4} << endl;
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "3,4\n");
}

struct Header {  // ChaNGa's Tipsy::header: it can be made from an int
  Header(int count = 0, double time = 0) : count(count), time(time) {}
  int count;
  double time;
};
CkOStream& operator<<(CkOStream& out, const Header& h) { return out << h.count << ' ' << h.time; }
// Not where two << are equally good.
template <class Stream, class T>
concept Takes = requires(Stream& out, const T& x) {
  out << x;
};
TEST(Streams, take_numbers_as_such_where_a_programs_type_is_made_from_them) {
  static_assert(Takes<CkOStream, int> && Takes<CkOStream, double> && Takes<CkOutStream, int> &&
                Takes<CkErrStream, int>);
  testing::internal::CaptureStdout();
  ckout << Header(7, 0.5) << endl << 7 << endl;
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "7 0.500000\n7\n");
}

TEST(CmiPrintf, writes_long_texts_whole) {
  const std::string text(10000, 'x');
  testing::internal::CaptureStdout();
  EXPECT_EQ(CmiPrintf("%s|%d\n", text.c_str(), 5), 10003);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), text + "|5\n");
}

TEST(TopoManager, turns_ranks_into_coordinates_and_back) {
  const TopoManager t(3, 2, 1, 4);
  for (int pe = 0; pe < 24; ++pe) {
    int x, y, z, c;
    t.rankToCoordinates(pe, x, y, z, c);
    EXPECT_EQ(t.coordinatesToRank(x, y, z, c), pe);
    t.rankToCoordinates(pe, x, y, z);
    EXPECT_EQ(t.coordinatesToRank(x, y, z), pe);
  }
  EXPECT_EQ(t.coordinatesToRank(3, 0, 0, 0), -1);
  EXPECT_EQ(t.absX(-2) + t.absY(1) + t.absZ(0), 3);
  EXPECT_EQ(t.getHopsBetweenRanks(0, 3), 0);
  EXPECT_EQ(t.getHopsBetweenRanks(0, 4), 1);
  int pes[4] = {9, 1, 23, 0}, order[4];
  t.sortRanksByHops(2, pes, order, 4);
  EXPECT_EQ((std::vector<int>(order, order + 4)), (std::vector<int>{1, 3, 0, 2}));
  EXPECT_EQ(t.pickClosestRank(8, pes, 4), 0);
  EXPECT_TRUE(t.hasMultipleProcsPerNode());
}

TEST(Trace, keeps_the_names_of_events) {
  const int one = traceRegisterUserEvent("solve");
  EXPECT_EQ(traceRegisterUserEvent("solve"), one);
  EXPECT_NE(traceRegisterUserEvent("exchange"), one);
  EXPECT_EQ(traceRegisterUserEvent("output", 77), 77);
  EXPECT_STREQ(traceUserEventName(77), "output");
  EXPECT_EQ(traceUserEventName(78), nullptr);
}

TEST(Identity, is_one_pe_before_a_run_starts) {
  EXPECT_EQ(CmiMyPe(), 0);
  EXPECT_EQ(CmiNumPes(), 1);
  EXPECT_EQ(CmiNumNodes(), 1);
  EXPECT_GT(CmiMemoryUsage(), 1000u);
  EXPECT_GE(CmiMaxMemoryUsage(), 1000u);
  const double before = CmiWallTimer();
  EXPECT_GE(CmiWallTimer(), before);
  EXPECT_DEATH(CmiAlloc(100), "CmiAlloc on a thread that runs no PE");
  EXPECT_DEATH(CmiEnforce(1 == 2), "not true: 1 == 2");
}

TEST(Locks, are_taken_once) {
  CmiNodeLock lock = CmiCreateLock();
  EXPECT_EQ(CmiTryLock(lock), 0);
  EXPECT_NE(CmiTryLock(lock), 0);
  CmiUnlock(lock);
  CmiLock(lock);
  CmiUnlock(lock);
  CmiDestroyLock(lock);
}

// The figures are what Charm++ 8.0.1 answers.
TEST(Checksums, are_those_of_charm) {
  unsigned char digits[] = "123456789";
  EXPECT_EQ(crc32_initial(digits, 0), 0u);
  EXPECT_EQ(crc32_initial(digits, 3), 0x313233u);
  EXPECT_EQ(crc32_initial(digits, 9), 0x74527081u);
  EXPECT_EQ(crc32_update(digits + 6, 3, crc32_initial(digits, 6)), 0x74527081u);
  EXPECT_EQ(crc32_update(digits, 3, 0x12345678), 0x39564b9bu);
  EXPECT_EQ(checksum_initial(digits, 9), 0x0c04043du);
  EXPECT_EQ(checksum_update(digits + 4, 5, checksum_initial(digits, 4)), 0x0c04043du);
}

TEST(Hrctimer, counts_from_its_beginning_in_both_units) {
  const double begin = inithrc();
  const double now = gethrctime();
  const double micro = static_cast<double>(gethrctime_micro());
  EXPECT_GE(now, 0);
  EXPECT_LE(now * 1e6, micro + 1);
  EXPECT_LE(begin, inithrc());
}

// --- mempool.h
// ---------------------------------------------------------------------------------------------------------

// Where blocks come from: their sizes and names, by where they are.
std::map<void*, std::pair<std::size_t, mem_handle_t>> blocks;
bool more_blocks = true;
void* new_block(std::size_t* size, mem_handle_t* handle, int) {
  if (!more_blocks) return nullptr;
  *size = (*size + 4095) / 4096 * 4096;
  void* const block = std::malloc(*size);
  *handle = static_cast<mem_handle_t>(*size) + 1;
  blocks[block] = {*size, *handle};
  return block;
}
void free_block(void* block, mem_handle_t handle) {
  ASSERT_EQ(blocks.at(block).second, handle);
  blocks.erase(block);
  std::free(block);
}
class MemPool : public testing::Test {
 protected:
  void SetUp() override {
    more_blocks = true;
    pool = mempool_init(10000, new_block, free_block, 20000);
  }
  void TearDown() override {
    mempool_destroy(pool);
    EXPECT_TRUE(blocks.empty());
  }
  mempool_type* pool = nullptr;
};

TEST_F(MemPool, pieces_do_not_overlap_and_are_used_again) {
  std::mt19937 random(7);
  std::map<char*, std::size_t> pieces;
  std::size_t most = 0;
  for (int i = 0; i < 5000; ++i) {
    if (pieces.size() > 40) {
      auto piece = std::next(pieces.begin(), static_cast<int>(random() % pieces.size()));
      for (std::size_t k = 0; k < piece->second; ++k) ASSERT_EQ(piece->first[k], static_cast<char>(piece->second));
      mempool_free(pool, piece->first);
      pieces.erase(piece);
    }
    const std::size_t size = random() % 3000;
    auto* const memory = static_cast<char*>(mempool_malloc(pool, size, 1));
    ASSERT_NE(memory, nullptr);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 16, 0u);
    ASSERT_TRUE(pieces.emplace(memory, size).second);
    for (std::size_t k = 0; k < size; ++k) memory[k] = static_cast<char>(size);
    most = std::max(most, pool->size);
  }
  EXPECT_LT(most, 500000u);  // and not 5000 times what was asked for
}

TEST_F(MemPool, a_piece_knows_its_block) {
  void* const memory = mempool_malloc(pool, 100, 0);
  mempool_header* const header = MEMPOOL_GetMempoolHeader(memory, sizeof(mempool_header));
  EXPECT_EQ(MEMPOOL_GetMempoolPtr(header), pool);
  EXPECT_EQ(MEMPOOL_GetSize(header), 12288u);
  EXPECT_EQ(MEMPOOL_GetMemHndl(header), 12289);
  EXPECT_GE(MEMPOOL_GetSlotSize(header), 100u);
}

TEST_F(MemPool, an_empty_block_is_whole_again) {
  std::vector<void*> pieces;
  while (void* const piece = mempool_malloc(pool, 40, 0)) pieces.push_back(piece);
  EXPECT_GT(pieces.size(), 50u);
  EXPECT_EQ(mempool_malloc(pool, 6000, 0), nullptr);
  for (void* piece : pieces) mempool_free(pool, piece);
  EXPECT_NE(mempool_malloc(pool, 6000, 0), nullptr);
  EXPECT_EQ(MEMPOOL_GetBlockHead(pool), pool->blocks);
}

TEST_F(MemPool, more_than_there_is_anywhere_is_refused) {
  for (const std::size_t size : {SIZE_MAX, SIZE_MAX / 2 + 1}) {
    EXPECT_EQ(mempool_malloc(pool, size, 1), nullptr);
    EXPECT_EQ(mempool_large_malloc(pool, size, 1), nullptr);
  }
}

// A program may have one region of just that size.
TEST(MemPools, ask_for_a_first_block_of_the_size_that_they_are_given) {
  alignas(16) static char region[8192];
  const auto give = [](std::size_t* size, mem_handle_t*, int) -> void* {
    return *size == sizeof region ? region : nullptr;
  };
  mempool_type* const pool = mempool_init(
      sizeof region, give, [](void*, mem_handle_t) {}, 0);
  ASSERT_NE(pool, nullptr);
  EXPECT_NE(mempool_malloc(pool, 1000, 0), nullptr);
  mempool_destroy(pool);
}

TEST_F(MemPool, grows_only_when_it_may) {
  EXPECT_EQ(mempool_malloc(pool, 50000, 0), nullptr);
  void* const large = mempool_malloc(pool, 50000, 1);
  EXPECT_NE(large, nullptr);
  EXPECT_EQ(blocks.size(), 2u);
  more_blocks = false;
  EXPECT_EQ(mempool_malloc(pool, 50000, 1), nullptr);
  EXPECT_EQ(mempool_large_malloc(pool, 50000, 1), nullptr);
  EXPECT_EQ(mempool_init(1, new_block, free_block, 0), nullptr);
  mempool_free(pool, large);
  EXPECT_EQ(mempool_malloc(pool, 50000, 0), large);
}

TEST_F(MemPool, gives_unused_blocks_back_beyond_its_limit) {
  void* const kept = mempool_malloc(pool, 10, 0);
  mempool_free(pool, mempool_malloc(pool, 50000, 1));
  EXPECT_EQ(blocks.size(), 2u);
  mempool_malloc(pool, 100000, 1);
  EXPECT_EQ(blocks.size(), 2u);  // the first one and the new one
  EXPECT_EQ(MEMPOOL_GetMempoolHeader(kept, sizeof(mempool_header))->block_ptr->used, 1u);
}

TEST_F(MemPool, a_large_block_goes_with_its_piece) {
  void* const first = mempool_large_malloc(pool, 100, 1);
  void* const second = mempool_large_malloc(pool, 100, 1);
  EXPECT_EQ(blocks.size(), 3u);
  mempool_free(pool, first);
  mempool_free(pool, second);
  EXPECT_EQ(blocks.size(), 1u);
}

// --- small headers
// -----------------------------------------------------------------------------------------------------

TEST(FindFirstCaptures, are_the_groups_of_the_first_match) {
  char** const captures = findFirstCaptures("a([0-9]+)(b?)", "x a12b a34b");
  ASSERT_NE(captures, nullptr);
  EXPECT_STREQ(captures[0], "12");
  EXPECT_STREQ(captures[1], "b");
  EXPECT_EQ(captures[2], nullptr);
  for (char** text = captures; *text; ++text) std::free(*text);
  std::free(captures);
  EXPECT_EQ(findFirstCaptures("z(.)", "x a12b"), nullptr);
}

// What programs ask before they use it.
#if !CMK_HAS_INT16 || !CMK___int128_t_DEFINED || !CMK_HAS_MMAP || !CMK_HAS_USLEEP || CMK_WINDOWS
#error "the macros of configure are not those of this machine"
#endif

TEST(Hash, numbers_of_128_bits_are_keys) {
  std::unordered_map<CmiUInt16, int> table;
  for (int i = 0; i < 100; ++i) table[CmiUInt16(i) << 64 | 5] = i;
  EXPECT_EQ(table.size(), 100u);
  EXPECT_EQ(table.at(CmiUInt16(7) << 64 | 5), 7);
}

TEST(LrtsLock, is_a_lock) {
  const LrtsNodeLock lock = LrtsCreateLock();
  LrtsLock(lock);
  EXPECT_NE(LrtsTryLock(lock), 0);
  LrtsUnlock(lock);
  EXPECT_EQ(LrtsTryLock(lock), 0);
  LrtsUnlock(lock);
  LrtsDestroyLock(lock);
}

}  // namespace
