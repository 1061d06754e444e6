// What the parts of the zero-copy API share: access to the memory of a buffer that may be anywhere in the run.
#pragma once
#include "runtime/api/device_buffer.h"
#include "runtime/api/zero_copy.h"
#include "runtime/scheduler/pe.h"

struct NcpyAccess {
  static periapt::machine::MemoryKey& key(CkNcpyBuffer& buffer) { return buffer.key_; }
};

namespace periapt::zero_copy {

// A transfer between memory of this process and the buffer `remote`. It lives until ended() was called, on this PE.
struct Access : machine::Transfer {
  CkNcpyBuffer remote;
  void* local = nullptr;
  std::size_t size = 0;
  std::size_t offset = 0;  // in `remote`
  ucx::MemoryKind local_kind = ucx::MemoryKind::host;
  DeviceDescription* description = nullptr;  // of `remote`, if that may be memory of a GPU; as long as this lives
  int entry = -1;                            // whose call brings the memory of a GPU; -1: `user` does
  const char* user = "a CkDevicePersistent";
  bool is_put = false;
  bool fresh = false;     // registered because this transfer needs it
  bool borrowed = false;  // by us, and for nothing else
  void (*ended)(Pe& pe, Access& access) = nullptr;
};

// Counts as a message under way until it has ended. What goes wrong ends the run.
machine::TransferStatus begin(Pe& pe, Access& access);
machine::TransferStatus move(Pe& pe, Access& access);
machine::MemoryKey register_or_end(const void* memory, std::size_t size, machine::Audience audience,
                                   ucx::MemoryKind kind = ucx::MemoryKind::host);
// For other processes: registers the buffer, which may be memory of a GPU, and says what they map it by. `kind`: where
// it is known.
DeviceDescription register_device(Pe& pe, CkNcpyBuffer& buffer);
DeviceDescription register_device(Pe& pe, CkNcpyBuffer& buffer, ucx::MemoryKind kind);
// The transfers of a buffer have ended: its registration does, if it is to, and its callback is sent.
void release(Pe& pe, CkNcpyBuffer buffer);
// Of so many bytes. Memory that neither a driver nor a processor knows is taken for a GPU's: to copy it fails, in
// words.
ucx::MemoryKind kind_of(Pe& pe, const void* memory, std::size_t bytes);
std::string name_of(int ep);
// Of an entry that is a reduction target: the size of an item of its nocopydevice array.
std::size_t item_bytes_of(int ep);
bool wants_to_know(const CkCallback& callback);
// The same, which does not run its entry within the call that sends it.
CkCallback not_inline(CkCallback callback);
// When a stream of the program's has done what it has been given so far, the transfer's `done` is called: at once if it
// has already.
void when_reached(Pe& pe, void* stream, ucx::Place memory, machine::Transfer& transfer);
// Ends the run: memory of a GPU that a call of that entry brings, or is to be brought to, could not be copied.
[[noreturn]] void device_failed(const std::string& entry, const Status& status);
void register_entries();
void register_device_reductions();

}  // namespace periapt::zero_copy
