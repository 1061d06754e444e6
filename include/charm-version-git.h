/* The same version as text, as charm-version.h has it in numbers. Plain C. */
#ifndef CHARM_VERSION_GIT
#define CHARM_VERSION_GIT "v80000"
#endif
