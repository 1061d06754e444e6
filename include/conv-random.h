// Random numbers: CrnRand, CrnDrand, CrnSrand, and streams of a program's own. Plain C.
#pragma once
#include "converse.h"
