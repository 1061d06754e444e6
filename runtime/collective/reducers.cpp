// Reducers. A table says of each built-in one how it folds two arrays; set, concat and tuple have functions of their
// own.
#include "runtime/api/reducers.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/fatal.h"
#include "base/platform.h"

using Type = CkReduction::reducerType;

namespace periapt {
namespace chare {
namespace {

constexpr std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

// ---- Folding arrays -------------------------------------------------------------------------------------------------

// Whole numbers wrap around, as they do on every machine; done unsigned, it is defined.
struct Sum {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
    } else {
      return a + b;
    }
  }
};
struct Product {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      // 1u: two unsigned shorts would be multiplied as ints, and overflow
      using U = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<U>(1u * static_cast<U>(a) * static_cast<U>(b)));
    } else {
      return a * b;
    }
  }
};
struct Max {
  template <class T>
  static T of(T a, T b) {
    return a < b ? b : a;
  }
};
struct Min {
  template <class T>
  static T of(T a, T b) {
    return b < a ? b : a;
  }
};
struct LogicalAnd {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>((a != 0) & (b != 0));
  }
};
struct LogicalOr {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>((a != 0) | (b != 0));
  }
};
struct LogicalXor {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>((a != 0) ^ (b != 0));
  }
};
struct BitAnd {
  static int of(int a, int b) { return a & b; }
};
struct BitOr {
  static int of(int a, int b) { return a | b; }
};
struct BitXor {
  static int of(int a, int b) { return a ^ b; }
};
// Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979.
struct Statistics {
  using Element = CkReduction::statisticsElement;
  static Element of(const Element& a, const Element& b) {
    if (b.count == 0) return a;
    if (a.count == 0) return b;
    const double na = a.count, nb = b.count, delta = b.mean - a.mean;
    Element both;
    both.count = a.count + b.count;
    both.mean = a.mean + delta * nb / (na + nb);
    both.m2 = a.m2 + b.m2 + delta * delta * na * nb / (na + nb);
    return both;
  }
};

// What a processor fetches ahead by itself ends with the page: the first lines of the next one are asked for while this
// one is worked on. Memory that is in no cache is folded a fifth faster so.
constexpr std::size_t fetched_ahead = 4096;
inline void fetch_ahead(const void* bytes) {
  for (int line = 0; line < 4; ++line) platform::prefetch(static_cast<const char*>(bytes) + 64 * line);
}

using FoldArrays = void (*)(void* into, const void* from, std::size_t count);

