// The calls of Charm++ programs that are about load balancing. C++17: reached from charm++.h.
#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "runtime/loadbalance/classic/load_data.h"
#include "runtime/loadbalance/sync_barrier.h"

// Measuring of loads on this PE: on by itself once an element takes part.
void LBTurnInstrumentOn();
void LBTurnInstrumentOff();
// Forgets what was measured on this PE since the last balancing.
void LBClearLoads();
// Counting of what elements on this PE send to each other: where the balancer asks for it, until one of these is
// called.
void LBTurnCommOn();
void LBTurnCommOff();
// A load model of the program's own, as Charm++ has it: x is an object's load in one interval, in seconds on a PE of
// speed 1, and what predict() says of it the load in the next one. The parameters are fitted to each object's past.
class LBPredictorFunction {
 public:
  int num_params = 0;
  virtual ~LBPredictorFunction() = default;
  virtual void initialize_params(double* params) {}
  virtual double predict(double x, double* params) = 0;
  virtual void print(double* params) {}
  virtual void function(double x, double* params, double& y, double* derivatives) = 0;
};
// From now on strategies see what `model` makes of the last `window` intervals (20), and not what +LBModel says. Said
// on the PE of +LBCentPE; elsewhere nothing happens. Null: the straight line through them. A model stays the program's.
void LBTurnPredictorOn(LBPredictorFunction* model);
void LBTurnPredictorOn(LBPredictorFunction* model, int window);
void LBTurnPredictorOff();
void LBChangePredictor(LBPredictorFunction* model);  // where one is on
// A load model of the program's own, for +LBModel NAME: what an element will take in the next interval, in seconds on a
// PE of speed 1, from what it took in the last ones, up to `depth` of them and at least one, the last one last. Called
// by an initnode function. The model is asked on one PE, and knows no more than its arguments.
void LBRegisterLoadModel(const char* name, const char* summary, double (*predict)(const float* past, int intervals),
                         int depth);
// The balancer where +balancer names none. Called before the program starts, by what charmc -balancer links in.
void LBDefaultCreate(const char* name);
// Room for user data in each element that takes part, on this PE: what getObjUserData() gets and a balancer's
// LDObjData::getUserData() sees.
int LBRegisterObjUserData(int bytes);

#define LB_MANAGER_VERSION 1
class BaseLB;
class LBManager {
 public:
  static LBManager* Object();
  LBManager* getLBDB() { return this; }  // both are one here
  // How many balancings this PE has been through.
  int step() const;
  // The balancers of the program's own that were asked for.
  int getNLoadBalancers() const;
  BaseLB** getLoadBalancers() const;
  void CollectStatsOn() { LBTurnInstrumentOn(); }
  void CollectStatsOff() { LBTurnInstrumentOff(); }
  void ClearLoads() { LBClearLoads(); }
  // How fast this processor computes, as multiplications and additions in a microsecond: measured once a process, in
  // ten milliseconds.
  static int ProcessorSpeed();
  // Balancing at any time, of all elements, so many seconds after the balancing before. On one PE or on all; -1: no
  // longer.
  static void SetLBPeriod(double seconds);
  static double GetLBPeriod();  // -1: there is none
  // From the next step on TreeLB does as this text of a treelb.json says, in all processes: said on one PE or on all.
  void configureTreeLB(const char* json);
  template <class Json, class = decltype(std::declval<const Json&>().dump())>
  void configureTreeLB(Json& config) {
    configureTreeLB(config.dump().c_str());
  }
  // A balancing at any time, now. Nothing while one is in progress. Where there is no period, the clients of
  // CkSyncBarrier are resumed on every PE when it is over, though the balancer may have declined it. An error without a
  // balancer.
  void StartLB();
  // All elements on this PE take part from here on, not from the first StartLB() on, which then knows their loads.
  void TurnManualLBOn();
  void TurnManualLBOff() {}

