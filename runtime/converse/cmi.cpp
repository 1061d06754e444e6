// Number and place of this PE, time, memory, files and random numbers, as Converse programs ask for them.
#include "runtime/converse/cmi.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <numeric>

#include "base/clock.h"
#include "base/topology.h"
#include "runtime/converse/converse_state.h"
#include "runtime/scheduler/process.h"

using namespace periapt;

namespace {
// Before the run starts there is one process, as far as is known.
const bootstrap::HostLayout* layout() {
  Process* process = Process::current();
  return process ? &process->layout() : nullptr;
}
// splitmix64 (Steele, Lea, Flood 2014): one addition, full period.
std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}
void* or_out_of_memory(void* block, std::size_t bytes) {
  if (!block && bytes) CmiOutOfMemory(static_cast<int>(bytes));
  return block;
}
}  // namespace

extern "C" {

int CmiMyPe() {
  if (Pe* pe = Pe::current()) return pe->index;
  return Process::current() ? -1 : 0;
}
int CmiMyRank() {
  Pe* pe = Pe::current();
  return pe ? pe->rank : 0;
}
int CmiMyNode() { return Process::current() ? Process::current()->rank() : 0; }
int CmiNumPes() { return layout() ? layout()->pes : 1; }
int CmiNumNodes() { return layout() ? layout()->process_count() : 1; }
int CmiMyNodeSize() { return CmiNodeSize(CmiMyNode()); }
int CmiNodeSize(int node) { return layout() ? layout()->processes[node].pes : 1; }
int CmiNodeFirst(int node) { return layout() ? layout()->processes[node].first_pe : 0; }
int CmiNodeOf(int pe) { return layout() ? layout()->process_of[pe] : 0; }
int CmiRankOf(int pe) { return layout() ? layout()->rank_in_process(pe) : 0; }

int CmiNumPhysicalNodes() { return layout() ? layout()->host_count() : 1; }
int CmiPhysicalNodeID(int pe) { return layout() ? layout()->host_of(pe) : 0; }
int CmiNumPesOnPhysicalNode(int host) { return layout() ? layout()->hosts[host].pes : 1; }
int CmiGetFirstPeOnPhysicalNode(int host) { return layout() ? layout()->hosts[host].first_pe : 0; }
int CmiPhysicalRank(int pe) { return pe - CmiGetFirstPeOnPhysicalNode(CmiPhysicalNodeID(pe)); }
void CmiGetPesOnPhysicalNode(int host, int** pes, int* count) {
  *count = CmiNumPesOnPhysicalNode(host);
  *pes = static_cast<int*>(or_out_of_memory(std::malloc(*count * sizeof(int)), *count * sizeof(int)));
  std::iota(*pes, *pes + *count, CmiGetFirstPeOnPhysicalNode(host));
}
int CmiPeOnSamePhysicalNode(int pe1, int pe2) { return CmiPhysicalNodeID(pe1) == CmiPhysicalNodeID(pe2); }
int CmiCpuTopologyEnabled() { return 1; }
int CmiNumCores() { return static_cast<int>(topology::allowed_cpus().size()); }
int CmiOnCore() { return topology::current_cpu(); }
int CmiSetCPUAffinity(int cpu) { return topology::pin_this_thread(cpu).ok() ? 0 : -1; }
int CmiSetCPUAffinityLogical(int cpu) {
  auto os_numbers = topology::logical_to_os();
  if (!os_numbers.ok() || cpu < 0 || static_cast<std::size_t>(cpu) >= os_numbers.value().size()) return -1;
  return CmiSetCPUAffinity(os_numbers.value()[cpu]);
}
int CmiPrintCPUAffinity() {
  return CmiPrintf("PE %d runs on %s\n", CmiMyPe(), topology::describe_cpu(topology::current_cpu()).c_str());
}
void CmiInitCPUAffinity(char**) {}
void CmiInitCPUTopology(char**) {}

double CmiWallTimer() { return clock::seconds_since_start(); }
double CmiCpuTimer() { return 1e-9 * static_cast<double>(clock::thread_cpu_ns()); }
double CmiTimer() { return CmiCpuTimer(); }
double CmiStartTimer() { return 0; }
double CmiInitTime() { return clock::seconds() - clock::seconds_since_start(); }
int CmiTimerIsSynchronized() { return 1; }
int CmiTimerAbsolute() { return 0; }

void* CmiAlloc(int bytes) {
  void* block = require_pe("CmiAlloc").heap.allocate(static_cast<std::size_t>(bytes));
  if (bytes >= CmiMsgHeaderSizeBytes) CmiInitMsgHeader(block, bytes);
  return block;
}
void CmiFree(void* block) {
  if (block) require_pe("CmiFree").heap.release(block);
}
void CmiReference(void* block) { Heap::add_reference(block); }
int CmiGetReference(void* block) { return Heap::is_shared(block) ? 2 : 1; }
int CmiSize(void* block) { return static_cast<int>(Heap::size(block)); }
void* CmiRdmaAlloc(int bytes) { return CmiAlloc(bytes); }
void CmiRdmaFree(void* block) { CmiFree(block); }
char* CmiCopyMsg(char* message, int bytes) {
  void* copy = require_pe("CmiCopyMsg").heap.allocate(static_cast<std::size_t>(bytes));
  return static_cast<char*>(std::memcpy(copy, message, static_cast<std::size_t>(bytes)));
}

void* CmiTmpAlloc(int bytes) { return CmiMallocAligned(static_cast<std::size_t>(bytes), 16); }
void CmiTmpFree(void* block) { std::free(block); }
void* CmiAlignedAlloc(std::size_t alignment, std::size_t bytes) {
  void* block = nullptr;
  if (posix_memalign(&block, alignment < sizeof(void*) ? sizeof(void*) : alignment, bytes) != 0) return nullptr;
  return block;
}
void* CmiMallocAligned(const std::size_t bytes, const unsigned alignment) {
  return or_out_of_memory(CmiAlignedAlloc(alignment, bytes), bytes);
}
void CmiFreeAligned(void* block) { std::free(block); }
void* malloc_nomigrate(std::size_t bytes) { return std::malloc(bytes); }
void free_nomigrate(void* block) { std::free(block); }
CMK_TYPEDEF_UINT8 CmiMemoryUsage() {
  unsigned long total = 0, resident = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%lu %lu", &total, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return resident * static_cast<unsigned long>(CmiGetPageSize());
}
CMK_TYPEDEF_UINT8 CmiMaxMemoryUsage() {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<unsigned long>(usage.ru_maxrss) * 1024;
}
const char* CmiMemoryUsageReporter() { return "/proc/self/statm"; }
void CmiMemoryCheck() {}
int CmiGetPageSize() { return static_cast<int>(sysconf(_SC_PAGESIZE)); }

std::FILE* CmiFopen(const char* path, const char* mode) {
  std::FILE* file;
  do file = std::fopen(path, mode);
  while (!file && errno == EINTR);
  return file;
}
// Not begun again: the state of a file whose close was interrupted is not known.
int CmiFclose(std::FILE* file) { return std::fclose(file); }
std::size_t CmiFwrite(const void* items, std::size_t size, std::size_t count, std::FILE* file) {
  std::size_t done = 0;
  while (done < count) {
    errno = 0;
    done += std::fwrite(static_cast<const char*>(items) + done * size, size, count - done, file);
    if (done < count && errno != EINTR) break;
    if (done < count) std::clearerr(file);
  }
  return done;
}
int CmiOpen(const char* path, int flags, int mode) {
  int fd;
  do fd = ::open(path, flags, mode);
  while (fd < 0 && errno == EINTR);
  return fd;
}
CmiInt8 CmiPwrite(int fd, const char* bytes, std::size_t count, std::size_t offset) {
  std::size_t done = 0;
  while (done < count) {
    const ssize_t wrote = ::pwrite(fd, bytes + done, count - done, static_cast<off_t>(offset + done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return -1;
    done += static_cast<std::size_t>(wrote);
  }
  return static_cast<CmiInt8>(done);
}
void CmiMkdir(const char* path) { ::mkdir(path, 0777); }

void CrnSrand(unsigned seed) { require_pe("CrnSrand").random_state = seed; }
int CrnRand() { return static_cast<int>(next_random(require_pe("CrnRand").random_state) >> 33); }
double CrnDrand() { return static_cast<double>(next_random(require_pe("CrnDrand").random_state) >> 11) * 0x1p-53; }

int CmiEndianness() { return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__; }
}
