// For kernels: ck_device_send() and ck_device_signal(). Includes nothing else; the host's side is in ckkernelport.h.
#pragma once
#include "machine/gpu/device_send.h"