template <class Operation, class T>
void fold_arrays(void* into_bytes, const void* from_bytes, std::size_t count) {
  const auto address = reinterpret_cast<std::uintptr_t>(into_bytes) | reinterpret_cast<std::uintptr_t>(from_bytes);
  if (address % alignof(T) == 0) {
    T* __restrict into = static_cast<T*>(into_bytes);
    const T* __restrict from = static_cast<const T*>(from_bytes);
    constexpr std::size_t piece = fetched_ahead / sizeof(T);
    while (count > piece) {
      fetch_ahead(from + piece);
      for (std::size_t i = 0; i < piece; ++i) into[i] = Operation::of(into[i], from[i]);
      into += piece;
      from += piece;
      count -= piece;
    }
    for (std::size_t i = 0; i < count; ++i) into[i] = Operation::of(into[i], from[i]);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {  // data that lies anywhere, as a program may have packed it
    T a, b;
    std::memcpy(&a, static_cast<char*>(into_bytes) + i * sizeof(T), sizeof(T));
    std::memcpy(&b, static_cast<const char*>(from_bytes) + i * sizeof(T), sizeof(T));
    a = Operation::of(a, b);
    std::memcpy(static_cast<char*>(into_bytes) + i * sizeof(T), &a, sizeof(T));
  }
}

// ---- The table ------------------------------------------------------------------------------------------------------

struct Reducer {
  std::string name;
  bool streamable = false;
  FoldArrays fold = nullptr;   // null: not an array of items of one size
  std::size_t item_bytes = 1;  // of an array
  CkReduction::reducerFn custom = nullptr;
};

class Table {
 public:
  Table() : reducers_(CkReduction::external_py + 1) {
    name_without_array(CkReduction::invalid, "invalid", false);
    name_without_array(CkReduction::nop, "nop", true);
    add_for_numbers<Sum>(CkReduction::sum_char, "sum");
    add_for_numbers<Product>(CkReduction::product_char, "product");
    add_for_numbers<Max>(CkReduction::max_char, "max");
    add_for_numbers<Min>(CkReduction::min_char, "min");
    add_with_old_name<LogicalAnd, LogicalAnd>(CkReduction::logical_and, "logical_and");
    add_with_old_name<LogicalOr, LogicalOr>(CkReduction::logical_or, "logical_or");
    // bool is a byte that is 0 or 1, and any other value counts as 1: bits and logic are the same then
    add<LogicalXor, int>(CkReduction::logical_xor_int, "logical_xor_int");
    add<LogicalXor, unsigned char>(CkReduction::logical_xor_bool, "logical_xor_bool");
    add_with_old_name<BitAnd, LogicalAnd>(CkReduction::bitvec_and, "bitvec_and");
    add_with_old_name<BitOr, LogicalOr>(CkReduction::bitvec_or, "bitvec_or");
    add_with_old_name<BitXor, LogicalXor>(CkReduction::bitvec_xor, "bitvec_xor");
    name_without_array(CkReduction::random, "random", true);
    name_without_array(CkReduction::concat, "concat", false);
    name_without_array(CkReduction::set, "set", false);
    add<Statistics, CkReduction::statisticsElement>(CkReduction::statistics, "statistics");
    name_without_array(CkReduction::tuple, "tuple", false);
    name_without_array(CkReduction::external_py, "external_py", false);
  }

  int add_custom(CkReduction::reducerFn fn, bool streamable, const char* name) {
    const int type = static_cast<int>(reducers_.size());
    Reducer reducer;
    reducer.name = name ? name : "reducer " + std::to_string(type) + " of the program";
    reducer.streamable = streamable;
    reducer.custom = fn;
    reducers_.push_back(std::move(reducer));
    return type;
  }

  bool has(Type type) const { return type >= 0 && static_cast<std::size_t>(type) < reducers_.size(); }
  const Reducer& operator[](Type type) const {
    if (!has(type))
      fatal("reducer " + std::to_string(static_cast<int>(type)) + " doesn't exist", {}, {},
            "Reducers of one's own are numbered by CkReduction::addReducer(), which every process must call in the "
            "same order at start-up (initnode)");
    return reducers_[static_cast<std::size_t>(type)];
  }

 private:
  template <class Operation, class T>
  void add(int type, const std::string& name) {
    name_without_array(type, name, true);
    Reducer& reducer = reducers_[static_cast<std::size_t>(type)];
    reducer.fold = fold_arrays<Operation, T>;
    reducer.item_bytes = sizeof(T);
  }
  void name_without_array(int type, const std::string& name, bool streamable) {
    Reducer& reducer = reducers_[static_cast<std::size_t>(type)];
    reducer.name = "CkReduction::" + name;
    reducer.streamable = streamable;
  }
  template <class Operation>
  void add_for_numbers(int first, const std::string& name) {
    int type = first;
    add<Operation, char>(type++, name + "_char");
    add<Operation, short>(type++, name + "_short");
    add<Operation, int>(type++, name + "_int");
    add<Operation, long>(type++, name + "_long");
    add<Operation, long long>(type++, name + "_long_long");
    add<Operation, unsigned char>(type++, name + "_uchar");
    add<Operation, unsigned short>(type++, name + "_ushort");
    add<Operation, unsigned>(type++, name + "_uint");
    add<Operation, unsigned long>(type++, name + "_ulong");
    add<Operation, unsigned long long>(type++, name + "_ulong_long");
    add<Operation, float>(type++, name + "_float");
    add<Operation, double>(type++, name + "_double");
  }
  template <class OfInts, class OfBools>
  void add_with_old_name(int first, const std::string& name) {
    add<OfInts, int>(first, name);
    add<OfInts, int>(first + 1, name + "_int");
    add<OfBools, unsigned char>(first + 2, name + "_bool");
  }

  std::deque<Reducer> reducers_;  // names stay where they are
};
static_assert(CkReduction::product_char - CkReduction::sum_char == 12, "twelve kinds of numbers");
static_assert(CkReduction::external_py == 72, "73 reducers, numbered as in Charm++");

// For the whole process: changed at start-up only, and read by all PEs after it.
Table& table() {
  static Table the_table;
  return the_table;
}

[[noreturn]] void sizes_differ(const Reducer& reducer, std::size_t a, std::size_t b) {
  fatal(reducer.name + ": one contribution to a reduction is " + std::to_string(a) + " bytes, another " +
            std::to_string(b),
        {}, {},
        "All elements must contribute the same number of items (use CkReduction::concat or set "
        "for data of different length)");
}

void count_sources(Contribution& into, const Contribution& from) {
  into.sources += from.sources;
  into.reduced = true;
  if (from.user_flag != -1) into.user_flag = from.user_flag;
}

// ---- set ------------------------------------------------------------------------------------------------------------
// The result is setElements, each rounded up to 8 bytes, then an int of -1.

constexpr std::size_t set_element_bytes(std::size_t data) { return round_up(sizeof(int) + data, sizeof(double)); }

Contribution combine_set(Contribution* parts, int count, Allocate allocate, void* context) {
  std::size_t bytes = sizeof(int);
  for (int i = 0; i < count; ++i)
    bytes += parts[i].reduced ? parts[i].size - sizeof(int) : set_element_bytes(parts[i].size);
  Contribution result;
  result.sources = 0;
  result.data = allocate(context, bytes);
  result.size = bytes;
  char* out = static_cast<char*>(result.data);
  for (int i = 0; i < count; ++i) {
    const Contribution& part = parts[i];
    if (part.reduced) {
      std::memcpy(out, part.data, part.size - sizeof(int));
      out += part.size - sizeof(int);
    } else {
      const int size = static_cast<int>(part.size);
      std::memcpy(out, &size, sizeof(size));
      if (part.size) std::memcpy(out + sizeof(size), part.data, part.size);
      const std::size_t used = sizeof(size) + part.size;
      std::memset(out + used, 0, set_element_bytes(part.size) - used);
      out += set_element_bytes(part.size);
    }
    count_sources(result, part);
  }
  const int end = -1;
  std::memcpy(out, &end, sizeof(end));
  return result;
}

Contribution combine_concat(Contribution* parts, int count, Allocate allocate, void* context) {
  Contribution result;
  result.sources = 0;
  for (int i = 0; i < count; ++i) result.size += parts[i].size;
  result.data = allocate(context, result.size);
  char* out = static_cast<char*>(result.data);
  for (int i = 0; i < count; ++i) {
    if (parts[i].size) std::memcpy(out, parts[i].data, parts[i].size);
    out += parts[i].size;
    count_sources(result, parts[i]);
  }
  return result;
}

// ---- tuple ----------------------------------------------------------------------------------------------------------
// Header, one TupleField for each reduction, then their data, each aligned to 16 from the start.

struct TupleHeader {
  std::uint32_t magic, count;
  std::uint64_t bytes;  // of the whole
};
struct TupleField {
  std::uint64_t offset, size;
  std::int32_t reducer;
  std::uint32_t reduced;
};
static_assert(sizeof(TupleHeader) == 16 && sizeof(TupleField) == 24, "tuples look the same in every process");
constexpr std::uint32_t tuple_magic = 0x74757065;
constexpr std::size_t tuple_alignment = 16;

std::size_t tuple_data_offset(std::size_t count) {
  return round_up(sizeof(TupleHeader) + count * sizeof(TupleField), tuple_alignment);
}

// The fields of a tuple as contributions that point into it. Everything is checked: it came in a message.
struct TupleView {
  std::vector<Contribution> fields;
  std::vector<Type> reducers;

  TupleView(void* data, std::size_t size) {
    TupleHeader header;
    if (size < sizeof(header)) refuse();
    std::memcpy(&header, data, sizeof(header));
    if (header.magic != tuple_magic || header.bytes != size) refuse();
    if (header.count > (size - sizeof(header)) / sizeof(TupleField)) refuse();
    for (std::uint32_t i = 0; i < header.count; ++i) {
      TupleField field;
      std::memcpy(&field, static_cast<char*>(data) + sizeof(header) + i * sizeof(field), sizeof(field));
      if (field.offset > size || field.size > size - field.offset) refuse();
      Contribution contribution;
      contribution.data = static_cast<char*>(data) + field.offset;
      contribution.size = field.size;
      contribution.reduced = field.reduced != 0;
      fields.push_back(contribution);
      reducers.push_back(static_cast<Type>(field.reducer));
    }
  }
  [[noreturn]] static void refuse() {
    fatal("CkReduction::tuple: a contribution is not a tuple", {}, {},
          "Contribute CkReductionMsg::buildFromTuple(elements, count)");
  }
};

// Writes a tuple of such fields, into `bytes` bytes that tuple_total() counted.
std::size_t tuple_total(const std::vector<Contribution>& fields) {
  std::size_t bytes = tuple_data_offset(fields.size());
  for (const Contribution& field : fields) bytes = round_up(bytes, tuple_alignment) + field.size;
  return bytes;
}
void write_fields(const std::vector<Contribution>& fields, const std::vector<Type>& reducers, char* out) {
  const std::size_t bytes = tuple_total(fields);
  const TupleHeader header{tuple_magic, static_cast<std::uint32_t>(fields.size()), bytes};
  std::memcpy(out, &header, sizeof(header));
  std::size_t offset = tuple_data_offset(fields.size());
  std::size_t written = sizeof(header) + fields.size() * sizeof(TupleField);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    offset = round_up(offset, tuple_alignment);
    std::memset(out + written, 0, offset - written);  // no stray bytes go into messages
    const TupleField field{offset, fields[i].size, reducers[i], fields[i].reduced};
    std::memcpy(out + sizeof(header) + i * sizeof(field), &field, sizeof(field));
    if (field.size) std::memcpy(out + offset, fields[i].data, field.size);
    offset += field.size;
    written = offset;
  }
}

