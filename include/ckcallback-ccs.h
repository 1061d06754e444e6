// Requests from outside that come to a CkCallback: part of charm++.h.
#pragma once
#include "charm++.h"
