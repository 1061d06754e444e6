#include "runtime/containers/hashtable.h"

#include <cstdlib>
#include <new>

#include "base/fnv1a.h"

CkHashCode CkHashFunction_default(const void* key, std::size_t bytes) {
  const std::uint64_t h = periapt::fnv1a(key, bytes);
  return static_cast<CkHashCode>(h ^ h >> 32);
}
CkHashCode CkHashFunction_string(const void* key, std::size_t) {
  const char* text = *static_cast<const char* const*>(key);
  return CkHashFunction_default(text, std::strlen(text));
}
CkHashCode CkHashFunction_int(const void* key, std::size_t) { return *static_cast<const CkHashCode*>(key); }
CkHashCode CkHashFunction_pointer(const void* key, std::size_t) {
  const std::uint64_t bits = reinterpret_cast<std::uintptr_t>(*static_cast<void* const*>(key));
  return static_cast<CkHashCode>(bits ^ bits >> 32);
}
int CkHashCompare_default(const void* a, const void* b, std::size_t bytes) { return std::memcmp(a, b, bytes) == 0; }
int CkHashCompare_string(const void* a, const void* b, std::size_t) {
  return std::strcmp(*static_cast<const char* const*>(a), *static_cast<const char* const*>(b)) == 0;
}
int CkHashCompare_int(const void* a, const void* b, std::size_t) {
  return *static_cast<const int*>(a) == *static_cast<const int*>(b);
}
int CkHashCompare_pointer(const void* a, const void* b, std::size_t) {
  return *static_cast<void* const*>(a) == *static_cast<void* const*>(b);
}

CkHashtable::CkHashtable(const CkHashtableLayout& layout, int initial_size, float, CkHashFunction hash,
                         CkHashCompare compare)
    : layout(layout), hash_(hash), compare_(compare) {
  std::size_t length = 8;
  while (length < 2 * static_cast<std::size_t>(initial_size)) length *= 2;
  build(length);
}
CkHashtable::~CkHashtable() { std::free(table_); }

void CkHashtable::build(std::size_t length) {
  table_ = static_cast<char*>(std::calloc(length, layout.entrySize()));
  if (!table_) throw std::bad_alloc();
  mask_ = length - 1;
  count_ = 0;
  for (std::size_t i = 0; i < length; ++i) layout.empty(entry(i));
}

void CkHashtable::grow() {
  char* const old_table = table_;
  const std::size_t old_length = mask_ + 1;
  const std::size_t count = count_;
  build(2 * old_length);
  for (std::size_t i = 0; i < old_length; ++i) {
    char* old_entry = old_table + i * layout.entrySize();
    if (!layout.isEmpty(old_entry)) std::memcpy(find(old_entry), old_entry, layout.entrySize());
  }
  count_ = count;
  std::free(old_table);
}

void* CkHashtable::put(const void* key, int* existing) {
  char* found = find(key);
  const bool is_new = layout.isEmpty(found);
  if (existing) *existing = !is_new;
  if (is_new) {
    if (2 * (count_ + 1) > mask_ + 1) {
      grow();
      found = find(key);
    }
    ++count_;
    std::memset(found, 0, layout.entrySize());
    std::memcpy(layout.getKey(found), key, layout.keySize());
    layout.fill(found);
  }
  return layout.getObject(found);
}

// Those behind the hole that it kept apart from their place move up (Knuth, TAOCP 3, 6.4, algorithm R).
int CkHashtable::remove(const void* key) {
  char* found = find(key);
  if (layout.isEmpty(found)) return 0;
  std::size_t hole = static_cast<std::size_t>(found - table_) / layout.entrySize();
  for (std::size_t i = next(hole); !layout.isEmpty(entry(i)); i = next(i)) {
    const std::size_t wanted = place(hash_(entry(i), layout.keySize()));
    if (((i - wanted) & mask_) < ((i - hole) & mask_)) continue;  // reachable without passing the hole
    std::memcpy(entry(hole), entry(i), layout.entrySize());
    hole = i;
  }
  layout.empty(entry(hole));
  --count_;
  return 1;
}

void CkHashtable::empty() {
  for (std::size_t i = 0; i <= mask_; ++i) layout.empty(entry(i));
  count_ = 0;
}

CkHashtableIterator* CkHashtable::iterator() { return new CkHashtableIterator(*this); }

void CkHashtableIterator::seek(int places) {
  const std::ptrdiff_t to = static_cast<std::ptrdiff_t>(at_) + places;
  at_ = to < 0 ? 0 : static_cast<std::size_t>(to);
}
int CkHashtableIterator::hasNext() {
  while (at_ <= table_.mask_ && table_.layout.isEmpty(table_.entry(at_))) ++at_;
  return at_ <= table_.mask_;
}
void* CkHashtableIterator::next(void** key) {
  if (!hasNext()) return nullptr;
  char* entry = table_.entry(at_++);
  if (key) *key = table_.layout.getKey(entry);
  return table_.layout.getObject(entry);
}
