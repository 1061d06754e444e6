// Messages as readonlys, with conditional fields, with an alloc(), with pack() and unpack() of their own; their
// envelopes; futures by number. Each step of Main is one check.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <list>
#include <string>
#include <vector>

#include "charm++.h"

namespace {
std::atomic<int> loads{0};  // of this process

void require(bool right, const char* wrong) {
  if (!right) CkAbort("%s", wrong);
}
}  // namespace

// What a parcel may carry.
class Load : public CkConditional {
 public:
  std::vector<double> weights;
  Load() { ++loads; }
  ~Load() override { --loads; }
  void pup(PUP::er& p) { p | weights; }
};

namespace {
constexpr int circleTurns = 4;
}
#include "messages.decl.h"

CProxy_Main mainProxy;
Rules* rules;
Rules* noRules;

class Rules : public CMessage_Rules {
 public:
  int count;
  int* limits;
};
class Parcel : public CMessage_Parcel {
 public:
  Load* load = nullptr;
  Load* spare = nullptr;
  int* stamps;
  int hops = 0;
};
class Pooled : public CMessage_Pooled {
 public:
  int room;  // how many numbers there are
  int* numbers() { return reinterpret_cast<int*>(this + 1); }
  static void* alloc(int type, std::size_t size, int* sizes, int priority, GroupDepNum groups = GroupDepNum{}) {
    auto* message = static_cast<Pooled*>(CMessage_Pooled::alloc(
        type, size + sizeof(int) * static_cast<std::size_t>(sizes[0]), nullptr, priority, groups));
    message->room = sizes[0];
    return message;
  }
};
class Record : public CMessage_Record {
 public:
  int count;
  int* values;
};
// What points into it lies on a page of its own.
class Wide : public CMessage_Wide {
 public:
  static constexpr std::size_t page = 4096;
  char before[page];
  int* values;
  char behind[page];
};
// What it owns is on no other process, also of this host.
class Chain : public CMessage_Chain {
 public:
  std::vector<int>* links;
  CkCallback answer;
  Chain(int count, const CkCallback& to)
      : links(new std::vector<int>(static_cast<std::size_t>(count), 7)), answer(to) {}
  ~Chain() { delete links; }
  bool holds() const { return links->size() > 2 && links->front() == 7 && links->back() == 7; }
  void pup(PUP::er& p) {
    p | *links;
    p | answer;
  }
  static void* pack(Chain* chain) {
    PUP::sizer size;
    size | *chain;
    void* bytes = CkAllocBuffer(chain, static_cast<int>(size.size()));
    PUP::toMem to(bytes);
    to | *chain;
    delete chain;
    return bytes;
  }
  static Chain* unpack(void* bytes) {
    Chain* chain = new (CkAllocBuffer(bytes, sizeof(Chain))) Chain(0, CkCallback());
    PUP::fromMem from(bytes);
    from | *chain;
    CkFreeMsg(bytes);
    return chain;
  }
};
// What it owns points back at it: its bytes cannot be moved.
class Rope : public CMessage_Rope {
 public:
  std::list<int> strands;
  explicit Rope(int count) : strands(static_cast<std::size_t>(count), 7) {}
  bool holds() const { return strands.size() == 5 && std::next(strands.begin(), 5) == strands.end(); }
  static void* pack(Rope* rope) {
    auto* const count = static_cast<int*>(CkAllocBuffer(rope, sizeof(int)));
    *count = static_cast<int>(rope->strands.size());
    delete rope;
    return count;
  }
  static Rope* unpack(void* bytes) {
    Rope* const rope = new (CkAllocBuffer(bytes, sizeof(Rope))) Rope(*static_cast<int*>(bytes));
    CkFreeMsg(bytes);
    return rope;
  }
};

