// See hashtable_c.h.
#include "runtime/containers/hashtable_c.h"

#include <cstddef>

#include "runtime/containers/hashtable.h"

namespace {

// An entry is the key, whether it is empty, and the object.
template <class KEY>
CkHashtable_c create(int object_bytes, int initial_size, CkHashFunction hash, CkHashCompare compare) {
  struct Head {
    KEY key;
    char empty;
    alignas(std::max_align_t) char object[1];
  };
  constexpr int at = offsetof(Head, object), align = alignof(std::max_align_t);
  static_assert(at == align, "CkHashtableKeyFromObject goes back that far");
  const int bytes = (at + object_bytes + align - 1) / align * align;
  return new CkHashtable(CkHashtableLayout(sizeof(KEY), offsetof(Head, empty), at, object_bytes, bytes), initial_size,
                         0.5, hash, compare);
}
CkHashtable& of(CkHashtable_c table) { return *static_cast<CkHashtable*>(table); }
CkHashtableIterator& iterator_of(CkHashtableIterator_c iterator) {
  return *static_cast<CkHashtableIterator*>(iterator);
}

}  // namespace

CkHashtable_c CkCreateHashtable_int(int object_bytes, int initial_size) {
  return create<int>(object_bytes, initial_size, CkHashFunction_int, CkHashCompare_int);
}
CkHashtable_c CkCreateHashtable_string(int object_bytes, int initial_size) {
  return create<const char*>(object_bytes, initial_size, CkHashFunction_string, CkHashCompare_string);
}
CkHashtable_c CkCreateHashtable_pointer(int object_bytes, int initial_size) {
  return create<void*>(object_bytes, initial_size, CkHashFunction_pointer, CkHashCompare_pointer);
}
void CkDeleteHashtable(CkHashtable_c table) { delete &of(table); }
void* CkHashtablePut(CkHashtable_c table, const void* key) { return of(table).put(key); }
void* CkHashtableGet(CkHashtable_c table, const void* key) { return of(table).get(key); }
void* CkHashtableKeyFromObject(CkHashtable_c, const void* object) {
  return const_cast<char*>(static_cast<const char*>(object)) - alignof(std::max_align_t);
}
int CkHashtableRemove(CkHashtable_c table, const void* key) { return of(table).remove(key); }
int CkHashtableSize(CkHashtable_c table) { return of(table).numObjects(); }
CkHashtableIterator_c CkHashtableGetIterator(CkHashtable_c table) { return of(table).iterator(); }
void CkHashtableDestroyIterator(CkHashtableIterator_c iterator) { delete &iterator_of(iterator); }
void* CkHashtableIteratorNext(CkHashtableIterator_c iterator, void** key) { return iterator_of(iterator).next(key); }
void CkHashtableIteratorSeek(CkHashtableIterator_c iterator, int places) { iterator_of(iterator).seek(places); }
void CkHashtableIteratorSeekStart(CkHashtableIterator_c iterator) { iterator_of(iterator).seekStart(); }
