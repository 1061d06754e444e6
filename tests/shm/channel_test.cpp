// The parts of the shared memory transport that two threads touch at once: a channel's cells and bulk, a transfer that
// both sides copy, the table of keys. Meant for ThreadSanitizer as well.
#include "machine/shm/channel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "machine/host/keys.h"
#include "machine/shm/transfer.h"
#include "tests/host/waiting.h"

namespace periapt::shm {
namespace {

struct FreeAligned {
  void operator()(Channel* channel) const { std::free(channel); }
};
std::unique_ptr<Channel, FreeAligned> make_channel() {
  void* at = std::aligned_alloc(platform::kPage, sizeof(Channel));
  std::memset(at, 0, sizeof(Channel));
  return std::unique_ptr<Channel, FreeAligned>(static_cast<Channel*>(at));
}

// The size of the n-th piece: all that a quarter of the ring can hold, unaligned, sometimes none.
std::uint64_t piece_size(std::uint64_t n) { return n % 3 == 0 ? 0 : 1 + (n * 2654435761u) % Channel::kPieceMost; }

TEST(Channel, APieceNeverCrossesTheEndOfTheRing) {
  for (std::uint64_t at = 0; at < 3 * Channel::kBulk; at += 4096 + 64) {
    for (std::uint64_t size : {std::uint64_t{1}, std::uint64_t{64}, std::uint64_t{8192}, Channel::kPieceMost}) {
      std::uint64_t begin = Channel::piece_at(at, size);
      EXPECT_GE(begin, at);
      EXPECT_LE(begin % Channel::kBulk + size, Channel::kBulk);
      EXPECT_LT(begin - at, size == 1 ? 1 : size);
    }
  }
}

TEST(Channel, AFullRingRefusesAndTakesUpAgain) {
  auto channel = make_channel();
  ChannelWriter writer(*channel);
  ChannelReader reader(*channel);
  std::uint64_t written = 0;
  while (host::Slot* cell = writer.claim()) {
    writer.publish(cell, written++, false);
  }
  EXPECT_EQ(written, Channel::kCells);
  EXPECT_FALSE(writer.has_room());
  for (std::uint64_t i = 0; i < written; ++i) {
    const HalfCell* cell = reader.peek();
    ASSERT_NE(cell, nullptr);
    EXPECT_EQ(ChannelReader::meta(*cell), i);
    reader.consume();
  }
  EXPECT_EQ(reader.peek(), nullptr);
  EXPECT_TRUE(writer.has_room());
  EXPECT_NE(writer.claim(), nullptr);
}

/// Cells and halves of them, as a test says, each with its number.
struct Mixed {
  explicit Mixed(Channel& channel) : writer(channel), reader(channel) {}
  ChannelWriter writer;
  ChannelReader reader;
  std::uint64_t written = 0, read = 0;

  bool write(bool half) {
    if (half) {
      HalfCell* cell = writer.claim_half();
      if (cell == nullptr) return false;
      fill(cell->body, HalfCell::kBodyBytes, written);
      writer.publish(cell, written++ << 1 | 1, false);
    } else {
      host::Slot* cell = writer.claim();
      if (cell == nullptr) return false;
      // As many bytes as there are: some of them lie where a second half would have its word.
      fill(cell->body, host::Slot::kBodyBytes, written);
      writer.publish(cell, written++ << 1, false);
    }
    return true;
  }
  bool read_one() {
    const bool ready = reader.ready();
    const HalfCell* cell = reader.peek();
    EXPECT_TRUE(cell != nullptr || !ready);
    if (cell == nullptr) return false;
    const std::uint64_t meta = ChannelReader::meta(*cell);
    const bool half = meta % 2 != 0;
    EXPECT_EQ(meta >> 1, read);
    EXPECT_TRUE(half || !reader.is_second());
    std::byte expected[host::Slot::kBodyBytes];
    fill(expected, sizeof expected, read);
    const int difference = half ? std::memcmp(cell->body, expected, HalfCell::kBodyBytes)
                                : std::memcmp(ChannelReader::whole(*cell).body, expected, host::Slot::kBodyBytes);
    EXPECT_EQ(difference, 0) << read;
    ++read;
    half ? reader.consume_half() : reader.consume();
    return true;
  }

