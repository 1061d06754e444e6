// What the base classes of parallel objects do, and the parts of proxies that are not inline.
#include "runtime/api/objects.h"

#include "base/fatal.h"
#include "runtime/api/reduction_message.h"
#include "runtime/array/array_manager.h"
#include "runtime/array/array_migration.h"
#include "runtime/objects/member_handle.h"
#include "runtime/objects/node_groups.h"
#include "runtime/registry/packing.h"
#include "runtime/scheduler/process.h"

using periapt::array_manager;
using periapt::ArrayManager;
using periapt::ArrayRouting;
using periapt::PeObjects;
using periapt::Reduction;
using periapt::chare::Contribution;

namespace {
void give(Reduction& reduction, std::uint32_t round, std::size_t size, const void* data, CkReduction::reducerType type,
          const CkCallback* cb, int user_flag) {
  Contribution c;
  c.data = const_cast<void*>(data);
  c.size = size;
  c.user_flag = user_flag;
  reduction.contribute(round, type, c, cb);
}
void give_message(Reduction& reduction, std::uint32_t round, CkReductionMsg* message) {
  Contribution c = periapt::chare::contribution_of(message);
  const CkCallback& callback = message->getCallback();
  reduction.contribute(round, message->getReducer(), c, callback.isInvalid() ? nullptr : &callback);
  CkFreeMsg(message);
}
}  // namespace

// --- chares and groups -----------------------------------------------------------------------------------------------
// The first one that is constructed is the one that the runtime makes; others are parts that its constructor makes.

Chare::Chare() : thishandle(PeObjects::current().creating.chare) {
  if (thishandle.serial == 0) return;
  periapt::ChareRecord* record = PeObjects::current().find_chare_record(thishandle.serial);
  if (record && !record->base) record->base = this;
}

Chare::~Chare() {
  // Only a chare has a serial number, and only its own PE deletes it.
  periapt::Pe* pe = periapt::Pe::current();
  if (thishandle.serial == 0 || !pe || thishandle.onPE != pe->index) return;
  const periapt::ChareRecord* record = pe->objects->find_chare_record(thishandle.serial);
  if (record && record->base == this) pe->objects->forget_chare(thishandle.serial);
}

IrrGroup::IrrGroup() : thisgroup(PeObjects::current().creating.group) {
  thishandle = periapt::member_handle(periapt::Pe::current()->index, thisgroup);
}

Group::Group() : thisIndex(periapt::Pe::current()->index) {
  if (thisgroup.isZero()) return;
  IrrGroup*& base = PeObjects::current().group(thisgroup.idx).base;
  if (!base) base = this;
}
void Group::contributeData(std::size_t size, const void* data, CkReduction::reducerType type, const CkCallback* cb,
                           CMK_REFNUM_TYPE user_flag) {
  give(*PeObjects::current().group(thisgroup.idx).reduction, next_reduction_++, size, data, type, cb, user_flag);
}
periapt::DeviceContributor Group::deviceContributor() const { return {CkArrayIndex(thisIndex), thisgroup.idx, 0}; }
void Group::contributeMessage(CkReductionMsg* message) {
  give_message(*PeObjects::current().group(thisgroup.idx).reduction, next_reduction_++, message);
}
void Group::setReductionClient(const CkCallback& cb) {
  PeObjects::current().group(thisgroup.idx).reduction->set_client(cb);
}
void Group::ckSetReductionClient(CkCallback* cb) { setReductionClient(*cb); }

NodeGroup::NodeGroup() : thisIndex(periapt::Pe::current()->process.rank()), __nodelock(CmiCreateLock()) {
  if (!thisgroup.isZero()) periapt::node_groups().adopt(thisgroup, this);
}
NodeGroup::~NodeGroup() { CmiDestroyLock(__nodelock); }
// The reduction of a node group lives on the first PE of the process; others hand their contribution to it.
void NodeGroup::contributeData(std::size_t size, const void* data, CkReduction::reducerType type, const CkCallback* cb,
                               CMK_REFNUM_TYPE user_flag) {
  CkReductionMsg* message = CkReductionMsg::buildNew(static_cast<int>(size), data, type);
  message->setUserFlag(user_flag);
  periapt::contribute_to_node(thisgroup, message, cb ? *cb : CkCallback());
}
periapt::DeviceContributor NodeGroup::deviceContributor() const { return {CkArrayIndex(thisIndex), thisgroup.idx, 0}; }
void NodeGroup::contributeMessage(CkReductionMsg* message) {
  const CkCallback callback = message->getCallback();
  periapt::contribute_to_node(thisgroup, message, callback);
}
void NodeGroup::ckSetReductionClient(CkCallback* cb) {
  periapt::node_groups().reduction(thisgroup.idx).set_client(*cb);
}

