// Packing and unpacking of objects: what a Charm++ program includes as "pup.h". The parts are in runtime/pup/.
#ifndef PUP_H
#define PUP_H

#include <stdio.h>

#include "runtime/pup/able.h"
#include "runtime/pup/disk.h"
#include "runtime/pup/er.h"
#include "runtime/pup/memory.h"
#include "runtime/pup/operators.h"
#include "runtime/pup/pointer.h"
#include "runtime/pup/text.h"
#include "runtime/pup/xlater.h"

#endif
