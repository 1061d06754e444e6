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

/// What CharmLibInit() hands over of a communicator of MPI, whose header this library is not built with.
struct PeriaptCommunicator {
  int rank, size;
  void* communicator;  ///< lent for good
  int (*gather)(void* communicator, const void* bytes, int size, void* all);
  void (*abort)(void* communicator, int code);
};
/// CharmInit() with the processes of that communicator; null: with those that the launcher started. With a mainmodule
/// it returns when that has called CkExit().
void periapt_lib_init(const struct PeriaptCommunicator* of, int argc, char** argv);

/// Returns when the round has been ended: in every process, once for each end.
void StartCharmScheduler(void);
/// In an entry method: ends the round in this process alone, when the method returns.
void StopCharmScheduler(void);
/// What CkExit() is in a program that includes this: ends the round in all processes. Returns.
void LibCkExit(void);

/// Ends the run: the processes wait for each other, and go on without it.
void CharmLibExit(void);

#ifdef __cplusplus
}
#endif
