// What a GPU's driver does for us, of whatever vendor: a thin face over its library.
//
// A vendor is a folder (cuda/, hip/) that loads its library at run time and declares of it what is used here; no
// toolkit is needed to build or to run. vendors.h is the table of them.
//
// Rules that hold for all of it:
//   - A Driver belongs to the process. Any thread may call it; what it leaves as the thread's current context or device
//     is what it found.
//   - Nothing waits for a GPU but finish(), finish_all(), allocate() and free(), which are for beginnings and ends.
//   - A failure is a sentence: what was called, on which GPU, and what the driver says.
//   - A process that forks after its first call must not use the child's Driver: drivers do not outlive a fork.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "machine/ucx-like/dma_buf.h"

namespace periapt::gpu {

/// What memory is, as the driver says. `host`: it does not know it.
enum class MemoryType : std::uint8_t { host, pinned, device, managed, pool, vmm };
const char* name_of(MemoryType kind);
/// May a processor not touch it?
constexpr bool is_on_device(MemoryType kind) {
  return kind == MemoryType::device || kind == MemoryType::pool || kind == MemoryType::vmm;
}

/// What the driver says of an address.
struct Memory {
  MemoryType kind = MemoryType::host;
  int gpu = -1;              ///< it lies on; -1: on none
  int made_for = -1;         ///< the GPU that was its maker's; of pinned memory too
  std::uint64_t buffer = 0;  ///< the allocation's number: one that is freed and made anew has another. 0: host
  std::uintptr_t begin = 0;  ///< of the allocation
  std::uint64_t size = 0;
  bool exportable = false;  ///< export_memory() is for such memory; of `vmm`: open_file()
  bool imported = false;    ///< of another process: only the GPU that it was opened at, which is `gpu`, may touch it
  bool open = false;        ///< kernels of ours on its GPU may touch it at that address; of pinned memory: on any
  bool on_fabric = false;   ///< of `vmm`: export_to_fabric() is for it

  bool holds(std::uintptr_t address, std::uint64_t bytes) const {
    return address >= begin && bytes <= size && address - begin <= size - bytes;
  }
};

struct Gpu {
  std::string name;  ///< "NVIDIA H200"
  std::string pci;   ///< "0000:1b:00.0"
  std::uint64_t bytes = 0;
  std::array<std::uint8_t, 16> uuid{};  ///< the same in all processes, whatever each of them may see
};

struct Stream {
  void* native = nullptr;
  int gpu = -1;
};
struct Event {
  void* native = nullptr;
  int gpu = -1;
};
/// Streams that belong to no GPU but work on the one that is the thread's: no stream, the process's, the thread's own.
inline bool is_default_stream(const void* native) { return reinterpret_cast<std::uintptr_t>(native) <= 2; }
/// Code for GPUs of one vendor: machine code, where the build had the vendor's compiler; and its source, with what that
/// includes, for the compiler that the vendor has as a library. Texts end with a zero.
struct KernelCode {
  struct Text {
    const char* name;  ///< by which it is included
    const char* text;
  };
  std::span<const unsigned char> image;  ///< empty: the build had no compiler
  Text source;
  std::vector<Text> headers;
};
struct Kernel {
  void* native = nullptr;
  int gpu = -1;
};
/// Rows of bytes that lie at strides on both sides; a stride is not less than a row.
struct CopiedRows {
  void* to;
  std::uint64_t to_stride;
  const void* from;
  std::uint64_t from_stride;
  std::uint64_t bytes;  ///< of a row
  std::uint64_t rows;
};
/// Names memory of this process to another one of the host, or of its NVLink domain.
using IpcHandle = std::array<std::byte, 64>;

class Driver {
 public:
  virtual ~Driver() = default;

  virtual const char* vendor() const = 0;   ///< "cuda"
  virtual std::string version() const = 0;  ///< "13.0"
  /// By the numbers that the vendor's runtime gives them in this process.
  virtual const std::vector<Gpu>& gpus() const = 0;

  // ---- memory

  /// What lies at that address. An address of no GPU is host memory, not a failure.
  virtual Result<Memory> look(const void* address) = 0;
  /// Memory::buffer alone, which costs one question.
  virtual Result<std::uint64_t> buffer_of(const void* address) = 0;
  /// `kind`: pinned, device, managed or pool. `gpu`: also of pinned memory, whose pages are made there.
  virtual Result<std::byte*> allocate(int gpu, MemoryType kind, std::uint64_t bytes) = 0;
  virtual Status free(int gpu, MemoryType kind, std::byte* memory) = 0;

  // ---- streams

  virtual Result<Stream> make_stream(int gpu) = 0;
  virtual void destroy(Stream stream) = 0;
  /// The GPU that a stream of the program's works on; -1: a default stream, of a thread that has no GPU.
  virtual Result<int> gpu_of_stream(void* native) = 0;
  /// Behind what the stream has to do. Both addresses may be of any GPU or of pinned memory; of pageable memory too,
  /// but then the call may wait.
  virtual Status copy(Stream stream, void* to, const void* from, std::uint64_t bytes) = 0;
  /// The same of many rows by one copy, which writes nothing between them. Strides are less than 2 GiB.
  virtual Status copy_rows(Stream stream, const CopiedRows& rows) = 0;
  /// What is given to the stream after this begins when the event is reached.
  virtual Status wait_for(Stream stream, Event event) = 0;
  /// Has it nothing to do? Of a default stream, the thread's (`gpu`: where the thread has none): nor any that it waits
  /// for; where that is not to be known, no. A failure: it was not to be known.
  virtual Result<bool> is_idle(Stream stream) = 0;
  /// Is what it is given kept for a graph, and not done? An event would become a part of that.
  virtual Result<bool> is_captured(Stream stream) = 0;
  /// Waits until the stream has nothing to do.
  virtual Status finish(Stream stream) = 0;
  /// Waits until the GPU has done all that this process has given it so far, whatever the stream.
  virtual Status finish_all(int gpu) = 0;

