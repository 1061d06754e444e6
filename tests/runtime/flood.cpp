// The end of a run in the middle of a flood: every PE has sent every other one more than a ring holds, so the news of
// the end finds messages parked in front of it. All processes must leave with status 7.
#include <vector>

#include "charm++.h"
#include "flood.decl.h"

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* args) {
    delete args;
    CProxy_Sink sinks = CProxy_Sink::ckNew(thisProxy);
    sinks.start();
  }
  void begun() {
    if (++begun_ == CkNumPes()) CkExit(7);
  }

 private:
  int begun_ = 0;
};

class Sink : public CBase_Sink {
 public:
  explicit Sink(CProxy_Main main) : main(main) {}
  void start() {
    constexpr int messages = 1500;  // a ring has 512 slots at most
    for (int i = 0; i < messages; ++i)
      for (int to = 0; to < CkNumPes(); ++to)
        if (to != CkMyPe()) thisProxy[to].drop(std::vector<int>(i % 200, i));
    main.begun();
  }
  void drop(std::vector<int> load) {
    for (int value : load) sum = sum + value;
  }

 private:
  CProxy_Main main;
  volatile long sum = 0;
};

#include "flood.def.h"
