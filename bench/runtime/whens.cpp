// What a when of SDAG costs, beside an ordinary entry. bench/figures prints its rows; which it has depends on the
// layout:
//
//   whens +p1   two elements of one PE, and the messages that an element keeps
//   whens +p2   two elements of two PEs
//
//   whens [--rounds N] [--only row,row...] [--json FILE]
//
// A call to and fro counts as two. The rounds are shorter than a time slice, because the cores may be shared.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/flat_map.h"
#include "whens.decl.h"

/*readonly*/ CProxy_Main mainProxy;

using periapt::clock::now_ns;

namespace {
constexpr int calls = 2000, keeps = 100000;

struct Row {
  const char* name;
  const char* text;
  int pes;  // of the layout that has it
  double target;
  std::vector<double> values, limits;  // of each round; limits: only where the row has one
};
std::vector<Row> table = {
    {"plain", "a call of an entry, 4 B, same PE, one way", 1, 0, {}, {}},
    {"when", "a when in a loop, same PE, one way", 1, 100, {}, {}},
    {"when-number", "the same with a reference number", 1, 0, {}, {}},
    {"when-among", "the same with 100000 others that are kept", 1, 150, {}, {}},
    {"when-take", "a when that finds its message among 100000", 1, 150, {}, {}},
    {"plain-far", "a call of an entry, 4 B, other PE, one way", 2, 0, {}, {}},
    {"when-far", "a when in a loop, other PE, one way", 2, 400, {}, {}},
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The limit of when-take: the same number of lines, of one cache line each, found by a number in the same hash, read,
// and put back. No runtime, no call, no body.
class BareLines {
 public:
  BareLines() : lines_(keeps), numbers_(keeps) {
    std::iota(numbers_.begin(), numbers_.end(), calls);
    std::shuffle(numbers_.begin(), numbers_.end(), dice_);
    for (int i = 0; i < keeps; ++i) put(&lines_[static_cast<std::size_t>(i)], numbers_[static_cast<std::size_t>(i)]);
  }
  // Takes `n` of them, each by a number that the one before has no part in, but that the processor does not get ahead
  // of.
  double take(int n) {
    std::shuffle(numbers_.begin(), numbers_.end(), dice_);
    std::vector<Line*> taken;
    taken.reserve(static_cast<std::size_t>(n));
    std::uint64_t last = 0;
    const std::uint64_t begin = now_ns();
    for (int i = 0; i < n; ++i) {
      const auto key = static_cast<std::uint64_t>(numbers_[static_cast<std::size_t>(i)]) + (last & no_bits);
      Line* line = *by_number_.find(key);
      last = line->number;
      by_number_.erase(key);
      taken.push_back(line);
    }
    const double each = static_cast<double>(now_ns() - begin) / n;
    for (int i = 0; i < n; ++i) put(taken[static_cast<std::size_t>(i)], numbers_[static_cast<std::size_t>(i)]);
    return each;
  }

 private:
  struct alignas(64) Line {
    std::uint64_t number;
  };
  void put(Line* line, int number) {
    line->number = static_cast<std::uint64_t>(number);
    by_number_[line->number] = line;
  }
  static constexpr std::uint64_t no_bits = std::uint64_t{1}
                                           << 63;  // of a number: the sum waits for the line all the same

  std::vector<Line> lines_;
  std::vector<int> numbers_;
  periapt::FlatMap<Line*> by_number_;
  std::mt19937 dice_;
};
}  // namespace

class Pair : public CBase_Pair {
  Pair_SDAG_CODE std::uint64_t begin_ = 0;
  int left_ = 0;
  std::mt19937 dice_;
  CProxyElement_Pair other() { return thisProxy[1 - thisIndex]; }