namespace {
constexpr int hops = 7;
constexpr int stamps = 3;

Record* record(int count, int priority_bits = 0) {
  auto* message = new (count, priority_bits) Record;
  message->count = count;
  for (int i = 0; i < count; ++i) message->values[i] = i;
  return message;
}
bool isWhole(const Record* message) {
  const char* const begin = reinterpret_cast<const char*>(message);
  const char* const values = reinterpret_cast<const char*>(message->values);
  if (values < begin || values > begin + CkGetMsgSize(const_cast<Record*>(message))) return false;
  for (int i = 0; i < message->count; ++i)
    if (message->values[i] != i) return false;
  return true;
}
// Sends a message that its sender holds too, and goes on to write to.
template <class Send>
void sendHeld(Send send) {
  Record* message = record(400);
  CkReferenceMsg(message);
  send(message);
  require(isWhole(message), "a message changes for a second holder where it is sent");
  std::fill_n(message->values, message->count, -1);
  CkFreeMsg(message);
}
}  // namespace

class Main : public CBase_Main {
  CProxy_Posts posts_;
  int step_ = 0, expected_ = 0;
  std::size_t size_ = 0;
  Load* kept_ = nullptr;

 public:
  Main(CkArgMsg* m) {
    delete m;
    mainProxy = thisProxy;
    rules = new (2) Rules;
    rules->count = 2;
    rules->limits[0] = 10;
    rules->limits[1] = 20;
    posts_ = CProxy_Posts::ckNew();
    thisProxy.step();
  }

  void step() {
    switch (step_++) {
      case 0:
        expected_ = CkNumPes();
        return posts_.rulesHold();
      case 1: {  // from PE to PE, packed and unpacked on the way; the message does not grow
        Parcel* parcel = parcelOf(stamps);
        size_ = CkGetMsgSize(parcel);
        parcel->load = new Load;
        parcel->load->weights = {1.5, 2.5};
        kept_ = parcel->load;
        kept_->copyreference();
        return posts_[CkNumPes() - 1].pass(parcel);
      }
      case 2: {  // to all of them
        expected_ = CkNumPes();
        Parcel* parcel = parcelOf(0);
        parcel->spare = new Load;
        parcel->spare->weights.assign(500, 0.25);
        return posts_.all(parcel);
      }
      case 3: {  // as parameters, one of them null; the program's own share stays
        require(CkNumPes() > 1 || loads == 0, "loads are left behind in parcels");
        expected_ = CkNumPes() + 2;
        kept_ = new Load;
        kept_->weights.assign(300, 0.5);
        require(posts_[CkMyPe()].weighs(kept_, 300) && kept_->weights.size() == 300, "a [local] call takes a share");
        kept_->copyreference();
        Load* unloaded = new Load;
        unloaded->weights.assign(3, 1);
        posts_[CkNumPes() - 1].unload(unloaded);
        Load* here = new Load;
        here->weights.assign(4, 1);
        posts_[CkMyPe()].unloadHere(here);
        return posts_.weigh(kept_, 300, nullptr);
      }
      case 4: {  // `new` as it is written; the arguments of alloc() are those of new
        int room = 5;
        Pooled* pooled = new (&room) Pooled;
        for (int i = 0; i < pooled->room; ++i) pooled->numbers()[i] = i * i;
        require(kept_->weights.size() == 300, "a load that the program keeps has gone with a call");
        kept_->deallocate();
        require(CkNumPes() > 1 || loads == 0, "loads are left behind by a call");
        return posts_[CkNumPes() - 1].pooled(pooled);
      }
      case 5:
        envelopes();
        return shared();
      case 6:
        return thisProxy.futures();
      case 7:
        return chains();
      case 8:
        return thisProxy.holders();
      case 9:
        return thisProxy.bodies();
      case 10:
        return thisProxy.ownersHold();
      case 11:  // what was made twice tells twice
        return CkStartQD(CkCallback(CkIndex_Main::step(), thisProxy));
      default:
        require(expected_ == 0, "something was made more often than it was asked for");
        CkPrintf("all checks passed\n");
        CkExit();
    }
  }
  void told(bool right) {
    require(right, "a member found something else than was sent");
    if (--expected_ == 0) thisProxy.step();
  }

