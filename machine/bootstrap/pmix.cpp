// PMIx as a wire: Slurm (--mpi=pmix), Open MPI's mpirun, PRRTE's prterun, Flux, PALS. The library is compiled against
// but loaded only when a PMIx launcher started us: a program of ours runs on machines without it.
#include <pmix.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>

#include "base/loaded_library.h"
#include "machine/bootstrap/watchdog.h"
#include "machine/bootstrap/wire.h"

namespace periapt::bootstrap {
namespace {

// The functions that we use, found by name.
struct Library {
  decltype(&::PMIx_Init) init;
  decltype(&::PMIx_Finalize) finalize;
  decltype(&::PMIx_Put) put;
  decltype(&::PMIx_Commit) commit;
  decltype(&::PMIx_Fence_nb) fence;
  decltype(&::PMIx_Get) get;
  decltype(&::PMIx_Abort) abort;
  decltype(&::PMIx_Register_event_handler) register_event_handler;
  decltype(&::PMIx_Error_string) error_string;
  decltype(&::PMIx_Get_version) version;
  std::string path;
};

// A launcher that brings a library of its own has it loaded: where from?
std::string library_of_parent() {
  std::ifstream maps("/proc/" + std::to_string(::getppid()) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    std::size_t slash = line.find('/');
    if (slash != std::string::npos && line.find("/libpmix.so", slash) != std::string::npos) return line.substr(slash);
  }
  return {};
}

Result<Library> load() {
  LoadedLibrary file({file_named_by("PERIAPT_LIBPMIX", ""), "libpmix.so.2", library_of_parent()});
  if (!file.fault.empty()) {
    return Status::failure("the launcher offers it, but its library can't be loaded (" + file.fault +
                           "): install libpmix2, or set PERIAPT_LIBPMIX to the full path of a libpmix.so.2");
  }
  Library library{};
  library.path = file.path;
  const auto find = [&](auto& function, const char* name) { file.find(function, name); };
  find(library.init, "PMIx_Init");
  find(library.finalize, "PMIx_Finalize");
  find(library.put, "PMIx_Put");
  find(library.commit, "PMIx_Commit");
  find(library.fence, "PMIx_Fence_nb");
  find(library.get, "PMIx_Get");
  find(library.abort, "PMIx_Abort");
  find(library.register_event_handler, "PMIx_Register_event_handler");
  find(library.error_string, "PMIx_Error_string");
  find(library.version, "PMIx_Get_version");
  if (file.missing.empty()) return library;
  return Status::failure(file.path + " is too old or no PMIx library: it lacks" + file.missing);
}

pmix_proc_t process(const char* name_space, pmix_rank_t rank) {
  pmix_proc_t process{};
  std::strncpy(process.nspace, name_space, PMIX_MAX_NSLEN);
  process.rank = rank;
  return process;
}

pmix_info_t yes(const char* key) {
  pmix_info_t info{};
  std::strncpy(info.key, key, PMIX_MAX_KEYLEN);
  info.value.type = PMIX_BOOL;
  info.value.data.flag = true;
  return info;
}

// What the library's own thread tells about the end of the run; it outlives everything.
struct Events {
  std::mutex mutex;
  std::string reason;
  int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  decltype(&::PMIx_Error_string) error_string = nullptr;
};
Events& events() {
  static Events* events = new Events;
  return *events;
}

void on_event(std::size_t, pmix_status_t status, const pmix_proc_t* source, pmix_info_t*, std::size_t, pmix_info_t*,
              std::size_t, pmix_event_notification_cbfunc_fn_t done, void* data) {
  bool ends = status == PMIX_ERR_LOST_CONNECTION || status == PMIX_ERR_PROC_ABORTED ||
              status == PMIX_ERR_JOB_TERMINATED || status == PMIX_ERR_UNREACH || status == PMIX_EVENT_JOB_END ||
              status == PMIX_ERR_PROC_TERM_WO_SYNC || status == PMIX_ERR_PROC_KILLED_BY_CMD ||
              status == PMIX_ERR_PROC_SENSOR_BOUND_EXCEEDED;
  if (ends) {
    std::lock_guard<std::mutex> lock(events().mutex);
    if (events().reason.empty()) {
      events().reason = status == PMIX_ERR_LOST_CONNECTION
                            ? "the launcher has gone (its PMIx server closed the connection)"
                            : std::string("the launcher reports ") + events().error_string(status);
      if (source != nullptr && source->rank < PMIX_RANK_VALID) {
        events().reason += " for process " + std::to_string(source->rank);
      }
      std::uint64_t one = 1;
      [[maybe_unused]] const auto written = ::write(events().fd, &one, sizeof(one));
    }
  }
  if (done) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, data);
}

// A fence under way. The library has it too until it answers, which may be after this process has stopped waiting.
struct Fence {
  std::mutex mutex;
  std::condition_variable changed;
  bool answered = false;
  pmix_status_t status = PMIX_SUCCESS;
};

void on_fence(pmix_status_t status, void* data) {
  std::unique_ptr<std::shared_ptr<Fence>> fence(static_cast<std::shared_ptr<Fence>*>(data));
  std::lock_guard<std::mutex> lock((*fence)->mutex);
  (*fence)->answered = true;
  (*fence)->status = status;
  (*fence)->changed.notify_one();
}

class PmixWire final : public Wire {
 public:
  explicit PmixWire(Library library) : library_(std::move(library)) {}

