// ck::ObjID: part of charm++.h.
#pragma once
#include "charm++.h"
