// Part of charm++.h.
#pragma once
#include "charm++.h"
#include "runtime/sdag/any_method.h"