  Status begin() {
    pmix_proc_t self{};
    Status status = ok(library_.init(&self, nullptr, 0), "PMIx_Init");
    if (!status) return status;
    name_space_ = self.nspace;
    facts_.rank = static_cast<int>(self.rank);
    facts_.job = self.nspace;
    facts_.longest_key = 500;
    facts_.longest_value = std::size_t{1} << 20;
    Result<std::uint32_t> size = number(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
    if (!size) return size.status();
    facts_.size = static_cast<int>(*size);
    if (facts_.size < 1 || facts_.rank < 0 || facts_.rank >= facts_.size) {
      return Status::failure("the launcher says that this is process " + std::to_string(facts_.rank) + " of " +
                             std::to_string(facts_.size) + ", which makes no sense");
    }
    find_hosts();
    std::string version = library_.version();  // "OpenPMIx 4.2.2rc2 (PMIx Standard: ...)"
    facts_.describe = version.substr(0, version.find(" (")) + " (" + launcher() + "name space " + name_space_ + ")";
    events().error_string = library_.error_string;
    library_.register_event_handler(nullptr, 0, nullptr, 0, on_event, nullptr, nullptr);
    return {};
  }

  const WireFacts& facts() const override { return facts_; }

  Status put(const std::string& key, const std::string& value) override {
    pmix_value_t text{};
    text.type = PMIX_STRING;
    text.data.string = const_cast<char*>(value.c_str());
    return ok(library_.put(PMIX_GLOBAL, key.c_str(), &text), "PMIx_Put");
  }
  Status fence() override {
    Status committed = ok(library_.commit(), "PMIx_Commit");
    if (!committed) return committed;
    pmix_info_t collect = yes(PMIX_COLLECT_DATA);
    pmix_proc_t all = process(name_space_.c_str(), PMIX_RANK_WILDCARD);
    auto fence = std::make_shared<Fence>();
    auto shared = std::make_unique<std::shared_ptr<Fence>>(fence);
    const pmix_status_t begun = library_.fence(&all, 1, &collect, 1, on_fence, shared.get());
    if (begun != PMIX_SUCCESS) return ok(begun, "PMIx_Fence_nb");
    static_cast<void>(shared.release());  // on_fence() has it
    std::unique_lock<std::mutex> lock(fence->mutex);
    const auto answered = [&fence] { return fence->answered; };
    const int limit = startup_limit_seconds();
    if (limit == 0) fence->changed.wait(lock, answered);
    const bool in_time = limit == 0 || fence->changed.wait_for(lock, std::chrono::seconds(limit), answered);
    return in_time ? ok(fence->status, "PMIx_Fence_nb") : Status::failure(no_answer_in_words());
  }
  Result<std::string> get(int rank, const std::string& key) override {
    // What was collected by a fence is here or at our server: an answer that is not there must not be waited for.
    pmix_info_t immediate = yes(PMIX_IMMEDIATE);
    pmix_value_t* value = nullptr;
    pmix_proc_t from = process(name_space_.c_str(), static_cast<pmix_rank_t>(rank));
    Status status = ok(library_.get(&from, key.c_str(), &immediate, 1, &value), "PMIx_Get");
    if (!status) return status;
    bool text = value != nullptr && value->type == PMIX_STRING && value->data.string != nullptr;
    std::string found = text ? value->data.string : "";
    if (text) std::free(value->data.string);
    std::free(value);
    if (!text) return Status::failure("PMIx_Get gave something that is no text");
    return found;
  }
  void abort(int code, const std::string& reason) override {
    let_output_through();
    library_.abort(code, reason.c_str(), nullptr, 0);
  }
  void finalize() override {
    if (finalized_) return;
    finalized_ = true;
    library_.finalize(nullptr, 0);
  }
  bool well(std::string* reason) override {
    std::lock_guard<std::mutex> lock(events().mutex);
    if (finalized_ || events().reason.empty()) return true;
    if (reason) *reason = events().reason;
    return false;
  }
  int wait_fd() const override { return events().fd; }

 private:
  Status ok(pmix_status_t status, const char* what) const {
    if (status == PMIX_SUCCESS) return {};
    return Status::failure(std::string(what) + " failed: " + library_.error_string(status));
  }

  Result<std::uint32_t> number(pmix_rank_t rank, const char* key) {
    pmix_value_t* value = nullptr;
    pmix_proc_t from = process(name_space_.c_str(), rank);
    pmix_info_t optional = yes(PMIX_OPTIONAL);  // the launcher tells it at the start, or never
    Status status = ok(library_.get(&from, key, &optional, 1, &value), "PMIx_Get");
    if (!status) return Status::failure(status.message() + " (" + key + ")");
    bool fits = value != nullptr && value->type == PMIX_UINT32;
    std::uint32_t found = fits ? value->data.uint32 : 0;
    std::free(value);
    if (!fits) return Status::failure(std::string("the launcher's ") + key + " is no 32-bit number");
    return found;
  }

  void find_hosts() {
    for (int rank = 0; rank < facts_.size; ++rank) {
      Result<std::uint32_t> node = number(static_cast<pmix_rank_t>(rank), PMIX_NODEID);
      if (!node) {
        facts_.host_of.clear();  // then they are exchanged
        return;
      }
      facts_.host_of.push_back(static_cast<int>(*node));
    }
    facts_.host_source = "the launcher's node numbers";
  }

  static std::string launcher() {
    const char* step = std::getenv("SLURM_STEP_ID");
    const char* job = std::getenv("SLURM_JOB_ID");
    if (step != nullptr && job != nullptr && std::getenv("PRTE_LAUNCHED") == nullptr) {
      return "Slurm, job " + std::string(job) + " step " + step + ", ";
    }
    if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) return "Open MPI, ";
    return std::getenv("PRTE_LAUNCHED") != nullptr ? "PRRTE, " : "";
  }

  Library library_;
  WireFacts facts_;
  std::string name_space_;
  std::atomic<bool> finalized_{false};
};

}  // namespace

bool built_with_pmix() { return true; }

Looked look_for_pmix() {
  for (const char* name : {"PMIX_NAMESPACE", "PMIX_RANK"}) {
    if (std::getenv(name) == nullptr) return Looked::nothing(std::string("PMIx: ") + name + " is not set");
  }
  Result<Library> library = load();
  if (!library) return Looked::unusable("PMIx: " + library.message());
  auto wire = std::make_unique<PmixWire>(std::move(*library));
  Status begun = wire->begin();
  if (!begun) return Looked::unusable("PMIx: " + begun.message());
  return Looked::found(std::move(wire));
}

}  // namespace periapt::bootstrap
