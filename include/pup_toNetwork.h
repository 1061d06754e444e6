/* Network byte order: what a Charm++ program includes as "pup_toNetwork.h". */
#ifndef PUP_TONETWORK_H
#define PUP_TONETWORK_H

#include "runtime/pup/network.h"

#endif
