// A transfer between processes that keeps what it was told at its end.
#pragma once

#include "machine/layer/one_sided.h"

namespace periapt {

struct Told : machine::Transfer {
  int times = 0;
  Status status;
  Told() {
    done = [](machine::Transfer& self, const Status& status) {
      auto& told = static_cast<Told&>(self);
      ++told.times;
      told.status = status;
    };
  }
};

}  // namespace periapt
