// Each PE's keeper has a manager of objects, which all begin on PE 0, and says what they cost; elements of an array
// take part in the same steps. After each step every object is where the balancer has sent it, exactly once. Usage:
// own_objects [even | alone]: without elements; [away]: nothing more may be on the last PE; [twice | stranger |
// nowhere]: a mistake.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lbdb.h"
#include "own_objects.decl.h"

CProxy_Main mainProxy;
CProxy_Keeper keepers;
CProxy_Worker workers;

namespace {
constexpr int rounds = 5, objects_a_pe = 6, stays = 3;  // object `stays` is not migratable
std::string what;

void require(bool right, const char* sentence) {
  if (!right) CkAbort("%s", sentence);
}
double load_of(int id) { return 1 + id % 3; }
void move(LDObjHandle object, int to);
}  // namespace

class Main : public CBase_Main {
 public:
  Main(CkArgMsg* m) {
    what = m->argc > 1 ? m->argv[1] : "";
    delete m;
    mainProxy = thisProxy;
    keepers = CProxy_Keeper::ckNew();
    if (what != "alone") workers = CProxy_Worker::ckNew(5);
    keepers.go();
    if (what != "alone") workers.go();
  }
  // Objects, their ids and loads, and keepers.
  void finished(int n, double* sums) {
    const int all = objects_a_pe * CkNumPes();
    double ids = 0, loads = 0;
    for (int id = 0; id < all; ++id) ids += id, loads += load_of(id);
    require(n == 4 && sums[0] == all && sums[1] == ids && sums[2] == loads, "each object is somewhere, once");
    require(sums[3] == CkNumPes(), "each PE has been through all steps");
    CkPrintf("own_objects: all checks passed\n");
    CkExit();
  }
};

class Keeper : public CBase_Keeper {
  struct Object {
    LDObjHandle handle;
    int visits;
  };
  LBManager* const balancing_ = LBManager::Object();
  LDOMHandle other_, manager_;
  LDBarrierClient client_;
  std::map<int, Object> objects_;
  int round_ = 0;

 public:
  Keeper() {
    LDOMid id;
    id.id.idx = 1;  // any number: what an array has, too
    LDCallbacks calls{};
    other_ = balancing_->RegisterOM(id, nullptr, calls);  // moves nothing
    calls.migrate = move;
    manager_ = balancing_->RegisterOM(id, this, calls);
    require(!(other_ == manager_), "two managers have one handle");
    client_ = balancing_->AddLocalBarrierClient(this, &Keeper::resume);
    if (CkMyPe() != 0) return;
    balancing_->RegisteringObjects(manager_);
    for (int id = 0; id < objects_a_pe * CkNumPes(); ++id) add(id, 0);
    const LDObjHandle fixed = balancing_->RegisterObj(other_, 0, this, true);
    balancing_->EstObjLoad(fixed, 1);
    require(balancing_->Migrate(fixed, 0) == 0, "a manager without a function moves an object");
    balancing_->DoneRegisteringObjects(manager_);
    if (what == "twice") balancing_->RegisterObj(manager_, 2, this, true);
  }
  void go() {
    if (what == "alone" && !objects_.empty()) {
      balancing_->CollectStatsOff();
      require(!balancing_->StatsOn(), "what objects cost is measured, and was turned off");
      balancing_->CollectStatsOn();
      require(balancing_->StatsOn(), "what objects cost is not measured, and was turned on");
    }
    wait();
  }

