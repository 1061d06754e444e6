// The header of a message: see runtime/registry/user_envelope.h.
#pragma once
#include "charm++.h"
