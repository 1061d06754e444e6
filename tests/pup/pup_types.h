// The types that the tests of PUP send around: for each, samples with its extreme and its ordinary values.
#pragma once

#include <cfloat>
#include <climits>
#include <cmath>
#include <limits>

#include "pup_test_util.h"

namespace pup_test {

enum Plain { plain_a, plain_b = 70000 };
enum class Small : signed char { minus = -1, zero, one };

struct Member {
  int a = 0;
  double b = 0;
  std::string c;
  std::vector<Member> children;
  void pup(PUP::er& p) {
    PUPn(a);
    PUPn(b);
    PUPn(c);
    PUPn(children);
  }
  bool operator==(const Member& o) const { return a == o.a && b == o.b && c == o.c && children == o.children; }
};

struct Flat {
  int a;
  char b;
  double c;
  bool operator==(const Flat& o) const { return a == o.a && b == o.b && c == o.c; }
};

/// Pups through an operator| of its own.
struct Outside {
  int value = 0;
  bool operator==(const Outside& o) const { return value == o.value; }
};
inline void operator|(PUP::er& p, Outside& o) { p | o.value; }

/// No default constructor.
struct Reconstructed {
  int value;
  explicit Reconstructed(int v) : value(v) {}
  explicit Reconstructed(PUP::reconstruct) : value(-1) {}
  void pup(PUP::er& p) { p | value; }
  bool operator==(const Reconstructed& o) const { return value == o.value; }
  bool operator<(const Reconstructed& o) const { return value < o.value; }
};

/// A C array with its length, in the classic style.
struct Classic {
  std::size_t n = 0;
  double* values = nullptr;
  int fixed[3] = {1, 2, 3};
  Classic() {}
  explicit Classic(std::size_t count) : n(count), values(new double[count]) {
    for (std::size_t i = 0; i < n; ++i) values[i] = 1.0 / (1 + static_cast<double>(i));
  }
  Classic(const Classic& o) : Classic(o.n) {}
  Classic& operator=(const Classic&) = delete;
  ~Classic() { delete[] values; }
  void pup(PUP::er& p) {
    PUPn(n);
    if (p.isUnpacking()) {
      delete[] values;
      values = new double[n];
    }
    PUPv(values, n);
    PUParray(p, fixed, 3);
  }
  bool operator==(const Classic& o) const {
    return n == o.n && std::equal(values, values + n, o.values) && std::equal(fixed, fixed + 3, o.fixed);
  }
};

template <class T, class = void>
struct Samples;

template <class T>
struct Samples<T, typename std::enable_if<std::is_integral<T>::value>::type> {
  static std::vector<T> get() {
    return {T(0), T(1), T(100), std::numeric_limits<T>::max(), std::numeric_limits<T>::min()};
  }
};
template <>
struct Samples<bool> {
  static std::vector<bool> get() { return {true, false}; }
};
template <class T>
struct Samples<T, typename std::enable_if<std::is_floating_point<T>::value>::type> {
  static std::vector<T> get() {
    typedef std::numeric_limits<T> L;
    return {T(0), T(-0.1), T(1) / 3, L::max(), L::min(), L::denorm_min(), L::infinity(), -L::infinity()};
  }
};
#define PUP_TEST_SAMPLES(type, ...)                          \
  template <>                                                \
  struct Samples<type> {                                     \
    static std::vector<type> get() { return {__VA_ARGS__}; } \
  };
#define PUP_TEST_COMMA ,
PUP_TEST_SAMPLES(Plain, plain_a, plain_b)
PUP_TEST_SAMPLES(Small, Small::minus, Small::one)
PUP_TEST_SAMPLES(Flat, {1, 'b', 2.5}, {INT_MIN, '\n', -0.0})
PUP_TEST_SAMPLES(Member, {}, {1, 2, "three", {{4, 5, "six", {}}, {7, 8, "", {{}, {}}}}})
PUP_TEST_SAMPLES(Outside, {5}, {-5})
PUP_TEST_SAMPLES(Reconstructed, Reconstructed(7))
PUP_TEST_SAMPLES(Classic, Classic(0), Classic(100))
PUP_TEST_SAMPLES(std::string, "", "text", std::string("\0\n\t '\"\\!\xff", 9), std::string(100000, 'q'))
PUP_TEST_SAMPLES(std::wstring, L"", L"w\x1234")
PUP_TEST_SAMPLES(std::u16string, u"", u"\xffff x")
PUP_TEST_SAMPLES(std::u32string, U"", U"\x10ffff x")
PUP_TEST_SAMPLES(std::vector<int>, {}, {1}, {1, 2, 3, INT_MIN})
PUP_TEST_SAMPLES(std::vector<bool>, {}, {true}, std::vector<bool>(17, true),
                 {true, false, true, true, false, false, true, true, false})
PUP_TEST_SAMPLES(std::vector<char>, {}, {'a', 0, -1})
PUP_TEST_SAMPLES(std::vector<Flat>, {}, {{1, 2, 3}, {4, 5, 6}})
PUP_TEST_SAMPLES(std::vector<std::string>, {}, {"", "a", "bc"})
PUP_TEST_SAMPLES(std::vector<std::vector<double>>, {}, {{}, {1, 2}, {}})
PUP_TEST_SAMPLES(std::vector<Reconstructed>, {}, {Reconstructed(1), Reconstructed(2)})
PUP_TEST_SAMPLES(std::vector<Outside>, {}, {{1}, {2}})
PUP_TEST_SAMPLES(std::vector<std::pair<int PUP_TEST_COMMA int>>, {}, {{1, 2}, {3, 4}})
PUP_TEST_SAMPLES(std::deque<std::string>, {}, {"a", "b"})
PUP_TEST_SAMPLES(std::list<int>, {}, {1, 2, 3})
PUP_TEST_SAMPLES(std::list<Member>, {}, {{1, 2, "x", {}}})
PUP_TEST_SAMPLES(std::forward_list<int>, {}, {1, 2, 3})
PUP_TEST_SAMPLES(std::map<int PUP_TEST_COMMA std::string>, {}, {{1, "one"}, {-2, ""}})
PUP_TEST_SAMPLES(std::map<std::string PUP_TEST_COMMA Reconstructed>, {}, {{"a", Reconstructed(1)}})
PUP_TEST_SAMPLES(std::map<std::string PUP_TEST_COMMA std::map<int PUP_TEST_COMMA std::vector<Member>>>, {},
                 {{"a", {{1, {{}}}}}})
typedef std::map<int, double, std::greater<int>> Backwards;
PUP_TEST_SAMPLES(Backwards, {}, {{1, 2}, {3, 4}})
PUP_TEST_SAMPLES(std::multimap<int PUP_TEST_COMMA int>, {}, {{1, 1}, {1, 2}, {0, 3}, {1, 0}})
PUP_TEST_SAMPLES(std::unordered_map<std::string PUP_TEST_COMMA int>, {}, {{"a", 1}, {"b", 2}})
PUP_TEST_SAMPLES(std::unordered_multimap<int PUP_TEST_COMMA int>, {}, {{1, 1}, {1, 2}, {2, 1}})
PUP_TEST_SAMPLES(std::set<std::string>, {}, {"a", "b"})
PUP_TEST_SAMPLES(std::set<Reconstructed>, {Reconstructed(3)})
PUP_TEST_SAMPLES(std::multiset<int>, {}, {1, 1, 2})
PUP_TEST_SAMPLES(std::unordered_set<int>, {}, {1, 2, 3})
PUP_TEST_SAMPLES(std::unordered_multiset<int>, {}, {1, 1, 3})
PUP_TEST_SAMPLES(std::pair<char PUP_TEST_COMMA double>, {'a', 1.5})
PUP_TEST_SAMPLES(std::pair<int PUP_TEST_COMMA std::string>, {1, "one"})
PUP_TEST_SAMPLES(std::tuple<>, {})
PUP_TEST_SAMPLES(std::tuple<int PUP_TEST_COMMA std::string PUP_TEST_COMMA double>, {1, "two", 3.0})
PUP_TEST_SAMPLES(std::array<double PUP_TEST_COMMA 3>, {1, 2, 3})
PUP_TEST_SAMPLES(std::array<std::string PUP_TEST_COMMA 2>, {"a", "b"})
PUP_TEST_SAMPLES(std::array<int PUP_TEST_COMMA 0>, {})
PUP_TEST_SAMPLES(std::array<std::array<short PUP_TEST_COMMA 2> PUP_TEST_COMMA 2>, {{{1, 2}, {3, 4}}})
PUP_TEST_SAMPLES(std::complex<double>, {1, -2})
#if __cplusplus >= 201703L
PUP_TEST_SAMPLES(std::byte, std::byte{0}, std::byte{255})
PUP_TEST_SAMPLES(std::optional<std::string>, {}, {"there"})
PUP_TEST_SAMPLES(std::optional<Reconstructed>, {}, {Reconstructed(1)})
typedef std::variant<std::monostate, int, std::string> Choice;
PUP_TEST_SAMPLES(Choice, {}, {1}, {"two"})
#endif
PUP_TEST_SAMPLES(std::bitset<77>, std::bitset<77>(), std::bitset<77>(0x123456789abcdef0).flip())
PUP_TEST_SAMPLES(std::chrono::nanoseconds, std::chrono::nanoseconds(-5))
PUP_TEST_SAMPLES(std::chrono::system_clock::time_point, std::chrono::system_clock::time_point(std::chrono::hours(9)))
#define PUP_TEST_ENGINE(type) PUP_TEST_SAMPLES(type, type(), type(12345))
PUP_TEST_ENGINE(std::minstd_rand)
PUP_TEST_ENGINE(std::mt19937)
PUP_TEST_ENGINE(std::mt19937_64)
PUP_TEST_ENGINE(std::ranlux24_base)
PUP_TEST_ENGINE(std::ranlux48)
PUP_TEST_ENGINE(std::knuth_b)
typedef std::independent_bits_engine<std::mt19937, 7, unsigned> Bits;
PUP_TEST_ENGINE(Bits)

}  // namespace pup_test

PUPbytes(pup_test::Flat)
