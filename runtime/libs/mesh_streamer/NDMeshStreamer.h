// Streams of small items to groups and arrays (-module NDMeshStreamer, TRAM in Charm++'s words): what is for the same
// peer in a grid of PEs travels in one message. The classes that a program uses by itself are below; calls of entries
// that are [aggregate] need none of them (runtime/aggregation). C++17: programs include it.
//
//   group GroupMeshStreamer<Item, Client, SimpleMeshRouter>;
//   group MeshStreamer<Item, SimpleMeshRouter>;                                       // in the .ci
//   auto streamer = CProxy_GroupMeshStreamer<Item, Client, SimpleMeshRouter>::ckNew(1024, 2, sizes, client);
//   streamer.init(1, start, end, 0, false);
//   streamer.ckLocalBranch()->insertData(item, pe); ... ->done();
//
// Client::process(const Item&) is called where the item is for, never inside of insertData(), or a function that
// GroupMeshStreamer is given behind its router: int deliver(char* item, void* client). Items are copied as bytes, or
// packed by pup() where they own something (vectors, strings): a function gets such an item packed, as Charm++ 8.0 has
// it, for PUP::fromMem. 1024 is how many a PE keeps in all; in the other order of arguments (sizes, client, 64), how
// many it keeps for one peer; with the eleven arguments that Charm++ 8.0 has, how many bytes of them at most, and how
// many. ArrayMeshStreamer<Item, Index, Client, Router> and, as 8.0 has it, <Item, Client, Router> stream to elements,
// whose index insertData() is given. A buffer is sent when it is full, when the PE has nothing else to do, when more is
// kept than was said, at the end of the stream, and every progressPeriodInMs with periodic flushing.
//
// init(n, ...): `start` is called when all members are ready, `end` when n contributors on each PE have called done()
// and all items have been delivered. With an array: its elements contribute; with a detector, n contributors in all.
// With a callback alone the stream has no end of its own; every item counts for quiescence.
#pragma once
#include <completion.h>  // of the module completion, as programs have it

#include <algorithm>
#include <cstddef>
#include <map>
#include <type_traits>
#include <utility>
#include <vector>

#include "DataItemTypes.h"
#include "VirtualRouter.h"
#include "runtime/api/array_map.h"
#include "runtime/api/objects.h"
#include "runtime/converse/converse.h"
#include "runtime/converse/cth.h"
#include "runtime/face/qd.h"

namespace periapt::mesh_streamer {
// Without their number.
template <class Item>
void pup_each(PUP::er& p, std::vector<Item>& items) {
  if constexpr (owns<Item>) {
    for (Item& item : items) p | item;
  } else {
    p(reinterpret_cast<char*>(items.data()), items.size() * sizeof(Item));
  }
}
// Gives an item to a function that takes its bytes.
template <class Item>
void hand_over(const Item& item, int (*function)(char*, void*), void* client) {
  char* bytes = reinterpret_cast<char*>(const_cast<Item*>(&item));
  std::vector<char> packed;
  if constexpr (owns<Item>) {
    Item& own = const_cast<Item&>(item);
    packed.resize(PUP::size(own));
    PUP::toMemBuf(own, packed.data(), packed.size());
    bytes = packed.data();
  }
  function(bytes, client);
}
}  // namespace periapt::mesh_streamer

#include "NDMeshStreamer.decl.h"

// The bytes of items for PE destinations[i], or, where none is routed on, for the PE that gets it.
class MeshStreamerItems : public CMessage_MeshStreamerItems {
 public:
  int* destinations;
  CkArrayIndex* targets;  // the elements that they are for, where the items do not say it
  char* items;
  int count = 0;
  bool routed = false, targeted = false;
};
template <class dtype>
class MeshStreamerMessage : public CMessage_MeshStreamerMessage<dtype> {
 public:
  int* destinations;
  dtype* items;
};

template <class dtype, class RouterType>
class MeshStreamer : public CBase_MeshStreamer<dtype, RouterType> {
 public:
  ~MeshStreamer() override {
    CcdCancelCallOnConditionKeep(CcdPROCESSOR_BEGIN_IDLE, on_idle_);
    call_off(timer_);
    call_off(next_wave_);
  }
  void pup(PUP::er& p) override;

