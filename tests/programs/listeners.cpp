// Each step of Main changes the arrays, waits until all is quiet, and has what the listeners heard added up.
// Usage: listeners [FOLDER | twice | greedy]. With a folder it stops at a checkpoint there; the others are mistakes.
#include "listeners.decl.h"

CProxy_Main mainProxy;
CProxy_Desk desks;

namespace {
constexpr int max_pes = 64;
constexpr int stamp_unit = 10000;  // a stamp is the PE that made it, times this, and a number
enum { at_pieces, also_at_pieces, at_partners, at_mapped, at_late };
constexpr int kinds = at_late + 1;
constexpr int unwanted = 9999;  // the listener destroys it as soon as it is made
constexpr int first_pieces = 24, more_pieces = 12;

void require(bool right, const char* what) {
  if (!right) CkAbort("%s", what);
}
}  // namespace
class Census;
static Census* heard[max_pes][kinds];  // the listeners of each PE

enum Event { registered, begun, ended, stamped, creating, created, died, leaving, arriving, here };
constexpr int events = here + 1;

class Piece : public CBase_Piece {
 public:
  int kind = -1, from = -1, stamp = -1, moves = 0;
  bool packed = false, alive = true;

  Piece(int kind, int from);
  explicit Piece(CkMigrateMessage*) {
    require(thisArray->getLocMgr() == thisArray, "no array in a migration constructor");
  }
  ~Piece() override { alive = false; }
  void pup(PUP::er& p) override {
    p | kind;
    p | from;
    p | stamp;
    p | moves;
    if (p.isPacking()) packed = true;
  }
  void check();
  void move(int to) {
    if (to != CkMyPe()) migrateMe(to);
  }
  void wander(int times) {
    check();
    if (times == 0) return;
    thisProxy[thisIndex].wander(times - 1);
    move((CkMyPe() + 1 + times % 2) % CkNumPes());
  }
  void ckAboutToMigrate() override { ++moves; }
  void rest() {
    check();
    AtSync();
  }
  void ResumeFromSync() override { check(); }
};

// Counts what it hears. Its ints of each element: the stamp, and how often the element has left a PE.
class Census : public CkArrayListener {
 public:
  int kind = -1;
  int counts[events] = {};
  int since_restart = 0;  // elements that arrived
  CkArray* array = nullptr;

  explicit Census(int kind, int ints = 2) : CkArrayListener(ints), kind(kind) {}
  explicit Census(CkMigrateMessage* m) : CkArrayListener(m) {}
  PUPable_decl(Census);
  void pup(PUP::er& p) override {
    CkArrayListener::pup(p);
    p | kind;
    PUParray(p, counts, events);
  }

  void hear(Event event) {
    heard[CkMyPe()][kind] = this;
    const Census* first = heard[CkMyPe()][at_pieces];
    if (kind == also_at_pieces)
      require(first && first->counts[event] == counts[event] + 1, "the second listener hears before the first");
    ++counts[event];
  }
  Piece& piece(ArrayElement* element) {
    require(element->ckGetArrayManager() == CkArrayID(element->ckGetArrayID()).ckLocalBranch(), "of another array");
    auto* piece = dynamic_cast<Piece*>(element);
    require(piece != nullptr, "the object is no longer whole");
    return *piece;
  }

  void ckRegister(CkArray* mine, int offset) override {
    CkArrayListener::ckRegister(mine, offset);
    array = mine;
    require(offset == (kind == also_at_pieces ? 2 : 0) && offset == ckGetOffset() && ckGetLen() == 2, "its ints");
    hear(registered);
  }
  void ckBeginInserting() override { hear(begun); }
  void ckEndInserting() override { hear(ended); }
  void ckElementStamp(int* data) override {
    data[0] = CkMyPe() * stamp_unit + counts[stamped];
    data[1] = 0;
    hear(stamped);
  }
  void ckElementCreating(ArrayElement* element) override {
    require(array->lookup(element->ckGetArrayIndex()) == element, "an element that is not there is being made");
    require(dynamic_cast<Piece*>(element) == nullptr, "it is made already");
    require(ckGetData(element)[1] == 0, "its ints are not there yet");
    hear(creating);
    ++counts[here];
  }
  bool ckElementCreated(ArrayElement* element) override {
    require(piece(element).kind >= 0, "its constructor has not run");
    hear(created);
    if (element->ckGetArrayIndex().index[0] != unwanted) return true;
    element->ckDestroy();
    return false;
  }
  void ckElementDied(ArrayElement* element) override {
    require(piece(element).alive && ckGetData(element)[1] == piece(element).moves, "it has ended already");
    hear(died);
    --counts[here];
  }
  void ckElementLeaving(ArrayElement* element) override {
    require(!piece(element).packed, "it is packed already");
    ++ckGetData(element)[1];
    hear(leaving);
    --counts[here];
  }
  bool ckElementArriving(ArrayElement* element) override {
    require(piece(element).kind >= 0 && ckGetData(element)[1] == piece(element).moves, "it is not unpacked yet");
    hear(arriving);
    ++counts[here];
    ++since_restart;
    return true;
  }
};