// The reductions of the two must be the same ones, in the same order.
void agree_on_tuples(std::vector<Type>& reducers, const std::vector<Type>& others) {
  if (reducers.size() != others.size())
    fatal("CkReduction::tuple: one contribution has " + std::to_string(reducers.size()) + " reductions, another " +
              std::to_string(others.size()),
          {}, {}, "All elements must contribute the same tuple");
  for (std::size_t i = 0; i < reducers.size(); ++i) reducers[i] = agree(reducers[i], others[i]);
}

// One column through a reducer of the program's own, which wants messages.
Contribution combine_custom(Type type, std::vector<Contribution>& parts, std::vector<char>& storage) {
  std::vector<CkReductionMsg*> messages;
  for (const Contribution& part : parts) {
    CkReductionMsg* message = new_reduction_message(part.size, type);
    if (part.size) std::memcpy(contribution_of(message).data, part.data, part.size);
    set_contribution(message, type, part);
    messages.push_back(message);
  }
  CkReductionMsg* result = combine_messages(type, static_cast<int>(messages.size()), messages.data(), 0);
  Contribution bytes = contribution_of(result);
  storage.assign(static_cast<char*>(bytes.data), static_cast<char*>(bytes.data) + bytes.size);
  delete_reduction_message(result);
  bytes.data = storage.data();
  bytes.reduced = true;
  return bytes;
}

