// What unpacking does with bytes that were never packed: cut short, changed, lying about lengths. It must raise a
// PUP::error or make some object; it must not read past the end (the address sanitizer looks) or allocate out of
// proportion.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <new>
#include <random>

#include "pup_types.h"

namespace {
std::size_t allocated_most;  // the largest single allocation since it was set to 0
}
[[gnu::noinline]] void* operator new(std::size_t n) {
  allocated_most = std::max(allocated_most, n);
  if (void* p = std::malloc(n)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace pup_test {
namespace {

using ::testing::HasSubstr;

struct Tree {
  int value = 0;
  std::unique_ptr<Tree> left, right;
  void pup(PUP::er& p) {
    p | value;
    p | left;
    p | right;
  }
};

/// One of everything that is not plain bytes.
struct Everything {
  Member member;
  std::vector<int> ints;
  std::vector<bool> bits;
  std::vector<std::string> words;
  std::vector<std::vector<double>> matrix;
  std::deque<short> deque;
  std::list<Member> list;
  std::forward_list<int> forward;
  std::map<std::string, std::vector<int>> map;
  std::multimap<int, int> multimap;
  std::unordered_map<int, std::string> hashed;
  std::set<int> set;
  std::unordered_multiset<std::string> multiset;
  std::tuple<int, std::string> tuple;
  std::optional<std::string> optional;
  Choice choice;
  std::unique_ptr<Tree> tree;
  std::shared_ptr<std::string> shared;
  std::array<std::string, 2> array;
  std::ranlux24_base engine;
  std::minstd_rand small_engine;
  bool flag = false;
  void pup(PUP::er& p) {
    p | member, p | ints, p | bits, p | words, p | matrix, p | deque, p | list, p | forward, p | map, p | multimap;
    p | hashed, p | set, p | multiset, p | tuple, p | optional, p | choice, p | tree, p | shared, p | array, p | engine;
    p | small_engine, p | flag;
  }
};

/// Grows objects of any of these types from a seed.
class Grow {
 public:
  explicit Grow(unsigned seed) : random_(seed) {}
  std::size_t up_to(std::size_t n) { return random_() % (n + 1); }
  void fill(int& v) { v = static_cast<int>(random_()); }
  void fill(short& v) { v = static_cast<short>(random_()); }
  void fill(double& v) { v = static_cast<double>(random_()) / 7; }
  void fill(bool& v) { v = random_() % 2; }
  void fill(std::string& v) {
    v.resize(up_to(20));
    for (char& c : v) c = static_cast<char>(random_());
  }
  void fill(Member& m) {
    fill(m.a), fill(m.b), fill(m.c);
    if (depth_ > 3) return;
    ++depth_;
    fill(m.children);
    --depth_;
  }
  template <class A, class B>
  void fill(std::pair<A, B>& v) {
    fill(const_cast<typename std::remove_const<A>::type&>(v.first)), fill(v.second);
  }
  void fill(std::vector<bool>& v) {
    v.resize(up_to(30));
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = random_() % 2;
  }
  template <class C>
  auto fill(C& c) -> decltype(c.emplace_back(), void()) {
    for (std::size_t i = up_to(4); i-- > 0;) {
      c.emplace_back();
      fill(c.back());
    }
  }
  template <class T>
  void fill(std::forward_list<T>& c) {
    for (std::size_t i = up_to(4); i-- > 0;) {
      c.emplace_front();
      fill(c.front());
    }
  }
  template <class C>
  auto fill_associative(C& c) -> decltype(c.begin(), void()) {
    for (std::size_t i = up_to(4); i-- > 0;) {
      typename Item<C>::type item{};
      fill(item);
      c.insert(std::move(item));
    }
  }
  void fill(std::unique_ptr<Tree>& t, int depth) {
    if (depth > 5 || random_() % 3 == 0) return;
    t = std::make_unique<Tree>();
    fill(t->value), fill(t->left, depth + 1), fill(t->right, depth + 1);
  }
  void fill(Everything& e) {
    fill(e.member), fill(e.ints), fill(e.bits), fill(e.words), fill(e.matrix), fill(e.deque), fill(e.list),
        fill(e.forward);
    fill_associative(e.map), fill_associative(e.multimap), fill_associative(e.hashed), fill_associative(e.set);
    fill_associative(e.multiset), fill(std::get<0>(e.tuple)), fill(std::get<1>(e.tuple)), fill(e.tree, 0), fill(e.flag);
    if (random_() % 2) fill(e.optional.emplace());
    if (random_() % 2) fill(e.choice.emplace<std::string>());
    if (random_() % 2) fill(*(e.shared = std::make_shared<std::string>()));
    fill(e.array[0]), fill(e.array[1]);
    e.engine.seed(random_()), e.small_engine.seed(random_());
  }

 private:
  template <class C, class = void>
  struct Item {
    typedef typename C::value_type type;
  };
  template <class C>
  struct Item<C, std::void_t<typename C::mapped_type>> {
    typedef std::pair<typename C::key_type, typename C::mapped_type> type;
  };
  std::mt19937 random_;
  int depth_ = 0;
};

constexpr unsigned seeds = 40;

class Robust : public ::testing::Test {
 protected:
  ThrowErrors on;
};

TEST_F(Robust, RandomObjectsComeBackTheSame) {
  for (unsigned seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE(seed);
    Everything in, out;
    Grow(seed).fill(in);
    const std::vector<char> bytes = pack_through_er(in);
    through_er(in, out);
    EXPECT_EQ(pack_through_er(out).size(), bytes.size());
    // The order in hashed containers may change, once; sorted ones and all others are compared as bytes.
    in.hashed.clear(), out.hashed.clear(), in.multiset.clear(), out.multiset.clear();
    EXPECT_EQ(pack_through_er(out), pack_through_er(in));
  }
}

TEST_F(Robust, EveryPrefixIsRefused) {
  for (unsigned seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(seed);
    Everything in;
    Grow(seed).fill(in);
    const std::vector<char> bytes = pack_through_er(in);
    for (std::size_t length = 0; length < bytes.size(); length += 1 + length / 64) {
      const std::unique_ptr<char[]> cut(new char[length]);  // exactly that long, so that the sanitizer sees its end
      std::copy_n(bytes.data(), length, cut.get());
      PUP::fromMem p(cut.get(), length);
      Everything out;
      EXPECT_THROW(p | out, PUP::error) << length << " of " << bytes.size();
    }
  }
}

TEST_F(Robust, ChangedBytesAreRefusedOrMakeAnObject) {
  std::size_t refused = 0;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE(seed);
    Everything in;
    Grow(seed).fill(in);
    const std::vector<char> bytes = pack_through_er(in);
    std::mt19937 random(seed);
    for (int round = 0; round < 100; ++round) {
      std::vector<char> changed = bytes;
      for (unsigned n = 1 + random() % 3; n-- > 0;) changed[random() % changed.size()] = static_cast<char>(random());
      allocated_most = 0;
      PUP::fromMem p(changed.data(), changed.size());
      Everything out;
      try {
        p | out;
        pack_through_er(out);
        out.engine(), out.small_engine();
      } catch (const PUP::error&) {
        ++refused;
      }
      EXPECT_LT(allocated_most, 64 * changed.size() + 4096);
    }
  }
  EXPECT_GT(refused, seeds);
}

template <class T>
PUP::error error_from(std::vector<char> bytes) {
  PUP::fromMem p(bytes.data(), bytes.size());
  T out = blank<T>();
  try {
    p | out;
  } catch (const PUP::error& e) {
    return e;
  }
  throw std::logic_error("no error");
}

std::vector<char> only_a_length(std::size_t n) { return pack(n); }

template <class T>
void expect_length_refused() {
  for (std::size_t n : {std::size_t(1) << 21, std::size_t(1) << 32, std::size_t(1) << 61, SIZE_MAX}) {
    allocated_most = 0;
    EXPECT_EQ(error_from<T>(only_a_length(n)).why, PUP::error::kind::bad_length);
    EXPECT_LT(allocated_most, 4096u);
  }
}
struct Nothing {
  void pup(PUP::er&) {}
};
TEST_F(Robust, LengthsThatCannotBeAreRefusedBeforeAllocating) {
  expect_length_refused<std::string>();
  expect_length_refused<std::vector<char>>();
  expect_length_refused<std::vector<double>>();
  expect_length_refused<std::vector<bool>>();
  expect_length_refused<std::vector<Member>>();
  expect_length_refused<std::vector<std::string>>();
  expect_length_refused<std::vector<Nothing>>();
  expect_length_refused<std::deque<int>>();
  expect_length_refused<std::list<std::list<int>>>();
  expect_length_refused<std::forward_list<int>>();
  expect_length_refused<std::set<int>>();
  expect_length_refused<std::unordered_set<std::string>>();
  expect_length_refused<std::map<int, int>>();
  expect_length_refused<std::unordered_map<int, Member>>();
  expect_length_refused<std::mt19937>();
}
TEST_F(Robust, ElementsThatPackToNothingAreFine) {
  std::vector<Nothing> in(1000), out;
  through_er(in, out);
  EXPECT_EQ(out.size(), 1000u);
}

TEST_F(Robust, ErrorsSayWhatWhereAndIn) {
  std::vector<Member> in{{1, 2, "three", {}}};
  std::vector<char> bytes = pack(in);
  bytes.resize(8 + 4 + 3);
  const PUP::error e = error_from<std::vector<Member>>(bytes);
  EXPECT_EQ(e.why, PUP::error::kind::overrun);
  EXPECT_EQ(e.needed, 8u);
  EXPECT_EQ(e.offset, 12u);
  EXPECT_EQ(e.limit, 15u);
  EXPECT_EQ(e.type, "double");
  EXPECT_THAT(e.what(), HasSubstr("unpacking needed 8 bytes at offset 12 of 15, while unpacking double in"));
  EXPECT_THAT(e.what(), HasSubstr("Member in std::vector<"));
}

TEST_F(Robust, DeepNestingIsRefused) {
  std::vector<char> bytes(1 << 20, 0);  // value 0, left not null, for ever
  PUP::fromMem p(bytes.data(), bytes.size());
  Tree out;
  EXPECT_THROW(p | out, PUP::error);
}

TEST_F(Robust, AVariantOfNoAlternative) {
  std::uint32_t index = 7;
  EXPECT_EQ(error_from<Choice>(pack(index)).why, PUP::error::kind::bad_value);
}

TEST_F(Robust, ABoolIsNeverAnythingElse) {
  std::vector<char> bytes{2};
  PUP::fromMem p(bytes.data(), 1);
  bool out = false;
  p | out;
  unsigned char raw;
  std::memcpy(&raw, &out, 1);
  EXPECT_EQ(raw, 1);
}

TEST_F(Robust, ABoolFromAFileIsNeverAnythingElse) {
  File file = temporary_file();
  std::fputc(7, file.get());
  std::rewind(file.get());
  PUP::fromDisk p(file.get());
  bool flag = false;
  p | flag;
  unsigned char byte = 0;
  std::memcpy(&byte, &flag, 1);
  EXPECT_EQ(byte, 1);
}
/// The first numbers are there, and then there is no room for one more, be it alone or in an array.
template <class Stream>
void expect_two_numbers(Stream&& alone, Stream&& in_array) {
  int a = 0, b = 0, c = 0, two[2] = {0, 0};
  alone | a, alone | b;
  EXPECT_EQ(alone.size(), 8u);
  EXPECT_THROW(alone | c, PUP::error);
  in_array | a;
  EXPECT_THROW(in_array(two, 2), PUP::error);
}
TEST_F(Robust, ThreeNumbersAreNotInEightBytes) {
  const std::vector<char> eight(8, 1);
  expect_two_numbers(PUP::fromMem(eight.data(), eight.size()), PUP::fromMem(eight.data(), eight.size()));
  expect_two_numbers(PUP_toNetwork_unpack(eight.data(), 8), PUP_toNetwork_unpack(eight.data(), 8));
  expect_two_numbers(PUP_toNetwork4_unpack(eight.data(), 8), PUP_toNetwork4_unpack(eight.data(), 8));
  File files[] = {temporary_file(), temporary_file()};
  for (File& file : files) {
    std::fwrite(eight.data(), 1, eight.size(), file.get());
    std::rewind(file.get());
  }
  expect_two_numbers(PUP::fromDisk(files[0].get()), PUP::fromDisk(files[1].get()));
}
TEST_F(Robust, EnginesWithImpossiblePositions) {
  std::string text = PUP::detail::engine_text(std::ranlux24_base());
  text.replace(text.rfind(' '), std::string::npos, " 4000000000");
  EXPECT_EQ(error_from<std::ranlux24_base>(pack(text)).why, PUP::error::kind::bad_value);
  text = PUP::detail::engine_text(std::knuth_b());
  text.replace(text.rfind(' '), std::string::npos, " 4000000000");
  EXPECT_EQ(error_from<std::knuth_b>(pack(text)).why, PUP::error::kind::bad_value);
}

TEST_F(Robust, PackingPastTheEndOfABuffer) {
  char buffer[10];
  PUP::toMem p(buffer, sizeof buffer);
  double d = 1;
  p | d;
  try {
    static_cast<PUP::er&>(p) | d;
    FAIL();
  } catch (const PUP::error& e) {
    EXPECT_THAT(e.what(), HasSubstr("packing needed 8 bytes at offset 8 of 10"));
    EXPECT_THAT(e.what(), HasSubstr("isSizing()"));
  }
}

TEST_F(Robust, SizesBeyondFourGigabytes) {
  PUP::sizer s;
  char c = 0;
  char* volatile large = &c;  // nothing is read while sizing
  s(+large, std::size_t(3) << 32);
  s.bytes(large, std::size_t(3) << 32, 1, PUP::Tchar);
  EXPECT_EQ(s.size(), std::size_t(6) << 32);
  std::vector<char> bytes(8);
  PUP::fromMem p(bytes.data(), bytes.size());
  EXPECT_THROW(p(reinterpret_cast<double*>(&c), (std::size_t(1) << 61) + 1), PUP::error) << "8 bytes, if it wraps";
}

TEST_F(Robust, ASeekOutOfTheBuffer) {
  std::size_t table[2] = {std::size_t(1) << 40, SIZE_MAX};
  std::vector<char> bytes = pack(table);
  PUP::fromMem p(bytes.data(), bytes.size());
  PUP::seekBlock s(p, 1);
  EXPECT_THROW(s.seek(0), PUP::error);
  EXPECT_THROW(s.endBlock(), PUP::error);
}

TEST_F(Robust, SizeMismatchOfABuffer) {
  std::string in = "text";
  char buffer[100];
  EXPECT_THROW(PUP::toMemBuf(in, buffer, 100), PUP::error);
  EXPECT_THROW(PUP::toMemBuf(in, buffer, 3), PUP::error);
}

// ---- files
// ------------------------------------------------------------------------------------------------------------

TEST_F(Robust, AShortFile) {
  Everything in;
  Grow(1).fill(in);
  const std::vector<char> bytes = pack_through_er(in);
  for (std::size_t length : {std::size_t(0), bytes.size() / 2, bytes.size() - 1}) {
    File f = temporary_file();
    std::fwrite(bytes.data(), 1, length, f.get());
    std::rewind(f.get());
    PUP::fromDisk p(f.get());
    Everything out;
    EXPECT_THROW(p | out, PUP::error);
  }
}
TEST_F(Robust, APipeThatLiesAboutALength) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::size_t n = std::size_t(1) << 40;
  ASSERT_EQ(write(ends[1], &n, sizeof n), static_cast<ssize_t>(sizeof n));
  ASSERT_EQ(write(ends[1], "some", 4), 4);
  close(ends[1]);
  File f(fdopen(ends[0], "rb"));
  PUP::fromDisk p(f.get());
  std::vector<double> out;
  allocated_most = 0;
  EXPECT_THROW(p | out, PUP::error);
  EXPECT_LT(allocated_most, std::size_t(64) << 20);
}
TEST_F(Robust, AFullDiskIsReported) {
  File f(std::fopen("/dev/full", "wb"));
  if (!f) GTEST_SKIP() << "no /dev/full on this system";
  PUP::toDisk p(f.get());
  std::vector<int> v(100000);
  p | v;
  EXPECT_TRUE(p.checkError());
  EXPECT_THAT(p.errorMessage(), HasSubstr("No space left on device"));
}
TEST(RobustDeathTest, AFullDiskNobodyAskedAboutEndsTheProgram) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full on this system";
  EXPECT_DEATH(
      {
        File f(std::fopen("/dev/full", "wb"));
        PUP::toDisk p(f.get());
        std::vector<int> v(100000);
        p | v;
      },
      "No space left on device.*checkError");
}
TEST(RobustDeathTest, TheDefaultHandlerSaysWhatHappenedAndEndsTheProgram) {
  EXPECT_DEATH(
      {
        char bytes[3] = {};
        PUP::fromMem p(bytes, 3);
        int i;
        p | i;
      },
      "PUP: unpacking needed 4 bytes at offset 0 of 3, while unpacking int");
}
TEST(RobustDeathTest, AHandlerThatReturnsEndsTheProgram) {
  EXPECT_DEATH(
      {
        PUP::set_error_handler([](const PUP::error&) { std::fputs("seen\n", stderr); });
        PUP::fromMem p("", 0);
        int i;
        p | i;
      },
      "seen");
}

// ---- text and foreign machines
// ----------------------------------------------------------------------------------------

template <class T>
std::string text_error(const char* text) {
  File f = temporary_file();
  std::fputs(text, f.get());
  std::rewind(f.get());
  PUP::fromTextFile p(f.get());
  T out{};
  try {
    p | out;
  } catch (const PUP::error& e) {
    return e.what();
  }
  return "no error";
}
TEST_F(Robust, TextThatIsNotTheType) {
  EXPECT_THAT(text_error<int>("! c\n 1x\n"),
              HasSubstr("in line 2 of the text file: \"1x\" is not a value of type int"));
  EXPECT_THAT(text_error<int>("2147483648"), HasSubstr("is not a value of type int"));
  EXPECT_THAT(text_error<unsigned>("-1"), HasSubstr("is not a value of type uint"));
  EXPECT_THAT(text_error<int>(""), HasSubstr("ended where a value should be"));
  EXPECT_THAT(text_error<int>("-"), HasSubstr("is not a value"));
  EXPECT_THAT(text_error<bool>("yes"), HasSubstr("is not a value of type bool"));
  EXPECT_THAT(text_error<char>("'ab'"), HasSubstr("between single quotes"));
  EXPECT_THAT(text_error<char>("'\\x4"), HasSubstr("two hexadecimal digits"));
  EXPECT_THAT(text_error<std::vector<int>>("99999999999 1"), HasSubstr("cannot be in the"));
  EXPECT_EQ(text_error<int>("-2147483648"), "no error");
}

TEST_F(Robust, DescriptionThatDoesNotFit) {
  char text[10];
  PUP::toText p(text, sizeof text);
  int i = 1234567;
  EXPECT_THROW(p | i, PUP::error);
}

TEST_F(Robust, MachinesThatCannotBe) {
  char bytes[16] = {};
  PUP::fromMem in(bytes, sizeof bytes);
  PUP::machineInfo m = PUP::machineInfo::current();
  m.intBytes[2] = 3;
  EXPECT_THROW(PUP::xlater(m, in), PUP::error);
  m = PUP::machineInfo::current();
  m.magic[0] = 0;
  EXPECT_THROW(PUP::xlater(m, in), PUP::error);
  m = PUP::machineInfo::current();
  m.intFormat = 2;
  EXPECT_THROW(PUP::xlater(m, in), PUP::error);
  PUP::sizer s;
  EXPECT_THROW(PUP::xlater(PUP::machineInfo::current(), s), PUP::error);
}
TEST_F(Robust, AForeignIntegerThatDoesNotFit) {
  ForeignPack packing(true, 16, 1);
  PUP::machineInfo m = packing.machine();
  std::vector<char> bytes(16, 1);
  PUP::fromMem in(bytes.data(), bytes.size());
  PUP::xlater p(m, in);
  long out;
  EXPECT_THROW(p | out, PUP::error);
}
TEST_F(Robust, AForeignLongDoubleIsRefused) {
  ForeignPack packing(true, 8, 1);
  std::vector<char> bytes(16, 0);
  PUP::fromMem in(bytes.data(), bytes.size());
  PUP::xlater p(packing.machine(), in);
  long double out;
  EXPECT_THROW(p | out, PUP::error);
}
TEST_F(Robust, ForeignBytesCutShortOrChanged) {
  Everything in;
  Grow(3).fill(in);
  ForeignPack packing(true, 4, 4);
  packing | in;
  {
    PUP::fromMem bytes(packing.out.data(), packing.out.size());
    PUP::xlater p(packing.machine(), bytes);
    Everything out;
    p | out;
    EXPECT_EQ(out.ints, in.ints);
    EXPECT_EQ(out.flag, in.flag);
    EXPECT_TRUE(out.engine == in.engine);
  }
  for (std::size_t length = 0; length < packing.out.size(); length += 7) {
    PUP::fromMem bytes(packing.out.data(), length);
    PUP::xlater p(packing.machine(), bytes);
    Everything out;
    EXPECT_THROW(p | out, PUP::error);
  }
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    std::vector<char> changed = packing.out;
    changed[random() % changed.size()] = static_cast<char>(random());
    PUP::fromMem bytes(changed.data(), changed.size());
    PUP::xlater p(packing.machine(), bytes);
    Everything out;
    allocated_most = 0;
    try {
      p | out;
    } catch (const PUP::error&) {
    }
    EXPECT_LT(allocated_most, 1024 * changed.size());
  }
}
TEST_F(Robust, MachineInfoGoesThroughAStream) {
  PUP::machineInfo in = PUP::machineInfo::current(), out = {};
  through_er(in, out);
  EXPECT_TRUE(out.valid());
  EXPECT_FALSE(out.needsConversion());
}

}  // namespace
}  // namespace pup_test
