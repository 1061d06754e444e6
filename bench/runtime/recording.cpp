// What it costs to record a message for load balancing: the same sends with and without, by turns.
//
//   recording +p1 +balancer GreedyCommLB [--rounds N]
//
// An element sends to members of a group and to eight elements of its own PE; only the sending is timed. The rounds are
// shorter than a time slice, because the cores may be shared.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/clock.h"
#include "recording.decl.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Member members;
/*readonly*/ CProxy_Sender senders;

using periapt::clock::now_ns;

namespace {
constexpr int sends = 2000, receivers = 8;
}

class Member : public CBase_Member {
 public:
  void take(int) {}
};

class Sender : public CBase_Sender {
 public:
  Sender() { usesAtSync = true; }
  explicit Sender(CkMigrateMessage*) {}
  void toMembers(int n) {
    const std::uint64_t begin = now_ns();
    const int pes = CkNumPes();
    for (int i = 0, to = 0; i < n; ++i, to = to + 1 < pes ? to + 1 : 0) members[to].take(i);
    end(begin, n);
  }
  void toElements(int n) {
    const std::uint64_t begin = now_ns();
    for (int i = 0; i < n; ++i) senders[1 + i % receivers].take(i);
    end(begin, n);
  }
  void take(int) {}

 private:
  static void end(std::uint64_t begin, int n) { mainProxy.next(static_cast<double>(now_ns() - begin) / n); }
};

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* m) {
    for (int i = 1; i + 1 < m->argc; i += 2)
      if (std::string(m->argv[i]) == "--rounds") rounds_ = std::max(1, std::atoi(m->argv[i + 1]));
    delete m;
    mainProxy = thisProxy;
    members = CProxy_Member::ckNew();
    senders = CProxy_Sender::ckNew(1 + receivers);
    start();
  }
  // The first of all only warm.
  void next(double ns) {
    if (turn_ >= kinds) ns_[turn_ % kinds].push_back(ns);
    if (++turn_ < (rounds_ + 1) * kinds) return start();
    report("a member of a group", ns_[0], ns_[1]);
    report("an element", ns_[2], ns_[3]);
    CkExit();
  }

 private:
  static constexpr int kinds = 4;  // to members and to elements, each without and with recording
  void start() {
    if (turn_ % 2 == 0)
      LBTurnInstrumentOff();
    else
      LBTurnInstrumentOn();
    if (turn_ % kinds < 2)
      senders[0].toMembers(sends);
    else
      senders[0].toElements(sends);
  }
  static double median(std::vector<double>& values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  }
  static void report(const char* to, std::vector<double>& without, std::vector<double>& with) {
    const double a = median(without), b = median(with);
    CkPrintf("a message to %-20s %5.1f ns, recorded %5.1f ns: %5.1f more\n", to, a, b, b - a);
  }

  int rounds_ = 301, turn_ = 0;
  std::vector<double> ns_[kinds];
};

#include "recording.def.h"
