// Each cell sends its right neighbour all that a round of it waits for, in any order, and orders to move in between:
// the sum of what the bodies have seen is known. See bodies.ci.
#include <algorithm>
#include <atomic>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "pup_stl.h"

/// Has a pup() of its own.
class Known {
 public:
  Known() = default;
  explicit Known(int value) : parts_(3, value) {}
  int value() const { return parts_[0] + parts_[1] + parts_[2]; }
  void pup(PUP::er& p);

 private:
  std::vector<int> parts_;
};
constexpr int late = 100000;  // numbers of what a second when waits for

#include "bodies.decl.h"

CProxy_Main mainProxy;
int cellCount;

namespace {
constexpr int rounds = 6, bufferCount = 5;
void require(bool right, const char* what) {
  if (!right) CkAbort("%s: the sum is another one", what);
}
// As a trace would.
class Scatters : public periapt::SerialObserver {
 public:
  std::atomic<int> begun{0}, ended{0};
  void on_serial(periapt::Pe&, const periapt::SerialBlock& block, bool begins) override {
    if (std::string(block.label) == "scatter" && std::string(block.place).find("bodies.ci:") != std::string::npos)
      ++(begins ? begun : ended);
  }
} scatters;
const bool is_watched = (periapt::SerialBlocks::observer = &scatters, true);
}  // namespace

void Known::pup(PUP::er& p) { p | parts_; }

class Parcel : public CMessage_Parcel {
 public:
  int* numbers;
};
/// Packs itself.
class Sealed : public CMessage_Sealed {
 public:
  std::string letters;
  static void* pack(Sealed* s) {
    const std::size_t size = s->letters.size();
    char* bytes = static_cast<char*>(CkAllocBuffer(s, static_cast<int>(size + sizeof size)));
    std::memcpy(bytes, &size, sizeof size);
    std::memcpy(bytes + sizeof size, s->letters.data(), size);
    delete s;
    return bytes;
  }
  static Sealed* unpack(void* bytes) {
    std::size_t size;
    std::memcpy(&size, bytes, sizeof size);
    Sealed* s = new (CkAllocBuffer(bytes, sizeof(Sealed))) Sealed;
    s->letters.assign(static_cast<char*>(bytes) + sizeof size, size);
    CkFreeMsg(bytes);
    return s;
  }
};

class Main : public CBase_Main {
  Main_SDAG_CODE CProxy_Cell cells_;
  CProxy_Heir heirs_;
  CProxy_Youngest youngest_;

 public:
  int fields = 0;
  explicit Main(CkArgMsg* m) {
    delete m;
    __sdag_init();
    mainProxy = thisProxy;
    cellCount = std::max(6, std::min(3 * CkNumPes(), 24));
    thisProxy.run();
  }
  void startCells() {
    cells_ = CProxy_Cell::ckNew(cellCount);
    cells_.run(rounds, "hello");
  }
  void checkCells(CkReductionMsg* m);
  void startGroups() {
    CProxy_Ring(CProxy_Ring::ckNew()).run();
    CProxy_Nodes(CProxy_Nodes::ckNew()).run();
  }
  void startFields() {
    CProxy_Field<int>(CProxy_Field<int>::ckNew(7)).run(2);
    CProxy_Field<double>(CProxy_Field<double>::ckNew(4)).run(3.5);
  }
  void startHeirs() {
    heirs_ = CProxy_Heir::ckNew(3);
    heirs_.young();
    for (int i = 0; i < 3; ++i) {
      heirs_[i].tick(2, 25);
      heirs_[i].roam((i + 1) % CkNumPes());
      heirs_[i].tick(1, 10);
    }
    heirs_.old();
  }
  void startYoungest() {
    CProxy_Younger younger = CProxy_Younger::ckNew(2);
    younger.old(0);
    younger.token(1, 5);
    younger.plain(1);
    younger.young();
    younger.token(2, 6);
    younger.plain(2);
    youngest_ = CProxy_Youngest::ckNew(1);
    for (int n : {1, 3, 4}) youngest_.plain(n);
    youngest_.token(1, 4);
    youngest_.token(3, 6);
    youngest_.token(4, 7);
  }
  void startBuffers() { CProxy_Buffers(CProxy_Buffers::ckNew(bufferCount)).run(); }
  void passed() {
    require(is_watched && scatters.begun > 0 && scatters.begun == scatters.ended, "serial blocks that were told");
    CkPrintf("all checks passed\n");
    CkExit();
  }
};

