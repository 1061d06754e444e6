// PE 0 has objects that nothing runs in for some periods, so that balancing sleeps. Then they run, and are moved.
// Usage: own_at_any_time [loads]: they do not run, and the program says what they cost.
#include <cstring>
#include <map>

#include "LBManager.h"
#include "own_at_any_time.decl.h"

CProxy_Main mainProxy;
CProxy_Keeper keepers;

namespace {
constexpr int objects_made = 4;
constexpr int most_visits = 500000;  // and no object has been moved
constexpr double asleep_ms = 100;
bool says_loads = false;
}  // namespace

class Main : public CBase_Main {
  int moved_ = 0;

 public:
  explicit Main(CkArgMsg* m) {
    says_loads = m->argc > 1;
    delete m;
    mainProxy = thisProxy;
    keepers = CProxy_Keeper::ckNew();
    CcdCallFnAfter([](void*, double) { keepers[0].work(0); }, nullptr, asleep_ms);
  }
  void moved() {
    if (++moved_ < objects_made) return;
    CkPrintf("all checks passed\n");
    CkExit();
  }
};

class Keeper : public CBase_Keeper {
  LBManager* const balancing_ = LBManager::Object();
  LDOMHandle manager_;
  std::map<int, LDObjHandle> objects_;

  static void migrate(LDObjHandle object, int to) { keepers.ckLocalBranch()->send(object, to); }
  void send(const LDObjHandle& object, int to) {
    const int id = static_cast<int>(object.objID());
    objects_.erase(id);
    balancing_->UnregisterObj(object);
    keepers[to].add(id);
  }
  LDObjHandle made(int id) { return objects_[id] = balancing_->RegisterObj(manager_, id, this, true); }

 public:
  Keeper() {
    LDCallbacks calls;
    std::memset(static_cast<void*>(&calls), 0, sizeof calls);
    calls.migrate = migrate;
    LDOMid name;
    name.id.idx = 1;
    manager_ = balancing_->RegisterOM(name, this, calls);
    balancing_->RegisteringObjects(manager_);
    for (int id = 0; CkMyPe() == 0 && id < objects_made; ++id) made(id);
    balancing_->DoneRegisteringObjects(manager_);
  }
  void work(int visits) {
    if (visits == most_visits) CkAbort("no object is moved");
    for (const auto& [id, object] : objects_) {
      if (!says_loads) balancing_->ObjectStart(object);
      const double begin = CkWallTimer();
      while (CkWallTimer() - begin < 1e-5) continue;
      says_loads ? balancing_->EstObjLoad(object, 1) : balancing_->ObjectStop(object);
    }
    if (!objects_.empty()) thisProxy[CkMyPe()].work(visits + 1);
  }
  void add(int id) {
    balancing_->Migrated(made(id), 1);
    mainProxy.moved();
  }
};

#include "own_at_any_time.def.h"
