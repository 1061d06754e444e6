// What an array is to be: bounds, first elements, map, binding. C++17: reached from charm++.h.
#pragma once
#include <vector>

#include "runtime/api/array_index.h"
#include "runtime/api/array_listener.h"
#include "runtime/api/callback.h"
#include "runtime/containers/vec.h"

class CProxy_ArrayBase;

class CkArrayOptions {
 public:
  CkArrayOptions() = default;
  CkArrayOptions(int n1) { setNumInitial(n1); }
  CkArrayOptions(int n1, int n2) { setNumInitial(CkArrayIndex2D(n1, n2)); }
  CkArrayOptions(int n1, int n2, int n3) { setNumInitial(CkArrayIndex3D(n1, n2, n3)); }
  CkArrayOptions(short n1, short n2, short n3, short n4) { setNumInitial(CkArrayIndex4D(n1, n2, n3, n4)); }
  CkArrayOptions(short n1, short n2, short n3, short n4, short n5) {
    setNumInitial(CkArrayIndex5D(n1, n2, n3, n4, n5));
  }
  CkArrayOptions(short n1, short n2, short n3, short n4, short n5, short n6) {
    setNumInitial(CkArrayIndex6D(n1, n2, n3, n4, n5, n6));
  }
  CkArrayOptions(int dimensions, int counts[]) { setNumInitial(CkArrayIndex(dimensions, counts)); }
  // start, start + step ... below end, in every dimension
  CkArrayOptions(const CkArrayIndex& start, const CkArrayIndex& end, const CkArrayIndex& step)
      : start_(start), end_(end), step_(step), populated_(true) {}

  CkArrayOptions& setStart(const CkArrayIndex& i) { return set(start_, i); }
  CkArrayOptions& setEnd(const CkArrayIndex& i) { return set(end_, i); }
  CkArrayOptions& setStep(const CkArrayIndex& i) { return set(step_, i); }
  CkArrayOptions& setNumInitial(int n1) { return setNumInitial(CkArrayIndex1D(n1)); }
  CkArrayOptions& setNumInitial(int n1, int n2) { return setNumInitial(CkArrayIndex2D(n1, n2)); }
  CkArrayOptions& setNumInitial(int n1, int n2, int n3) { return setNumInitial(CkArrayIndex3D(n1, n2, n3)); }
  CkArrayOptions& setNumInitial(short n1, short n2, short n3, short n4) {
    return setNumInitial(CkArrayIndex4D(n1, n2, n3, n4));
  }
  CkArrayOptions& setNumInitial(short n1, short n2, short n3, short n4, short n5) {
    return setNumInitial(CkArrayIndex5D(n1, n2, n3, n4, n5));
  }
  CkArrayOptions& setNumInitial(short n1, short n2, short n3, short n4, short n5, short n6) {
    return setNumInitial(CkArrayIndex6D(n1, n2, n3, n4, n5, n6));
  }
  CkArrayOptions& setNumInitial(const CkArrayIndex& end) {
    start_ = CkArrayIndex(end.dimension, 0);
    step_ = CkArrayIndex(end.dimension, 1);
    end_ = end;
    populated_ = true;
    return *this;
  }
  // Bounds for the map, without making elements.
  CkArrayOptions& setBounds(int n1) { return setBounds(CkArrayIndex1D(n1)); }
  CkArrayOptions& setBounds(int n1, int n2) { return setBounds(CkArrayIndex2D(n1, n2)); }
  CkArrayOptions& setBounds(int n1, int n2, int n3) { return setBounds(CkArrayIndex3D(n1, n2, n3)); }
  CkArrayOptions& setBounds(short n1, short n2, short n3, short n4) {
    return setBounds(CkArrayIndex4D(n1, n2, n3, n4));
  }
  CkArrayOptions& setBounds(short n1, short n2, short n3, short n4, short n5) {
    return setBounds(CkArrayIndex5D(n1, n2, n3, n4, n5));
  }
  CkArrayOptions& setBounds(short n1, short n2, short n3, short n4, short n5, short n6) {
    return setBounds(CkArrayIndex6D(n1, n2, n3, n4, n5, n6));
  }
  CkArrayOptions& setBounds(const CkArrayIndex& i) {
    bounds_ = i;
    return *this;
  }
  CkArrayOptions& setMap(const CkGroupID& map) {
    map_ = map;
    return *this;
  }
  CkArrayOptions& bindTo(const CkArrayID& array) {
    bound_to_ = array;
    return *this;
  }
  CkArrayOptions& setInitCallback(const CkCallback& cb) {
    init_callback_ = cb;
    return *this;
  }
  CkArrayOptions& setReductionClient(const CkCallback& cb) {
    reduction_client_ = cb;
    return *this;
  }
  // Each PE gets a copy of it, which hears of the elements there; the options own this one.
  CkArrayOptions& addListener(CkArrayListener* listener) {
    listeners_.push_back(listener);
    return *this;
  }
  CkArrayOptions& setAnytimeMigration(bool on) { return flag(anytime_migration_, on); }
  CkArrayOptions& setStaticInsertion(bool on) {
    insertion_is_said_ = true;
    return flag(static_insertion_, on);
  }
  CkArrayOptions& setBroadcastViaScheduler(bool on) { return flag(broadcast_via_scheduler_, on); }
  CkArrayOptions& setSectionAutoDelegate(bool on) { return flag(section_auto_delegate_, on); }
  // Of an array that is there, `array.ckLocMgr()->getGroupID()`: arrays that share it are bound to each other.
  CkArrayOptions& setLocationManager(const CkGroupID& of) { return bindTo(CkArrayID(of)); }
  CkGroupID getLocationManager() const { return bound_to_; }
  // There is one of each: what is asked for has no effect.
  CkArrayOptions& setLocationCache(const CkGroupID&) { return *this; }
  CkGroupID getLocationCache() const { return CkGroupID(); }
  CkArrayOptions& setMcastManager(const CkGroupID&) { return *this; }
  CkGroupID getMcastManager() const { return CkGroupID(); }

