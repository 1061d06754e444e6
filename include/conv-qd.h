// Quiescence of Converse: see runtime/converse/conv_qd.h. Plain C.
#pragma once
#include "runtime/converse/conv_qd.h"
