// CkHashtableT, the hash table of Charm++ programs. C++17: reached from ckhashtable.h.
//
//   CkHashtableT<KEY, OBJ>      KEY has hash(), compare(other), staticHash(key, bytes), staticCompare(a, b, bytes)
//   CkHashtableAdaptorT<T>      makes such a KEY of a plain type: CkHashtableT<CkHashtableAdaptorT<int>, X>
//   CkHashtableTslow<KEY, OBJ>  the same with the hash and compare functions given; by default over the key's bytes
//
// Open addressing with linear probing; at most half full. Keys and objects are plain storage: they are moved as bytes
// when the table grows, and neither constructed nor destroyed, so that an object that is new in the table is all zeros.
// The untyped layer does the work, so that many instances cost little code.
#pragma once
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <vector>

#include "runtime/pup/stl.h"

typedef unsigned int CkHashCode;

inline CkHashCode circleShift(CkHashCode h, unsigned by) {
  by %= 32;
  return by == 0 ? h : h << by | h >> (32 - by);
}

typedef CkHashCode (*CkHashFunction)(const void* key, std::size_t bytes);
typedef int (*CkHashCompare)(const void* a, const void* b, std::size_t bytes);
CkHashCode CkHashFunction_default(const void* key, std::size_t bytes);
CkHashCode CkHashFunction_string(const void* key, std::size_t bytes);  // of the const char* that the key is
CkHashCode CkHashFunction_int(const void* key, std::size_t bytes);
CkHashCode CkHashFunction_pointer(const void* key, std::size_t bytes);
int CkHashCompare_default(const void* a, const void* b, std::size_t bytes);
int CkHashCompare_string(const void* a, const void* b, std::size_t bytes);
int CkHashCompare_int(const void* a, const void* b, std::size_t bytes);
int CkHashCompare_pointer(const void* a, const void* b, std::size_t bytes);

// Where the parts of an entry lie; the key is at its start. `empty` is a byte: 1 when the entry is unused.
class CkHashtableLayout {
 public:
  CkHashtableLayout(int key_size, int empty_offset, int object_offset, int object_size, int entry_size)
      : size_(entry_size),
        key_size_(key_size),
        empty_offset_(empty_offset),
        object_offset_(object_offset),
        object_size_(object_size) {}
  int entrySize() const { return size_; }
  int keySize() const { return key_size_; }
  int objectSize() const { return object_size_; }
  char* getKey(char* entry) const { return entry; }
  char* getObject(char* entry) const { return entry + object_offset_; }
  bool isEmpty(const char* entry) const { return entry[empty_offset_]; }
  void empty(char* entry) const { entry[empty_offset_] = 1; }
  void fill(char* entry) const { entry[empty_offset_] = 0; }

 private:
  int size_, key_size_, empty_offset_, object_offset_, object_size_;
};

class CkHashtableIterator;

class CkHashtable {
 public:
  CkHashtable(const CkHashtableLayout& layout, int initial_size = 5, float load_factor = 0.5,
              CkHashFunction hash = CkHashFunction_default, CkHashCompare compare = CkHashCompare_default);
  ~CkHashtable();
  CkHashtable(const CkHashtable&) = delete;
  void operator=(const CkHashtable&) = delete;

  // The object of this key, made when there was none; *existing says whether there was.
  void* put(const void* key, int* existing = nullptr);
  // Null when there is none.
  void* get(const void* key) const {
    char* found = find(key);
    return layout.isEmpty(found) ? nullptr : layout.getObject(found);
  }
  // How many were removed: 1 or 0.
  int remove(const void* key);
  void empty();
  int numObjects() const { return static_cast<int>(count_); }
  // To delete. Good until the table changes.
  CkHashtableIterator* iterator();

 protected:
  friend class CkHashtableIterator;
  char* entry(std::size_t i) const { return table_ + i * layout.entrySize(); }
  std::size_t next(std::size_t i) const { return (i + 1) & mask_; }
  // Hash codes need not be good: their bits are mixed (Fibonacci hashing).
  std::size_t place(CkHashCode code) const {
    return static_cast<std::size_t>((code * 0x9e3779b97f4a7c15ull) >> 32) & mask_;
  }
  // The key's entry, or the empty one where it would be.
  char* find(const void* key) const {
    std::size_t i = place(hash_(key, layout.keySize()));
    while (!layout.isEmpty(entry(i)) && !compare_(key, entry(i), layout.keySize())) i = next(i);
    return entry(i);
  }
  void build(std::size_t length);
  void grow();

  const CkHashtableLayout layout;
  CkHashFunction hash_;
  CkHashCompare compare_;
  char* table_ = nullptr;
  std::size_t mask_ = 0;  // entries - 1; their number is a power of two
  std::size_t count_ = 0;
};

