// See charm_options.h.
#include "runtime/face/charm_options.h"

#include <sstream>
#include <string>

#include "base/log.h"
#include "runtime/converse/converse.h"
#include "runtime/face/startup.h"

int quietModeRequested = 0;

namespace periapt {
namespace {

constexpr const char* kFlags =
    // printed at the end, or at the start
    "+cs +ss +stats +mems +qs +cldb_cs +msgstatistic +show_cpu_topology +obtain_cpu_topology +skip_cpu_topology "
    // queues, arrays and reductions
    "+fifo +lifo +ififo +ilifo +bfifo +blifo +objq +noAnytimeMigration +staticInsertion +noNotifyChildInReduction "
    // memory
    "+noisomalloc +isomalloc_sync +no_isomalloc_sync +isomalloc_probe +isomalloc_test +restartisomalloc +maffinity "
    "+memory_report +memory_backup +memory_crc +memory_mprotect +memory_verbose +memory_nostack +memory_fillphase "
    // networks
    "+CmiNoProcForComThread +netpoll +netint +idlepoll +idleblocking +eth +atm +giga +cma_enable_all +cma_disable "
    "+comm_thread_only_recv +no_outstanding_sends +gpushm +gpunopeer +allgpus "
    // debuggers, records and traces
    "+cpd +DebugSuspend +recplay-crc +recplay-xor +traceselective +outlier +outlierUsePhases +recordStack "
    "+write-analysis-file +useAbsoluteTime "
    // the rest
    "+io_flush_user +io_flush_system +syncprint +ftc_disk +stealonly1 +WSImmediate +WSPriority";
constexpr const char* kNumbers =
    "+csdLocalMax +networkProgressPeriod +messageBufferingThreshold +ringexit +restartaftercrash +io_buffer_size "
    "+MessageQueueNodes +MessageQueueNodeSize +cma_min_threshold +cma_max_threshold +nodesize +window_size "
    "+max_dgram_size +os_buffer_size +delay_retransmit +ack_delay +IBVMaxSendTokens +IBVBlockAllocRatio "
    "+IBVBlockThreshold +requestmax +postRecvCnt +postRecvLowerSize +postRecvUpperSize +postRecvThreshold "
    "+postRecvBucketSize +postRecvMsgInc +postRecvCheckFreq +ctrlMsgCnt +dynCapSend +dynCapRecv +dynCapThreshold "
    "+irecvMsgThreshold +gpucommbuffer +gpuipceventpool +recplay-logsize +outlierNumSeeds +outlierPeNumKeep "
    "+outlierEpThresh +epThreshold +epInterval +memlogsize +memory_fill +memory_checkfreq +cldb_neighbor_period "
    "+cldb_neighbor_overload +WSThreshold +idle-timeout";
constexpr const char* kTexts =
    "+pemapfile +memnodemap +mempol +IBVDeviceName +gpumap +DebugDisplay +record-detail +replay-detail +printTopo";

template <class Take>
void take(const char* names, Take taken) {
  std::istringstream all(names);
  for (std::string name; all >> name;)
    if (taken(name.c_str())) log::note(name + " has no effect");
}
}  // namespace

void take_charm_options(char** argv) {
  quietModeRequested = CmiGetArgFlag(argv, "++quiet");
  log::set_quiet(quietModeRequested);
  take(kFlags, [argv](const char* name) { return CmiGetArgFlag(argv, name); });
  double number = 0;
  int whole = 0;  // may stand behind the name at once: +csdLocalMax16
  take(kNumbers,
       [&](const char* name) { return CmiGetArgDouble(argv, name, &number) || CmiGetArgInt(argv, name, &whole); });
  char* text = nullptr;
  take(kTexts, [&](const char* name) { return CmiGetArgString(argv, name, &text); });
}

}  // namespace periapt
