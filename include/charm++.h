// Charm++: what a program's .decl.h includes. Every part stands in a header of its own, in runtime/.
#pragma once
#include <sys/stat.h>
#include <sys/types.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "charm.h"
#include "ckbitvector.h"
#include "ckhashtable.h"
#include "cklists.h"
#include "ckstream.h"
#include "pup.h"
#include "pup_stl.h"
#include "runtime/chare/array_index.h"
#include "runtime/chare/array_locations.h"
#include "runtime/chare/array_map.h"
#include "runtime/chare/array_options.h"
#include "runtime/chare/callback.h"
#include "runtime/chare/ck_future.h"
#include "runtime/chare/ids.h"
#include "runtime/chare/invoke.h"
#include "runtime/chare/marshal.h"
#include "runtime/chare/matches.h"
#include "runtime/chare/message_queue.h"
#include "runtime/chare/objects.h"
#include "runtime/chare/proxies.h"
#include "runtime/chare/readonly.h"
#include "runtime/chare/reducers.h"
#include "runtime/chare/reduction_message.h"
#include "runtime/chare/sections.h"
#include "runtime/chare/user_envelope.h"
#include "runtime/chare/zero_copy.h"
#include "runtime/loadbalance/lb_manager.h"
