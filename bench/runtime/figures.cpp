// The figures of the runtime: one row for each line of its table of targets, each beside the target and, where there is
// one, the physical limit measured in the same run. It is an ordinary Charm++ program, but for the bare figures, which
// pass an address from PE to PE. What it prints depends on the layout it is started with:
//
//   figures +p1                creation and what stays within a PE
//   figures +p2                between two PEs of a process, and the collective ones
//   figures +p2 ++ppn 1        between two processes
//   figures +p16 --only ring   more PEs than cores; compare with +p2 --only ring
//
//   figures [--rounds N] [--only row,row...] [--json FILE]
//
// bench/figures runs all of them. A row is measured in rounds shorter than a time slice, because the cores may be
// shared; the best, the 10th percentile and the median are printed, and the median counts.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "bench/bare.h"
#include "figures.decl.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Pair pairProxy;
/*readonly*/ CProxy_Everywhere everywhere;
/*readonly*/ CProxy_Wide wideProxy;

using periapt::clock::now_ns;

class Token : public CMessage_Token {
 public:
  CmiInt8 value;
};
class Block : public CMessage_Block {
 public:
  char* data;
};
class Part : public CkMcastBaseMsg, public CMessage_Part {};

namespace {

// The driver is a thread on PE 0; it sleeps while a round runs, and the round's last event hands it the result.
CthThread driver;
double round_result;
std::uint64_t round_begin;

void begin_round() { round_begin = now_ns(); }
// operations: how many the round did.
void end_round(double operations) {
  round_result = static_cast<double>(now_ns() - round_begin) / operations;
  CthAwaken(driver);
}
double wait_round() {
  CthSuspend();
  return round_result;
}

struct Row {
  std::string name, text;
  double target, limit;  // ns (or bytes); 0: none
  std::vector<double> values;
};
struct Options {
  int rounds = 31;
  std::string only, json;
} options;
std::vector<Row> rows;

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.empty() ? 0 : v[v.size() / 2];
}

bool wanted(const std::string& name) {
  return options.only.empty() || ("," + options.only + ",").find("," + name + ",") != std::string::npos;
}

double measure(const char* name, const char* text, double target, double limit, const std::function<double()>& round,
               int rounds = 0) {
  if (!wanted(name)) return 0;
  Row row{name, text, target, limit, {}};
  if (rounds == 0) rounds = options.rounds;
  if (rounds > 1) round();  // warm
  for (int i = 0; i < rounds; ++i) row.values.push_back(round());
  std::sort(row.values.begin(), row.values.end());
  const double middle = median(row.values);
  const auto number = [](double v) {
    char text[32];
    std::snprintf(text, sizeof text, v >= 1000 ? "%.0f" : "%.1f", v);
    return std::string(v == 0 ? "" : text);
  };
  CkPrintf("%-14s %-56s %10s %10s %10s %10s %10s %s\n", name, text, number(row.values.front()).c_str(),
           number(row.values[row.values.size() / 10]).c_str(), number(middle).c_str(), number(limit).c_str(),
           number(target).c_str(),
           target == 0        ? ""
           : middle <= target ? "hit"
                              : "MISSED");
  std::fflush(stdout);
  rows.push_back(std::move(row));
  return middle;
}

void write_json() {
  if (options.json.empty()) return;
  std::FILE* file = std::fopen(options.json.c_str(), "w");
  if (!file) CkAbort("cannot write %s", options.json.c_str());
  std::fprintf(file, "{\"pes\": %d, \"processes\": %d, \"rounds\": %d, \"rows\": [", CkNumPes(), CkNumNodes(),
               options.rounds);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& r = rows[i];
    std::fprintf(file,
                 "%s\n  {\"name\": \"%s\", \"text\": \"%s\", \"best\": %.2f, \"p10\": %.2f, \"median\": %.2f, "
                 "\"limit\": %.2f, \"target\": %.2f}",
                 i ? "," : "", r.name.c_str(), r.text.c_str(), r.values.front(), r.values[r.values.size() / 10],
                 median(r.values), r.limit, r.target);
  }
  std::fprintf(file, "\n]}\n");
  std::fclose(file);
}

double resident_bytes() {
  long total = 0, resident = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

}  // namespace

class Leaf : public CBase_Leaf {
 public:
  explicit Leaf(int i) {
    made.push_back(this);
    if (i == 0) end_round(static_cast<double>(made.size()));
  }
  static std::vector<Leaf*> made;
};
std::vector<Leaf*> Leaf::made;