/// What one round adds to a cell's sum; the calls that a cell sends for it are in scatter().
static int expectedOf(int round) {
  int sum = round + 5;                            // value
  sum += 3 + 4 + 'd';                             // list, text
  sum += round * 2 + 7 + 'a' + 1 + 5;             // the second value
  sum += round + 1 + (round % 2 == 0 ? 10 : 20);  // left, serial, right
  for (int turn = 0; turn < 3; ++turn) sum += 3 * (round + turn);
  for (int i = 0; i < 5; ++i) sum += (round + i) * i + (2 * i + i + round + i);
  sum += 6 + 4 + 2;
  sum += round + 40 + round * 2 + 'x';  // parcel, sealed
  return sum + 3 + 4;                   // either, climbed
}

void Main::checkCells(CkReductionMsg* m) {
  int all = 0;
  for (int round = 0; round < rounds; ++round) all += cellCount * expectedOf(round);
  int told = 0;
  for (auto* e = static_cast<CkReduction::setElement*>(m->getData()); e; e = e->next(), ++told)
    require(*reinterpret_cast<int*>(e->data) == all, "cells");
  require(told == cellCount, "all cells");
}

class Cell : public CBase_Cell {
  Cell_SDAG_CODE std::mt19937 dice_;

 public:
  int round = 0, turn = 0, sum = 0, calls = 0;
  bool own = false;
  Cell() : dice_(thisIndex) { usesAtSync = false; }
  explicit Cell(CkMigrateMessage*) {}
  void pup(PUP::er& p) {
    __sdag_pup(p);
    p | round;
    p | turn;
    p | sum;
    p | calls;
    p | own;
  }
  void add(int n) { sum += n; }
  static int letterOf(const Sealed* s) { return s->letters.front(); }
  void roam(int pe) { ckMigrate(pe); }
  /// From a body: it goes when the serial has returned.
  void leave() {
    ckMigrate((CkMyPe() + 1) % CkNumPes());
    require(sum > 0, "an element that has left");
  }
  void scatter(int r) {
    dice_.seed(static_cast<unsigned>(r * 1000 + thisIndex));
    CProxyElement_Cell to = thisProxy[(thisIndex + 1) % cellCount];
    std::vector<std::function<void()>> calls = {
        [=] { to.value(r, r + 5); },
        [=] { to.value(r + late, r * 2); },
        [=] {
          to.list(r, std::vector<int>{1, 2, 3});
        },
        [=] { to.text(r, 4, "abcd"); },
        [=] { to.left(r, r + 0.5); },
        [=] { to.right(r); },
        [=] { to.both(r); },
        [=] { to.either(r); },
        [=] {
          Parcel* p = new (2) Parcel;
          p->numbers[0] = r + 40;
          p->numbers[1] = 2 * r;
          CkSetRefNum(p, r);
          to.parcel(p);
        },
        [=] {
          Sealed* s = new Sealed;
          s->letters = "xyz";
          CkSetRefNum(s, r);
          to.sealed(s);
        },
    };
    for (int i = 0; i < 3; ++i) calls.push_back([=] { to.step(r * 3 + i, Known(r + i)); });
    for (int i = 0; i < 5; ++i) {
      calls.push_back([=] { to.part(r * 10 + i, r + i); });
      calls.push_back([=] { to.part(r * 10 + i + late, 2 * i); });
    }
    for (int i = 0; i < 8; ++i) {
      const int who = static_cast<int>(dice_() % static_cast<unsigned>(cellCount));
      const int pe = static_cast<int>(dice_() % static_cast<unsigned>(CkNumPes()));
      CProxyElement_Cell other = thisProxy[who];
      calls.push_back([=] { other.roam(pe); });
    }
    std::shuffle(calls.begin(), calls.end(), dice_);
    for (const auto& call : calls) call();
  }
};

class Ring : public CBase_Ring {
  Ring_SDAG_CODE public : Ring() {}
};
class Nodes : public CBase_Nodes {
  Nodes_SDAG_CODE int sum = 0;

 public:
  Nodes() {}
};
class Fib : public CBase_Fib {
  Fib_SDAG_CODE CProxy_Fib parent_;
  bool root_;

 public:
  Fib(int n, CProxy_Fib parent, bool root) : parent_(parent), root_(root) { thisProxy.calc(n); }
  void spread(int n) {
    CProxy_Fib::ckNew(n - 1, thisProxy, false);
    CProxy_Fib::ckNew(n - 2, thisProxy, false);
  }
  void respond(int value) {
    if (root_)
      mainProxy.answer(value);
    else
      parent_.response(value);
    delete this;
  }
};
/// All rounds are sent at once, the last first.
class Buffers : public CBase_Buffers {
  Buffers_SDAG_CODE std::vector<int> sent_, come_[4];
  std::vector<double> lent_;
  static int count(int number) { return 1000 * number + 3; }

