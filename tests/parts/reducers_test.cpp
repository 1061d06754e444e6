// Every built-in reducer against a plain loop, custom and tuple reducers, and what wrong contributions are told.
#include "runtime/api/reducers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

// The smallest message: what runtime/collective has in its place.
class CkReductionMsg {
 public:
  std::vector<char> bytes;
  periapt::chare::Contribution carried;
  CkReduction::reducerType type = CkReduction::invalid;
  static int alive;
  CkReductionMsg() { ++alive; }
  ~CkReductionMsg() { --alive; }
};
int CkReductionMsg::alive = 0;

namespace periapt::chare {
CkReductionMsg* new_reduction_message(std::size_t bytes, CkReduction::reducerType type) {
  auto* message = new CkReductionMsg;
  message->bytes.resize(bytes);
  message->type = type;
  return message;
}
void delete_reduction_message(CkReductionMsg* message) { delete message; }
Contribution contribution_of(CkReductionMsg* message) {
  Contribution c = message->carried;
  c.data = message->bytes.data();
  c.size = message->bytes.size();
  return c;
}
void set_contribution(CkReductionMsg* message, CkReduction::reducerType type, const Contribution& c) {
  message->type = type;
  message->carried = c;
}
}  // namespace periapt::chare

namespace {

using namespace periapt::chare;
using Type = CkReduction::reducerType;
using Bytes = std::vector<char>;

Type at(int first, int offset) { return static_cast<Type>(first + offset); }

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
template <class T>
std::vector<T> values_of(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}
Contribution part_of(Bytes& bytes) {
  Contribution c;
  c.data = bytes.data();
  c.size = bytes.size();
  return c;
}

// All three ways must give the same: folded one by one, combined at once, and as messages in a random tree.
Bytes by_folding(Type type, std::vector<Bytes> parts) {
  Contribution into = part_of(parts[0]);
  EXPECT_TRUE(folds_in_place(type, into));
  for (std::size_t i = 1; i < parts.size(); ++i) EXPECT_EQ(fold(type, into, part_of(parts[i]), 0), Fold::in_place);
  EXPECT_EQ(into.sources, parts.size());
  return parts[0];
}
Bytes by_combining(Type type, std::vector<Bytes> parts, std::uint64_t random_bits = 0) {
  std::vector<Contribution> contributions;
  for (Bytes& part : parts) contributions.push_back(part_of(part));
  Bytes out;
  const Contribution result = combine(
      type, contributions.data(), static_cast<int>(contributions.size()), random_bits,
      [](void* out, std::size_t bytes) -> void* {
        static_cast<Bytes*>(out)->resize(bytes);
        return static_cast<Bytes*>(out)->data();
      },
      &out);
  EXPECT_EQ(result.sources, parts.size());
  EXPECT_TRUE(result.reduced);
  EXPECT_EQ(result.size, out.size());
  return out;
}
CkReductionMsg* message_of(const Bytes& bytes, Type type) {
  CkReductionMsg* message = new_reduction_message(bytes.size(), type);
  message->bytes = bytes;
  return message;
}
Bytes by_messages(Type type, const std::vector<Bytes>& parts, std::mt19937& random) {
  std::vector<CkReductionMsg*> messages;
  for (const Bytes& part : parts) messages.push_back(message_of(part, type));
  do {
    std::shuffle(messages.begin(), messages.end(), random);
    const std::size_t several = std::min<std::size_t>(messages.size(), 1 + random() % 4);
    CkReductionMsg* one = combine_messages(type, static_cast<int>(several), messages.data(), random());
    messages.erase(messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(several));
    messages.push_back(one);
  } while (messages.size() > 1 || !messages[0]->carried.reduced);
  EXPECT_EQ(messages[0]->carried.sources, parts.size());
  EXPECT_EQ(messages[0]->type, type);
  const Bytes result = messages[0]->bytes;
  delete messages[0];
  return result;
}

struct Reducers : testing::Test {
  void SetUp() override {
    seed = std::random_device{}();
    random.seed(seed);
    alive = CkReductionMsg::alive;
  }
  void TearDown() override {
    EXPECT_EQ(CkReductionMsg::alive, alive) << "messages leaked or were freed twice";
    if (HasFailure()) std::printf("seed %u\n", seed);
  }

