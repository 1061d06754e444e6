/* PUP for C: pup routines are written in C, streams come from C++ (a pup_er is a PUP::er*, so C++ passes &p).
 *
 *   void pup_bar(pup_er p, bar* b) {
 *     pup_int(p, &b->n);
 *     if (pup_isUnpacking(p)) b->values = malloc(b->n * sizeof(double));
 *     pup_doubles(p, b->values, b->n);
 *     if (pup_isDeleting(p)) free(b->values);
 *   }
 */
#ifndef PERIAPT_RUNTIME_PUP_PUP_C_H
#define PERIAPT_RUNTIME_PUP_PUP_C_H

#include <stddef.h>

#include "base/cmk.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void* pup_er;

/* Streams to make in C; pup_destroy each. */
pup_er pup_new_sizer(void);
pup_er pup_new_toMem(void* buffer);
pup_er pup_new_fromMem(const void* buffer);
/* The last, told how long the buffer is: never reads past it. */
pup_er pup_new_fromMem_length(const void* buffer, size_t length);
pup_er pup_new_network_sizer(void);
pup_er pup_new_network_pack(void* buffer);
pup_er pup_new_network_unpack(const void* buffer);
void pup_destroy(pup_er p);

/* 1 or 0. */
int pup_isPacking(const pup_er p);
int pup_isUnpacking(const pup_er p);
int pup_isSizing(const pup_er p);
int pup_isDeleting(const pup_er p);
int pup_isUserlevel(const pup_er p);
int pup_isRestarting(const pup_er p);
int pup_isCheckpoint(const pup_er p);
int pup_isMigration(const pup_er p);
char* pup_typeString(const pup_er p);

void pup_syncComment(const pup_er p, unsigned int sync, const char* message);
void pup_comment(const pup_er p, const char* message);

/* Bytes so far. */
size_t pup_size(const pup_er p);

/* A size in 16 bits, right within 0.1 %. */
unsigned short pup_encodeSize(size_t s);
size_t pup_decodeSize(unsigned short a);

/* One item, and an array of them: pup_int(p, &i), pup_ints(p, array, n). */
#define PUP_BASIC_DATATYPE(name, type) \
  void pup_##name(pup_er p, type* v);  \
  void pup_##name##s(pup_er p, type* array, size_t n);
PUP_BASIC_DATATYPE(char, char)
PUP_BASIC_DATATYPE(short, short)
PUP_BASIC_DATATYPE(int, int)
PUP_BASIC_DATATYPE(long, long)
PUP_BASIC_DATATYPE(uchar, unsigned char)
PUP_BASIC_DATATYPE(ushort, unsigned short)
PUP_BASIC_DATATYPE(uint, unsigned int)
PUP_BASIC_DATATYPE(ulong, unsigned long)
PUP_BASIC_DATATYPE(float, float)
PUP_BASIC_DATATYPE(double, double)
PUP_BASIC_DATATYPE(pointer, void*)
PUP_BASIC_DATATYPE(int8, CmiInt8)
PUP_BASIC_DATATYPE(size_t, size_t)
#undef PUP_BASIC_DATATYPE

void pup_bytes(pup_er p, void* data, size_t bytes);

/* The marks of PUP::er::synchronize. */
enum {
  pup_sync_builtin = 0x70000000,
  pup_sync_begin = pup_sync_builtin + 0x01000000,
  pup_sync_end = pup_sync_builtin + 0x02000000,
  pup_sync_last_system = pup_sync_builtin + 0x09000000,
  pup_sync_array_m = 0x00100000,
  pup_sync_list_m = 0x00200000,
  pup_sync_object_m = 0x00300000,
  pup_sync_begin_array = pup_sync_begin + pup_sync_array_m,
  pup_sync_begin_list = pup_sync_begin + pup_sync_list_m,
  pup_sync_begin_object = pup_sync_begin + pup_sync_object_m,
  pup_sync_end_array = pup_sync_end + pup_sync_array_m,
  pup_sync_end_list = pup_sync_end + pup_sync_list_m,
  pup_sync_end_object = pup_sync_end + pup_sync_object_m,
  pup_sync_item = pup_sync_builtin + 0x00110000,
  pup_sync_index = pup_sync_builtin + 0x00120000,
  pup_sync_last
};

#ifdef __cplusplus
}
#endif

#endif
