// GPUs that are none: their memory is a range of addresses that faults when it is touched, with the bytes elsewhere;
// their streams do what they were given when an event is asked about, and not sooner. Behind both libraries, cuda.cpp
// and hip.cpp.
//
// What a test has to see is checked strictly: addresses that are of no allocation, a stream of another GPU than the
// current one, a handle that is opened twice. Errors are the numbers that both vendors share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/gpu/fake/faults.h"
#include "tests/gpu/fake/kernels.h"

namespace periapt::fake_gpu {

inline constexpr int kInvalidValue = 1, kOutOfMemory = 2, kInvalidDevice = 101, kInvalidContext = 201, kMapFailed = 205,
                     kAlreadyMapped = 208, kInvalidHandle = 400, kNotFound = 500, kNotReady = 600, kPeerAlready = 704,
                     kLost = 719, kCaptureImplicit = 906, kLaunchRefused = 701, kNotPermitted = 800,
                     kNotSupported = 801, kAlreadyPinned = 712, kNotPinned = 713;

enum class Kind { pinned, device, managed, pool, vmm };

struct Allocation {
  Kind kind = Kind::device;
  int gpu = 0;
  std::uint64_t id = 0, size = 0;
  int file = -1;               ///< that other processes map
  std::byte* bytes = nullptr;  ///< where they really are
  bool imported = false;
  bool foreign = false;  ///< of a context that a program has made: streams of others cannot reach it
  int owner = -1;  ///< of what is imported: the GPU that it lies on, which the driver names, whatever may touch it
  std::uint64_t handle = 0;  ///< of what was mapped by hand: its memory's, which other mappings may have too
  bool exportable = false;   ///< that memory has a file for other processes
  bool on_fabric = false;    ///< and a handle for those of other hosts, too
  bool lent = false;         ///< it was the process's own before it was pinned
};
/// CUmemAllocationProp
struct AllocationWishes {
  int type, handle_types, location_type, location;
  void* of_windows;
  unsigned char flags[8];
};
static_assert(sizeof(AllocationWishes) == 32);
/// Memory that a program maps by hand.
struct Physical {
  int gpu = 0;
  int file = -1;
  std::uint64_t size = 0;
  bool exportable = false, imported = false, on_fabric = false;
  unsigned holders = 1;  ///< handles and mappings
};

struct Handle {
  std::int32_t process, file;
  std::uint64_t id, size;
  std::int32_t physical;  ///< the GPU that it lies on
  char rest[36];
};
static_assert(sizeof(Handle) == 64);

struct Stream;
struct Event {
  bool recorded = false, reached = true;
  int error = 0;
  Stream* stream = nullptr;
  bool timed = false;
  double ms = 0;  ///< of the stream's clock, when it was reached
};
struct Work {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::uint64_t bytes = 0;
  std::shared_ptr<Event> record, wait;
  std::function<void()> call;  // in place of a kernel of a program's
  std::shared_ptr<Launch> kernel;
  std::int64_t left = 0;  ///< questions until it is done
};
struct Stream {
  int gpu = 0;
  int error = 0;
  double ms = 0;  ///< that its work has taken: each byte that it copies takes a nanosecond
  std::deque<Work> work;
  bool has_kernel() const { return !work.empty() && work.front().kernel != nullptr; }
};

class Machine {
 public:
  static Machine& of_process();

  /// Held by the caller of all below; what stands in for a kernel is called so, and asks for bytes_of() again.
  std::recursive_mutex mutex;
  Settings settings;

  int count() const { return static_cast<int>(visible_.size()); }
  int physical(int gpu) const { return visible_[static_cast<std::size_t>(gpu)]; }
  bool exists(int gpu) const { return gpu >= 0 && gpu < count(); }

  int allocate(Kind kind, int gpu, std::uint64_t bytes, void** made, bool foreign = false);
  int free(void* memory);
  /// Memory of the process becomes pinned memory; it is not the machine's.
  int pin(int gpu, void* memory, std::uint64_t bytes);
  int unpin(void* memory);
  /// The allocation that holds it; nullptr: none does.
  const Allocation* find(const void* address, std::uintptr_t* begin = nullptr) const;

