// See collide.ci.
#include "collide.decl.h"
#include "collide.def.h"