  // A body in which each word looks like that of a published cell, of a lap that may be the one that is awaited.
  static void fill(std::byte* body, std::size_t size, std::uint64_t n) {
    for (std::size_t at = 0; at < size; at += 8) {
      const std::uint64_t word = n << 8 | (n / 3 + at) % 128 << 1;
      std::memcpy(body + at, &word, 8);
    }
  }
};

TEST(Channel, HalvesAndWholeCellsArriveInOrderWhateverTheOrderAndHoweverFarTheReaderIs) {
  auto channel = make_channel();
  Mixed mixed(*channel);
  std::uint64_t state = 3;
  for (int turn = 0; turn < 400000; ++turn) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t chance = state >> 40;
    // Waves: mostly halves, mostly whole ones; mostly written, mostly read.
    if (chance % 100 < (turn / 3000 % 2 == 0 ? 70u : 30u)) {
      mixed.write(chance / 100 % 100 < (turn / 50000 % 3 == 0 ? 95u : turn / 50000 % 3 == 1 ? 50u : 5u));
    } else {
      mixed.read_one();
    }
  }
  while (mixed.read_one()) {
  }
  EXPECT_EQ(mixed.read, mixed.written);
  EXPECT_GT(mixed.read, 100 * Channel::kCells) << "many laps";
}

TEST(Channel, ARingOfHalvesHoldsTwoOfThemInALine) {
  auto channel = make_channel();
  Mixed mixed(*channel);
  while (mixed.write(true)) {
  }
  EXPECT_EQ(mixed.written, Channel::kHalves);
  EXPECT_FALSE(mixed.writer.has_room());
  while (mixed.read_one()) {
  }
  EXPECT_TRUE(mixed.writer.has_room());
  EXPECT_TRUE(mixed.write(true));
  EXPECT_TRUE(mixed.write(false)) << "the second half of a line is left free";
  EXPECT_TRUE(mixed.read_one());
  EXPECT_TRUE(mixed.read_one());
  EXPECT_FALSE(mixed.reader.ready());
}

TEST(Channel, TwoThreadsPassHalvesAndWholeCellsInOrder) {
  auto channel = make_channel();
  constexpr std::uint64_t kMessages = 300000;
  std::thread reading([&] {
    Mixed reader(*channel);
    tests::Waiting waiting;
    while (reader.read < kMessages) {
      if (!reader.read_one()) waiting.again();
    }
  });
  Mixed writer(*channel);
  tests::Waiting waiting;
  std::uint64_t state = 9;
  while (writer.written < kMessages) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    // Now and then the reader comes to the end of what there is, in the middle of a line or not.
    tests::pause_for(state >> 40 & 127);
    const bool half = (state >> 33) % 3 != 0;
    while (!writer.write(half)) waiting.again();
  }
  reading.join();
}

TEST(Channel, WhatWasRefusedForWantOfBulkIsNotLost) {
  auto channel = make_channel();
  ChannelWriter writer(*channel);
  ChannelReader reader(*channel);
  std::uint64_t pieces = 0;
  for (;; ++pieces) {
    host::Slot* cell = writer.claim();
    if (writer.claim_bulk(Channel::kPieceMost) == nullptr) break;
    writer.publish(cell, pieces, false);
  }
  EXPECT_EQ(pieces, 4u);
  writer.drop_claims();
  writer.publish(writer.claim(), 77, false);  // a cell without bulk still goes
  for (std::uint64_t i = 0; i < pieces; ++i) {
    ASSERT_NE(reader.peek(), nullptr);
    EXPECT_NE(reader.bulk(Channel::kPieceMost), nullptr);
    reader.consume();
  }
  ASSERT_NE(reader.peek(), nullptr);
  EXPECT_EQ(ChannelReader::meta(*reader.peek()), 77u);
  EXPECT_NE(writer.claim_bulk(Channel::kPieceMost), nullptr);
}