// --- array elements --------------------------------------------------------------------------------------------------

ArrayElement::ArrayElement() {
  ArrayManager* const manager = PeObjects::current().creating.manager;
  if (!manager)
    periapt::fatal("an array element is constructed outside of its array", describe_running(*periapt::Pe::current()),
                   "elements are made by the runtime", "use ckNew() or insert() of the array's proxy");
  manager->adopt(this);
}
ArrayElement::~ArrayElement() { thisArray->manager().drop(this); }
CkChareID ArrayElement::ckGetChareID() const {
  CkChareID handle;
  handle.onPE = periapt::Pe::current()->index;
  return handle;
}
CkArrayIndex ArrayElement::ckGetArrayIndex() const { return myRec.getIndex(); }
CkArrayIndex CkLocRec::getIndex() const { return array_->manager().index_of(id_); }
CkMigratable& CkLocRec::element() const {
  ArrayElement* const here = array_->manager().find(id_);
  if (here == nullptr)
    periapt::fatal("a CkLocRec is used whose element is not here any more", describe_running(*periapt::Pe::current()),
                   "the element has moved or was destroyed since", "ask for the record again: CkLocMgr::elementNrec()");
  return *here;
}
const char* idx2str(const CkArrayIndex& index) {
  static thread_local std::string text;
  text.clear();
  const int numbers = index.dimension > 3 ? index.dimension : index.nInts;
  for (int i = 0; i < numbers; ++i) text.append(i ? ";" : "").append(std::to_string(index.coordinate(i)));
  return text.c_str();
}
const char* idx2str(const ArrayElement* element) { return idx2str(element->ckGetArrayIndex()); }
int ArrayElement::ckGetArraySize() const { return thisArray->manager().options().getNumInitial().getCombinedCount(); }
void ArrayElement::contributeData(std::size_t size, const void* data, CkReduction::reducerType type,
                                  const CkCallback* cb, CMK_REFNUM_TYPE user_flag) {
  ArrayManager& manager = thisArray->manager();
  give(manager.reduction(), manager.element_of(this)->next_reduction_++, size, data, type, cb, user_flag);
}
periapt::DeviceContributor ArrayElement::deviceContributor() const {
  return {ckGetArrayIndex(), thisArrayID.index(), 0};
}
void ArrayElement::contributeMessage(CkReductionMsg* message) {
  ArrayManager& manager = thisArray->manager();
  give_message(manager.reduction(), manager.element_of(this)->next_reduction_++, message);
}
void ArrayElement::ckMigrate(int to) {
  ArrayManager& manager = thisArray->manager();
  ArrayElement* const element = manager.element_of(this);
  if (manager.may_move(element)) migrate(manager, element, to);
}
void ArrayElement::ckDestroy() {
  ArrayManager& manager = thisArray->manager();
  ArrayElement* const element = manager.element_of(this);
  if (!manager.keep_while_made(ArrayRouting::Order::destroy, element->ckGetID(), 0)) manager.destroy(element);
}
namespace {
periapt::BalanceHook& balance() {
  if (periapt::BalanceHook* hook = PeObjects::current().balance) return *hook;
  periapt::fatal("AtSync() is called, but the program has no load balancing part",
                 describe_running(*periapt::Pe::current()),
                 "its main() does not hand the parts of the runtime to run_program()", "link with charmc");
}
}  // namespace
void ArrayElement::AtSync(int) {
  ArrayManager& manager = thisArray->manager();
  ArrayElement* const element = manager.element_of(this);
  if (!usesAtSync && !element->usesAtSync)
    periapt::fatal("AtSync() is called by an element that takes no part in balancing",
                   describe_running(*periapt::Pe::current()), "usesAtSync is false",
                   "set usesAtSync = true in the constructor");
  manager.set_in_sync(this, true);
  balance().at_sync(*element, *this);
}
double ArrayElement::getObjTime() const {
  const ArrayElement& element = *thisArray->manager().element_of(const_cast<ArrayElement*>(this));
  return element.load_slot_ < 0 ? 0 : balance().load(element);
}
void ArrayElement::setObjTime(double seconds) {
  ArrayElement& element = *thisArray->manager().element_of(this);
  if (element.load_slot_ >= 0) balance().set_load(element, seconds);
}
void ArrayElement::pup(PUP::er& p) {
  p | usesAtSync;
  p | usesAutoMeasure;
  p | migratable_;
  ArrayManager& manager = thisArray->manager();
  ArrayElement* const element = manager.element_of(this);
  if (element != this) {  // a further base
    bool is_in_sync = manager.is_in_sync(this);
    p | is_in_sync;
    manager.set_in_sync(this, is_in_sync);
  } else if (periapt::ArrayListeners* listeners = manager.listeners()) {
    listeners->pup_ints(p, this);
  }
}

