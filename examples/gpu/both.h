// PERIAPT_BOTH stands before functions that run on GPUs too, where a compiler for those reads them: what a kernel does
// to one item is so tested on the host.
#pragma once
#if defined(__CUDACC__) || defined(__HIPCC__)
#define PERIAPT_BOTH __host__ __device__
#else
#define PERIAPT_BOTH
#endif
