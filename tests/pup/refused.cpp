// Does not compile; a test looks at what the compiler says.
#include "pup_stl.h"

struct Type {
  int x;
};

void pup(PUP::er& p) {
#ifdef REFUSED_PLAIN
  std::vector<Type> v;
  p | v;
#endif
#ifdef REFUSED_POINTER
  std::vector<int*> v;
  p | v;
#endif
}
