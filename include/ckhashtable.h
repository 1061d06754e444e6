// CkHashtableT: see runtime/containers/hashtable.h.
#pragma once
#include "runtime/containers/hashtable.h"