Contribution combine_tuple(Contribution* parts, int count, std::uint64_t random_bits, Allocate allocate,
                           void* context) {
  std::vector<TupleView> tuples;
  for (int i = 0; i < count; ++i) tuples.emplace_back(parts[i].data, parts[i].size);
  std::vector<Type> reducers = tuples[0].reducers;
  for (const TupleView& tuple : tuples) agree_on_tuples(reducers, tuple.reducers);

  std::vector<Contribution> results;
  std::vector<std::vector<char>> storage(reducers.size());
  for (std::size_t field = 0; field < reducers.size(); ++field) {
    std::vector<Contribution> column;
    for (int i = 0; i < count; ++i) {
      if (tuples[i].reducers[field] == CkReduction::nop && reducers[field] != CkReduction::nop) continue;
      column.push_back(tuples[i].fields[field]);
      column.back().sources = parts[i].sources;
      column.back().user_flag = parts[i].user_flag;
    }
    const Allocate into_vector = [](void* vector, std::size_t bytes) -> void* {
      static_cast<std::vector<char>*>(vector)->resize(bytes);
      return static_cast<std::vector<char>*>(vector)->data();
    };
    results.push_back(table()[reducers[field]].custom
                          ? combine_custom(reducers[field], column, storage[field])
                          : combine(reducers[field], column.data(), static_cast<int>(column.size()), random_bits,
                                    into_vector, &storage[field]));
  }
  Contribution result;
  result.sources = 0;
  for (int i = 0; i < count; ++i) count_sources(result, parts[i]);
  result.size = tuple_total(results);
  result.data = allocate(context, result.size);
  write_fields(results, reducers, static_cast<char*>(result.data));
  return result;
}

