// CkPagedVector: a long array of which little is used. Pages of 256 elements exist once one of them is touched.
// C++17: reached from charm++.h.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/containers/vec.h"

template <class T>
class CkPagedVector : private CkNoncopyable {
 public:
  CkPagedVector() = default;
  explicit CkPagedVector(int elements) { init(elements); }
  void init(int elements) {
    pages_.clear();
    pages_.resize((static_cast<std::size_t>(elements) + page_size - 1) / page_size);
  }
  T& operator[](unsigned i) {
    auto& page = pages_[i / page_size];
    if (!page) page.reset(new T[page_size]());
    return page[i % page_size];
  }
  // T() where nothing was put; makes no page.
  T get(unsigned i) const {
    const auto& page = pages_[i / page_size];
    return page ? page[i % page_size] : T();
  }
  void pup(PUP::er& p) {
    const std::size_t count = PUP::detail::pup_length(p, pages_.size(), 1);
    if (p.isUnpacking()) init(static_cast<int>(count * page_size));
    for (auto& page : pages_) {
      bool used = page != nullptr;
      p | used;
      if (used && !page) page.reset(new T[page_size]());
      if (used) PUParray(p, page.get(), page_size);
    }
  }

 private:
  static constexpr std::size_t page_size = 256;
  std::vector<std::unique_ptr<T[]>> pages_;
};
