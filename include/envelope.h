// The header of a message: see runtime/chare/user_envelope.h.
#pragma once
#include "charm++.h"
