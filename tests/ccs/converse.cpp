// A program on Converse alone that answers requests from outside: converse_test.py asks.
#include <conv-ccs.h>
#include <converse.h>

#include <cstring>
#include <string>

namespace {
CpvDeclare(int, later_handler);
CpvDeclare(int, stop_handler);

struct Later {
  char header[CmiMsgHeaderSizeBytes];
  CcsDelayedReply reply;
  int of;
};

void answer(const std::string& text) { CcsSendReply(static_cast<int>(text.size()), text.data()); }

std::string request_of(char* message) {
  const auto* text = message + CmiMsgHeaderSizeBytes;
  return {text, static_cast<std::size_t>(CmiSize(message)) - CmiMsgHeaderSizeBytes};
}

void echo(char* message) {
  if (!CcsIsRemoteRequest()) CmiAbort("no request runs");
  answer("PE " + std::to_string(CmiMyPe()) + " has " + request_of(message));
  CmiFree(message);
}

void later(char* message) {
  auto* there = static_cast<Later*>(CmiAlloc(sizeof(Later)));
  there->reply = CcsDelayReply();
  there->of = CmiMyPe();
  CmiSetHandler(there, CpvAccess(later_handler));
  CmiSyncSendAndFree(static_cast<unsigned>((CmiMyPe() + 1) % CmiNumPes()), sizeof(Later), there);
  CmiFree(message);
}

void on_later(Later* message) {
  const std::string text = "of PE " + std::to_string(message->of) + " from PE " + std::to_string(CmiMyPe());
  CcsSendDelayedReply(message->reply, static_cast<int>(text.size()), text.data());
  CmiFree(message);
}

void on_stop(char* message) {
  CmiFree(message);
  CsdExitScheduler();
}

// Answers, and ends the run behind it at once.
void stop(char* message) {
  answer("bye");
  CmiSetHandler(message, CpvAccess(stop_handler));
  CmiSyncBroadcastAndFree(static_cast<unsigned>(CmiSize(message)), message);
  CsdExitScheduler();
}

void start(int, char**) {
  CpvInitialize(int, later_handler);
  CpvInitialize(int, stop_handler);
  CpvAccess(later_handler) = CmiRegisterHandler(reinterpret_cast<CmiHandler>(on_later));
  CpvAccess(stop_handler) = CmiRegisterHandler(reinterpret_cast<CmiHandler>(on_stop));
  CcsRegisterHandler("echo", reinterpret_cast<CmiHandler>(echo));
  CcsRegisterHandler("later", reinterpret_cast<CmiHandler>(later));
  CcsRegisterHandler("stop", reinterpret_cast<CmiHandler>(stop));
  CmiNodeBarrier();
  if (CmiMyPe() == 0) CmiPrintf("there is %s server\n", CcsEnabled() ? "a" : "no");
  if (!CcsEnabled()) CmiAbort("started without a server");
}
}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "early") CcsRegisterHandler("echo", reinterpret_cast<CmiHandler>(echo));
  ConverseInit(argc, argv, start, 0, 0);
}
