// What the .decl.h of figures.ci needs.
#pragma once
#include "converse.h"