 public:
  int round = 0;
  Buffers() {}
  explicit Buffers(CkMigrateMessage*) {}
  void sendAll() {
    CProxyElement_Buffers to = thisProxy[(thisIndex + 1) % bufferCount];
    sent_.resize(4000);
    lent_.resize(30000);
    for (std::size_t i = 0; i < sent_.size(); ++i) sent_[i] = static_cast<int>(i) + thisIndex;
    for (std::size_t i = 0; i < lent_.size(); ++i) lent_[i] = static_cast<double>(i) + thisIndex;
    for (int r = 3; r >= 0; --r) {
      to.posted(r, count(r), CkSendBuffer(sent_.data()));
      for (int number : {r, r + 10}) to.lent(number, CkSendBuffer(lent_.data()), count(number));
      Parcel* p = new (1) Parcel;
      CkSetRefNum(p, r);
      to.parcel(p);
    }
    for (int r = 0; r < 4; ++r) {
      const int value = r + 50;
      CkCallback sum(CkReductionTarget(Buffers, reduced), thisProxy),
          none(CkReductionTarget(Buffers, counted), thisProxy);
      sum.setRefNum(r);
      none.setRefNum(r);
      contribute(sizeof value, &value, CkReduction::sum_int, sum);
      contribute(none);
    }
  }
  void posted(int number, int n, int* x, CkNcpyBufferPost* post) {
    require(x == nullptr || n == count(number), "a post entry");
    come_[number].assign(static_cast<std::size_t>(n), -1);
    CkMatchBuffer(post, 0, 100 * thisIndex + number);
    CkPostBuffer(come_[number].data(), static_cast<std::size_t>(n), 100 * thisIndex + number);
  }
  void check(int number, int n, const int* x, int m, const double* y) {
    const int from = (thisIndex + bufferCount - 1) % bufferCount;
    require(n == count(number) && x == come_[number].data(), "a posted buffer");
    for (int i = 0; i < n; ++i) require(x[i] == i + from, "what came into a posted buffer");
    check(number, m, y);
  }
  void check(int number, int m, const double* y) {
    const int from = (thisIndex + bufferCount - 1) % bufferCount;
    require(m == count(number), "the length of an array that was not copied");
    for (int i = 0; i < 2 * m; ++i) require(y[i] == i + from, "an array that was not copied");
  }
};
template <class T>
class Field : public CBase_Field<T> {
  Field_SDAG_CODE public : Field() {}
  explicit Field(CkMigrateMessage*) {}
  void finish(T v) {
    double d = static_cast<double>(v);
    this->contribute(sizeof d, &d, CkReduction::sum_double, CkCallback(CkReductionTarget(Main, fieldDone), mainProxy));
  }
};
template <class T>
class Elder : public CBase_Elder<T> {
  Elder_SDAG_CODE protected : T sum_ = 0;

 public:
  Elder() {}
  explicit Elder(CkMigrateMessage*) {}
  void add(T v) { sum_ += v; }
  void finish() {
    double d = static_cast<double>(sum_);
    this->contribute(sizeof d, &d, CkReduction::sum_double, CkCallback(CkReductionTarget(Main, fieldDone), mainProxy));
  }
};
class Younger : public CBase_Younger {
  Younger_SDAG_CODE public : Younger() {}
  explicit Younger(CkMigrateMessage*) {}
};
template <class U>
class Middle : public CBase_Middle<U> {
  Middle_SDAG_CODE public : Middle() {}
  explicit Middle(CkMigrateMessage*) {}
};
class Youngest : public CBase_Youngest {
  Youngest_SDAG_CODE public : Youngest() {}
  explicit Youngest(CkMigrateMessage*) {}
};
class Ancestor : public CBase_Ancestor {
  Ancestor_SDAG_CODE public : int sum = 0;
  Ancestor() {}
  explicit Ancestor(CkMigrateMessage*) {}
  void pup(PUP::er& p) { p | sum; }
  void add(int v) { sum += v; }
  virtual void ended() {}
};
class Heir : public CBase_Heir {
  Heir_SDAG_CODE public : Heir() {}
  explicit Heir(CkMigrateMessage*) {}
  void ended() override { thisProxy[thisIndex].tock(); }
  void roam(int pe) { ckMigrate(pe); }
};

#include "bodies.def.h"
