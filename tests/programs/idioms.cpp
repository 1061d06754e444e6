// Each step of Main is one check; a step ends when what it expects has come.
#include <cstring>
#include <string>
#include <vector>

#include "charm++_type_traits.h"
#include "idioms.decl.h"

CProxy_Main mainProxy;
CProxy_Second secondProxy;
CProxy_Row rows;
CProxy_Row pairs;
int size = 4;
extern "C" int idioms_in_c(void);

static_assert(charmxx::is_array_proxy<CProxy_Row>::value && !charmxx::is_array_proxy<CProxyElement_Row>::value);
static_assert(charmxx::is_group_proxy<CProxy_Counter>::value && !charmxx::is_node_group_proxy<CProxy_Counter>::value);
static_assert(charmxx::is_chare_proxy<CProxy_Main>::value && !charmxx::is_chare_proxy<CProxy_Row>::value);
static_assert(charmxx::is_pupable<std::vector<int>>::value && !charmxx::is_pupable<std::vector<int>*>::value);
static_assert(sizeof(gettimeofday(nullptr, nullptr)) != 0, "the system's clock comes with charm++.h");
static_assert(charmxx::has_pup_member_v<CProxy_Row> && !charmxx::is_bound_array<CProxy_Row>::value);
#if !CMK_HAS_PARTITION
#error "a run may have partitions"
#endif
#if !CMK_LBID_64BIT
#error "LdbId, as NAMD has it, would be a type of older Charm++"
#endif
#if !CMK_CKSECTIONINFO_STL
#error "the lists of sections would be taken for those of older Charm++"
#endif

namespace {
constexpr int row_length = 12;
void require(bool right, const char* what) {
  if (!right) CkAbort("%s", what);
}
void settled_without_message(void*, void* message) {
  require(message == nullptr, "quiescence gives a function no message, which that would have to free");
  mainProxy.settled();
}
}  // namespace

class Text : public CMessage_Text {
 public:
  char* letters;
  double* numbers;
  int count;
};

namespace {
Text* textOf(const std::string& letters) {
  Text* text = new (static_cast<int>(letters.size()) + 1, 2) Text();
  std::strcpy(text->letters, letters.c_str());
  text->numbers[0] = 1.5;
  text->numbers[1] = 2.5;
  return text;
}
/// Makes other messages while the memory of its own is there already.
class Nested : public Text {
 public:
  explicit Nested(int others) {
    count = 0;
    for (int i = 0; i < others; ++i) {
      Text* other = textOf("other");
      count += other->letters[0] == 'o';
      delete other;
    }
  }
};
int lengthByOthers(int others) {
  int sum = 0;
  for (int i = 0; i < others; ++i) {
    Text* other = textOf("abc");
    sum += static_cast<int>(std::strlen(other->letters));
    delete other;
  }
  return sum;
}
}  // namespace

class Main : public CBase_Main {
  CProxy_Looker lookers_;
  CProxy_Any any_;
  int step_ = 0, expected_ = 0;
  bool expressed_ = false;

 public:
  Main(CkArgMsg* m) {
    delete m;
    CProxy_Ordinary::ckNew(0);  // a chare of PE 0 before the second mainchare
    CkArrayOptions bound(row_length);
    rows = CProxy_Row::ckNew(row_length);
    bound.setLocationManager(rows.ckLocMgr()->getGroupID());
    if (bound.getLocationManager() != rows.ckGetArrayID()) CkAbort("an array is bound to another one");
    pairs = CProxy_Row::ckNew(bound);
    lookers_ = CProxy_Looker::ckNew();
    any_ = CProxy_Any::ckNew();
    thisProxy.step();
  }

  void taken(int) {
    if (--expected_ == 0) thisProxy.step();
  }

