// A client in C++: the requests of PythonCCS-client.h, a line in hexadecimal each, for scripts_test.py to compare with
// its own and to send.
#include <cstdio>

#include "scripts.h"

void show(const char* bytes, int size) {
  for (int i = 0; i < size; ++i) std::printf("%02x", static_cast<unsigned char>(bytes[i]));
  std::printf("\n");
}
void show(PythonExecute request) {
  char* bytes = request.pack();
  show(bytes, request.size());
  free(bytes);
}
template <class Request>
void show(Request request) {
  show(request.pack(), request.size());  // the request's own memory
}

int main() {
  PythonExecute plain("print(1)");
  show(plain);
  plain.setWait(true);
  plain.setKeepPrint(true);
  show(plain);
  show(PythonExecute("x = 1", true, true, htonl(7)));
  Range range(3, 6);
  PythonExecute visits("def f(p): return p.number", "f", &range);
  visits.setWait(true);
  show(visits);
  show(PythonPrint(htonl(7)));
  show(PythonPrint(htonl(7), false, true));
  show(PythonFinished(htonl(7), false));
  return plain.isWait() && !plain.isPersistent() && visits.isIterate() ? 0 : 1;
}
