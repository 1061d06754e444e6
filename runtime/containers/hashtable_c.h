// The hash table of ckhashtable.h for C programs: objects are blocks of bytes, zeros at first. Plain C, and C++17.
//
// A key is handed over by its address: that of an int, of a const char* or of a void*. A string is not copied.
#pragma once

typedef void* CkHashtable_c;
typedef void* CkHashtableIterator_c;

#ifdef __cplusplus
extern "C" {
#endif
CkHashtable_c CkCreateHashtable_int(int object_bytes, int initial_size);
CkHashtable_c CkCreateHashtable_string(int object_bytes, int initial_size);
CkHashtable_c CkCreateHashtable_pointer(int object_bytes, int initial_size);
void CkDeleteHashtable(CkHashtable_c table);

// The object of a key; put makes it when there is none, get answers null. Good until the table changes.
void* CkHashtablePut(CkHashtable_c table, const void* key);
void* CkHashtableGet(CkHashtable_c table, const void* key);
void* CkHashtableKeyFromObject(CkHashtable_c table, const void* object);
int CkHashtableRemove(CkHashtable_c table, const void* key);  // how many were removed: 1 or 0
int CkHashtableSize(CkHashtable_c table);

// To destroy; good until the table changes.
CkHashtableIterator_c CkHashtableGetIterator(CkHashtable_c table);
void CkHashtableDestroyIterator(CkHashtableIterator_c iterator);
void* CkHashtableIteratorNext(CkHashtableIterator_c iterator, void** key);
void CkHashtableIteratorSeek(CkHashtableIterator_c iterator, int places);  // places in the table, not objects
void CkHashtableIteratorSeekStart(CkHashtableIterator_c iterator);
#ifdef __cplusplus
}
#endif
