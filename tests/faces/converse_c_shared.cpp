// The part in C++ of converse_c_program.c: variables of PEs and threads, some of which are declared there.
#include <converse.h>

struct Pair {
  double first;
  int second;
};
struct turn {
  double weights[2];
  int count;
};

CpvDeclare(int, of_cpp);
CpvExtern(Pair, of_c);
CtvDeclare(double, weight);
CtvExtern(turn, turn);

extern "C" {
void shared_initialize(void);
int shared_of_c(void);
int shared_turn(void);

void shared_initialize(void) {
  CpvInitialize(int, of_cpp);
  CtvInitialize(double, weight);
  CpvAccess(of_cpp) = 200 + CmiMyPe();
}
int shared_of_c(void) { return CpvAccess(of_c).second; }
int shared_turn(void) { return CtvAccess(turn).count; }
}