  static Parcel* parcelOf(int count) {
    auto* parcel = new (count) Parcel;
    for (int i = 0; i < count; ++i) parcel->stamps[i] = i;
    return parcel;
  }
  void home(Parcel* parcel) {
    require(parcel->hops == hops && parcel->load->weights == std::vector<double>{1.5, 2.5} && !parcel->spare,
            "a parcel has lost its load");
    require(CkGetMsgSize(parcel) == size_, "a parcel grows on its way");
    for (int i = 0; i < stamps; ++i) require(parcel->stamps[i] == i, "a parcel has lost its stamps");
    delete parcel;
    require(kept_->weights.size() == 2, "a load that the program keeps has gone with its message");
    kept_->deallocate();
    kept_ = nullptr;
    require(loads == 0, "loads are left behind");
    thisProxy.step();
  }
  void pooled(Pooled* pooled) {
    require(pooled->room == 5 && pooled->numbers()[4] == 16, "a message that allocates itself has changed");
    delete pooled;
    thisProxy.step();
  }

  void holders();
  void ownersHold();
  void bodies();
  static void recordCame(void* main, void* message);
  void chains();
  static void chainCame(void* main, void* message);
  void chain(Chain* chain);

  // What a program may ask of an envelope, and change in it.
  void envelopes() {
    Record* message = record(6, 64);
    envelope* e = UsrToEnv(message);
    require(EnvToUsr(e) == message, "an envelope leads to another message");
    require(e->getPriobits() == 64 && e->getPrioWords() == 2 && e->getPrioBytes() == 8, "the length of a priority");
    require(e->getPrioPtr() == CkPriorityPtr(message), "the place of a priority");
    require(e->getMsgIdx() == CMessage_Record::__idx && !e->isPacked(), "the class of a message");
    e->setQueueing(CK_QUEUEING_BFIFO);
    require(e->getQueueing() == CK_QUEUEING_BFIFO, "how a message is queued");
    e->setRef(77);
    require(CkGetRefNum(message) == 77, "the reference number of an envelope");
    static_cast<unsigned*>(e->getPrioPtr())[0] = 11;
    static_cast<unsigned*>(e->getPrioPtr())[1] = 12;
    const std::size_t size = e->getUsersize();
    e->shrinkUsersize(2 * sizeof(int));
    require(e->getUsersize() == size - 2 * sizeof(int), "a message that was cut has another size");
    require(static_cast<unsigned*>(e->getPrioPtr())[0] == 11 && static_cast<unsigned*>(e->getPrioPtr())[1] == 12,
            "a message that was cut has lost its priority");
    require(message->values[3] == 3, "a message that was cut has lost more than its end");
    CkPackMessage(&e);
    require(e->isPacked(), "a message is not packed");
    CkUnpackMessage(&e);
    message = static_cast<Record*>(EnvToUsr(e));
    require(!e->isPacked() && message->values[3] == 3, "a message is not unpacked");
    delete message;
    auto* waits = new (4, 32, GroupDepNum(2)) Record;
    waits->values[0] = 9;
    envelope* w = UsrToEnv(waits);
    w->setGroupDep(posts_.ckGetGroupID(), 1);
    const std::size_t whole = w->getUsersize();
    w->setUsersize(whole - 4);
    require(w->getUsersize() == whole - 4 && w->getGroupDepNum() == 2 && w->getGroupDep(1) == posts_.ckGetGroupID(),
            "a message that was cut has lost its groups");
    delete waits;
    const double numbers[] = {1, 2};
    CkReductionMsg* sum =
        CkReductionMsg::unpack(CkReductionMsg::pack(CkReductionMsg::buildNew(sizeof numbers, numbers)));
    require(sum->getSize() == sizeof numbers && static_cast<double*>(sum->getData())[1] == 2, "a packed reduction");
    delete sum;
  }

  // One message, referred to by its sender too: the receiver may not have it for itself.
  void shared() {
    Record* message = record(400);
    CkReferenceMsg(message);
    expected_ = 1;
    posts_[CkMyPe()].read(message);
    require(message->values[399] == 399, "a message that is referred to has gone");
    CkFreeMsg(message);
  }

