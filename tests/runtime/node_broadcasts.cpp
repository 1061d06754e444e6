// Every PE broadcasts to a node group, from its constructor on: small and large arguments, messages that each receiver
// writes into and deletes, expedited and exclusive entries. Each process gets each of them once and as it was sent.
//   node_broadcasts [ROUNDS]
#include <atomic>
#include <cstdlib>
#include <vector>

#include "node_broadcasts.decl.h"

CProxy_Main mainProxy;
CProxy_Member members;
CProxy_Sender senders;
int rounds;

namespace {
constexpr int large_words = 5000;
int word(int from, int i) { return 31 * from + i; }
int letter_words(int round) { return 1 + round * 37 % 900; }
}  // namespace

struct Letter : CMessage_Letter {
  int from, count;
  int* words;
};

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* args) {
    rounds = args->argc > 1 ? std::atoi(args->argv[1]) : 20;
    delete args;
    mainProxy = thisProxy;
    members = CProxy_Member::ckNew();
    senders = CProxy_Sender::ckNew();
    CkStartQD(CkCallback(CkIndex_Main::quiet(), thisProxy));
  }
  void quiet() { members.tell(); }
  void counted(int n, std::int64_t* sums) {
    const std::int64_t each = std::int64_t{rounds} * CkNumPes() * CkNumNodes();
    bool right = n == 5 && sums[4] == 0;
    for (int i = 0; i < 4; ++i) right = right && sums[i] == each;
    CkPrintf("%ld small, %ld large, %ld letters, %ld hurried of %ld each; %ld wrong\n", long(sums[0]), long(sums[1]),
             long(sums[2]), long(sums[3]), long(each), long(sums[4]));
    CkExit(right ? 0 : 1);
  }
};

class Sender : public CBase_Sender {
 public:
  Sender() { send(); }
  void send() {
    members.small(CkMyPe(), round_);
    std::vector<int> words(large_words);
    for (int i = 0; i < large_words; ++i) words[i] = word(CkMyPe(), i);
    members.large(CkMyPe(), large_words, words.data());
    const int count = letter_words(round_);
    Letter* letter = new (count) Letter;
    letter->from = CkMyPe();
    letter->count = count;
    for (int i = 0; i < count; ++i) letter->words[i] = word(CkMyPe(), i);
    members.letter(letter);
    members.hurried(CkMyPe());
    if (++round_ < rounds) thisProxy[(CkMyPe() + round_) % CkNumPes()].send();
  }

 private:
  int round_ = 0;
};

// Its entries run on all PEs of the process at once.
class Member : public CBase_Member {
 public:
  Member() = default;
  void small(int from, int round) {
    if (from < 0 || from >= CkNumPes() || round < 0) ++wrong_;
    ++small_;
  }
  void large(int from, int n, const int* words) {
    for (int i = 0; i < n; ++i) wrong_ += words[i] != word(from, i);
    ++large_;
  }
  void letter(Letter* letter) {
    for (int i = 0; i < letter->count; ++i) {
      wrong_ += letter->words[i] != word(letter->from, i);
      letter->words[i] = -1;  // each receiver's is its own
    }
    delete letter;
    ++letters_;
  }
  void hurried(int) { ++hurried_; }
  void tell() {
    const std::vector<std::int64_t> sums{small_, large_, letters_, hurried_, wrong_};
    contribute(sums, CkReduction::sum_long_long, CkCallback(CkReductionTarget(Main, counted), mainProxy));
  }

 private:
  std::atomic<std::int64_t> small_{0}, large_{0}, letters_{0}, hurried_{0}, wrong_{0};
};

#include "node_broadcasts.def.h"