// --- proxies ---------------------------------------------------------------------------------------------------------

namespace {
struct ClientFunction {
  CkReductionClientFn fn;
  void* param;
  static void call(void* self, void* message) {
    auto* client = static_cast<ClientFunction*>(self);
    auto* m = static_cast<CkReductionMsg*>(message);
    client->fn(client->param, m->getSize(), m->getData());
    CkFreeMsg(message);
  }
};
// Lives as long as the collection whose client it is.
template <class Proxy>
void set_client_function(const Proxy& proxy, CkReductionClientFn fn, void* param) {
  CkCallback cb(ClientFunction::call, new ClientFunction{fn, param});
  proxy.ckSetReductionClient(&cb);
}
}  // namespace

void CProxy_ArrayBase::ckSetReductionClient(CkCallback* cb) const { array_manager(array_).reduction().set_client(*cb); }
void CProxy_ArrayBase::setReductionClient(CkReductionClientFn fn, void* param) const {
  set_client_function(*this, fn, param);
}
unsigned int CProxy_ArrayBase::numLocalElements() const { return static_cast<unsigned>(array_manager(array_).size()); }
namespace {
void check_set(bool set, const char* kind) {
  if (set) return;
  periapt::fatal(std::string(kind) + " proxy is used that was never set", describe_running(*periapt::Pe::current()),
                 "ckCheck() of a proxy that was made without a value", "assign what ckNew() returns to it first");
}
}  // namespace
void CProxy_Chare::ckCheck() const { check_set(id_.onPE >= 0, "a chare"); }
void CProxy_ArrayBase::ckCheck() const { check_set(!array_.isZero(), "an array"); }

namespace periapt {
template <>
void GroupProxy<CProxy_Group>::ckCheck() const {
  check_set(!group_.isZero(), "a group");
}
template <>
void GroupProxy<CProxy_NodeGroup>::ckCheck() const {
  check_set(!group_.isZero(), "a node group");
}
template <>
void GroupProxy<CProxy_Group>::ckSetReductionClient(CkCallback* cb) const {
  PeObjects::current().group(group_.idx).reduction->set_client(*cb);
}
template <>
void GroupProxy<CProxy_NodeGroup>::ckSetReductionClient(CkCallback* cb) const {
  node_groups().reduction(group_.idx).set_client(*cb);
}
template <class Whole>
void GroupProxy<Whole>::setReductionClient(CkReductionClientFn fn, void* param) const {
  set_client_function(*this, fn, param);
}
template void GroupProxy<CProxy_Group>::setReductionClient(CkReductionClientFn fn, void* param) const;
template void GroupProxy<CProxy_NodeGroup>::setReductionClient(CkReductionClientFn fn, void* param) const;
template <class Whole>
CkChareID GroupProxy<Whole>::ckGetChareID() const {
  return member_handle(Pe::current()->index, group_);
}
template CkChareID GroupProxy<CProxy_Group>::ckGetChareID() const;
template CkChareID GroupProxy<CProxy_NodeGroup>::ckGetChareID() const;

template <>
MemberProxy<CProxy_Group>::MemberProxy(const IrrGroup* g) : CProxy_Group(g), place_(Pe::current()->index) {}
template <>
MemberProxy<CProxy_NodeGroup>::MemberProxy(const IrrGroup* g)
    : CProxy_NodeGroup(g), place_(Pe::current()->process.rank()) {}
}  // namespace periapt

void CProxy_ArrayBase::beginInserting() { ArrayManager::tell_inserting(array_, true); }
void CProxy_ArrayBase::doneInserting() { ArrayManager::tell_inserting(array_, false); }

