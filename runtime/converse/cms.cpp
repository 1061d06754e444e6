// Cms: tasks go to any PE by CldEnqueue, answers to PE 0.
#include "runtime/converse/cms.h"

#include <atomic>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "base/fatal.h"
#include "runtime/converse/cld.h"
#include "runtime/converse/converse_state.h"

using namespace periapt;

namespace {
// A task, or an answer: so many bytes behind it.
struct alignas(16) TaskMessage {
  char head[CmiMsgHeaderSizeBytes];
  int bytes;
  int number;
};

CmsWorkerFn worker;                                                      // of all PEs, set before the run starts
std::atomic<int> task_handler, answer_handler, stop_handler, task_info;  // each PE finds the same
// Of PE 0.
CmsConsumerFn consumer;
int missing;
std::vector<void*> answers;

TaskMessage* make(int handler, int number, const void* data, int bytes) {
  auto* piece = static_cast<TaskMessage*>(CmiAlloc(static_cast<int>(sizeof(TaskMessage)) + bytes));
  CmiSetHandler(piece, handler);
  piece->bytes = bytes;
  piece->number = number;
  if (bytes) std::memcpy(piece + 1, data, static_cast<std::size_t>(bytes));
  return piece;
}
void about_task(void* message, CldPackFn* pack, int* bytes, int* strategy, int* priority_bits, unsigned** priority) {
  *pack = nullptr;
  *bytes = static_cast<int>(sizeof(TaskMessage)) + static_cast<TaskMessage*>(message)->bytes;
  *strategy = CQS_QUEUEING_FIFO;
  *priority_bits = 0;
  *priority = nullptr;
}
void work(void* message) {
  auto* task = static_cast<TaskMessage*>(message);
  void* answer = nullptr;
  const int bytes = worker(task + 1, &answer);
  TaskMessage* piece = make(answer_handler, task->number, answer, bytes);
  CmiFree(task);
  CmiSyncSendAndFree(0, static_cast<int>(sizeof(TaskMessage)) + bytes, piece);
}
void answered(void* message) {
  auto* piece = static_cast<TaskMessage*>(message);
  void* answer = std::malloc(static_cast<std::size_t>(piece->bytes) + 1);
  std::memcpy(answer, piece + 1, static_cast<std::size_t>(piece->bytes));
  const int number = piece->number;
  CmiFree(piece);
  if (consumer)
    consumer(answer, number);
  else
    answers[static_cast<std::size_t>(number)] = answer;
  if (--missing == 0) CsdExitScheduler();
}
void stop(void* message) {
  CmiFree(message);
  CsdExitScheduler();
}

void begin(int, char**) {
  task_handler = CmiRegisterHandler(work);
  answer_handler = CmiRegisterHandler(answered);
  stop_handler = CmiRegisterHandler(stop);
  task_info = CldRegisterInfoFn(about_task);
  if (CmiMyPe() != 0) CsdScheduleForever();
}
// CmsInit is not given the options of the runtime, so they are asked for.
std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline");
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}
void check(int number, const char* function) {
  if (number >= 0 && number < static_cast<int>(answers.size())) return;
  fatal("the task number " + std::to_string(number), function,
        "CmsInit was told of " + std::to_string(answers.size()) + " tasks", "numbers begin with 0 in each round");
}
}  // namespace

extern "C" {

void CmsInit(CmsWorkerFn function, int tasks_max) {
  worker = function;
  answers.resize(static_cast<std::size_t>(tasks_max));
  static std::vector<std::string> words = command_line();
  static std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ConverseInit(static_cast<int>(words.size()), argv.data(), begin, 1, 1);
  begin(0, nullptr);
  if (CmiMyPe() != 0) ConverseExit(0);
}
void CmsFireTask(int number, void* task, int bytes) {
  check(number, "CmsFireTask");
  ++missing;
  CldEnqueue(CLD_ANYWHERE, make(task_handler, number, task, bytes), task_info);
}
void CmsAwaitResponses() {
  consumer = nullptr;
  if (missing) CsdScheduleForever();
}
void CmsProcessResponses(CmsConsumerFn function) {
  consumer = function;
  if (missing) CsdScheduleForever();
}
void* CmsGetResponse(int number) {
  check(number, "CmsGetResponse");
  return answers[static_cast<std::size_t>(number)];
}
void CmsExit() {
  TaskMessage* piece = make(stop_handler, 0, nullptr, 0);
  CmiSyncBroadcastAndFree(sizeof(TaskMessage), piece);
  ConverseExit(0);
}
}