  // So many contributors on this PE will insert no more.
  void done(int contributors = 1) {
    done_ += contributors;
    if (runs_ && done_ >= contributors_here_) tell();
  }

  // --- entries ---
  void init(int contributors_here, CkCallback start, CkCallback end, int priority, bool periodic) {
    begin(contributors_here, contributors_here, start, end, priority, periodic);
    of_each_pe_ = true;
  }
  void init(int contributors, CkCallback start, CkCallback end, CProxy_CompletionDetector, int priority,
            bool periodic) {
    begin(0, CkMyPe() == 0 ? contributors : 0, start, end, priority, periodic);
  }
  void init(CkArrayID senders, CkCallback start, CkCallback end, int priority, bool periodic) {
    const int elements = static_cast<int>(senders.ckLocalBranch()->getNumLocalElems());
    begin(elements, elements, start, end, priority, periodic);
  }
  void init(CkCallback start, int priority) {
    priority_ = priority;
    this->contribute(start);
  }
  void enablePeriodicFlushing() {
    if (period_ms_ <= 0) period_ms_ = 10;
    if (!timer_) arm();
  }
  void finish() { flush(); }
  void receiveAlongRoute(MeshStreamerItems* message);
  void report(int begun, int contributors, int done);
  void settle() {
    flush();
    const CmiInt8 counts[] = {inserted_, delivered_};
    this->contribute(
        sizeof counts, counts, CkReduction::sum_long_long,
        CkCallback(CkIndex_MeshStreamer<dtype, RouterType>::redn_wrapper_counted(nullptr), this->thisProxy));
  }
  void counted(CmiInt8 inserted, CmiInt8 delivered);

 protected:
  MeshStreamer(const RouterType& router, int kept, int kept_for_one, bool yields, double period_ms);
  explicit MeshStreamer(CkMigrateMessage*) { watch(); }
  // An item that is for this PE, and the element that it is for if it travels beside it. It may insert others.
  virtual void deliver(const dtype& item, const CkArrayIndex* target) = 0;
  // Also one for this PE is kept and comes later, as its receiver may be in the middle of something, or insert others
  // without end; `at_once`: it is delivered in here.
  void insert(const dtype& item, int pe, const CkArrayIndex* target = nullptr, bool at_once = false) {
    ++inserted_;
    QdCreate(1);
    at_once ? pass_on(item, pe, target) : keep(item, pe, target);
    if (yields_ && ++since_yield_ == 1024) {
      since_yield_ = 0;
      CthYield();
    }
  }
  void pass_on(const dtype& item, int pe, const CkArrayIndex* target) {
    if (pe != CkMyPe()) return keep(item, pe, target);
    const dtype copy = item;  // the place that it is in may be used again meanwhile
    deliver(copy, target);
  }
  void was_delivered() {
    ++delivered_;
    QdProcess(1);
  }
  virtual void before_flush() {}
  void flush();

 private:
  struct Buffer {
    std::vector<dtype> items;
    std::vector<int> destinations;  // where some are for other PEs than the peer
    std::vector<CkArrayIndex> targets;
  };
  struct Timer {
    MeshStreamer* streamer;  // null: it has been called off
    void (MeshStreamer::*next)();
  };

  void watch() {
    on_idle_ = CcdCallOnConditionKeep(
        CcdPROCESSOR_BEGIN_IDLE, [](void* self) { static_cast<MeshStreamer*>(self)->idle(); }, this);
  }
  Timer* call_after(double ms, void (MeshStreamer::*next)()) {
    Timer* const timer = new Timer{this, next};
    CcdCallFnAfter(
        [](void* argument, double) {
          const Timer timer = *static_cast<Timer*>(argument);
          delete static_cast<Timer*>(argument);
          if (timer.streamer) (timer.streamer->*timer.next)();
        },
        timer, ms);
    return timer;
  }
  static void call_off(Timer*& timer) {
    if (timer) timer->streamer = nullptr;
    timer = nullptr;
  }
  void arm() { timer_ = call_after(period_ms_, &MeshStreamer::flush_and_arm); }
  void flush_and_arm() {
    flush();
    arm();
  }
  void settle_later() { next_wave_ = call_after(1, &MeshStreamer::settle_now); }
  void settle_now() {
    next_wave_ = nullptr;
    settle();
  }
  void begin(int contributors_here, int contributors, const CkCallback& start, const CkCallback& end, int priority,
             bool periodic);
  void tell() {
    if (done_ > 0) this->thisProxy[0].report(0, 0, done_);
    done_ = 0;
  }
  void idle() {
    flush();
    if (runs_) tell();  // also of contributors that have come here since
  }
  // In the buffer for the peer that it goes to next.
  void keep(const dtype& item, int pe, const CkArrayIndex* target);
  void send(int peer);

