// bench_net_openmpi, bench_net_mpich: MPI in the operations of operations.h, one source built for each MPI that is
// here. Started by its mpirun with 2 * pairs processes; they bind themselves to cores.
#include <mpi.h>

#include "bench/net/command_line.h"
#include "bench/net/operations.h"
#include "bench/net/place.h"

namespace {

using namespace periapt;
using namespace periapt::bench;

class MpiSide {
 public:
  /// A put needs a flush of its window to be sure to arrive; it is in wait(), for MPI has no other way to say so.
  struct Request {
    MPI_Request message = MPI_REQUEST_NULL;
    bool one_sided = false;
  };

  explicit MpiSide(int pairs) {
    MPI_Comm_rank(MPI_COMM_WORLD, &index_);
    MPI_Comm_size(MPI_COMM_WORLD, &sides_);
    if (sides_ != 2 * pairs)
      fatal(std::to_string(pairs) + " pairs are " + std::to_string(2 * pairs) + " processes; mpirun started " +
            std::to_string(sides_));
    partner_ = (index_ + pairs) % sides_;
    bind_side(index_, pairs);
    MPI_Win_allocate(kMostBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory_, &win_);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win_);
    meet();
  }
  ~MpiSide() {
    MPI_Win_unlock_all(win_);
    MPI_Win_free(&win_);
  }

  static std::string about() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(text, &length);
    std::string version(text);
    return version.substr(0, version.find_first_of("\n,"));
  }
  int index() const { return index_; }
  void meet() { MPI_Barrier(MPI_COMM_WORLD); }
  std::vector<double> gather(double mine) {
    std::vector<double> all(static_cast<std::size_t>(sides_));
    MPI_Allgather(&mine, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, MPI_COMM_WORLD);
    return all;
  }
  std::byte* outgoing(int slot, std::size_t size) { return slots_.outgoing(slot, size); }
  const std::byte* incoming(int slot, std::size_t size) { return slots_.incoming(slot, size); }

  Request send(int slot, std::size_t size) {
    Request request;
    MPI_Isend(outgoing(slot, size), static_cast<int>(size), MPI_BYTE, partner_, kTag, MPI_COMM_WORLD, &request.message);
    return request;
  }
  Request receive(int slot, std::size_t size) {
    Request request;
    MPI_Irecv(slots_.incoming(slot, size), static_cast<int>(size), MPI_BYTE, partner_, kTag, MPI_COMM_WORLD,
              &request.message);
    return request;
  }
  void wait(Request& request) {
    if (request.one_sided) MPI_Win_flush(partner_, win_);
    request.one_sided = false;
    MPI_Wait(&request.message, MPI_STATUS_IGNORE);
  }

  bool one_sided() const { return true; }
  volatile std::byte* window() { return memory_; }
  Request put(int slot, std::size_t size) {
    MPI_Put(outgoing(slot, size), static_cast<int>(size), MPI_BYTE, partner_, offset(slot, size),
            static_cast<int>(size), MPI_BYTE, win_);
    return {MPI_REQUEST_NULL, true};
  }
  Request get(int slot, std::size_t size) {
    MPI_Get(slots_.incoming(slot, size), static_cast<int>(size), MPI_BYTE, partner_, offset(slot, size),
            static_cast<int>(size), MPI_BYTE, win_);
    return {MPI_REQUEST_NULL, true};
  }
  void flush() { MPI_Win_flush(partner_, win_); }
  /// Asking for a message makes the library take in what has come.
  void look() {
    int there;
    MPI_Iprobe(partner_, kTag, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    MPI_Win_sync(win_);
  }

 private:
  static constexpr int kTag = 7;
  static MPI_Aint offset(int slot, std::size_t size) {
    return static_cast<MPI_Aint>(static_cast<std::size_t>(slot) * size);
  }

  int index_ = 0, sides_ = 0, partner_ = 0;
  Slots slots_;
  std::byte* memory_ = nullptr;
  MPI_Win win_ = MPI_WIN_NULL;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Plan plan;
  if (const auto end = CommandLine("MPI between processes of this host", plan).parse(argc, argv)) return end->print();
  {
    MpiSide side(plan.pairs);
    run(side, plan);
    if (side.index() == 0) print_about(side.about());
    side.meet();
    // MPICH 4.0 over UCX's TCP now and then waits in MPI_Finalize for ever. All is said: bench/messages doesn't mind
    // that its mpirun complains.
    std::fflush(stdout);
    if (side.about().find("MPICH") != std::string::npos) std::_Exit(0);
  }
  MPI_Finalize();
  return 0;
}
