// The base classes of parallel objects, as programs derive from them. C++17: reached from charm++.h.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/void_t.h"
#include "runtime/api/array_index.h"
#include "runtime/api/callback.h"
#include "runtime/api/device_contribution.h"
#include "runtime/api/reducers.h"
#include "runtime/converse/cmi.h"
#include "runtime/registry/messages.h"

namespace periapt {
class ArrayBroadcasts;
class ArrayManager;
class BalanceHook;
class GroupReduction;
class LocalElements;
class PeObjects;
}  // namespace periapt
class LBManager;

#define CHARM_INPLACE_NEW

// What every parallel object is.
class CkObject {
 public:
  virtual ~CkObject() = default;
  // Serialises the object: migration, checkpoint.
  virtual void pup(PUP::er& p) {}
  // What the runtime calls; generated and template code overrides it to visit the bases first.
  virtual void virtual_pup(PUP::er& p) { pup(p); }
  void parent_pup(PUP::er&) {}
};

class Chare : public CkObject {
 protected:
  CkChareID thishandle;

 public:
  Chare();
  explicit Chare(CkMigrateMessage*) : Chare() {}
  ~Chare() override;
  const CkChareID& ckGetChareID() const { return thishandle; }
  void CkGetChareID(CkChareID* id) const { *id = thishandle; }
  // For programs that make threads as Charm++'s generated code does. Traces hear of every thread anyway.
  template <class Thread>
  void CkAddThreadListeners(Thread, void*) {}
};
// What such a thread is given.
class CkThrCallArg {
 public:
  void* msg;
  void* obj;
  CkThrCallArg(void* message, void* object) : msg(message), obj(object) {}
};

#define PERIAPT_CONTRIBUTE_METHODS                                                                                   \
  void contribute(int size, const void* data, CkReduction::reducerType type,                                         \
                  CMK_REFNUM_TYPE userFlag = static_cast<CMK_REFNUM_TYPE>(-1)) {                                     \
    contributeData(size, data, type, nullptr, userFlag);                                                             \
  }                                                                                                                  \
  void contribute(int size, const void* data, CkReduction::reducerType type, const CkCallback& cb,                   \
                  CMK_REFNUM_TYPE userFlag = static_cast<CMK_REFNUM_TYPE>(-1)) {                                     \
    contributeData(size, data, type, &cb, userFlag);                                                                 \
  }                                                                                                                  \
  template <typename T>                                                                                              \
  void contribute(const std::vector<T>& data, CkReduction::reducerType type, const CkCallback& cb,                   \
                  CMK_REFNUM_TYPE userFlag = static_cast<CMK_REFNUM_TYPE>(-1)) {                                     \
    contributeData(static_cast<std::size_t>(sizeof(T)) * data.size(), data.data(), type, &cb, userFlag);             \
  }                                                                                                                  \
  template <typename T>                                                                                              \
  void contribute(const std::vector<T>& data, CkReduction::reducerType type,                                         \
                  CMK_REFNUM_TYPE userFlag = static_cast<CMK_REFNUM_TYPE>(-1)) {                                     \
    contributeData(static_cast<std::size_t>(sizeof(T)) * data.size(), data.data(), type, nullptr, userFlag);         \
  }                                                                                                                  \
  /* of memory of a GPU (device_contribution.h) */                                                                   \
  void contribute(std::size_t size, const CkDeviceBuffer& data, CkReduction::reducerType type, const CkCallback& cb, \
                  CMK_REFNUM_TYPE userFlag = static_cast<CMK_REFNUM_TYPE>(-1)) {                                     \
    const periapt::DeviceContribution named(size, data, type, deviceContributor());                                  \
    contributeData(sizeof named, &named, named.reducer(), &cb, userFlag);                                            \
  }                                                                                                                  \
  void contribute(std::size_t size, const CkDeviceBuffer& data, CkReduction::reducerType type,                       \
                  CMK_REFNUM_TYPE userFlag = static_cast<CMK_REFNUM_TYPE>(-1)) {                                     \
    const periapt::DeviceContribution named(size, data, type, deviceContributor());                                  \
    contributeData(sizeof named, &named, named.reducer(), nullptr, userFlag);                                        \
  }                                                                                                                  \
  void contribute(CkReductionMsg* message) { contributeMessage(message); }                                           \
  void contribute(const CkCallback& cb, CMK_REFNUM_TYPE userFlag = static_cast<CMK_REFNUM_TYPE>(-1)) {               \
    contributeData(0, nullptr, CkReduction::nop, &cb, userFlag);                                                     \
  }                                                                                                                  \
  void contribute(CMK_REFNUM_TYPE userFlag = static_cast<CMK_REFNUM_TYPE>(-1)) {                                     \
    contributeData(0, nullptr, CkReduction::nop, nullptr, userFlag);                                                 \
  }