  const CkArrayIndex& getStart() const { return start_; }
  const CkArrayIndex& getEnd() const { return end_; }
  const CkArrayIndex& getStep() const { return step_; }
  // How many first elements there are, in every dimension.
  CkArrayIndex getNumInitial() const {
    CkArrayIndex count = end_;
    for (int d = 0; d < end_.dimension; ++d) {
      const int span = end_.coordinate(d) - start_.coordinate(d), step = step_.coordinate(d);
      count.setCoordinate(d, span > 0 && step > 0 ? (span - 1) / step + 1 : 0);
    }
    return count;
  }
  const CkArrayIndex& getBounds() const { return bounds_.nInts ? bounds_ : end_; }
  bool populated() const { return populated_; }
  const CkGroupID& getMap() const { return map_; }
  const CkArrayID& getBoundTo() const { return bound_to_; }
  const CkCallback& getInitCallback() const { return init_callback_; }
  const CkCallback& getReductionClient() const { return reduction_client_; }
  // Unless it is said: an array that has first elements gets no others.
  bool isStaticInsertion() const {
    return insertion_is_said_ ? static_insertion_ : getNumInitial().getCombinedCount() != 0;
  }
  bool isSectionAutoDelegated() const { return section_auto_delegate_; }
  int getListeners() const { return static_cast<int>(listeners_.size()); }
  // Gives it up; all of them.
  CkArrayListener* getListener(int number) { return listeners_[number].release(); }
  std::vector<CkArrayListener*> releaseListeners() {
    std::vector<CkArrayListener*> all;
    for (auto& listener : listeners_) all.push_back(listener.release());
    listeners_.destroy();
    return all;
  }

  void pup(PUP::er& p) {
    p | start_;
    p | end_;
    p | step_;
    p | bounds_;
    p | map_;
    p | bound_to_;
    p | init_callback_;
    p | reduction_client_;
    p | listeners_;
    p | populated_;
    p | anytime_migration_;
    p | static_insertion_;
    p | insertion_is_said_;
    p | broadcast_via_scheduler_;
    p | section_auto_delegate_;
  }

 private:
  CkArrayOptions& set(CkArrayIndex& which, const CkArrayIndex& i) {
    which = i;
    if (!start_.nInts) start_ = CkArrayIndex(i.dimension, 0);
    if (!step_.nInts) step_ = CkArrayIndex(i.dimension, 1);
    populated_ = end_.nInts != 0;
    return *this;
  }
  CkArrayOptions& flag(bool& which, bool on) {
    which = on;
    return *this;
  }

  CkArrayIndex start_, end_, step_, bounds_;
  CkGroupID map_;
  CkArrayID bound_to_;
  CkCallback init_callback_, reduction_client_;
  CkPupAblePtrVec<CkArrayListener> listeners_;
  bool populated_ = false;
  bool anytime_migration_ = true;
  bool static_insertion_ = false;
  bool insertion_is_said_ = false;
  bool broadcast_via_scheduler_ = false;
  bool section_auto_delegate_ = true;
};
