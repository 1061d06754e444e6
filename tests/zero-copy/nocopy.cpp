// Arrays that are sent without a copy, to receivers of all kinds, one or all, that stay or keep moving. The sender
// spoils an array as soon as it is told that it may.
#include <cstdlib>
#include <string>

#include "nocopy_arrays.decl.h"
#include "tests/zero-copy/checked.h"

using checked::holds;

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Cell cells;
/*readonly*/ CProxy_Branch branches;
/*readonly*/ CProxy_NodeBranch nodes;

namespace {
// In bytes four times that: copied, fetched within a process, fetched by all PEs.
const int sizes[] = {0, 10, 400, 1000, 20'000, 70'000, 600'001};
unsigned short mode_of(int i) {
  static const unsigned short modes[] = {CK_BUFFER_UNREG, CK_BUFFER_REG, CK_BUFFER_PREREG};
  return modes[i % 3];
}
}  // namespace

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* args) {
    delete args;
    mainProxy = thisProxy;
    branches = CProxy_Branch::ckNew();
    nodes = CProxy_NodeBranch::ckNew();
    cells = CProxy_Cell::ckNew(2 * CkNumPes());
    thisProxy.run();
  }
  void run() {
    check_bounds();
    const int count = 2 * CkNumPes();
    for (int size : sizes)
      for (int kind = 0; kind < 3; ++kind) {
        // Each cell sends four calls with one array and one with two, and is told six times.
        cells.sendAll(size, kind);
        wait_for(count * (5 + 6));
      }
    for (int size : sizes) {
      // Each branch sends to another branch, a node and the main chare.
      branches.sendAll(size);
      wait_for(CkNumPes() * (3 + 3));
    }
    for (int size : sizes) {
      auto* x = checked::to_send<int>(size, 99, CK_BUFFER_REG);
      const CkCallback done(CkIndex_Branch::sent(nullptr), branches[CkMyPe()]);
      cells.all(CkSendBuffer(x, CkCallback::ignore), size, 99);
      branches.all(CkSendBuffer(x, CK_BUFFER_UNREG), size, 99);
      std::vector<CkArrayIndex1D> odd;
      for (int i = 1; i < count; i += 2) odd.emplace_back(i);
      CProxySection_Cell section(cells, std::vector<CkArrayIndex>(odd.begin(), odd.end()));
      section.all(CkSendBuffer(x), size, 99);
      nodes.all(CkSendBuffer(x, done), size, 99);
      wait_for(count + CkNumPes() + CkNumPes() + CkNumNodes() + 1);
    }
    // Elements move on with each array that reaches them, and arrays reach them wherever they are.
    const int hops = 25;
    cells.wander(hops);
    wait_for(count);
    CkWaitQD();
    counted_ = 0;
    cells.report();
    wait_for(1);
    DEMAND(counted_ == count * hops);
    CkPrintf("nocopy: all well\n");
    CkExit();
  }
  void done(int n) {
    expected_ -= n;
    if (expected_ == 0 && waiting_) CthAwaken(waiting_);
  }
  void counted(int n) {
    counted_ = n;
    done(1);
  }
  void toMain(int* x, int n, int from) {
    DEMAND(holds(x, n, from));
    done(1);
  }

 private:
  // What is copied by its sender depends on whether the receiver is in this process.
  void check_bounds() {
    using namespace periapt;
    using zero_copy::copied_max_elsewhere;
    const int nocopy = CkIndex_Branch::take(CkNcpyBuffer(), 0, 0);
    for (int pe = 0; pe < CkNumPes(); ++pe) {
      const bool elsewhere = CkNodeOf(pe) != CkMyNode();
      DEMAND(receiver_pe(branches[pe]) == pe);
      DEMAND(zero_copy::copies_for(pe, nocopy, copied_max_elsewhere) == elsewhere);
      DEMAND(!zero_copy::copies_for(pe, nocopy, copied_max_elsewhere + 1));
    }
    DEMAND(!zero_copy::copies_for(-1, nocopy, zero_copy::copied_max + 1));
    for (int node = 0; node < CkNumNodes(); ++node) DEMAND(CkNodeOf(receiver_pe(nodes[node])) == node);
    DEMAND(receiver_pe(nodes[CkNumNodes()]) == -1 && receiver_pe(branches[CkNumPes()]) == -1);
    DEMAND(receiver_pe(mainProxy) == 0);
  }
  void wait_for(int count) {
    expected_ += count;
    waiting_ = CthSelf();
    if (expected_ != 0) CthSuspend();
    waiting_ = nullptr;
  }
  int expected_ = 0, counted_ = 0;
  CthThread waiting_ = nullptr;
};

class Cell : public CBase_Cell {
 public:
  Cell() {}
  explicit Cell(CkMigrateMessage*) {}
  void pup(PUP::er& p) {
    p | told_;
    p | left_;
  }

