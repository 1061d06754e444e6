// One program that uses much of what a Charm++ program may: it runs through its chapters in one thread of the
// mainchare, and each must come out right. Ends with CkExit(7), so that the exit status is seen to arrive.
#include <cstdlib>
#include <string>
#include <vector>

#include "charm++.h"
#include "pup_stl.h"

class CMessage_Note;
#include "features.decl.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ int numbers[4];
/*readonly*/ std::vector<std::string> words;
/*readonly*/ CProxy_Element elements;

#define MUST(x) \
  if (!(x)) CkAbort("%s:%d: not so: %s", __FILE__, __LINE__, #x)

// With a constructor of its own: what operator new has set must survive it.
class Note : public CMessage_Note {
 public:
  explicit Note(int its_length) : length(its_length) {}
  int length;
  int* values;
};

namespace {
int ticks = 0;
void tick(void*, double) { ++ticks; }
void count_call(void* param, void* message) {
  ++*static_cast<int*>(param);
  CkFreeMsg(message);
}
}  // namespace

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* args) {
    delete args;
    for (int i = 0; i < 4; ++i) numbers[i] = 10 * i;
    words = {"one", "two"};
    mainProxy = thisProxy;
    elements = CProxy_Element::ckNew(2 * CkNumPes());
    thisProxy.run();
  }
  void plain() { got(); }
  void told(CkReductionMsg* m) {
    value = *static_cast<int*>(m->getData());
    delete m;
    got();
  }
  void given(int total) { MUST(total == ++rounds_given * CkNumNodes()); }
  void sum(int total) {
    value = total;
    got();
  }
  void data(CkDataMsg* m) {
    value = *reinterpret_cast<int*>(m->getData());
    delete m;
    got();
  }
  int twice(int n) { return 2 * n; }

  void run() {
    futures();
    callbacks();
    groups_from_elsewhere();
    inline_calls_to_members();
    node_groups();
    maps();
    timers();
    CkWaitQD();
    CkPrintf("features: all chapters\n");
    CkExit(7);
  }

 private:
  void got() { CkSendToFuture(next, CkAllocSysMsg()); }
  // Runs an action whose callback leads to got(), and waits for that.
  template <class Action>
  void await(Action action) {
    next = CkCreateFuture();
    action();
    CkWaitVoidFuture(next);
    CkReleaseFuture(next);
  }

  void futures() {
    CkFuture f = CkCreateFuture();
    CProxy_Worker worker = CProxy_Worker::ckNew(5, f, CkNumPes() - 1);
    Note* note = static_cast<Note*>(CkWaitFuture(f));
    MUST(note->values[4] == 16);
    delete note;
    CkReleaseFuture(f);
    Note* again = worker.note(3);
    MUST(again->values[2] == 4);
    delete again;
    for (int i = 0; i < 2 * CkNumPes(); ++i) MUST(elements[i].where() >= 0);
  }
  void callbacks() {
    int calls = 0;
    CkCallback function(count_call, &calls);
    function.send(CkAllocSysMsg());
    CkCallback(CkCallback::ignore).send(CkAllocSysMsg());
    await([&] { CkCallback(CkIndex_Main::plain(), thisProxy).send(); });
    MUST(calls == 1);
    int five = 5;
    await([&] { CkCallback(CkIndex_Main::data(nullptr), thisProxy).send(sizeof five, &five); });
    MUST(value == 5);
    await([&] { elements[1].ask(CkCallback(CkReductionTarget(Main, sum), thisProxy)); });
    CkCallback resume(CkCallback::resumeThread);
    elements[0].ask(resume);
    resume.thread_delay();
  }
  void groups_from_elsewhere() {
    await([&] { elements[2 * CkNumPes() - 1].makeFar(); });
    MUST(value == CkNumPes() * (numbers[3] + 2));
  }
  void node_groups() {
    CProxy_Node nodes = CProxy_Node::ckNew(100);
    for (int i = 0; i < 50; ++i) nodes.add(1);
    CkWaitQD();
    await([&] { nodes.ask(CkCallback(CkIndex_Main::told(nullptr), thisProxy)); });
    MUST(value == 150 * CkNumNodes());
    // Each member's contributions are made on any PE of its process, and count in the order in which they are made.
    for (int round = 1; round <= 20; ++round) nodes.give();
    CkWaitQD();
    MUST(rounds_given == 20);
  }
  void inline_calls_to_members() {
    CProxy_Place places = CProxy_Place::ckNew();
    for (int pe = 0; pe < CkNumPes(); ++pe) {
      CkCallback resume(CkCallback::resumeThread);
      places[pe].here(pe, resume);
      resume.thread_delay();
    }
    CProxy_Node nodes = CProxy_Node::ckNew(0);
    for (int node = 0; node < CkNumNodes(); ++node) {
      CkCallback resume(CkCallback::resumeThread);
      nodes[node].here(node, resume);
      resume.thread_delay();
    }
  }
  void maps() {
    CkArrayOptions options(3, 4);
    options.setMap(CProxy_Mirror::ckNew());
    CProxy_Mapped mapped = CProxy_Mapped::ckNew(options);
    await([&] { mapped.report(CkCallback(CkReductionTarget(Main, sum), thisProxy)); });
    MUST(value == 12);
  }
  void timers() {
    for (int ms : {1, 3, 2}) CcdCallFnAfter(tick, nullptr, ms);
    while (ticks < 3) CthYield();
  }

  CkFuture next;
  int value = 0;
  int rounds_given = 0;
};