void fold_tuple(Contribution& into, const Contribution& from) {
  TupleView a(into.data, into.size), b(from.data, from.size);
  std::vector<Type> reducers = a.reducers;
  agree_on_tuples(reducers, b.reducers);
  if (reducers != a.reducers || reducers != b.reducers)
    fatal("CkReduction::tuple: where one element contributes nop, all must.");
  for (std::size_t i = 0; i < reducers.size(); ++i) static_cast<void>(fold(reducers[i], a.fields[i], b.fields[i], 0));
}

}  // namespace

// ---- What the header promises ---------------------------------------------------------------------------------------

const char* reducer_name(Type type) { return table().has(type) ? table()[type].name.c_str() : "an unknown reducer"; }
CkReduction::reducerFn custom_reducer(Type type) { return table()[type].custom; }
bool is_streamable(Type type) { return table()[type].streamable; }

Type agree(Type a, Type b) {
  if (a == b || b == CkReduction::nop) return a;
  if (a == CkReduction::nop) return b;
  fatal("two elements contributed to the same reduction with different reducers, " + std::string(reducer_name(a)) +
            " and " + reducer_name(b),
        {}, "Every element must call contribute() in the same order");
}

bool folds_in_place(Type type, const Contribution& contribution) {
  const Reducer& reducer = table()[type];
  if (type != CkReduction::tuple) return reducer.streamable && !reducer.custom;
  const TupleView tuple(contribution.data, contribution.size);
  for (std::size_t i = 0; i < tuple.reducers.size(); ++i)
    if (tuple.reducers[i] == CkReduction::random || !folds_in_place(tuple.reducers[i], tuple.fields[i])) return false;
  return true;
}

Fold fold(Type type, Contribution& into, const Contribution& from, std::uint64_t random_bits) {
  const Reducer& reducer = table()[type];
  if (reducer.fold) {
    if (into.size != from.size) sizes_differ(reducer, into.size, from.size);
    if (into.size % reducer.item_bytes != 0)
      fatal(reducer.name + ": a contribution of " + std::to_string(into.size) +
                " bytes is not a whole number of items of " + std::to_string(reducer.item_bytes) + " bytes",
            {}, {}, "Check the size and the reducer given to contribute()");
    reducer.fold(into.data, from.data, into.size / reducer.item_bytes);
  } else if (type == CkReduction::random) {
    // each of the sources with the same chance: the scaled random number is below `from`'s share of them
    const std::uint64_t all = std::uint64_t{into.sources} + from.sources;
    const bool replace = (random_bits >> 32) * all >> 32 < from.sources;
    count_sources(into, from);
    return replace ? Fold::replace : Fold::in_place;
  } else if (type == CkReduction::tuple) {
    fold_tuple(into, from);
  } else if (type == CkReduction::invalid) {
    fatal("a reduction without a reducer (CkReduction::invalid)", {},
          "The number that CkReduction::addReducer() gave was probably not kept, or not in this process");
  } else if (type == CkReduction::external_py) {
    fatal("CkReduction::external_py is a reducer written in Python (charm4py), which is not supported", {}, {},
          "Register a C++ one with CkReduction::addReducer()");
  } else if (type != CkReduction::nop) {
    fatal(reducer.name + " can't be folded one contribution at a time");
  }
  count_sources(into, from);
  return Fold::in_place;
}

Contribution combine(Type type, Contribution* parts, int count, std::uint64_t random_bits, Allocate allocate,
                     void* context) {
  switch (type) {
    case CkReduction::set:
      return combine_set(parts, count, allocate, context);
    case CkReduction::concat:
      return combine_concat(parts, count, allocate, context);
    case CkReduction::tuple:
      return combine_tuple(parts, count, random_bits, allocate, context);
    default:
      break;
  }
  Contribution result = parts[0];
  for (int i = 1; i < count; ++i) {
    if (fold(type, result, parts[i], random_bits) == Fold::replace) {
      result.data = parts[i].data;
      result.size = parts[i].size;
    }
    // the next one is drawn anew (Knuth's linear congruential generator)
    random_bits = random_bits * 6364136223846793005ull + 1442695040888963407ull;
  }
  void* place = allocate(context, result.size);
  if (result.size) std::memcpy(place, result.data, result.size);
  result.data = place;
  result.reduced = true;
  return result;
}