  RouterType router_;
  std::vector<Buffer> buffers_;  // by peer
  std::size_t kept_ = 0, kept_max_ = 0, kept_for_one_max_ = 0;
  bool yields_ = false;
  int since_yield_ = 0;
  double period_ms_ = -1;
  int priority_ = 0;
  int on_idle_ = -1;
  Timer* timer_ = nullptr;
  Timer* next_wave_ = nullptr;  // of the end of a stream, when it is to come after a while

  CmiInt8 inserted_ = 0, delivered_ = 0;  // here, of all streams
  // Of the stream that runs.
  bool runs_ = false;
  bool of_each_pe_ = false;               // init() was told of contributors on each PE
  int contributors_here_ = 0, done_ = 0;  // that have not been reported
  CkCallback end_;
  CmiInt8 inserted_before_ = -1, delivered_before_ = -1;  // the sums of the last wave
  // On PE 0: what all PEs have reported.
  int begun_ = 0, contributors_ = 0, contributors_done_ = 0;
};

template <class dtype, class ClientType, class RouterType,
          int (*EntryMethod)(char*, void*) = defaultMeshStreamerDeliver<dtype, ClientType>>
class GroupMeshStreamer : public CBase_GroupMeshStreamer<dtype, ClientType, RouterType, EntryMethod> {
  using Base = CBase_GroupMeshStreamer<dtype, ClientType, RouterType, EntryMethod>;

 public:
  GroupMeshStreamer(int kept, int dimensions, int* sizes, CkGroupID client, bool yields, double period_ms)
      : Base(RouterType(dimensions, sizes), kept, 0, yields, period_ms), client_(client) {}
  GroupMeshStreamer(int dimensions, int* sizes, CkGroupID client, int kept_for_one, bool yields, double period_ms)
      : Base(RouterType(dimensions, sizes), 0, kept_for_one, yields, period_ms), client_(client) {}
  GroupMeshStreamer(int dimensions, int* sizes, CkGroupID client, int bytes_for_one, bool yields, double period_ms,
                    int items_for_one, int, int, int, int)
      : GroupMeshStreamer(dimensions, sizes, client,
                          periapt::mesh_streamer::kept_for_one(bytes_for_one, items_for_one, sizeof(dtype)), yields,
                          period_ms) {}
  explicit GroupMeshStreamer(CkMigrateMessage* m) : Base(m) {}
  void pup(PUP::er& p) override { p | client_; }

  void insertData(const dtype& item, int pe) {
    if (pe < 0 || pe >= CkNumPes()) CkAbort("GroupMeshStreamer::insertData() for PE %d: there are %d", pe, CkNumPes());
    this->insert(item, pe);
  }
  void broadcast(const dtype& item) {
    for (int pe = 0; pe < CkNumPes(); ++pe) this->insert(item, pe);
  }

 private:
  void deliver(const dtype& item, const CkArrayIndex*) override {
    if (object_ == nullptr) object_ = static_cast<ClientType*>(CkLocalBranch(client_));
    periapt::mesh_streamer::hand_over(item, EntryMethod, object_);
    this->was_delivered();
  }

  CkGroupID client_;
  ClientType* object_ = nullptr;  // its member here
};

