// A manager and workers: see runtime/converse/cms.h. Plain C.
#pragma once
#include "converse.h"
#include "runtime/converse/cms.h"
