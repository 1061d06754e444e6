// A run in several partitions: each is a run of its own to its program, and they send each other Converse messages.
// With `stays S`: the partitions but the first one go on for S seconds after it has ended; `code N`: the last one ends
// with that exit code; `aborts`: the last one does; `nowhere`: a message to a partition that is not there; `kept
// FOLDER`: a checkpoint in it; `dies S`, `quits S`: the others are killed, or leave, so long after it; `meets FILE`:
// they meet at a barrier, before which the first one makes a file.
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "partitions.decl.h"

CProxy_Main mainProxy;
CProxy_Member members;

namespace {

void check(bool right, const char* what) {
  if (!right) CkAbort("partition %d, PE %d: wrong: %s", CmiMyPartition(), CkMyPe(), what);
}

// What partitions send each other.
struct Parcel {
  char header[CmiMsgHeaderSizeBytes];
  int from_partition, from_pe, count;
  int numbers[1];
};

int parcel_handler, done_handler;
std::string mode;
double argument = 0;

Parcel* make_parcel(int count) {
  const int bytes = static_cast<int>(sizeof(Parcel) + count * sizeof(int));
  auto* parcel = static_cast<Parcel*>(CmiAlloc(bytes));
  parcel->from_partition = CmiMyPartition();
  parcel->from_pe = CkMyPe();
  parcel->count = count;
  for (int i = 0; i < count; ++i) parcel->numbers[i] = i;
  CmiSetHandler(parcel, parcel_handler);
  return parcel;
}
int bytes_of(const Parcel& parcel) { return static_cast<int>(sizeof(Parcel) + parcel.count * sizeof(int)); }

int pes_of(int partition) {
  const bool last = partition + 1 == CmiNumPartitions();
  return (last ? CmiNumPesGlobal() : CmiGetPeGlobal(0, partition + 1)) - CmiGetPeGlobal(0, partition);
}

constexpr int long_parcel = 50000, rounds = 5;
int next_partition() { return (CmiMyPartition() + 1) % CmiNumPartitions(); }
int partition_before() { return (CmiMyPartition() + CmiNumPartitions() - 1) % CmiNumPartitions(); }

}  // namespace

struct Member : CBase_Member {
  int heard = 0, expected = 0;
  bool called = false;
  Member() {
    const int numbers[] = {CkMyPe(), CmiMyPartition()};
    contribute(sizeof numbers, numbers, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, numbered), mainProxy));
  }
  explicit Member(CkMigrateMessage* m) : CBase_Member(m) {}
  void pup(PUP::er& p) { CBase_Member::pup(p); }
  // To all PEs and nodes of the next partition, short and long, `rounds` times.
  void call() {
    const int to = next_partition();
    for (int round = 0; round < rounds; ++round) {
      for (int pe = 0; pe < pes_of(to); ++pe) {
        Parcel* parcel = make_parcel(round == 0 ? long_parcel : round);
        CmiInterSyncSend(pe, to, bytes_of(*parcel), parcel);
        CmiInterSyncSendAndFree(pe, to, bytes_of(*parcel), parcel);
      }
      for (int node = 0; node < CmiPartitionSize(to); ++node) {
        Parcel* parcel = make_parcel(round);
        CmiInterSyncNodeSend(node, to, bytes_of(*parcel), parcel);
        CmiInterSyncNodeSendAndFree(node, to, bytes_of(*parcel), parcel);
      }
    }
    called = true;
    expected = 2 * rounds * pes_of(partition_before()) * (CkMyRank() == 0 ? 2 : 1);
    look();
  }
  void hear(const Parcel& parcel) {
    check(parcel.from_partition == partition_before(), "where a parcel comes from");
    check(parcel.from_pe >= 0 && parcel.from_pe < pes_of(parcel.from_partition), "which PE sent it");
    for (int i = 0; i < parcel.count; ++i) check(parcel.numbers[i] == i, "what is in a parcel");
    ++heard;
    look();
  }
  void look() {
    check(!called || heard <= expected, "a parcel came twice");
    if (called && heard == expected) contribute(CkCallback(CkReductionTarget(Main, heard), mainProxy));
  }
  void meet(int length, const char* file) {
    const std::string name(file, static_cast<std::size_t>(length));
    if (CmiMyPeGlobal() == 0) {
      usleep(200'000);
      std::fclose(std::fopen(name.c_str(), "w"));
    }
    CmiBarrier();
    check(access(name.c_str(), F_OK) == 0, "a barrier is of all partitions");
    contribute(CkCallback(CkCallback::ckExit));
  }
  void round(int n) {
    contribute(sizeof n, &n, CkReduction::max_int, CkCallback(CkReductionTarget(Main, wentOn), mainProxy));
  }
};

