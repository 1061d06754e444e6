// A program that makes the mistake its first argument names, on the PE that holds element 2 of an array. The test
// (bad_input_test.py) looks at how it ends.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bad.decl.h"
#include "charm++.h"
#include "pup_stl.h"
#include "runtime/scheduler/pe.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Victim victims;
/*readonly*/ CProxy_Victim never;
/*readonly*/ CProxy_Branch neverGroup;

// What no PE sends goes to one of another host.
void forge(const std::string& mistake) {
  periapt::host::Port& port = periapt::Pe::current()->port;
  const int to = (CkMyPe() + 2) % CkNumPes();
  const auto send_line = [&](std::uint64_t meta) {
    const std::uint64_t line[] = {meta, 0};
    port.far()->send_line(port, to, line, sizeof line);
  };
  if (mistake == "forged address") send_line(periapt::message_meta);
  if (mistake == "forged length") send_line(periapt::call_meta(1, 0, 48));
  if (mistake == "forged root") {
    periapt::Message message = periapt::Message::make(0);
    message->target = periapt::Target::group;
    message->flags = periapt::envelope_tree;
    message->source = 1 << 20;
    port.far()->send(port, to, periapt::message_meta, message.release());
  }
}

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* args) {
    const std::string mistake = args->argc > 1 ? args->argv[1] : "";
    delete args;
    mainProxy = thisProxy;
    victims = CProxy_Victim::ckNew(4);
    if (mistake == "wait outside of a thread") {
      CkWaitFuture(CkCreateFuture());
    } else if (mistake == "wait for one of several outside of a thread") {
      std::vector<ck::future<int>> futures(2);
      ck::wait_any(futures.begin(), futures.end());
    } else if (mistake == "wait for ever") {
      thisProxy.waits();
    } else if (mistake.rfind("body ", 0) == 0) {
      CProxy_Waiter(CProxy_Waiter::ckNew(4))[2].run(mistake);
    } else {
      victims[2].act(mistake);
    }
  }
  void waits() { CkWaitFuture(CkCreateFuture()); }
  void done() { CkExit(0); }
  void valued(int) { CkExit(0); }
  void unpacking(int value) {
    const std::int16_t two_bytes = 7;
    PUP::fromMem p(&two_bytes, sizeof two_bytes);
    p | value;
  }
};

// Its unpack() makes more than there was.
class Swollen : public CMessage_Swollen {
 public:
  static void* pack(Swollen* swollen) {
    void* const bytes = CkAllocBuffer(swollen, 8);
    delete swollen;
    return bytes;
  }
  static Swollen* unpack(void* bytes) {
    auto* const swollen = new (CkAllocBuffer(bytes, 1000)) Swollen;
    CkFreeMsg(bytes);
    return swollen;
  }
};

class Branch : public CBase_Branch {
 public:
  Branch() {}
  int near() { return CkMyPe(); }
  void hello() {}
};

class Single : public CBase_Single {
 public:
  Single() {}
  void hello() { delete this; }
  void ponder() { CkWaitFuture(CkCreateFuture()); }
};

class Heir : public CBase_Heir {
 public:
  explicit Heir(int) {}
  explicit Heir(CkMigrateMessage*) {}
  void inherit() {}
};

