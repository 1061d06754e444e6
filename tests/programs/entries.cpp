// Entries that run when a PE is idle, again and again as long as they want, however long that is; then template
// entries: of arrays, groups and chare templates, with instances of several types.
#include <numeric>
#include <tuple>
#include <vector>

inline double times(int factor, double value) { return factor * value; }
inline int four() { return 4; }

struct Sum {
  using Factor = int;
  static double of() { return 0; }
  template <class First, class... Rest>
  static double of(First first, Rest... rest) {
    return first + of(rest...);
  }
};

#include "entries.decl.h"

CProxy_Main mainProxy;
int turns = 2500;  // more than the rounds after which a PE with nothing to do sleeps

namespace {
constexpr int elements = 6;

double number(double value) { return value; }
double number(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }
}  // namespace

// A line through what was measured. (tests/loadbalance has what comes of it.)
class Line : public LBPredictorFunction {
 public:
  Line() { num_params = 2; }
  double predict(double x, double* params) override { return params[0] + params[1] * x; }
  void function(double x, double* params, double& y, double* derivatives) override {
    y = predict(x, params);
    derivatives[0] = 1;
    derivatives[1] = x;
  }
};

class Main : public CBase_Main {
 public:
  Main(CkArgMsg* message) {
    if (message->argc > 1) turns = std::atoi(message->argv[1]);
    delete message;
    if (LBManager::ProcessorSpeed() < 1) CkAbort("a processor that computes nothing");
    LBTurnCommOff();
    static Line line;
    LBTurnPredictorOn(&line);
    LBTurnPredictorOn(&line, 5);
    LBChangePredictor(&line);
    LBTurnPredictorOff();
    mainProxy = thisProxy;
    CProxy_Idler idlers = CProxy_Idler::ckNew(elements);
    idlers.start();
  }
  void idled(int sum) {
    if (sum != elements * turns) CkAbort("idle entries ran %d times, not %d", sum, elements * turns);
    CProxy_Taker takers = CProxy_Taker::ckNew(elements);
    takers.take(1);
    takers.take(std::vector<double>{2, 3});
    for (int i = 0; i < elements; ++i) takers[i].both(std::vector<int>{1, 2}, 10.0);
    const short values[] = {100, 200};
    takers.many(2, values);
    takers.none<float>();
    takers[elements - 1].inPlace(5);
    for (int i = 0; i < elements; ++i) takers[i].actInPlace<Sum>(2, 4.5);
    takers.act<Sum>(std::make_tuple(2, 0.25));
    takers.act<Sum>();
    takers.deduced(2, std::make_tuple(1L, 2, 0.5f));
    CkCallback(CkIndex_Taker::none<float>(), takers).send();
    CProxy_Helper helpers = CProxy_Helper::ckNew();
    helpers[CkNumPes() - 1].on(1000L, takers);
    CProxy_Holder<int> holder = CProxy_Holder<int>::ckNew(CkNumPes() - 1);
    holder.pass(7, 0.5, takers);
    CProxy_Scaled<times>::ckNew(1.5, takers, CkNumPes() - 1);
    // Each way above is counted: what has come is known when nothing is under way.
    CkStartQD(CkCallback(CkIndex_Taker::finish(), takers));
  }
  void summed(double sum) {
    const double wanted =
        elements * (1 + 5 + 30 + 300 + 4 + 4 + 1000 + 7.5 + 6 + 21 + 3 + 6 + 2.25 + 40 + 7 + 4.5 + 2 + 0.5) + 5;
    if (sum != wanted) CkAbort("template entries took %g, not %g", sum, wanted);
    thisProxy.get();
  }
  // Answers that a thread waits for when it likes, in another order than they were asked for.
  void get();
  void partsAreNotOfWaitingConstructors();
  void bytesOfTuple(int n, char* bytes);
};

class Number : public CMessage_Number {
 public:
  explicit Number(int number) : value(number) {}
  int value;
};

class Source : public CBase_Source {
 public:
  Source() {}
  Source(CkMigrateMessage* message) : CBase_Source(message) {}
  Number* after(int number, std::vector<int> more) {
    return new Number(std::accumulate(more.begin(), more.end(), number) + 1);
  }
  Number* afterMessage(Number* number) {
    CthYield();
    ++number->value;
    return number;
  }
  void seen() {}
  // As Charm++ has the types of a method whose address is asked for.
  void told(int, const double&, const std::vector<int>&, const bool&, const std::size_t&, const std::string&,
            const double*, std::vector<int>) {}
  static void look() {
    if (CkIndex_Source::idx_told(&Source::told) != CkIndex_Source::told(0, 0, {}, false, 0, {}, nullptr, {}))
      CkAbort("the address of a method is of another entry");
  }
};

