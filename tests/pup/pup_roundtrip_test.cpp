// Every type comes back as it went in, through every kind of stream.
#include <gtest/gtest.h>

#include "pup_types.h"

namespace pup_test {
namespace {

template <class T>
class RoundTrip : public ::testing::Test {
 public:
  typedef void (*Way)(T&, T&);
  void expect(const char* name, Way way) {
    SCOPED_TRACE(name);
    for (const T& sample : Samples<T>::get()) {
      T in = sample;
      T out = blank<T>();
      way(in, out);
      EXPECT_TRUE(out == sample);
      EXPECT_TRUE(in == sample) << "packing changed the object";
    }
  }
};

template <class... A>
struct Join;
template <class... A, class... B>
struct Join<::testing::Types<A...>, ::testing::Types<B...>> {
  typedef ::testing::Types<A..., B...> type;
};
template <class A, class B>
using Joined = typename Join<A, B>::type;

typedef ::testing::Types<char, signed char, unsigned char, short, unsigned short, int, unsigned, long, unsigned long,
                         long long, unsigned long long, wchar_t, char16_t, char32_t, bool, float, double, Plain, Small>
    Builtins;
typedef ::testing::Types<Flat, Member, Outside, Reconstructed, Classic, std::string, std::wstring, std::u16string,
                         std::u32string, std::complex<double>, std::bitset<77>, std::chrono::nanoseconds,
                         std::chrono::system_clock::time_point>
    Classes;
typedef ::testing::Types<std::vector<int>, std::vector<bool>, std::vector<char>, std::vector<Flat>,
                         std::vector<std::string>, std::vector<std::vector<double>>, std::vector<Reconstructed>,
                         std::vector<Outside>, std::vector<std::pair<int, int>>, std::deque<std::string>,
                         std::list<int>, std::list<Member>, std::forward_list<int>>
    Sequences;
typedef ::testing::Types<std::map<int, std::string>, std::map<std::string, Reconstructed>,
                         std::map<std::string, std::map<int, std::vector<Member>>>, Backwards, std::multimap<int, int>,
                         std::unordered_map<std::string, int>, std::unordered_multimap<int, int>, std::set<std::string>,
                         std::set<Reconstructed>, std::multiset<int>, std::unordered_set<int>,
                         std::unordered_multiset<int>>
    Associative;
typedef ::testing::Types<std::pair<char, double>, std::pair<int, std::string>, std::tuple<>,
                         std::tuple<int, std::string, double>, std::array<double, 3>, std::array<std::string, 2>,
                         std::array<int, 0>, std::array<std::array<short, 2>, 2>>
    Aggregates;
#if __cplusplus >= 201703L
typedef ::testing::Types<std::byte, std::optional<std::string>, std::optional<Reconstructed>, Choice> OfCxx17;
#else
typedef ::testing::Types<> OfCxx17;
#endif
typedef ::testing::Types<std::minstd_rand, std::mt19937, std::mt19937_64, std::ranlux24_base, std::ranlux48,
                         std::knuth_b, Bits>
    Engines;

// One test a type: a test for each way would be a thousand classes, and a minute of compiling.
TYPED_TEST_SUITE_P(RoundTrip);
TYPED_TEST_P(RoundTrip, EveryWay) {
  this->expect("memory", through_memory<TypeParam>);
  this->expect("memory, through PUP::er", through_er<TypeParam>);
  this->expect("unchecked memory", through_unchecked_memory<TypeParam>);
  this->expect("misaligned memory", through_misaligned_memory<TypeParam>);
  this->expect("disk", through_disk<TypeParam>);
  this->expect("text file", through_text_file<TypeParam>);
  // Types that are given to PUPbytes are not converted.
  if constexpr (!std::is_same<TypeParam, Flat>::value && !std::is_same<TypeParam, std::vector<Flat>>::value)
    this->expect("big-endian", from_big_endian<TypeParam>);
  this->expect("other sizes", from_other_sizes<TypeParam>);
  this->expect("network", through_network<TypeParam>);
  for (TypeParam sample : Samples<TypeParam>::get()) describe(sample);
}
REGISTER_TYPED_TEST_SUITE_P(RoundTrip, EveryWay);
INSTANTIATE_TYPED_TEST_SUITE_P(Builtin, RoundTrip, Builtins);
typedef Joined<Joined<Classes, Sequences>, Joined<Associative, Joined<Joined<Aggregates, OfCxx17>, Engines>>>
    Everything;
INSTANTIATE_TYPED_TEST_SUITE_P(Type, RoundTrip, Everything);

template <class T>
void expect_scalar(T value) {
  T out{};
  through_memory(value, out);
  EXPECT_TRUE(out == value);
  out = T{};
  through_er(value, out);
  EXPECT_TRUE(out == value);
  out = T{};
  through_disk(value, out);
  EXPECT_TRUE(out == value);
  out = T{};
  through_text_file(value, out);
  EXPECT_TRUE(out == value);
}

/// A program's own container: what grows in front, and what keeps things by themselves.
class Pile {
 public:
  std::size_t size() const { return items_.size(); }
  void clear() { items_.clear(); }
  std::list<int>::const_iterator begin() const { return items_.begin(); }
  std::list<int>::const_iterator end() const { return items_.end(); }
  void emplace(int item) { items_.push_back(item); }
  bool operator==(const Pile& o) const { return items_ == o.items_; }
  void pup(PUP::er& p) { PUP::PUP_stl_container<Pile, int>(p, *this); }