  void step() {
    switch (step_++) {
      case 0:  // proxies of mainchares that were never set, from every PE
        expected_ = 2 * row_length;
        rows.poke();
        return pairs.poke();
      case 1:
        expected_ = 1;
        return secondProxy.greet(7);
      case 2: {  // the same in a callback, behind a reduction
        return lookers_.look();
      }
      case 3:
        return mainProxy.carried(new Parcel);
      case 4:
        return values();
      case 5:
        expected_ = 2 * row_length;
        for (int i = 0; i < row_length; ++i) {
          char name[] = "row";
          rows[i].spell(sizeof name, name);
          rows[i].spellHere(sizeof name, name);
        }
        return;
      case 6: {
        expected_ = 2;
        const CkArrayIndex2D two(1, 2);
        any_(two).insert();
        any_[CkArrayIndex1D(3)].insert();
        any_.doneInserting();
        any_(two).poke(1, 2);
        return any_[CkArrayIndex1D(3)].poke(3, 0);
      }
      case 7: {  // sections by indices of the base class
        std::vector<CkArrayIndex> some;
        for (int i = 0; i < row_length; i += 3) some.push_back(CkArrayIndex1D(i));
        const CkArrayIndex two[] = {CkArrayIndex1D(1), CkArrayIndex1D(2)};
        CProxySection_Row listed = CProxySection_Row::ckNew(rows.ckGetArrayID(), some);
        CProxySection_Row pointed = CProxySection_Row::ckNew(rows.ckGetArrayID(), two, 2);
        expected_ = static_cast<int>(some.size()) + 4;
        listed.poke();
        listed(CkArrayIndex1D(9)).poke();  // an element by its index, and not a member by its number
        listed[CkArrayIndex1D(9)].poke();
        return pointed.poke();
      }
      case 8: {  // the end of some elements, and then of all, while they move
        const CkArrayIndex gone[] = {CkArrayIndex1D(4), CkArrayIndex1D(5)};
        expected_ = 2;
        return CProxySection_Row(CProxySection_Row::ckNew(pairs.ckGetArrayID(), gone, 2)).ckDestroy();
      }
      case 9:
        expected_ = row_length + row_length - 2;
        rows.wander();
        pairs.wander();
        rows.ckDestroy();
        return pairs.ckDestroy();
      case 10:
        return CkStartQD(CkCallback(settled_without_message, nullptr));
      case 11:  // the array is there, and empty: it may be filled again
        expected_ = 2;
        for (int i : {2, 7}) {
          rows[i].insert();
          rows[i].poke();
        }
        return;
      case 12:  // a place at a time
        expected_ = 2;
        return lookers_.clear();
      case 13: {  // bases that cannot be made, by the proxies of their own
        const CProxy_Square squares = CProxy_Square::ckNew(3, 4);
        return CProxy_Shape(squares.ckGetArrayID()).measure();
      }
      case 14: {
        const CProxy_Summer summers = CProxy_Summer::ckNew(100);
        summers.count(3);
        for (int number = 0; number < 3; ++number) summers.next(number);
        return;
      }
      case 15: {  // options of a call: an expedited one waits behind nothing that has a priority
        expected_ = 3;
        rows[2].insert();
        CkEntryOptions options;
        options.setPriority(static_cast<prio_t>(-1));
        thisProxy.urgent(&options);
        CkCallback(CkIndex_Main::express(), thishandle).send(nullptr, CK_MSG_EXPEDITED);
        CkSendMsgArray(CkIndex_Row::poke(), CkAllocSysMsg(), rows, CkArrayIndex1D(2));
        return CkBroadcastMsgArray(CkIndex_Row::poke(), CkAllocSysMsg(), rows, CK_MSG_EXPEDITED);
      }
      case 16: {  // calls by numbers, of a proxy's base
        const std::vector<CkArrayIndex> both{CkArrayIndex1D(2), CkArrayIndex1D(20)};
        expected_ = 2 + 2 + 2 + 1;
        rows[20].ckInsert(CkAllocSysMsg(), CkIndex_Row::ckNew(), CkNumPes() - 1);
        rows.ckBroadcast(CkAllocSysMsg(), CkIndex_Row::poke());
        CProxySection_Row(CProxySection_Row::ckNew(rows.ckGetArrayID(), both))
            .ckSend(CkAllocSysMsg(), CkIndex_Row::poke());
        CkBroadcastMsgSection(CkIndex_Row::poke(), CkAllocSysMsg(),
                              CProxySection_Row::ckNew(rows.ckGetArrayID(), both));
        return CProxyElement_ArrayBase(rows, CkArrayIndex1D(20)).ckSend(CkAllocSysMsg(), CkIndex_Row::poke());
      }
      case 17: {  // of a group, on some PEs
        int last = CkNumPes() - 1;
        expected_ = 2;
        CkSendMsgBranchMulti(CkIndex_Looker::named(), CkAllocSysMsg(), lookers_, 1, &last);
        return CkSendMsgBranchGroup(CkIndex_Looker::named(), CkAllocSysMsg(), lookers_, CmiEstablishGroup(1, &last));
      }
      case 18:
        expected_ = 1;
        return rows[2].knowsItself();
      case 19:
        return CkCallback(CkIndex_Main::bytes(nullptr), thisProxy).send(5, "four");
      default:
        CkNetworkProgressAfter(5);
        require(idioms_in_c() == 41 + CkMyPe(), "routines in C answer something else");
        CkPrintf("all checks passed\n");
        CkExit();
    }
  }

