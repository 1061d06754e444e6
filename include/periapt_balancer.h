// A balancer in a shared library: what it includes. See docs/first-balancer.md.
#pragma once
#include "runtime/loadbalance/plugin/balancer.h"
