// Converse: see runtime/converse/converse.h, and beside it what few programs need. Plain C.
#pragma once
#include "conv-config.h"
#include "queueing.h"
#include "runtime/converse/async.h"
#include "runtime/converse/cfuture.h"
#include "runtime/converse/cld.h"
#include "runtime/converse/cmi_rest.h"
#include "runtime/converse/conv_qd.h"
#include "runtime/converse/converse.h"
#include "runtime/converse/cpath.h"
#include "runtime/converse/cpm.h"
#include "runtime/converse/crn.h"
#include "runtime/converse/cth_hooks.h"
#include "runtime/converse/isomalloc.h"
#include "runtime/converse/persistent.h"
#include "runtime/converse/reductions.h"
#include "runtime/converse/tables.h"
#include "runtime/converse/trace_events.h"
#ifdef __cplusplus
#include "pup.h"
#endif