  // Random items; floating point ones are small whole numbers, so that any order gives the same sum.
  template <class T>
  std::vector<T> some(std::size_t count) {
    std::vector<T> values(count);
    for (T& value : values)
      value = std::is_floating_point_v<T> ? static_cast<T>(static_cast<int>(random() % 17) - 8)
                                          : static_cast<T>(static_cast<std::uint64_t>(random()) << 32 | random());
    return values;
  }

  template <class T, class Operation>
  void check(Type type, Operation operation) {
    SCOPED_TRACE(reducer_name(type));
    const std::size_t items = 1 + random() % 100, parts = 1 + random() % 6;
    std::vector<std::vector<T>> values;
    std::vector<Bytes> bytes;
    for (std::size_t p = 0; p < parts; ++p) {
      values.push_back(some<T>(items));
      bytes.push_back(bytes_of(values[p]));
    }
    std::vector<T> expected = values[0];
    for (std::size_t p = 1; p < parts; ++p)
      for (std::size_t i = 0; i < items; ++i) expected[i] = operation(expected[i], values[p][i]);
    ASSERT_EQ(values_of<T>(by_folding(type, bytes)), expected);
    ASSERT_EQ(values_of<T>(by_combining(type, bytes)), expected);
    ASSERT_EQ(values_of<T>(by_messages(type, bytes, random)), expected);
    checked.insert(type);
  }

  template <class T>
  void check_numbers(int kind) {
    using U = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::common_type<T>>::type;
    check<T>(at(CkReduction::sum_char, kind),
             [](T a, T b) { return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b))); });
    check<T>(at(CkReduction::product_char, kind), [](T a, T b) {
      return static_cast<T>(
          static_cast<U>(static_cast<U>(1) * static_cast<U>(a) *
                         static_cast<std::conditional_t<(sizeof(U) < 4), unsigned, U>>(static_cast<U>(b))));
    });
    check<T>(at(CkReduction::max_char, kind), [](T a, T b) { return std::max(a, b); });
    check<T>(at(CkReduction::min_char, kind), [](T a, T b) { return std::min(a, b); });
  }

  unsigned seed = 0;
  int alive = 0;
  std::mt19937 random;
  std::set<int> checked;
};

TEST_F(Reducers, OfNumbersAndTruthDoWhatALoopDoes) {
  for (int round = 0; round < 20; ++round) {
    check_numbers<char>(0);
    check_numbers<short>(1);
    check_numbers<int>(2);
    check_numbers<long>(3);
    check_numbers<long long>(4);
    check_numbers<unsigned char>(5);
    check_numbers<unsigned short>(6);
    check_numbers<unsigned>(7);
    check_numbers<unsigned long>(8);
    check_numbers<unsigned long long>(9);
    check_numbers<float>(10);
    check_numbers<double>(11);
    for (const Type type : {CkReduction::bitvec_and, CkReduction::bitvec_and_int})
      check<int>(type, [](int a, int b) { return a & b; });
    for (const Type type : {CkReduction::bitvec_or, CkReduction::bitvec_or_int})
      check<int>(type, [](int a, int b) { return a | b; });
    for (const Type type : {CkReduction::bitvec_xor, CkReduction::bitvec_xor_int})
      check<int>(type, [](int a, int b) { return a ^ b; });
  }
  EXPECT_EQ(checked.size(), 48u + 6u);
}

