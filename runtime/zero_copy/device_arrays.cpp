// Sending nocopydevice arrays, and CkDevicePersistent. See device_buffer.h.
//
// A call with such arrays is held back until their streams have done what they were given before it: then the elements
// may be read. One for a collection takes them along, copied into its message. Those in strided memory are packed first
// (packing.h): the receiver gets to see one piece.
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/fatal.h"
#include "runtime/api/device_marshal.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/scheduler/process.h"
#include "runtime/zero_copy/packing.h"
#include "runtime/zero_copy/zero_copy_parts.h"

namespace periapt::zero_copy {

void device_failed(const std::string& entry, const Status& status) {
  fatal("an array of a call could not be copied from or to the memory of a GPU: " + status.message(), entry,
        "it was freed, or is not as long as the call says; or its GPU is lost, or full",
        "keep the memory until the callback of its CkDeviceBuffer comes, or the entry runs; periapt-doctor lists what "
        "of this machine's GPUs is in use");
}

namespace {

struct HeldCall;

// An array that has been packed; of a call to one receiver it stays until that has read it.
struct PackedArray : Packing {
  HeldCall* call = nullptr;
  std::size_t number = 0;  // of the array
};

// A callback: it has been read.
void on_packed_read(void* packed, void* message) {
  CkFreeMsg(message);
  const std::unique_ptr<PackedArray> read(static_cast<PackedArray*>(packed));
  give_room(*Pe::current(), read->room);
}

// A call that is held back.
struct HeldCall {
  struct Array : machine::Transfer {
    HeldCall* call;
    DeviceArray what;
    ucx::MemoryKind kind;
    std::unique_ptr<PackedArray> packed;  // one in strided memory
  };

  Pe& pe;
  char* message;
  Where where;
  bool leaves_process;
  std::function<void()> send;
  std::unique_ptr<Array[]> arrays;
  std::size_t count, left;
  int caller = -1;  // the entry that makes it

