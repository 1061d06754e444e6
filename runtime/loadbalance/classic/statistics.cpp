// See statistics.h and base_lb.h.
#include "runtime/loadbalance/classic/statistics.h"

#include <algorithm>
#include <set>

#include "base/fatal.h"
#include "runtime/array/array_manager.h"
#include "runtime/converse/cmi.h"
#include "runtime/converse/topo_manager.h"
#include "runtime/loadbalance/balancer.h"
#include "runtime/loadbalance/lb_manager.h"
#include "runtime/loadbalance/options.h"
#include "runtime/loadbalance/partners.h"
#include "runtime/pup/pup_c.h"

namespace periapt::loadbalance {

namespace {
LDOMHandle manager_of(std::int32_t array) {
  const Pe* const pe = Pe::current();
  if (ObjectManagers::is_own(array) && pe) return Balancer::of(*pe).own_objects().handle_of(array);
  LDOMHandle handle;
  handle.id.id.idx = array;
  return handle;
}
std::int32_t array_of(const LDOMHandle& manager) {
  return manager.handle > 0 ? ObjectManagers::array_of(manager) : manager.id.id.idx;
}
LDObjKey key_of(const ElementName& name) { return {manager_of(name.array).id, name.element}; }
LDCommData message_of(const Communication& c, int receiver_pe) {
  LDCommData data;
  data.sender = key_of(c.from);
  data.receiver.init_objmsg(manager_of(c.to.array).id, c.to.element, receiver_pe);
  if (c.to_pe >= 0) {  // as Charm++ has it: to a PE
    data.receiver.type = LD_PROC_MSG;
    data.receiver.setProc(c.to_pe);
  }
  data.messages = static_cast<int>(c.messages);
  data.bytes = static_cast<int>(c.bytes);
  return data;
}
}  // namespace

LDObjData data_of(const LoadDatabase& database, std::size_t i) {
  const ObjectLoad& object = database.objects[i];
  LDObjData data;
  data.handle.omhandle = manager_of(object.array);
  data.handle.id = object.element;
  data.handle.handle = static_cast<int>(i);
  data.wallTime = database.clock == LoadClock::processor ? object.wall : object.seconds;
  data.cpuTime = object.seconds;
  data.migratable = object.migratable;
  data.pupSize = pup_encodeSize(object.bytes);
  if (const std::size_t bytes = database.user_bytes; bytes > 0) {
    const auto first = database.user_data.begin() + static_cast<std::ptrdiff_t>(i * bytes);
    data.userData = LBObjUserData(std::vector<char>(first, first + static_cast<std::ptrdiff_t>(bytes)));
  }
  return data;
}

bool balances_processor_time() { return options().clock == LoadClock::processor; }
double load_of(const LDObjData& object) { return balances_processor_time() ? object.cpuTime : object.wallTime; }
double background_of(const BaseLB::ProcStats& pe) { return balances_processor_time() ? pe.bg_cputime : pe.bg_walltime; }

std::vector<LDCommData> messages_of(const LoadDatabase& database) {
  std::vector<LDCommData> all;
  if (database.communication.empty()) return all;
  const ObjectIndex index(database);
  for (const Communication& c : database.communication) {
    const std::uint32_t to = index.find(c.to);
    if (index.find(c.from) == ObjectIndex::none) continue;
    if (to != ObjectIndex::none)
      all.push_back(message_of(c, database.objects[to].pe));
    else if (database.is_to_member(c))
      all.push_back(message_of(c, c.to_pe));
  }
  return all;
}

BaseLB::LDStats statistics_of(const LoadDatabase& database) {
  BaseLB::LDStats stats(static_cast<int>(database.pes.size()));
  for (std::size_t pe = 0; pe < database.pes.size(); ++pe) {
    const PeLoad& load = database.pes[pe];
    BaseLB::ProcStats& to = stats.procs[pe];
    to.pe = static_cast<int>(pe);
    to.pe_speed = load.speed;
    to.total_walltime = load.wall;
    to.idletime = load.idle;
    to.bg_walltime = database.clock == LoadClock::processor ? load.background_wall : load.background;
    to.bg_cputime = load.background;
    to.total_cputime =
        database.clock == LoadClock::processor ? load.background : load.wall;  // and what its objects add
    to.available = load.available;
  }
  stats.objData.reserve(database.objects.size());
  for (std::size_t i = 0; i < database.objects.size(); ++i) {
    const ObjectLoad& object = database.objects[i];
    stats.objData.push_back(data_of(database, i));
    stats.from_proc.push_back(object.pe);
    stats.n_migrateobjs += object.migratable;
    ++stats.procs[object.pe].n_objs;
    if (database.clock == LoadClock::processor) stats.procs[object.pe].total_cputime += object.seconds;
  }
  stats.to_proc = stats.from_proc;
  stats.commData = messages_of(database);
  return stats;
}

LoadDatabase database_of(const BaseLB::LDStats& stats, const int* places) {
  LoadDatabase database;
  const int pes = static_cast<int>(stats.nprocs());
  std::vector<double> loads;
  for (const BaseLB::ProcStats& pe : stats.procs) {
    database.pes.push_back({pe.total_walltime, pe.idletime, background_of(pe), pe.pe_speed, pe.available, 0});
    loads.push_back(pe.available ? background_of(pe) : std::numeric_limits<double>::infinity());
  }
  for (std::size_t i = 0; i < stats.objData.size(); ++i)
    if (places[i] >= 0 && places[i] < pes) loads[places[i]] += load_of(stats.objData[i]);
  for (std::size_t i = 0; i < stats.objData.size(); ++i) {
    const LDObjData& data = stats.objData[i];
    int pe = places[i];
    if (pe < 0 || pe >= pes) {
      pe = static_cast<int>(std::min_element(loads.begin(), loads.end()) - loads.begin());
      loads[pe] += load_of(data);
    }
    database.objects.push_back({array_of(data.omHandle()), data.objID(), pe, load_of(data), 0, data.migratable});
  }
  return database;
}

}  // namespace periapt::loadbalance

