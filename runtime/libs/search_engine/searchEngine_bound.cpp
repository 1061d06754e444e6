// See searchEngine_bound.ci.
#include "searchEngine_bound.decl.h"
#include "searchEngine_bound.def.h"
