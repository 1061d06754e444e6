// TopoManager: see runtime/scheduler/topo_manager.h.
#pragma once
#include "converse.h"
#include "runtime/scheduler/topo_manager.h"
