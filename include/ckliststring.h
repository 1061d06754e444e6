// CkListString: see runtime/containers/list_string.h.
#pragma once
#include "runtime/containers/list_string.h"