class Pair : public CBase_Pair {
  int left_ = 0;
  long sum_ = 0;
  CProxyElement_Pair other() { return thisProxy[1 - thisIndex]; }

 public:
  Pair() {}
  explicit Pair(CkMigrateMessage*) {}

  // --- to and fro: element 0 counts
  void serve(int n) {
    left_ = n;
    begin_round();
    rounds_ = n;
    other().ball(n);
  }
  void ball(CmiInt8 value) {
    if (thisIndex == 1) return other().ball(value);
    if (--left_ > 0) return other().ball(left_);
    end_round(2.0 * rounds_);
  }
  void serveToken(int n) {
    left_ = rounds_ = n;
    begin_round();
    Token* token = new Token;
    token->value = n;
    other().ballToken(token);
  }
  void ballToken(Token* token) {
    if (thisIndex == 1 || --left_ > 0) return other().ballToken(token);
    delete token;
    end_round(2.0 * rounds_);
  }
  void serveBlock(int n, int bytes) {
    left_ = rounds_ = n;
    Block* block = new (bytes) Block;
    begin_round();
    other().ballBlock(block);
  }
  void ballBlock(Block* block) {
    if (thisIndex == 1 || --left_ > 0) return other().ballBlock(block);
    delete block;
    end_round(2.0 * rounds_);
  }

  // --- one direction: element 1 says when it has them all
  void stream(int n) {
    rounds_ = n;
    begin_round();
    for (int i = n; i > 0; --i) other().drop(i);
  }
  void drop(CmiInt8 value) {
    sum_ += value;
    if (value == 1) other().received();
  }
  void streamTogether(int n) {
    rounds_ = n;
    begin_round();
    for (int i = n; i > 0; --i) other().dropTogether(i);
  }
  void dropTogether(CmiInt8 value) { drop(value); }
  void streamTokens(int n) {
    rounds_ = n;
    begin_round();
    for (int i = n; i > 0; --i) {
      Token* token = new Token;
      token->value = i;
      other().dropToken(token);
    }
  }
  void dropToken(Token* token) {
    sum_ += token->value;
    if (token->value == 1) other().received();
    delete token;
  }
  void received() {
    if (batches_ > 0) return nextBatch();
    end_round(rounds_);
  }

  // --- batches of 100
  void batchOther(int batches) {
    batches_ = batches;
    rounds_ = 100 * batches;
    begin_round();
    nextBatch();
  }
  void nextBatch() {
    --batches_;
    for (int i = 99; i >= 0; --i) other().count(i);
  }
  void count(int i) {
    sum_ += i;
    if (i != 0) return;
    if (thisIndex == 1) return other().received();
    if (--batches_ > 0) return sendSelf();
    end_round(rounds_);
  }
  void batchSelf(int batches) {
    batches_ = batches;
    rounds_ = 100 * batches;
    begin_round();
    sendSelf();
  }
  void sendSelf() {
    for (int i = 99; i >= 0; --i) thisProxy[thisIndex].count(i);
  }

  // --- without the queue
  void inlineCalls(int n) {
    begin_round();
    for (int i = 0; i < n; ++i) pairProxy[0].nudge(i);
    end_round(n);
  }
  void localCalls(int n) {
    begin_round();
    for (int i = 0; i < n; ++i) pairProxy[0].ckLocal()->nudge(i);
    end_round(n);
  }
  __attribute__((noinline)) void nudge(int i) { sum_ += i; }

  void makeLeaves(int n) {
    for (Leaf* leaf : Leaf::made) delete leaf;
    Leaf::made.clear();
    begin_round();
    for (int i = n - 1; i >= 0; --i) CProxy_Leaf::ckNew(i, CkMyPe());
  }

  // --- threads
  void batchThreaded(int n) {
    rounds_ = n;
    begin_round();
    for (int i = n - 1; i >= 0; --i) thisProxy[thisIndex].think(i);
  }
  void think(int i) {
    sum_ += i;
    if (i == 0) end_round(rounds_);
  }
  // Two threads, one an element, that yield to one another.
  void yielding(int n) {
    static int running = 0;
    if (++running == 1) begin_round();
    for (int i = 0; i < n; ++i) CthYield();
    if (--running == 0) end_round(2.0 * n);
  }
  void ask(int n) {
    begin_round();
    for (int i = 0; i < n; ++i) sum_ += other().answer(i);
    end_round(n);
  }
  int answer(int i) { return i + 1; }

 private:
  int rounds_ = 0, batches_ = 0;
};

