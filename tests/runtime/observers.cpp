// An observer hears of each message at each of the four points, once: of calls in a line to its own PE, to another one
// and to another process, small messages, large ones and urgent ones.
#include <array>
#include <string>

#include "observers.decl.h"
#include "runtime/message/delivery.h"
#include "runtime/registry/registry.h"
#include "runtime/scheduler/observer.h"
#include "runtime/scheduler/pe.h"

namespace {
constexpr int pieces_a_pe = 3, rounds = 5;
constexpr std::array<const char*, 6> kinds = {"to_element",        "to_element_many", "to_element_note",
                                              "to_element_urgent", "to_member",       "to_chare"};
constexpr std::array<const char*, 4> points = {"created", "enqueued", "begin_execute", "end_execute"};
constexpr int kind_count = static_cast<int>(kinds.size()), point_count = static_cast<int>(points.size());

// Of one PE.
class Counter : public periapt::Observer {
 public:
  std::array<int, kinds.size() * points.size()> counts{};

  void on_created(periapt::Pe&, const periapt::Created& made) override { count(made.entry, 0); }
  void on_enqueued(periapt::Pe&, std::uint16_t entry) override { count(entry, 1); }
  void on_begin(periapt::Pe&, const periapt::Delivery& call) override { count(call.entry, 2); }
  void on_end(periapt::Pe&, const periapt::Delivery& call) override { count(call.entry, 3); }

 private:
  void count(int entry, int point) {
    const std::string name = periapt::entry_info(entry).name;  // "void to_element(int)"
    for (int kind = 0; kind < kind_count; ++kind)
      if (name.rfind(std::string("void ") + kinds[kind] + "(", 0) == 0) ++counts[kind * point_count + point];
  }
};
}  // namespace

class Note : public CMessage_Note {
 public:
  int number = 0;
};

class Main : public CBase_Main {
  CProxy_Watch watch_;
  CProxy_Piece pieces_;

 public:
  explicit Main(CkArgMsg* m) {
    delete m;
    watch_ = CProxy_Watch::ckNew(thisProxy);
  }
  void watched() {
    pieces_ = CProxy_Piece::ckNew(pieces_a_pe * CkNumPes());
    CkStartQD(CkCallback(CkIndex_Main::made(), thisProxy));
  }
  void made() {
    pieces_.begin(thisProxy, watch_);
    CkStartQD(CkCallback(CkIndex_Main::sent(), thisProxy));
  }
  void to_chare(int) {}
  void sent() { watch_.report(); }
  void heard(int n, int* counts) {
    const int pieces = pieces_a_pe * CkNumPes();
    bool right = n == kind_count * point_count;
    for (int i = 0; i < n; ++i) {
      const std::string kind = kinds[i / point_count];
      const int wanted = rounds * pieces * (kind == "to_member" ? CkNumPes() : kind == "to_chare" ? 1 : pieces);
      if (counts[i] == wanted) continue;
      right = false;
      CkPrintf("%s of %s: heard %d times of %d\n", points[i % point_count], kind.c_str(), counts[i], wanted);
    }
    if (right) CkPrintf("all checks passed\n");
    CkExit(right ? 0 : 1);
  }
};

class Watch : public CBase_Watch {
  Counter counter_;
  CProxy_Main main_;

 public:
  explicit Watch(CProxy_Main main) : main_(main) {
    using periapt::Observer;
    periapt::Pe::current()->subscribe(
        &counter_, Observer::created | Observer::enqueued | Observer::begin_execute | Observer::end_execute);
    contribute(CkCallback(CkReductionTarget(Main, watched), main_));
  }
  void to_member(int) {}
  void report() {
    periapt::Pe::current()->unsubscribe(&counter_);
    contribute(sizeof counter_.counts, counter_.counts.data(), CkReduction::sum_int,
               CkCallback(CkReductionTarget(Main, heard), main_));
  }
};

class Piece : public CBase_Piece {
 public:
  Piece() = default;
  explicit Piece(CkMigrateMessage*) {}
  void begin(CProxy_Main main, CProxy_Watch watch) {
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < pieces_a_pe * CkNumPes(); ++i) call(i);
      for (int pe = 0; pe < CkNumPes(); ++pe) watch[pe].to_member(round);
      main.to_chare(round);
    }
  }
  void to_element(int) {}
  void to_element_many(int, int*) {}
  void to_element_note(Note* note) { delete note; }
  void to_element_urgent(Note* note) { delete note; }

 private:
  void call(int i) {
    int numbers[100] = {};
    thisProxy[i].to_element(i);
    thisProxy[i].to_element_many(100, numbers);
    thisProxy[i].to_element_note(new Note);
    Note* const urgent = new (8 * sizeof(int)) Note;
    *static_cast<int*>(CkPriorityPtr(urgent)) = -1;
    CkSetQueueing(urgent, CK_QUEUEING_IFIFO);
    thisProxy[i].to_element_urgent(urgent);
  }
};

#include "observers.def.h"
