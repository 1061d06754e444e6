/* The CMK_ macros that programs test. Plain C. */
#include "base/cmk.h"