class Many : public CBase_Many {
 public:
  Many() {}
  explicit Many(CkMigrateMessage*) {}
  void touch() { contribute(CkCallback(CkReductionTarget(Main, reduced), mainProxy)); }
};

constexpr std::size_t megabyte_of_doubles = (1 << 20) / sizeof(double);
std::vector<double>& of_pe() {
  static thread_local std::vector<double> bytes(megabyte_of_doubles, 1);
  return bytes;
}

class Few : public CBase_Few {
  CkSectionInfo cookie_;

 public:
  Few() {}
  explicit Few(CkMigrateMessage*) {}
  void touch(Part* part) {
    CkGetSectionInfo(cookie_, part);
    CProxySection_Few::contribute(cookie_, CkCallback(CkReductionTarget(Main, reduced), mainProxy));
  }
};

class Wide : public CBase_Wide {
  long sum_ = 0;

 public:
  Wide() {}
  explicit Wide(CkMigrateMessage*) {}
  void bytes(int n, const char* data) {
    sum_ += data[n - 1];
    contribute(CkCallback(CkReductionTarget(Main, reduced), mainProxy));
  }
  void block(Block* block) {
    sum_ += block->data[0];
    contribute(CkCallback(CkReductionTarget(Main, reduced), mainProxy));
  }
  // One megabyte of its own, or the same one as all elements of the PE.
  void sum(bool same) {
    if (!same && own_.empty()) own_.assign(megabyte_of_doubles, 1);
    contribute(same ? of_pe() : own_, CkReduction::sum_double, CkCallback(CkIndex_Main::summed(nullptr), mainProxy));
  }

 private:
  std::vector<double> own_;
};

// Goes to and fro between two PEs; PE 0 keeps the time.
class Nomad : public CBase_Nomad {
  std::vector<char> load_;
  int hops_ = 0;

 public:
  explicit Nomad(int bytes) : load_(static_cast<std::size_t>(bytes), 'x') {}
  explicit Nomad(CkMigrateMessage*) {}
  void travel(int hops) {
    hops_ = hops;
    total = hops;
    begin_round();
    migrateMe(1 - CkMyPe());
  }
  void ckJustMigrated() override {
    if (--hops_ > 0) return migrateMe(1 - CkMyPe());
    end_round(total);
  }
  void pup(PUP::er& p) override {
    p | hops_;
    p | load_;
  }
  static int total;
};
int Nomad::total;

class Everywhere : public CBase_Everywhere {
  std::uint64_t met_ = 0;

 public:
  Everywhere() {}
  void poke() { contribute(CkCallback(CkReductionTarget(Main, reduced), mainProxy)); }
  void sum() { contribute(of_pe(), CkReduction::sum_double, CkCallback(CkIndex_Main::summed(nullptr), mainProxy)); }
  void hop(int left) {
    if (left > 0) return thisProxy[(CkMyPe() + 1) % CkNumPes()].hop(left - 1);
    end_round(1);
  }
  // Both PEs run this at once; its last round on PE 0 ends the driver's.
  void bare(CmiUInt8 memory, int which, int n) {
    using namespace periapt::bare;
    auto& shared = *reinterpret_cast<Bare*>(memory);
    Meeting meet(shared, met_);
    meet();
    const double ns = which == 0   ? bounce_one_line(shared, CkMyPe(), n, meet)
                      : which == 1 ? ring_ping_pong(shared, CkMyPe(), n, meet)
                                   : ring_stream(shared, CkMyPe(), n, meet);
    meet();
    met_ = meet.passed();
    if (CkMyPe() != 0) return;
    round_result = ns;
    CthAwaken(driver);
  }
};

class Main : public CBase_Main {
  int operations_ = 1;

 public:
  explicit Main(CkArgMsg* m) {
    for (int i = 1; i < m->argc; ++i) {
      const std::string option = m->argv[i];
      const bool more = i + 1 < m->argc;
      if (option == "--rounds" && more) {
        options.rounds = std::max(1, std::atoi(m->argv[++i]));
      } else if (option == "--only" && more) {
        options.only = m->argv[++i];
      } else if (option == "--json" && more) {
        options.json = m->argv[++i];
      } else {
        CkAbort("figures: what is %s? Options: --rounds N, --only row,row, --json FILE", option.c_str());
      }
    }
    delete m;
    mainProxy = thisProxy;
    pairProxy = CProxy_Pair::ckNew(2);
    everywhere = CProxy_Everywhere::ckNew();
    wideProxy = CProxy_Wide::ckNew(64 * CkNumPes());
    thisProxy.run();
  }