class Victim : public CBase_Victim {
 public:
  Victim() {}
  explicit Victim(CkMigrateMessage*) {}
  void hello(int) {}
  void swallow(Swollen* swollen) { delete swollen; }
  template <class T>
  void any(T) {}
  void list(std::vector<int>) {}
  void pup(PUP::er& p) {
    // The mistake "pup": more is unpacked than was packed.
    std::vector<int> values(p.isUnpacking() ? 0 : 3);
    p | values;
    int more = 1000000;
    if (p.isUnpacking()) PUParray(p, std::vector<int>(more).data(), more);
  }
  void ponder() { CkWaitFuture(CkCreateFuture()); }
  void perish() { ckDestroy(); }
  void nothing() { contribute(CkCallback(CkReductionTarget(Main, valued), mainProxy)); }
  void something() {
    const int value = 1;
    contribute(sizeof value, &value, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, unpacking), mainProxy));
  }
  void tuple() {
    int value = 1;
    CkReduction::tupleElement parts[] = {{sizeof value, &value, CkReduction::sum_int}};
    CkReductionMsg* message = CkReductionMsg::buildFromTuple(parts, 1);
    message->setCallback(CkCallback(CkReductionTarget(Main, valued), mainProxy));
    contribute(message);
  }
  void mixed() {
    double value = 1;
    int number = 1;
    CkCallback cb(CkReductionTarget(Main, done), mainProxy);
    if (thisIndex % 2)
      contribute(sizeof value, &value, CkReduction::sum_double, cb);
    else
      contribute(sizeof number, &number, CkReduction::max_int, cb);
  }
  void grasp(int* x, int n, std::string mistake, CkNcpyBufferPost* post) {
    static int room[16];
    if (mistake == "zero copy post to no index") CkMatchBuffer(post, 1, 5);
    if (mistake == "zero copy post matched twice") CkMatchBuffer(post, 0, 5);
    if (mistake != "zero copy post of nothing") CkMatchBuffer(post, 0, 5);
    if (mistake == "zero copy posted twice") {
      CkPostBuffer(room, n, 6);
      CkPostBuffer(room, n, 6);
    }
  }
  void grasp(int*, int, std::string) {}
  __attribute__((noinline)) int recurse(int n) {
    volatile char room[4096];
    room[n % 4096] = static_cast<char>(n);
    return recurse(n + 1) + room[n % 4096];
  }
  void deep() { CkExit(recurse(0) & 1); }
  // Around all elements, and so through all processes, while every one prints.
  void talk(int left) {
    CkPrintf("element %d has heard it, %d to go, and says so at some length\n", thisIndex, left);
    if (left == 0) CkExit(3);
    thisProxy[(thisIndex + 1) % 4].talk(left - 1);
  }
  void act(std::string mistake) {
    if (mistake == "abort") CkAbort("the sky is falling at %d", thisIndex);
    if (mistake == "exception") throw std::runtime_error("no such file: galaxy.tipsy");
    if (mistake == "strange exception") throw 42;
    if (mistake == "segfault") *reinterpret_cast<volatile int*>(static_cast<std::uintptr_t>(thisIndex - 2)) = 1;
    if (mistake == "stack overflow") CkExit(recurse(0) & 1);
    if (mistake == "libc abort") std::abort();
    while (mistake == "entry without end") ::usleep(1000);
    if (mistake == "thread overflow") thisProxy[thisIndex].deep();
    if (mistake == "talk") thisProxy[thisIndex].talk(400);
    if (mistake == "exit") std::exit(0);
    if (mistake == "exit 7") std::exit(7);
    if (mistake == "_exit") ::_exit(0);
    if (mistake == "quick exit") std::quick_exit(0);
    if (mistake == "quick exit 3") std::quick_exit(3);
    if (mistake == "_Exit 4") std::_Exit(4);
    // Not seen in the process itself.
    if (mistake == "system call 5") ::syscall(SYS_exit_group, 5);
    if (mistake == "exit of a child") {
      const pid_t child = ::fork();
      if (child == 0) ::_exit(0);
      ::waitpid(child, nullptr, 0);
      CkExit(3);
    }
    if (mistake == "exit of another thread") std::thread([] { std::exit(0); }).join();
    if (mistake == "no such element") thisProxy[77].hello(thisIndex);
    if (mistake == "check of a proxy of an array") never[0].ckCheck();
    if (mistake == "check of a proxy of a group") neverGroup.ckCheck();
    if (mistake == "check of a proxy of a chare") CProxy_Single().ckCheck();
    if (mistake == "proxy of an array") never[0].hello(1);
    if (mistake == "proxy of a group") neverGroup.hello();
    if (mistake == "message for a local entry")
      CkSendMsgBranch(CkIndex_Branch::ep_near_void, CkAllocSysMsg(), CkMyPe(), CProxy_Branch::ckNew());
    if (mistake == "proxy of a chare") CProxy_Single().hello();
    if (mistake == "chare on no PE") {
      CkChareID id;
      id.onPE = CkNumPes() + 2;
      CProxy_Single(id).hello();
    }
    if (mistake == "instance of a template entry") thisProxy[2].any(1.5);
    if (mistake == "number of a message") CkSetRefNum(CkDataMsg::buildNew(4, "four"), 1L << 32);
    if (mistake == "message that grows") thisProxy[2].swallow(static_cast<Swollen*>(CkReferenceMsg(new Swollen)));
    if (mistake == "number of a callback") CkCallback(CkCallback::ckExit).setRefNum(-(1L << 32));
    if (mistake == "element that needs arguments") CProxy_Heir(CProxy_Heir::ckNew())[3].inherit();
    if (mistake == "map of another dimension") {
      CkArrayOptions options(2, 2);
      CProxy_Heir::ckNew(options.setMap(CProxy_Simple1DFileMap::ckNew()));
    }
    if (mistake == "idle entry") CkCallWhenIdle(CkIndex_Victim::hello(0), this);
    if (mistake == "double insertion") {
      thisProxy[50].insert(CkMyPe());
      thisProxy[50].insert(CkMyPe());
    }
    if (mistake == "double insertion elsewhere") {
      thisProxy[50].insert(0);
      thisProxy[50].insert(CkNumPes() - 1);
    }
    if (mistake == "reducers") thisProxy.mixed();
    if (mistake == "tuple for a value") thisProxy.tuple();
    if (mistake == "nothing for a value") thisProxy.nothing();
    if (mistake == "pup of a value") thisProxy.something();
    if (mistake == "pup") thisProxy[thisIndex].ckEmigrate((CkMyPe() + 1) % CkNumPes());
    if (mistake == "bad PE") thisProxy[60].insert(CkNumPes() + 3);
    if (mistake == "migrate nowhere") migrateMe(-5);
    if (mistake == "section of nobody") CProxySection_Victim().hello(1);
    if (mistake == "delegated to nobody") {
      CProxy_Victim delegated = thisProxy;
      delegated.ckDelegate(CkGroupID{999});
      delegated[1].hello(1);
    }
    if (mistake == "section cookie of nobody") {
      CkSectionInfo none;
      CProxySection_Victim::contribute(none, CkCallback(CkReductionTarget(Main, done), mainProxy));
    }
    if (mistake == "section message of another kind") {
      CkSectionInfo cookie;
      void* message = CkDataMsg::buildNew(4, "four");
      CkGetSectionInfo(cookie, message);
    }
    if (mistake == "section with one that does not exist" || mistake == "section reduction without one" ||
        mistake == "section contributed to twice") {
      std::vector<CkArrayIndex1D> members{CkArrayIndex1D(1), CkArrayIndex1D(2)};
      if (mistake == "section with one that does not exist") members.emplace_back(77);
      CProxySection_Victim section = CProxySection_Victim::ckNew(thisProxy, members);
      if (mistake == "section with one that does not exist") section.hello(1);
      CkSectionInfo cookie = section.ckGetSectionInfo();
      const CkCallback callback(CkReductionTarget(Main, done), mainProxy);
      CProxySection_Victim::contribute(cookie, callback);
      for (int i = 0; i < 2 && mistake == "section contributed to twice"; ++i) {
        CkSectionInfo fresh = section.ckGetSectionInfo();
        CProxySection_Victim::contribute(fresh, CkCallback(CkCallback::ignore));
      }
    }
    if (mistake == "half a reduction") contribute(CkCallback(CkReductionTarget(Main, done), mainProxy));
    if (mistake.rfind("forged", 0) == 0) forge(mistake);
    if (mistake == "code 3") CkExit(3);
    if (mistake == "code 0") CkExit(0);
    if (mistake.rfind("zero copy", 0) == 0) {
      static char memory[64];
      CkNcpyBuffer large(memory, 64), small(memory, 32);
      if (mistake == "zero copy too large") small.get(large);
      if (mistake == "zero copy of nothing") large.get(CkNcpyBuffer());
      if (mistake == "zero copy not registered") large.put(CkNcpyBuffer(memory, 64, CK_BUFFER_NOREG));
      if (mistake == "zero copy without a local buffer") CkNcpyBuffer().get(small);
      if (mistake.rfind("zero copy post", 0) == 0)
        thisProxy[(thisIndex + 2) % 4].grasp(CkSendBuffer(memory), static_cast<int>(sizeof memory / sizeof(int)),
                                             mistake);
    }
    if (mistake == "deleted chare") {
      CProxy_Single single = CProxy_Single::ckNew(CkMyPe());
      single.hello();
      single.hello();
    }
    if (mistake == "destroyed under a thread") {
      thisProxy[thisIndex].ponder();
      thisProxy[thisIndex].perish();
    }
    if (mistake == "chare deleted under a thread") {
      CProxy_Single single = CProxy_Single::ckNew(CkMyPe());
      single.ponder();
      single.hello();
    }
    // "nothing": returns, and nothing ever happens again.
  }
};

#include "bad.def.h"