  void hold(Array& array);
  void reached(Array& array);
  void pack(Array& array);
  void leave(Array& array, const void* at, const CkCallback& read);
  void one_less();
  std::string caller_in_words() const { return "a call in " + (caller < 0 ? "a function" : name_of(caller)); }
};

ucx::Place place_of(const void* memory, ucx::MemoryKind kind) {
  return {static_cast<std::byte*>(const_cast<void*>(memory)), kind};
}

void HeldCall::hold(Array& array) {
  array.done = [](machine::Transfer& transfer, const Status& status) {
    auto& array = static_cast<Array&>(transfer);
    if (!status) device_failed(array.call->caller_in_words(), status);
    array.call->reached(array);
  };
  when_reached(pe, array.what.buffer.cuda_stream.native(), place_of(array.what.buffer.ptr, array.kind), array);
}

void HeldCall::reached(Array& array) {
  const DeviceArray& what = array.what;
  if (what.buffer.layout.is_contiguous() || what.bytes == 0)
    return leave(array, what.buffer.ptr, CkCallback(CkCallback::ignore));
  if (!what.buffer.layout.get()->is_one_piece()) return pack(array);
  const Result<std::byte*> at = one_piece_at(*what.buffer.layout.get(), place_of(what.buffer.ptr, array.kind));
  if (!at) device_failed(caller_in_words(), at.status());
  leave(array, *at, CkCallback(CkCallback::ignore));
}

void HeldCall::pack(Array& array) {
  const DeviceArray& what = array.what;
  array.packed = std::make_unique<PackedArray>();
  PackedArray& packed = *array.packed;
  packed.call = this;
  packed.number = static_cast<std::size_t>(&array - arrays.get());
  packed.layout = what.buffer.layout.get();
  packed.scattered = place_of(what.buffer.ptr, array.kind);
  packed.done = [](machine::Transfer& transfer, const Status& status) {
    auto& packed = static_cast<PackedArray&>(transfer);
    HeldCall& call = *packed.call;
    Array& array = call.arrays[packed.number];
    if (!status) device_failed(call.caller_in_words(), status);
    if (call.where != Where::at_sender) return call.leave(array, packed.room.at, CkCallback(CkCallback::ignore));
    // The program's memory has been read; what is read from here on is the room.
    if (wants_to_know(array.what.buffer.cb)) not_inline(array.what.buffer.cb).send();
    array.what.buffer.cb = CkCallback(CkCallback::ignore);
    PackedArray* const stays = array.packed.release();
    call.leave(array, stays->room.at, CkCallback(on_packed_read, stays));
  };
  with_room(pe, packed, [this, &packed](const Status& taken) {
    const Status begun = taken ? begin(pe, gpu::Packer::Way::pack, packed, packed.room.at) : taken;
    if (!begun) device_failed(caller_in_words(), begun);
  });
}

// `read`: sent when they have been read where they are, besides the program's.
void HeldCall::leave(Array& array, const void* at, const CkCallback& read) {
  const DeviceArray& what = array.what;
  char* const place = message + what.offset;
  if (where == Where::at_sender) {
    DeviceSource source;
    source.buffer = CkNcpyBuffer::to_send(at, read, CK_BUFFER_UNREG, CK_BUFFER_DEREG);
    source.buffer.cnt = what.bytes;
    source.cb = what.buffer.cb;
    if (leaves_process)
      source.description =
          at == what.buffer.ptr ? register_device(pe, source.buffer, array.kind) : register_device(pe, source.buffer);
    std::memcpy(place, static_cast<const void*>(&source), sizeof source);
    return one_less();
  }
  if (array.kind == ucx::MemoryKind::host) {
    if (what.bytes) std::memcpy(place, at, what.bytes);
    return one_less();
  }
  array.done = [](machine::Transfer& transfer, const Status& status) {
    HeldCall& call = *static_cast<Array&>(transfer).call;
    if (!status) device_failed(call.caller_in_words(), status);
    call.one_less();
  };
  pe.copy(place_of(place, ucx::MemoryKind::host), place_of(at, kind_of(pe, at, what.bytes)), what.bytes, array);
}

void HeldCall::one_less() {
  if (--left != 0) return;
  const std::unique_ptr<HeldCall> self(this);
  send();
  pe.end_pending();
  if (where == Where::at_sender) return;
  for (std::size_t i = 0; i < count; ++i) {
    if (arrays[i].packed) give_room(pe, arrays[i].packed->room);
    if (wants_to_know(arrays[i].what.buffer.cb)) not_inline(arrays[i].what.buffer.cb).send();
  }
}

}  // namespace

void send_when_reached(void* message, const DeviceArray* arrays, std::size_t count, Where where, int to,
                       std::function<void()> send) {
  Pe& pe = *Pe::current();
  const bool leaves_process = to < 0 || pe.process.layer().route(to) != machine::Route::self_process;
  auto* call = new HeldCall{pe,
                            static_cast<char*>(message),
                            where,
                            leaves_process,
                            std::move(send),
                            std::make_unique<HeldCall::Array[]>(count),
                            count,
                            count,
                            pe.running ? static_cast<int>(pe.running->entry) : -1};
  for (std::size_t i = 0; i < count; ++i)
    demand_as_many(arrays[i].buffer.layout, arrays[i].bytes, "an array", call->caller_in_words());
  pe.begin_pending();  // until it has been sent
  for (std::size_t i = 0; i < count; ++i) {
    call->arrays[i].call = call;
    call->arrays[i].what = arrays[i];
    call->arrays[i].kind = kind_of(pe, arrays[i].buffer.ptr, arrays[i].bytes);
    call->hold(call->arrays[i]);
  }
}

namespace {

// get() and put() of a CkDevicePersistent: first the stream of the one that is called, then the bytes.
struct PersistentTransfer : Access {
  struct Stream : machine::Transfer {
    PersistentTransfer* transfer;
  } stream;
  struct Told {
    CkCallback cb;
    void* message;
    void tell() {
      if (wants_to_know(cb)) cb.send(message);
    }
  } mine, other;
  DeviceDescription others;
};

}  // namespace

}  // namespace periapt::zero_copy

