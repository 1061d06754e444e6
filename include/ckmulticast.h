// Section multicasts need no library; this is for programs that include it.
#pragma once
#include "charm++.h"
