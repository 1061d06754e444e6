// PUP for the standard library: what a Charm++ program includes as "pup_stl.h". The parts are in runtime/pup/.
#ifndef PUP_STL_H
#define PUP_STL_H

#include "pup.h"
#include "runtime/pup/stl.h"

#endif