// A group without reductions.
class IrrGroup : public Chare {
 protected:
  CkGroupID thisgroup;

 public:
  IrrGroup();
  explicit IrrGroup(CkMigrateMessage*) : IrrGroup() {}
  const CkGroupID& ckGetGroupID() const { return thisgroup; }
  CkGroupID CkGetGroupID() const { return thisgroup; }
  CkGroupID getGroupID() const { return thisgroup; }
  virtual bool isNodeGroup() { return false; }
  virtual bool isLocMgr() { return false; }
  virtual bool isArrMgr() { return false; }
  virtual bool isReductionMgr() { return false; }
  virtual void flushStates() {}
  static int isIrreducible() { return 1; }
};

class Group : public IrrGroup {
 public:
  const int thisIndex;  // the PE
  Group();
  explicit Group(CkMigrateMessage*) : Group() {}
  int getRedNo() const { return static_cast<int>(next_reduction_); }
  PERIAPT_CONTRIBUTE_METHODS
  void setReductionClient(const CkCallback& cb);
  void ckSetReductionClient(CkCallback* cb);
  // Empty reduction: the callback is called when every member has come here.
  void barrier(const CkCallback& cb) { contributeData(0, nullptr, CkReduction::nop, &cb, -1); }
  static int isIrreducible() { return 0; }

 private:
  friend class periapt::PeObjects;
  std::uint32_t next_reduction_ = 0;
  void contributeData(std::size_t size, const void* data, CkReduction::reducerType type, const CkCallback* cb,
                      CMK_REFNUM_TYPE user_flag);
  void contributeMessage(CkReductionMsg* message);
  periapt::DeviceContributor deviceContributor() const;
};

class NodeGroup : public IrrGroup {
 public:
  const int thisIndex;  // the process
  // Held while an [exclusive] entry runs. A program that takes it keeps those away.
  CmiNodeLock __nodelock;
  NodeGroup();
  explicit NodeGroup(CkMigrateMessage*) : NodeGroup() {}
  ~NodeGroup() override;
  bool isNodeGroup() override { return true; }
  CkGroupID CkGetNodeGroupID() const { return thisgroup; }
  static int isIrreducible() { return 0; }
  PERIAPT_CONTRIBUTE_METHODS
  void ckSetReductionClient(CkCallback* cb);

 private:
  void contributeData(std::size_t size, const void* data, CkReduction::reducerType type, const CkCallback* cb,
                      CMK_REFNUM_TYPE user_flag);
  void contributeMessage(CkReductionMsg* message);
  periapt::DeviceContributor deviceContributor() const;
};

// An element that may live on any PE. Its state is kept small: there may be millions.
class CkMigratable : public CkObject {
 public:
  CkMigratable() = default;
  explicit CkMigratable(CkMigrateMessage*) {}
  template <class Thread>
  void CkAddThreadListeners(Thread, void*) {}
  // Called in place of pup() order by the runtime around a migration.
  virtual void ckAboutToMigrate() {}
  virtual void ckJustMigrated() {}
  virtual void ckJustRestored() {}
  virtual void ckDestroy() = 0;
  // Load balancing, see runtime/loadbalance.
  virtual void ResumeFromSync() {}
  virtual void UserSetLBLoad() {}

  // What programs do with an element that they hold by this base: the element's own functions of these names.
  CkArrayIndex ckGetArrayIndex() const;
  CmiUInt8 ckGetID() const;
  void ckMigrate(int toPe);
  void AtSync(int waitForMigration = 1);
  LBManager* getLBMgr() const;
  double getObjTime();
  void setObjTime(double seconds);
  void* getObjUserData(int index);
  void setMigratable(int migratable);
  void setPupSize(std::size_t) {}
  // Elements go as soon as a balancer has decided: none ever asks them.
  int MigrateToPe() { return -1; }
  void ReadyMigrate(bool) {}
};

