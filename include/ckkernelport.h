// Messages that kernels send to chares, and counters that kernels raise: CkKernelPort, CkKernelCounter.
#pragma once
#include "charm++.h"
#include "runtime/api/kernel_port.h"