// Visits every object once, in no particular order.
class CkHashtableIterator {
 public:
  explicit CkHashtableIterator(const CkHashtable& table) : table_(table) {}
  CkHashtableIterator(const CkHashtableIterator&) = delete;
  void operator=(const CkHashtableIterator&) = delete;
  void seekStart() { at_ = 0; }
  // By places in the table, not by objects.
  void seek(int places);
  int hasNext();
  // The next object, its key in *key; null when there are no more.
  void* next(void** key = nullptr);

 private:
  const CkHashtable& table_;
  std::size_t at_ = 0;
};

template <class KEY, class OBJ>
class CkHashtableTslow : public CkHashtable {
  struct Entry {
    KEY key;
    char empty;
    OBJ object;
  };
  // offsetof is for standard-layout types only, and then the others are laid out just the same.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
  static CkHashtableLayout layoutOf() {
    return CkHashtableLayout(sizeof(KEY), offsetof(Entry, empty), offsetof(Entry, object), sizeof(OBJ), sizeof(Entry));
  }
#pragma GCC diagnostic pop

 public:
  CkHashtableTslow(int initial_size = 5, float load_factor = 0.5, CkHashFunction hash = CkHashFunction_default,
                   CkHashCompare compare = CkHashCompare_default)
      : CkHashtable(layoutOf(), initial_size, load_factor, hash, compare) {}
  OBJ& put(const KEY& key, int* existing = nullptr) { return *static_cast<OBJ*>(CkHashtable::put(&key, existing)); }
  // OBJ(0) when there is none.
  OBJ get(const KEY& key) const {
    void* object = CkHashtable::get(&key);
    return object ? *static_cast<OBJ*>(object) : OBJ(0);
  }
  // When it is known to be there.
  OBJ& getRef(const KEY& key) { return *static_cast<OBJ*>(CkHashtable::get(&key)); }
  int remove(const KEY& key) { return CkHashtable::remove(&key); }
};

template <class KEY, class OBJ>
class CkHashtableT : public CkHashtableTslow<KEY, OBJ> {
 public:
  CkHashtableT(int initial_size = 5, float load_factor = 0.5)
      : CkHashtableTslow<KEY, OBJ>(initial_size, load_factor, KEY::staticHash, KEY::staticCompare) {}
  CkHashtableT(int initial_size, float load_factor, CkHashFunction hash, CkHashCompare compare)
      : CkHashtableTslow<KEY, OBJ>(initial_size, load_factor, hash, compare) {}

  OBJ get(const KEY& key) const {
    char* found = find_inline(key);
    return this->layout.isEmpty(found) ? OBJ(0) : *reinterpret_cast<OBJ*>(this->layout.getObject(found));
  }
  OBJ& getRef(const KEY& key) { return *reinterpret_cast<OBJ*>(this->layout.getObject(find_inline(key))); }

  void pup(PUP::er& p) {
    const std::size_t n = PUP::detail::pup_length(p, this->count_, PUP::min_bytes<KEY>::value);
    if (p.isUnpacking()) {
      this->empty();
      for (std::size_t i = 0; i < n; ++i) {
        KEY key;
        OBJ object;
        p | key;
        p | object;
        this->put(key) = object;
      }
      return;
    }
    for (std::size_t i = 0; i <= this->mask_; ++i) {
      char* entry = this->entry(i);
      if (this->layout.isEmpty(entry)) continue;
      p | *reinterpret_cast<KEY*>(entry);
      p | *reinterpret_cast<OBJ*>(this->layout.getObject(entry));
    }
  }

 private:
  // find() with the key's own functions, which the compiler can inline.
  char* find_inline(const KEY& key) const {
    std::size_t i = this->place(key.hash());
    while (true) {
      char* entry = this->entry(i);
      if (this->layout.isEmpty(entry) || key.compare(*reinterpret_cast<const KEY*>(entry))) return entry;
      i = this->next(i);
    }
  }
};

template <class T>
class CkHashtableAdaptorT {
 public:
  CkHashtableAdaptorT() = default;
  CkHashtableAdaptorT(const T& value) : value_(value) {}
  operator T&() { return value_; }
  operator const T&() const { return value_; }
  CkHashCode hash() const { return static_cast<CkHashCode>(value_); }
  static CkHashCode staticHash(const void* key, std::size_t) {
    return static_cast<const CkHashtableAdaptorT*>(key)->hash();
  }
  int compare(const CkHashtableAdaptorT& other) const { return value_ == other.value_; }
  static int staticCompare(const void* a, const void* b, std::size_t) {
    return static_cast<const CkHashtableAdaptorT*>(a)->compare(*static_cast<const CkHashtableAdaptorT*>(b));
  }
  void pup(PUP::er& p) { p | value_; }

 private:
  T value_;
};
