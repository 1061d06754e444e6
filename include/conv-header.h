/* The header of a message of Converse: part of converse.h. Plain C. */
#pragma once
#include "converse.h"
