// The result of a reduction, as a program gets it. C++17: reached from charm++.h.
#pragma once
#include "runtime/api/callback.h"
#include "runtime/api/reducers.h"
#include "runtime/registry/messages.h"

class CMessage_CkReductionMsg {
 public:
  static int __idx;
};

class alignas(16) CkReductionMsg : public CkMessage {
 public:
  static CkReductionMsg* buildNew(int size, const void* data, CkReduction::reducerType reducer = CkReduction::invalid,
                                  CkReductionMsg* reuse = nullptr);
  // Several reductions at once, with reducer CkReduction::tuple.
  static CkReductionMsg* buildFromTuple(CkReduction::tupleElement* elements, int count);
  // A new[] array that the caller deletes.
  void toTuple(CkReduction::tupleElement** elements, int* count) const;

  int getLength() const { return static_cast<int>(size_); }
  int getSize() const { return static_cast<int>(size_); }
  void* getData() { return this + 1; }
  const void* getData() const { return this + 1; }
  // False of a sum, and, as in Charm++, of a contribution that was alone on its PE and has come from there as it was.
  bool isFromUser() const { return reduced_ == 0; }
  int getGcount() const { return static_cast<int>(sources_); }
  CkReduction::reducerType getReducer() const { return reducer_; }
  int getRedNo() const { return round_; }
  CMK_REFNUM_TYPE getUserFlag() const { return user_flag_; }
  // Whom the result goes to, for contribute(CkReductionMsg*).
  void setCallback(const CkCallback& callback) { callback_ = callback; }
  const CkCallback& getCallback() const { return callback_; }
  void setUserFlag(CMK_REFNUM_TYPE flag) { user_flag_ = flag; }

  // It holds no pointers: there is nothing to do.
  static void* pack(CkReductionMsg* message) { return message; }
  static CkReductionMsg* unpack(void* bytes) { return static_cast<CkReductionMsg*>(bytes); }
  void operator delete(void* message) { CkFreeMsg(message); }

 private:
  friend struct ReductionMessageFields;
  std::uint64_t size_;
  CkReduction::reducerType reducer_;
  std::uint32_t sources_;
  std::int32_t round_;
  CMK_REFNUM_TYPE user_flag_;
  std::uint32_t reduced_;
  [[maybe_unused]] std::uint32_t pad_;
  CkCallback callback_;
};
static_assert(sizeof(CkReductionMsg) % 16 == 0, "the data of a CkReductionMsg are aligned to 16");
