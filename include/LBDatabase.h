// LBDatabase.h as programs include it: older names of what LBManager.h has.
#pragma once
#include "LBManager.h"
