#pragma once
#include "charm++.h"