  void reduced() { end_round(operations_); }
  void quiet() { end_round(operations_); }
  void summed(CkReductionMsg* message) {
    delete message;
    end_round(operations_);
  }

  void run() {
    driver = CthSelf();
    CkPrintf("%d PEs, %d processes; ns unless said otherwise\n", CkNumPes(), CkNumNodes());
    CkPrintf("%-14s %-56s %10s %10s %10s %10s %10s\n", "row", "", "best", "10 %", "median", "limit", "target");
    if (CkNumPes() == 1) one_pe();
    if (CkNumPes() == 2) two_pes();
    if (CkNumPes() > 2) reductions();
    if (CkNumPes() > 1) section();
    ring();
    write_json();
    CkExit();
  }

 private:
  double bare(void* memory, int which, int n) {
    everywhere.bare(reinterpret_cast<CmiUInt8>(memory), which, n);
    return wait_round();
  }

  void one_pe() {
    measure("self", "marshalled int on the own PE, through the queue", 30, 0, [] {
      pairProxy[0].batchSelf(20);
      return wait_round();
    });
    measure("inline", "[inline] call of a local element", 10, 0, [] {
      pairProxy[0].inlineCalls(10000);
      return wait_round();
    });
    measure("cklocal", "call through ckLocal()", 5, 0, [] {
      pairProxy[0].localCalls(10000);
      return wait_round();
    });
    measure("chare", "a chare created and run on the own PE", 90, 0, [] {
      pairProxy[0].makeLeaves(1000);
      return wait_round();
    });
    measure("threaded", "[threaded] entry", 70, 0, [] {
      pairProxy[0].batchThreaded(1000);
      return wait_round();
    });
    measure("yield", "Cth yield, two threads in turn", 15, 0, [] {
      pairProxy[0].yielding(5000);
      pairProxy[1].yielding(5000);
      return wait_round();
    });
    elements();
  }

