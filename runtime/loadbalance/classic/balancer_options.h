// How a balancer written for Charm++ is made and registered, and what it may ask about the command line. C++17: reached
// from LBManager.h.
#pragma once
#include <string>
#include <type_traits>

#include "runtime/api/invoke.h"
#include "runtime/api/marshal.h"
#include "runtime/pup/pup.h"
#include "runtime/pup/stl.h"

class BaseLB;
class DistBaseLB;

// What a balancer's constructor gets: which one of those that were asked for it is.
class CkLBOptions {
 public:
  CkLBOptions() = default;
  CkLBOptions(int number) : number_(number) {}
  CkLBOptions(int number, const char* legacy) : number_(number), legacy_(legacy ? legacy : "") {}
  int getSeqNo() const { return number_; }
  bool hasLegacyName() const { return !legacy_.empty(); }
  const char* getLegacyName() const { return legacy_.c_str(); }
  void pup(PUP::er& p) {
    p | number_;
    p | legacy_;
  }

 private:
  int number_ = -1;
  std::string legacy_;
};

// The +LB options. A balancer may change what it finds here; nothing else reads it.
class CkLBArgs {
 public:
  int& debug() { return debug_; }
  double& lbperiod() { return period_; }
  bool& printSummary() { return print_summary_; }
  int& lbversion() { return version_; }
  bool& loop() { return loop_; }
  bool& ignoreBgLoad() { return ignore_background_; }
  bool& migObjOnly() { return migratable_only_; }
  bool& syncResume() { return sync_resume_; }
  bool& samePeSpeed() { return same_speed_; }
  bool& testPeSpeed() { return test_speed_; }
  bool& useCpuTime() { return cpu_time_; }
  bool& statsOn() { return statistics_; }
  bool& traceComm() { return communication_; }
  int& central_pe() { return center_; }
  double& alpha() { return alpha_; }
  double& beta() { return beta_; }
  int& maxDistPhases() { return phases_; }
  double& targetRatio() { return ratio_; }
  bool& metaLbOn() { return meta_; }
  char*& metaLbModelDir() { return meta_models_; }

 private:
  int debug_ = 0, version_ = 3, center_ = 0, phases_ = 10;
  double period_ = -1, alpha_ = 3.5e-5, beta_ = 8.5e-9, ratio_ = 1.05;
  bool print_summary_ = false, loop_ = false, ignore_background_ = false, migratable_only_ = false;
  bool sync_resume_ = true, same_speed_ = true, test_speed_ = false, cpu_time_ = false, statistics_ = true;
  bool communication_ = true, meta_ = false;
  char* meta_models_ = nullptr;
};
extern CkLBArgs _lb_args;

namespace periapt::loadbalance {
// Makes this PE's member of a balancer.
using MakeMember = void (*)(CkGroupID group, const CkLBOptions& options);
void register_class_balancer(const std::string& name, const std::string& summary, MakeMember make, bool distributed);
// A literal given so stands in the object as it is, where charmc looks for the name of -balancer.
void register_class_balancer(const char* name, const char* summary, MakeMember make, bool distributed);
// A constructor of a central balancer's base has run, that of a restart, too: where the program has made it, with
// ckNew() and without +balancer, it decides from now on.
void balancer_is_made(CkGroupID group);
void make_member(CkGroupID group, int chare, int constructor, void* arguments);

template <class T, class Text>
void register_balancer(const Text& name, const Text& summary) {
  register_class_balancer(
      name, summary,
      [](CkGroupID group, const CkLBOptions& options) {
        make_member(group, T::index_t::__idx, T::index_t::ckNew(options), marshalled(nullptr, options));
      },
      std::is_base_of<DistBaseLB, T>::value);
}
}  // namespace periapt::loadbalance

// Called in an initnode function: +balancer NAME then takes groups of class T, which is derived from CentralLB,
// DistBaseLB or HybridBaseLB.
template <class T>
void LBRegisterBalancer(const char* name, const char* summary = "", bool = true) {
  periapt::loadbalance::register_balancer<T>(name, summary);
}
template <class T>
void LBRegisterBalancer(const std::string& name, const std::string& summary = "", bool = true) {
  periapt::loadbalance::register_balancer<T>(name, summary);
}

// The older way to say the same.
#define CreateLBFunc_Def(Class, summary)                                                   \
  BaseLB* Allocate##Class() { return new Class(static_cast<CkMigrateMessage*>(nullptr)); } \
  static void lbinit() { LBRegisterBalancer<Class>(#Class, summary); }