namespace periapt {

static void send_when_done(void* stream, ucx::MemoryKind kind, const CkCallback& cb, void* message) {
  struct Waiting : machine::Transfer {
    CkCallback cb;
    void* message;
  };
  auto* const waiting = new Waiting;
  waiting->cb = cb;
  waiting->message = message;
  waiting->done = [](machine::Transfer& transfer, const Status& status) {
    const std::unique_ptr<Waiting> reached(static_cast<Waiting*>(&transfer));
    if (!status) zero_copy::device_failed("a callback that waits for a stream", status);
    zero_copy::not_inline(reached->cb).send(reached->message);
    Pe::current()->end_pending();
  };
  Pe& pe = *Pe::current();
  pe.begin_pending();
  // Never within this call: the callback may be a function of the program's.
  if (pe.when_reached(stream, {nullptr, kind}, *waiting) == machine::TransferStatus::complete)
    pe.copy({}, {nullptr, kind}, 0, *waiting);
}

void send_when_reached(CUstream_st* stream, const CkCallback& cb, void* message) {
  send_when_done(stream, ucx::MemoryKind::cuda, cb, message);
}
void send_when_reached(ihipStream_t* stream, const CkCallback& cb, void* message) {
  send_when_done(stream, ucx::MemoryKind::hip, cb, message);
}

}  // namespace periapt

using periapt::Pe;
using periapt::Status;
using namespace periapt::zero_copy;

CkDevicePersistent::CkDevicePersistent(const void* memory, std::size_t bytes, const CkCallback& callback,
                                       periapt::DeviceStream stream)
    : ptr(memory), cnt(bytes), cb(callback), cuda_stream(stream), pe(Pe::current()->index) {
  buffer_ = CkNcpyBuffer::to_send(memory, CkCallback(CkCallback::ignore), CK_BUFFER_UNREG, CK_BUFFER_NODEREG);
  buffer_.cnt = bytes;
}

void CkDevicePersistent::open() { description_ = register_device(*Pe::current(), buffer_); }

void CkDevicePersistent::close() {
  if (pe >= 0 && Pe::current()->process.process_of(pe) == Pe::current()->process.rank()) buffer_.deregisterMem();
}

CkDeviceStatus CkDevicePersistent::get(CkDevicePersistent& src) { return transfer(src, false); }
CkDeviceStatus CkDevicePersistent::put(CkDevicePersistent& dst) { return transfer(dst, true); }

CkDeviceStatus CkDevicePersistent::transfer(CkDevicePersistent& other, bool is_put) {
  Pe& here = *Pe::current();
  const std::string call = std::string("CkDevicePersistent::") + (is_put ? "put()" : "get()");
  if (pe < 0 || here.process.process_of(pe) != here.process.rank())
    periapt::fatal(call + " of a buffer that is not this process's", periapt::describe_running(here),
                   "it was default-constructed, or is a copy of another object's",
                   "destination.get(source) where the destination is, source.put(destination) where the source is");
  const std::size_t size = is_put ? cnt : other.cnt;
  if (const std::size_t room = is_put ? other.cnt : cnt; size > room)
    periapt::fatal(call + " of " + std::to_string(size) + " bytes into a buffer of " + std::to_string(room),
                   periapt::describe_running(here), "the source is larger than the destination",
                   "make both of the same size");
  auto* transfer = new PersistentTransfer;
  transfer->remote = other.buffer_;
  transfer->others = other.description_;
  transfer->description = &transfer->others;
  transfer->local = const_cast<void*>(ptr);
  transfer->local_kind = kind_of(here, ptr, size);
  transfer->size = size;
  transfer->is_put = is_put;
  transfer->mine = {cb, std::exchange(cb_msg, nullptr)};
  transfer->other = {other.cb, std::exchange(other.cb_msg, nullptr)};
  transfer->ended = [](Pe& pe, Access& access) {
    const std::unique_ptr<PersistentTransfer> ended(static_cast<PersistentTransfer*>(&access));
    release(pe, ended->remote);
    ended->other.tell();
    ended->mine.tell();
  };
  transfer->stream.transfer = transfer;
  transfer->stream.done = [](periapt::machine::Transfer& stream, const Status& status) {
    PersistentTransfer& transfer = *static_cast<PersistentTransfer::Stream&>(stream).transfer;
    if (!status) device_failed("a CkDevicePersistent", status);
    Pe& pe = *Pe::current();
    begin(pe, transfer);
    pe.end_pending();
  };
  here.begin_pending();  // until begin()
  when_reached(here, cuda_stream.native(), {static_cast<std::byte*>(transfer->local), transfer->local_kind},
               transfer->stream);
  return CkDeviceStatus::incomplete;
}

void CkDevicePersistent::pup(PUP::er& p) {
  p(reinterpret_cast<char*>(&ptr), sizeof ptr);
  p | cnt;
  p | pe;
  p | cb;
  p | buffer_;
  p(reinterpret_cast<char*>(&description_), sizeof description_);
}