  void futures() {
    const CkFutureID id = CkCreateFuture().id;
    posts_[CkNumPes() - 1].answer(id, CkMyPe());
    Record* answer = static_cast<Record*>(CkWaitReleaseFuture(id));
    require(answer->count == 5 && answer->values[4] == 4, "an answer to the number of a future");
    delete answer;
    // The call that a future is attached to answers by it.
    Record* question = record(8);
    const CkFutureID attached = CkCreateAttachedFuture(question);
    CkSendMsgBranch(CkIndex_Posts::half(nullptr), question, CkNumPes() - 1, posts_.ckGetGroupID());
    answer = static_cast<Record*>(CkWaitFuture(attached));
    require(CkProbeFutureID(attached) && answer->count == 4, "the answer to a call with a future");
    CkReleaseFutureID(attached);
    delete answer;
    // Of several: the first that is set, then all.
    const std::vector<CkFutureID> ids = {CkCreateFuture().id, CkCreateFuture().id, CkCreateFuture().id};
    posts_[CkNumPes() - 1].answer(ids[1], CkMyPe());
    const std::pair<void*, CkFutureID> first = CkWaitAnyID(ids);
    require(first.second == ids[1] && static_cast<Record*>(first.first)->count == 5, "the first of several futures");
    posts_[CkMyPe()].answer(ids[2], CkMyPe());
    posts_[0].answer(ids[0], CkMyPe());
    const std::vector<void*> all = CkWaitAllIDs(ids);
    require(all.size() == 3 && all[1] == first.first, "several futures");
    for (void* one : all) require(static_cast<Record*>(one)->count == 5, "one of several futures");
    for (const CkFutureID one : ids) CkReleaseFutureID(one);
    for (void* one : all) delete static_cast<Record*>(one);
    // Semaphores: a thread of its own for each message, or all for one thread.
    const CkSemaID signals = CkSemaCreate();
    void* records_of_three[3];
    for (int pe = 0; pe < CkNumPes(); ++pe) posts_[pe].signal(signals);
    std::vector<void*> records(static_cast<std::size_t>(CkNumPes()));
    CkSemaWaitN(signals, CkNumPes(), records.data());
    std::vector<bool> seen(records.size());
    for (void* one : records) {
      Record* signalled = static_cast<Record*>(one);
      require(signalled->count == 4 && signalled->values[3] == 3, "a message of a semaphore");
      seen[static_cast<std::size_t>(signalled->values[0])] = true;
      delete signalled;
    }
    require(std::find(seen.begin(), seen.end(), false) == seen.end(), "the messages of a semaphore");
    // A thread that waits for three holds up none that waits for one.
    posts_[CkMyPe()].take(signals, 3);
    for (int i = 0; i < 4; ++i) posts_[CkMyPe()].take(signals, 1);
    posts_[CkMyPe()].signal(signals);
    posts_[CkMyPe()].signal(signals);
    posts_[CkMyPe()].signal(signals);
    CkWaitQD();
    CkSemaWaitN(signals, 3, records_of_three);
    for (void* one : records_of_three) delete static_cast<Record*>(one);
    CkSemaSignal(signals, record(3));
    CkSemaSignal(signals, record(2));
    Record* third = static_cast<Record*>(CkSemaWait(signals));
    require(third->count == 3, "the order of signals");
    delete third;
    CkSemaDestroy(signals);  // with a message
    // What options and names of the oldest programs say.
    CkArrayOptions options(3);
    options.setLocationCache(posts_).setMcastManager(posts_).setSectionAutoDelegate(false);
    require(!options.isSectionAutoDelegated() && CkPriobitsToInts(33) == 2, "options and priorities");
    CkNetworkProgress();
    CkNetworkProgressAfter(3);
    thisProxy.step();
  }
};

