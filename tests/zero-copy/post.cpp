// Arrays that go to buffers which the receiver posts: before, in and after its post entry method, by tags of the PE and
// of the process, or by setting the pointer; for receivers of all kinds, one or all, that stay or keep moving.
#include <map>
#include <string>

#include "post_arrays.decl.h"
#include "tests/zero-copy/checked.h"

using checked::holds;

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Cell cells;
/*readonly*/ CProxy_Branch branches;
/*readonly*/ CProxy_NodeBranch nodes;

namespace {
const int sizes[] = {0, 10, 1000, 70'000, 600'001};
unsigned short mode_of(int i) {
  static const unsigned short modes[] = {CK_BUFFER_UNREG, CK_BUFFER_REG, CK_BUFFER_PREREG};
  return modes[i % 3];
}
enum { post_before, post_inside, post_after, kinds };
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
    const int count = 2 * CkNumPes();
    for (int size : sizes)
      for (int kind = 0; kind < kinds; ++kind) {
        cells.sendAll(size, kind);
        wait_for(count * (3 + 4));
      }
    for (int size : sizes) {
      branches.sendAll(size);
      wait_for(CkNumPes() * (3 + 3));
    }
    for (int size : sizes) {
      auto* x = checked::to_send<int>(size, 99, CK_BUFFER_REG);
      const CkCallback told(CkIndex_Branch::sent(nullptr), branches[CkMyPe()]);
      cells.all(CkSendBuffer(x, CkCallback::ignore), size, 99);
      branches.all(CkSendBuffer(x, CK_BUFFER_UNREG), size, 99);
      nodes.all(CkSendBuffer(x, told), size, 99);
      wait_for(count + CkNumPes() + CkNumNodes() + 1);
    }
    cells.wander(25);
    wait_for(count);
    CkWaitQD();
    CkPrintf("post: all well\n");
    CkExit();
  }
  void done() { one(); }
  void one() {
    if (--expected_ == 0 && waiting_) CthAwaken(waiting_);
  }
  void toMain(int*& x, int& n, int seed, CkNcpyBufferPost* post) {
    room_.assign(n + 1, -1);
    CkMatchBuffer(post, 0, 1'000'000 + seed);
    CkPostBuffer(room_.data(), n, 1'000'000 + seed);
    rooms_[seed] = std::move(room_);
  }
  void toMain(int* x, int n, int seed) {
    DEMAND(x == rooms_[seed].data() && holds(x, n, seed) && rooms_[seed][n] == -1);
    rooms_.erase(seed);
    one();
  }

 private:
  void wait_for(int count) {
    expected_ += count;
    waiting_ = CthSelf();
    if (expected_ != 0) CthSuspend();
    waiting_ = nullptr;
  }
  int expected_ = 0;
  CthThread waiting_ = nullptr;
  std::vector<int> room_;
  std::map<int, std::vector<int>> rooms_;
};

class Cell : public CBase_Cell {
 public:
  Cell() {}
  explicit Cell(CkMigrateMessage*) {}
  void pup(PUP::er& p) {
    DEMAND(filling_ == 0);  // or the runtime lets us go while our buffers are being filled
    p | wandering_;
  }

  void sendAll(int n, int kind) {
    const unsigned short mode = mode_of(n + kind);
    const int to = (thisIndex + 3) % (2 * CkNumPes());
    const auto sending = [&] { return checked::to_send<int>(n, thisIndex, mode); };
    CkCallback cb(CkIndex_Cell::sent(nullptr), thisProxy[thisIndex]);
    cb.setRefNum(17 + kind);
    int z[3] = {thisIndex, n, kind};
    auto* y = checked::to_send<char>(2 * n + 1, thisIndex + 1, mode);
    thisProxy[to].take(kind, n, CkSendBuffer(sending(), cb, mode), std::to_string(n), CkSendBuffer(y, cb, mode), z,
                       thisIndex);
    thisProxy[to].inThread(CkSendBuffer(sending(), cb, mode), n, thisIndex);
    thisProxy[to].assigned(CkSendBuffer(sending(), cb, mode), n, thisIndex);
  }

  // Of the two arrays one is posted before its tag is matched, in the post entry method, or by a message later.
  void take(int kind, int n, int* x, std::string name, char* y, int* z, int from, CkNcpyBufferPost* post) {
    DEMAND(!x && !y && name == std::to_string(n) && z[0] == from && z[2] == kind);
    x_.assign(n + 1, -1);
    y_.assign(2 * n + 2, -1);
    post[0].regMode = mode_of(n);
    const int tag = 10 * thisIndex;
    if (kind == post_before) CkPostBuffer(x_.data(), n, tag);
    CkMatchBuffer(post, 1, tag + 1);
    CkMatchBuffer(post, 0, tag);
    if (kind == post_inside) CkPostBuffer(x_.data(), n, tag);
    if (kind == post_after)
      thisProxy[thisIndex].postNow(tag);
    else
      CkPostBuffer(y_.data(), 2 * n + 1, tag + 1);
    taken_ = 0;
  }
  void postNow(int tag) {
    DEMAND(taken_ == 0);
    CkPostBuffer(y_.data(), y_.size() - 1, tag + 1);
    CkPostBuffer(x_.data(), x_.size() - 1, tag);
    DEMAND(taken_ == 0);  // never inline
  }
  void take(int kind, int n, int* x, std::string name, char* y, int* z, int from) {
    ++taken_;
    DEMAND(x == x_.data() && y == y_.data() && x_[n] == -1 && y_[2 * n + 1] == -1);
    DEMAND(holds(x, n, from) && holds(y, 2 * n + 1, from + 1) && name == std::to_string(n) && z[1] == n);
    mainProxy.one();
  }

