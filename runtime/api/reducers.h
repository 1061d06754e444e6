// How contributions to a reduction become one: CkReduction as programs know it, and the functions behind it.
//
//   CkReduction        the names of the built-in reducers, addReducer(), and the layouts of set, statistics and tuple
//   fold(), combine()  two contributions, or many, become one: pure functions on bytes
//
// A reduction goes through three steps. agree() says which reducer two contributions mean (nop agrees with any).
// folds_in_place() says whether the contributions can be taken one at a time: then fold() works each into the first.
// Otherwise all are kept and combine() makes the result, at the element's own PE and again wherever several meet.
// combine_messages() is the three together for messages.
// C++17: programs include this header.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

// The message that carries a contribution, and the result to the program. Defined as a message by reduction_message.h;
// here it is only handed to and from reducers of the program's own, through the four functions at the end of this file.
class CkReductionMsg;

class CkReduction {
 public:
  // The values are Charm++'s. Those above external_py come from addReducer().
  // clang-format off
  enum reducerType : int {
    invalid = 0,
    nop,  // no data: only that all contributors came here
    sum_char, sum_short, sum_int, sum_long, sum_long_long,
    sum_uchar, sum_ushort, sum_uint, sum_ulong, sum_ulong_long, sum_float, sum_double,
    product_char, product_short, product_int, product_long, product_long_long,
    product_uchar, product_ushort, product_uint, product_ulong, product_ulong_long, product_float, product_double,
    max_char, max_short, max_int, max_long, max_long_long,
    max_uchar, max_ushort, max_uint, max_ulong, max_ulong_long, max_float, max_double,
    min_char, min_short, min_int, min_long, min_long_long,
    min_uchar, min_ushort, min_uint, min_ulong, min_ulong_long, min_float, min_double,
    // Of whole numbers, where not 0 is true. The names without a type are those with _int.
    logical_and, logical_and_int, logical_and_bool,
    logical_or, logical_or_int, logical_or_bool,
    logical_xor_int, logical_xor_bool,
    bitvec_and, bitvec_and_int, bitvec_and_bool,
    bitvec_or, bitvec_or_int, bitvec_or_bool,
    bitvec_xor, bitvec_xor_int, bitvec_xor_bool,
    random,      // one of the contributions, each with the same chance
    concat,      // the bytes of all, in no particular order
    set,         // a list of setElement, one for each contribution, in no particular order
    statistics,  // of statisticsElement: count, mean, variance
    tuple,       // several reductions at once: CkReductionMsg::buildFromTuple
    external_py  // of charm4py; not supported
  };
  // clang-format on

  // One contribution in the result of `set`. The first lies at the start of the data.
  class setElement {
   public:
    int dataSize;  // bytes
    char data[1];  // that many
    // The next one, or null after the last.
    setElement* next();
  };

  // One quantity of a `statistics` reduction: contribute statisticsElement(x), or an array of them.
  struct statisticsElement {
    int count = 0;
    double mean = 0;
    double m2 = 0;  // sum of the squared differences from the mean
    statisticsElement() = default;
    statisticsElement(double value) : count(1), mean(value) {}
    double variance() const { return count > 1 ? m2 / (count - 1.0) : 0.0; }
    double stddev() const { return std::sqrt(variance()); }
  };

  // One reduction of a `tuple`. Made from a pointer it only points to the data; from a message it owns a copy.
  struct tupleElement {
    std::size_t dataSize = 0;
    char* data = nullptr;
    reducerType reducer = invalid;
    bool owns_data = false;

    tupleElement() = default;
    tupleElement(std::size_t bytes, void* data, reducerType reducer)
        : dataSize(bytes), data(static_cast<char*>(data)), reducer(reducer) {}
    tupleElement(tupleElement&& other) noexcept { *this = static_cast<tupleElement&&>(other); }
    tupleElement& operator=(tupleElement&& other) noexcept;
    ~tupleElement();
    void* getData() { return data; }