  // Which PEs may get objects, 1 or 0 for each: all, at first. What is said on the PE that balances, PE 0 unless
  // +LBCentPE names another, holds for the run; what is said elsewhere, for the PEs of that process.
  void set_avail_vector(const char* available, int next_center = -1);
  void set_avail_vector(const std::vector<char>& available, int next_center = -1) {
    set_avail_vector(available.data(), next_center);
  }
  void get_avail_vector(char* available) const;
  void get_avail_vector(std::vector<char>& available) const;
  const char* availVector() const;  // the same, until this PE asks once more
  // As +balancer names it.
  const char* loadbalancer(int number) const;
  // For Charm++'s chooser of periods, which measures these itself here.
  void SetMigrationCost(double) {}
  void SetStrategyCost(double) {}
  // Nothing: clients that wait at the barrier are resumed when the step is over.
  void ResumeClients() {}
  void DumpDatabase() {}
  int useMem();  // bytes, for what balancing knows of this PE
  // The object in this place of GetObjData(), until this PE asks once more.
  const LDObjHandle& GetObjHandle(int place);
  // By PE, what the last decision has made of the loads that it saw: on the PE that balances. Elsewhere all are 0.
  LBRealType* expectedLoad();
  LBRealType myExpectedLoad();
  // The same as LBTurnPredictorOn() and its like.
  void PredictorOn(LBPredictorFunction* model) { LBTurnPredictorOn(model); }
  void PredictorOn(LBPredictorFunction* model, int window) { LBTurnPredictorOn(model, window); }
  void PredictorOff() { LBTurnPredictorOff(); }
  void ChangePredictor(LBPredictorFunction* model) { LBChangePredictor(model); }

  // What is called on this PE when a balancing begins, and when it has ended, before any element is resumed. The answer
  // names it.
  int AddStartLBFn(std::function<void()> fn);
  template <class T>
  int AddStartLBFn(T* object, void (T::*method)()) {
    return AddStartLBFn([object, method] { (object->*method)(); });
  }
  void TurnOnStartLBFn(int handle);
  void TurnOffStartLBFn(int handle);
  void RemoveStartLBFn(int handle);
  int AddMigrationDoneFn(std::function<void()> fn);
  template <class T>
  int AddMigrationDoneFn(T* object, void (T::*method)()) {
    return AddMigrationDoneFn([object, method] { (object->*method)(); });
  }
  void RemoveMigrationDoneFn(int handle);

  // The same as those of CkSyncBarrier.
  template <class... A>
  LDBarrierClient AddLocalBarrierClient(A&&... a) {
    return CkSyncBarrier::object()->addClient(std::forward<A>(a)...);
  }
  void RemoveLocalBarrierClient(LDBarrierClient client) { CkSyncBarrier::object()->removeClient(client); }
  void AtLocalBarrier(LDBarrierClient client) { CkSyncBarrier::object()->atBarrier(client); }
  template <class... A>
  LDBarrierReceiver AddLocalBarrierReceiver(A&&... a) {
    return CkSyncBarrier::object()->addReceiver(std::forward<A>(a)...);
  }
  void RemoveLocalBarrierReceiver(LDBarrierReceiver receiver) { CkSyncBarrier::object()->removeReceiver(receiver); }
  void TurnOnBarrierReceiver(LDBarrierReceiver receiver) { CkSyncBarrier::turnOnReceiver(receiver); }
  void TurnOffBarrierReceiver(LDBarrierReceiver receiver) { CkSyncBarrier::turnOffReceiver(receiver); }
  void LocalBarrierOn() { CkSyncBarrier::object()->turnOn(); }
  void LocalBarrierOff() { CkSyncBarrier::object()->turnOff(); }

