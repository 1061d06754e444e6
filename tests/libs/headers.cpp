// What programs include of the libraries, by charmc, in a program that has all of std as its own.
#include <cstddef>
#include <vector>
using namespace std;  // as ChaNGa has

#include "CkCache.h"
#include "CkLoopAPI.h"
#include "allGather.h"
#include "ckio.h"
#include "completion.h"
#include "liveViz.h"
#include "searchEngine.h"