// Truth is checked on values that are zero half of the time.
TEST_F(Reducers, OfTruth) {
  const std::map<Type, bool (*)(bool, bool)> of_ints = {
      {CkReduction::logical_and, [](bool a, bool b) { return a && b; }},
      {CkReduction::logical_and_int, [](bool a, bool b) { return a && b; }},
      {CkReduction::logical_or, [](bool a, bool b) { return a || b; }},
      {CkReduction::logical_or_int, [](bool a, bool b) { return a || b; }},
      {CkReduction::logical_xor_int, [](bool a, bool b) { return a != b; }}};
  const std::map<Type, bool (*)(bool, bool)> of_bools = {
      {CkReduction::logical_and_bool, [](bool a, bool b) { return a && b; }},
      {CkReduction::logical_or_bool, [](bool a, bool b) { return a || b; }},
      {CkReduction::logical_xor_bool, [](bool a, bool b) { return a != b; }},
      {CkReduction::bitvec_and_bool, [](bool a, bool b) { return a && b; }},
      {CkReduction::bitvec_or_bool, [](bool a, bool b) { return a || b; }},
      {CkReduction::bitvec_xor_bool, [](bool a, bool b) { return a != b; }}};
  const auto check_truth = [&](Type type, auto operation, auto zero, int highest) {
    using T = decltype(zero);
    SCOPED_TRACE(reducer_name(type));
    for (int round = 0; round < 50; ++round) {
      const std::size_t items = 1 + random() % 20, parts = 2 + random() % 4;
      std::vector<T> expected;
      std::vector<Bytes> bytes;
      for (std::size_t p = 0; p < parts; ++p) {
        std::vector<T> values(items);
        for (T& v : values) v = random() % 2 ? static_cast<T>(1 + random() % highest) : T{0};
        for (std::size_t i = 0; i < items; ++i) {
          if (p == 0)
            expected.push_back(values[i]);
          else
            expected[i] = static_cast<T>(operation(expected[i] != 0, values[i] != 0));
        }
        bytes.push_back(bytes_of(values));
      }
      ASSERT_EQ(values_of<T>(by_folding(type, bytes)), expected);
      ASSERT_EQ(values_of<T>(by_combining(type, bytes)), expected);
      ASSERT_EQ(values_of<T>(by_messages(type, bytes, random)), expected);
    }
  };
  for (const auto& [type, operation] : of_ints) check_truth(type, operation, int{}, 1000);
  for (const auto& [type, operation] : of_bools) check_truth(type, operation, char{}, 1);
  EXPECT_EQ(of_ints.size() + of_bools.size(), 11u);
}

TEST_F(Reducers, DataThatLiesAnywhereIsReadBytewise) {
  std::vector<char> a(1 + 3 * sizeof(double)), b = a;
  const double x[3] = {1, 2, 3}, y[3] = {10, 20, 30}, sum[3] = {11, 22, 33};
  std::memcpy(a.data() + 1, x, sizeof(x));
  std::memcpy(b.data() + 1, y, sizeof(y));
  Contribution into, from;
  into.data = a.data() + 1;
  from.data = b.data() + 1;
  into.size = from.size = sizeof(x);
  ASSERT_EQ(fold(CkReduction::sum_double, into, from, 0), Fold::in_place);
  EXPECT_EQ(std::memcmp(a.data() + 1, sum, sizeof(sum)), 0);
}

TEST_F(Reducers, NopCarriesNothingAndAgreesWithAll) {
  EXPECT_TRUE(by_folding(CkReduction::nop, {{}, {}, {}}).empty());
  EXPECT_TRUE(by_messages(CkReduction::nop, {{}, {}, {}}, random).empty());
  EXPECT_EQ(agree(CkReduction::nop, CkReduction::sum_int), CkReduction::sum_int);
  EXPECT_EQ(agree(CkReduction::sum_int, CkReduction::nop), CkReduction::sum_int);
  EXPECT_EQ(agree(CkReduction::nop, CkReduction::nop), CkReduction::nop);
}

TEST_F(Reducers, TheLastUserFlagGiven) {
  Contribution a, b;
  a.user_flag = 7;
  ASSERT_EQ(fold(CkReduction::nop, a, b, 0), Fold::in_place);
  EXPECT_EQ(a.user_flag, 7);
  b.user_flag = 9;
  ASSERT_EQ(fold(CkReduction::nop, a, b, 0), Fold::in_place);
  EXPECT_EQ(a.user_flag, 9);
}

