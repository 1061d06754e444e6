// Random numbers: CrnRand, CrnDrand, CrnSrand.
#pragma once
#include "converse.h"