void BaseLB::ProcStats::pup(PUP::er& p) {
  p | n_objs;
  p | pe_speed;
  p | total_walltime;
  p | idletime;
  p | bg_walltime;
  p | total_cputime;
  p | bg_cputime;
  p | pe;
  p | available;
}

void BaseLB::LDStats::makeCommHash() {
  if (places_) return;
  places_ = std::make_shared<std::unordered_map<LDObjKey, int, Hash>>();
  for (std::size_t i = 0; i < objData.size(); ++i)
    places_->emplace(LDObjKey{objData[i].omID(), objData[i].objID()}, static_cast<int>(i));
}
int BaseLB::LDStats::getHash(const LDObjKey& key) {
  makeCommHash();
  const auto found = places_->find(key);
  return found == places_->end() ? -1 : found->second;
}
int BaseLB::LDStats::getSendHash(LDCommData& c) {
  if (c.sendHash == -1) c.sendHash = getHash(c.sender);
  return c.sendHash;
}
int BaseLB::LDStats::getRecvHash(LDCommData& c) {
  if (c.recvHash == -1) c.recvHash = getHash(c.receiver.get_destObj());
  return c.recvHash;
}
void BaseLB::LDStats::clearCommHash() {
  for (LDCommData& c : commData) c.clearHash();
}
void BaseLB::LDStats::clear() {
  n_migrateobjs = 0;
  objData.clear();
  from_proc.clear();
  to_proc.clear();
  commData.clear();
  deleteCommHash();
}
void BaseLB::LDStats::clearBgLoad() {
  for (ProcStats& pe : procs) pe.clearBgLoad();
}
void BaseLB::LDStats::computeNonlocalComm(int& messages, int& bytes) {
  messages = bytes = 0;
  for (LDCommData& c : commData) {
    const int from = getSendHash(c), to = getRecvHash(c);
    const int pe = c.recv_type() == LD_PROC_MSG ? c.receiver.proc() : to < 0 ? -1 : to_proc[to];
    if (from < 0 || pe < 0 || to_proc[from] == pe) continue;
    messages += c.messages;
    bytes += c.bytes;
  }
}
double BaseLB::LDStats::computeAverageLoad() {
  double total = 0;
  int pes = 0;
  for (const LDObjData& data : objData) total += periapt::loadbalance::load_of(data);
  for (const ProcStats& pe : procs) {
    if (!pe.available) continue;
    total += periapt::loadbalance::background_of(pe);
    ++pes;
  }
  return pes > 0 ? total / pes : 0;
}
// Loads as the fastest PE would have them.
void BaseLB::LDStats::normalize_speed() {
  double fastest = 0;
  for (const ProcStats& pe : procs) fastest = std::max(fastest, pe.pe_speed);
  if (fastest <= 0) return;
  for (ProcStats& pe : procs) pe.pe_speed /= fastest;
  for (std::size_t i = 0; i < objData.size(); ++i) {
    if (from_proc[i] < 0 || from_proc[i] >= static_cast<int>(nprocs())) continue;
    objData[i].wallTime *= procs[from_proc[i]].pe_speed;
    objData[i].cpuTime *= procs[from_proc[i]].pe_speed;
  }
}
void BaseLB::LDStats::print() {
  for (const ProcStats& pe : procs)
    CmiPrintf("PE %d: wall %g, idle %g, background %g, %d objects\n", pe.pe, pe.total_walltime, pe.idletime,
              periapt::loadbalance::background_of(pe), pe.n_objs);
  for (std::size_t i = 0; i < objData.size(); ++i)
    CmiPrintf("object %zu: load %g, PE %d -> %d%s\n", i, periapt::loadbalance::load_of(objData[i]), from_proc[i],
              to_proc[i], objData[i].migratable ? "" : ", not migratable");
}
void BaseLB::LDStats::removeObject(int object) {
  n_migrateobjs -= objData[object].migratable;
  objData.erase(objData.begin() + object);
  from_proc.erase(from_proc.begin() + object);
  to_proc.erase(to_proc.begin() + object);
  deleteCommHash();
}
void BaseLB::LDStats::pup(PUP::er& p) {
  p | procs;
  p | n_migrateobjs;
  p | objData;
  p | from_proc;
  p | to_proc;
  p | commData;
  if (p.isUnpacking()) deleteCommHash();
}
int BaseLB::LDStats::useMem() {
  return static_cast<int>(sizeof *this + objData.size() * sizeof(LDObjData) + commData.size() * sizeof(LDCommData) +
                          procs.size() * sizeof(ProcStats) + 2 * to_proc.size() * sizeof(int));
}