    template <class Archive>
    void pup(Archive& p) {
      p(reinterpret_cast<char*>(&dataSize), sizeof(dataSize));
      p(reinterpret_cast<char*>(&reducer), sizeof(reducer));
      if (p.isUnpacking()) {
        data = new char[dataSize];
        owns_data = true;
      }
      p(data, dataSize);
    }
  };

  // A reducer of the program's own: makes one message of count (> 0). It may return msgs[0], changed, or a new message;
  // it deletes none.
  typedef CkReductionMsg* (*reducerFn)(int count, CkReductionMsg** msgs);

  // `streamable`: the reducer may be called with the contributions that came so far, and again with the rest. Called at
  // start-up (initnode), in the same order in every process.
  static reducerType addReducer(reducerFn fn, bool streamable = false, const char* name = nullptr);

 private:
  CkReduction() = delete;
};

namespace periapt {
namespace chare {

// One contribution, or several that have become one.
struct Contribution {
  void* data = nullptr;
  std::size_t size = 0;       // bytes
  std::uint32_t sources = 1;  // how many elements' contributions are in it
  bool reduced = false;       // false: as the element gave it. combine() wraps it for `set`
  int user_flag = -1;         // -1: none
};

// The name for messages: "CkReduction::sum_int", or what addReducer() was given. Any value.
const char* reducer_name(CkReduction::reducerType type);
// Null for built-in ones.
CkReduction::reducerFn custom_reducer(CkReduction::reducerType type);
// As addReducer() was told, or as the built-in one is: whether fold() or a call with a part of the messages is right.
bool is_streamable(CkReduction::reducerType type);

// The reducer of a reduction that got contributions with both. Fatal when they contradict each other.
CkReduction::reducerType agree(CkReduction::reducerType a, CkReduction::reducerType b);

// Whether fold() does for this contribution: all streamable built-in ones, and a tuple of such.
bool folds_in_place(CkReduction::reducerType type, const Contribution& contribution);

enum class Fold {
  in_place,  // `into` is the result, in its own bytes
  replace    // the result are `from`'s bytes: keep those instead (of `random` only)
};
// Works `from` into `into`, whose data is written over, and counts its sources and user flag. `random_bits` are used by
// `random` alone. Fatal, with both sizes, when the two are not of the same length (but for random and nop).
[[nodiscard]] Fold fold(CkReduction::reducerType type, Contribution& into, const Contribution& from,
                        std::uint64_t random_bits);

// Makes one of `count` (> 0) contributions of any reducer but the program's own. allocate(context, bytes) is called
// once with the exact size and gives the place for the result, aligned to 8. Contributions of streamable reducers may
// be written over. A single contribution is right too, and needed where it's not yet `reduced`: set.
using Allocate = void* (*)(void* context, std::size_t bytes);
Contribution combine(CkReduction::reducerType type, Contribution* contributions, int count, std::uint64_t random_bits,
                     Allocate allocate, void* context);

// The same for messages and for every reducer: returns the result, one of the messages or a new one, and deletes the
// others.
CkReductionMsg* combine_messages(CkReduction::reducerType type, int count, CkReductionMsg** messages,
                                 std::uint64_t random_bits);

// Tuples in bytes: what CkReductionMsg::buildFromTuple and toTuple do.
std::size_t tuple_bytes(const CkReduction::tupleElement* elements, int count);
void write_tuple(const CkReduction::tupleElement* elements, int count, void* out);
// A new[] array of elements that own copies of their data; the caller delete[]s it. Fatal when the bytes are no tuple.
void read_tuple(const void* data, std::size_t size, CkReduction::tupleElement** elements, int* count);

// What reduction_message.h defines beside CkReductionMsg
// ------------------------------------------------
CkReductionMsg* new_reduction_message(std::size_t bytes, CkReduction::reducerType type);
void delete_reduction_message(CkReductionMsg* message);
// data and size point into the message; sources, reduced and user_flag are what it carries.
Contribution contribution_of(CkReductionMsg* message);
// Stores type, sources, reduced and user_flag; data and size are left alone.
void set_contribution(CkReductionMsg* message, CkReduction::reducerType type, const Contribution& contribution);

}  // namespace chare
}  // namespace periapt