CkReductionMsg* combine_messages(Type type, int count, CkReductionMsg** messages, std::uint64_t random_bits) {
  const Reducer& reducer = table()[type];
  std::vector<Contribution> parts;
  Contribution whole;
  whole.sources = 0;
  for (int i = 0; i < count; ++i) {
    parts.push_back(contribution_of(messages[i]));
    count_sources(whole, parts.back());
  }
  CkReductionMsg* result = messages[0];
  if (reducer.custom) {
    if (count > 1) result = reducer.custom(count, messages);
    if (!result)
      fatal(reducer.name + " returned no message", {}, {}, "A reducer returns its first message, or a new one");
  } else if (reducer.streamable) {
    for (int i = 1; i < count; ++i) {
      if (fold(type, parts[0], parts[i], random_bits) == Fold::replace) result = messages[i];
      random_bits = random_bits * 6364136223846793005ull + 1442695040888963407ull;
    }
  } else {
    struct Place {
      Type type;
      CkReductionMsg* message;
    } place{type, nullptr};
    combine(
        type, parts.data(), count, random_bits,
        [](void* context, std::size_t bytes) {
          Place& place = *static_cast<Place*>(context);
          place.message = new_reduction_message(bytes, place.type);
          return contribution_of(place.message).data;
        },
        &place);
    result = place.message;
  }
  for (int i = 0; i < count; ++i)
    if (messages[i] != result) delete_reduction_message(messages[i]);
  set_contribution(result, type, whole);
  return result;
}

std::size_t tuple_bytes(const CkReduction::tupleElement* elements, int count) {
  std::size_t bytes = tuple_data_offset(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) bytes = round_up(bytes, tuple_alignment) + elements[i].dataSize;
  return bytes;
}

void write_tuple(const CkReduction::tupleElement* elements, int count, void* out) {
  std::vector<Contribution> fields(static_cast<std::size_t>(count));
  std::vector<Type> reducers;
  for (int i = 0; i < count; ++i) {
    fields[static_cast<std::size_t>(i)].data = elements[i].data;
    fields[static_cast<std::size_t>(i)].size = elements[i].dataSize;
    reducers.push_back(elements[i].reducer);
  }
  write_fields(fields, reducers, static_cast<char*>(out));
}

void read_tuple(const void* data, std::size_t size, CkReduction::tupleElement** elements, int* count) {
  const TupleView tuple(const_cast<void*>(data), size);
  auto* all = new CkReduction::tupleElement[tuple.fields.size()];
  for (std::size_t i = 0; i < tuple.fields.size(); ++i) {
    all[i].dataSize = tuple.fields[i].size;
    all[i].reducer = tuple.reducers[i];
    all[i].data = new char[tuple.fields[i].size];
    all[i].owns_data = true;
    if (all[i].dataSize) std::memcpy(all[i].data, tuple.fields[i].data, all[i].dataSize);
  }
  *elements = all;
  *count = static_cast<int>(tuple.fields.size());
}

}  // namespace chare
}  // namespace periapt

Type CkReduction::addReducer(reducerFn fn, bool streamable, const char* name) {
  return static_cast<Type>(periapt::chare::table().add_custom(fn, streamable, name));
}

CkReduction::setElement* CkReduction::setElement::next() {
  char* after = reinterpret_cast<char*>(this) + periapt::chare::set_element_bytes(static_cast<std::size_t>(dataSize));
  setElement* element = reinterpret_cast<setElement*>(after);
  return element->dataSize == -1 ? nullptr : element;
}

CkReduction::tupleElement& CkReduction::tupleElement::operator=(tupleElement&& other) noexcept {
  std::swap(dataSize, other.dataSize);
  std::swap(data, other.data);
  std::swap(reducer, other.reducer);
  std::swap(owns_data, other.owns_data);
  return *this;
}
CkReduction::tupleElement::~tupleElement() {
  if (owns_data) delete[] data;
}
