// Sections: some elements of an array, or of several, or some members of a group, that are multicast to and reduce
// together. What happens is runtime/sections (docs/architecture.md, "Sections"); here is what programs name it by.
// C++17: reached from charm++.h.
#pragma once
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <vector>

#include "runtime/api/array_index.h"
#include "runtime/api/callback.h"
#include "runtime/api/device_contribution.h"
#include "runtime/api/reducers.h"
#include "runtime/registry/ids.h"
#include "runtime/registry/messages.h"

#define USE_DEFAULT_BRANCH_FACTOR 0

// The cookie: names a section wherever its members are, and counts what its holder has contributed to it. Plain bytes.
class CkSectionInfo {
 public:
  CkArrayID aid;              // of the first of its collections
  int pe = -1;                // where the section was made: the root of its tree. -1: no section
  std::uint32_t number = 0;   // of those made there
  std::uint32_t members = 0;  // of all its collections
  int redNo = 0;              // number of the holder's next contribution

  CkSectionInfo() = default;
  explicit CkSectionInfo(const CkArrayID& array) : aid(array) {}
  CkArrayID& get_aid() { return aid; }
  CkArrayID get_aid() const { return aid; }
  int& get_pe() { return pe; }
  int get_pe() const { return pe; }
  int& get_redNo() { return redNo; }
  int get_redNo() const { return redNo; }
  void set_redNo(int next) { redNo = next; }
  bool names_section() const { return pe >= 0; }
  bool is_of(const CkSectionInfo& o) const { return pe == o.pe && number == o.number; }
  bool operator==(const CkSectionInfo& o) const { return is_of(o) && aid == o.aid && redNo == o.redNo; }
};
PUPbytes(CkSectionInfo)

    // The base of messages that are multicast to sections, before all others: they bring the cookie along. The mark
    // tells them from other messages, which may be multicast too.
    class CkMcastBaseMsg {
 public:
  static constexpr std::uint64_t mark_of_all = 0x5EC710A5C00C1E5Dull;
  std::uint64_t mark = mark_of_all;
  CkSectionInfo _cookie;
  unsigned short ep = 0;
  static bool checkMagic(CkMcastBaseMsg* message) { return message->mark == mark_of_all; }
  int& gpe() { return _cookie.get_pe(); }
  int& redno() { return _cookie.get_redNo(); }
};
// Takes the cookie out of a message that a multicast has brought. A cookie of the same section keeps its count.
void CkGetSectionInfo(CkSectionInfo& section, void* message);

class CkSectionID {
 public:
  CkSectionInfo _cookie;
  std::vector<CkArrayIndex> _elems;  // of an array
  std::vector<int> pelist;           // of a group
  int bfactor = USE_DEFAULT_BRANCH_FACTOR;

  CkSectionID() = default;
  template <class Index, class = std::enable_if_t<std::is_base_of<CkArrayIndex, Index>::value>>
  CkSectionID(const CkArrayID& array, const Index* elements, int count, int factor = USE_DEFAULT_BRANCH_FACTOR)
      : _cookie(array), _elems(elements, elements + count), bfactor(factor) {}
  template <class Index, class = std::enable_if_t<std::is_base_of<CkArrayIndex, Index>::value>>
  CkSectionID(const CkArrayID& array, const std::vector<Index>& elements, int factor = USE_DEFAULT_BRANCH_FACTOR)
      : _cookie(array), _elems(elements.begin(), elements.end()), bfactor(factor) {}
  CkSectionID(const CkGroupID& group, const int* pes, int count, int factor = USE_DEFAULT_BRANCH_FACTOR)
      : _cookie(CkArrayID(group)), pelist(pes, pes + count), bfactor(factor) {}
  CkSectionID(const CkGroupID& group, const std::vector<int>& pes, int factor = USE_DEFAULT_BRANCH_FACTOR)
      : _cookie(CkArrayID(group)), pelist(pes), bfactor(factor) {}
  CkArrayID get_aid() const { return _cookie.aid; }
  int nElems() const { return static_cast<int>(_elems.size()); }
  int nPes() const { return static_cast<int>(pelist.size()); }
  void pup(PUP::er& p);
};

