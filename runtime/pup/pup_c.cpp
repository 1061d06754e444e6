// The C face: each function is one call of the C++ one.
#include "runtime/pup/pup_c.h"

#include "runtime/pup/memory.h"
#include "runtime/pup/network.h"
#include "runtime/pup/operators.h"

static_assert(int(pup_sync_begin_array) == int(PUP::sync_begin_array) && int(pup_sync_index) == int(PUP::sync_index),
              "the marks are the same in C and C++");

namespace {

PUP::er& stream(pup_er p) { return *static_cast<PUP::er*>(p); }
pup_er handle(PUP::er* p) { return p; }

// An encoded size is 6 bits of shift above 10 bits of value.
constexpr int value_bits = 10;

}  // namespace

extern "C" {

pup_er pup_new_sizer() { return handle(new PUP::sizer); }
pup_er pup_new_toMem(void* buffer) { return handle(new PUP::toMem(buffer)); }
pup_er pup_new_fromMem(const void* buffer) { return handle(new PUP::fromMem(buffer)); }
pup_er pup_new_fromMem_length(const void* buffer, size_t length) { return handle(new PUP::fromMem(buffer, length)); }
pup_er pup_new_network_sizer() { return handle(new PUP_toNetwork_sizer); }
pup_er pup_new_network_pack(void* buffer) { return handle(new PUP_toNetwork_pack(buffer)); }
pup_er pup_new_network_unpack(const void* buffer) { return handle(new PUP_toNetwork_unpack(buffer)); }
void pup_destroy(pup_er p) { delete &stream(p); }

int pup_isPacking(const pup_er p) { return stream(p).isPacking(); }
int pup_isUnpacking(const pup_er p) { return stream(p).isUnpacking(); }
int pup_isSizing(const pup_er p) { return stream(p).isSizing(); }
int pup_isDeleting(const pup_er p) { return stream(p).isDeleting(); }
int pup_isUserlevel(const pup_er p) { return stream(p).isUserlevel(); }
int pup_isRestarting(const pup_er p) { return stream(p).isRestarting(); }
int pup_isCheckpoint(const pup_er p) { return stream(p).isCheckpoint(); }
int pup_isMigration(const pup_er p) { return stream(p).isMigration(); }
char* pup_typeString(const pup_er p) { return const_cast<char*>(stream(p).typeString()); }

void pup_syncComment(const pup_er p, unsigned int sync, const char* message) { stream(p).syncComment(sync, message); }
void pup_comment(const pup_er p, const char* message) { stream(p).comment(message); }
size_t pup_size(const pup_er p) { return stream(p).size(); }

unsigned short pup_encodeSize(size_t s) {
  int shift = 0;
  while (s >> shift >= 1u << value_bits) ++shift;
  if (!shift) return static_cast<unsigned short>(s);
  size_t value = (s >> shift) + (s >> (shift - 1) & 1);  // rounded, perhaps to one bit more
  if (value == 1u << value_bits) value >>= 1, ++shift;
  return static_cast<unsigned short>(static_cast<size_t>(shift) << value_bits | value);
}
size_t pup_decodeSize(unsigned short a) {
  return static_cast<size_t>(a & ((1u << value_bits) - 1)) << (a >> value_bits);
}

#define PUP_BASIC_DATATYPE(name, type)                  \
  void pup_##name(pup_er p, type* v) { stream(p)(*v); } \
  void pup_##name##s(pup_er p, type* array, size_t n) { stream(p)(array, n); }
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
PUP_BASIC_DATATYPE(int8, CmiInt8)
PUP_BASIC_DATATYPE(size_t, size_t)

void pup_pointer(pup_er p, void** v) { stream(p)(v, 1, nullptr); }
void pup_pointers(pup_er p, void** array, size_t n) { stream(p)(array, n, nullptr); }
void pup_bytes(pup_er p, void* data, size_t bytes) { stream(p)(static_cast<char*>(data), bytes); }

}  // extern "C"
