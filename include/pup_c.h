/* PUP for C: what a Charm++ program includes as "pup_c.h". */
#ifndef PUP_C_H
#define PUP_C_H

#include "runtime/pup/pup_c.h"

#endif