 public:
  int at = 0;
  long sum = 0;
  std::vector<int> numbers;  // of what element 0 keeps
  Pair() {}
  explicit Pair(CkMigrateMessage*) {}
  void begin() { begin_ = now_ns(); }
  void end(int n) { mainProxy.done(static_cast<double>(now_ns() - begin_) / n); }
  void ended(int n) {
    if (thisIndex == 0) end(2 * n);
  }
  void plain(int n) {
    left_ = n;
    if (thisIndex != 0) return;
    begin();
    other().ball(n);
  }
  void ball(int left) {
    if (thisIndex == 1) return other().ball(left);
    if (--left > 0) return other().ball(left);
    end(2 * left_);
  }
  // Has `n` messages that no when asks for yet.
  void keep(int n) {
    numbers.resize(static_cast<std::size_t>(n));
    std::iota(numbers.begin(), numbers.end(), calls);
    shuffle();
    putBack(n);
  }
  void shuffle() { std::shuffle(numbers.begin(), numbers.end(), dice_); }
  void putBack(int n) {
    for (int i = 0; i < n; ++i) thisProxy[thisIndex].kept(numbers[static_cast<std::size_t>(i)], 1);
  }
};

class Main : public CBase_Main {
  Main_SDAG_CODE CProxy_Pair pair_;
  std::string only_, json_;
  bool kept_ = false;
  std::unique_ptr<BareLines> bare_;

 public:
  int row = 0, turn = 0, rounds = 31;
  explicit Main(CkArgMsg* m) {
    for (int i = 1; i + 1 < m->argc; i += 2) {
      const std::string option = m->argv[i];
      if (option == "--rounds") rounds = std::max(1, std::atoi(m->argv[i + 1]));
      if (option == "--only") only_ = m->argv[i + 1];
      if (option == "--json") json_ = m->argv[i + 1];
    }
    delete m;
    mainProxy = thisProxy;
    table.erase(std::remove_if(table.begin(), table.end(), [this](const Row& r) { return !wanted(r); }), table.end());
    pair_ = CProxy_Pair::ckNew(2);
    thisProxy.run();
  }
  int rows() const { return static_cast<int>(table.size()); }
  void start() {
    const std::string name = table[static_cast<std::size_t>(row)].name;
    if (name.rfind("plain", 0) == 0) pair_.plain(calls);
    if (name == "when" || name == "when-far") pair_.whens(calls);
    if (name == "when-number") pair_.numbered(calls);
    if (!kept_ && (name == "when-among" || name == "when-take")) {
      pair_[0].keep(keeps);
      kept_ = true;
    }
    if (name == "when-among") pair_.among(calls);
    if (name == "when-take") pair_[0].take(calls);
  }
  // The first round only warms.
  void note(double ns) {
    Row& of = table[static_cast<std::size_t>(row)];
    if (turn > 0) of.values.push_back(ns);
    if (std::string(of.name) != "when-take") return;
    if (!bare_) bare_ = std::make_unique<BareLines>();
    const double limit = bare_->take(calls);
    if (turn > 0) of.limits.push_back(limit);
  }
  void report() {
    std::FILE* file = json_.empty() ? nullptr : std::fopen(json_.c_str(), "w");
    if (!file && !json_.empty()) CkAbort("cannot write %s", json_.c_str());
    if (file) std::fprintf(file, "{\"rows\": [");
    for (Row& r : table) {
      std::sort(r.values.begin(), r.values.end());
      const double best = r.values.front(), p10 = r.values[r.values.size() / 10], limit = median(r.limits);
      CkPrintf("%-12s %-48s best %7.1f, median %7.1f ns", r.name, r.text, best, median(r.values));
      CkPrintf(limit > 0 ? " (bare hash and line %.1f)\n" : "\n", limit);
      if (file)
        std::fprintf(file,
                     "%s\n{\"name\": \"%s\", \"text\": \"%s\", \"best\": %.2f, \"p10\": %.2f, \"median\": %.2f, "
                     "\"limit\": %.2f, \"target\": %.0f}",
                     &r == table.data() ? "" : ",", r.name, r.text, best, p10, median(r.values), limit, r.target);
    }
    if (file) std::fprintf(file, "\n]}\n");
    if (file) std::fclose(file);
    CkExit();
  }

 private:
  bool wanted(const Row& r) const {
    if (r.pes != std::min(CkNumPes(), 2)) return false;
    return only_.empty() ||
           (',' + only_ + ',').find(std::string(1, ',').append(r.name).append(1, ',')) != std::string::npos;
  }
};

#include "whens.def.h"