// A message that its sender holds once more, to whatever can be sent one.
void Main::holders() {
  const int pes = CkNumPes();
  CProxy_Shelf shelves = CProxy_Shelf::ckNew(2 * pes);
  expected_ = 4 * pes + pes + CkMyNodeSize() + 2 * pes + 2 * pes + 1 + 2;
  for (int pe = 0; pe < pes; ++pe) {
    sendHeld([&](Record* message) { posts_[pe].keep(message); });
    sendHeld([&](Record* message) { shelves[pe].keep(message); });
    sendHeld([&](Record* message) { CProxy_Keeper::ckNew(message, pe); });
    sendHeld(
        [&](Record* message) { CkSendMsgBranch(CkIndex_Posts::keep(nullptr), message, pe, posts_.ckGetGroupID()); });
  }
  sendHeld([&](Record* message) { posts_.keep(message); });
  sendHeld([&](Record* message) { CkBroadcastWithinNode(CkIndex_Posts::keep(nullptr), message, posts_); });
  sendHeld([&](Record* message) { shelves.keep(message); });
  CkCallback answer(recordCame, this);
  posts_.give(answer);
  answer.setRefNum(5);  // of what is sent: the one that the program holds keeps its own
  posts_.give(answer);
  for (int pe = 0; pe < pes; ++pe) {
    const CkFutureID id = CkCreateFuture().id;
    posts_[pe].giveFuture(id, CkMyPe());
    Record* message = static_cast<Record*>(CkWaitReleaseFuture(id));
    require(isWhole(message), "a future's message changes for a second holder");
    delete message;
  }
  CkWaitQD();
  sendHeld([&](Record* message) { shelves[2 * pes].insert(message, pes - 1); });
  shelves[2 * pes + 1].insert(record(300), CkMyPe());
  CkArrayOptions mapped(1);
  mapped.setMap(CProxy_Places::ckNew());
  CProxy_Shelf::ckNew(record(200), mapped);
}
namespace {
// Whether the page with the pointer of a message may be written to.
void protect(Wide* message, bool writable) {
  const auto page = reinterpret_cast<std::uintptr_t>(&message->values) / Wide::page * Wide::page;
  require(mprotect(reinterpret_cast<void*>(page), Wide::page, writable ? PROT_READ | PROT_WRITE : PROT_READ) == 0,
          "a page cannot be protected");
}
bool isWhole(const Wide* message) {
  const char* const values = reinterpret_cast<const char*>(message->values);
  return values >= reinterpret_cast<const char*>(message + 1) &&
         values < reinterpret_cast<const char*>(message + 1) + 64 && message->values[0] == 11 &&
         message->values[1] == 12;
}
}  // namespace
// Copies of what others may be reading are made without a write to it. And of a message that packs what it owns: each
// holder has one that it may delete.
void Main::ownersHold() {
  const int pes = CkNumPes();
  CProxy_Vault vaults = CProxy_Vault::ckNew(3);
  expected_ = 2 * pes + 2 * pes + 2 * pes + 2 + 3 + 2 + pes + 1;
  for (int pe = 0; pe < pes; ++pe) {
    Wide* message = new (2) Wide;
    message->values[0] = 11;
    message->values[1] = 12;
    protect(message, false);
    posts_[pe].keepWide(static_cast<Wide*>(CkCopyMsg(reinterpret_cast<void**>(&message))));
    CkReferenceMsg(message);
    posts_[pe].keepWide(message);
    protect(message, true);
    require(isWhole(message), "a message that was copied has changed");
    delete message;
  }
  std::vector<Chain*> chains;
  const auto held = [&chains](int links, const CkCallback& answer) {
    chains.push_back(new Chain(links, answer));
    return static_cast<Chain*>(CkReferenceMsg(chains.back()));
  };
  const CkCallback answer(chainCame, this);
  for (int pe = 0; pe < pes; ++pe) {
    posts_[pe].keepChain(held(3, CkCallback()));
    posts_[pe].keepChain(held(300, CkCallback()));
    CProxy_Smith::ckNew(held(300, answer), pe);
  }
  CProxy_Guild::ckNew(held(300, answer));
  Chain* const twice = held(3, CkCallback());  // the first may wait in the queue of this PE when the second is sent
  vaults[0].keep(twice);
  CkReferenceMsg(twice);
  vaults[1].keep(twice);
  vaults.keep(held(3, CkCallback()));
  CProxySection_Vault(CProxySection_Vault::ckNew(vaults.ckGetArrayID(), 0, 1, 1)).keep(held(3, CkCallback()));
  Rope* const rope = new Rope(5);
  for (int pe = 0; pe < pes; ++pe) {
    CkReferenceMsg(rope);
    posts_[pe].keepRope(rope);
  }
  require(rope->holds(), "a message whose parts point at it is moved when it is sent");
  delete rope;
  CkWaitQD();
  for (Chain* chain : chains) {
    require(chain->holds(), "a message that packs itself has ended for its other holder");
    delete chain;
  }
  told(true);
}
void Main::recordCame(void* main, void* message) {
  Record* const came = static_cast<Record*>(message);
  const bool right = isWhole(came);
  delete came;
  static_cast<Main*>(main)->told(right);
}
class Keeper : public CBase_Keeper {
 public:
  explicit Keeper(Record* message) {
    mainProxy.told(isWhole(message));
    delete message;
  }
};
class Shelf : public CBase_Shelf {
 public:
  Shelf() = default;
  explicit Shelf(Record* message) { keep(message); }
  explicit Shelf(CkMigrateMessage*) {}
  void keep(Record* message) {
    mainProxy.told(isWhole(message));
    delete message;
  }
};

