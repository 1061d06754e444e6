// Every way of gathering, several times in a row without waiting for other PEs, with pieces of any size; which piece
// has which index is turned by one each time. What has come is compared byte by byte.
#include <string>

#include "allGather.h"
#include "all_gather_steps.decl.h"

CProxy_Main mainProxy;

namespace {
constexpr int gathers = 5;
constexpr int sizes[] = {1, 24, 70000};
char byte_of(int index, int round, int at) { return static_cast<char>(index * 31 + round * 7 + at); }
}  // namespace

class Main : public CBase_Main {
  CProxy_Giver givers_;
  std::vector<CProxy_AllGather> made_;  // by the constructor, so that they are there wherever a call of it comes
  int part_ = 0;

 public:
  explicit Main(CkArgMsg* m) {
    mainProxy = thisProxy;
    givers_ = CProxy_Giver::ckNew();
    const std::string mistake = m->argc > 1 ? m->argv[1] : "";
    delete m;
    if (!mistake.empty()) {
      CProxy_AllGather gather = CProxy_AllGather::ckNew(1, mistake == "way" ? 3 : ALL_GATHER_RING, 0);
      givers_.mistake(mistake == "twice" ? 2 : 1, mistake == "index" ? CkNumPes() : 0, gather);
      return;
    }
    for (int part = 0; part < 9; ++part) made_.push_back(CProxy_AllGather::ckNew(sizes[part / 3], part % 3, 0));
    begin();
  }
  void begin() { givers_.begin(sizes[part_ / 3], made_[part_]); }
  void all_done(int wrong) {
    if (wrong != 0) {
      CkPrintf("failed: way %d, %d bytes a piece: %d bytes are wrong\n", part_ % 3, sizes[part_ / 3], wrong);
      CkExit(1);
    } else if (++part_ < 9) {
      begin();
    } else {
      CkExit(0);
    }
  }
};

class Giver : public CBase_Giver {
  std::vector<char> piece_, result_;
  AllGather* gather_ = nullptr;
  int round_ = 0, wrong_ = 0;

 public:
  Giver() = default;
  void begin(int bytes, CProxy_AllGather gather) {
    gather_ = gather.ckLocalBranch();
    piece_.resize(bytes);
    round_ = wrong_ = 0;
    next();
  }
  void mistake(int times, int index, CProxy_AllGather gather) {
    result_.resize(CkNumPes());
    for (int i = 0; i < times; ++i)
      gather.ckLocalBranch()->init(result_.data(), &result_[0], index, CkCallback(CkCallback::ignore));
  }
  void next() {
    const int index = (CkMyPe() + round_) % CkNumPes();
    for (std::size_t i = 0; i < piece_.size(); ++i) piece_[i] = byte_of(index, round_, static_cast<int>(i));
    result_.assign(piece_.size() * CkNumPes(), 'x');
    gather_->init(result_.data(), piece_.data(), index, CkCallback(CkIndex_Giver::done(nullptr), thisProxy[CkMyPe()]));
  }
  void done(allGatherMsg* m) {
    delete m;
    const int bytes = static_cast<int>(piece_.size());
    for (int i = 0; i < CkNumPes(); ++i)
      for (int j = 0; j < bytes; ++j)
        wrong_ += result_[static_cast<std::size_t>(i) * bytes + j] != byte_of(i, round_, j);
    if (++round_ < gathers) return next();
    contribute(sizeof wrong_, &wrong_, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, all_done), mainProxy));
  }
};

#include "all_gather_steps.def.h"
