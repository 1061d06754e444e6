// No .ci file names an instance: CkRegisterMainModule() registers the classes, and asks CkIndex for the entries that
// are called, as programs do that make both from lists of types. One that is asked for before or later ends the run.
#include <charm++.h>
#include <pup_stl.h>

#include <cstdlib>
#include <cstring>
#include <tuple>
#include <vector>

#include "instances.decl.h"

struct Whole {};
struct Plain {};
struct Add;
struct Late;
using MainProxy = parts::CProxy_Main<Whole>;
using CellsProxy = parts::CProxy_Cells<Plain>;
using CellsIndex = parts::CkIndex_Cells<Plain>;
constexpr int cells = 5;
static MainProxy main_proxy;

namespace parts {
template <class Program>
class Main : public CBase_Main<Program> {
 public:
  explicit Main(CkArgMsg* m) {
    main_proxy = this->thisProxy;
    is_late_ = m->argc > 1 && std::strcmp(m->argv[1], "late") == 0;
    delete m;
    store_ = CProxy_Store<Plain>::ckNew(0.5);
    cells_ = CellsProxy::ckNew(std::vector<int>{1, 2}, cells);
    next();
  }
  void next() {
    const CkCallback to_sum(CkReductionTarget(Main<Program>, sum), this->thisProxy);
    if (is_late_) return cells_.template apply_alone<Late>();
    if (step_ == 0) cells_.template apply<Add>(std::make_tuple(2, 0.25, to_sum, store_));
    if (step_ == 1) cells_.template apply_alone<Add>();
    if (step_ == 2)
      cells_.template apply<Add>(
          std::make_tuple(1, 0.0, CkCallback(CellsIndex::redn_wrapper_reduced<Add, double>(nullptr), cells_), store_));
    if (step_++ < 3) return;
    CkPrintf("all checks passed\n");
    CkExit();
  }
  void sum(double value) {
    if (value != cells * (2 + 0.25 + 0.5 + 3)) CkAbort("a sum of %g", value);
    next();
  }

 private:
  CellsProxy cells_;
  CProxy_Store<Plain> store_;
  bool is_late_ = false;
  int step_ = 0;
};

template <class Kind>
class Store : public CBase_Store<Kind> {
 public:
  explicit Store(double value) : value(value) {}
  double value;
};

template <class Kind>
class Cells : public CBase_Cells<Kind> {
 public:
  explicit Cells(const std::vector<int>& weights) : weights_(weights) {}
  explicit Cells(CkMigrateMessage*) {}
  void pup(PUP::er& p) override { p | weights_; }
  int weight() const { return weights_[0] + weights_[1]; }

  template <class Action, class... Args>
  void apply(std::tuple<Args...> args) {
    std::apply([this](const auto&... each) { Action::apply(*this, each...); }, args);
  }
  template <class Action>
  void apply_alone() {
    Action::apply(*this);
  }
  template <class Action, class Value>
  void reduced(Value value) {
    Action::apply(*this, value);
  }

 private:
  std::vector<int> weights_;
};
}  // namespace parts

struct Add {
  using Cells = parts::Cells<Plain>;
  static void apply(Cells& cell, int whole, double part, const CkCallback& then,
                    const parts::CProxy_Store<Plain>& store) {
    const double value = whole + part + store.ckLocalBranch()->value + cell.weight();
    cell.contribute(sizeof value, &value, CkReduction::sum_double, then);
  }
  static void apply(Cells& cell) { cell.contribute(CkCallback(parts::CkIndex_Main<Whole>::next(), main_proxy)); }
  static void apply(Cells& cell, double value) {
    if (value != cells * (1 + 0.5 + 3)) CkAbort("a sum of %g", value);
    apply(cell);
  }
};
struct Late : Add {};

#define CK_TEMPLATES_ONLY
#include "instances.def.h"
#undef CK_TEMPLATES_ONLY
#include "instances.def.h"

// Before the run begins: asked for too early.
static const int early = std::getenv("INSTANCES_EARLY") ? CellsIndex::apply_alone<Late>() : 0;

static void register_reduced() { CellsIndex::redn_wrapper_reduced<Add, double>(nullptr); }

extern "C" void CkRegisterMainModule(void) {
  using Applied = std::tuple<int, double, CkCallback, parts::CProxy_Store<Plain>>;
  static_cast<void>(early);
  _registerinstances();
  CkRegisterReadonly("main_proxy", "MainProxy", sizeof main_proxy, &main_proxy, periapt::pupReadonly<MainProxy>, 0);
  parts::CkIndex_Store<Plain>::__register("Store", sizeof(parts::Store<Plain>));
  CellsIndex::__register("Cells", sizeof(parts::Cells<Plain>));
  parts::CkIndex_Main<Whole>::__register("Main", sizeof(parts::Main<Whole>));
  CellsIndex::idx_apply<Add>(static_cast<void (parts::Cells<Plain>::*)(const Applied&)>(nullptr));
  CellsIndex::idx_apply_alone<Add>(static_cast<void (parts::Cells<Plain>::*)()>(nullptr));
  CkRegisterInitCall(register_reduced, false);
}