TEST(Channel, TwoThreadsPassPiecesOfAllSizesInOrder) {
  auto channel = make_channel();
  constexpr std::uint64_t kPieces = 20000;
  std::thread reading([&] {
    ChannelReader reader(*channel);
    tests::Waiting waiting;
    for (std::uint64_t n = 0; n < kPieces; ++n) {
      const HalfCell* cell = nullptr;
      while ((cell = reader.peek()) == nullptr) waiting.again();
      ASSERT_EQ(ChannelReader::meta(*cell) >> 1, n);
      std::uint64_t in_cell;
      std::memcpy(&in_cell, cell->body, 8);
      ASSERT_EQ(in_cell, ~n);
      std::uint64_t size = piece_size(n);
      if (size != 0) {
        const std::byte* bytes = reader.bulk(size, (ChannelReader::meta(*cell) & 1) != 0);
        ASSERT_EQ(bytes[0], static_cast<std::byte>(n));
        ASSERT_EQ(bytes[size - 1], static_cast<std::byte>(n));
      }
      reader.consume();
    }
  });
  ChannelWriter writer(*channel);
  tests::Waiting waiting;
  std::uint64_t anew = 0;
  for (std::uint64_t n = 0; n < kPieces; ++n) {
    std::uint64_t size = piece_size(n);
    if (n % 1000 < 500) {  // half of it as one that waits between any two, the other half as a stream
      while (writer.get_ready()) {
      }
      tests::pause_for(200);
    }
    for (;;) {
      host::Slot* cell = writer.claim();
      std::byte* bytes = cell == nullptr || size == 0 ? nullptr : writer.claim_bulk(size);
      if (cell == nullptr || (size != 0 && bytes == nullptr)) {
        writer.drop_claims();
        waiting.again();
        continue;
      }
      std::uint64_t in_cell = ~n;
      std::memcpy(cell->body, &in_cell, 8);
      if (size != 0) bytes[0] = bytes[size - 1] = static_cast<std::byte>(n);
      const bool at_start = size != 0 && writer.bulk_begins_anew();
      anew += at_start ? 1 : 0;
      writer.publish(cell, n << 1 | (at_start ? 1 : 0), n % 2 == 0);
      break;
    }
  }
  reading.join();
  EXPECT_GT(anew, 0u);
}

/// Both ends in one thread: pieces are written, and read when the test says so.
struct Passing {
  std::unique_ptr<Channel, FreeAligned> channel = make_channel();
  ChannelWriter writer{*channel};
  ChannelReader reader{*channel};
  std::uint64_t written = 0, read = 0;

  /// Where in the ring it lies; nothing: there was no room.
  std::optional<std::uint64_t> write(std::uint64_t size) {
    host::Slot* cell = writer.claim();
    std::byte* bytes = cell == nullptr ? nullptr : writer.claim_bulk(size);
    if (bytes == nullptr) return writer.drop_claims(), std::nullopt;
    std::memset(bytes, static_cast<int>(++written % 251), size);
    writer.publish(cell, size << 1 | (writer.bulk_begins_anew() ? 1 : 0), false);
    return bytes - channel->bulk;
  }
  void wait() {
    while (writer.get_ready()) {
    }
  }
  bool read_one() {
    const HalfCell* cell = reader.peek();
    if (cell == nullptr) return false;
    const std::uint64_t meta = ChannelReader::meta(*cell), size = meta >> 1;
    const std::byte* bytes = reader.bulk(size, (meta & 1) != 0);
    const auto expected = static_cast<std::byte>(++read % 251);
    EXPECT_EQ(std::count(bytes, bytes + size, expected), static_cast<std::ptrdiff_t>(size)) << "piece " << read;
    reader.consume();
    return true;
  }
};

TEST(Channel, AWriterThatWaitsAfterEachPieceStaysAtTheStartOfTheRing) {
  for (std::uint64_t size : {64u, 1000u, 1024u, 4096u, 8192u}) {
    Passing passing;
    std::uint64_t farthest = 0;
    for (int i = 0; i < 2000; ++i) {
      std::optional<std::uint64_t> at = passing.write(size);
      ASSERT_TRUE(at.has_value());
      farthest = std::max(farthest, *at + size);
      passing.wait();
      ASSERT_TRUE(passing.read_one());
    }
    EXPECT_LE(farthest, Channel::kHotBulk + Channel::kTellBulk + 2 * size) << size;
  }
}

TEST(Channel, AWriterKnowsWhetherItsReaderIsBehind) {
  Passing passing;
  EXPECT_TRUE(passing.writer.reader_is_near());
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(passing.write(1024));
  EXPECT_FALSE(passing.writer.reader_is_near());
  while (passing.read_one()) {
  }
  EXPECT_TRUE(passing.writer.reader_is_near());
}

