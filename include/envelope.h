// The header of a message: see runtime/chare/envelope_view.h.
#pragma once
#include "charm++.h"
