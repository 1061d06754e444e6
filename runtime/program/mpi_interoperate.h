// The calls of a program with a main() of its own; see include/mpi-interoperate.h.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/// Starts the PEs and runs the constructors of the mainchares, of which there may be none. Takes the options of the
/// runtime out of argv; argc stays the caller's.
void CharmBeginInit(int argc, char** argv);
/// Every process has, behind it, what PE 0 has made and set until then.
void CharmFinishInit(void);
void CharmInit(int argc, char** argv);

/// Returns when the round has been ended: in every process, once for each end.
void StartCharmScheduler(void);
/// In an entry method: ends the round in this process alone, when the method returns.
void StopCharmScheduler(void);
/// What CkExit() is in a program that includes this: ends the round in all processes. Returns.
void LibCkExit(void);

/// Ends the run, with status 0. Does not return.
void CharmLibExit(void);

#ifdef __cplusplus
}
#endif
