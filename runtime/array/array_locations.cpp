// See array_locations.h.
#include "runtime/array/array_locations.h"

#include "runtime/array/array_manager.h"

using periapt::ArrayManager;

int CkIndex_ArrayElement::ep_ckDestroy;

void periapt::register_array_locations() {
  CkIndex_ArrayElement::ep_ckDestroy = CkRegisterEp(
      "ckDestroy()", [](periapt::Delivery&, void* element) { static_cast<ArrayElement*>(element)->ckDestroy(); }, 0,
      CkIndex_ArrayElement::__idx, ep_marshalled);
}

// An entry like any other: no element misses it, wherever it goes meanwhile, and none gets it twice.
void CProxy_ArrayBase::ckDestroy() const { periapt::invoke(*this, CkIndex_ArrayElement::ep_ckDestroy, 0, nullptr); }
void CProxySection_ArrayBase::ckDestroy() const {
  periapt::invoke(*this, CkIndex_ArrayElement::ep_ckDestroy, 0, nullptr);
}

void CkArray::iterate(CkLocIterator& visitor) {
  periapt::Location& location = manager_.location();
  // The visitor may destroy elements, and make some.
  std::vector<CkLocation> places;
  for (ArrayManager* array : manager_.bound())
    for (ArrayElement* element : array->elements())
      if (location.here(element->ckGetID()) == array)
        places.emplace_back(*this, element->ckGetID(), element->ckGetArrayIndex());
  for (CkLocation& place : places)
    if (location.here(place.getID())) visitor.addLocation(place);
}

CkLocRec* CkArray::elementNrec(CmiUInt8 id) const {
  for (ArrayManager* array : manager_.bound())
    if (ArrayElement* element = array->find(id)) return &records_.insert_or_assign(id, element->myRec).first->second;
  return nullptr;
}

void CkLocation::destroyAll() {
  for (ArrayManager* array : manager_.manager().bound())
    if (ArrayElement* element = array->find(id_)) element->ckDestroy();
}
void CkLocation::pup(PUP::er& p) {
  for (ArrayManager* array : manager_.manager().bound())
    if (ArrayElement* element = array->find(id_)) element->virtual_pup(p);
}
