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
#include "runtime/api/array_index.h"
#include "runtime/api/array_map.h"
#include "runtime/api/array_options.h"
#include "runtime/api/callback.h"
#include "runtime/api/ck_future.h"
#include "runtime/api/invoke.h"
#include "runtime/api/marshal.h"
#include "runtime/api/matches.h"
#include "runtime/api/message_queue.h"
#include "runtime/api/objects.h"
#include "runtime/api/proxies.h"
#include "runtime/api/readonly.h"
#include "runtime/api/reducers.h"
#include "runtime/api/reduction_message.h"
#include "runtime/api/sections.h"
#include "runtime/api/zero_copy.h"
#include "runtime/array/array_locations.h"
#include "runtime/loadbalance/lb_manager.h"
#include "runtime/registry/ids.h"
#include "runtime/registry/user_envelope.h"
