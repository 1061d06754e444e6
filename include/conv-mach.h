/* The CMK_ macros that programs test. Plain C. */
#include "conv-autoconfig.h"
