// Objects that hear of the elements of an array on their PE: when each is made, leaves, arrives and ends. C++17:
// reached from charm++.h.
//
//   CkArrayOptions options(100);
//   options.addListener(new Census(...));  // each PE gets a copy: its class is a PUP::able
//   CProxy_Hello::ckNew(options);
#pragma once
#include "runtime/pup/pup.h"

class ArrayElement;
class CkArray;
namespace periapt {
class ArrayListeners;
}

// How many ints all listeners of an array may keep in each element.
#define CK_ARRAYLISTENER_MAXLEN 8

class CkArrayListener : public PUP::able {
 public:
  // It keeps `nInts` ints for each element, which move with it.
  explicit CkArrayListener(int nInts) : ints_(nInts) {}
  explicit CkArrayListener(CkMigrateMessage*) {}
  void pup(PUP::er& p) override;
  PUPable_abstract(CkArrayListener)

      // The array is there on this PE; once, and not again after a restart, where pup() brings back what it knew.
      virtual void ckRegister(CkArray* array, int dataOffset) {}

  int ckGetLen() const { return ints_; }
  // Where its ints begin among those of all listeners of the array.
  int ckGetOffset() const { return offset_; }
  // Its ints of an element that is here.
  int* ckGetData(ArrayElement* element) const;

  // Elements may be made from here on; none will be, for now.
  virtual void ckBeginInserting() {}
  virtual void ckEndInserting() {}

  // An element is to be made, on this PE or another: what its ints are to be.
  virtual void ckElementStamp(int* data) {}
  // Before the constructor of its class, and behind it. False: the element has gone, and other listeners don't hear.
  virtual void ckElementCreating(ArrayElement* element) {}
  virtual bool ckElementCreated(ArrayElement* element) { return true; }
  // It is about to be destroyed.
  virtual void ckElementDied(ArrayElement* element) {}

  // It is about to be packed for another PE; it has been unpacked here, also from a checkpoint. False: as above.
  virtual void ckElementLeaving(ArrayElement* element) {}
  virtual bool ckElementArriving(ArrayElement* element) { return true; }

  // Never called: a restart makes listeners anew.
  virtual void flushState() {}

 private:
  friend class periapt::ArrayListeners;
  int ints_ = 0;
  int offset_ = -1;
};

// Writes a line about each thing that it hears.
class CkVerboseListener : public CkArrayListener {
 public:
  CkVerboseListener();
  explicit CkVerboseListener(CkMigrateMessage* m) : CkArrayListener(m) {}
  PUPable_decl(CkVerboseListener);

  void ckRegister(CkArray* array, int dataOffset) override;
  void ckBeginInserting() override;
  void ckEndInserting() override;
  void ckElementStamp(int* data) override;
  void ckElementCreating(ArrayElement* element) override;
  bool ckElementCreated(ArrayElement* element) override;
  void ckElementDied(ArrayElement* element) override;
  void ckElementLeaving(ArrayElement* element) override;
  bool ckElementArriving(ArrayElement* element) override;
};
