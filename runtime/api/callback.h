// CkCallback: what to do with a result, as a small value that travels in messages. C++17: reached from charm++.h.
#pragma once
#include <cstdint>
#include <cstring>

#include "runtime/api/array_index.h"
#include "runtime/registry/messages.h"

typedef void (*CkCallbackFn)(void* param, void* message);
typedef void (*Ck1CallbackFn)(void* message);
typedef std::uint64_t CkFutureID;

// A future: a place on one PE that is set once and waited for by threads of that PE.
struct CkFuture {
  CkFutureID id = 0;
  int pe = -1;
  bool operator==(const CkFuture& o) const { return id == o.id && pe == o.pe; }
  bool operator!=(const CkFuture& o) const { return !(*this == o); }
};
PUPbytes(CkFuture)

    class Chare;
class Group;
class NodeGroup;
class ArrayElement;
class CProxy_NodeGroup;
class CProxyElement_ArrayBase;
class CProxySection_ArrayBase;
class CkSectionID;
struct CcsDelayedReply_struct;
class CProxyElement_Group;
class CProxyElement_NodeGroup;

#define CkSelfCallback(ep) CkCallback(this, ep)
// The entry that takes a reduction's result and calls X::method with it.
#define CkReductionTarget(X, method) CkIndex_##X::redn_wrapper_##method(NULL)

class CkCallback {
 public:
  enum callbackType : std::uint8_t {
    invalid = 0,
    ignore,        // do nothing
    ckExit,        // CkExit()
    resumeThread,  // made in a threaded entry, which waits with thread_delay()
    callCFn,       // a C function with a parameter, on the PE where the callback was made
    call1Fn,       // a C function, on the PE where it is sent
    sendChare,
    sendGroup,
    sendNodeGroup,
    sendArray,
    isendChare,
    isendGroup,
    isendNodeGroup,
    isendArray,  // called directly when the object is here
    bcastGroup,
    bcastNodeGroup,
    bcastArray,
    bcastSection,
    replyCCS,
    sendFuture
  };
  static const char* typeName(callbackType type);

  CkCallback() = default;
  CkCallback(callbackType type);
  CkCallback(Ck1CallbackFn fn);
  CkCallback(CkCallbackFn fn, void* param);
  CkCallback(int ep, const CkChareID& id, bool forceInline = false);
  CkCallback(int ep, const CProxy_NodeGroup& group);
  CkCallback(int ep, const CkGroupID& id, bool isNodeGroup = false);
  CkCallback(int ep, int onPE, const CProxy_NodeGroup& group, bool forceInline = false);
  CkCallback(int ep, int onPE, const CkGroupID& id, bool forceInline = false, bool isNodeGroup = false);
  CkCallback(int ep, const CProxyElement_Group& group, bool forceInline = false);
  CkCallback(int ep, const CProxyElement_NodeGroup& group, bool forceInline = false);
  CkCallback(int ep, const CkArrayID& id);
  CkCallback(int ep, const CkArrayIndex& index, const CkArrayID& id, bool forceInline = false);
  CkCallback(int ep, const CProxyElement_ArrayBase& element, bool forceInline = false);
  CkCallback(int ep, const CProxySection_ArrayBase& section, bool forceInline = false);
  CkCallback(int ep, const CkSectionID& section);
  // Answers a request of CCS with the bytes of the CkDataMsg that it is sent; defined in runtime/ccs.
  CkCallback(const CcsDelayedReply_struct& reply);
  CkCallback(Chare* object, int ep, bool forceInline = false);
  CkCallback(Group* object, int ep, bool forceInline = false);
  CkCallback(NodeGroup* object, int ep, bool forceInline = false);
  CkCallback(ArrayElement* object, int ep, bool forceInline = false);
  CkCallback(CkFuture future);

  bool isInvalid() const { return type == invalid; }
  bool isCkExit() const { return type == ckExit; }
  bool containsPointer() const;
  bool requiresMsgConstruction() const { return type != ignore && type != ckExit && type != invalid; }
  bool operator==(const CkCallback& other) const;
  bool operator!=(const CkCallback& other) const { return !(*this == other); }

  // Hands over `message` (owned from here on; null is an empty one); `options` such as CK_MSG_EXPEDITED.
  void send(void* message = nullptr, int options = 0) const;
  void send(int length, const void* data) const;
  // Waits in a threaded entry for a resumeThread callback; returns its message.
  void* thread_delay() const;
  void setRefnum(std::int64_t reference) {
    has_refnum = true;
    refnum = periapt::checked_reference(reference);
  }
  void setRefNum(std::int64_t reference) { setRefnum(reference); }
  void transformBcastToLocalElem(int pe = -1);
  void pup(PUP::er& p) { p(reinterpret_cast<char*>(this), sizeof *this); }

  callbackType type = invalid;
  bool has_refnum = false;
  std::int16_t unused = 0;
  CMK_REFNUM_TYPE refnum = 0;
  int ep = 0;
  int pe = -1;  // PE or node of the receiver; resumeThread, callCFn: where it was made
  union {
    struct {
      CkChareID id;
    } chare;
    struct {
      CkGroupID id;
    } group;
    struct {
      CkGroupID id;
      CkArrayIndexBase index;
    } array;
    struct {
      CkCallbackFn fn;
      void* param;
    } cfn;
    struct {
      std::intptr_t from_anchor;
    } c1fn;  // an address that means the same in every process of the run
    struct {
      std::uint64_t id;
    } future;  // resumeThread, sendFuture
    struct {
      std::uint64_t id;
    } section;  // number of the section on the PE that made it
    struct {
      std::uint64_t reply[2];
    } ccsReply;  // a CcsDelayedReply
    std::uint64_t raw[3];
  } d = {};
};
static_assert(sizeof(CkCallback) <= 48, "a callback fits into an inline message");
PUPbytes(CkCallback)

    // A callback to wait for: the thread that makes one waits for it where it goes out of scope.
    class CkCallbackResumeThread : public CkCallback {
 public:
  CkCallbackResumeThread() : CkCallback(resumeThread), result_(nullptr) {}
  CkCallbackResumeThread(void*& result) : CkCallback(resumeThread), result_(&result) {}
  ~CkCallbackResumeThread() {
    void* message = thread_delay();
    if (result_)
      *result_ = message;
    else
      CkFreeMsg(message);
  }
  void* thread_delay() {
    if (waited_) return nullptr;
    waited_ = true;
    return CkCallback::thread_delay();
  }

 private:
  void** result_;
  bool waited_ = false;
};
