// What of the library is no template: its registration.
#include "msa.h"

#include "msa.def.h"