  // ---- kernels

  /// The function of that name; loaded anew each time, for the rest of the process. Compiles it where the image is none
  /// for this GPU, which may take a second.
  virtual Result<Kernel> load_kernel(int gpu, const KernelCode& code, const char* name) = 0;
  /// So many blocks of it, of so many threads, behind what the stream has to do. `arguments`: as the function declares
  /// them, copied by the call.
  virtual Status launch(Stream stream, Kernel kernel, unsigned blocks, unsigned threads, void** arguments) = 0;
  /// As make_stream(), of the highest priority: its kernels begin before others' that wait.
  virtual Result<Stream> make_urgent_stream(int gpu) = 0;
  /// Do kernels of several processes run on it at the same time? Else they take turns, of some ms.
  virtual bool runs_processes_together(int gpu) = 0;

  virtual Result<Event> make_event(int gpu) = 0;
  /// As make_event(), for seconds_between().
  virtual Result<Event> make_timed_event(int gpu) = 0;
  virtual void destroy(Event event) = 0;
  /// Reached when the stream has done what it has been given so far.
  virtual Status record(Event event, Stream stream) = 0;
  /// A failure is that of the work before it: the GPU is then lost to this process.
  virtual Result<bool> reached(Event event) = 0;
  /// By the GPU's clock, of two timed events of one GPU that are reached; half a microsecond is the finest.
  virtual Result<double> seconds_between(Event begin, Event end) = 0;

  // ---- other GPUs, other processes

  /// Lets `gpu` read and write the other one's memory directly. A failure means that copies between them go through the
  /// host, which the driver does by itself.
  virtual Status reach(int gpu, int other) = 0;
  virtual Result<IpcHandle> export_memory(const Memory& memory) = 0;
  /// The beginning of that allocation, seen from `gpu`, until forget(). Of one's own process: a failure.
  virtual Result<std::byte*> import_memory(int gpu, const IpcHandle& handle) = 0;
  virtual Status forget(int gpu, std::byte* imported) = 0;
  /// Memory that was mapped by hand: the bytes that one mapping holds, which are those of one file. What look() says
  /// of an address there is about all that was reserved with it, but Memory::buffer is the mapping's number.
  struct Mapped {
    std::uintptr_t begin = 0;
    std::uint64_t size = 0;
  };
  virtual Result<Mapped> mapping_of(const Memory& memory, const void* address) = 0;
  /// Can processes give such memory to others by files? A failure says what is missing. And whether this one may be,
  /// says Memory::exportable: the program has made it so or not.
  virtual Status may_give_files(int gpu) = 0;
  /// A file of the mapping that begins there, which the caller closes. It keeps the memory.
  virtual Result<int> open_file(const void* mapping) = 0;
  /// As import_memory(), of what another process has opened; the file is the caller's still.
  virtual Result<std::byte*> import_file(int gpu, int file, std::uint64_t size) = 0;

  // ---- other devices, which read and write a GPU's memory themselves

  /// Can their drivers be given memory of that GPU? A failure says what is missing.
  virtual Status may_share(int gpu) = 0;
  virtual Result<ucx::DmaBuf> share(const Memory& memory) = 0;
  /// Devices may write there from now on. Copies that a program waits for are then at their end when it is told so.
  virtual void written_by_devices(const Memory& memory) = 0;
  /// Was that said of the allocation with that number? What devices have written is seen by work that the driver is
  /// given after the program was told, and not by a kernel that runs already.
  virtual bool may_be_written(std::uint64_t buffer) = 0;

  // ---- what only some ask

  /// Whole pages of the host's that are there already: `pinned` memory, for all GPUs, until unpin(), which comes before
  /// they are unmapped. Takes the system some ms. `gpu`: any that is in use.
  virtual Status pin(int gpu, std::byte* memory, std::uint64_t bytes) = 0;
  virtual Status unpin(int gpu, std::byte* memory) = 0;
  /// What copies between the two go over, as their vendor calls it: "NVLink", "PCIe". Empty: it does not say.
  virtual std::string link_between(int gpu, int other) = 0;

  // ---- other hosts, whose GPUs are joined to this one's (an NVLink domain)

  /// Can processes give memory that was mapped by hand to others by handles that hold there? A failure says what is
  /// missing. And whether this one may be, says Memory::on_fabric: the program has made it so or not.
  virtual Status may_use_fabric(int gpu) = 0;
  /// Of the mapping that begins there.
  virtual Result<IpcHandle> export_to_fabric(const void* mapping) = 0;
  /// As import_file().
  virtual Result<std::byte*> import_from_fabric(int gpu, const IpcHandle& handle, std::uint64_t size) = 0;
};

}  // namespace periapt::gpu
