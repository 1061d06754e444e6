// The client of ccs-client.h, for programs that include it whole instead of linking libccs-client.a.
#include "runtime/ccs/client.c"
#include "runtime/ccs/sockets.c"
