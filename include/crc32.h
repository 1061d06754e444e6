/* Checksums: see runtime/converse/checksum.h. Plain C. */
#pragma once
#include "runtime/converse/checksum.h"
