// TopoManager: see runtime/converse/topo_manager.h. Plain C.
#pragma once
#include "converse.h"
#include "runtime/converse/topo_manager.h"