  // Objects of the program's own that balancing moves as it moves elements. All PEs register their managers in the same
  // order; an object's id is its own within its manager. Loads are seconds.
  LDOMHandle RegisterOM(LDOMid id, void* user, LDCallbacks calls);
  void UnregisterOM(LDOMHandle manager);
  // No step begins on this PE in between.
  void RegisteringObjects(LDOMHandle) { LocalBarrierOff(); }
  void DoneRegisteringObjects(LDOMHandle) { LocalBarrierOn(); }
  LDObjHandle RegisterObj(LDOMHandle manager, CmiUInt8 id, void* user, int migratable);
  void UnregisterObj(LDObjHandle object);
  // Asks its manager to move it. 0: it is not here, or its manager moves nothing.
  int Migrate(LDObjHandle object, int to);
  // On the PE that it has come to, after RegisterObj(). `wait_barrier` 0: the step does not wait for it.
  void Migrated(LDObjHandle object, int wait_barrier = 1);
  void Migratable(LDObjHandle object);
  void NonMigratable(LDObjHandle object);
  void UseAsyncMigrate(LDObjHandle, bool) {}
  void ObjectStart(const LDObjHandle& object);
  void ObjectStop(const LDObjHandle& object);
  void ObjTime(LDObjHandle object, double wall, double processor);  // spent besides
  void EstObjLoad(const LDObjHandle& object, double seconds);       // spent in all
  void GetObjLoad(LDObjHandle& object, LBRealType& wall, LBRealType& processor);
  void* GetObjUserData(LDObjHandle& object);               // what RegisterObj() was given
  void* GetDBObjUserData(LDObjHandle& object, int index);  // see LBRegisterObjUserData()
  void setPupSize(LDObjHandle object, std::size_t bytes);
  // What takes part on this PE, elements and objects of the program's own, as a balancer would be told of it now; and
  // what it has sent since the last balancing, where that is recorded (+LBCommOn, or a balancer wants it). The receiver
  // may be on another PE. `data` has room for as many as the ...Sz() before has answered.
  int GetObjDataSz();
  void GetObjData(LDObjData* data);
  int GetCommDataSz();
  void GetCommData(LDCommData* data);
  // Its sums: all, and of it what was for other PEs, as far as known here; how many objects it was for; and hops of
  // TopoManager's, times messages and times bytes.
  void GetCommInfo(int& bytes, int& messages, int& outside_messages, int& outside_bytes, int& neighbors, int& hops,
                   int& hop_bytes);
  int CollectingCommStats();
  // Between ObjectStart() and ObjectStop(): that object has sent it.
  void Send(const LDOMHandle& manager, const CmiUInt8& to, unsigned int bytes, int pe, int force = 0);
  void MulticastSend(const LDOMHandle& manager, CmiUInt8* to, int count, unsigned int bytes, int messages = 1);

  // Of this PE since the last balancing, in seconds.
  bool StatsOn();
  void IdleTime(LBRealType* wall);
  void TotalTime(LBRealType* wall, LBRealType* processor);
  void BackgroundLoad(LBRealType* wall, LBRealType* processor);
  void GetTime(LBRealType* total_wall, LBRealType* total_processor, LBRealType* idle, LBRealType* background_wall,
               LBRealType* background_processor);
};
typedef LBManager LBDatabase;
inline LBManager* LBManagerObj() { return LBManager::Object(); }
inline void set_avail_vector(const std::vector<char>& available) { LBManager::Object()->set_avail_vector(available); }
inline void set_avail_vector(const char* available) { LBManager::Object()->set_avail_vector(available); }
inline void get_avail_vector(char* available) { LBManager::Object()->get_avail_vector(available); }
inline void get_avail_vector(std::vector<char>& available) { LBManager::Object()->get_avail_vector(available); }
inline void configureTreeLB(const char* json) { LBManager::Object()->configureTreeLB(json); }
inline void CkStartLB() { LBManager::Object()->StartLB(); }
inline void LBSetPeriod(double seconds) { LBManager::SetLBPeriod(seconds); }
inline void TurnManualLBOn() { LBManager::Object()->TurnManualLBOn(); }
inline void TurnManualLBOff() {}
inline void LBTurnPeriodicOff() { LBManager::SetLBPeriod(-1); }
inline LBManager* LBDatabaseObj() { return LBManager::Object(); }