// --- what is on this PE ----------------------------------------------------------------------------------------------

namespace {
using periapt::loadbalance::Balancer;
using periapt::loadbalance::LoadDatabase;

Balancer& here() { return Balancer::of(*periapt::Pe::current()); }
// Where it is, as far as it is known here; -1: it is not.
int place_of(const LoadDatabase& own, const periapt::loadbalance::ElementName& name) {
  for (const periapt::loadbalance::ObjectLoad& object : own.objects)
    if (object.array == name.array && object.element == name.element) return object.pe;
  periapt::ArrayManager* const manager = periapt::find_array(periapt::PeObjects::current(), CkGroupID{name.array});
  return manager ? manager->location().guess(name.element) : -1;
}
}  // namespace

int LBManager::GetObjDataSz() { return static_cast<int>(here().own_loads().objects.size()); }
void LBManager::GetObjData(LDObjData* data) {
  const LoadDatabase own = here().own_loads();
  for (std::size_t i = 0; i < own.objects.size(); ++i) data[i] = periapt::loadbalance::data_of(own, i);
}
const LDObjHandle& LBManager::GetObjHandle(int place) {
  static thread_local LDObjHandle handle;
  const LoadDatabase own = here().own_loads();
  if (place < 0 || static_cast<std::size_t>(place) >= own.objects.size())
    periapt::fatal("GetObjHandle(" + std::to_string(place) + ") is called, but this PE has " +
                       std::to_string(own.objects.size()) + " objects",
                   periapt::describe_running(*periapt::Pe::current()), "they are counted from 0", "ask GetObjDataSz()");
  return handle = periapt::loadbalance::data_of(own, static_cast<std::size_t>(place)).handle;
}
int LBManager::useMem() {
  const LoadDatabase own = here().own_loads();
  return static_cast<int>(sizeof(Balancer) + own.objects.size() * sizeof(LDObjData) +
                          own.communication.size() * sizeof(LDCommData));
}
int LBManager::GetCommDataSz() { return static_cast<int>(here().own_loads().communication.size()); }
void LBManager::GetCommData(LDCommData* data) {
  const LoadDatabase own = here().own_loads();
  for (const periapt::loadbalance::Communication& c : own.communication)
    *data++ = periapt::loadbalance::message_of(c, place_of(own, c.to));
}
void LBManager::GetCommInfo(int& bytes, int& messages, int& outside_messages, int& outside_bytes, int& neighbors,
                            int& hops, int& hop_bytes) {
  bytes = messages = outside_messages = outside_bytes = hops = hop_bytes = 0;
  std::vector<LDCommData> all(static_cast<std::size_t>(GetCommDataSz()));
  GetCommData(all.data());
  std::set<LDObjKey> receivers;
  for (const LDCommData& c : all) {
    bytes += c.bytes;
    messages += c.messages;
    if (c.recv_type() == LD_OBJ_MSG) receivers.insert(c.receiver.get_destObj());
    const int to = c.receiver.lastKnown();
    if (to == CkMyPe()) continue;
    outside_bytes += c.bytes;
    outside_messages += c.messages;
    if (to < 0) continue;
    int between = 0;
    TopoManager_getHopsBetweenPeRanks(CkMyPe(), to, &between);
    hops += c.messages * between;
    hop_bytes += c.bytes * between;
  }
  neighbors = static_cast<int>(receivers.size());
}
int LBManager::CollectingCommStats() {
  return StatsOn() && periapt::loadbalance::Balancer::of(*periapt::Pe::current()).counts_communication();
}

LDObjHandle CkLocRec::getLdHandle() const {
  LDObjHandle handle;
  handle.omhandle.id.id = array_->getArrayID();
  handle.id = id_;
  return handle;
}
