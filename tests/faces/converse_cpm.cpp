// Calls by Cpm, of all kinds of parameters and to all kinds of destinations: a part of converse_rest_program.
#include <cstring>
#include <vector>

#include "converse_rest.h"

typedef struct Point {
  int x, y;
} Point;
CpmDeclareSimple(Point);
#define CpmPack_Point(v) ((v).x += 100)
#define CpmUnpack_Point(v) ((v).x -= 100)

#include "converse_cpm.cpm.h"

CpmInvokable cpm_nothing() { ack(); }
CpmInvokable cpm_all(int number, CpmDim points, Point* point, CpmStr text, CpmDim words, CpmStr* word, double half) {
  CHECK(number == 17 && points == 2 && point[0].x == 1 && point[1].y == 4 && half == 0.5);
  CHECK(std::strcmp(text, "a text") == 0 && words == 3 && std::strcmp(word[0], "one") == 0);
  CHECK(std::strcmp(word[1], "") == 0 && std::strcmp(word[2], "three") == 0);
  ack();
}
static std::vector<int> order;
CpmInvokable cpm_in_order(int number) {
  order.push_back(number);
  if (order.size() < 6) return;
  CHECK((order == std::vector<int>{10, 11, -2, 3, 5, 7}));
  ack();
}
CpmInvokable cpm_thread(CpmDim n, int* values) {
  CHECK(CthSelf() != nullptr);
  CthYield();  // the message stays meanwhile
  for (int i = 0; i < n; ++i) CHECK(values[i] == i * i);
  ack();
}
CpmInvokable cpm_set(Cfuture future, int value) { CfutureSet(future, &value, sizeof value); }
static void wait_for_value(void*) {
  Cfuture future = CfutureCreate();
  Cpm_cpm_set(CpmSend(CmiNumPes() - 1), future, 42);
  CHECK(*(int*)CfutureWait(future) == 42);
  CfutureDestroy(future);
  ack();
}

void cpm_initialize() { CpmInitializeThisModule(); }
int cpm_start() {
  const int last = CmiNumPes() - 1;
  Cpm_cpm_nothing(CpmSend(last));
  Cpm_cpm_nothing(CpmSend(CpmALL));
  Cpm_cpm_nothing(CpmEnqueueFIFO(CpmOTHERS));
  Point points[2] = {{1, 2}, {3, 4}};
  char one[] = "one", none[] = "", three[] = "three", text[] = "a text";
  CpmStr words[3] = {one, none, three};
  Cpm_cpm_all(CpmSend(last), 17, 2, points, text, 3, words, 0.5);
  Cpm_cpm_all(CpmMakeThread(0), 17, 2, points, text, 3, words, 0.5);
  CHECK(points[0].x == 1);
  // Each goes into this PE's queue by a message of its own, which is looked at before what has a priority above 0.
  order.clear();
  for (int number : {7, 3, 5}) Cpm_cpm_in_order(CpmEnqueueIFIFO(0, number), number);
  Cpm_cpm_in_order(CpmEnqueueLIFO(0), 10);
  Cpm_cpm_in_order(CpmEnqueueLIFO(0), 11);
  Cpm_cpm_in_order(CpmEnqueueILIFO(0, -2), -2);
  int squares[5] = {0, 1, 4, 9, 16};
  Cpm_cpm_thread(CpmMakeThreadSize(last, 65536), 5, squares);
  CthAwaken(CthCreate(wait_for_value, nullptr, 0));
  return 1 + CmiNumPes() + (CmiNumPes() - 1) + 2 + 1 + 1 + 1;
}