TEST_F(Reducers, RandomTakesEachWithTheSameChance) {
  std::map<std::string, int> taken;
  const int rounds = 30000;
  for (int round = 0; round < rounds; ++round) {
    std::vector<Bytes> parts = {{'a'}, {'b', 'b'}, {'c'}, {'d', 'd', 'd'}, {}};
    const Bytes one =
        round % 2 ? by_messages(CkReduction::random, parts, random)
                  : by_combining(CkReduction::random, parts, static_cast<std::uint64_t>(random()) << 32 | random());
    ++taken[std::string(one.begin(), one.end())];
  }
  EXPECT_EQ(taken.size(), 5u);
  for (const auto& [what, times] : taken) EXPECT_NEAR(times, rounds / 5, rounds / 50) << what;  // 9 sigma
}

TEST_F(Reducers, ConcatKeepsEveryByte) {
  std::vector<Bytes> parts;
  Bytes all;
  for (int i = 0; i < 40; ++i) {
    parts.push_back(Bytes(random() % 9, static_cast<char>(i)));
    all.insert(all.end(), parts.back().begin(), parts.back().end());
  }
  EXPECT_EQ(by_combining(CkReduction::concat, parts), all);
  Bytes shuffled = by_messages(CkReduction::concat, parts, random);
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, all);
  EXPECT_FALSE(is_streamable(CkReduction::concat));
}

std::multiset<std::string> elements_of(Bytes& set) {
  std::multiset<std::string> elements;
  for (auto* e = reinterpret_cast<CkReduction::setElement*>(set.data()); e; e = e->next())
    elements.insert(std::string(e->data, static_cast<std::size_t>(e->dataSize)));
  return elements;
}

TEST_F(Reducers, SetKeepsEveryContributionApart) {
  for (const int count : {1, 2, 50}) {
    std::vector<Bytes> parts;
    std::multiset<std::string> expected;
    for (int i = 0; i < count; ++i) {
      const std::string text(random() % 20, static_cast<char>('a' + i % 26));
      parts.push_back(Bytes(text.begin(), text.end()));
      expected.insert(text);
    }
    Bytes at_once = by_combining(CkReduction::set, parts);
    EXPECT_EQ(elements_of(at_once), expected);
    Bytes in_a_tree = by_messages(CkReduction::set, parts, random);
    EXPECT_EQ(elements_of(in_a_tree), expected);
  }
}

TEST_F(Reducers, StatisticsAreThoseOfAllValues) {
  std::vector<double> values;
  std::vector<Bytes> parts;
  for (int i = 0; i < 1000; ++i) {
    values.push_back(1000 + std::sin(i) * i);
    parts.push_back(bytes_of(std::vector<double>{}));
    const CkReduction::statisticsElement one(values.back());
    parts.back().assign(reinterpret_cast<const char*>(&one), reinterpret_cast<const char*>(&one + 1));
  }
  double mean = 0, m2 = 0;
  for (const double v : values) mean += v / static_cast<double>(values.size());
  for (const double v : values) m2 += (v - mean) * (v - mean);
  for (const Bytes& bytes :
       {by_folding(CkReduction::statistics, parts), by_messages(CkReduction::statistics, parts, random)}) {
    CkReduction::statisticsElement all;
    ASSERT_EQ(bytes.size(), sizeof(all));
    std::memcpy(static_cast<void*>(&all), bytes.data(), sizeof(all));
    EXPECT_EQ(all.count, 1000);
    EXPECT_NEAR(all.mean, mean, 1e-9 * mean);
    EXPECT_NEAR(all.variance(), m2 / 999, 1e-9 * m2);
    EXPECT_DOUBLE_EQ(all.stddev(), std::sqrt(all.variance()));
  }
}

// ---- custom ----