Piece::Piece(int kind, int from) : kind(kind), from(from) {
  usesAtSync = true;
  stamp = heard[CkMyPe()][kind]->ckGetData(this)[0];
  if (from < 0) this->from = CkMyPe();
  require(stamp / stamp_unit == this->from, "it is stamped on another PE than that of insert()");
}

void Piece::check() {
  CkArray* array = thisArray;
  require(array == CkArrayID(thisArrayID).ckLocalBranch(), "thisArray is another one");
  require(thisArray->lookup(CkArrayIndex1D(thisIndex)) == this && thisArray->lookup(ckGetID()) == this, "lookup()");
  require(thisArray->getGroupID() == CkGroupID(thisArrayID) && thisArray->getLocMgr()->getNumLocalElems() > 0,
          "its number");
  require(thisArray->homePe(ckGetArrayIndex()) < CkNumPes(), "its home");
  const int* data = heard[CkMyPe()][kind]->ckGetData(this);
  require(data[0] == stamp && data[1] == moves, "the ints are another element's");
  if (kind == at_pieces) require(heard[CkMyPe()][also_at_pieces]->ckGetData(this)[1] == moves, "the second's ints");
}

class Desk : public CBase_Desk {
 public:
  Desk() {}
  explicit Desk(CkMigrateMessage*) {}
  // For its neighbour.
  void insert(CkArrayID array, int kind) {
    CProxy_Piece pieces(array);
    for (int k = 0; k < 3; ++k) pieces[1000 + 3 * CkMyPe() + k].insert(kind, CkMyPe(), (CkMyPe() + 1) % CkNumPes());
  }
  // Of each listener what it heard.
  void audit(bool restarted) {
    std::vector<int> counts;
    for (Census* census : heard[CkMyPe()]) {
      // Where no element of an array has come to a PE since a restart, there is still the end of its insertion.
      for (int event = 0; event < events; ++event) counts.push_back(census ? census->counts[event] : 0);
      if (restarted && census) counts.back() = census->since_restart;
    }
    contribute(counts, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, audited), mainProxy));
  }
};

class Main : public CBase_Main {
  CProxy_Piece pieces_, partners_, mapped_, late_;
  std::string folder_;
  int step_ = 0;
  int made_[kinds] = {}, gone_[kinds] = {};
  int pes_ = 0;

 public:
  Main(CkArgMsg* m) {
    const std::string what = m->argc > 1 ? m->argv[1] : "";
    delete m;
    pes_ = CkNumPes();
    mainProxy = thisProxy;
    desks = CProxy_Desk::ckNew();
    CkArrayOptions two(first_pieces);
    two.addListener(new Census(at_pieces)).addListener(new Census(also_at_pieces));
    require(two.getListeners() == 2, "the options have two");
    if (what == "greedy") two.addListener(new Census(at_late, 5));
    pieces_ = CProxy_Piece::ckNew(static_cast<int>(at_pieces), -1, two);
    require(two.getListeners() == 2 && two.getListener(0) != nullptr, "the options lose theirs");
    CkArrayOptions bound(first_pieces);
    bound.bindTo(pieces_).addListener(new Census(at_partners));
    partners_ = CProxy_Piece::ckNew(static_cast<int>(at_partners), -1, bound);
    CkArrayOptions mapped(first_pieces);
    mapped.setMap(CProxy_RRMap::ckNew()).addListener(new Census(at_mapped));
    mapped_ = CProxy_Piece::ckNew(static_cast<int>(at_mapped), -1, mapped);
    CkArrayOptions empty;
    empty.addListener(new Census(at_late));
    if (what.empty()) empty.addListener(new CkVerboseListener);
    late_ = CProxy_Piece::ckNew(empty);
    if (what == "twice") pieces_.ckLocalBranch()->addListener(heard[0][at_pieces]);
    for (int kind : {at_pieces, also_at_pieces, at_partners, at_mapped}) made_[kind] = first_pieces;
    if (what != "greedy") folder_ = what;
    wait();
  }
  explicit Main(CkMigrateMessage*) {}
  void pup(PUP::er& p) override {
    p | pieces_;
    p | partners_;
    p | mapped_;
    p | late_;
    p | folder_;
    p | step_;
    p | pes_;
    PUParray(p, made_, kinds);
    PUParray(p, gone_, kinds);
  }