  void inThread(int* x, int n, int from, CkNcpyBufferPost* post) {
    t_.assign(n, -1);
    CkPostBuffer(t_.data(), n, 10 * thisIndex + 2);
    CkMatchBuffer(post, 0, 10 * thisIndex + 2);
  }
  void inThread(int* x, int n, int from) {
    CthYield();
    DEMAND(x == t_.data() && holds(x, n, from));
    mainProxy.one();
  }

  // As programs did before there were tags: the pointer is set, and less may be wanted than is sent.
  void assigned(int*& x, int& n, int from, CkNcpyBufferPost* post) {
    a_ = std::vector<int>(n, -1);
    x = a_.data();  // null where n is 0
    n = n / 2;
  }
  void assigned(int* x, int n, int from) {
    DEMAND((a_.empty() || x == a_.data()) && n == static_cast<int>(a_.size()) / 2 && holds(x, n, from));
    for (std::size_t i = n; i < a_.size(); ++i) DEMAND(a_[i] == -1);
    mainProxy.one();
  }

  void all(int* x, int n, int seed, CkNcpyBufferPost* post) {
    all_.assign(n + 1, -1);
    CkMatchBuffer(post, 0, 10 * thisIndex + 3);
    CkPostBuffer(all_.data(), n, 10 * thisIndex + 3);
  }
  void all(int* x, int n, int seed) {
    DEMAND(x == all_.data() && holds(x, n, seed) && all_[n] == -1);
    mainProxy.one();
  }

  void sent(CkDataMsg* told) {
    auto* buffer = reinterpret_cast<CkNcpyBuffer*>(told->data);
    const bool wandering = wandering_;
    branches[buffer->pe].freed(told);
    if (!wandering) mainProxy.one();
  }

  // Each array is sent on; its receiver moves on, and asks for that already while its buffers are being filled.
  void wander(int left) { send_on(left); }
  void chased(int n, int* x, int seed, int left, CkNcpyBufferPost* post) {
    std::vector<int>& room = rooms_[seed];
    room.assign(n, -1);
    ++filling_;
    CkMatchBuffer(post, 0, 100'000 + 100 * thisIndex + left);
    CkPostBuffer(room.data(), n, 100'000 + 100 * thisIndex + left);
    migrateMe((CkMyPe() + 1 + left % 2) % CkNumPes());
  }
  void chased(int n, int* x, int seed, int left) {
    DEMAND(x == rooms_[seed].data() && holds(x, n, seed));
    rooms_.erase(seed);
    --filling_;
    if (left > 0)
      send_on(left);
    else
      mainProxy.one();
  }

 private:
  void send_on(int left) {
    wandering_ = true;
    const int n = 600 + 37 * left, to = (thisIndex * 5 + left) % (2 * CkNumPes());
    auto* x = checked::to_send<int>(n, 100 * thisIndex + left, mode_of(left));
    const CkCallback cb(CkIndex_Cell::sent(nullptr), thisProxy[thisIndex]);
    thisProxy[to].chased(n, CkSendBuffer(x, cb, mode_of(left)), 100 * thisIndex + left, left - 1);
  }
  bool wandering_ = false;
  int filling_ = 0, taken_ = 0;
  std::vector<int> x_, t_, a_, all_;
  std::vector<char> y_;
  std::map<int, std::vector<int>> rooms_;
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
  void take(int* x, int n, int from, CkNcpyBufferPost* post) {
    room_.assign(n, -1);
    CkMatchBuffer(post, 0, -1);
    CkPostBuffer(room_.data(), n, -1);
  }
  void take(int* x, int n, int from) {
    DEMAND(x == room_.data() && holds(x, n, from));
    mainProxy.one();
  }
  void all(int* x, int n, int seed, CkNcpyBufferPost* post) { take(x, n, seed, post); }
  void all(int* x, int n, int seed) { take(x, n, seed); }
  // For the node's branch, from whichever PE of the process.
  void postForNode(int tag, int n);
  void sent(CkDataMsg* told) {
    freed(told);
    mainProxy.one();
  }
  void freed(CkDataMsg* told) {
    auto* buffer = reinterpret_cast<CkNcpyBuffer*>(told->data);
    DEMAND(buffer->pe == CkMyPe());
    checked::spoil_and_free(*buffer);
    delete told;
  }

 private:
  std::vector<int> room_;
};

// Its entries run on any PE of the process; each array is posted by another PE, before or after it is matched.
class NodeBranch : public CBase_NodeBranch {
 public:
  NodeBranch() : rooms_(CkNumPes() + 100) {}
  void take(int* x, int n, int from, CkNcpyBufferPost* post) {
    rooms_[from].assign(n + 1, -1);
    const int other = CkNodeFirst(CkMyNode()) + (CkMyPe() - CkNodeFirst(CkMyNode()) + 1) % CkNodeSize(CkMyNode());
    branches[other].postForNode(from, n);
    CkMatchNodeBuffer(post, 0, from);
  }
  void take(int* x, int n, int from) {
    DEMAND(x == rooms_[from].data() && holds(x, n, from) && rooms_[from][n] == -1);
    mainProxy.one();
  }
  void all(int* x, int n, int seed, CkNcpyBufferPost* post) {
    room(seed).assign(n + 1, -1);
    CkPostNodeBuffer(room(seed).data(), n, seed);
    CkMatchNodeBuffer(post, 0, seed);
  }
  void all(int* x, int n, int seed) { take(x, n, seed); }
  std::vector<int>& room(int from) { return rooms_[from]; }

 private:
  std::vector<std::vector<int>> rooms_;
};

void Branch::postForNode(int tag, int n) { CkPostNodeBuffer(nodes.ckLocalBranch()->room(tag).data(), n, tag); }

#include "post_arrays.def.h"
