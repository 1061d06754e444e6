// The border between translator and runtime (docs/generated-code.md) and nothing behind it: every name that generated
// code uses, declared with the types it has. Generated code that compiles against this asks for nothing else.
#pragma once
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/api/matches.h"

// --- PUP ---
namespace PUP {
class er {};
class able {
 public:
  virtual ~able() = default;
};
}  // namespace PUP
template <class T>
void operator|(PUP::er&, T&);
#define PUPbytes(type)
#define PUPable_reg(type) type::register_PUP_ID(#type)
#define PUPable_def(type) static_assert(sizeof(type) > 0, "");
#define PUPable_def_template(...) static_assert(sizeof(__VA_ARGS__) > 0, "");
#define PUPable_decl(type) static void register_PUP_ID(const char*)

// --- ids, indices, options ---
struct CkGroupID {
  int idx = 0;
};
struct CkChareID {};
typedef unsigned long CkFutureID;
struct CkArrayID {
  CkGroupID group;
  int index() const;
};
class CkArrayIndex {
 public:
  int dimension = 0;
};
typedef int CkIndex1D;
struct CkArrayIndex1D : CkArrayIndex {
  CkArrayIndex1D(int) {}
};
struct CkArrayIndex2D : CkArrayIndex {
  CkArrayIndex2D(int, int) {}
};
struct CkArrayIndex3D : CkArrayIndex {
  CkArrayIndex3D(int, int, int) {}
};
struct CkArrayIndex4D : CkArrayIndex {
  CkArrayIndex4D(short, short, short, short) {}
};
struct CkArrayIndex5D : CkArrayIndex {
  CkArrayIndex5D(short, short, short, short, short) {}
};
struct CkArrayIndex6D : CkArrayIndex {
  CkArrayIndex6D(short, short, short, short, short, short) {}
};
class CkArrayOptions {
 public:
  CkArrayOptions() = default;
  CkArrayOptions(int) {}
  CkArrayOptions(int, int) {}
  CkArrayOptions(int, int, int) {}
};
class CkEntryOptions {};
class CkCallback {};
class CkNcpyBuffer {};
struct CkNcpyBufferPost {};
CkNcpyBuffer CkSendBuffer(const void*);
CkNcpyBuffer CkSendBuffer(const void*, const CkCallback&);
void CkMatchBuffer(CkNcpyBufferPost*, int index, int tag);
struct GroupDepNum {
  int n = 0;
};
#define USE_DEFAULT_BRANCH_FACTOR 0
class CkSectionID {
 public:
  CkSectionID(const CkArrayID&, const std::vector<CkArrayIndex>&, int factor = 0);
};
namespace periapt {
template <class Index>
CkSectionID sectionOf(const CkArrayID&, const Index*, std::size_t, int factor);
}  // namespace periapt
enum { CK_PE_ANY = -1 };

// --- messages ---
class CkMessage {
 public:
  static void* alloc(int, std::size_t, int*, int, GroupDepNum);
};
class CkConditional {};
class CkArgMsg : public CkMessage {
 public:
  int argc;
  char** argv;
};
class CkMigrateMessage : public CkMessage {};
class CkReductionMsg : public CkMessage {};
class CkMarshallMsg : public CkMessage {
 public:
  static int __idx;
};
namespace periapt {
struct Delivery {
  void* arguments;
};
typedef void (*EntryFunction)(Delivery&, void*);
}  // namespace periapt
typedef void* (*CkPackFnPtr)(void*);
typedef void* (*CkUnpackFnPtr)(void*);
typedef void (*CkDeallocFnPtr)(void*);
void* CkAllocMsg(int type, std::size_t bytes, int priorityBits, GroupDepNum dependency = GroupDepNum{});
void CkFreeMsg(void* message);
namespace periapt {
template <std::size_t arrays>
struct MadeArrays {
  const void* message;
  std::size_t offsets[arrays];
};
}  // namespace periapt
#define ALIGN16(bytes) ((static_cast<std::size_t>(bytes) + 15) & ~static_cast<std::size_t>(15))