TEST(Channel, AStreamUsesAllOfTheRing) {
  Passing passing;
  std::uint64_t farthest = 0;
  for (int i = 0; i < 100; ++i) {
    for (int k = 0; k < 32; ++k) farthest = std::max(farthest, passing.write(1024).value());
    passing.wait();
    while (passing.read_one()) {
    }
  }
  EXPECT_EQ(farthest, Channel::kBulk - 1024);
}

TEST(Channel, WhatHasNotBeenReadIsNotWrittenOver) {
  Passing passing;
  std::uint64_t state = 5;
  for (int turn = 0; turn < 3000; ++turn) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t size = 1 + (state >> 33) % (turn % 7 == 0 ? Channel::kPieceMost : 3000);
    if (!passing.write(size)) {
      for (int k = 0; k < 40; ++k) passing.read_one();
    }
    passing.wait();
    if (turn % 3 == 0) passing.read_one();
  }
  while (passing.read_one()) {
  }
  EXPECT_EQ(passing.read, passing.written);
}

TEST(Channel, APieceThatDoesNotFitAtTheStartGoesWhereTheRingIs) {
  Passing passing;
  do {
    ASSERT_TRUE(passing.write(1024));
    passing.wait();
    ASSERT_TRUE(passing.read_one());
  } while (!passing.writer.bulk_begins_anew());
  // The reader has done with the first kilobytes of the ring, and with no more of it: behind them lies what is unread.
  ASSERT_TRUE(passing.write(Channel::kPieceMost).has_value());
  while (passing.write(Channel::kPieceMost)) {
  }
  while (passing.read_one()) {
  }
  EXPECT_TRUE(passing.write(Channel::kPieceMost).has_value()) << "all is read, so there is room for anything";
  EXPECT_TRUE(passing.read_one());
}

// A peer that lies about it moves its own bytes only.
TEST(Channel, TheReaderStaysInTheRingWhateverItIsTold) {
  auto channel = make_channel();
  ChannelReader reader(*channel);
  std::uint64_t state = 1;
  for (int i = 0; i < 100000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t size = (state >> 30) % (Channel::kPieceMost + 1);
    const std::byte* bytes = reader.bulk(size, (state >> 60) % 2 != 0);
    ASSERT_GE(bytes, channel->bulk);
    ASSERT_LE(bytes + size, channel->bulk + Channel::kBulk);
    reader.consume();
  }
}

// Copies pieces of `view` until there are none, with the other thread at the other end.
std::uint64_t copy_pieces(TransferView view, TransferView::End end) {
  std::uint64_t copied = 0;
  while (Piece piece = view.claim(end)) {
    std::memcpy(reinterpret_cast<void*>(piece.target.address), reinterpret_cast<const void*>(piece.source.address),
                piece.size);
    view.finish(true);
    copied += piece.size;
  }
  return copied;
}

TEST(Transfer, BothSidesCopyEachPieceOnce) {
  auto transfer = std::make_unique<Transfer>();
  constexpr int kRounds = 300;
  std::vector<std::uint32_t> source(50001), target(50001);
  const std::uint64_t size = source.size() * 4 - 3;
  std::atomic<std::uint64_t> opened{0}, checked{0};
  std::atomic<std::uint64_t> helped{0};
  std::thread helper([&] {
    tests::Waiting waiting;
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      while (opened.load(std::memory_order_acquire) < round) waiting.again();
      TransferView view(*transfer, round);
      helped += copy_pieces(view, TransferView::End::back);
      while (checked.load(std::memory_order_acquire) < round && round % 2 == 0) waiting.again();
    }
  });
  tests::Waiting waiting;
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    std::iota(source.begin(), source.end(), static_cast<std::uint32_t>(round));
    std::fill(target.begin(), target.end(), 0);
    TransferView view =
        TransferView::begin(*transfer, {reinterpret_cast<std::uintptr_t>(source.data()), 0}, size, 4096);
    ASSERT_EQ(view.generation(), round);
    EXPECT_FALSE(view.claim(TransferView::End::front)) << "not open yet";
    ASSERT_TRUE(view.open({reinterpret_cast<std::uintptr_t>(target.data()), 0}));
    opened.store(round, std::memory_order_release);
    copy_pieces(view, TransferView::End::front);
    while (view.state() == TransferView::State::running) waiting.again();
    EXPECT_EQ(view.state(), TransferView::State::complete);
    ASSERT_EQ(std::memcmp(source.data(), target.data(), size), 0) << round;
    checked.store(round, std::memory_order_release);
  }
  helper.join();
}

