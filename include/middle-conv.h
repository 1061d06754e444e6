/* Part of converse.h. Plain C. */
#pragma once
#include "converse.h"