  void wait() { CkStartQD(CkCallback(CkIndex_Main::step(), thisProxy)); }
  void step() { desks.audit(false); }
  void audited(int n, int* sums) {
    require(n == kinds * events, "not all have said what they heard");
    if (step_ == 5) return restarted(sums);
    for (int kind = 0; kind < kinds; ++kind) {
      const int* sum = sums + kind * events;
      require(sum[registered] == pes_ && sum[begun] == pes_, "each PE hears of the array once");
      require(sum[ended] == (kind == at_late && step_ < 2 ? 0 : pes_), "the end of insertion");
      require(sum[stamped] == made_[kind] && sum[creating] == made_[kind] && sum[created] == made_[kind],
              "who is made");
      require(sum[died] == gone_[kind], "who ends");
      require(sum[leaving] == sum[arriving], "who leaves and arrives");
      require(sum[here] == made_[kind] - gone_[kind], "who is there");
    }
    const int moves = sums[at_pieces * events + leaving];
    require(moves == sums[at_partners * events + leaving] || step_ != 3, "bound elements move together");
    require((moves > 0) == (step_ > 2 && pes_ > 1), "nobody has moved");
    if (step_ == 4 && folder_.empty()) finish();
    ++step_;
    change();
  }

  void change() {
    if (step_ == 1) {  // from other PEs, beside those bound to them, into an array that began empty
      for (int i = 0; i < more_pieces; ++i) {
        pieces_[first_pieces + i].insert(static_cast<int>(at_pieces), CkMyPe());
        partners_[first_pieces + i].insert(static_cast<int>(at_partners), CkMyPe());
        late_[i].insert(static_cast<int>(at_late), CkMyPe());
      }
      mapped_[unwanted].insert(static_cast<int>(at_mapped), CkMyPe());
      ++made_[at_mapped];
      ++gone_[at_mapped];
      desks.insert(mapped_, at_mapped);
      desks.insert(partners_, at_partners);
      for (int kind : {at_pieces, also_at_pieces, at_partners, at_late}) made_[kind] += more_pieces;
      for (int kind : {at_mapped, at_partners}) made_[kind] += 3 * pes_;
    }
    if (step_ == 2) late_.doneInserting();
    if (step_ == 3)
      for (CProxy_Piece* array : {&pieces_, &mapped_, &late_}) array->wander(5);
    if (step_ == 4) {
      for (int i = 0; i < first_pieces; i += 3) pieces_[i].ckDestroy();
      for (int kind : {at_pieces, also_at_pieces}) gone_[kind] += first_pieces / 3;
      for (CProxy_Piece* array : {&pieces_, &partners_, &mapped_, &late_}) array->rest();
    }
    if (step_ == 5) return CkStartCheckpoint(folder_.c_str(), CkCallback(CkIndex_Main::written(), thisProxy));
    wait();
  }

  void written() {
    if (!_restarted) return CkExit();
    desks.audit(true);
  }
  // On as many PEs, all that was counted is there. On others the counts are those of PE 0, many times.
  void restarted(const int* sums) {
    for (int kind = 0; kind < kinds; ++kind) {
      const int* sum = sums + kind * events;
      require(sum[here] == made_[kind] - gone_[kind], "not all arrive in the restart");
      if (CkNumPes() != pes_) continue;
      require(sum[registered] == pes_ && sum[stamped] == made_[kind] && sum[creating] == made_[kind], "what was heard");
      require(sum[arriving] == sum[leaving] + sum[here], "who arrived");
      require(sum[ended] == 2 * pes_, "the end of insertion in the restart");
    }
    for (CProxy_Piece* array : {&pieces_, &partners_, &mapped_, &late_}) array->wander(2);
    CkStartQD(CkCallback(CkCallback::ckExit));
    finish();
  }
  void finish() {
    CkPrintf("listeners: all checks passed\n");
    if (step_ != 5) CkExit();
  }
};

#include "listeners.def.h"
