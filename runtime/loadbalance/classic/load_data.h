// Objects and messages as balancers written for Charm++ see them: names and fields are those that such programs use.
// C++17: reached from lbdb.h.
#pragma once
#include <cstddef>
#include <vector>

#include "base/cmk.h"
#include "runtime/pup/pup.h"
#include "runtime/pup/stl.h"
#include "runtime/registry/ids.h"

#define CMK_LBDB_ON 1
#define CMK_LB_CPUTIMER 1
#define CMK_LB_USER_DATA 1

typedef double LBRealType;
typedef int LDObjIndex;
typedef int LDOMIndex;

// An array, or a manager of a program's own objects, whose handle has a number from 1 on.
struct LDOMid {
  CkGroupID id;
  bool operator==(const LDOMid& o) const { return id == o.id; }
  bool operator!=(const LDOMid& o) const { return id != o.id; }
  bool operator<(const LDOMid& o) const { return id < o.id; }
  void pup(PUP::er& p) { p | id; }
};
struct LDOMHandle {
  LDOMid id;
  int handle = 0;
  bool operator==(const LDOMHandle& o) const { return handle == o.handle && id == o.id; }
  void pup(PUP::er& p) {
    p | id;
    p | handle;
  }
};

// An element of it.
struct LDObjKey {
  LDOMid omId;
  CmiUInt8 objId = 0;
  bool operator==(const LDObjKey& o) const { return omId == o.omId && objId == o.objId; }
  bool operator<(const LDObjKey& o) const { return omId == o.omId ? objId < o.objId : omId < o.omId; }
  LDOMid& omID() { return omId; }
  const LDOMid& omID() const { return omId; }
  CmiUInt8& objID() { return objId; }
  const CmiUInt8& objID() const { return objId; }
  void pup(PUP::er& p) {
    p | omId;
    p | objId;
  }
};
struct LDObjHandle {
  LDOMHandle omhandle;
  CmiUInt8 id = 0;
  LDObjIndex handle = 0;  // in a balancer's list, its place there
  const LDOMid& omID() const { return omhandle.id; }
  const CmiUInt8& objID() const { return id; }
  bool operator==(const LDObjHandle& o) const { return id == o.id && omhandle == o.omhandle; }
  void pup(PUP::er& p) {
    p | omhandle;
    p | id;
    p | handle;
  }
};

// What balancing asks a manager of a program's own objects for. Only `migrate` is called here: the object moves to that
// PE, registers there and calls LBManager::Migrated().
typedef void (*LDMigrateFn)(LDObjHandle object, int to);
typedef void (*LDStatsFn)(LDOMHandle manager, int state);
typedef void (*LDQueryEstLoadFn)(LDOMHandle manager);
typedef void (*LDMetaLBResumeWaitingCharesFn)(LDObjHandle object, int period);
typedef void (*LDMetaLBCallLBOnCharesFn)(LDObjHandle object);
struct LDCallbacks {
  LDMigrateFn migrate = nullptr;
  LDStatsFn setStats = nullptr;
  LDQueryEstLoadFn queryEstLoad = nullptr;
  LDMetaLBResumeWaitingCharesFn metaLBResumeWaitingChares = nullptr;
  LDMetaLBCallLBOnCharesFn metaLBCallLBOnChares = nullptr;
};

// What an element has written to getObjUserData().
class LBObjUserData {
 public:
  LBObjUserData() = default;
  explicit LBObjUserData(std::vector<char> data) : data_(std::move(data)) {}
  void* getData(int index) { return data_.data() + index; }
  void pup(PUP::er& p) { p | data_; }

 private:
  std::vector<char> data_;
};

struct LDObjData {
  LDObjHandle handle;
  LBRealType wallTime = 0;
  LBRealType cpuTime = 0;  // the same as wallTime, unless +LBUseCpuTime measures it
  bool migratable = true;
  bool asyncArrival = false;
  LBObjUserData userData;
  CmiUInt2 pupSize = 0;  // see pup_decodeSize()
  const LDOMHandle& omHandle() const { return handle.omhandle; }
  const LDOMid& omID() const { return handle.omhandle.id; }
  const CmiUInt8& objID() const { return handle.id; }
  const CmiUInt8& id() const { return handle.id; }
  // `index`: what LBRegisterObjUserData() has returned.
  void* getUserData(int index) { return userData.getData(index); }
  void pup(PUP::er& p) {
    p | handle;
    p | wallTime;
    p | cpuTime;
    p | migratable;
    p | asyncArrival;
    p | userData;
    p | pupSize;
  }
};

// Kinds of receivers: a PE, an object, several objects. Here all are objects.
#define LD_PROC_MSG 1
#define LD_OBJ_MSG 2
#define LD_OBJLIST_MSG 3

class LDCommDesc {
 public:
  char type = LD_OBJ_MSG;
  char& get_type() { return type; }
  char get_type() const { return type; }
  int proc() const { return type == LD_PROC_MSG ? pe_ : -1; }
  void setProc(int pe) { pe_ = pe; }
  int lastKnown() const { return type == LD_OBJLIST_MSG ? -1 : pe_; }
  LDObjKey& get_destObj() { return objects_.front(); }
  const LDObjKey& get_destObj() const { return objects_.front(); }
  LDObjKey* get_destObjs(int& count) {
    count = static_cast<int>(objects_.size());
    return objects_.data();
  }
  void init_objmsg(LDOMid array, CmiUInt8 element, int pe) {
    type = LD_OBJ_MSG;
    pe_ = pe;
    objects_[0] = {array, element};
  }
  bool operator==(const LDCommDesc& o) const {
    return type == o.type && (type == LD_PROC_MSG ? pe_ == o.pe_ : objects_ == o.objects_);
  }
  void pup(PUP::er& p) {
    p | type;
    p | pe_;
    p | objects_;
  }

 private:
  int pe_ = -1;
  std::vector<LDObjKey> objects_ = std::vector<LDObjKey>(1);
};

struct LDCommData {
  int src_proc = -1;  // the sender, where it is a PE
  LDObjKey sender;    // the sender, where it is an object
  LDCommDesc receiver;
  int sendHash = -1, recvHash = -1;
  int messages = 0;
  int bytes = 0;
  int from_proc() const { return src_proc != -1; }
  int recv_type() const { return receiver.get_type(); }
  void clearHash() { sendHash = recvHash = -1; }
  void pup(PUP::er& p) {
    p | src_proc;
    p | sender;
    p | receiver;
    p | messages;
    p | bytes;
  }
};