template <class dtype, class... Rest>
class ArrayMeshStreamer : public CBase_ArrayMeshStreamer<dtype, Rest...> {
  using Base = CBase_ArrayMeshStreamer<dtype, Rest...>;
  using Types = periapt::mesh_streamer::ArrayStream<dtype, Rest...>;
  using Item = typename Types::Item;
  using Index = typename Types::Index;
  using ClientType = typename Types::ClientType;
  using RouterType = typename Types::RouterType;

 public:
  ArrayMeshStreamer(int kept, int dimensions, int* sizes, CkArrayID client, bool yields, double period_ms)
      : Base(RouterType(dimensions, sizes), kept, 0, yields, period_ms), client_(client) {}
  ArrayMeshStreamer(int dimensions, int* sizes, CkArrayID client, int kept_for_one, bool yields, double period_ms)
      : Base(RouterType(dimensions, sizes), 0, kept_for_one, yields, period_ms), client_(client) {}
  ArrayMeshStreamer(int dimensions, int* sizes, CkArrayID client, int bytes_for_one, bool yields, double period_ms,
                    int items_for_one, int, int, int, int)
      : ArrayMeshStreamer(dimensions, sizes, client,
                          periapt::mesh_streamer::kept_for_one(bytes_for_one, items_for_one, sizeof(Item)), yields,
                          period_ms) {}
  explicit ArrayMeshStreamer(CkMigrateMessage* m) : Base(m) {}
  void pup(PUP::er& p) override { p | client_; }

  // insertData<true>: an element of this PE is given it at once.
  template <bool deliverInline = false>
  void insertData(const dtype& item, const Index& index) {
    const CkArrayIndex target = Types::index_of(index);
    this->insert(Types::item(item, index), array()->lastKnown(target), Types::beside(target), deliverInline);
  }

  // --- entries ---
  // To the home of an element, and what it answers.
  void where(const CkArrayIndex& index, int asker) {
    if (!answer(index, asker)) questions_.push_back({index, asker});
  }
  void at(const CkArrayIndex& index, int pe) {
    const auto found = waiting_.find(index);
    if (found == waiting_.end()) return;
    found->second.asked = false;
    if (pe == CkMyPe() && !array()->lookup(index)) return;  // it is on its way here
    const std::vector<Item> items = std::move(found->second.items);
    waiting_.erase(found);
    for (const Item& item : items) this->pass_on(item, pe, Types::beside(index));
  }

 private:
  struct Waiting {
    std::vector<Item> items;
    bool asked = false;
  };
  struct Question {
    CkArrayIndex index;
    int asker;
  };

  CkArray* array() const { return client_.ckLocalBranch(); }
  void deliver(const Item& item, const CkArrayIndex* target) override {
    const CkArrayIndex index = Types::index(item, target);
    if (ArrayElement* const element = array()->lookup(index)) {
      static_cast<ClientType*>(element)->process(const_cast<dtype&>(Types::data(item)));
      return this->was_delivered();
    }
    Waiting& waiting = waiting_[index];
    waiting.items.push_back(item);
    ask(index, waiting);
  }
  // Of an element that has moved, or is not there yet. (Items that were sent on at once could go round in circles, with
  // a priority before what the element travels in.)
  void ask(const CkArrayIndex& index, Waiting& waiting) {
    if (!std::exchange(waiting.asked, true)) this->thisProxy[array()->homePe(index)].where(index, CkMyPe());
  }
  bool answer(const CkArrayIndex& index, int asker) {
    const bool here = array()->lookup(index) != nullptr;
    const int pe = here ? CkMyPe() : array()->lastKnown(index);
    if (pe == CkMyPe() && !here) return false;  // not there yet
    this->thisProxy[asker].at(index, pe);
    return true;
  }
  void before_flush() override {
    questions_.erase(std::remove_if(questions_.begin(), questions_.end(),
                                    [this](const Question& q) { return answer(q.index, q.asker); }),
                     questions_.end());
    std::vector<CkArrayIndex> here;
    for (auto& [index, waiting] : waiting_) {
      if (array()->lookup(index))
        here.push_back(index);
      else
        ask(index, waiting);
    }
    for (const CkArrayIndex& index : here) at(index, CkMyPe());
  }

  CkArrayID client_;
  std::map<CkArrayIndex, Waiting> waiting_;  // by element
  std::vector<Question> questions_;          // to this PE as the home, which does not know yet
};