  void express() { expressed_ = true; }
  void urgent() {
    require(expressed_, "an expedited message has waited behind one with a priority");
    taken(0);
  }
  // A callback's bytes, by the fields.
  void bytes(CkDataMsg* message) {
    require(message->length == 5 && std::strcmp(message->data, "four") == 0, "the bytes of a callback are others");
    delete message;
    thisProxy.step();
  }
  void carried(Parcel* parcel) {
    require(parcel->weight == 5, "a parcel has lost weight");
    delete parcel;
    thisProxy.step();
  }
  void values() {
    Text* plain = new (4, 1) Text;
    require(plain->letters != nullptr && plain->numbers != nullptr, "new Text leaves its arrays unset");
    delete plain;
    Text* zeroed = new (4, 1) Text();
    require(zeroed->letters == reinterpret_cast<char*>(zeroed) + ALIGN16(sizeof(Text)), "new Text() loses its arrays");
    require(zeroed->count == 0, "new Text() is not zeroed");
    delete zeroed;
    Nested* nested = new (6, 1) Nested(lengthByOthers(200));
    require(nested->count == 600 && nested->letters == reinterpret_cast<char*>(nested) + ALIGN16(sizeof(Nested)),
            "messages that a constructor makes take its arrays");
    delete nested;
    mainProxy.read(textOf("letters"));
  }
  void read(Text* text) {
    require(text->letters == std::string("letters") && text->numbers[1] == 2.5, "a text has changed on its way");
    delete text;
    thisProxy.step();
  }
  /// The pointer to an array is a variable of the method's own.
  void named(int n, char*& name) {
    require(n == 4 && name == std::string("row"), "a name has changed on its way");
    name = nullptr;
    taken(0);
  }
  void total(int n, int*& sums) {
    require(n == 2 && sums[0] == row_length && sums[1] == 2 * row_length, "places are not seen once each");
    sums = nullptr;
    thisProxy.step();
  }
  void settled() { lookers_.look(); }
  void measured(int sum) {
    require(sum == 4 * 9, "an area comes from the base");
    thisProxy.step();
  }
  void summed(int sum) {
    require(sum == CkNumPes() * (100 + 2 * (0 + 1 + 2)), "a sum comes from the base");
    thisProxy.step();
  }
};

class Shape : public CBase_Shape {
 public:
  explicit Shape(CkMigrateMessage* m) : CBase_Shape(m) {}
  virtual int area() const = 0;
  void measure() {
    const int here = area();
    contribute(sizeof here, &here, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, measured), mainProxy));
  }

 protected:
  Shape() = default;
};

class Square final : public CBase_Square {
 public:
  explicit Square(int side) : side_(side) {}
  explicit Square(CkMigrateMessage* m) : CBase_Square(m) {}
  int area() const override { return side_ * side_; }

 private:
  int side_ = 0;
};

class Counter : public CBase_Counter {
 public:
  Counter_SDAG_CODE virtual int worth(int number) const = 0;
  void take(int number) { sum_ += worth(number); }
  void tell() {
    contribute(sizeof sum_, &sum_, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, summed), mainProxy));
  }

 protected:
  explicit Counter(int start) : sum_(start) {}
  int turn = 0;

 private:
  int sum_;
};

class Summer : public CBase_Summer {
 public:
  explicit Summer(int start) : CBase_Summer(start) {}
  int worth(int number) const override { return 2 * number; }
};

class Second : public CBase_Second {
 public:
  Second(CkArgMsg* m) { delete m; }
  void greet(int value) {
    require(value == 7, "a greeting has changed on its way");
    mainProxy.taken(value);
  }
};

class Ordinary : public CBase_Ordinary {
 public:
  Ordinary() = default;
};