// Keeps the larger of the first bytes; in a new message, or in the first.
CkReductionMsg* largest_in_new(int count, CkReductionMsg** msgs) {
  char largest = msgs[0]->bytes[0];
  for (int i = 1; i < count; ++i) largest = std::max(largest, msgs[i]->bytes[0]);
  return message_of({largest}, CkReduction::invalid);
}
CkReductionMsg* largest_in_first(int count, CkReductionMsg** msgs) {
  for (int i = 1; i < count; ++i) msgs[0]->bytes[0] = std::max(msgs[0]->bytes[0], msgs[i]->bytes[0]);
  return msgs[0];
}

TEST_F(Reducers, OfTheProgramsOwn) {
  const Type in_new = CkReduction::addReducer(largest_in_new, true, "largest");
  const Type in_first = CkReduction::addReducer(largest_in_first);
  EXPECT_GT(in_new, CkReduction::external_py);
  EXPECT_EQ(in_first, in_new + 1);
  EXPECT_STREQ(reducer_name(in_new), "largest");
  EXPECT_TRUE(is_streamable(in_new));
  EXPECT_FALSE(is_streamable(in_first));
  EXPECT_EQ(custom_reducer(in_new), largest_in_new);
  EXPECT_EQ(custom_reducer(CkReduction::sum_int), nullptr);
  for (const Type type : {in_new, in_first}) {
    Contribution c;
    EXPECT_FALSE(folds_in_place(type, c)) << "it wants messages";
    EXPECT_EQ(by_messages(type, {{3}, {9}, {4}, {8}}, random), Bytes{9});
  }
}

// ---- tuple ----

Bytes tuple_of(const std::vector<std::pair<Type, Bytes>>& fields) {
  std::vector<CkReduction::tupleElement> elements;
  for (const auto& [type, bytes] : fields) elements.emplace_back(bytes.size(), const_cast<char*>(bytes.data()), type);
  Bytes out(tuple_bytes(elements.data(), static_cast<int>(elements.size())));
  write_tuple(elements.data(), static_cast<int>(elements.size()), out.data());
  return out;
}
std::vector<Bytes> fields_of(const Bytes& tuple) {
  CkReduction::tupleElement* elements;
  int count;
  read_tuple(tuple.data(), tuple.size(), &elements, &count);
  std::vector<Bytes> fields;
  for (int i = 0; i < count; ++i) fields.emplace_back(elements[i].data, elements[i].data + elements[i].dataSize);
  delete[] elements;
  return fields;
}

TEST_F(Reducers, TupleIsSeveralReductionsAtOnce) {
  const Type largest = CkReduction::addReducer(largest_in_new);
  std::vector<Bytes> simple, mixed;
  std::vector<int> sums(3);
  double top = -1;
  std::multiset<std::string> names;
  for (int i = 0; i < 30; ++i) {
    const std::vector<int> ints{i, 2 * i, static_cast<int>(random() % 100)};
    for (int k = 0; k < 3; ++k) sums[k] += ints[k];
    const double x = static_cast<double>(random() % 1000);
    top = std::max(top, x);
    const std::string name(random() % 5, static_cast<char>('a' + i % 26));
    names.insert(name);
    const std::pair<Type, Bytes> a{CkReduction::sum_int, bytes_of(ints)};
    const std::pair<Type, Bytes> b{CkReduction::max_double, bytes_of(std::vector<double>{x})};
    simple.push_back(tuple_of({a, b}));
    mixed.push_back(
        tuple_of({{CkReduction::set, Bytes(name.begin(), name.end())}, b, {largest, {static_cast<char>(i)}}, a}));
  }
  Contribution c = part_of(simple[0]);
  EXPECT_TRUE(folds_in_place(CkReduction::tuple, c));
  c = part_of(mixed[0]);
  EXPECT_FALSE(folds_in_place(CkReduction::tuple, c));

  for (const Bytes& result : {by_folding(CkReduction::tuple, simple), by_combining(CkReduction::tuple, simple),
                              by_messages(CkReduction::tuple, simple, random)}) {
    const auto fields = fields_of(result);
    ASSERT_EQ(fields.size(), 2u);
    EXPECT_EQ(values_of<int>(fields[0]), sums);
    EXPECT_EQ(values_of<double>(fields[1]), std::vector<double>{top});
  }
  for (const Bytes& result :
       {by_combining(CkReduction::tuple, mixed), by_messages(CkReduction::tuple, mixed, random)}) {
    auto fields = fields_of(result);
    ASSERT_EQ(fields.size(), 4u);
    EXPECT_EQ(elements_of(fields[0]), names);
    EXPECT_EQ(values_of<double>(fields[1]), std::vector<double>{top});
    EXPECT_EQ(fields[2], Bytes{29});
    EXPECT_EQ(values_of<int>(fields[3]), sums);
  }
}

