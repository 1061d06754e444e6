// CentralLB: a balancer whose member on one PE gets the statistics of all. C++17: reached from CentralLB.h.
#pragma once
#include "runtime/loadbalance/classic/base_lb.h"

// What the loads of PEs come to when each object is where stats->to_proc says.
class LBInfo {
  std::vector<LBRealType> room_;

 public:
  LBRealType* peLoads = nullptr;   // objects, background and messages
  LBRealType* objLoads = nullptr;  // these and the next two are null where the program has given room for peLoads alone
  LBRealType* comLoads = nullptr;  // what messages to other PEs cost their senders, by +LBAlpha and +LBBeta of Charm++
  LBRealType* bgLoads = nullptr;
  int numPes = 0;
  int msgCount = 0;  // between PEs
  CmiUInt8 msgBytes = 0;
  LBRealType minObjLoad = 0, maxObjLoad = 0;

  LBInfo() = default;
  LBInfo(LBRealType* loads, int count) : peLoads(loads), numPes(count) {}
  explicit LBInfo(int count);
  LBInfo(const LBInfo&) = delete;
  void operator=(const LBInfo&) = delete;
  void getInfo(BaseLB::LDStats* stats, int count, int considerComm);
  void clear();
  void print();
  // The greatest load of a PE, with and without the background, and all loads together.
  void getSummary(LBRealType& maxLoad, LBRealType& maxCpuLoad, LBRealType& totalLoad);
};
void getLoadInfo(BaseLB::LDStats* stats, int count, LBInfo& info, int considerComm);

PERIAPT_BALANCER_BASE(CentralLB, BaseLB)

class CentralLB : public BaseLB {
 public:
  explicit CentralLB(const CkLBOptions& options) : BaseLB(options) {
    lbname = "CentralLB";
    periapt::loadbalance::balancer_is_made(thisgroup);
  }
  explicit CentralLB(CkMigrateMessage* m) : BaseLB(m) {
    lbname = "CentralLB";
    periapt::loadbalance::balancer_is_made(thisgroup);
  }

  // To be overridden: writes stats->to_proc.
  virtual void work(LDStats* stats) {}
  // Or this, for a balancer that makes its LBMigrateMsg itself.
  virtual LBMigrateMsg* Strategy(LDStats* stats);
  virtual LBMigrateMsg* Strategy(LDStats* stats, int pes) { return Strategy(stats); }
  virtual LBMigrateMsg* createMigrateMsg(LDStats* stats);
  LBMigrateMsg* callStrategy(LDStats* stats, int) { return Strategy(stats); }

  bool impl_wants(int step) override { return QueryBalanceNow(step); }
  std::vector<int> impl_solve(const periapt::loadbalance::LoadDatabase& database) override;
  void impl_ended(bool balanced) override { LoadbalanceDone(balanced ? 1 : 0); }

  virtual void changeFreq(int) {}
  void setConcurrent(bool) {}
  int useMem() override;
  // Nothing: elements that wait are resumed when the step is over.
  void ResumeClients() {}
  void ResumeClients(int) {}

 protected:
  // Takes what cannot move out of the lists: its load is background of its PE, and its messages are gone.
  void removeNonMigratable(LDStats* stats, int count);
  // A strategy always runs to its end before anything else does on its PE.
  void loadbalance_with_thread() {}
  // To be overridden: called on every PE when a step of this balancer is over, before any element is resumed. 0:
  // QueryBalanceNow() has said no.
  virtual void LoadbalanceDone(int balancing) {}
  // False: nothing is decided at this step, and loads are counted on to the next.
  virtual bool QueryBalanceNow(int step) { return true; }
  virtual bool QueryDumpData() { return false; }
};

// What a PE has measured.
class CLBStatsMsg {
 public:
  int from_pe = 0;
  int pe_speed = 1;
  LBRealType total_walltime = 0, idletime = 0, bg_walltime = 0;
  LBRealType total_cputime = 0, bg_cputime = 0;
  std::vector<LDObjData> objData;
  std::vector<LDCommData> commData;
  CLBStatsMsg() = default;
  CLBStatsMsg(int objects, int communication) : objData(objects), commData(communication) {}
  void pup(PUP::er& p);
};