class Single : public CBase_Single {
 public:
  Single() {}
  Number* after(int number) {
    if (thisProxy.ckLocal() != this) CkAbort("a chare is not where it is");
    return new Number(number + 1);
  }
};

void Main::get() {
  const auto value = [](CkFutureID future) {
    Number* number = static_cast<Number*>(CkWaitReleaseFuture(future));
    const int is = number->value;
    delete number;
    return is;
  };
  Source::look();
  CProxy_Source sources = CProxy_Source::ckNew(elements);
  std::vector<CkFutureID> asked, again;
  for (int i = 0; i < elements; ++i) asked.push_back(sources[i].after(i, std::vector<int>{100, 1000}));
  for (int i = 0; i < elements; ++i) again.push_back(sources[i].afterMessage(new Number(i)));
  const CkFutureID seen = sources[0].seen();
  CProxy_Single made = CProxy_Single::ckNew(CkNumPes() - 1);
  if (thisProxy.ckLocal() != this || made.ckLocal()) CkAbort("a chare is where it is not");
  const CkFutureID single = made.after(41);
  for (int i = elements; i-- > 0;) {
    if (value(again[i]) != i + 1) CkAbort("element %d has another answer to a message", i);
    if (value(asked[i]) != i + 1101) CkAbort("element %d has another answer", i);
  }
  if (value(single) != 42) CkAbort("a chare has another answer");
  CkWaitVoidFuture(seen);
  CkReleaseFutureID(seen);
  const CkFuture sum = CkCreateFuture();
  CProxy_Summer::ckNew(5, sum, CkNumPes() - 1);
  if (value(sum.id) != 32) CkAbort("chares whose constructors wait have summed something else");
  partsAreNotOfWaitingConstructors();
  CProxy_Helper helpers = CProxy_Helper::ckNew();
  helpers.tuple();
}

// Its constructor makes what waits, on the PE where that is made, and waits itself.
class Founder : public CBase_Founder {
  CthThread waiting_;
  bool founding_ = true;

 public:
  explicit Founder(std::uintptr_t where) : waiting_(CthSelf()) {
    CProxy_Dawdler::ckNew(CkMyPe());
    *reinterpret_cast<Founder**>(where) = this;
    CthSuspend();
    CProxy_Dawdler::ckNew(CkMyPe());
    founding_ = false;
  }
  void goOn() { CthAwaken(waiting_); }
  bool isFounding() const { return founding_; }
};
class Dawdler : public CBase_Dawdler {
 public:
  explicit Dawdler(int pe) {
    if (CkMyPe() == pe) CthYield();
  }
};

// A thread goes on in the moment in which a constructor waits, before its creation has returned: what it makes is no
// part of that object.
void Main::partsAreNotOfWaitingConstructors() {
  struct Part : Chare {
    bool isOfAnother() const { return thishandle.serial != 0; }
  };
  const CkFuture sum = CkCreateFuture();
  CProxy_Summer summer = CProxy_Summer::ckNew(0, sum, CkMyPe());
  CthYield();
  if (Part().isOfAnother()) CkAbort("what is made elsewhere is taken for a part of an object whose constructor waits");
  summer.hear(3);
  Number* const heard = static_cast<Number*>(CkWaitReleaseFuture(sum.id));
  if (heard->value != 3) CkAbort("a chare whose constructor waits has heard something else");
  delete heard;
  // Also when an object that it makes has waited before, on the same thread; and when it has ended.
  Founder* founder = nullptr;
  CProxy_Founder::ckNew(reinterpret_cast<std::uintptr_t>(&founder), CkMyPe());
  for (int turns = 0; turns < 4 || !founder; ++turns) {
    CthYield();
    if (Part().isOfAnother()) CkAbort("what is made elsewhere is a part of an object whose constructor waits again");
  }
  founder->goOn();
  while (founder->isFounding()) CthYield();
  if (Part().isOfAnother()) CkAbort("what is made elsewhere is a part of an object that has been made");
}

void Main::bytesOfTuple(int n, char* bytes) {
  CkReductionMsg* message = CkReductionMsg::buildNew(n, bytes, CkReduction::tuple);
  CkReduction::tupleElement* results = nullptr;
  int count = 0;
  message->toTuple(&results, &count);
  if (count != 2 || *reinterpret_cast<int*>(results[0].data) != CkNumPes() ||
      *reinterpret_cast<double*>(results[1].data) != CkNumPes() - 0.5)
    CkAbort("the bytes of a tuple are those of another");
  delete[] results;
  delete message;
  CkPrintf("all checks passed\n");
  CkExit();
}

class Summer : public CBase_Summer {
  CthThread waiting_ = nullptr;
  int heard_ = 0;