TEST_F(Reducers, TuplesMayNest) {
  std::vector<Bytes> parts;
  for (int i = 1; i <= 4; ++i) {
    const Bytes inner = tuple_of({{CkReduction::sum_int, bytes_of(std::vector<int>{i})}});
    parts.push_back(tuple_of({{CkReduction::tuple, inner}, {CkReduction::product_int, bytes_of(std::vector<int>{i})}}));
  }
  for (const Bytes& result : {by_folding(CkReduction::tuple, parts), by_messages(CkReduction::tuple, parts, random)}) {
    const auto fields = fields_of(result);
    EXPECT_EQ(values_of<int>(fields_of(fields[0])[0])[0], 10);
    EXPECT_EQ(values_of<int>(fields[1])[0], 24);
  }
}

TEST_F(Reducers, ATupleElementMovesAndFreesWhatItOwns) {
  int x = 5;
  CkReduction::tupleElement elements[] = {CkReduction::tupleElement(sizeof(x), &x, CkReduction::sum_int)};
  CkReduction::tupleElement moved = std::move(elements[0]);
  EXPECT_EQ(moved.getData(), &x);
  EXPECT_EQ(elements[0].getData(), nullptr);
  EXPECT_FALSE(moved.owns_data);
}

// ---- mistakes ----

using ReducersDeathTest = Reducers;

TEST_F(ReducersDeathTest, AreToldWhatIsWrong) {
  Bytes four(4), eight(8), ten(10), ten2(10);
  Contribution a = part_of(four), b = part_of(eight);
  EXPECT_DEATH(static_cast<void>(fold(CkReduction::sum_int, a, b, 0)),
               "sum_int: one contribution.* 4 bytes, another 8");
  a = part_of(ten);
  b = part_of(ten2);
  EXPECT_DEATH(static_cast<void>(fold(CkReduction::max_double, a, b, 0)), "max_double.*10 bytes is not a whole number");
  EXPECT_DEATH(static_cast<void>(fold(CkReduction::invalid, a, b, 0)), "without a reducer.*addReducer");
  EXPECT_DEATH(static_cast<void>(fold(CkReduction::external_py, a, b, 0)), "charm4py.*not supported");
  EXPECT_DEATH(static_cast<void>(is_streamable(static_cast<Type>(9999))), "reducer 9999 doesn't exist");
  EXPECT_DEATH(agree(CkReduction::sum_int, CkReduction::max_int), "sum_int and CkReduction::max_int.*same order");
  EXPECT_DEATH(static_cast<void>(fold(CkReduction::tuple, a, b, 0)), "not a tuple.*buildFromTuple");
  std::vector<Bytes> different = {tuple_of({{CkReduction::nop, {}}}), tuple_of({})};
  EXPECT_DEATH(by_combining(CkReduction::tuple, different), "has 1 reductions, another 0");
}

TEST_F(ReducersDeathTest, DamagedTuplesAreRefusedNotRead) {
  const Bytes good = tuple_of({{CkReduction::sum_int, Bytes(400)}, {CkReduction::sum_double, Bytes(80)}});
  for (const std::size_t at : {std::size_t{0}, std::size_t{4}, std::size_t{8}, std::size_t{17}, std::size_t{25}}) {
    Bytes bad = good;
    bad[at] = static_cast<char>(bad[at] + 77);
    EXPECT_DEATH(fields_of(bad), "not a tuple") << at;
  }
  EXPECT_DEATH(fields_of(Bytes(good.begin(), good.begin() + 100)), "not a tuple");
}

}  // namespace
