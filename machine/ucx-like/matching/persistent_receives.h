// Persistent receives: posted once, for any number of messages. There are few, so they are asked one after the other.
#pragma once

#include <memory>
#include <vector>

#include "machine/ucx-like/worker.h"

namespace periapt::ucx {

class PersistentReceives {
 public:
  void post(const PersistentReceive& receive) { posted_.push_back(std::make_unique<PersistentReceive>(receive)); }
  /// The one posted first that takes messages of this tag, for as long as this object lives; nullptr: none.
  const PersistentReceive* find(Tag tag) const {
    for (const auto& receive : posted_) {
      if (((tag ^ receive->tag) & receive->mask) == 0) return receive.get();
    }
    return nullptr;
  }

 private:
  std::vector<std::unique_ptr<PersistentReceive>> posted_;
};

}  // namespace periapt::ucx