 private:
  std::list<int> items_;
};
struct Book : std::map<std::string, int> {
  void pup(PUP::er& p) { PUP::PUP_stl_map<std::map<std::string, int>, std::string, int>(p, *this); }
};
struct Row : std::vector<std::string> {
  void pup(PUP::er& p) {
    const std::size_t n = PUP::PUP_stl_container_size(p, *this);
    PUP::PUP_stl_container_items<std::vector<std::string>, std::string>(p, *this, n);
  }
};
struct Flags : std::vector<bool> {
  void pup(PUP::er& p) { PUP::PUP_stl_container<std::vector<bool>, bool>(p, *this); }
};
template <class T>
void expect_own_container(T& in) {
  T out;
  through_memory(in, out);
  EXPECT_TRUE(out == in);
  through_memory(in, out);  // what is there before is not any more
  EXPECT_TRUE(out == in);
  through_text_file(in, out);
  EXPECT_TRUE(out == in);
  through_network(in, out);
  EXPECT_TRUE(out == in);
}
TEST(OwnContainers, ByTheHelpersOfCharm) {
  Pile pile;
  for (int i : {3, 1, 2}) pile.emplace(i);
  expect_own_container(pile);
  Book book;
  book["one"] = 1;
  book["two"] = 2;
  expect_own_container(book);
  Row row;
  row.push_back("");
  row.push_back("text");
  expect_own_container(row);
  Flags flags;
  for (bool flag : {true, false, true, true}) flags.push_back(flag);
  expect_own_container(flags);
}

TEST(Wide, LongDoubleKeepsItsBits) {
  for (long double v : Samples<long double>::get()) expect_scalar(v);
}
TEST(Wide, Int128) {
  const PUP::uint128 all = ~PUP::uint128(0);
  for (PUP::int128 v : {PUP::int128(0), PUP::int128(-1), PUP::int128(all >> 1), PUP::int128(1) << 100}) {
    expect_scalar(v);
    PUP::int128 out = 0;
    from_big_endian(v, out);
    EXPECT_TRUE(out == v);
    through_network(v, out);
    EXPECT_TRUE(out == v);
  }
  expect_scalar(all);
}
TEST(Wide, NanComesBackFromText) {
  double in = NAN, out = 0;
  through_text_file(in, out);
  EXPECT_TRUE(std::isnan(out));
}

TEST(Network4, KeepsWhatFitsInFourBytes) {
  Member in = Samples<Member>::get()[1], out;
  through_network4(in, out);
  EXPECT_TRUE(in == out);
}
TEST(Network4, RefusesWhatDoesNot) {
  ThrowErrors on;
  long in = 1L << 40, out = 0;
  EXPECT_THROW(through_network4(in, out), PUP::error);
}
TEST(Network, HasTheSizesOfJavaAndItsByteOrder) {
  unsigned char bytes[12] = {};
  PUP_toNetwork_pack p(bytes);
  short s = 0x0102;
  double d = 1;
  p | s;
  p | d;
  EXPECT_EQ(p.size(), 12u);
  const unsigned char expected[12] = {0, 0, 1, 2, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0};
  EXPECT_TRUE(std::equal(bytes, bytes + 12, expected));
}

TEST(Pointers, UniquePtr) {
  std::unique_ptr<Member> in(new Member{1, 2, "x", {}}), none, out;
  through_er(in, out);
  EXPECT_TRUE(*in == *out);
  through_er(none, out);
  EXPECT_FALSE(out);
}
TEST(Pointers, SharedPtrOfConst) {
  std::shared_ptr<const std::string> in = std::make_shared<const std::string>("x"), out;
  through_er(in, out);
  EXPECT_EQ(*out, "x");
  EXPECT_EQ(in.use_count(), 1);
}
TEST(Pointers, VectorOfUniquePtr) {
  std::vector<std::unique_ptr<int>> in, out;
  in.push_back(std::make_unique<int>(4));
  in.push_back(nullptr);
  through_er(in, out);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(*out[0], 4);
  EXPECT_FALSE(out[1]);
}
TEST(Pointers, CkPointerOwnsUntilTaken) {
  Member sent{1, 2, "x", {}};
  CkPointer<Member> in(&sent), out;
  through_er(in, out);
  Member* taken = out;
  EXPECT_TRUE(*taken == sent);
  delete taken;
}
TEST(Pointers, CkReference) {
  Member sent{1, 2, "x", {}};
  CkReference<Member> in(sent), out;
  through_er(in, out);
  Member& received = out;
  EXPECT_TRUE(received == sent);
}

int twice(int x) { return 2 * x; }
typedef int (*Function)(int);
PUPfunctionpointer(Function) TEST(Pointers, FunctionPointer) {
  Function in = twice, none = nullptr, out = nullptr;
  through_er(in, out);
  EXPECT_EQ(out, in);
  through_er(none, out);
  EXPECT_EQ(out, nullptr);
}

TEST(Atomic, Value) {
  std::atomic<int> in{5}, out{0};
  through_er(in, out);
  EXPECT_EQ(out.load(), 5);
}

TEST(Arrays, CArraysOfAnything) {
  int in[2][3] = {{1, 2, 3}, {4, 5, 6}}, out[2][3] = {};
  through_er(in, out);
  EXPECT_EQ(out[1][2], 6);
  from_big_endian(in, out);
  EXPECT_EQ(out[1][1], 5);
  std::string words[2] = {"a", "b"}, back[2];
  through_er(words, back);
  EXPECT_EQ(back[1], "b");
}

/// Larger in memory than packed, as most structs are.
struct Padded {
  char first = 1;
  double second = 2;
  int third = 3;
  void pup(PUP::er& p) {
    p | first;
    p | second;
    p | third;
  }
};
int allocations;
template <class T>
struct Counting : std::allocator<T> {
  template <class U>
  struct rebind {  // C++14's std::allocator has one of its own
    typedef Counting<U> other;
  };
  T* allocate(std::size_t n) {
    ++allocations;
    return std::allocator<T>::allocate(n);
  }
};
TEST(Arrays, AVectorOfStructsIsAllocatedOnce) {
  std::vector<Padded> in(10000);
  std::vector<char> bytes(PUP::size(in));
  PUP::toMemBuf(in, bytes.data(), bytes.size());
  ASSERT_LT(bytes.size(), in.size() * sizeof(Padded) / 4 * 3);
  for (const bool length_known : {true, false}) {
    std::vector<Padded, Counting<Padded>> out;
    allocations = 0;
    PUP::fromMem p(bytes.data(), length_known ? bytes.size() : PUP::unbounded);
    p | out;
    EXPECT_EQ(out.size(), in.size());
    EXPECT_EQ(allocations, 1) << (length_known ? "checked" : "trusted");
  }
}

TEST(Const, ConstAndTemporaryObjectsCanBePacked) {
  const Member m{1, 2, "x", {}};
  const std::vector<int> v{1, 2};
  const int i = 5;
  PUP::sizer s;
  s | m;
  s | v;
  s | i;
  s | 5;
  s | std::string("temporary");
  EXPECT_GT(s.size(), 40u);
  std::vector<char> bytes(s.size());
  PUP::toMem p(bytes.data(), bytes.size());
  p | m;
  p | v;
  p | i;
  p | 5;
  p | std::string("temporary");
  EXPECT_EQ(p.size(), s.size());
}
TEST(Const, UnpackingIntoAConstObjectIsAnError) {
  ThrowErrors on;
  std::vector<char> bytes(100);
  PUP::fromMem p(bytes.data(), bytes.size());
  const int i = 5;
  EXPECT_THROW(p | i, PUP::error);
}

TEST(Traits, WhatTravelsAsBytes) {
  EXPECT_TRUE(PUP::as_bytes<int>::value);
  EXPECT_TRUE(PUP::as_bytes<Small>::value);
  EXPECT_TRUE(PUP::as_bytes<Flat>::value);
  EXPECT_TRUE((PUP::as_bytes<std::array<std::complex<float>, 3>>::value));
  EXPECT_TRUE((PUP::as_bytes<std::pair<int, float>>::value));
  EXPECT_FALSE((PUP::as_bytes<std::pair<char, float>>::value)) << "padding";
  EXPECT_FALSE(PUP::as_bytes<Member>::value);
  EXPECT_FALSE(PUP::as_bytes<int*>::value);
  EXPECT_FALSE((PUP::as_bytes<std::tuple<int, int>>::value)) << "the order of its members in memory is not its own";
}
struct Opaque {
  int x;
};
TEST(Traits, WhatCanBePupped) {
  EXPECT_TRUE(PUP::is_pupable<int>::value);
  EXPECT_TRUE(PUP::is_pupable<Member>::value);
  EXPECT_TRUE(PUP::is_pupable<Outside>::value);
  EXPECT_TRUE(PUP::is_pupable<std::vector<Member>>::value);
  EXPECT_FALSE(PUP::is_pupable<Opaque>::value);
  EXPECT_FALSE(PUP::is_pupable<int*>::value);
}

struct Sections {
  int system = 0;
  std::string user;
  void pup(PUP::er& p) {
    PUP::seekBlock s(p, 2);
    if (p.isUnpacking()) {
      s.seek(0);
      p | system;
    }
    s.seek(1);
    p | user;
    if (!p.isUnpacking()) {
      s.seek(0);
      p | system;
    }
    s.endBlock();
  }
  bool operator==(const Sections& o) const { return system == o.system && user == o.user; }
};
TEST(SeekBlock, SectionsComeBackInAnotherOrder) {
  std::pair<Sections, int> in, out;
  in.first.system = 3;
  in.first.user = "user";
  in.second = 9;
  std::vector<char> bytes(PUP::size(in));
  PUP::toMem packing(bytes.data(), bytes.size());
  packing | in;
  PUP::fromMem unpacking(bytes.data(), packing.size());
  unpacking | out;
  EXPECT_TRUE(in == out);
  out = {};
  through_disk(in, out);
  EXPECT_TRUE(in == out);
}

TEST(Flags, EachIsSetAndSeen) {
  char buffer[8];
  PUP::toMem p(buffer, PUP::er::IS_MIGRATION | PUP::er::IS_DELETING);
  EXPECT_TRUE(p.isPacking() && !p.isSizing() && !p.isUnpacking());
  EXPECT_TRUE(p.isMigration() && p.isDeleting() && !p.isCheckpoint() && !p.isUserlevel() && !p.isRestarting());
  p.becomeUserlevel();
  p.becomeRestarting();
  EXPECT_TRUE(p.isUserlevel() && p.isRestarting());
  EXPECT_STREQ(p.typeString(), "packing");
  EXPECT_FALSE(p.hasComments());
  EXPECT_TRUE(PUP::sizerText().hasComments());
}

TEST(Buffer, IsAllocatedAndFreed) {
  static int freed;
  freed = 0;
  int* in = new int[3]{1, 2, 3};
  const auto deallocate = [](void* p) { delete[] static_cast<int*>(p), ++freed; };
  const auto allocate = [](std::size_t n) -> void* { return new int[n]; };
  PUP::sizer s;
  s.pup_buffer(in, 3, allocate, deallocate);
  std::vector<char> bytes(s.size());
  PUP::toMem copying(bytes.data(), bytes.size());
  copying.pup_buffer(in, 3, allocate, deallocate);
  EXPECT_EQ(freed, 0);
  PUP::toMem moving(bytes.data(), bytes.size(), PUP::er::IS_DELETING);
  moving.pup_buffer(in, 3, allocate, deallocate);
  EXPECT_EQ(freed, 1);
  EXPECT_EQ(in, nullptr);
  PUP::fromMem p(bytes.data(), bytes.size());
  p.pup_buffer(in, 3, allocate, deallocate);
  EXPECT_EQ(in[2], 3);
  delete[] in;
}

TEST(Description, ReadsLikeTheObject) {
  Member m{1, 2.5, "say \"hi\"\n", {}};
  EXPECT_EQ(describe(m),
            "sync=0x71300000\n//a\nint=1;\n//b\ndouble=2.5;\n//c\nulong=9;\nstring=\"say \\\"hi\\\"\\n\";\n//children\n"
            "sync=0x71100000\nulong=0;\nsync=0x72100000\nsync=0x72300000\n");
}

TEST(TextFile, ReadsWhatAPersonWrites) {
  File f = temporary_file();
  std::fputs("! parameters\n 3 ! steps\n+2.5e1 true\n'x' '''\n", f.get());
  std::rewind(f.get());
  PUP::fromTextFile p(f.get());
  int steps;
  double size;
  bool on;
  char letters[2];
  p | steps;
  p | size;
  p | on;
  p | letters;
  EXPECT_EQ(steps, 3);
  EXPECT_EQ(size, 25.0);
  EXPECT_TRUE(on);
  EXPECT_EQ(std::string(letters, 2), "x'");
}

}  // namespace
}  // namespace pup_test