struct Element : CBase_Element {
  Element() {
    const int one = 1;
    contribute(sizeof one, &one, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, elements), mainProxy));
  }
  explicit Element(CkMigrateMessage*) {}
};

struct Main : CBase_Main {
  double end = 0;
  explicit Main(CkArgMsg* m) {
    if (m->argc > 1) mode = m->argv[1];
    if (m->argc > 2) argument = std::atof(m->argv[2]);
    const std::string folder = m->argc > 2 ? m->argv[2] : "";
    delete m;
    mainProxy = thisProxy;
    check_numbers();
    members = CProxy_Member::ckNew();
    if (mode == "kept") CkStartCheckpoint(folder.c_str(), CkCallback(CkIndex_Main::restored(), thisProxy));
    if (mode == "code" && CmiMyPartition() + 1 == CmiNumPartitions()) CkExit(static_cast<int>(argument));
    if (mode == "aborts" && CmiMyPartition() + 1 == CmiNumPartitions()) CkAbort("the last partition has had enough");
    if (mode == "code" || mode == "aborts") CkExit();
    if (mode == "nowhere") CmiInterSyncSend(0, CmiNumPartitions(), bytes_of(*make_parcel(1)), make_parcel(1));
    if (mode == "meets") members.meet(static_cast<int>(folder.size()), folder.c_str());
    if (mode == "stays" || mode == "dies" || mode == "quits") {
      if (CmiMyPartition() == 0) CkExit();
      end = CkWallTimer() + argument;
      members.round(0);
      return;
    }
  }
  explicit Main(CkMigrateMessage* m) : CBase_Main(m) {}
  void pup(PUP::er& p) { CBase_Main::pup(p); }
  static void check_numbers() {
    check(CkMyPe() == 0 && CkMyNode() == 0, "the first PE is 0 in each partition");
    check(CmiMyPartition() >= 0 && CmiMyPartition() < CmiNumPartitions(), "a partition's number");
    check(CmiPartitionSize(CmiMyPartition()) == CkNumNodes() && CmiMyPartitionSize() == CkNumNodes(), "a size");
    int nodes = 0, pes = 0;
    for (int partition = 0; partition < CmiNumPartitions(); ++partition) {
      check(CmiGetNodeGlobal(0, partition) == nodes && CmiGetPeGlobal(0, partition) == pes, "where it begins");
      nodes += CmiPartitionSize(partition);
      pes += pes_of(partition);
      check(CmiGetNodeLocal(nodes - 1) == CmiPartitionSize(partition) - 1, "a node's local number");
      check(CmiGetPeLocal(pes - 1) == pes_of(partition) - 1, "a PE's local number");
    }
    check(nodes == CmiNumNodesGlobal() && pes == CmiNumPesGlobal(), "the run has all of them");
    check(CmiMyPeGlobal() == CmiGetPeGlobal(CkMyPe(), CmiMyPartition()), "a PE's global number");
    check(CmiMyNodeGlobal() == CmiGetNodeGlobal(CkMyNode(), CmiMyPartition()), "a node's global number");
    check(pes_of(CmiMyPartition()) == CkNumPes(), "a partition's PEs");
  }
  void numbered(int pes, int partitions) {
    check(pes == CkNumPes() * (CkNumPes() - 1) / 2, "members on all PEs of the partition");
    check(partitions == CkNumPes() * CmiMyPartition(), "members are of the partition");
    if (mode.empty()) CProxy_Element::ckNew(100);
  }
  void elements(int sum) {
    check(sum == 100, "elements of the partition");
    members.call();
  }
  void heard() { CkStartQD(CkCallback(CkIndex_Main::quiet(), thisProxy)); }
  // The first partition says when all are done.
  void quiet() {
    Parcel* parcel = make_parcel(0);
    CmiSetHandler(parcel, done_handler);
    CmiInterSyncSendAndFree(0, 0, bytes_of(*parcel), parcel);
    if (CmiMyPartition() != 0) CkExit();
  }
  void wentOn(int round) {
    if (CkWallTimer() < end) return members.round(round + 1);
    if (mode == "dies") raise(SIGKILL);
    if (mode == "quits") syscall(SYS_exit_group, 3);
    CkPrintf("partition %d went on\n", CmiMyPartition());
    CkExit();
  }
  void restored() {
    CkPrintf("partition %d is here again\n", CmiMyPartition());
    CkExit();
  }
};

void registerHandlers() {
  parcel_handler = CmiRegisterHandler([](void* message) {
    static_cast<Member*>(CkLocalBranch(members))->hear(*static_cast<Parcel*>(message));
    CmiFree(message);
  });
  done_handler = CmiRegisterHandler([](void* message) {
    static int done = 0;
    CmiFree(message);
    if (++done < CmiNumPartitions()) return;
    CkPrintf("%d partitions: all checks passed\n", CmiNumPartitions());
    CkExit();
  });
}

#include "partitions.def.h"