// Where an element is known: what programs reach from inside of it by `myRec->`, and of others by CkLocation.
struct LDObjHandle;
class CkLocRec {
 public:
  // By what balancers name the element (lbdb.h): the same everywhere, as long as it lives.
  LDObjHandle getLdHandle() const;
  std::uint64_t getID() const { return id_; }
  CkArrayIndex getIndex() const;
  CkArray* getLocMgr() const { return array_; }
  LBManager* getLBMgr() const { return element().getLBMgr(); }
  // As the element's own.
  void migrateMe(int toPe) { element().ckMigrate(toPe); }
  void destroy() { element().ckDestroy(); }
  double getObjTime() { return element().getObjTime(); }
  void setObjTime(double seconds) { element().setObjTime(seconds); }
  void* getObjUserData(int index) { return element().getObjUserData(index); }
  void setMigratable(int migratable) { element().setMigratable(migratable); }
  void setPupSize(std::size_t) {}
  int MigrateToPe() { return -1; }
  void ReadyMigrate(bool) {}
  CkLocRec* operator->() { return this; }
  const CkLocRec* operator->() const { return this; }
  // Of `myRec` itself: goes with its element. CkLocMgr::elementNrec() is a record that stays.
  operator CkLocRec*() { return this; }

 private:
  friend class ArrayElement;
  friend class periapt::ArrayManager;
  CkMigratable& element() const;
  CkArray* array_;
  std::uint64_t id_;
};

class ArrayElement : public CkMigratable {
 public:
  ArrayElement();
  explicit ArrayElement(CkMigrateMessage*) : ArrayElement() {}
  ~ArrayElement() override;

  CkArrayIndex ckGetArrayIndex() const;
  CkArrayID ckGetArrayID() const { return thisArrayID; }
  ck::ObjID ckGetID() const { return {thisArrayID, myRec.id_}; }
  // Says the PE that it is on, and takes no calls. An element keeps no thishandle: that would be a sixth of what it
  // takes.
  CkChareID ckGetChareID() const;
  void CkGetChareID(CkChareID* id) const { *id = ckGetChareID(); }
  CkArray* ckGetArrayManager() const { return myRec.array_; }
  int ckGetArraySize() const;
  // The number of the reduction to which it contributes next.
  int getRedNo() const { return static_cast<int>(next_reduction_); }

  PERIAPT_CONTRIBUTE_METHODS
  // Moves this element to another PE. The element is gone when this returns: let it be the last thing done. (While
  // threads of its entries run it stays, and goes when the last of them has ended.)
  void ckMigrate(int toPe);
  void migrateMe(int toPe) { ckMigrate(toPe); }
  void ckEmigrate(int toPe) { ckMigrate(toPe); }
  // Removes this element from its array; likewise the last thing done.
  void ckDestroy() override;

  // Load balancing: every element of the program that usesAtSync calls AtSync(); after balancing each gets
  // ResumeFromSync(), on its new PE.
  void AtSync(int waitForMigration = 1);
  bool ckUsesAtSync() const { return usesAtSync; }
  LBManager* getLBMgr() const;
  void setMigratable(bool migratable) { migratable_ = migratable; }
  bool ckIsMigratable() const { return migratable_; }
  double getObjTime() const;
  void setObjTime(double seconds);
  // It has nothing to do: a balancer that looks at sizes is told what pup() packs.
  void setPupSize(std::size_t) {}
  // Where its work is, in the program's own coordinates: for strategies that keep near what is near. To be said before
  // each AtSync(), as it is forgotten when the element moves.
  void setObjPosition(double x, double y = 0, double z = 0);
  // Its load in each phase of the program, where all wait for all of one phase before the next one begins, instead of
  // setObjTime(): for strategies that keep each phase even. Up to 8 phases. To be said before each AtSync(), as it is
  // forgotten when the element moves.
  void setObjPhases(const double* seconds, int phases);
  // Bytes for a balancer of the program's own, at the place that LBRegisterObjUserData() has returned. To be written
  // before each AtSync(), as they are forgotten when the element moves.
  void* getObjUserData(int index);

  void pup(PUP::er& p) override;

  // Of a class with bodies in its .ci (runtime/sdag). It is to go to PE `to`; true: code of a body runs, and it goes
  // when that has returned. Then, that it leaves.
  virtual bool impl_runs(int to) { return false; }
  virtual void impl_leaves() {}