  void add(int id, int visits) {
    Object object;
    object.handle = balancing_->RegisterObj(manager_, id, this, id != stays);
    object.visits = visits;
    require(object.handle.omID() == manager_.id && object.handle.objID() == static_cast<CmiUInt8>(id),
            "a handle tells whose it is");
    require(balancing_->GetObjUserData(object.handle) == this, "a handle leads to its object");
    balancing_->setPupSize(object.handle, 100);
    objects_[id] = object;
  }
  void leave(LDObjHandle handle, int to) {
    const int id = static_cast<int>(handle.id);
    require(objects_.count(id) == 1, "an object is moved that is not here");
    require(id != stays, "an object is moved that may not be moved");
    const int visits = objects_[id].visits + 1;
    balancing_->UnregisterObj(handle);
    objects_.erase(id);
    thisProxy[to].take(id, visits);
  }
  void take(int id, int visits) {
    add(id, visits);
    balancing_->Migrated(objects_[id].handle);
  }
  // Says what each costs, by its clock and in words.
  void wait() {
    for (auto& [id, object] : objects_) {
      balancing_->ObjectStart(object.handle);
      balancing_->Send(manager_, (id + 1) % (objects_a_pe * CkNumPes()), 100, 0);
      for (const double end = CkWallTimer() + 1e-5; CkWallTimer() < end;) {
      }
      balancing_->ObjectStop(object.handle);
      double wall = 0, processor = 0;
      balancing_->GetObjLoad(object.handle, wall, processor);
      require(!balancing_->StatsOn() || wall >= 1e-5, "the clock of an object stands");
      balancing_->EstObjLoad(object.handle, load_of(id));
    }
    check_data();
    if (what == "away" || what == "nowhere") {
      std::vector<char> available(CkNumPes(), what == "away");
      available.back() = 0;
      set_avail_vector(available);
      std::vector<char> said;
      get_avail_vector(said);
      require(said == available, "what is said of PEs is not what is known");
    }
    if (what == "stranger" && CkMyPe() == 0) balancing_->ObjectStart({manager_, 1000, 0});
    balancing_->AtLocalBarrier(client_);
  }
  void resume() {
    if (++round_ < rounds) return wait();
    double sums[4] = {0, 0, 0, 1};
    for (const auto& [id, object] : objects_) {
      ++sums[0];
      sums[1] += id;
      sums[2] += load_of(id);
    }
    require(CkMyPe() != 0 || objects_.count(stays) == 1, "an object that may not be moved has gone");
    contribute(sizeof sums, sums, CkReduction::sum_double, CkCallback(CkReductionTarget(Main, finished), mainProxy));
    if (what == "even" || what == "alone") check_even();
    if (what == "away" && CkMyPe() == CkNumPes() - 1)
      require(objects_.empty(), "an object is on a PE that may not get any");
  }

 private:
  // What the load data base says of this PE: each object once, as it is.
  void check_data() {
    LBManager& base = *balancing_->getLBDB();
    std::vector<LDObjData> data(base.GetObjDataSz());
    base.GetObjData(data.data());
    std::size_t own = 0;
    for (const LDObjData& object : data) {
      if (!(object.omHandle() == manager_)) continue;
      ++own;
      const auto found = objects_.find(static_cast<int>(object.objID()));
      require(found != objects_.end(), "the data base has an object that is not here");
      require(object.migratable == (found->first != stays), "the data base does not know what may move");
      require(!base.StatsOn() || object.wallTime == load_of(found->first), "the data base has another load");
    }
    require(own == objects_.size(), "the data base does not have all objects");
    std::vector<LDCommData> sent(base.GetCommDataSz());
    base.GetCommData(sent.data());
    require(base.CollectingCommStats() || sent.empty(), "messages are known that nothing records");
    if (!base.CollectingCommStats()) return;
    own = 0;
    for (const LDCommData& c : sent)
      if (c.sender.omID() == manager_.id && c.bytes == 100 && c.messages == 1) ++own;
    require(own == objects_.size(), "the data base does not have what each object has sent");
    check_sums(base, sent);
  }
  void check_sums(LBManager& base, const std::vector<LDCommData>& sent) {
    int bytes = 0, messages = 0, away = 0, away_bytes = 0, neighbors = 0, hops = 0, hop_bytes = 0;
    base.GetCommInfo(bytes, messages, away, away_bytes, neighbors, hops, hop_bytes);
    std::set<LDObjKey> receivers;
    for (const LDCommData& c : sent) {
      bytes -= c.bytes;
      messages -= c.messages;
      receivers.insert(c.receiver.get_destObj());
      if (c.receiver.lastKnown() == CkMyPe()) continue;
      away -= c.messages;
      away_bytes -= c.bytes;
    }
    require(bytes == 0 && messages == 0, "the sums of what was sent are not those of its parts");
    require(away == 0 && away_bytes == 0, "the sums of what was sent to other PEs are not those of its parts");
    require(neighbors == static_cast<int>(receivers.size()), "receivers are counted otherwise than once each");
    require(hops >= 0 && hop_bytes >= 0, "hops are less than none");
  }
  void check_even() {
    double load = 0;
    for (const auto& [id, object] : objects_) load += load_of(id);
    require(load <= 2 * objects_a_pe + 3.5, "a PE has too much");
    int visits = 0;
    for (const auto& [id, object] : objects_) visits += object.visits;
    require(CkMyPe() == 0 || visits > 0, "a PE has nothing that came");
  }
};

namespace {
void move(LDObjHandle object, int to) { keepers.ckLocalBranch()->leave(object, to); }
}  // namespace

class Worker : public CBase_Worker {
  int round_ = 0;

 public:
  Worker() { usesAtSync = true; }
  Worker(CkMigrateMessage* m) : CBase_Worker(m) {}
  void pup(PUP::er& p) { p | round_; }
  void go() { AtSync(); }
  void ResumeFromSync() {
    if (++round_ < rounds) AtSync();
  }
};

#include "own_objects.def.h"