namespace periapt {
// A section of elements named by indices of any class, CkArrayIndex itself above all.
template <class Index>
CkSectionID sectionOf(const CkArrayID& array, const Index* elements, std::size_t count, int factor) {
  static_assert(std::is_base_of<CkArrayIndex, Index>::value, "the elements of a section are named by array indices");
  return CkSectionID(array, std::vector<CkArrayIndex>(elements, elements + count), factor);
}

// Gives the section that these are the parts of a name, unless it has one.
void name_section(std::vector<CkSectionID>& parts);
// A contribution to the section that the cookie names; counts it there. `callback`: null for the section's client.
void contribute_to_section(CkSectionInfo& cookie, std::size_t size, const void* data, CkReduction::reducerType type,
                           const CkCallback* callback, int user_flag);
}  // namespace periapt

// What members contribute with: static functions of CProxySection_X, and functions of CkMulticastMgr. `fragment` is
// Charm++'s: contributions are not cut into pieces here.
#define PERIAPT_SECTION_CONTRIBUTE(IS_STATIC)                                                                     \
  IS_STATIC void contribute(CkSectionInfo& cookie, int user_flag = -1, int fragment = -1) {                       \
    periapt::contribute_to_section(cookie, 0, nullptr, CkReduction::nop, nullptr, user_flag);                     \
  }                                                                                                               \
  IS_STATIC void contribute(CkSectionInfo& cookie, const CkCallback& cb, int user_flag = -1, int fragment = -1) { \
    periapt::contribute_to_section(cookie, 0, nullptr, CkReduction::nop, &cb, user_flag);                         \
  }                                                                                                               \
  IS_STATIC void contribute(int size, const void* data, CkReduction::reducerType type, CkSectionInfo& cookie,     \
                            int user_flag = -1, int fragment = -1) {                                              \
    periapt::contribute_to_section(cookie, size, data, type, nullptr, user_flag);                                 \
  }                                                                                                               \
  IS_STATIC void contribute(int size, const void* data, CkReduction::reducerType type, CkSectionInfo& cookie,     \
                            const CkCallback& cb, int user_flag = -1, int fragment = -1) {                        \
    periapt::contribute_to_section(cookie, size, data, type, &cb, user_flag);                                     \
  }                                                                                                               \
  IS_STATIC void contribute(std::size_t size, const CkDeviceBuffer& data, CkReduction::reducerType type,          \
                            CkSectionInfo& cookie, const CkCallback& cb, int user_flag = -1) {                    \
    const periapt::DeviceContribution named(size, data, type, periapt::DeviceContributor::running());             \
    periapt::contribute_to_section(cookie, sizeof named, &named, named.reducer(), &cb, user_flag);                \
  }                                                                                                               \
  IS_STATIC void contribute(std::size_t size, const CkDeviceBuffer& data, CkReduction::reducerType type,          \
                            CkSectionInfo& cookie, int user_flag = -1) {                                          \
    const periapt::DeviceContribution named(size, data, type, periapt::DeviceContributor::running());             \
    periapt::contribute_to_section(cookie, sizeof named, &named, named.reducer(), nullptr, user_flag);            \
  }                                                                                                               \
  template <typename T>                                                                                           \
  IS_STATIC void contribute(const std::vector<T>& data, CkReduction::reducerType type, CkSectionInfo& cookie,     \
                            int user_flag = -1, int fragment = -1) {                                              \
    periapt::contribute_to_section(cookie, sizeof(T) * data.size(), data.data(), type, nullptr, user_flag);       \
  }                                                                                                               \
  template <typename T>                                                                                           \
  IS_STATIC void contribute(const std::vector<T>& data, CkReduction::reducerType type, CkSectionInfo& cookie,     \
                            const CkCallback& cb, int user_flag = -1, int fragment = -1) {                        \
    periapt::contribute_to_section(cookie, sizeof(T) * data.size(), data.data(), type, &cb, user_flag);           \
  }