TEST(Transfer, ALateHelperOfAnEarlierOneFindsNothing) {
  Transfer transfer{};
  std::byte bytes[100] = {}, other[100] = {};
  SegmentAddress from{reinterpret_cast<std::uintptr_t>(bytes), 0}, to{reinterpret_cast<std::uintptr_t>(other), 0};
  TransferView first = TransferView::begin(transfer, from, 100, 10);
  first.open(to);
  copy_pieces(first, TransferView::End::front);
  TransferView late = first;
  TransferView second = TransferView::begin(transfer, from, 100, 10);
  EXPECT_FALSE(late.claim(TransferView::End::back));
  second.open(to);
  EXPECT_FALSE(late.claim(TransferView::End::back));
  EXPECT_FALSE(late.look());
  EXPECT_EQ(late.state(), TransferView::State::complete);
  EXPECT_TRUE(second.claim(TransferView::End::back));
}

TEST(Transfer, WhatIsTakenBackCannotBeOpenedOrClaimed) {
  Transfer transfer{};
  TransferView before = TransferView::begin(transfer, {64, 0}, 1000, 100);
  before.revoke();
  EXPECT_FALSE(before.in_flight());
  EXPECT_FALSE(before.open({128, 0}));
  EXPECT_FALSE(before.claim(TransferView::End::front));

  TransferView during = TransferView::begin(transfer, {64, 0}, 1000, 100);
  ASSERT_TRUE(during.open({128, 0}));
  ASSERT_TRUE(during.claim(TransferView::End::front));
  during.revoke();
  EXPECT_TRUE(during.in_flight()) << "the claimed piece is still being copied";
  EXPECT_FALSE(during.claim(TransferView::End::back));
  during.finish(true);
  EXPECT_FALSE(during.in_flight());
}

TEST(Transfer, AFailedPieceFailsTheWhole) {
  Transfer transfer{};
  TransferView view = TransferView::begin(transfer, {64, 0}, 250, 100);
  view.open({128, 0});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(view.state(), TransferView::State::running);
    ASSERT_TRUE(view.claim(TransferView::End::front));
    view.finish(i != 1);
  }
  EXPECT_EQ(view.state(), TransferView::State::failed);
}

TEST(Keys, AKeyIsGoodUntilItIsTakenBack) {
  auto table = std::make_unique<host::KeyTable>();
  host::KeyRing ring(table.get());
  std::uint64_t id = ring.add(1000, 100, 7);
  host::CachedKey entry{id};
  EXPECT_TRUE(entry.allows(*table, 1000, 100));
  EXPECT_EQ(entry.segment, 7u);
  EXPECT_FALSE(entry.allows(*table, 999, 1));
  EXPECT_FALSE(entry.allows(*table, 1000, 101));
  EXPECT_FALSE(entry.allows(*table, ~std::uint64_t{0}, 2));
  ring.remove(id);
  EXPECT_FALSE(entry.allows(*table, 1000, 100));
  std::uint64_t next = ring.add(1000, 100, 7);
  EXPECT_NE(next, id) << "the entry is used again, the key is not";
  EXPECT_FALSE(entry.allows(*table, 1000, 100));
  ring.remove(id);  // a key that is gone already
  EXPECT_TRUE(ring.holds(next));
}

TEST(Keys, AFullTableSaysSo) {
  auto table = std::make_unique<host::KeyTable>();
  host::KeyRing ring(table.get());
  std::uint64_t last = 0;
  for (std::uint64_t i = 0; i < host::KeyTable::kEntries; ++i) ASSERT_NE(last = ring.add(i, 1, 0), 0u);
  EXPECT_EQ(ring.add(1, 1, 0), 0u);
  ring.remove(last);
  EXPECT_NE(ring.add(1, 1, 0), 0u);
}

}  // namespace
}  // namespace periapt::shm
