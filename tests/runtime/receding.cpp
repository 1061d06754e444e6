// A flood of messages takes much memory. When it is over the memory goes back to the system by itself, of large
// messages and of small ones: the program waits for that.
#include <cstddef>
#include <cstring>
#include <fstream>
#include <vector>

#include "charm++.h"
class CMessage_Wave;
#include "receding.decl.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Shore shores;

namespace {
long resident_mb() {
  long total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * 4096 >> 20;
}
}  // namespace

class Wave : public CMessage_Wave {
 public:
  std::size_t count;  // of the flood
  char* bytes;
};

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* args) {
    delete args;
    mainProxy = thisProxy;
    shores = CProxy_Shore::ckNew();
    thisProxy.run();
  }
  void run() {
    for (int round = 0; round < 2; ++round) {
      flood_and_recede(150, 1 << 20);
      flood_and_recede(300000, 400);
    }
    CkExit();
  }

 private:
  static void flood_and_recede(int count, int bytes) {
    shores[0].flood(count, bytes);
    CkWaitQD();
    CkCallback receded(CkCallback::resumeThread);
    shores.recede(receded);
    CkFreeMsg(receded.thread_delay());
    CkPrintf("a flood of %d messages of %d bytes has receded\n", count, bytes);
  }
};

class Shore : public CBase_Shore {
 public:
  Shore() : dry_mb(resident_mb()) {}
  void flood(int count, int bytes) {
    for (int i = 0; i < count; ++i) {
      Wave* wave = new (bytes) Wave;
      wave->count = static_cast<std::size_t>(count);
      std::memset(wave->bytes, 1, static_cast<std::size_t>(bytes));
      thisProxy[CkNumPes() - 1].wave(wave);
    }
    if (resident_mb() < dry_mb + flooded_mb) CkAbort("a flood takes %ld MB only", resident_mb() - dry_mb);
  }
  // All of them are there at once.
  void wave(Wave* wave) {
    waves.push_back(wave);
    if (waves.size() < wave->count) return;
    for (Wave* one : waves) delete one;
    waves = {};
  }
  void recede(CkCallback cb) {
    receded = cb;
    look(this, 0);
  }

 private:
  static constexpr long flooded_mb = 100, left_mb = 50;
  static void look(void* self, double) {
    auto* shore = static_cast<Shore*>(self);
    if (resident_mb() > shore->dry_mb + left_mb) {
      CcdCallFnAfter(look, self, 50);
      return;
    }
    shore->contribute(shore->receded);
  }

  const long dry_mb;
  CkCallback receded;
  std::vector<Wave*> waves;
};

#include "receding.def.h"
