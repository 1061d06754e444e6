// What ConverseInit() starts where a program has chares, too.
#pragma once
#include "runtime/face/part.h"

namespace periapt::program {

// run_program() with one part more, behind all others. Null where the program does not call _initCharm().
inline void (*run_with_chares)(int argc, char** argv, Part last) = nullptr;

}  // namespace periapt::program
