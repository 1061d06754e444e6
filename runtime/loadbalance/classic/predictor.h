// LBTurnPredictorOn(): a load model of the program's own as Charm++ has it, a function of an object's load in the last
// interval whose parameters are fitted to its past.
#pragma once
#include "runtime/loadbalance/load_model.h"

class LBPredictorFunction;

namespace periapt::loadbalance {

// What `function` makes of the last `window` intervals, or of as many as its parameters need. It lives as long as the
// model is in use, and is asked on one PE. An object's load is what it was as long as fewer than `delay` intervals are
// known (or `window`, where that is less): a function through few points follows their noise. So it is as long as fewer
// pairs of intervals are known than the function has parameters, and where the function says what is no load.
LoadModelInfo fitted_model(LBPredictorFunction& function, int window, int delay);

}  // namespace periapt::loadbalance
