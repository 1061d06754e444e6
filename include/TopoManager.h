// TopoManager: see runtime/converse/topo_manager.h.
#pragma once
#include "converse.h"
#include "runtime/converse/topo_manager.h"
