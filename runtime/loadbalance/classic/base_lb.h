// What balancers written for Charm++ are derived from, and the statistics that they get. C++17: reached from BaseLB.h.
//
// A balancer is a group with a member on every PE, which the runtime makes before the program starts. The member on the
// PE of +LBCentPE decides. (Such groups have numbers of their own, the same on every PE, and are in no checkpoint.)
#pragma once
#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/api/objects.h"
#include "runtime/api/proxies.h"
#include "runtime/converse/ck.h"
#include "runtime/loadbalance/classic/balancer_options.h"
#include "runtime/loadbalance/classic/load_data.h"
#include "runtime/loadbalance/lb_manager.h"

namespace periapt::loadbalance {
struct LoadDatabase;
}

// What the generated code of a group that is derived from Class names.
#define PERIAPT_BALANCER_BASE(Class, Base)                    \
  class Class;                                                \
  class CkIndex_##Class : public CkIndex_##Base {             \
   public:                                                    \
    typedef Class local_t;                                    \
    static int __idx;                                         \
  };                                                          \
  class CProxyElement_##Class : public CProxyElement_##Base { \
   public:                                                    \
    using CProxyElement_##Base::CProxyElement_##Base;         \
    CProxyElement_##Class() = default;                        \
  };                                                          \
  class CProxy_##Class : public CProxy_##Base {               \
   public:                                                    \
    typedef Class local_t;                                    \
    typedef CkIndex_##Class index_t;                          \
    typedef CProxy_##Class proxy_t;                           \
    typedef CProxyElement_##Class element_t;                  \
    using CProxy_##Base::CProxy_##Base;                       \
    CProxy_##Class() = default;                               \
  };                                                          \
  class CProxySection_##Class : public CProxySection_##Base { \
   public:                                                    \
    using CProxySection_##Base::CProxySection_##Base;         \
    CProxySection_##Class() = default;                        \
  };                                                          \
  inline void _register##Class() {}

PERIAPT_BALANCER_BASE(BaseLB, Group)

class BaseLB : public Group {
 public:
  struct ProcStats {
    int n_objs = 0;
    double pe_speed = 1;        // relative
    double total_walltime = 0;  // seconds since the last balancing
    double idletime = 0;
    double bg_walltime = 0;  // in entry methods of anything that cannot be moved
    // In entry methods; the same as wall time, unless +LBUseCpuTime measures it.
    double total_cputime = 0, bg_cputime = 0;
    int pe = -1;
    bool available = true;
    void clearBgLoad() { idletime = bg_walltime = bg_cputime = 0; }
    void pup(PUP::er& p);
  };

  // Object i is on PE from_proc[i]; a balancer writes to_proc[i].
  struct LDStats {
    std::vector<ProcStats> procs;
    int n_migrateobjs = 0;
    std::vector<LDObjData> objData;
    std::vector<int> from_proc, to_proc;
    std::vector<LDCommData> commData;  // empty with +LBCommOff
    int complete_flag = 1;
    int is_prev_lb_refine = -1;
    double after_lb_max = 0, after_lb_avg = 0;

    explicit LDStats(int pes = CkNumPes(), int complete = 1) : procs(pes), complete_flag(complete) {}
    std::size_t nprocs() const { return procs.size(); }
    void setNprocs(std::size_t count) { procs.resize(count); }
    void assign(int object, int pe) { to_proc[object] = pe; }
    // The place of an object in objData; -1: it is not there.
    int getHash(const LDObjKey& key);
    int getHash(const CmiUInt8& element, const LDOMid& array) { return getHash(LDObjKey{array, element}); }
    int getSendHash(LDCommData& c);
    int getRecvHash(LDCommData& c);
    void makeCommHash();
    void deleteCommHash() { places_.reset(); }
    void clearCommHash();
    void clear();
    void clearBgLoad();
    void computeNonlocalComm(int& messages, int& bytes);
    double computeAverageLoad();
    void normalize_speed();
    void print();
    void removeObject(int object);
    void pup(PUP::er& p);
    int useMem();

   private:
    struct Hash {
      std::size_t operator()(const LDObjKey& key) const {
        return static_cast<std::size_t>((key.objId ^ static_cast<CmiUInt8>(key.omId.id.idx) << 48) *
                                        0x9E3779B97F4A7C15u);
      }
    };
    std::shared_ptr<std::unordered_map<LDObjKey, int, Hash>> places_;
  };

  explicit BaseLB(const CkLBOptions& options) : seqno(options.getSeqNo()), lbmgr(LBManager::Object()) {}
  explicit BaseLB(CkMigrateMessage*) : lbmgr(LBManager::Object()) {}
  const char* lbName() { return lbname; }
  // How many balancings there were.
  int step() { return lbmgr->step(); }
  virtual void turnOff() {}
  virtual void turnOn() {}
  virtual int useMem() { return 0; }
  void pup(PUP::er& p) override { p | seqno; }
  CkGroupID getGroupID() { return thisgroup; }

  // --- for the runtime ---
  virtual bool impl_wants(int step) { return true; }
  // On each PE, of a step that was this balancer's.
  virtual void impl_ended(bool balanced) {}
  // Where the objects of the database go.
  virtual std::vector<int> impl_solve(const periapt::loadbalance::LoadDatabase& database) = 0;

 protected:
  int seqno = -1;
  const char* lbname = "BaseLB";
  LBManager* lbmgr;
  int startLbFnHdl = 0;
};

// A decision about one object.
struct MigrateInfo {
  int index = -1;  // in objData; -1: `obj` says which
  LDObjHandle obj;
  int from_pe = -1, to_pe = -1;
  int async_arrival = 0;
  void pup(PUP::er& p);
};

// The decisions of a balancer: new (moves, 0, 0, 0) LBMigrateMsg.
class LBMigrateMsg {
 public:
  int level = 0;
  int n_moves;
  MigrateInfo* moves;
  char* avail_vector;
  int next_lb = 0;
  double* expectedLoad;

  LBMigrateMsg();
  ~LBMigrateMsg();
  LBMigrateMsg(const LBMigrateMsg&) = delete;
  void operator=(const LBMigrateMsg&) = delete;
  static void* operator new(std::size_t bytes, int moves = 0, int available = 0, int loads = 0, int = 0);
  static void operator delete(void* message);
  static void operator delete(void* message, int, int, int, int);

 private:
  std::vector<MigrateInfo> room_;
  std::vector<char> available_;
  std::vector<double> loads_;
};
typedef LBMigrateMsg CLBMigrateMsg;
