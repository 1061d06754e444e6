// A program of C++11's time, all of std its own: names that are std's too since C++17, and what that has taken out of
// the language. charmc compiles it, and links it with a library that is compiled as C++20.
#include <algorithm>
#include <tuple>
#include <vector>

#include "pup_stl.h"

using namespace std;

struct byte {
  unsigned char value = 0;
  byte() = default;
  explicit byte(int v) : value(static_cast<unsigned char>(v)) {}
};
PUPbytes(byte);

#include "cxx14.decl.h"

CProxy_Main main_proxy;
int size = 12;
vector<int> data;

// Ends the run as it leaves, unless it throws what it says.
int checked(int value) throw(int) {
  if (value < 0) throw value;
  return value;
}
bool throws(int value) throw() {
  bool thrown = false;
  try {
    checked(value);
  } catch (int) {
    thrown = true;
  }
  return thrown;
}

class Parcel : public CMessage_Parcel {
 public:
  byte* bytes;
};

class Main : public CBase_Main {
 public:
  Main_SDAG_CODE Main(CkArgMsg* m) {
    delete m;
    main_proxy = thisProxy;
    for (register int i = 0; i < size; ++i) data.push_back(i);
    workers = CProxy_Worker::ckNew(size);
    thisProxy.run();
  }
  void asks() { workers[size - 1].ask(); }
  void takes(Parcel* parcel) {
    for (int i = 0; i < size; ++i)
      if (parcel->bytes[i].value != i) CkAbort("cxx14: byte %d of the message is %d\n", i, parcel->bytes[i].value);
    delete parcel;
  }
  void checks(int sum) {
    const int each = 66 * 2 * turn + turn;
    if (sum != size * each) CkAbort("cxx14: turn %d has the sum %d\n", turn, sum);
  }
  void ends() {
    if (!throws(-1) || throws(1)) CkAbort("cxx14: an exception is not what its function says\n");
    CkPrintf("all checks passed\n");
    CkExit();
  }

 private:
  CProxy_Worker workers;
  int turn = 0;
};

class Worker : public CBase_Worker {
 public:
  Worker() = default;
  explicit Worker(CkMigrateMessage*) {}
  void pup(PUP::er& p) {
    p | moved_;
    p | add_;
    p | values_;
    p | scale_;
  }
  void ask() {
    Parcel* parcel = new (size) Parcel;
    for (int i = 0; i < size; ++i) parcel->bytes[i] = byte(data[i]);
    main_proxy.parcel(parcel);
  }
  void work(byte add, int count, const int* values, tuple<int, double> scale) {
    add_ = add;
    values_.assign(values, values + count);
    scale_ = scale;
    moved_ = false;
    if (CkNumPes() > 1) {
      moved_++;
      migrateMe((CkMyPe() + 1) % CkNumPes());
    } else {
      adds();
    }
  }
  void ckJustMigrated() {
    CBase_Worker::ckJustMigrated();
    if (moved_) adds();
  }

 private:
  void adds() {
    int sum = add_.value;
    for (int value : values_) sum += static_cast<int>(value * get<0>(scale_) * get<1>(scale_));
    contribute(sizeof sum, &sum, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, summed), main_proxy));
  }

  bool moved_ = false;
  byte add_;
  vector<int> values_;
  tuple<int, double> scale_;
};

#include "cxx14.def.h"