// --- chares ---
class Chare {
 public:
  Chare() = default;
  explicit Chare(CkMigrateMessage*) {}
  virtual ~Chare() = default;
  virtual void pup(PUP::er&) {}
};
class IrrGroup : public Chare {
 public:
  using Chare::Chare;
};
class Group : public IrrGroup {
 public:
  using IrrGroup::IrrGroup;
};
class NodeGroup : public IrrGroup {
 public:
  using IrrGroup::IrrGroup;
};
class ArrayElement : public Chare {
 public:
  using Chare::Chare;
};
template <class Index>
class ArrayElementT : public ArrayElement {
 public:
  using ArrayElement::ArrayElement;
  Index* thisIndex;
};
template <class Parent, class Proxy>
class CBaseT1 : public Parent {
 public:
  CBaseT1() = default;
  explicit CBaseT1(CkMigrateMessage* m) : Parent(m) {}
  Proxy thisProxy;
};
template <class Parent1, class Parent2, class Proxy>
class CBaseT2 : public Parent1, public Parent2 {
 public:
  Proxy thisProxy;
};
class CkArrayMap : public Group {
 public:
  CkArrayMap() = default;
  explicit CkArrayMap(CkMigrateMessage* m) : Group(m) {}
};

// --- bases of proxies and indices ---
class CProxy_Chare {
 public:
  CProxy_Chare() = default;
  CProxy_Chare(const CkChareID&) {}
  CProxy_Chare(const Chare*) {}
  const CkChareID& ckGetChareID() const;
  void pup(PUP::er&);
};
class CProxy_Group {
 public:
  CProxy_Group() = default;
  CProxy_Group(CkGroupID) {}
  CProxy_Group(const IrrGroup*) {}
  CkGroupID ckGetGroupID() const;
  void pup(PUP::er&);
};
class CProxyElement_Group : public CProxy_Group {
 public:
  CProxyElement_Group() = default;
  CProxyElement_Group(CkGroupID, int) {}
  CProxyElement_Group(const IrrGroup*) {}
};
class CProxySection_Group : public CProxy_Group {
 public:
  CProxySection_Group() = default;
  CProxySection_Group(CkGroupID, const int* pes, int count) { (void)pes, (void)count; }
};
struct CmiGroup {};
namespace periapt {
template <class Element, class Whole>
Element elementOf(const Whole&, Element element) {
  return element;
}
inline CProxySection_Group listed(const CProxy_Group&, int, const int*) { return {}; }
inline CProxySection_Group listed(const CProxy_Group&, const CmiGroup&) { return {}; }
}  // namespace periapt
class CProxy_NodeGroup {
 public:
  CProxy_NodeGroup() = default;
  CProxy_NodeGroup(CkGroupID) {}
  CProxy_NodeGroup(const IrrGroup*) {}
  CkGroupID ckGetGroupID() const;
  void pup(PUP::er&);
};
class CProxyElement_NodeGroup : public CProxy_NodeGroup {
 public:
  CProxyElement_NodeGroup() = default;
  CProxyElement_NodeGroup(CkGroupID, int) {}
  CProxyElement_NodeGroup(const IrrGroup*) {}
};
typedef CProxySection_Group CProxySection_NodeGroup;
class CProxy_ArrayElement {
 public:
  CProxy_ArrayElement() = default;
  CProxy_ArrayElement(const CkArrayID&) {}
  CProxy_ArrayElement(const ArrayElement*) {}
  CkArrayID ckGetArrayID() const;
  void pup(PUP::er&);
};
class CProxyElement_ArrayElement : public CProxy_ArrayElement {
 public:
  CProxyElement_ArrayElement() = default;
  CProxyElement_ArrayElement(const CkArrayID&, const CkArrayIndex&) {}
  CProxyElement_ArrayElement(const ArrayElement*) {}
};
class CProxySection_ArrayElement : public CProxy_ArrayElement {
 public:
  CProxySection_ArrayElement() = default;
  CProxySection_ArrayElement(const CkSectionID&) {}
  CkArrayIndex* ckGetArrayElements(int = 0) const;
};
class CkIndex_Chare {
 public:
  static int __idx;
};
class CkIndex_Group {
 public:
  static int __idx;
};
class CkIndex_NodeGroup {
 public:
  static int __idx;
};
class CkIndex_ArrayElement {
 public:
  static int __idx;
};
class CkIndex_CkArrayMap : public CkIndex_Group {
 public:
  static int __idx;
};
class CProxy_CkArrayMap : public CProxy_Group {
 public:
  using CProxy_Group::CProxy_Group;
};
class CProxyElement_CkArrayMap : public CProxyElement_Group {
 public:
  using CProxyElement_Group::CProxyElement_Group;
};
class CProxySection_CkArrayMap : public CProxySection_Group {
 public:
  using CProxySection_Group::CProxySection_Group;
};

