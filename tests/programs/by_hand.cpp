// A program without a .ci file: its classes, messages and readonlys are registered by hand, as Charm++'s own translator
// would, and its objects are made and called by numbers. Main counts what each of them has to report.
#include <cstring>
#include <string>
#include <vector>

#include "charm++.h"
#include "envelope.h"
#include "register.h"

namespace {

constexpr int elements = 6;
constexpr int numbers = 10;

// --- readonlys: what main makes, and two that only their own functions know
CkGroupID members, branches;
CkArrayID cells, spares;
CkChareID main_chare;
std::string word;
CkMessage* first;

// --- a message whose class packs itself
struct Numbers : CkArrayMessage {
  static int type;
  int count;
  double* values;
  void* operator new(std::size_t size, int count) {
    const std::size_t values_at = (size + 15) & ~std::size_t{15};
    char* bytes = static_cast<char*>(CkAllocMsg(type, values_at + count * sizeof(double), 0));
    reinterpret_cast<Numbers*>(bytes)->values = reinterpret_cast<double*>(bytes + values_at);
    return bytes;
  }
  void operator delete(void* message) { CkFreeMsg(message); }
  void operator delete(void* message, int) { CkFreeMsg(message); }
  static void* pack(void* message) {
    auto* m = static_cast<Numbers*>(message);
    m->values = reinterpret_cast<double*>(reinterpret_cast<char*>(m->values) - static_cast<char*>(message));
    return message;
  }
  static void* unpack(void* bytes) {
    auto* m = static_cast<Numbers*>(bytes);
    m->values = reinterpret_cast<double*>(static_cast<char*>(bytes) + reinterpret_cast<std::size_t>(m->values));
    return bytes;
  }
  static Numbers* make() {
    Numbers* m = new (numbers) Numbers;
    m->count = numbers;
    for (int i = 0; i < numbers; ++i) m->values[i] = i;
    return m;
  }
  bool right() const { return count == numbers && values[numbers - 1] == numbers - 1; }
};
int Numbers::type;

// One that its class packs into other memory.
struct Elsewhere : CkMessage {
  static int type;
  void* operator new(std::size_t size) { return CkAllocMsg(type, size, 0); }
  void operator delete(void* message) { CkFreeMsg(message); }
  static void* moved(void* message) {
    void* const other = CkAllocBuffer(message, sizeof(Elsewhere));
    CkFreeMsg(message);
    return other;
  }
  int filling = 0;
};
int Elsewhere::type;

template <class... Args>
void* marshalled(Args... args) {
  PUP::sizer size;
  (void)std::initializer_list<int>{(size | args, 0)...};
  CkMarshallMsg* message = CkAllocateMarshallMsg(size.size());
  PUP::toMem to(message->msgBuf);
  (void)std::initializer_list<int>{(to | args, 0)...};
  return message;
}
template <class T>
T unmarshalled(void* message, int skipped = 0) {
  PUP::fromMem from(static_cast<CkMarshallMsg*>(message)->msgBuf + skipped);
  T value;
  from | value;
  return value;
}

enum Report {
  member_took,
  member_called,
  branch_called,
  cell_took,
  cell_hears,
  cell_copied,
  guest_answered,
  main_delivered,
  reports
};
int main_type, report_entry;
void report(Report what) { CkSendMsg(report_entry, marshalled(static_cast<int>(what)), &main_chare); }
void require(bool right, const char* wrong) {
  if (!right) CkAbort("%s", wrong);
}

// --- the classes
int member_type, member_made, member_take, member_call;
struct Member : Group {
  explicit Member(int given) : value(given) {}
  void take(Numbers* message) {
    require(message->right() && value == 17 && word == "by hand", "a member has got something else");
    require(first && static_cast<Numbers*>(first)->right(), "a readonly message is another one");
    delete message;
    report(member_took);
  }
  int value;
};

int branch_type, branch_made, branch_call;
struct Branch : NodeGroup {};

int cell_type, cell_made, cell_moved, cell_take, cell_hear, cell_copy;
struct Cell : ArrayElement1D {
  explicit Cell(Numbers* message) : count(message->count) { delete message; }
  explicit Cell(CkMigrateMessage* message) : ArrayElement1D(message) {}
  void pup(PUP::er& p) override {
    ArrayElement1D::pup(p);
    p | count;
  }
  void take(Numbers* message) {
    require(message->right() && count == numbers, "an element has got something else");
    insert_another(message, thisIndex + 1);
    delete message;
    report(cell_took);
    if (thisIndex == 0) migrateMe((CkMyPe() + 1) % CkNumPes());
  }
  // With a copy of what came for this array, in memory that was in use.
  static void insert_another(void* message, int index) {
    void* const used = ::operator new(sizeof(Cell));
    std::memset(used, 0xee, sizeof(Cell));
    ::operator delete(used);
    CProxy_ArrayBase(spares).ckInsertIdx(CkCopyMsg(&message), cell_made, CkMyPe(), CkArrayIndex1D(index));
  }
  void hear(int number, const std::vector<int>& list) {
    require(number == 5 && list.size() == 3 && list[2] == 9, "an element hears something else");
    report(cell_hears);
  }
  // Marshalled arguments that it keeps: they are its own.
  void copy(CkMarshallMsg* message) {
    void* original = message;
    void* const copied = CkCopyMsg(&original);
    std::memset(static_cast<CkMarshallMsg*>(original)->msgBuf, 0, sizeof(int));
    CkFreeMsg(original);
    require(unmarshalled<int>(copied) == 6, "a copy of arguments is the original");
    CkFreeMsg(copied);
    report(cell_copied);
  }
  int count = 0;
};

int guest_type, guest_made, guest_answer;
struct Guest : Chare {
  explicit Guest(int given) : value(given) {}
  int value;
};

struct Main : Chare {
  explicit Main(CkArgMsg* arguments) {
    mistake(arguments->argc > 1 ? arguments->argv[1] : "");
    delete arguments;
    main_chare = thishandle;
    word = "by hand";
    first = Numbers::make();
    members = CkCreateGroup(member_type, member_made, marshalled(17));
    branches = CkCreateNodeGroup(branch_type, branch_made, CkAllocSysMsg());
    cells = CProxy_ArrayBase::ckCreateArray(Numbers::make(), cell_made, CkArrayOptions(elements));
    spares = CProxy_ArrayBase::ckCreateArray(Numbers::make(), cell_made, CkArrayOptions(1));
    CkBroadcastMsgBranch(member_take, Numbers::make(), members);
    CkSendMsgBranch(member_call, with_options(), CkNumPes() - 1, members);
    CkBroadcastMsgNodeBranch(branch_call, CkAllocSysMsg(), branches);
    CkBroadcastMsgArray(cell_take, Numbers::make(), cells);
    CkBroadcastMsgArray(cell_copy, marshalled(6), cells);
    CkChareID guest;
    CkCreateChare(guest_type, guest_made, marshalled(20), &guest, CkNumPes() - 1);
    CkSendMsg(guest_answer, marshalled(10), &guest);
    void* const kept = marshalled(static_cast<int>(main_delivered));
    CkDeliverMessageReadonly(report_entry, kept, this);
    require(unmarshalled<int>(kept) == main_delivered, "a message that is delivered to be read is gone");
    CkFreeMsg(kept);
  }
  void mistake(const std::string& name) {
    if (name == "unknown") CkPrintf("%s\n", _entryTable[1000000]->name);
    if (name == "unlike") CkCreateGroup(member_type, cell_made, CkAllocSysMsg());
    if (name == "no_class") CkCreateChare(1000000, guest_made, CkAllocSysMsg(), nullptr, 0);
    if (name == "no_array") CProxy_ArrayBase::ckCreateArray(Numbers::make(), guest_made, CkArrayOptions(elements));
    if (name == "no_entry") CProxy_ArrayBase::ckCreateArray(Numbers::make(), 1000000, CkArrayOptions(elements));
    if (name == "elsewhere") CkDeliverMessageReadonly(report_entry, new Elsewhere, this);
  }
  // Arguments that wait for a group.
  static void* with_options() {
    CkEntryOptions options;
    options.setPriority(7).setGroupDepID(branches);
    CkMarshallMsg* message = CkAllocateMarshallMsg(sizeof(int), &options);
    const envelope* sent = UsrToEnv(message);
    require(sent->getGroupDepNum() == 1 && sent->getGroupDep() == branches, "arguments do not wait for a group");
    require(*static_cast<unsigned*>(CkPriorityPtr(message)) == 7, "arguments have lost their priority");
    return message;
  }
  void hear(int what) {
    ++heard[what];
    if (what == cell_took && heard[what] == elements)
      for (int i = 0; i < elements; ++i)
        CkSendMsgArray(cell_hear, marshalled(5, std::vector<int>{1, 2, 9}), cells, CkArrayIndex1D(i));
    const int all[reports] = {CkNumPes(), 1, CkNumNodes(), elements, elements, elements, 1, 1};
    for (int i = 0; i < reports; ++i)
      if (heard[i] != all[i]) return;
    require(std::strcmp(_entryTable[member_take]->name, "take(Numbers*)") == 0, "an entry has another name");
    require(_entryTable[member_take]->chareIdx == member_type, "an entry is of another class");
    require(std::strcmp(_chareTable[cell_type]->name, "Cell") == 0, "a class has another name");
    require(_msgTable[Numbers::type]->size == sizeof(Numbers), "a message has another size");
    CkPrintf("all checks passed\n");
    CkExit();
  }
  int heard[reports] = {};
};

// --- what the entries' functions do: a message is theirs, unless the entry is registered with CK_EP_NOKEEP
void make_main(void* message, void* object) { new (object) Main(static_cast<CkArgMsg*>(message)); }
void hear_report(void* message, void* object) { static_cast<Main*>(object)->hear(unmarshalled<int>(message)); }
void make_member(void* message, void* object) { new (object) Member(unmarshalled<int>(message)); }
void take_member(void* message, void* object) { static_cast<Member*>(object)->take(static_cast<Numbers*>(message)); }
void call_member(void* message, void*) {
  CkFreeSysMsg(message);
  report(member_called);
}
void make_branch(void* message, void* object) {
  CkFreeSysMsg(message);
  new (object) Branch;
}
void call_branch(void* message, void* object) {
  require(object == CkLocalNodeBranch(branches), "the branch of a node group is another");
  CkFreeSysMsg(message);
  report(branch_called);
}
void make_cell(void* message, void* object) { new (object) Cell(static_cast<Numbers*>(message)); }
void move_cell(void* message, void* object) { new (object) Cell(static_cast<CkMigrateMessage*>(message)); }
void take_cell(void* message, void* object) { static_cast<Cell*>(object)->take(static_cast<Numbers*>(message)); }
void hear_cell(void* message, void* object) {
  static_cast<Cell*>(object)->hear(unmarshalled<int>(message), unmarshalled<std::vector<int>>(message, sizeof(int)));
}
void copy_cell(void* message, void* object) { static_cast<Cell*>(object)->copy(static_cast<CkMarshallMsg*>(message)); }
void make_guest(void* message, void* object) { new (object) Guest(unmarshalled<int>(message)); }
void answer_guest(void* message, void* object) {
  auto* guest = static_cast<Guest*>(object);
  require(guest->value + unmarshalled<int>(message) == 30, "a chare has another value");
  delete guest;
  report(guest_answered);
}

void pup_word(void* p) { *static_cast<PUP::er*>(p) | word; }
void pup_names(void* p) {
  auto& all = *static_cast<PUP::er*>(p);
  all | members;
  all | branches;
  all | cells;
  all | spares;
  all | main_chare;
}

void register_objects() {
  main_type = CkRegisterChare("Main", sizeof(Main), TypeMainChare);
  CkRegisterBase(main_type, CkIndex_Chare::__idx);
  CkRegisterMainChare(main_type, CkRegisterEp("Main(CkArgMsg*)", make_main, CMessage_CkArgMsg::__idx, main_type, 0));
  report_entry = CkRegisterEp("hear(int)", hear_report, CkMarshallMsg::__idx, main_type, CK_EP_NOKEEP);

  member_type = CkRegisterChare("Member", sizeof(Member), TypeGroup);
  CkRegisterBase(member_type, CkIndex_IrrGroup::__idx);
  CkRegisterGroupIrr(member_type, Member::isIrreducible());
  // As Charm++'s translator writes it, with a cast.
  member_made = CkRegisterEp("Member(int)", reinterpret_cast<CkCallFnPtr>(make_member), CkMarshallMsg::__idx,
                             member_type, 0 + CK_EP_NOKEEP);
  member_take =
      CkRegisterEpTemplated(std::string("take(Numbers*)").c_str(), take_member, Numbers::type, member_type, 0);
  member_call = CkRegisterEp("call()", call_member, CkMarshallMsg::__idx, member_type, CK_EP_TRACEDISABLE);

  branch_type = CkRegisterChare("Branch", sizeof(Branch), TypeNodeGroup);
  CkRegisterBase(branch_type, CkIndex_NodeGroup::__idx);
  CkRegisterGroupIrr(branch_type, Branch::isIrreducible());
  branch_made = CkRegisterEp("Branch()", make_branch, CkMarshallMsg::__idx, branch_type, 0);
  CkRegisterDefaultCtor(branch_type, branch_made);
  branch_call = CkRegisterEp("call()", call_branch, CkMarshallMsg::__idx, branch_type, 0);

  cell_type = CkRegisterChare("Cell", sizeof(Cell), TypeArray);
  CkRegisterArrayDimensions(cell_type, 1);
  CkRegisterBase(cell_type, CkIndex_ArrayElement::__idx);
  cell_made = CkRegisterEp("Cell(Numbers*)", make_cell, Numbers::type, cell_type, 0);
  cell_moved = CkRegisterEp("Cell(CkMigrateMessage*)", move_cell, 0, cell_type, 0);
  CkRegisterMigCtor(cell_type, cell_moved);
  cell_take = CkRegisterEp("take(Numbers*)", take_cell, Numbers::type, cell_type, 0);
  cell_hear = CkRegisterEp("hear(int, std::vector<int>)", hear_cell, CkMarshallMsg::__idx, cell_type, CK_EP_NOKEEP);
  cell_copy = CkRegisterEp("copy(int)", copy_cell, CkMarshallMsg::__idx, cell_type, 0);

  guest_type = CkRegisterChare("Guest", sizeof(Guest), TypeChare);
  CkRegisterBase(guest_type, CkIndex_Chare::__idx);
  guest_made = CkRegisterEp("Guest(int)", make_guest, CkMarshallMsg::__idx, guest_type, CK_EP_NOKEEP);
  guest_answer = CkRegisterEp("answer(int)", answer_guest, CkMarshallMsg::__idx, guest_type, CK_EP_NOKEEP);
}

}  // namespace

extern "C" void CkRegisterMainModule(void) {
  Numbers::type = CkRegisterMsg("Numbers", Numbers::pack, Numbers::unpack, CkFreeMsg, sizeof(Numbers));
  Elsewhere::type = CkRegisterMsg("Elsewhere", Elsewhere::moved, Elsewhere::moved, CkFreeMsg, sizeof(Elsewhere));
  CkRegisterReadonly("word", "std::string", sizeof word, &word, pup_word);
  CkRegisterReadonly("members and others", "", sizeof members, &members, pup_names);
  CkRegisterReadonlyMsg("first", "Numbers*", reinterpret_cast<void**>(&first));
  register_objects();
}
