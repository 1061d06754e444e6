// What the files of converse_rest_program share.
#pragma once
#include <converse.h>

#define CHECK(what) CmiEnforceMsg(what, "in part %s", CpvAccess(part_name))
CpvExtern(const char*, part_name);

void ack();

// Each begins its part and tells how many acknowledgements end it.
int cpm_start();
int posix_start();
void cpm_initialize();