ArrayElement* CProxyElement_ArrayBase::ckLocal() const {
  ArrayManager* manager = find_array(PeObjects::current(), ckGetArrayID());
  return manager ? manager->find(id_, index_) : nullptr;
}
void CProxyElement_ArrayBase::ckEmigrate(int to) const {
  ArrayManager::order(ArrayRouting::Order::migrate, ckGetArrayID(), id_, index_, to);
}
void CProxyElement_ArrayBase::ckDestroy() const {
  ArrayManager::order(ArrayRouting::Order::destroy, ckGetArrayID(), id_, index_, 0);
}

CProxySection_ArrayBase::CProxySection_ArrayBase(const std::vector<CkArrayID>& arrays,
                                                 const std::vector<std::vector<CkArrayIndex>>& elements, int factor)
    : CProxy_ArrayBase(arrays[0]) {
  for (std::size_t i = 0; i < arrays.size(); ++i) sections_.emplace_back(arrays[i], elements[i], factor);
  periapt::name_section(sections_);
}
CProxySection_ArrayBase::CProxySection_ArrayBase(int n, const CkArrayID* arrays, CkArrayIndex const* const* elements,
                                                 const int* counts, int factor)
    : CProxy_ArrayBase(arrays[0]) {
  for (int i = 0; i < n; ++i) sections_.emplace_back(arrays[i], elements[i], counts[i], factor);
  periapt::name_section(sections_);
}

// --- maps ------------------------------------------------------------------------------------------------------------

CkArrayMap* CProxyElement_CkArrayMap::ckLocalBranch() const {
  return static_cast<CkArrayMap*>(PeObjects::current().group(ckGetGroupID().idx).base);
}
CkArrayMap* CProxy_CkArrayMap::ckLocalBranch() const {
  return static_cast<CkArrayMap*>(PeObjects::current().group(ckGetGroupID().idx).base);
}
int CkArrayMap::procNum(int, const CkArrayIndex& index) {
  return static_cast<int>(index.hash64() % static_cast<std::uint64_t>(periapt::Pe::current()->process.pes()));
}
void CkArrayMap::populateInitial(int handle, CkArrayOptions& options, void* ctorMsg, CkArray* manager) {
  if (!options.populated()) return CkFreeMsg(ctorMsg);
  const periapt::chare::IndexRange range(options.getStart(), options.getEnd(), options.getStep());
  const int me = periapt::Pe::current()->index;
  for (const CkArrayIndex& index : range)
    if (procNum(handle, index) == me) manager->insertInitial(index, CkCopyMsg(&ctorMsg));
  manager->doneInserting();
  CkFreeMsg(ctorMsg);
}

CkArray* CkArrayID::ckLocalBranch() const {
  ArrayManager* manager = find_array(PeObjects::current(), *this);
  return manager ? &manager->face() : nullptr;
}
void CkArray::insertInitial(const CkArrayIndex& index, void* ctorMsg) {
  periapt::Message message = periapt::Message::from_payload(ctorMsg);
  periapt::pack(message);  // the constructor gets a copy
  manager_.create_first(index, manager_.populate_entry(), message);
}
void CkArray::beginInserting() { ArrayManager::tell_inserting(manager_.id(), true); }
void CkArray::doneInserting() { manager_.done_inserting(); }
void CkArray::remoteBeginInserting() { manager_.begin_inserting(); }
std::size_t CkArray::getNumLocalElems() const { return manager_.size(); }
ArrayElement* CkArray::lookup(const CkArrayIndex& index) const { return manager_.find(0, index); }
ArrayElement* CkArray::lookup(CmiUInt8 id) const { return manager_.find(id); }
CkArrayIndex CkArray::getNumInitial() const { return manager_.options().getNumInitial(); }
void CkArray::addListener(CkArrayListener* listener) { manager_.add_listener(listener); }
int CkArray::homePe(const CkArrayIndex& index) const { return manager_.map().home(index); }
int CkArray::procNum(const CkArrayIndex& index) const { return manager_.map().place(index); }
int CkArray::lastKnown(const CkArrayIndex& index) const {
  if (lookup(index)) return periapt::Pe::current()->index;
  const int guess = manager_.location().guess(manager_.id_of(index));
  return guess >= 0 ? guess : homePe(index);
}
int CkArray::whichPe(const CkArrayIndex& index) const {
  return lookup(index) ? periapt::Pe::current()->index : manager_.location().guess(manager_.id_of(index));
}
CmiUInt8 CkArray::lookupID(const CkArrayIndex& index) const { return manager_.id_of(index); }
CkArrayIndex CkArray::lookupIdx(const CmiUInt8& id) const { return manager_.index_of(id); }
CkArrayID CkArray::getArrayID() const { return manager_.id(); }
