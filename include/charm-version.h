/* The version of Charm++ that programs may count on: what they test with #if CHARM_VERSION. Plain C. */
#ifndef CHARM_VERSION
#define CHARM_VERSION 80000
#define CHARM_VERSION_MAJOR 8
#define CHARM_VERSION_MINOR 0
#define CHARM_VERSION_PATCH 0
#endif
