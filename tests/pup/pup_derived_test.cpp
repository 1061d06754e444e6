// Streams that a program derives from sizer, toMem, fromMem and mem: all that is pupped comes to their bytes(), with
// its type, in whatever way the stream is named, nBytes and buf are theirs to move, and they take as many bytes as the
// others.
#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <string>
#include <vector>

#include "pup.h"
#include "pup_stl.h"
#include "pup_test_util.h"

namespace {

struct Record {
  double weight = 1.5;
  int number = 7;
  bool known = true;
  std::vector<double> values{1, 2, 3};
  std::string name = "record";
  int halves[2] = {3, 4};
  std::pair<double, char> padded{5, 'p'};
  std::complex<double> complex{6, 7};
  void pup(PUP::er& p) {
    p | weight;
    p | number;
    p | known;
    p | values;
    p | name;
    p | padded;
    p | complex;
    PUP::seekBlock sections(p, 2);  // unpacked in the other order than they are packed
    sections.seek(p.isUnpacking() ? 1 : 0);
    p | halves[p.isUnpacking() ? 1 : 0];
    sections.seek(p.isUnpacking() ? 0 : 1);
    p | halves[p.isUnpacking() ? 0 : 1];
    sections.endBlock();
  }
};

class CountingSizer : public PUP::sizer {
 public:
  std::size_t doubles = 0, calls = 0;
  void bytes(void* p, std::size_t n, std::size_t itemSize, PUP::dataType t) override {
    ++calls;
    if (t == PUP::Tdouble) doubles += n;
    PUP::sizer::bytes(p, n, itemSize, t);
  }
};
// Does what sizer does, by itself.
class OwnSizer : public PUP::sizer {
  void bytes(void*, std::size_t n, std::size_t itemSize, PUP::dataType) override { nBytes += n * itemSize; }
};
class Scrambling : public PUP::toMem {
 public:
  explicit Scrambling(void* to) : PUP::toMem(to) {}
  void bytes(void* p, std::size_t n, std::size_t itemSize, PUP::dataType) override {
    for (std::size_t i = 0; i < n * itemSize; ++i) *buf++ = static_cast<PUP::myByte>(static_cast<char*>(p)[i] ^ 0x5a);
  }
};
class Unscrambling : public PUP::fromMem {
 public:
  explicit Unscrambling(const void* from) : PUP::fromMem(from) {}
  void bytes(void* p, std::size_t n, std::size_t itemSize, PUP::dataType t) override {
    PUP::fromMem::bytes(p, n, itemSize, t);
    for (std::size_t i = 0; i < n * itemSize; ++i) static_cast<char*>(p)[i] ^= 0x5a;
  }
};
// Of the base of both.
class Copying : public PUP::mem {
 public:
  explicit Copying(void* to) : PUP::mem(IS_PACKING, static_cast<PUP::myByte*>(to)) {}
  void bytes(void* p, std::size_t n, std::size_t itemSize, PUP::dataType) override {
    std::memcpy(buf, p, n * itemSize);
    buf += n * itemSize;
  }
};

TEST(DerivedStreams, SeeEverythingWithItsType) {
  Record record;
  CountingSizer counting;
  counting | record;
  EXPECT_EQ(counting.doubles, 7u) << "the weight, three values, one of a pair and two of a complex number";
  EXPECT_EQ(counting.size(), PUP::size(record));
  OwnSizer own;
  own | record;
  EXPECT_EQ(own.size(), PUP::size(record));
}

TEST(DerivedStreams, AreAskedByTheNameOfTheirBaseToo) {
  CountingSizer counting;
  PUP::sizer& sizer = counting;
  int number = 1;
  double numbers[2] = {1, 2};
  sizer | number;
  sizer(numbers, 2);
  EXPECT_EQ(counting.calls, 2u);
  EXPECT_EQ(sizer.size(), 20u);

  std::vector<char> room(8);
  double there = 2.5, back = 0;
  Scrambling scrambling(room.data());
  PUP::toMem& to = scrambling;
  to | there;
  Unscrambling unscrambling(room.data());
  PUP::fromMem& from = unscrambling;
  from | back;
  EXPECT_EQ(back, 2.5);
  EXPECT_NE(std::memcmp(room.data(), &there, sizeof there), 0);
}

TEST(DerivedStreams, ChangeWhatPasses) {
  Record record;
  const std::size_t size = PUP::size(record);
  std::vector<char> plain(size), copied(size), scrambled(size);
  PUP::toMemBuf(record, plain.data(), size);
  Copying copying(copied.data());
  copying | record;
  EXPECT_EQ(copied, plain);
  EXPECT_EQ(copying.size(), size);
  Scrambling to(scrambled.data());
  to | record;
  EXPECT_EQ(to.size(), size);
  EXPECT_EQ(to.get_current_pointer() - to.get_orig_pointer(), static_cast<std::ptrdiff_t>(size));

  Record other;
  other.weight = 0;
  other.number = 0;
  other.known = false;
  other.values.clear();
  other.name.clear();
  other.halves[0] = other.halves[1] = 0;
  Unscrambling from(scrambled.data());
  from | other;
  EXPECT_EQ(other.weight, 1.5);
  EXPECT_EQ(other.number, 7);
  EXPECT_TRUE(other.known);
  EXPECT_EQ(other.values, record.values);
  EXPECT_EQ(other.name, "record");
  EXPECT_EQ(other.halves[0], 3);
  EXPECT_EQ(other.halves[1], 4);
  EXPECT_EQ(from.size(), size);
}

TEST(DerivedStreams, GoBackAndAhead) {
  int numbers[3] = {1, 2, 3};
  std::vector<char> room(sizeof numbers);
  Scrambling to(room.data());
  to.advance(sizeof(int));
  to | numbers[1];
  to.reset();
  EXPECT_EQ(to.size(), 0u);
  to | numbers[0];
  int back[2] = {};
  Unscrambling from(room.data());
  from(back, 2);
  EXPECT_EQ(back[0], 1);
  EXPECT_EQ(back[1], 2);
}

// A length that they are given holds for them, too.
class Writing : public PUP::toMem {
 public:
  using PUP::toMem::toMem;
};
class Reading : public PUP::fromMem {
 public:
  using PUP::fromMem::fromMem;
};
TEST(DerivedStreams, KeepTheirLength) {
  const pup_test::ThrowErrors errors;
  std::vector<char> room(12, 'x');
  double value = 1;
  Writing to(room.data(), std::size_t(10));
  EXPECT_EQ(to.limit(), 10u);
  to | value;
  EXPECT_EQ(to.remaining(), 2u);
  EXPECT_THROW(to | value, PUP::error);
  EXPECT_THROW(to.advance(3), PUP::error);
  to.advance(2);
  EXPECT_EQ(to.remaining(), 0u);
  EXPECT_EQ(room[10], 'x');

  Reading from(room.data(), std::size_t(4));
  EXPECT_THROW(from | value, PUP::error);
  std::size_t many = 5;
  PUP::toMemBuf(many, room.data(), sizeof many);
  Reading counted(room.data(), sizeof many);
  std::vector<int> numbers;
  EXPECT_THROW(counted | numbers, PUP::error);
  EXPECT_TRUE(numbers.empty());

  Reading unknown(room.data());
  EXPECT_EQ(unknown.remaining(), PUP::unbounded);
  EXPECT_EQ(unknown.limit(), PUP::unbounded);
}
TEST(DerivedStreams, DoNotSeekPastTheirLength) {
  const pup_test::ThrowErrors errors;
  const std::size_t table[3] = {24, 1000, 2000};  // sections that begin far behind the end
  Reading from(table, sizeof table);
  const auto seek = [&] {
    PUP::seekBlock sections(from, 2);
    sections.seek(1);
  };
  EXPECT_THROW(seek(), PUP::error);
}

// Those that are not derived keep their ends.
TEST(DerivedStreams, LeaveTheOthersChecked) {
  const pup_test::ThrowErrors errors;
  char room[4];
  double value = 1;
  PUP::toMem to(room, sizeof room);
  EXPECT_THROW(to | value, PUP::error);
  PUP::fromMem nothing(nullptr, std::size_t(0));
  EXPECT_THROW(nothing | value, PUP::error);
}

}  // namespace
