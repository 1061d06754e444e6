// CkLoop with lambdas: CkLoop_Parallelize(chunks, lower, upper, function). C++17: programs include it.
#pragma once
#include <functional>

#include "CkLoopAPI.h"

namespace periapt::ckloop {
inline void call_chunk(int first, int last, void* result, int, void* function) {
  (*static_cast<std::function<void(int, int, void*)>*>(function))(first, last, result);
}
inline void call_caller(int, void* function) { (*static_cast<std::function<void()>*>(function))(); }
}  // namespace periapt::ckloop

// function(first, last, result) for each chunk; returns when all are done. `caller`: see CallerFn.
inline void CkLoop_Parallelize(int numChunks, int lowerRange, int upperRange,
                               std::function<void(int, int, void*)> function, void* redResult = nullptr,
                               REDUCTION_TYPE type = CKLOOP_NONE, std::function<void()> caller = nullptr) {
  if (numChunks < 1) {
    if (caller) caller();
    return function(lowerRange, upperRange, redResult);
  }
  CkLoop_Parallelize(periapt::ckloop::call_chunk, 1, &function, numChunks, lowerRange, upperRange, 1, redResult, type,
                     caller ? periapt::ckloop::call_caller : nullptr, 1, &caller);
}

// function(first, last): programs write so for a Charm++ without CkLoop, whose CkLambda.h then has this alone. It is
// called once, on the caller's PE, for the whole range: such a function may add up in what it captures.
template <class Function>
auto CkLoop_Parallelize(int, int lowerRange, int upperRange, Function function)
    -> decltype(function(lowerRange, upperRange), void()) {
  function(lowerRange, upperRange);
}
template <class Function, class Caller>
auto CkLoop_Parallelize(int, int lowerRange, int upperRange, Function function, Caller caller)
    -> decltype(function(lowerRange, upperRange), caller(), void()) {
  caller();
  function(lowerRange, upperRange);
}