  int copy(Stream* stream, void* to, const void* from, std::uint64_t bytes);
  struct Pitched {
    void* at;
    std::uint64_t pitch;
  };
  int copy_rows(Stream* stream, Pitched to, Pitched from, std::uint64_t bytes, std::uint64_t rows);
  /// Behind what the stream has to do; the function may ask for bytes_of() and call nothing else of the machine's.
  int call(Stream* stream, std::function<void()> function);
  /// Where the bytes at an address really are: for what stands in for a kernel. nullptr: they are in no allocation.
  std::byte* bytes_of(const void* address) const { return translate(address, 1); }
  int record(Stream* stream, const std::shared_ptr<Event>& event);
  int wait(Stream* stream, const std::shared_ptr<Event>& event);
  int launch(Stream* stream, const KernelBody& body, const void* arguments);
  /// What a kernel does to memory: writes `unit` there, or reads it. False: the GPU is lost. Takes the mutex by itself.
  bool touch(int gpu, void* to, const void* from, void* unit, std::uint64_t bytes);
  bool is_lost();
  bool reached[64][64] = {};  ///< which other GPUs' memory a GPU has been allowed to read
  int query(Event& event);
  int elapsed(const Event& begin, const Event& end, float* ms) const;
  int query(Stream& stream);
  int finish(Stream* stream);
  int finish_all(int gpu);
  void stop();  // the process ends: so do kernels
  void add(Stream* stream) { streams_.insert(stream); }
  void destroy(Stream* stream);  // what it was given is done

  int export_memory(const void* memory, Handle* handle);
  int import_memory(int gpu, const Handle& handle, void** made);
  int forget(void* memory);

  // ---- memory that is mapped by hand (by_hand.cpp)
  int create(int gpu, std::uint64_t bytes, bool exportable, bool on_fabric, std::uint64_t* handle);
  int reserve(std::uint64_t bytes, void** made);
  int unreserve(void* memory, std::uint64_t bytes);
  int map(void* at, std::uint64_t bytes, std::uint64_t handle);
  int unmap(void* at, std::uint64_t bytes);
  int open_to(int gpu, void* at, std::uint64_t bytes);
  int retain(const void* at, std::uint64_t* handle);
  int release(std::uint64_t handle);
  int file_of(std::uint64_t handle, int* file);
  int take_file(int file, std::uint64_t* handle);
  int to_fabric(std::uint64_t handle, Handle* made);
  int from_fabric(const Handle& made, std::uint64_t* handle);
  int open_from(int file, std::uint64_t* handle);
  /// What was reserved with an address; nothing: it was not.
  bool reservation_of(const void* address, std::uintptr_t* begin, std::uint64_t* bytes) const;
  /// The file of an allocation, for other devices; by the pages that it lies in.
  int share(const void* pages, std::uint64_t bytes, int* file);

 private:
  Machine();
  std::byte* translate(const void* address, std::uint64_t bytes) const;
  std::uintptr_t place_for(std::uint64_t bytes) const;
  void run(Stream& stream, bool all);
  bool run(Launch& kernel, bool all);
  void pass_time();
  bool may_touch(int gpu, const Allocation* found) const;
  int execute(Stream& stream, const Work& work);

  std::uintptr_t reserved_ = 0;
  std::set<Stream*> streams_;
  std::map<std::uintptr_t, Allocation> allocations_;
  std::map<std::uint64_t, std::uintptr_t> imported_;
  struct Reservation {
    std::uint64_t bytes;
    std::byte* bytes_at;  ///< where those of its mappings really are
  };
  std::map<std::uintptr_t, Reservation> reservations_;
  std::map<std::uint64_t, Physical> physical_;  ///< by handle
  std::uint64_t next_id_ = 1;
  std::vector<int> visible_;
};

}  // namespace periapt::fake_gpu
