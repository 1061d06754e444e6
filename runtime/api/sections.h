// Sections: a subset of the elements of an array, or of the members of a group, that is multicast to.
#pragma once
#include <cstddef>
#include <type_traits>
#include <vector>

#include "runtime/api/array_index.h"
#include "runtime/registry/ids.h"
#include "runtime/registry/messages.h"

#define USE_DEFAULT_BRANCH_FACTOR 0

class CkSectionInfo {
 public:
  CkArrayID aid;
  std::uint64_t number = 0;
  CkArrayID get_aid() const { return aid; }
  int get_redNo() const { return 0; }
};
PUPbytes(CkSectionInfo)

    // The base of messages that are multicast to sections: they bring the section along.
    class CkMcastBaseMsg {
 public:
  CkSectionInfo _cookie;
  static bool checkMagic(CkMcastBaseMsg*) { return true; }
};
// Takes the section out of a message that came through a multicast.
inline void CkGetSectionInfo(CkSectionInfo& section, void* message) {
  section = static_cast<CkMcastBaseMsg*>(message)->_cookie;
}

class CkSectionID {
 public:
  CkSectionInfo _cookie;
  std::vector<CkArrayIndex> _elems;
  std::vector<int> pelist;
  int bfactor = USE_DEFAULT_BRANCH_FACTOR;

  CkSectionID() = default;
  CkSectionID(const CkArrayID& array, const CkArrayIndex* elements, int count, int factor = 0)
      : _elems(elements, elements + count), bfactor(factor) {
    _cookie.aid = array;
  }
  CkSectionID(const CkArrayID& array, const std::vector<CkArrayIndex>& elements, int factor = 0)
      : _elems(elements), bfactor(factor) {
    _cookie.aid = array;
  }
  CkSectionID(const CkGroupID& group, const int* pes, int count, int factor = 0)
      : pelist(pes, pes + count), bfactor(factor) {
    _cookie.aid = CkArrayID(group);
  }
  void pup(PUP::er& p) {
    p | _cookie;
    int n = static_cast<int>(_elems.size());
    p | n;
    _elems.resize(n);
    for (CkArrayIndex& e : _elems) p | e;
    n = static_cast<int>(pelist.size());
    p | n;
    pelist.resize(n);
    for (int& pe : pelist) p | pe;
    p | bfactor;
  }
};

namespace periapt {
// A section of elements named by indices of any class, CkArrayIndex itself above all.
template <class Index>
CkSectionID sectionOf(const CkArrayID& array, const Index* elements, std::size_t count, int factor) {
  static_assert(std::is_base_of<CkArrayIndex, Index>::value, "the elements of a section are named by array indices");
  return CkSectionID(array, std::vector<CkArrayIndex>(elements, elements + count), factor);
}
}  // namespace periapt
