// [sync], [iget], [local], [nokeep] and [aggregate] on entries with bodies, and on such as a when waits for.
#include <set>
#include <vector>

#include "pup_stl.h"

class Note;
#include "attributes.decl.h"

CProxy_Main main_proxy;

namespace {
constexpr int piece_count = 8, note_count = 200;
void require(bool right, const char* what) {
  if (!right) CkAbort("attributes: %s\n", what);
}
}  // namespace

class Note : public CMessage_Note {
 public:
  explicit Note(int value) : value(value) {}
  int value;
};

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* m) {
    const bool leaves = m->argc > 1;
    delete m;
    main_proxy = thisProxy;
    if (leaves)
      CProxy_Piece(CProxy_Piece::ckNew(1))[0].point_and_leave();
    else
      thisProxy.run();
  }
  void run() {
    CProxy_Piece pieces = CProxy_Piece::ckNew(piece_count);
    CProxy_Piece::proxy_t::element_t piece = pieces[piece_count - 1];
    piece.begin(7);
    piece.more(3);
    require(next() == 307, "a [sync] body has not done what stands before its first when");
    piece.whole(4);
    piece.by_message(new Note(20));
    const CkFutureID future = piece.got(100);
    CkFreeMsg(CkWaitFutureID(future));
    piece.as_function(500);
    piece.report();
    require(next() == 1128, "a [sync] or [iget] body was answered too early, or has not run");

    // Messages of two sorts, to elements that move in between; each is freed, so that addresses come again.
    for (int i = 0; i < note_count; ++i) {
      pieces.kept(new Note(i));
      pieces.also(new Note(i + 1));
      require(next() == piece_count, "a [nokeep] body has not run");
      pieces.plain(i);
      pieces.also(new Note(i));
      require(next() == piece_count, "a [nokeep] body with plain arguments has not run");
    }

    pieces[0].call_local(5);
    pieces[0].heard(9);
    require(next() == 50, "a [local] body has not gone on");
    pieces.together(1);
    for (int i = 0; i < piece_count; ++i) pieces[i].heard(2);
    require(next() == piece_count, "an [aggregate] entry has not come to a when");

    CProxy_Member members = CProxy_Member::ckNew();
    for (int pe = 0; pe < CkNumPes(); ++pe) {
      members[pe].begin(100 * pe);
      members[pe].report();
      require(next() == 100 * pe + 11, "a [sync] or [local] body of a group has not run");
    }
    members[0].call_through();
    members[0].more(100);
    require(next() == 1112, "a [local] body has not kept a pointer");
    CkPrintf("all checks passed\n");
    CkExit();
  }
  void found(int value) {
    values_.push_back(value);
    if (waiting_) CthAwaken(std::exchange(waiting_, nullptr));
  }
  void all_counted(int sum) { found(sum); }
  void taken(int distinct) { require(distinct < note_count, "messages of [nokeep] entries are never freed"); }

 private:
  int next() {
    while (values_.empty()) {
      waiting_ = CthSelf();
      CthSuspend();
    }
    const int value = values_.front();
    values_.erase(values_.begin());
    return value;
  }

  std::vector<int> values_;
  CthThread waiting_ = nullptr;
};

class Piece : public CBase_Piece {
  Piece_SDAG_CODE

      public : Piece() = default;
  explicit Piece(CkMigrateMessage*) {}
  void pup(PUP::er& p) override {
    p | log;
    p | moves_;
    p | notes_;
  }
  void roam() {
    if ((thisIndex + ++moves_) % 3 == 0) migrateMe((CkMyPe() + 1) % CkNumPes());
  }
  void address(Note* m) {
    static thread_local std::set<void*> seen;
    seen.insert(m);
    if (++notes_ == 2 * note_count) main_proxy.taken(static_cast<int>(seen.size()));
  }
  static void check(const Note* m, const Note* n) { require(n->value == m->value + 1, "another message has come"); }
  static void check(const Note* m, int n) { require(m->value == n, "another message has come"); }
  void count() {
    int one = 1;
    contribute(sizeof one, &one, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, all_counted), main_proxy));
  }
  int log = 0;

 private:
  int moves_ = 0, notes_ = 0;
};

class Member : public CBase_Member {
  Member_SDAG_CODE

      public : Member() = default;
  void anywhere() {}
  static void twice(int* value) { *value *= 2; }
  int log = 0;
};

#include "attributes.def.h"