template <class dtype, class RouterType>
MeshStreamer<dtype, RouterType>::MeshStreamer(const RouterType& router, int kept, int kept_for_one, bool yields,
                                              double period_ms)
    : router_(router), buffers_(static_cast<std::size_t>(router.peers())), yields_(yields), period_ms_(period_ms) {
  if (kept < 0 || kept_for_one < 0 || kept + kept_for_one == 0)
    CkAbort("MeshStreamer: a buffer for %d items is asked for", kept + kept_for_one);
  // Buffers fill unevenly: one may hold more than its share of what is kept in all.
  const int uneven = 4;
  const int others = std::max(router.peers() - 1, 1);
  if (kept_for_one == 0) kept_for_one = std::max(uneven * kept / others, 1);
  if (kept == 0) kept = std::max(kept_for_one * others / uneven, kept_for_one);
  kept_max_ = static_cast<std::size_t>(kept);
  kept_for_one_max_ = static_cast<std::size_t>(kept_for_one);
  watch();
}

template <class dtype, class RouterType>
void MeshStreamer<dtype, RouterType>::keep(const dtype& item, int pe, const CkArrayIndex* target) {
  const SimpleMeshRouter::Hop hop = router_.toward(pe);
  Buffer& buffer = buffers_[static_cast<std::size_t>(hop.peer)];
  if (!hop.last || !buffer.destinations.empty()) {
    // Those before it were for the peer.
    buffer.destinations.resize(buffer.items.size(), router_.pe_of(hop.peer));
    buffer.destinations.push_back(pe);
  }
  buffer.items.push_back(item);
  if (target != nullptr) buffer.targets.push_back(*target);
  ++kept_;
  if (buffer.items.size() >= kept_for_one_max_) return send(hop.peer);
  if (kept_ < kept_max_) return;
  const auto fullest = std::max_element(buffers_.begin(), buffers_.end(), [](const Buffer& a, const Buffer& b) {
    return a.items.size() < b.items.size();
  });
  send(static_cast<int>(fullest - buffers_.begin()));
}

template <class dtype, class RouterType>
void MeshStreamer<dtype, RouterType>::send(int peer) {
  Buffer& buffer = buffers_[static_cast<std::size_t>(peer)];
  PUP::detail::counter sizer;
  periapt::mesh_streamer::pup_each(sizer, buffer.items);
  const std::size_t bytes = sizer.size();
  int sizes[] = {static_cast<int>(buffer.destinations.size()), static_cast<int>(buffer.targets.size()),
                 static_cast<int>(bytes)};
  const int priority_bits = priority_ == 0 ? 0 : 8 * static_cast<int>(sizeof(int));
  auto* const message = new (sizes, priority_bits) MeshStreamerItems();
  message->count = static_cast<int>(buffer.items.size());
  message->routed = sizes[0] > 0;
  message->targeted = sizes[1] > 0;
  std::copy(buffer.destinations.begin(), buffer.destinations.end(), message->destinations);
  std::copy(buffer.targets.begin(), buffer.targets.end(), message->targets);
  PUP::detail::writer packer(message->items);
  periapt::mesh_streamer::pup_each(packer, buffer.items);
  kept_ -= buffer.items.size();
  buffer.items.clear();
  buffer.destinations.clear();
  buffer.targets.clear();
  if (priority_ != 0) {
    CkSetQueueing(message, CK_QUEUEING_IFIFO);
    *static_cast<int*>(CkPriorityPtr(message)) = priority_;
  }
  this->thisProxy[router_.pe_of(peer)].receiveAlongRoute(message);
}

template <class dtype, class RouterType>
void MeshStreamer<dtype, RouterType>::flush() {
  before_flush();
  if (kept_ == 0) return;
  for (int peer = 0; peer < router_.peers(); ++peer)
    if (!buffers_[static_cast<std::size_t>(peer)].items.empty()) send(peer);
}

