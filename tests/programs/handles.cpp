// Comparisons of proxies, numbers of chares and entries, callbacks to sections that are const, messages as void*.
#include <set>
#include <string>
#include <vector>

#include "handles.decl.h"

CProxy_Main main_proxy;

namespace {
constexpr int cell_count = 12;
void require(bool right, const char* what) {
  if (!right) CkAbort("handles: %s\n", what);
}
}  // namespace

class Note : public CMessage_Note {
 public:
  explicit Note(int value) : value(value) {}
  int value;
};

class Single : public CBase_Single {
 public:
  void set(int value) { set_to = value; }
  static inline int set_to = 0;
};

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* m) {
    delete m;
    main_proxy = thisProxy;
    thisProxy.run();
  }
  void run() {
    chares();
    proxies();
    numbers();
    messages();
    section();
    elements();
    empty();
    CkPrintf("all checks passed\n");
    CkExit();
  }
  void heard(int index) { heard_.insert(index); }
  void created(CkArrayCreatedMsg* m) {
    created_.push_back(m->aid);
    delete m;
  }

 private:
  static void chares() {
    CkChareID none;
    require(none.objPtr == nullptr, "a chare that is none has an objPtr");
    const CkChareID one = CProxy_Single::ckNew(), other = CProxy_Single::ckNew();
    require(one.objPtr && other.objPtr && one.objPtr != other.objPtr, "two chares have one objPtr");
    CkChareID copy = one;
    require(copy.objPtr == one.objPtr && copy == one, "a copy has another objPtr");
    copy.objPtr = nullptr;
    require(copy != one, "a chare without an objPtr is still the same");
    CProxy_Single here = CProxy_Single::ckNew(CkMyPe());
    CkWaitQD();
    here.set(7);
    require(Single::set_to == 0, "an [inline] entry of a chare named by the handle of ckNew() has run at once");
    CkWaitQD();
    require(Single::set_to == 7, "an [inline] entry of a chare has not run");
  }
  template <class Element, class Whole>
  static void compared(const Element& a, const Element& same, const Element& b, const Whole& whole) {
    require(a == same && !(a != same), "one member or element is two");
    require(a != b && !(a == b), "two members or elements are one");
    require(whole == whole && !(whole != whole), "a collection is another one than itself");
  }
  void proxies() {
    const CProxy_Members members = members_ = CProxy_Members::ckNew();
    const CProxy_PerProcess processes = CProxy_PerProcess::ckNew();
    const CProxy_Cell cells = cells_ = CProxy_Cell::ckNew(cell_count);
    compared(members[0], members[0], members[1], members);
    compared(processes[0], processes[0], processes[1], processes);
    compared(cells[0], cells[0], cells[1], cells);
    require(processes != CProxy_PerProcess::ckNew(), "two node groups are one");
    require(members != CProxy_Members::ckNew(), "two groups are one");
  }
  static void numbers() {
    typedef CkIndex_Members Index;
    const std::string text;
    int values[1] = {0};
    const std::set<int> numbers = {Index::twice(0), Index::twice(text), Index::sum(1, values), CkIndex_Cell::number(),
                                   Index::noted(0)};
    require(numbers.size() == 5 && *numbers.begin() > 0, "[local] entries have no numbers of their own");
    require(Index::idx_twice(static_cast<int (Members::*)(int)>(nullptr)) == Index::twice(0),
            "a pointer to a [local] entry names another one");
  }
  void messages() {
    auto* last = static_cast<Note*>(members_[CkNumPes() - 1].noted(41));
    require(last->value == 41, "a [sync] entry that returns void* has lost its message");
    last = static_cast<Note*>(members_[CkNumPes() - 1].repeated(last));
    require(last->value == 82, "a [sync] entry has not given back its argument");
    CMessage_Note::dealloc(last);
  }
  void section() {
    const CProxySection_Cell odd = CProxySection_Cell::ckNew(cells_, 1, cell_count - 1, 2);
    CkCallback(CkIndex_Cell::hear(nullptr), odd).send(new Note(1));
    CkWaitQD();
    require(heard_ == std::set<int>({1, 3, 5, 7, 9, 11}), "a callback to a section has gone to others");
    heard_.clear();
    const CkSectionID id = odd.ckGetSectionID();
    CkCallback(CkIndex_Cell::hear(nullptr), id).send(new Note(2));
    CkWaitQD();
    require(heard_.size() == 6, "a callback to a section by its number has gone to others");
  }

  // The handle of an element names the PE that it is on.
  void elements() {
    auto* const question = reinterpret_cast<CkArrayMessage*>(new Note(20));
    Note* const note = static_cast<Note*>(cells_[3].ckSendSync(question, CkIndex_Cell::answer(nullptr)));
    require(note->value == 23, "ckSendSync() has not brought what the element answers");
    delete note;
    cells_.move();
    CkWaitQD();
  }
  // Arrays without elements, whatever constructors their class has.
  void empty() {
    const CProxy_IrrGroup same = members_;
    require(same.ckGetGroupID() == members_.ckGetGroupID(), "a proxy of some group names another one");
    CProxy_Cell cells = CProxy_Cell::ckCreateEmptyArray();
    CProxy_Numbered numbered = CProxy_Numbered::ckCreateEmptyArray();
    const CkCallback told(CkIndex_Main::created(nullptr), thisProxy);
    CProxy_Cell::ckCreateEmptyArrayAsync(told);
    CProxy_Numbered::ckCreateEmptyArrayAsync(told, CkArrayOptions());
    CProxy_Numbered::ckNew(told);
    CkWaitQD();
    require(created_.size() == 3, "the callbacks of arrays that are made without elements have not come");
    std::set<int> ids = {CkGroupID(cells.ckGetArrayID()).idx};
    for (const CkArrayID& id : created_) ids.insert(CkGroupID(id).idx);
    require(ids.size() == 4, "two arrays that are made without elements are one");
    cells[5].insert();
    cells.doneInserting();
    numbered[6].insert(7);
    numbered.doneInserting();
    heard_.clear();
    cells.hear(new Note(0));
    CkWaitQD();
    require(heard_ == std::set<int>({5}), "an array that was made without elements has others than were inserted");
  }

  CProxy_Members members_;
  CProxy_Cell cells_;
  std::vector<CkArrayID> created_;
  std::set<int> heard_;
};