 protected:
  friend class periapt::ArrayManager;
  friend class periapt::ArrayBroadcasts;  // broadcast_epoch_
  friend class periapt::LocalElements;    // position_
  friend class periapt::BalanceHook;
  friend class CkArray;  // myRec, of elementNrec()
  CkArrayID thisArrayID;
  bool usesAtSync = false;
  bool usesAutoMeasure = true;

 private:
  bool migratable_ = true;

 protected:
  // One pointer under two names: an element is as large as it was without the second.
  union {
    CkLocRec myRec;
    CkArray* thisArray;  // myRec.array_
  };

 private:
  void contributeData(std::size_t size, const void* data, CkReduction::reducerType type, const CkCallback* cb,
                      CMK_REFNUM_TYPE user_flag);
  void contributeMessage(CkReductionMsg* message);
  periapt::DeviceContributor deviceContributor() const;

  std::uint32_t position_ = 0;         // in the list of local elements
  std::uint32_t next_reduction_ = 0;   // number of the next contribution
  std::uint32_t broadcast_epoch_ = 0;  // last broadcast this element has seen
  std::uint32_t life_ = 0;             // these two order what other PEs hear about where it is
  std::uint32_t migrations_ = 0;
  std::int32_t load_slot_ = -1;  // number of the balancer's record, when it takes part
};

inline CkArrayIndex CkMigratable::ckGetArrayIndex() const {
  return static_cast<const ArrayElement*>(this)->ckGetArrayIndex();
}
inline CmiUInt8 CkMigratable::ckGetID() const {
  return static_cast<const ArrayElement*>(this)->ckGetID().getElementID();
}
inline void CkMigratable::ckMigrate(int toPe) { static_cast<ArrayElement*>(this)->ckMigrate(toPe); }
inline void CkMigratable::AtSync(int waits) { static_cast<ArrayElement*>(this)->AtSync(waits); }
inline LBManager* CkMigratable::getLBMgr() const { return static_cast<const ArrayElement*>(this)->getLBMgr(); }
inline double CkMigratable::getObjTime() { return static_cast<ArrayElement*>(this)->getObjTime(); }
inline void CkMigratable::setObjTime(double seconds) { static_cast<ArrayElement*>(this)->setObjTime(seconds); }
inline void* CkMigratable::getObjUserData(int i) { return static_cast<ArrayElement*>(this)->getObjUserData(i); }
inline void CkMigratable::setMigratable(int is) { static_cast<ArrayElement*>(this)->setMigratable(is); }

// An index to be printed, its numbers with ';' between them: until the next call on this thread.
const char* idx2str(const CkArrayIndex& index);
const char* idx2str(const ArrayElement* element);

// The index as old programs name it, of an element of any kind. (No member: an element does not hold it.)
#define thisIndexMax ckGetArrayIndex()

namespace periapt {
// The member thisIndex. `array [Fancy]`: a Fancy, which CkArrayIndexFancy has put into the words of the index.
template <class Index>
struct IndexValue {
  typedef Index type;
  static type of(const CkArrayIndex& i) {
    if constexpr (std::is_base_of<CkArrayIndex, Index>::value)
      return static_cast<const Index&>(i);
    else
      return *reinterpret_cast<const Index*>(i.index);
  }
};
template <>
struct IndexValue<CkArrayIndex1D> {
  typedef CkIndex1D type;
  static type of(const CkArrayIndex& i) { return i.index[0]; }
};
template <>
struct IndexValue<CkArrayIndex2D> {
  typedef CkIndex2D type;
  static type of(const CkArrayIndex& i) { return {i.index[0], i.index[1]}; }
};
template <>
struct IndexValue<CkArrayIndex3D> {
  typedef CkIndex3D type;
  static type of(const CkArrayIndex& i) { return {i.index[0], i.index[1], i.index[2]}; }
};
template <>
struct IndexValue<CkArrayIndex4D> {
  typedef CkIndex4D type;
  static type of(const CkArrayIndex& i) {
    return {i.indexShorts[0], i.indexShorts[1], i.indexShorts[2], i.indexShorts[3]};
  }
};
template <>
struct IndexValue<CkArrayIndex5D> {
  typedef CkIndex5D type;
  static type of(const CkArrayIndex& i) {
    return {i.indexShorts[0], i.indexShorts[1], i.indexShorts[2], i.indexShorts[3], i.indexShorts[4]};
  }
};
template <>
struct IndexValue<CkArrayIndex6D> {
  typedef CkIndex6D type;
  static type of(const CkArrayIndex& i) {
    const short* s = i.indexShorts;
    return {s[0], s[1], s[2], s[3], s[4], s[5]};
  }
};
// Also by the plain index type, as old programs write ArrayElementT<CkIndex2D>.
template <>
struct IndexValue<CkIndex1D> : IndexValue<CkArrayIndex1D> {};
template <>
struct IndexValue<CkIndex2D> : IndexValue<CkArrayIndex2D> {};
template <>
struct IndexValue<CkIndex3D> : IndexValue<CkArrayIndex3D> {};
}  // namespace periapt

