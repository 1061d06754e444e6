// All of PUP but the standard library's containers (stl.h).
#pragma once
#include "runtime/pup/able.h"
#include "runtime/pup/disk.h"
#include "runtime/pup/er.h"
#include "runtime/pup/memory.h"
#include "runtime/pup/operators.h"
#include "runtime/pup/pointer.h"
#include "runtime/pup/text.h"
#include "runtime/pup/xlater.h"
