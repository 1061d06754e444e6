// Answers requests in each of the ways there are; requests_test.py asks.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "ckcallback-ccs.h"
PUPbytes(CcsDelayedReply);
#include "requests.decl.h"

/*readonly*/ CProxy_Main mainProxy;

namespace {
CProxy_Server group;

// "who?" on PE 2: "PE 2 has who?"
void echo(void* message) {
  if (!CcsIsRemoteRequest()) CkAbort("no request runs");
  const std::string answer =
      "PE " + std::to_string(CkMyPe()) + " has " + (static_cast<char*>(message) + CmiMsgHeaderSizeBytes);
  CcsSendReply(static_cast<int>(answer.size()), answer.data());
  if (CcsIsRemoteRequest()) CkAbort("it is answered");
  CmiFree(message);
}
void later(void* user, int bytes, const void* request) {
  const CcsDelayedReply reply = CcsDelayReply();
  const int other = (CkMyPe() + 1) % CkNumPes();
  (*static_cast<CProxy_Server*>(user))[other].answerLater(reply, bytes, static_cast<const char*>(request));
}
void number(void*, int, const void*) {
  const int mine = 10 + CkMyPe();
  CcsSendReply(sizeof mine, &mine);
}
void name(void*, int, const void*) {
  const std::string mine(static_cast<std::size_t>(CkMyPe() + 1), 'x');
  CcsSendReply(static_cast<int>(mine.size()), mine.data());
}
void silent(void*, int, const void*) {}
void none(void*, int, const void*) { CcsNoReply(); }
void twice(void*, int, const void*) {
  const CcsDelayedReply reply = CcsDelayReply();
  CcsSendDelayedReply(reply, 5, "first");
  CcsSendDelayedReply(reply, 6, "second");
}
void reverse(void*, int bytes, const void* request) {
  std::string text(static_cast<const char*>(request), static_cast<std::size_t>(bytes));
  std::reverse(text.begin(), text.end());
  CcsSendReply(bytes, text.data());
}
void caller(void*, int, const void*) {
  skt_ip_t ip;
  unsigned port;
  CcsCallerId(&ip, &port);
  char text[64];
  const int length =
      std::snprintf(text, sizeof text, "%d.%d.%d.%d:%u", ip.data[0], ip.data[1], ip.data[2], ip.data[3], port);
  CcsSendReply(length, text);
}
}  // namespace

// Answers and ends the run, on any PE; PE 0 looks when it has been told of both.
void leave(void*, int, const void*) {
  group[0].busy();
  CcsSendReply(3, "bye");
  CkExit();
}

// No message that a request is answered with.
struct Odd : CMessage_Odd {};

class Main : public CBase_Main {
  int counted_ = 0;

 public:
  explicit Main(CkArgMsg* arguments) {
    const bool outside = arguments->argc > 1 && std::strcmp(arguments->argv[1], "outside") == 0;
    delete arguments;
    mainProxy = thisProxy;
    if (outside) CcsSendReply(0, nullptr);
    CProxy_Server::ckNew();
    CcsSetMergeFn("number", CcsMerge_sum_int);
    CcsSetMergeFn("highest", CcsMerge_max_int);
    CcsRegisterHandler("count", CkCallback(CkIndex_Main::count(nullptr), thisProxy));
    CcsRegisterHandler("reduce", CkCallback(CkIndex_Main::reduce(nullptr), thisProxy));
    CcsRegisterHandler("elsewhere", CkCallback(CkIndex_Main::elsewhere(nullptr), thisProxy));
    CcsRegisterHandler("empty", CkCallback(CkIndex_Main::empty(nullptr), thisProxy));
    CcsRegisterHandler("odd", CkCallback(CkIndex_Main::odd(nullptr), thisProxy));
    CcsRegisterHandler("stop", CkCallback(CkIndex_Main::stop(nullptr), thisProxy));
  }
  // The handlers are there on every PE: before, a request for one may be refused.
  void ready() {
    CkPrintf("there is %s server\n", CcsEnabled() ? "a" : "no");
    if (!CcsEnabled()) CkExit();
  }
  void count(CkCcsRequestMsg* request) {
    counted_ += request->length;
    const std::string answer = std::string(request->data, request->data + request->length) + std::to_string(counted_);
    CkCallback(request->reply).send(static_cast<int>(answer.size()), answer.data());
    delete request;
  }
  // By the result of a reduction.
  void reduce(CkCcsRequestMsg* request) {
    group.contributeTo(CkCallback(request->reply));
    delete request;
  }
  // By a callback that has come to another PE.
  void elsewhere(CkCcsRequestMsg* request) {
    group[CkNumPes() - 1].answerBy(CkCallback(request->reply));
    delete request;
  }
  void empty(CkCcsRequestMsg* request) {
    CkCallback(request->reply).send();
    delete request;
  }
  void odd(CkCcsRequestMsg* request) { CkCallback(request->reply).send(new Odd); }
  void stop(CkCcsRequestMsg* request) {
    CcsSendDelayedReply(request->reply, 3, "bye");
    delete request;
    CkExit();
  }
};

class Server : public CBase_Server {
 public:
  Server() {
    group = thisProxy;
    CcsRegisterHandler("echo", echo);
    CcsRegisterHandlerFn("later", later, &group);
    CcsRegisterHandlerFn("number", number, nullptr);
    CcsRegisterHandlerFn("highest", number, nullptr);
    CcsRegisterHandlerFn("name", name, nullptr);
    CcsRegisterHandlerFn("silent", silent, nullptr);
    CcsRegisterHandlerFn("none", none, nullptr);
    CcsRegisterHandlerFn("twice", twice, nullptr);
    CcsRegisterHandlerFn("reverse", reverse, nullptr);
    CcsRegisterHandlerFn("caller", caller, nullptr);
    CcsRegisterHandlerFn("leave", leave, nullptr);
    contribute(CkCallback(CkReductionTarget(Main, ready), mainProxy));
  }
  void busy() {
    for (const double end = CkWallTimer() + 0.02; CkWallTimer() < end;) {
    }
  }
  void contributeTo(CkCallback answer) {
    const int mine[] = {CkMyPe(), 1000};
    contribute(sizeof mine, mine, CkReduction::max_int, answer);
  }
  void answerBy(CkCallback answer) {
    const int mine = CkMyPe();
    answer.send(sizeof mine, &mine);
  }
  void answerLater(CcsDelayedReply reply, int n, const char* text) {
    const std::string answer = std::string(text, text + n) + " from PE " + std::to_string(CkMyPe());
    CcsSendDelayedReply(reply, static_cast<int>(answer.size()), answer.data());
  }
};

#include "requests.def.h"
