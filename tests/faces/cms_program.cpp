// A manager and workers: PE 0 gives out rounds of tasks and checks the answers, gathered at the end and one by one.
#include <cms.h>

#include <cstdlib>
#include <vector>

namespace {
struct Task {
  int number;
  int factor;
};
int work(void* task, void* response) {
  const Task* t = static_cast<Task*>(task);
  auto* squares = static_cast<int*>(std::malloc(2 * sizeof(int)));
  squares[0] = t->number * t->number * t->factor;
  squares[1] = CmiMyPe();
  *static_cast<void**>(response) = squares;
  return 2 * sizeof(int);
}
int consumed = 0;
int consume(void* response, int number) {
  CmiEnforce(*static_cast<int*>(response) == number * number * 3);
  std::free(response);
  return ++consumed;
}
void fire(int count, int factor) {
  for (int i = 0; i < count; ++i) {
    Task t = {i, factor};
    CmsFireTask(i, &t, sizeof t);
  }
}
}  // namespace

int main() {
  CmsInit(work, 40);
  CmiEnforce(CmiMyPe() == 0);
  std::vector<bool> worked(CmiNumPes());
  for (int round = 1; round <= 3; ++round) {
    fire(40, round);
    CmsAwaitResponses();
    for (int i = 0; i < 40; ++i) {
      int* answer = static_cast<int*>(CmsGetResponse(i));
      CmiEnforce(answer[0] == i * i * round);
      worked[answer[1]] = true;
      std::free(answer);
    }
  }
  for (int pe = 0; pe < CmiNumPes(); ++pe) CmiEnforceMsg(worked[pe], "PE %d did nothing of 120 tasks", pe);
  fire(7, 3);
  CmsProcessResponses(consume);
  CmiEnforce(consumed == 7);
  CmsExit();
}