/// Another class in front of the array element, so that the element does not lie at the object's start.
struct InFront {
  virtual ~InFront() = default;
  int value = 3;
};
class Row : public InFront, public CBase_Row {
 public:
  Row() = default;
  Row(CkMigrateMessage*) {}
  void spell(int n, char*& letters) { mainProxy.named(n, letters); }
  void spellHere(int n, char*& letters) {
    mainProxy.named(n, letters);
    letters = nullptr;
  }
  void wander() { migrateMe((CkMyPe() + 1) % CkNumPes()); }
  void poke() {
    require(value == 3, "an element was called at another address");
    require(getLBMgr() == LBManager::Object(), "an element has another load balancing manager");
    mainProxy.taken(thisIndex);
  }
  /// By all names that programs have for it.
  void knowsItself() {
    const ck::ObjID id = ckGetID();
    CkArrayIndexMax index = thisIndexMax;
    require(index == CkArrayIndex1D(thisIndex) && this->thisIndexMax.nInts == 1 && thisIndexMax.data()[0] == thisIndex,
            "an element has another index");
    require(id.getCollectionID() == CkGroupID(thisArrayID) && id.getElementID() == myRec->getID() &&
                thisArray->lookup(id) == this,
            "an element has another number");
    CkLocMgr* const places = thisArray->getLocMgr();
    CmiUInt8 number = 0;
    require(places->lookupID(index, number) && number == id.getID() && places->lookupID(index) == number &&
                places->lookupIdx(number) == index && places->whichPe(index) == CkMyPe() &&
                places->isHome(index) == (places->homePe(index) == CkMyPe()),
            "an element is known by another number, or elsewhere");
    require(CProxy_CkArray(thisArrayID).ckLocalBranch() == thisArray &&
                CProxy_CkLocMgr::ckLocalBranch(thisArrayID) == thisArray->getLocMgr() &&
                CkArrayID::CkLocalBranch(thisArrayID) == thisArray,
            "an array has another manager");
    const CkGroupID managers = thisArrayID;
    require(
        thisArrayID == managers && managers == thisArrayID && thisArrayID != CkGroupID() && CkGroupID() != thisArrayID,
        "the name of an array is another than that of its managers");
    const CkCallback call(CkIndex_Main::step(), mainProxy);
    std::vector<char> bytes(PUP::size(call));
    PUP::toMem packer(bytes.data());
    CkCallback(call).pup(packer);
    CkCallback other;
    PUP::fromMem unpacker(bytes.data());
    other.pup(unpacker);
    require(other == call, "a callback is not what was packed");
    require(CkMsgAlignLength(17) == ALIGN_DEFAULT(17), "another length");
    mainProxy.taken(thisIndex);
  }
  void ckDestroy() override {
    mainProxy.taken(thisIndex);
    CBase_Row::ckDestroy();
  }
};

class Any : public CBase_Any {
 public:
  Any() = default;
  Any(CkMigrateMessage*) {}
  void poke(int a, int b) {
    require(thisIndex.data[0] == a && thisIndex.data[1] == b, "array [Max]: an element does not know its index");
    mainProxy.taken(a);
  }
};

class Looker : public CBase_Looker {
  struct Count : CkLocIterator {
    int places = 0;
    int elements = 0;
    bool destroys = false;
    void addLocation(CkLocation& place) override {
      ++places;
      elements += (rows[place.getIndex().data()[0]].ckLocal() != nullptr) +
                  (pairs[place.getIndex().data()[0]].ckLocal() != nullptr);
      PUP::sizer size;
      place.pup(size);
      require(size.size() > 0, "a place with an element has no size");
      if (destroys) place.destroyAll();
    }
  };
  int looks_ = 0;
  int glances_ = 0;

 public:
  Looker() = default;
  void glance(CkDataMsg* m) {
    delete m;
    ++glances_;
  }
  void look() {
    Count count;
    rows.ckLocMgr()->iterate(count);
    CkCallback(CkIndex_Looker::glance(nullptr), thishandle).send(sizeof looks_, &looks_);
    require(glances_ == looks_ + 1, "a callback to an [inline] entry by a member's handle has not run at once");
    if (looks_++ == 0) {
      int sums[] = {count.places, count.elements};
      return contribute(sizeof sums, sums, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, total), mainProxy));
    }
    require(count.places == 0, "a destroyed array has elements");
    contribute(CkCallback(CkIndex_Main::step(), mainProxy));
  }
  void named() {
    require(CkMyPe() == CkNumPes() - 1, "a call of a group's members has come to another");
    mainProxy.taken(0);
  }
  void clear() {
    Count count;
    count.destroys = true;
    rows.ckLocMgr()->iterate(count);
  }
};

using namespace std;  // as programs have it in front of the .def.h
#include "idioms.def.h"