template <class dtype, class RouterType>
void MeshStreamer<dtype, RouterType>::receiveAlongRoute(MeshStreamerItems* message) {
  const dtype* items = reinterpret_cast<const dtype*>(message->items);
  std::vector<dtype> own;
  if constexpr (periapt::mesh_streamer::owns<dtype>) {
    own.resize(static_cast<std::size_t>(message->count));
    PUP::detail::reader unpacker(message->items);
    periapt::mesh_streamer::pup_each(unpacker, own);
    items = own.data();
  }
  for (int i = 0; i < message->count; ++i) {
    const int pe = message->routed ? message->destinations[i] : CkMyPe();
    const CkArrayIndex* const target = message->targeted ? &message->targets[i] : nullptr;
    if (pe == CkMyPe())
      deliver(items[i], target);
    else
      pass_on(items[i], pe, target);
  }
  delete message;
}

// --- the end of a stream ---
// PE 0 hears from all that they have begun and how many contributors there are, and then that they are done. From then
// on nothing is inserted but by clients. Waves follow, in each of which every PE sends what it keeps and counts; two
// waves with the same sums, and as many items delivered as inserted, have seen all. (F. Mattern, "Algorithms for
// distributed termination detection", 1987.) Behind two with the same sums and items that are not delivered the next
// comes after a while: what those wait for may have any priority.

template <class dtype, class RouterType>
void MeshStreamer<dtype, RouterType>::begin(int contributors_here, int contributors, const CkCallback& start,
                                            const CkCallback& end, int priority, bool periodic) {
  if (runs_)
    CkAbort("MeshStreamer::init() on PE %d while a stream runs: begin it when the last one has ended", CkMyPe());
  runs_ = true;
  of_each_pe_ = false;
  contributors_here_ = contributors_here;
  end_ = end;
  priority_ = priority;
  if (periodic) enablePeriodicFlushing();
  if (!start.isInvalid()) this->contribute(start);
  this->thisProxy[0].report(1, contributors, 0);
  if (done_ >= contributors_here_) tell();
}

template <class dtype, class RouterType>
void MeshStreamer<dtype, RouterType>::report(int begun, int contributors, int done) {
  begun_ += begun;
  contributors_ += contributors;
  contributors_done_ += done;
  if (begun_ < CkNumPes() || contributors_done_ < contributors_) return;
  if (contributors_done_ > contributors_)
    CkAbort("MeshStreamer::done() is called by %d contributors: init() was told of %d", contributors_done_,
            contributors_);
  begun_ = contributors_ = contributors_done_ = 0;
  this->thisProxy.settle();
}

template <class dtype, class RouterType>
void MeshStreamer<dtype, RouterType>::counted(CmiInt8 inserted, CmiInt8 delivered) {
  const bool same = inserted == inserted_before_ && delivered == delivered_before_;
  const bool ended = inserted == delivered && same;
  inserted_before_ = inserted;
  delivered_before_ = delivered;
  if (!ended) return same ? settle_later() : settle();
  inserted_before_ = delivered_before_ = -1;
  runs_ = false;
  call_off(timer_);
  if (!end_.isInvalid()) this->contribute(end_);
}

// In a checkpoint all is quiet: what was inserted has been delivered, nothing is kept, and a stream that runs has begun
// on all PEs, of which there may be others when it goes on.
template <class dtype, class RouterType>
void MeshStreamer<dtype, RouterType>::pup(PUP::er& p) {
  p | router_;
  p | kept_max_;
  p | kept_for_one_max_;
  p | yields_;
  p | period_ms_;
  p | priority_;
  p | runs_;
  p | of_each_pe_;
  p | contributors_here_;
  p | done_;
  p | end_;
  p | begun_;
  p | contributors_;
  p | contributors_done_;
  bool periodic = timer_ != nullptr;
  p | periodic;
  if (!p.isUnpacking()) return;
  buffers_.resize(static_cast<std::size_t>(router_.peers()));
  if (begun_ > 0 && begun_ != CkNumPes()) {
    begun_ = CkNumPes();
    if (of_each_pe_) contributors_ = contributors_here_ * CkNumPes();
  }
  if (periodic) arm();
}

#define CK_TEMPLATES_ONLY
#include "NDMeshStreamer.def.h"
#undef CK_TEMPLATES_ONLY
