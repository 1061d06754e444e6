// Queues and tables of pointers: see runtime/converse/tables.h. Plain C.
#pragma once
#include "runtime/converse/tables.h"
