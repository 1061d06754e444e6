// What programs include of the libraries, by charmc, in a program that has all of std as its own.
#include <cstddef>
#include <vector>
using namespace std;  // as ChaNGa has

#include "CkCache.h"
#include "CkLoopAPI.h"
#include "NDMeshStreamer.h"
#include "allGather.h"
#include "barrier.h"
#include "ckio.h"
#include "cksparsecontiguousreducer.h"
#include "cksparsereducer.h"
#include "collidecharm.h"
#include "completion.h"
#include "liveViz.h"
#include "msa/msa.h"
#include "searchEngine.h"
#include "taskGraph.h"
#if __has_include("PythonCCS.h")  // where Python's library is
#include "PythonCCS.h"
#endif

// Defined where there are checkpoints in memory: programs that show themselves ask for that, wave2d for one.
#if !CMK_MEM_CHECKPOINT
#error "CkStartMemCheckpoint() is there"
#endif
