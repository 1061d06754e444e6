// What a benchmark of chares cannot do without.
#pragma once

#include "base/status.h"
#include "charm++.h"

template <class T>
T must(periapt::Result<T> result) {
  if (!result) CkAbort("%s", result.message().c_str());
  return *result;
}
