// Points of a run at which a process can be hit, for death_test.py. The environment names one:
//
//   PERIAPT_TEST_POINT=NAME[:N]   the Nth time that the victim comes to it (1)
//   PERIAPT_TEST_VICTIM=ONE       a process's rank; a host's name; "any": the first to come
//   PERIAPT_TEST_THEN=die|stop|wait  what the victim does there: kill -9 to itself, nothing ever again, or nothing
//   until
//                                 there is a file FILE.go
//   PERIAPT_TEST_REPORT=FILE      where it says so before, because launchers lose output of processes that are killed
//
// The program has points of its own in its entry methods; points.cpp has those of start and end, at calls that the
// linker redirects (--wrap in CMakeLists.txt): the library knows nothing of it.
#pragma once

/// This process has come to a point. `process`: its rank, where a launcher's World does not tell it.
void point(const char* name, int process = -1);