 public:
  Summer(int depth, CkFuture sum) {
    if (depth == 0) {
      waiting_ = CthSelf();
      CthSuspend();
    } else {
      const CkFuture sums[] = {CkCreateFuture(), CkCreateFuture()};
      for (const CkFuture& part : sums) {
        CProxy_Summer summer = CProxy_Summer::ckNew(depth - 1, part);
        if (depth == 1) summer.hear(1);
      }
      for (const CkFuture& part : sums) {
        Number* number = static_cast<Number*>(CkWaitReleaseFuture(part.id));
        heard_ += number->value;
        delete number;
      }
    }
    CkSendToFuture(sum, new Number(heard_));
    delete this;
  }
  void hear(int number) {
    heard_ = number;
    CthAwaken(waiting_);
  }
};

class Idler : public CBase_Idler {
 public:
  Idler() {}
  Idler(CkMigrateMessage* message) : CBase_Idler(message) {}
  void start() { CkCallWhenIdle(CkIndex_Idler::turn(), this); }
  bool turn() {
    ++turns_;
    if (turns_ == 1 && !thisProxy[thisIndex].turn()) CkAbort("a [whenidle] entry is called in place through a proxy");
    if (turns_ < turns) return true;
    contribute(sizeof turns_, &turns_, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, idled), mainProxy));
    return false;
  }

 private:
  int turns_ = 0;
};

class Taker : public CBase_Taker {
 public:
  Taker() {}
  Taker(CkMigrateMessage* message) : CBase_Taker(message) {}
  template <typename T>
  void take(T value) {
    sum_ += number(value);
  }
  template <typename T, class U>
  void both(const std::vector<T>& values, U& factor) {
    for (T value : values) sum_ += value * factor;
  }
  template <typename T>
  void many(int n, T* values) {
    for (int i = 0; i < n; ++i) sum_ += values[i];
  }
  template <typename T, int n = 3>
  void none() {
    sum_ += sizeof(T);
  }
  template <typename T>
  void inPlace(T value) {
    sum_ += value;
  }
  template <class Action, typename T>
  void actInPlace(typename Action::Factor factor, T value) {
    sum_ += Action::of(factor, value) + thisProxy[thisIndex].template actHere<Action>(factor);
  }
  template <class Action>
  double actHere(typename Action::Factor factor) {
    return Action::of(factor * 0.25);
  }
  template <class Action, typename... Args>
  void act(std::tuple<Args...> args) {
    sum_ += Action::of(std::get<Args>(args)...);
  }
  template <class Action>
  void act() {
    sum_ += Action::of(40);
  }
  template <typename... Args>
  void deduced(int scale, const std::tuple<Args...>& args) {
    CthYield();
    sum_ += scale * Sum::of(std::get<Args>(args)...);
  }
  // Results of reductions come to template entries, too.
  void finish() {
    const long numbers[] = {1, thisIndex};
    const double half = 0.5;
    const int one = 1;
    contribute(sizeof numbers, numbers, CkReduction::sum_long,
               CkCallback(CkReductionTarget(Taker, gathered<long>), thisProxy));
    contribute(sizeof half, &half, CkReduction::sum_double,
               CkCallback(CkReductionTarget(Taker, gathered<double>), thisProxy));
    const int counted = CkIndex_Taker::redn_wrapper_counted<int, void>(nullptr);
    contribute(sizeof one, &one, CkReduction::sum_int, CkCallback(counted, thisProxy));
  }
  template <typename T>
  void gathered(int n, T* values) {
    for (int i = 0; i < n; ++i) counted<T, void>(values[i]);
  }
  template <typename T, class U>
  void counted(T count) {
    sum_ += count;
    if (++results_ == 4)
      contribute(sizeof sum_, &sum_, CkReduction::sum_double, CkCallback(CkReductionTarget(Main, summed), mainProxy));
  }

 private:
  double sum_ = 0;
  int results_ = 0;
};

class Helper : public CBase_Helper {
 public:
  Helper() {}
  template <class T>
  void on(T value, CProxy_Taker takers) {
    takers.take(value);
  }
  void tuple() {
    int one = 1;
    double most = CkMyPe() + 0.5;
    CkReduction::tupleElement parts[] = {{sizeof one, &one, CkReduction::sum_int},
                                         {sizeof most, &most, CkReduction::max_double}};
    CkReductionMsg* message = CkReductionMsg::buildFromTuple(parts, 2);
    message->setCallback(CkCallback(CkReductionTarget(Main, bytesOfTuple), mainProxy));
    contribute(message);
  }
};

template <class K>
class Holder : public CBase_Holder<K> {
 public:
  Holder() {}
  template <typename T>
  void pass(K key, T value, CProxy_Taker takers) {
    takers.take(key + value);
  }
};

template <double (*scale)(int, double), int (*factor)(), bool really>
class Scaled : public CBase_Scaled<scale, factor, really> {
 public:
  Scaled(double value, CProxy_Taker takers) { takers.take(scale(factor(), value)); }
};

#include "entries.def.h"