class Members : public CBase_Members {
 public:
  void* noted(int value) { return new Note(value); }
  void* repeated(Note* note) {
    note->value *= 2;
    return note;
  }
  int twice(int x) { return 2 * x; }
  int twice(const std::string& text) { return static_cast<int>(2 * text.size()); }
  int sum(int n, int* values) { return n ? values[0] + sum(n - 1, values + 1) : 0; }
};

class PerProcess : public CBase_PerProcess {};

class Cell : public CBase_Cell {
 public:
  Cell() = default;
  explicit Cell(CkMigrateMessage*) {}
  void hear(Note* note) {
    delete note;
    main_proxy.heard(thisIndex);
  }
  int number() { return thisIndex; }
  Note* answer(Note* note) {
    note->value += thisIndex;
    return note;
  }
  void move() {
    look();
    migrateMe((CkMyPe() + 1) % CkNumPes());
    contribute(CkCallback(CkReductionTarget(Cell, moved), thisProxy));
  }
  void moved() { look(); }

 private:
  void look() const { require(ckGetChareID().onPE == CkMyPe(), "the handle of an element names another PE"); }
};

class Numbered : public CBase_Numbered {
 public:
  explicit Numbered(int number) { require(number == thisIndex + 1, "an element has got other arguments"); }
  explicit Numbered(CkMigrateMessage*) {}
};

#include "handles.def.h"
