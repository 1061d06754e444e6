// What gpu_allreduce is measured beside.
#pragma once

#include <cstddef>

/// Median seconds of an allreduce of so many doubles over the first `gpus` GPUs of this process; 0: there is no rival.
double rival_seconds(int gpus, std::size_t count, int rounds);
