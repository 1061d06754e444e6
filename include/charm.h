// The C-like calls of Charm++.
#pragma once
#include "charm-api.h"
#include "converse.h"
#include "runtime/chare/entry_options.h"
#include "runtime/chare/messages.h"
#include "runtime/chare/registry.h"
#include "runtime/chare/startup.h"
#include "runtime/scheduler/ck.h"
