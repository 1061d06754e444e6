// What gpu_allreduce is measured beside.
#pragma once

#include <cstddef>

enum class Collective { allreduce, allgather };

/// Median seconds of one of so many doubles from each of the first `gpus` GPUs of this process, an allreduce in place;
/// 0: there is no rival.
double rival_seconds(Collective collective, int gpus, std::size_t count, int rounds);
