// A program whose clients find it again when it has gone back to a checkpoint: kept_test.py asks it.
//
//   ccs_kept [FOLDER]: checkpoints go there, and else into memory
//
// Handlers that are callbacks are registered by the mainchare's first constructor, and one by an initproc. Started
// again without a server, it answers what a client of the run before has asked, and ends.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <string>
#include <vector>

#include "ckcallback-ccs.h"
#include "kept.decl.h"

CProxy_Main mainProxy;
CProxy_Member members;

namespace {
void say_it(CkCcsRequestMsg* m, const std::string& text) {
  CcsSendDelayedReply(m->reply, static_cast<int>(text.size()), text.c_str());
  CkFreeMsg(m);
}
// From here on no other socket has that port.
void listen_at(int port) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<std::uint16_t>(port));
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0 || listen(listener, 1) != 0)
    CkAbort("port %d can't be taken", port);
}
}  // namespace

void register_at_start() {
  CcsRegisterHandler(
      "at start",
      CkCallback([](void*, void* message) { say_it(static_cast<CkCcsRequestMsg*>(message), "at start"); }, nullptr));
}

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* m) {
    if (m->argc > 1) folder_ = m->argv[1];
    delete m;
    mainProxy = thisProxy;
    members = CProxy_Member::ckNew();
    CcsRegisterHandler("count", CkCallback(CkIndex_Main::count(nullptr), thisProxy));
    CcsRegisterHandler("keep", CkCallback(CkIndex_Main::keep(nullptr), thisProxy));
    CcsRegisterHandler("hold", CkCallback(CkIndex_Main::hold(nullptr), thisProxy));
    CcsRegisterHandler("take port", CkCallback(CkIndex_Main::take_port(nullptr), thisProxy));
    CcsRegisterHandler("wait", CkCallback(CkIndex_Main::wait(nullptr), thisProxy));
    CcsRegisterHandler("waiting", CkCallback(CkIndex_Main::waiting(nullptr), thisProxy));
    CcsRegisterHandler("release", CkCallback(CkIndex_Main::release(nullptr), thisProxy));
    CcsRegisterHandler("end", CkCallback(CkIndex_Main::end(nullptr), thisProxy));
    CcsRegisterHandler("die", CkCallback(CkIndex_Member::die(nullptr), members[CkNumPes() - 1]));
    register_others();
    CcsRegisterHandler("lost", CkCallback([](void* message) { CkFreeMsg(message); }));  // an address
    CkPrintf("there is a server\n");
  }
  explicit Main(CkMigrateMessage* m) : CBase_Main(m) {}
  void pup(PUP::er& p) {
    p | folder_;
    p | counted_;
    p | held_.request;
    p | held_.part;
    p | port_;
    if (p.isUnpacking() && port_ != 0) listen_at(port_);
  }
  void count(CkCcsRequestMsg* m) {
    ++counted_;
    answer(m, counted_);
  }
  void keep(CkCcsRequestMsg* m) {
    asked_ = m->reply;
    delete m;
    CkCallback then(CkIndex_Main::kept(), thisProxy);
    if (folder_.empty()) {
      CkStartMemCheckpoint(then);
    } else {
      CkStartCheckpoint(folder_.c_str(), then);
    }
  }
  void kept() {
    if (_restarted && CcsEnabled() == 0) {
      CcsSendDelayedReply(held_, 0, nullptr);
      CkPrintf("there is no server\n");
      CkExit(0);
    } else if (_restarted) {
      CkPrintf("there is a server again\n");
    } else {
      CcsSendDelayedReply(asked_, sizeof counted_, &counted_);
    }
  }
  // An answer that a checkpoint takes along has nothing to go to behind it.
  void hold(CkCcsRequestMsg* m) {
    held_ = m->reply;
    delete m;
  }
  // That of the server, when the run has gone back to its checkpoint.
  void take_port(CkCcsRequestMsg* m) {
    std::memcpy(&port_, m->data, sizeof port_);
    answer(m, counted_);
  }
  void waiting(CkCcsRequestMsg* m) { answer(m, static_cast<int>(waiting_.size())); }
  void wait(CkCcsRequestMsg* m) { waiting_.push_back(m); }
  void release(CkCcsRequestMsg* m) {
    const std::string text = "of another one";
    CcsSendDelayedReply(held_, static_cast<int>(text.size()), text.c_str());
    answer(m, counted_);
  }
  void end(CkCcsRequestMsg* m) {
    for (CkCcsRequestMsg* one : waiting_) answer(one, counted_);
    answer(m, counted_);
    CkExit(0);
  }

 private:
  static void answer(CkCcsRequestMsg* m, int number) {
    CcsSendDelayedReply(m->reply, sizeof number, &number);
    delete m;
  }
  // Callbacks to what another run may have not.
  void register_others() {
    const int last_pe = CkNumPes() - 1, last_process = CkNumNodes() - 1;
    CcsRegisterHandler("last member", CkCallback(CkIndex_Member::say(nullptr), members[last_pe]));
    const CProxy_NodeMember node_members = CProxy_NodeMember::ckNew();
    CcsRegisterHandler("last process", CkCallback(CkIndex_NodeMember::say(nullptr), node_members[last_process]));
    const CProxy_Element elements = CProxy_Element::ckNew(4);
    std::vector<CkArrayIndex> indices = {CkArrayIndex1D(1), CkArrayIndex1D(2)};
    CProxySection_Element section(elements.ckGetArrayID(), indices);
    CcsRegisterHandler("element", CkCallback(CkIndex_Element::say(nullptr), elements[2]));
    CcsRegisterHandler("section", CkCallback(CkIndex_Element::say(nullptr), section));
    CcsRegisterHandler("single", CkCallback(CkIndex_Single::say(nullptr), CProxy_Single::ckNew(0)));
    CcsRegisterHandler("left out", CkCallback(CkIndex_LeftOut::say(nullptr), CProxy_LeftOut::ckNew(0)));
  }
  std::string folder_;
  int counted_ = 0, port_ = 0;
  CcsDelayedReply asked_ = {}, held_ = {};
  std::vector<CkCcsRequestMsg*> waiting_;  // of no checkpoint
};

class Member : public CBase_Member {
 public:
  Member() = default;
  explicit Member(CkMigrateMessage* m) : CBase_Member(m) {}
  void die(CkCcsRequestMsg*) { kill(getpid(), SIGKILL); }
  void say(CkCcsRequestMsg* m) { say_it(m, "member"); }
};
class NodeMember : public CBase_NodeMember {
 public:
  NodeMember() = default;
  explicit NodeMember(CkMigrateMessage* m) : CBase_NodeMember(m) {}
  void say(CkCcsRequestMsg* m) { say_it(m, "member"); }
};
class Element : public CBase_Element {
 public:
  Element() = default;
  explicit Element(CkMigrateMessage*) {}
  void say(CkCcsRequestMsg* m) { thisIndex == 2 ? say_it(m, "element") : CkFreeMsg(m); }
};
class Single : public CBase_Single {
 public:
  Single() = default;
  explicit Single(CkMigrateMessage* m) : CBase_Single(m) {}
  void say(CkCcsRequestMsg* m) { say_it(m, "single"); }
};
class LeftOut : public CBase_LeftOut {
 public:
  LeftOut() = default;
  void say(CkCcsRequestMsg* m) { say_it(m, "left out"); }
};

#include "kept.def.h"