// Makes an object with the message, and sends that back: to a function of this PE.
void Main::chains() {
  const int pes = CkNumPes();
  const CkCallback answer(chainCame, this);
  expected_ = 2 * pes + CkNumNodes() + pes + 1 + 2 * pes;
  CProxy_Forge forge = CProxy_Forge::ckNew();
  for (int pe = 0; pe < pes; ++pe) {  // some fit into a line, packed
    CProxy_Smith::ckNew(new Chain(3, answer), pe);
    forge[pe].insert(new Chain(300, answer), pe);
  }
  CProxy_Guild::ckNew(new Chain(300, answer));
  CProxy_Hall::ckNew(new Chain(300, answer));
  CProxy_Relay::ckNew(new Chain(300, answer));
  CProxy_Anvil::ckNew(new Chain(300, answer), pes);
  CProxy_Smith::ckNew(new Chain(300, answer), pes - 1);
}
void Main::chainCame(void* main, void* message) { static_cast<Main*>(main)->chain(static_cast<Chain*>(message)); }
void Main::chain(Chain* chain) {
  const bool right = chain->holds();
  delete chain;
  told(right);
}
namespace {
void passBack(Chain* chain) {
  require(chain->holds(), "what a message owns is lost where an object is made with it");
  const CkCallback answer = chain->answer;
  answer.send(chain);
}
}  // namespace
class Smith : public CBase_Smith {
 public:
  explicit Smith(Chain* chain) { passBack(chain); }
};
class Forge : public CBase_Forge {
 public:
  explicit Forge(Chain* chain) { passBack(chain); }
  explicit Forge(CkMigrateMessage*) {}
};
class Guild : public CBase_Guild {
 public:
  explicit Guild(Chain* chain) { passBack(chain); }
};
class Hall : public CBase_Hall {
 public:
  explicit Hall(Chain* chain) { passBack(chain); }
};
// What came to all goes on to one.
class Relay : public CBase_Relay {
 public:
  explicit Relay(Chain* chain) { CProxy_Smith::ckNew(chain, (CkMyPe() + 1) % CkNumPes()); }
};
class Anvil : public CBase_Anvil {
 public:
  explicit Anvil(Chain* chain) {
    require(chain->holds(), "what a message owns is lost where a constructor does not keep it");
    chain->answer.send(new Chain(3, chain->answer));
  }
  explicit Anvil(CkMigrateMessage*) {}
};

class Vault : public CBase_Vault {
 public:
  Vault() = default;
  explicit Vault(CkMigrateMessage*) {}
  void keep(Chain* chain) {
    const bool right = chain->holds();
    delete chain;
    mainProxy.told(right);
  }
};

class Places : public CBase_Places {
 public:
  Places() = default;
};
class Circle : public CBase_Circle {
  Circle_SDAG_CODE int turn;
  Record* last_ = nullptr;

 public:
  Circle() {
    thisProxy[CkMyPe()].run();
    thisProxy[CkMyPe()].note(record(100));
    looked_ = new Chain(300, CkCallback());
    CkReferenceMsg(looked_);
    thisProxy[CkMyPe()].look(looked_);
  }
  // A body may send what it has got, and it goes itself; but not what the program holds once more.
  void passOn(Record* message) {
    const bool is_copy = turn == circleTurns - 1;
    require(isWhole(message), "a message that a body has sent on has changed");
    require(turn == 0 || (message == last_) != is_copy, "a message that a body has sent on is copied, or is not");
    if (is_copy) {
      require(isWhole(last_), "a message that a body has sent changes for a second holder");
      CkFreeMsg(last_);
      CkFreeMsg(message);
      return mainProxy.told(true);
    }
    last_ = message;
    if (turn == circleTurns - 2) CkReferenceMsg(message);
    thisProxy[CkMyPe()].note(message);
  }
  // What packs what it owns goes as a copy too, as it is addressed on its way.
  void look(Chain* chain) {
    const bool right = chain != looked_ && chain->holds() && looked_->holds();
    delete chain->links;  // the runtime frees the message alone
    delete looked_;
    mainProxy.told(right);
  }