template <class Index>
class ArrayElementT : public ArrayElement {
 public:
  typedef typename periapt::IndexValue<Index>::type IndexType;
  typedef Index array_index_t;
  ArrayElementT() : thisIndex(periapt::IndexValue<Index>::of(ckGetArrayIndex())) {}
  explicit ArrayElementT(CkMigrateMessage*) : ArrayElementT() {}
  IndexType thisIndex;
};
typedef ArrayElementT<CkArrayIndex1D> ArrayElement1D;
typedef ArrayElementT<CkArrayIndex2D> ArrayElement2D;
typedef ArrayElementT<CkArrayIndex3D> ArrayElement3D;
typedef ArrayElementT<CkArrayIndex4D> ArrayElement4D;
typedef ArrayElementT<CkArrayIndex5D> ArrayElement5D;
typedef ArrayElementT<CkArrayIndex6D> ArrayElement6D;
typedef ArrayElementT<CkIndexMax> ArrayElementMax;

// --- CBase_X -------------------------------------------------------------------------------------------------------
namespace periapt {
// Classes whose virtual_pup() visits their bases say so by this name: CBase_X, and With of runtime/sdag. It is no base
// class, which one derived from two of them would have twice.
template <class T, class = void>
struct PupsBases : std::false_type {};
template <class T>
struct PupsBases<T, periapt::void_t<typename T::pups_bases_t>> : std::true_type {};
// Pups a class and its bases once each: user classes write pup() for their own members only.
template <class T>
void pup_base(T* object, PUP::er& p) {
  if constexpr (PupsBases<T>::value)
    object->T::virtual_pup(p);
  else
    object->T::pup(p);
}
}  // namespace periapt

#define PERIAPT_CBASE_MEMBERS                            \
  typedef typename Proxy::local_t local_t;               \
  typedef typename Proxy::index_t index_t;               \
  typedef void pups_bases_t;                             \
  typedef typename Proxy::proxy_t proxy_t;               \
  typedef typename Proxy::element_t element_t;           \
  Proxy thisProxy;                                       \
  /* old programs call CBase_X::pup(p) from their own */ \
  void pup(PUP::er&) override {}                         \
  void virtual_pup(PUP::er& p) override {                \
    parent_pup(p);                                       \
    static_cast<local_t*>(this)->local_t::pup(p);        \
  }

namespace periapt {
// Whether arguments of a constructor are an object of the same class, to be copied. (Whether a base takes them cannot
// be asked: it may be abstract, or its constructor protected.)
template <class T, class... Args>
struct IsCopied : std::false_type {};
template <class T, class Arg>
struct IsCopied<T, Arg> : std::is_base_of<T, std::decay_t<Arg>> {};
}  // namespace periapt

template <class Parent, class Proxy>
struct CBaseT1 : public Parent {
  template <class... Args, class = std::enable_if_t<!periapt::IsCopied<CBaseT1, Args...>::value>>
  CBaseT1(Args&&... args) : Parent(std::forward<Args>(args)...), thisProxy(static_cast<Parent*>(this)) {}
  void parent_pup(PUP::er& p) { periapt::pup_base<Parent>(this, p); }
  PERIAPT_CBASE_MEMBERS
};

template <class Parent1, class Parent2, class Proxy>
struct CBaseT2 : public Parent1, public Parent2 {
  CBaseT2() : thisProxy(static_cast<Parent1*>(this)) {}
  explicit CBaseT2(CkMigrateMessage* m) : Parent1(m), Parent2(m), thisProxy(static_cast<Parent1*>(this)) {}
  void parent_pup(PUP::er& p) {
    periapt::pup_base<Parent1>(this, p);
    periapt::pup_base<Parent2>(this, p);
  }
  PERIAPT_CBASE_MEMBERS
};