  void two_pes() {
    const bool threads = CkNumNodes() == 1;
    // Its memory is mapped by every process.
    Block* shared = new (static_cast<int>(sizeof(periapt::bare::Bare)) + 64) Block;
    void* bare_memory =
        reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(shared->data) + 63) & ~std::uintptr_t{63});
    std::memset(bare_memory, 0, sizeof(periapt::bare::Bare));
    const double line =
        measure("bare-line", "bare: one cache line bounced, one way", 0, 0, [&] { return bare(bare_memory, 0, 2000); });
    const double cell = measure("bare-ring", "bare: ring of one-line cells, 8 B, one way", 0, 0,
                                [&] { return bare(bare_memory, 1, 2000); });
    const double flow = measure("bare-stream", "bare: ring of one-line cells, stream of 8 B", 0, 0,
                                [&] { return bare(bare_memory, 2, 20000); });

    measure("oneway", "one way, 8 B array message, marshalled", 200, cell, [] {
      pairProxy[0].serve(1000);
      return wait_round();
    });
    measure("oneway-msg", "one way, 8 B array message, message", 200, cell, [] {
      pairProxy[0].serveToken(1000);
      return wait_round();
    });
    measure("oneway-4m", "one way, 4 MB message, contents not read", 500, cell, [] {
      pairProxy[0].serveBlock(1000, 4 << 20);
      return wait_round();
    });
    measure("stream", "stream of 8 B, each, marshalled", 25, flow, [] {
      pairProxy[0].stream(10000);
      return wait_round();
    });
    measure("stream-aggr", "stream of 8 B, each, [aggregate]", 25, flow, [] {
      pairProxy[0].streamTogether(10000);
      return wait_round();
    });
    measure("stream-msg", "stream of 8 B, each, message", 25, flow, [] {
      pairProxy[0].streamTokens(10000);
      return wait_round();
    });
    measure("batch", "marshalled int to another PE, batches of 100", 40, flow, [] {
      pairProxy[0].batchOther(20);
      return wait_round();
    });
    measure("sync", "[sync] call to another PE, round trip", 600, 2 * line, [] {
      pairProxy[0].ask(500);
      return wait_round();
    });
    measure("group", "group broadcast + empty reduction", 800, 2 * line, [this] {
      double sum = 0;
      for (int i = 0; i < 200; ++i) sum += collective([] { everywhere.poke(); });
      return sum / 200;
    });
    measure("quiescence", "quiescence detection, idle", 2000, 4 * line, [this] {
      double sum = 0;
      for (int i = 0; i < 200; ++i) sum += collective([] { CkStartQD(CkCallback(CkIndex_Main::quiet(), mainProxy)); });
      return sum / 200;
    });
    const double copy = measure("copy-1m", "bare: memcpy of 1 MB", 0, 0, [] {
      static std::vector<char> from(1 << 20, 'x'), to(1 << 20);
      const std::uint64_t begin = now_ns();
      std::memcpy(to.data(), from.data(), from.size());
      asm volatile("" : : "r"(to.data()) : "memory");
      return static_cast<double>(now_ns() - begin);
    });
    measure("bcast-msg", "broadcast of 1 MB to 64 elements a PE, [nokeep] message", 50000, 0, [this] {
      Block* block = new (1 << 20) Block;
      std::memset(block->data, 'x', 1 << 20);
      return collective([block] { wideProxy.block(block); });
    });
    static std::vector<char> bytes(1 << 20, 'x');
    measure("bcast", "the same, marshalled", 50000, copy,
            [this] { return collective([] { wideProxy.bytes(1 << 20, bytes.data()); }); });
    reductions();
    migration("migrate-100", "migration of an element of 100 B", 100, 800);
    migration("migrate-100k", "migration of an element of 100 KB", 100 << 10, 10000);
    if (threads) elements();
  }

  void reductions() {
    measure("reduce-group", "sum of 1 MB of doubles of each member of a group", 110000, 0,
            [this] { return collective([] { everywhere.sum(); }); });
    measure("reduce-same", "the same of 64 elements a PE, one buffer for all of them", 0, 0,
            [this] { return collective([] { wideProxy.sum(true); }); });
    measure("reduce-array", "... each with a buffer of its own", 3500000, 0,
            [this] { return collective([] { wideProxy.sum(false); }); });
  }

  void section() {
    if (!wanted("section")) return;
    CProxy_Few few = CProxy_Few::ckNew(4096);
    CProxySection_Few some = CProxySection_Few::ckNew(few.ckGetArrayID(), 0, 4095, 64);
    measure("section", "section multicast + reduction, 64 of 4096 elements", 0, 0, [&] {
      double sum = 0;
      for (int i = 0; i < 200; ++i) sum += collective([&] { some.touch(new Part); });
      return sum / 200;
    });
  }

  double collective(const std::function<void()>& start) {
    operations_ = 1;
    begin_round();
    start();
    return wait_round();
  }

  void migration(const char* name, const char* text, int bytes, double target) {
    if (!wanted(name)) return;
    CProxy_Nomad nomad = CProxy_Nomad::ckNew(bytes, 1);
    measure(name, text, target, 0, [&] {
      nomad[0].travel(bytes > 10000 ? 20 : 200);  // short rounds: the cores may be shared
      return wait_round();
    });
  }

  void elements() {
    if (!wanted("elements")) return;
    constexpr int count = 1000000;
    const double before = resident_bytes();
    const std::uint64_t begin = now_ns();
    CProxy_Many many = CProxy_Many::ckNew(count);
    const double made = static_cast<double>(now_ns() - begin) / count;  // +p1: all of them
    operations_ = 1;
    begin_round();
    many.touch();
    wait_round();
    const double whole = static_cast<double>(now_ns() - begin) / count;
    const double size = (resident_bytes() - before) / count;
    const bool alone = CkNumPes() == 1;
    options.only.clear();
    if (alone)
      measure(
          "create-1m", "1 million array elements: creation, each", 150, 0, [=] { return made; }, 1);
    if (alone)
      measure(
          "bytes-1m", "1 million array elements: bytes each", 250, 0, [=] { return size; }, 1);
    measure(
        "create+1m", "their creation and first broadcast + reduction, each", 0, 0, [=] { return whole; }, 1);
    measure(
        "sweep-1m", "broadcast + reduction over them, each", alone ? 0 : 25, 0,
        [&] { return collective([&] { many.touch(); }) / count; }, 9);
  }

  void ring() {
    if (!wanted("ring") || CkNumPes() == 1 || (CkNumPes() == 2 && options.only.empty())) return;
    // 1e6 hops in all, in rounds shorter than a time slice.
    constexpr int hops = 10000;
    measure(
        "ring", "ring of 1e6 hops over the PEs, each hop", 0, 0,
        [] {
          begin_round();
          everywhere[0].hop(hops - hops % CkNumPes());  // ends on PE 0
          return wait_round() / hops;
        },
        1000000 / hops);
  }
};

#include "figures.def.h"
