// A program whose own main() starts the runtime and runs the scheduler when it likes (include/mpi-interoperate.h).
//
// In each process main() is the first PE: that PE's scheduler runs on a stack beside main()'s, and only one of the two
// runs at any time. The other PEs of the process run on their own threads all along, or with the first one, where they
// share its thread. A stop ends a round: PE 0 tells the first PEs, and when all of them know, each hands back to its
// main(). PE 0 counts the rounds, so that of several requests in one round one counts, and one of the next round waits
// for its own.
#pragma once
#include <vector>

#include "runtime/face/part.h"

namespace periapt {

class UserDriven {
 public:
  static bool is_on();
  // In main(), in each process of the run.
  static void begin(int argc, char** argv, void (*register_main_module)(), std::vector<Part> parts);
  static void finish_init();
  static void run_round();
  // Until the first round has ended: what the mainchares begin.
  static void run_first_round();
  // Ends the run; main() goes on without it.
  static void leave();
  // On the first PE: main() goes on when the entry method that calls this has returned.
  static void stop_here();
  // On any PE: ends the round, or the program where main() has come to leave().
  static void request_stop();
};

}  // namespace periapt
