// The names of multiphase shared arrays (msa.h) that stand outside of namespace MSA: sizes, modes, and what
// accumulating means. C++17: programs include it.
#pragma once

enum MSA_Page_Fault_t { Uninit_State, Read_Fault, Write_Fault, Accumulate_Fault };
enum MSA_Array_Layout_t { MSA_COL_MAJOR, MSA_ROW_MAJOR };

enum { MSA_DEFAULT_ENTRIES_PER_PAGE = 1024 };
enum { MSA_DEFAULT_MAX_BYTES = 16 * 1024 * 1024 };  // of cached pages, a PE

// How entries are accumulated, and which entry changes nothing; all entries are that at first. A class of a program's
// own has the same three functions. With `PUP_EVERY_ELEMENT` entries travel by their pup(), else as bytes.
template <class T, bool PUP_EVERY_ELEMENT = false>
class DefaultEntry {
 public:
  template <class U>
  static void accumulate(T& sum, const U& more) {
    sum += more;
  }
  static T getIdentity() { return static_cast<T>(0); }
  static bool pupEveryElement() { return PUP_EVERY_ELEMENT; }
};

template <class T, bool PUP_EVERY_ELEMENT = false>
class ProductEntry {
 public:
  static void accumulate(T& product, const T& more) { product *= more; }
  static T getIdentity() { return static_cast<T>(1); }
  static bool pupEveryElement() { return PUP_EVERY_ELEMENT; }
};

template <class T, T least, bool PUP_EVERY_ELEMENT = false>
class MaxEntry {
 public:
  static void accumulate(T& largest, const T& more) {
    if (largest < more) largest = more;
  }
  static T getIdentity() { return least; }
  static bool pupEveryElement() { return PUP_EVERY_ELEMENT; }
};
