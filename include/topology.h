/* Made-up networks by name: see runtime/converse/lb_topology.h. */
#ifndef _LBTOPOLOGY_H
#define _LBTOPOLOGY_H

#include "runtime/converse/lb_topology.h"

#endif
