// PUP for the engines of <random>: their state as text, as the standard defines it. What comes back is checked, because
// the library's own operator>> takes any index into its tables.
#pragma once

#include <cstdlib>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/pup/operators.h"

namespace PUP {
namespace detail {

/// The numbers of a text, between blanks; false if there is anything else.
inline bool read_numbers(const std::string& text, std::vector<unsigned long long>& numbers) {
  for (const char* at = text.c_str(); *at;) {
    if (*at == ' ') {
      ++at;
    } else if (*at >= '0' && *at <= '9') {
      char* end;
      numbers.push_back(std::strtoull(at, &end, 10));
      at = end;
    } else {
      return false;
    }
  }
  return true;
}

template <class Engine>
std::string engine_text(const Engine& engine) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out << engine;
  return out.str();
}

/// How many numbers make the state of an engine here.
template <class Engine>
std::size_t engine_numbers() {
  static const std::size_t count = [] {
    std::vector<unsigned long long> numbers;
    read_numbers(engine_text(Engine()), numbers);
    return numbers.size();
  }();
  return count;
}

/// Whether the numbers from `first` on are a state of the engine: the ones that index its tables are in range.
template <class Engine>
struct engine_state {
  static bool valid(const unsigned long long*) { return true; }
};
template <class U, std::size_t w, std::size_t s, std::size_t r>
struct engine_state<std::subtract_with_carry_engine<U, w, s, r>> {
  static bool valid(const unsigned long long* first) {
    const std::size_t count = engine_numbers<std::subtract_with_carry_engine<U, w, s, r>>();
    return count < r + 2 || first[r + 1] < r;  // words, carry, and in libstdc++ the position
  }
};
template <class Base, std::size_t p, std::size_t r>
struct engine_state<std::discard_block_engine<Base, p, r>> : engine_state<Base> {};
template <class Base, std::size_t w, class U>
struct engine_state<std::independent_bits_engine<Base, w, U>> : engine_state<Base> {};
template <class Base, std::size_t k>
struct engine_state<std::shuffle_order_engine<Base, k>> {
  static bool valid(const unsigned long long* first) {
    const unsigned long long* own = first + engine_numbers<Base>();
    for (std::size_t i = 0; i <= k; ++i) {  // the table, and the number that picks the next place in it
      if (own[i] < Base::min() || own[i] > Base::max()) return false;
    }
    return engine_state<Base>::valid(first);
  }
};

template <class Engine>
void pup_engine(er& p, Engine& engine) {
  scope here(p, signature<Engine>);
  std::string text;
  if (!p.isUnpacking()) text = engine_text(engine);
  std::size_t length = text.size();
  p | length;
  if (p.isUnpacking()) {
    if (length > p.remaining() || length > 24 * engine_numbers<Engine>()) raise_length(p, length, 1);
    text.resize(length);
  }
  p(const_cast<char*>(text.data()), length);
  if (!p.isUnpacking()) return;
  std::vector<unsigned long long> numbers;
  if (!read_numbers(text, numbers) || numbers.size() != engine_numbers<Engine>() ||
      !engine_state<Engine>::valid(numbers.data())) {
    raise(error::kind::bad_value, &p, "PUP: this is not the state of a random engine");
  }
  std::istringstream in(text);
  in.imbue(std::locale::classic());
  in >> engine;
}

}  // namespace detail

template <class U, std::size_t w, std::size_t n, std::size_t m, std::size_t r, U a, std::size_t u, U d, std::size_t s,
          U b, std::size_t t, U c, std::size_t l, U f>
inline void operator|(er& p, std::mersenne_twister_engine<U, w, n, m, r, a, u, d, s, b, t, c, l, f>& engine) {
  detail::pup_engine(p, engine);
}
template <class U, U a, U c, U m>
inline void operator|(er& p, std::linear_congruential_engine<U, a, c, m>& engine) {
  detail::pup_engine(p, engine);
}
template <class U, std::size_t w, std::size_t s, std::size_t r>
inline void operator|(er& p, std::subtract_with_carry_engine<U, w, s, r>& engine) {
  detail::pup_engine(p, engine);
}
template <class Base, std::size_t q, std::size_t r>
inline void operator|(er& p, std::discard_block_engine<Base, q, r>& engine) {
  detail::pup_engine(p, engine);
}
template <class Base, std::size_t w, class U>
inline void operator|(er& p, std::independent_bits_engine<Base, w, U>& engine) {
  detail::pup_engine(p, engine);
}
template <class Base, std::size_t k>
inline void operator|(er& p, std::shuffle_order_engine<Base, k>& engine) {
  detail::pup_engine(p, engine);
}

}  // namespace PUP
