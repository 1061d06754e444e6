// Sections and CkMulticastMgr.
#pragma once
#include "charm++.h"
#include "runtime/sections/multicast_manager.h"
