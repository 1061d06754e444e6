// See balancers.h and balancer_options.h.
#include "runtime/loadbalance/classic/balancers.h"

#include <algorithm>

#include "base/fatal.h"
#include "runtime/loadbalance/balancer.h"
#include "runtime/loadbalance/classic/central_lb.h"
#include "runtime/loadbalance/classic/dist_base_lb.h"
#include "runtime/loadbalance/classic/hybrid_base_lb.h"
#include "runtime/loadbalance/options.h"
#include "runtime/registry/registry.h"

int CkIndex_BaseLB::__idx = 0, CkIndex_CentralLB::__idx = 0, CkIndex_DistBaseLB::__idx = 0,
    CkIndex_HybridBaseLB::__idx = 0;
CkLBArgs _lb_args;
CkpvDeclare(int, _lb_obj_index);

namespace periapt::loadbalance {

namespace {
// Those that are registered; the number of one's group is own_groups less its place.
std::vector<MakeMember>& registered() {
  static std::vector<MakeMember> all;
  return all;
}

// Null: it has not been made here yet.
BaseLB* find_member(int group) {
  const GroupRecord* const record = Pe::current()->objects->find_group(group);
  return record ? static_cast<BaseLB*>(record->base) : nullptr;
}
BaseLB& member(int group) { return *static_cast<BaseLB*>(Pe::current()->objects->find_group(group)->base); }

template <class Class, class Base>
void register_base(const char* name) {
  using Index = typename Class::index_t;
  Index::__idx = CkRegisterChare(name, sizeof(typename Class::local_t), TypeGroup);
  CkRegisterBase(Index::__idx, Base::index_t::__idx, baseOffset<typename Class::local_t, typename Base::local_t>());
}

bool is_balancer(int chare) {
  const auto& bases = registry().chares[static_cast<std::size_t>(chare)].bases;
  return std::any_of(bases.begin(), bases.end(), [](const ChareInfo::Base& base) {
    return base.chare == CkIndex_BaseLB::__idx || is_balancer(base.chare);
  });
}
}  // namespace

void register_base_classes() {
  CkIndex_BaseLB::__idx = CkRegisterChare("BaseLB", sizeof(BaseLB), TypeGroup);
  CkRegisterBase(CkIndex_BaseLB::__idx, CkIndex_Group::__idx, baseOffset<BaseLB, Group>());
  register_base<CProxy_CentralLB, CProxy_BaseLB>("CentralLB");
  register_base<CProxy_DistBaseLB, CProxy_BaseLB>("DistBaseLB");
  register_base<CProxy_HybridBaseLB, CProxy_BaseLB>("HybridBaseLB");
}

std::vector<std::string> class_balancers() {
  std::vector<std::string> names;
  const auto& chares = registry().chares;
  for (std::size_t i = 0; i < chares.size(); ++i) {
    const int chare = static_cast<int>(i);
    const bool ours =
        chare == CkIndex_CentralLB::__idx || chare == CkIndex_DistBaseLB::__idx || chare == CkIndex_HybridBaseLB::__idx;
    if (!ours && is_balancer(chare)) names.push_back(chares[i].name);
  }
  return names;
}

void register_class_balancer(const std::string& name, const std::string& summary, MakeMember make, bool distributed) {
  const int group = PeObjects::own_groups - static_cast<int>(registered().size());
  registered().push_back(make);
  StrategyInfo info{.name = keep_text(name),
                    .classic = keep_text(name),
                    .summary = keep_text(summary),
                    .solve = [group](const LoadDatabase& database, const StrategyOptions&) {
                      return member(group).impl_solve(database);
                    }};
  info.wants = [group](std::uint32_t step) { return member(group).impl_wants(static_cast<int>(step) - 1); };
  info.communication = true;  // as Charm++ does: what the class reads of its database is not known
  info.group = group;
  info.distributed = distributed;
  add_strategy(std::move(info));
}
void register_class_balancer(const char* name, const char* summary, MakeMember make, bool distributed) {
  register_class_balancer(std::string(name), std::string(summary), make, distributed);
}

void balancer_is_made(CkGroupID made) {
  const int group = made.idx;
  if (group <= PeObjects::own_groups || group == 0) return;  // by make_balancers(); no group
  StrategyInfo info{.name = "balancer of the program's",
                    .classic = "balancer of the program's",
                    .summary = "made by ckNew()",
                    .solve = [group](const LoadDatabase& database, const StrategyOptions&) {
                      return member(group).impl_solve(database);
                    }};
  info.wants = [group](std::uint32_t step) {
    BaseLB* const own = find_member(group);
    return own && own->impl_wants(static_cast<int>(step) - 1);
  };
  info.communication = true;
  info.group = group;
  info.own_name = [group, unknown = info.classic] {
    BaseLB* const own = find_member(group);
    return own ? own->lbName() : unknown;
  };
  static const StrategyInfo kept = std::move(info);
  static const Strategy strategy(kept);
  set_made(&strategy);
  Balancer::of(*Pe::current()).balancer_is_made(group);
}

void make_member(CkGroupID group, int chare, int constructor, void* arguments) {
  PeObjects::current().create_group(group, chare, constructor, Message::from_payload(arguments));
}

void make_balancers(Pe& pe) {
  CkpvInitialize(int, _lb_obj_index);
  CkpvAccess(_lb_obj_index) = -1;
  const std::vector<Strategy>& sequence = options().sequence;
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    const int group = sequence[i].info->group;
    if (group == 0 || pe.objects->find_group(group)) continue;
    registered()[static_cast<std::size_t>(PeObjects::own_groups - group)](CkGroupID{group},
                                                                          CkLBOptions(static_cast<int>(i)));
  }
}

