/* Network byte order in four bytes: what a Charm++ program includes as "pup_toNetwork4.h". */
#ifndef PUP_TONETWORK4_H
#define PUP_TONETWORK4_H

#include "runtime/pup/network.h"

#endif