// --- registration ---
enum ChareType { TypeChare, TypeMainChare, TypeGroup, TypeNodeGroup, TypeArray };
int CkRegisterMsg(const char* name, CkPackFnPtr, CkUnpackFnPtr, CkDeallocFnPtr, std::size_t size, bool relocatable);
int CkRegisterEp(const char* name, periapt::EntryFunction call, int message, int chare, unsigned flags,
                 unsigned stackSize = 0);
void CkRegisterAggregate(int bufferBytes);
int CkRegisterChare(const char* name, std::size_t size, ChareType type);
void CkRegisterArrayDimensions(int chare, int dimensions);
int CkRegisterMainChare(int chare, int constructor);
void CkRegisterDefaultCtor(int chare, int constructor);
void CkRegisterMigCtor(int chare, int constructor);
void CkRegisterBase(int derived, int base, std::ptrdiff_t offset);
void CkRegisterReadonly(const char* name, const char* type, std::size_t size, void* at, void (*pup)(void*, void*), int);
void CkRegisterPostEntry(int ep, void (*post)(periapt::Delivery&, void*, CkNcpyBufferPost*), std::size_t itemBytes = 0);
void CkRegisterInitCall(void (*function)(), bool perPe);

// --- periapt:: ---
namespace periapt {
enum ep_flag : unsigned {
  ep_marshalled = 1,
  ep_nokeep = 2,
  ep_threaded = 4,
  ep_sync = 8,
  ep_exclusive = 16,
  ep_expedited = 32,
  ep_immediate = 64,
  ep_inline = 128,
  ep_local = 256,
  ep_notrace = 512,
  ep_createhere = 1024,
  ep_createhome = 2048,
  ep_reductiontarget = 4096,
  ep_whenidle = 8192,
  ep_constructor = 16384,
  ep_nocopy = 32768,
  ep_nocopypost = 65536
};
enum send_flag : unsigned { send_expedited = 1, send_immediate = 2, send_together = 8, send_with_source = 16 };
template <class T>
struct ArrayToSend {};
template <class T, class N>
ArrayToSend<T> arrayArg(const T*, N);
template <class Proxy, class... Args>
void invoke(const Proxy&, int ep, unsigned send, const CkEntryOptions*, const Args&...);
template <class Proxy>
void invokeMessage(const Proxy&, int ep, unsigned send, CkMessage*);
template <class Result, class Proxy, class... Args>
Result invokeSync(const Proxy&, int ep, const CkEntryOptions*, const Args&...);
template <class Result, class Proxy>
Result invokeSyncMessage(const Proxy&, int ep, CkMessage*);
template <class Proxy, class... Args>
CkFutureID invokeGet(const Proxy&, int ep, const CkEntryOptions*, const Args&...);
template <class Proxy>
CkFutureID invokeGetMessage(const Proxy&, int ep, CkMessage*);
struct SyncCaller {};
SyncCaller syncCaller(const Delivery&);
void replySync(const Delivery&);
void replySync(const SyncCaller&);
template <class T>
void replySync(const Delivery&, const T&);
template <class T>
void replySync(const SyncCaller&, const T&);
class Unmarshal {
 public:
  explicit Unmarshal(const Delivery&);
};
template <class T>
class Arg {
 public:
  explicit Arg(Unmarshal&);
  T&& move();
  T& ref();
};
template <class T>
class ArrayArg {
 public:
  explicit ArrayArg(Unmarshal&);
  T*& data();
};
template <class T>
struct NcpyToSend {};
template <class T, class N>
NcpyToSend<T> ncpyArg(const CkNcpyBuffer&, N);
class NcpyUnmarshal : public Unmarshal {
 public:
  NcpyUnmarshal(const Delivery&, unsigned arrays);
};
template <class T>
class NcpyArg {
 public:
  explicit NcpyArg(NcpyUnmarshal&);
  T*& data();
};
template <class T>
class NcpyPosting {
 public:
  explicit NcpyPosting(NcpyUnmarshal&);
  T*& data();
};
template <class T, class N>
void assigned(CkNcpyBufferPost&, T*, N);
class ReductionArgs {
 public:
  explicit ReductionArgs(const Delivery&);
  template <class T>
  T* array() const;
  template <class T>
  std::size_t count() const;
};
template <class T>
class ReductionArg {
 public:
  explicit ReductionArg(ReductionArgs&);
  T&& move();
  T& ref();
};
template <class... Args>
CkChareID newChare(int type, int ep, int onPE, const CkEntryOptions*, const Args&...);
CkChareID newChareMessage(int type, int ep, int onPE, CkMessage*);
template <class... Args>
CkGroupID newGroup(int type, int ep, const CkEntryOptions*, const Args&...);
CkGroupID newGroupMessage(int type, int ep, CkMessage*);
template <class... Args>
CkGroupID newNodeGroup(int type, int ep, const CkEntryOptions*, const Args&...);
CkGroupID newNodeGroupMessage(int type, int ep, CkMessage*);
template <class... Args>
CkArrayID newArray(int type, int ep, const CkArrayOptions&, const CkEntryOptions*, const Args&...);
CkArrayID newArrayMessage(int type, int ep, const CkArrayOptions&, CkMessage*);
CkArrayID newEmptyArray(int type, const CkArrayOptions&);
template <class... Args>
void newArrayAsync(int type, int ep, const CkArrayOptions&, const CkCallback&, const CkEntryOptions*, const Args&...);
void newArrayAsyncMessage(int type, int ep, const CkArrayOptions&, const CkCallback&, CkMessage*);
template <class... Args>
void insertElement(const CProxyElement_ArrayElement&, int ep, int onPE, const CkEntryOptions*, const Args&...);
void insertElementMessage(const CProxyElement_ArrayElement&, int ep, int onPE, CkMessage*);
void* localObject(const CProxyElement_ArrayElement&);
void* localObject(const CProxy_Chare&);
void* localBranch(const CProxy_Group&);
void* localBranch(const CProxy_NodeGroup&);
void* localMember(const CProxyElement_Group&);
void* localMember(const CProxyElement_NodeGroup&);
template <class Proxy>
[[noreturn]] void notLocal(const Proxy&, const char* chare, const char* method);
template <class T>
void migrationConstruct(void*);
template <class T>
void pupReadonly(void*, void*);
template <class Pointer>
void pupReadonlyMessage(void*, void*);
template <class T>
void dropConditional(T*&);
template <class M, class... T>
void* packConditional(M*, T* M::*...);
template <class M, class... T>
void unpackConditional(M*, T* M::*...);
template <class Derived, class Base>
std::ptrdiff_t baseOffset();
}  // namespace periapt