 private:
  Chain* looked_ = nullptr;
};
// Sends on to many what its body has got: they get pointers into what comes to them.
class Crier : public CBase_Crier {
  Crier_SDAG_CODE CProxy_Shelf shelves_;

 public:
  explicit Crier(CProxy_Shelf shelves) : shelves_(shelves) { thisProxy.run(); }
};
void Main::bodies() {
  expected_ = 2 * CkNumPes() + 3 + 2;
  CProxy_Circle::ckNew();
  CProxy_Crier crier = CProxy_Crier::ckNew(CProxy_Shelf::ckNew(3));
  crier.cry(record(100));
  crier.tell(record(100));
}

class Posts : public CBase_Posts {
  Posts_SDAG_CODE

      public : Posts() = default;
  void rulesHold() {
    mainProxy.told(rules && rules->count == 2 && rules->limits[0] == 10 && rules->limits[1] == 20 && !noRules);
  }
  void pass(Parcel* parcel) {
    if (++parcel->hops == hops) return mainProxy.home(parcel);
    thisProxy[(CkMyPe() + 1) % CkNumPes()].pass(parcel);
  }
  void weigh(Load* load, int count, Load* none) {
    mainProxy.told(load && load->weights == std::vector<double>(static_cast<std::size_t>(count), 0.5) && !none);
  }
  bool weighs(Load* load, int count) {
    require(CkIndex_Posts::idx_weigh(&Posts::weigh) == CkIndex_Posts::weigh(nullptr, 0, nullptr),
            "an entry with conditional parameters is not found by its method");
    return load->weights.size() == static_cast<std::size_t>(count);
  }
  void all(Parcel* parcel) {
    const bool right =
        !parcel->load && parcel->spare && parcel->spare->weights.size() == 500 && parcel->spare->weights[499] == 0.25;
    delete parcel;
    mainProxy.told(right);
  }
  void pooled(Pooled* message) { mainProxy.pooled(message); }
  void read(Record* message) { mainProxy.told(message->count == 400 && message->values[200] == 200); }
  void keep(Record* message) {
    mainProxy.told(isWhole(message));
    delete message;
  }
  void keepWide(Wide* message) {
    mainProxy.told(isWhole(message));
    delete message;
  }
  void keepChain(Chain* chain) {
    const bool right = chain->holds();
    delete chain;
    mainProxy.told(right);
  }
  void keepRope(Rope* rope) {
    const bool right = rope->holds();
    delete rope;
    mainProxy.told(right);
  }
  void give(const CkCallback& answer) {
    Record* message = record(400);
    CkReferenceMsg(message);
    answer.send(message);
    require(isWhole(message) && CkGetRefNum(message) == 0,
            "a message changes for a second holder where a callback sends it");
    CkFreeMsg(message);
  }
  void giveFuture(CkFutureID future, int pe) {
    Record* message = record(400);
    CkReferenceMsg(message);
    CkSendToFutureID(future, message, pe);
    require(isWhole(message), "a message changes for a second holder where a future gets it");
    CkFreeMsg(message);
  }
  void answer(CkFutureID future, int pe) { CkSendToFutureID(future, record(5), pe); }
  void signal(CkSemaID semaphore) {
    Record* message = record(4);
    message->values[0] = CkMyPe();
    CkSemaSignal(semaphore, message);
  }
  // Gives back what it took.
  void take(CkSemaID semaphore, int count) {
    std::vector<void*> messages(static_cast<std::size_t>(count));
    CkSemaWaitN(semaphore, count, messages.data());
    for (void* message : messages) CkSemaSignal(semaphore, message);
  }
  Record* half(Record* message) {
    Record* answer = record(message->count / 2);
    delete message;
    return answer;
  }
};

#include "messages.def.h"