std::string undecided(std::uint32_t step) {
  const Strategy* const strategy = options().strategy(step);
  if (!strategy || !strategy->info->distributed || strategy->info->group == 0) return "";
  return static_cast<DistBaseLB&>(member(strategy->info->group)).impl_decides() ? strategy->info->name : "";
}

bool has_member(int group) { return group == 0 || group <= PeObjects::own_groups || find_member(group) != nullptr; }

void end_step(int group, bool balanced) {
  if (BaseLB* const own = group != 0 ? find_member(group) : nullptr) own->impl_ended(balanced);
}

void begin_distributed(int group, const LoadDatabase& own) { static_cast<DistBaseLB&>(member(group)).impl_begin(own); }

}  // namespace periapt::loadbalance

using periapt::Pe;
using periapt::loadbalance::Balancer;

LBManager* ArrayElement::getLBMgr() const { return LBManager::Object(); }

LBManager* LBManager::Object() {
  static LBManager manager;
  return &manager;
}
int LBManager::step() const { return Balancer::of(*Pe::current()).balancings(); }
int LBManager::getNLoadBalancers() const {
  const auto& sequence = periapt::loadbalance::options().sequence;
  return static_cast<int>(
      std::count_if(sequence.begin(), sequence.end(), [](const auto& strategy) { return strategy.info->group != 0; }));
}
const char* LBManager::loadbalancer(int number) const {
  const auto& sequence = periapt::loadbalance::options().sequence;
  if (number < 0 || static_cast<std::size_t>(number) >= sequence.size())
    periapt::fatal("loadbalancer(" + std::to_string(number) + ") is called, but there are " +
                       std::to_string(sequence.size()) + " balancers",
                   describe_running(*Pe::current()), "they are counted from 0, as +balancer names them", "");
  return sequence[static_cast<std::size_t>(number)].info->classic;
}
LBRealType* LBManager::expectedLoad() {
  std::vector<double>& loads = Balancer::of(*Pe::current()).expected_loads;
  loads.resize(static_cast<std::size_t>(CkNumPes()));
  return loads.data();
}
LBRealType LBManager::myExpectedLoad() { return expectedLoad()[CkMyPe()]; }
BaseLB** LBManager::getLoadBalancers() const {
  static thread_local std::vector<BaseLB*> all;
  all.clear();
  for (const auto& strategy : periapt::loadbalance::options().sequence)
    if (strategy.info->group != 0) all.push_back(&periapt::loadbalance::member(strategy.info->group));
  return all.data();
}
int LBRegisterObjUserData(int bytes) { return Balancer::of(*Pe::current()).claim_user_data(bytes); }
