// configureTreeLB(): from the step after it on, TreeLB decides as the new text says; told on all PEs, or on PE 0 alone.
// Rotate moves each element to the next PE, Dummy none.
#include <string>
#include <vector>

#include "trees.decl.h"

CProxy_Main main_proxy;
CProxy_Teller tellers;
CProxy_Piece pieces;

namespace {
constexpr int element_count = 12;

struct Step {
  const char* text;  // said before it; null: nothing
  bool moves;
};
// An object of a json library, as far as configureTreeLB() looks at it.
struct Text {
  std::string text;
  std::string dump() const { return text; }
};
const char* const dummy = R"({"tree": "PE_Root", "root": {"strategies": ["Dummy"]}})";
// The list begins with the step after it is said, whatever its number.
const char* const rotate_once = R"({"tree": "PE_Root", "root": {"strategies": ["Rotate", "Dummy"]}})";
const std::vector<Step> steps = {{nullptr, true},  {dummy, false},   {nullptr, false}, {rotate_once, true},
                                 {nullptr, false}, {nullptr, false}, {dummy, false},   {rotate_once, true}};
}  // namespace

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* m) {
    if (m->argc > 1) mode_ = m->argv[1];
    delete m;
    main_proxy = thisProxy;
    tellers = CProxy_Teller::ckNew();
    pieces = CProxy_Piece::ckNew(element_count);
    if (mode_ == "wrong") LBManagerObj()->configureTreeLB(R"({"tree": "PE_Rot", "root": {"strategies": ["Dummy"]}})");
    if (mode_ == "unasked") configureTreeLB(dummy);
    begin();
  }
  void told() { pieces.step(); }
  void moved(int n, int* counts) {
    const Step& step = steps[at_];
    const int expected = step.moves && CkNumPes() > 1 ? element_count : 0;
    if (n != 1 || counts[0] != expected)
      CkAbort("trees: %d elements have moved in step %d, not %d\n", counts[0], static_cast<int>(at_) + 1, expected);
    if (++at_ < steps.size()) return begin();
    CkPrintf("all checks passed\n");
    CkExit();
  }

 private:
  void begin() {
    const char* const text = steps[at_].text;
    if (!text) return told();
    if (mode_ != "alone") return tellers.tell(text);
    Text config{text};
    LBManagerObj()->configureTreeLB(config);
    told();
  }

  std::string mode_;
  std::size_t at_ = 0;
};

class Teller : public CBase_Teller {
 public:
  Teller() = default;
  void tell(std::string text) {
    configureTreeLB(text.c_str());
    contribute(CkCallback(CkReductionTarget(Main, told), main_proxy));
  }
};

class Piece : public CBase_Piece {
 public:
  Piece() { usesAtSync = true; }
  explicit Piece(CkMigrateMessage*) {}
  void pup(PUP::er& p) override { p | pe_; }
  void step() {
    pe_ = CkMyPe();
    AtSync();
  }
  void ResumeFromSync() override {
    int moved = pe_ != CkMyPe();
    contribute(sizeof moved, &moved, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, moved), main_proxy));
  }

 private:
  int pe_ = -1;
};

#include "trees.def.h"
