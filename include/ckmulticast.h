// Sections and CkMulticastMgr: part of charm++.h.
#pragma once
#include "charm++.h"
