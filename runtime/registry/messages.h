// Messages as programs see them: a class whose storage is the payload of a periapt::Message. C++17.
#pragma once
#include <cstddef>
#include <cstdint>
#include <new>

#include "base/cmk.h"
#include "runtime/registry/c_calls.h"
#include "runtime/registry/entry_options.h"
#include "runtime/registry/registry.h"

#define CMK_REFNUM_TYPE int

// --- the C-like calls ----------------------------------------------------------------------------------------------
// A message of a registered type with room for `bytes` and `priority_bits` of priority.
void* CkAllocMsg(int message_type, std::size_t bytes, int priority_bits, GroupDepNum dependency = GroupDepNum{});
void* CkAllocSysMsg(const CkEntryOptions* options = nullptr);
void CkFreeSysMsg(void* message);
// A message of `bytes` of payload like `message` (same type, priority).
void* CkAllocBuffer(void* message, int bytes);
// A private copy; the original may have been packed and unpacked on the way, so it is replaced too.
void* CkCopyMsg(void** message);
void* CkReferenceMsg(void* message);
void CkSetQueueing(void* message, int strategy);
void* CkPriorityPtr(void* message);
// Ends the run when the number is too large for a CMK_REFNUM_TYPE.
void CkSetRefNum(void* message, std::int64_t reference);
CMK_REFNUM_TYPE CkGetRefNum(void* message);
int CkGetSrcPe(void* message);
int CkGetSrcNode(void* message);
std::size_t CkGetMsgSize(void* message);
void CkPupMessage(PUP::er& p, void** message, int pack_mode = 1);

namespace periapt {
// A reference number as messages have it.
CMK_REFNUM_TYPE checked_reference(std::int64_t reference);
// Cuts a message's payload down to `size` bytes; its priority, which lies behind, comes along.
void cut_message(void* message, std::size_t size);
// Where the arrays of the message of a class lie whose memory a thread has made last: `new (n) M()` writes zeroes over
// the object before its constructor runs, which sets them again. Where it doesn't, the constructor may have arguments,
// and these may make other messages: then what alloc() has set is as it was.
template <std::size_t arrays>
struct MadeArrays {
  const void* message;
  std::size_t offsets[arrays];
};
}  // namespace periapt

class CkMessage {
 public:
  void pup(PUP::er&) {}  // programs call their CMessage_M::pup(p) first
  static void pup(PUP::er& p, int message_type);
  static void* alloc(int, std::size_t, int*, int, GroupDepNum);
  // An entry that takes any message deletes it as this.
  void operator delete(void* message) { CkFreeMsg(message); }
};
class CMessage_CkMessage {
 public:
  static int __idx;
};
class CkArrayMessage : public CkMessage {};

class CMessage_CkArgMsg {
 public:
  static int __idx;
};
// What a mainchare's constructor gets: the program's own arguments.
class CkArgMsg : public CkMessage {
 public:
  int argc;
  char** argv;
  void* operator new(std::size_t size) { return CkAllocMsg(CMessage_CkArgMsg::__idx, size, 0); }
  void operator delete(void* message) { CkFreeMsg(message); }
};

// CkMigrateMessage* (runtime/pup/able.h) marks the constructor that migration calls.

class CMessage_CkMarshallMsg {
 public:
  static int __idx;
};
// Marshalled arguments have this type. A program may make one of its own, `new (&bytes, prioBits) CkMarshallMsg`: then
// msgBuf points to that many bytes behind the object.
class CkMarshallMsg : public CkMessage {
 public:
  static int __idx;
  char* msgBuf;
  void* operator new(std::size_t size, int* bytes, int priority_bits = 0);
  void* operator new(std::size_t size, int bytes, int priority_bits = 0) {
    return operator new(size, &bytes, priority_bits);
  }
  void operator delete(void* message) { CkFreeMsg(message); }
  void operator delete(void* message, int*, int) { CkFreeMsg(message); }
  void operator delete(void* message, int, int) { CkFreeMsg(message); }
  static void register_own();

 private:
  friend CkMarshallMsg* CkAllocateMarshallMsg(std::size_t bytes, const CkEntryOptions* options);
  static int own_index;
};

CkMarshallMsg* CkAllocateMarshallMsg(std::size_t bytes, const CkEntryOptions* options = nullptr);

class CMessage_CkDataMsg {
 public:
  static int __idx;
};
// Bytes for a callback.
class CkDataMsg : public CkMessage {
 public:
  int length;  // of data, in bytes

  static CkDataMsg* buildNew(int length, const void* bytes);
  void* getData() { return data; }
  const void* getData() const { return data; }
  int getSize() const { return length; }
  int getLength() const { return length; }
  void check() const {}
  void operator delete(void* message) { CkFreeMsg(message); }

  alignas(16) char data[16];  // the first of getSize() bytes
};
static_assert(sizeof(CkDataMsg) == 16 + sizeof(CkDataMsg::data), "the data of a CkDataMsg end it, and are aligned");

// One Charm++ message inside marshalled arguments.
class CkMarshalledMessage {
  void* message_ = nullptr;

 public:
  CkMarshalledMessage() = default;
  CkMarshalledMessage(CkMessage* message) : message_(message) {}
  CkMarshalledMessage(const CkMarshalledMessage&) = delete;
  void operator=(const CkMarshalledMessage&) = delete;
  CkMarshalledMessage(CkMarshalledMessage&& o) : message_(o.message_) { o.message_ = nullptr; }
  void operator=(CkMarshalledMessage&& o) {
    void* mine = message_;
    message_ = o.message_;
    o.message_ = mine;
  }
  ~CkMarshalledMessage() {
    if (message_) CkFreeMsg(message_);
  }
  CkMessage* getMessage() {
    void* message = message_;
    message_ = nullptr;
    return static_cast<CkMessage*>(message);
  }
  void pup(PUP::er& p) { CkPupMessage(p, &message_); }
};

// What an entry that CkStartQD() calls may take for its empty message.
class CkQdMsg : public CkMessage {
 public:
  void* operator new(std::size_t size) { return CkAllocMsg(0, size, 0); }
  void operator delete(void* message) { CkFreeMsg(message); }
};
