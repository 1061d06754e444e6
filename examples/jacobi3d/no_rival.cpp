// The example itself has no rival.
#include "examples/jacobi3d/rival.h"

periapt::jacobi3d::RunRival* const periapt::jacobi3d::run_rival = nullptr;
