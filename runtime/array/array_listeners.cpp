// See array_listeners.h.
#include "runtime/array/array_listeners.h"

#include <string>

#include "base/fatal.h"
#include "runtime/array/array_manager.h"
#include "runtime/converse/streams.h"

namespace periapt {

void ArrayListeners::add(CkArrayListener* listener) {
  const int offset = length_;
  length_ += listener->ckGetLen();
  if (length_ > CK_ARRAYLISTENER_MAXLEN)
    fatal("the listeners of an array want " + std::to_string(length_) + " ints in each element, but there are " +
              std::to_string(CK_ARRAYLISTENER_MAXLEN),
          "CkArrayOptions::addListener()", "",
          "let a listener keep a number in the element, and what belongs to it in a table of its own");
  if (listener->offset_ >= 0)
    fatal("a listener is added to an array, but it is one of an array already", "CkArray::addListener()", "",
          "make a new listener for each array");
  listener->offset_ = offset;
  all_.push_back(listener);
  listener->ckRegister(&array_.face(), offset);
}

void ArrayListeners::restore(CkArrayListener* listener) {
  length_ += listener->ckGetLen();
  all_.push_back(listener);
}

ListenerInts ArrayListeners::stamp() {
  ListenerInts ints{};
  for (CkArrayListener* listener : all_) listener->ckElementStamp(ints.data() + listener->ckGetOffset());
  return ints;
}

void ArrayListeners::came(ArrayElement* element, const ListenerInts* stamp) {
  if (length_ > 0) ints_[element->ckGetID()] = stamp ? *stamp : ListenerInts{};
  if (!stamp) return;
  for (CkArrayListener* listener : all_) listener->ckElementCreating(element);
}

void ArrayListeners::begin_inserting() {
  for (CkArrayListener* listener : all_) listener->ckBeginInserting();
}
void ArrayListeners::end_inserting() {
  for (CkArrayListener* listener : all_) listener->ckEndInserting();
}

// A listener may move the element, or destroy it.
template <bool (CkArrayListener::*hears)(ArrayElement*)>
bool ArrayListeners::tell(std::uint64_t id) {
  for (CkArrayListener* listener : all_) {
    ArrayElement* const element = array_.find(id);
    if (!element || !(listener->*hears)(element)) return false;
  }
  return array_.find(id) != nullptr;
}
bool ArrayListeners::created(std::uint64_t id) { return tell<&CkArrayListener::ckElementCreated>(id); }
void ArrayListeners::arriving(std::uint64_t id) { tell<&CkArrayListener::ckElementArriving>(id); }

void ArrayListeners::died(ArrayElement* element) {
  for (CkArrayListener* listener : all_) listener->ckElementDied(element);
}
void ArrayListeners::leaving(ArrayElement* element) {
  for (CkArrayListener* listener : all_) listener->ckElementLeaving(element);
}

}  // namespace periapt

// --- CkArrayListener -------------------------------------------------------------------------------------------------

void CkArrayListener::pup(PUP::er& p) {
  p | ints_;
  p | offset_;
}

int* CkArrayListener::ckGetData(ArrayElement* element) const {
  return element->ckGetArrayManager()->manager().listeners()->ints_of(element) + offset_;
}

// --- CkVerboseListener -----------------------------------------------------------------------------------------------

PUPable_def(CkVerboseListener)

    namespace {
  void say(const std::string& what) {
    ckout << "listener on PE " << periapt::Pe::current()->index << ": " << what << endl;
  }
  void say(const ArrayElement* element, const char* what) {
    say("element " + element->ckGetArrayIndex().toString() + " " + what);
  }
}  // namespace

CkVerboseListener::CkVerboseListener() : CkArrayListener(0) { say("made"); }
void CkVerboseListener::ckRegister(CkArray*, int) { say("the array is there"); }
void CkVerboseListener::ckBeginInserting() { say("insertion begins"); }
void CkVerboseListener::ckEndInserting() { say("insertion ends"); }
void CkVerboseListener::ckElementStamp(int*) { say("an element is to be made"); }
void CkVerboseListener::ckElementCreating(ArrayElement* element) { say(element, "is being made"); }
bool CkVerboseListener::ckElementCreated(ArrayElement* element) {
  say(element, "is made");
  return true;
}
void CkVerboseListener::ckElementDied(ArrayElement* element) { say(element, "ends"); }
void CkVerboseListener::ckElementLeaving(ArrayElement* element) { say(element, "leaves"); }
bool CkVerboseListener::ckElementArriving(ArrayElement* element) {
  say(element, "arrives");
  return true;
}