  void sendAll(int n, int kind) {
    const unsigned short mode = mode_of(kind);
    const int to = (thisIndex + 3) % (2 * CkNumPes());
    const auto sending = [&](int seed) { return checked::to_send<int>(n, seed, mode); };
    CkCallback cb(CkIndex_Cell::sent(nullptr), thisProxy[thisIndex]);
    cb.setRefNum(17 + kind);
    int z[3] = {thisIndex, n, kind};
    auto* y = checked::to_send<char>(2 * n + 1, thisIndex + 1, mode);
    thisProxy[to].plain(thisIndex, CkSendBuffer(sending(thisIndex), cb, mode), n, std::to_string(n),
                        CkSendBuffer(y, cb, mode, CK_BUFFER_NODEREG), z);
    thisProxy[to].inThread(CkSendBuffer(sending(thisIndex), cb, mode), n, thisIndex);
    CkEntryOptions options;
    options.setPriority(-7);
    thisProxy[to].urgent(CkSendBuffer(sending(thisIndex), cb, mode), n, thisIndex, &options);
    thisProxy[to].direct(CkSendBuffer(sending(thisIndex), cb, mode), n, thisIndex);
    thisProxy[thisIndex].direct(CkSendBuffer(sending(thisIndex + 3), cb, mode), n, thisIndex + 3);
  }
  void plain(int from, int* x, int n, std::string name, char* y, int* z) {
    DEMAND(holds(x, n, from) && holds(y, 2 * n + 1, from + 1) && name == std::to_string(n));
    DEMAND(z[0] == from && z[1] == n);
    mainProxy.done(1);
  }
  void inThread(int* x, int n, int from) {
    CthYield();
    DEMAND(holds(x, n, from));
    mainProxy.done(1);
  }
  void urgent(int* x, int n, int from) {
    DEMAND(holds(x, n, from));
    mainProxy.done(1);
  }
  void direct(int* x, int n, int from) {
    DEMAND(holds(x, n, from));
    mainProxy.done(1);
  }
  void all(int* x, int n, int seed) {
    DEMAND(holds(x, n, seed));
    mainProxy.done(1);
  }
  void sent(CkDataMsg* told) {
    auto* buffer = reinterpret_cast<CkNcpyBuffer*>(told->data);
    if (left_ >= 0) {
      branches[buffer->pe].freed(told);  // we may have left its process
      ++told_;
      return;
    }
    DEMAND(CkGetRefNum(told) >= 17 && CkGetRefNum(told) < 20);
    buffer->deregisterMem();
    checked::spoil_and_free(*buffer);
    delete told;
    mainProxy.done(1);
  }

  // Each array is sent on; its receiver moves on.
  void wander(int left) { send_on(left); }
  void chased(int* x, int n, int seed, int left) {
    DEMAND(holds(x, n, seed));
    if (left > 0)
      send_on(left);
    else
      mainProxy.done(1);
    migrateMe((CkMyPe() + 1 + left % 2) % CkNumPes());
  }
  void report() {
    contribute(sizeof told_, &told_, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, counted), mainProxy));
  }

 private:
  void send_on(int left) {
    left_ = left;
    const int n = left % 5 == 0 ? 70'000 + left : 600 + 37 * left, to = (thisIndex * 5 + left) % (2 * CkNumPes());
    auto* x = checked::to_send<int>(n, thisIndex + left, mode_of(left));
    const CkCallback cb(CkIndex_Cell::sent(nullptr), thisProxy[thisIndex]);
    thisProxy[to].chased(CkSendBuffer(x, cb, mode_of(left)), n, thisIndex + left, left - 1);
  }
  int told_ = 0;
  int left_ = -1;  // not wandering
};

class Branch : public CBase_Branch {
 public:
  Branch() {}
  void sendAll(int n) {
    const unsigned short mode = mode_of(n);
    const CkCallback cb(CkIndex_Branch::sent(nullptr), thisProxy[CkMyPe()]);
    const auto sending = [&] { return CkSendBuffer(checked::to_send<int>(n, CkMyPe(), mode), cb, mode); };
    thisProxy[(CkMyPe() + 1) % CkNumPes()].take(sending(), n, CkMyPe());
    nodes[(CkMyNode() + 1) % CkNumNodes()].take(sending(), n, CkMyPe());
    mainProxy.toMain(sending(), n, CkMyPe());
  }
  void take(int* x, int n, int from) {
    DEMAND(holds(x, n, from));
    mainProxy.done(1);
  }
  void all(int* x, int n, int seed) { take(x, n, seed); }
  void sent(CkDataMsg* told) {
    freed(told);
    mainProxy.done(1);
  }
  void freed(CkDataMsg* told) {
    auto* buffer = reinterpret_cast<CkNcpyBuffer*>(told->data);
    DEMAND(buffer->pe == CkMyPe());
    checked::spoil_and_free(*buffer);
    delete told;
  }
};

class NodeBranch : public CBase_NodeBranch {
 public:
  NodeBranch() {}
  void take(int* x, int n, int from) {
    DEMAND(holds(x, n, from));
    mainProxy.done(1);
  }
  void all(int* x, int n, int seed) { take(x, n, seed); }
};

#include "nocopy_arrays.def.h"