class Worker : public CBase_Worker {
 public:
  Worker(int n, CkFuture answer) { CkSendToFuture(answer, note(n)); }
  Note* note(int n) {
    Note* message = new (n) Note(n);
    MUST(message->values != nullptr && message->length == n);
    for (int i = 0; i < n; ++i) message->values[i] = i * i;
    return message;
  }
};

class Far : public CBase_Far {
 public:
  Far(CProxy_Element e, int from) : from(from) {
    MUST(words.size() == 2 && words[1] == "two");
    if (CkMyPe() == from) thisProxy.check(CkCallback(CkReductionTarget(Main, sum), mainProxy));
  }
  void check(CkCallback cb) {
    int mine = numbers[3] + static_cast<int>(words.size());
    contribute(sizeof mine, &mine, CkReduction::sum_int, cb);
  }
  int from;
};

class Place : public CBase_Place {
 public:
  Place() {}
  void here(int pe, CkCallback cb) {
    MUST(pe == CkMyPe() && pe == thisIndex);
    cb.send();
  }
};

class Node : public CBase_Node {
 public:
  void give() {
    ++gifts;
    contribute(sizeof gifts, &gifts, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, given), mainProxy));
  }
  void here(int node, CkCallback cb) {
    MUST(node == CkMyNode() && node == thisIndex);
    cb.send();
  }
  explicit Node(int seed) : total(seed) {}
  void add(int n) { total += n; }
  void ask(CkCallback cb) { contribute(sizeof total, &total, CkReduction::sum_int, cb); }
  int total;
  int gifts = 0;
};

class Mirror : public CkArrayMap {
 public:
  Mirror() {}
  int procNum(int, const CkArrayIndex& index) override {
    return (CkNumPes() - 1) - (index.data()[0] + index.data()[1]) % CkNumPes();
  }
};

class Element : public CBase_Element {
 public:
  Element() {}
  explicit Element(CkMigrateMessage*) {}
  void makeFar() { CProxy_Far::ckNew(elements, CkMyPe()); }
  void ask(CkCallback cb) {
    MUST(mainProxy.twice(21) == 42);
    int one = 1;
    cb.send(CkReductionMsg::buildNew(sizeof one, &one, CkReduction::sum_int));
  }
  int where() { return CkMyPe(); }
};

class Mapped : public CBase_Mapped {
 public:
  Mapped() { MUST(CkMyPe() == (CkNumPes() - 1) - (thisIndex.x + thisIndex.y) % CkNumPes()); }
  explicit Mapped(CkMigrateMessage*) {}
  void report(CkCallback cb) {
    int one = 1;
    contribute(sizeof one, &one, CkReduction::sum_int, cb);
  }
};

#include "features.def.h"
