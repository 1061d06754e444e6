// Calls that wait for an answer ([sync], [iget]) with arrays that are sent without a copy, and a method that two
// entries have, one of which copies.
#include <vector>

#include "answered.decl.h"

namespace {
void require(bool right, const char* wrong) {
  if (!right) CkAbort("%s", wrong);
}
int summed(int n, const int* numbers) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += numbers[i];
  return sum;
}
constexpr int cells = 5;
constexpr int large = 50000;
}  // namespace

class Sum : public CMessage_Sum {
 public:
  int value;
};

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* arguments) {
    delete arguments;
    thisProxy.run();
  }
  void run() {
    const CProxy_Cell array = CProxy_Cell::ckNew(cells);
    std::vector<double> weights(large, 0.5);
    for (const int n : {3, large}) {
      std::vector<int> numbers(static_cast<std::size_t>(n), 2);
      for (int i = 0; i < cells; ++i) {
        require(array[i].sum(n, CkSendBuffer(numbers.data())) == 2 * n + i, "the answer of a [sync] entry");
        array[i].keep(n, CkSendBuffer(numbers.data()), large, CkSendBuffer(weights.data()));
        const CkFutureID future = array[i].later(n, CkSendBuffer(numbers.data()));
        auto* answer = static_cast<Sum*>(CkWaitReleaseFuture(future));
        require(answer->value == 2 * n + i, "the answer of an [iget] entry");
        delete answer;
        array[i].take(n, numbers.data());
        const CkCallback sent(CkCallback::resumeThread);
        array[i].take(n, CkSendBuffer(numbers.data(), sent));
        CkFreeMsg(sent.thread_delay());
      }
      CkWaitQD();
    }
    for (int i = 0; i < cells; ++i) require(array[i].sum(0, CkSendBuffer(weights.data())) == i, "an empty array");
    CkPrintf("all checks passed\n");
    CkExit();
  }
};

class Cell : public CBase_Cell {
  std::vector<int> numbers_;
  std::vector<double> weights_;

 public:
  Cell() = default;
  int sum(int n, int* numbers) { return summed(n, numbers) + thisIndex; }
  void keep(int& n, int*& numbers, int& m, double*& weights, CkNcpyBufferPost*) {
    numbers_.assign(static_cast<std::size_t>(n), 0);
    weights_.assign(static_cast<std::size_t>(m), 0);
    numbers = numbers_.data();
    weights = weights_.data();
  }
  void keep(int n, int*, int m, double*) {
    require(summed(n, numbers_.data()) == 2 * n, "a posted buffer of a [sync] entry is not filled when it runs");
    require(weights_[static_cast<std::size_t>(m) - 1] == 0.5, "the second posted buffer is not filled");
  }
  Sum* later(int n, int* numbers) {
    auto* answer = new Sum;
    answer->value = sum(n, numbers);
    return answer;
  }
  void take(int n, int* numbers) { require(summed(n, numbers) == 2 * n, "an array that is copied, or not"); }
};

#include "answered.def.h"
