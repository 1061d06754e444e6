// CkStartQD is part of charm++.h; this adds the counts.
#pragma once
#include "charm++.h"
#include "runtime/face/qd.h"
