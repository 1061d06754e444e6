// Requests from outside: the Converse client-server interface.
#pragma once
#include "converse.h"
#include "runtime/ccs/ccs.h"
#include "runtime/ccs/sockets.h"
