// SSEDouble and SSEFloat against plain numbers, lane by lane. The same source is compiled for AVX, too.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "SSE-Double.h"
#include "SSE-Float.h"

namespace {

int mistakes = 0;
void expect(bool right, const char* what, double number) {
  if (right) return;
  std::printf("%s is wrong: %g\n", what, number);
  ++mistakes;
}

template <class Number>
bool same_bits(Number a, Number b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

template <class Wide, class Number>
void check(const Wide& a, const Wide& b, const std::vector<Number>& in_a, const std::vector<Number>& in_b) {
  constexpr std::size_t lanes = sizeof(Wide) / sizeof(Number);
  const auto is = [&](const Wide& value, const char* what, auto&& wanted) {
    Number lane[lanes];
    storeu(lane, value);
    for (std::size_t i = 0; i < lanes; ++i) expect(same_bits<Number>(lane[i], wanted(in_a[i], in_b[i])), what, lane[i]);
  };
  is(a + b, "a + b", [](Number x, Number y) { return x + y; });
  is(a - b, "a - b", [](Number x, Number y) { return x - y; });
  is(a * b, "a * b", [](Number x, Number y) { return x * y; });
  is(a / b, "a / b", [](Number x, Number y) { return x / y; });
  is(-a, "-a", [](Number x, Number) { return Number(0) - x; });
  is(Number(2) + a, "2 + a", [](Number x, Number) { return 2 + x; });
  is(Number(2) - a, "2 - a", [](Number x, Number) { return 2 - x; });
  is(Number(2) * a, "2 * a", [](Number x, Number) { return 2 * x; });
  is(Number(2) / b, "2 / b", [](Number, Number y) { return 2 / y; });
  Wide c = a;
  c += b;
  c *= b;
  c -= a;
  c /= b;
  is(c, "+= *= -= /=", [](Number x, Number y) { return ((x + y) * y - x) / y; });
  is(sqrt(b * b), "sqrt", [](Number, Number y) { return std::sqrt(y * y); });
  is(max(a, b), "max", [](Number x, Number y) { return x > y ? x : y; });
  // Where a comparison holds, all bits are set: what is chosen by it.
  is((a < b) & a, "(a < b) & a", [](Number x, Number y) { return x < y ? x : Number(0); });
  is(((a > b) & a) | andnot(a > b, b), "a choice", [](Number x, Number y) { return x > y ? x : y; });
  is((a ^ b) ^ b, "a ^ b ^ b", [](Number x, Number) { return x; });
  int less = 0, positive = 0, equal = 0;
  for (std::size_t i = 0; i < lanes; ++i) {
    less |= (in_a[i] < in_b[i]) << i;
    positive |= (in_a[i] > Number(0)) << i;
    equal |= (in_a[i] == in_b[i]) << i;
  }
  expect(movemask(a < b) == less, "movemask(a < b)", less);
  expect(movemask(a > Number(0)) == positive, "movemask(a > 0)", positive);
  expect(movemask(a == b) == equal, "movemask(a == b)", equal);
}

}  // namespace

int main() {
#if CMK_USE_AVX
  if (!__builtin_cpu_supports("avx")) return 77;
  check<SSEDouble, double>({1.5, -2, 0, 1e300}, {0.25, -7, 3, 1e300}, {1.5, -2, 0, 1e300}, {0.25, -7, 3, 1e300});
#else
  const SSEDouble pair(1.5, -2);
  double first = 0, second = 0;
  storel(&first, pair);
  storeh(&second, pair);
  expect(first == 1.5 && second == -2, "storel and storeh", first);
  check<SSEDouble, double>(pair, {0.25, -7}, {1.5, -2}, {0.25, -7});
  check<SSEDouble, double>({0, 1e300}, {3, 1e300}, {0, 1e300}, {3, 1e300});
#endif
  check<SSEFloat, float>({1.5f, -2, 0, 1e30f}, {0.25f, -7, 3, 1e30f}, {1.5f, -2, 0, 1e30f}, {0.25f, -7, 3, 1e30f});
  return mistakes != 0;
}
