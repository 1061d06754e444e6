// Buffers of the zero-copy API, and transfers between two of them. See zero_copy.h.
//
// The PE that calls get() or put() moves the bytes. When they are there it sends its own buffer's callback, and tells
// the process of the other one, which ends that buffer's registration and sends its callback. A buffer that is not
// registered is registered by its owner when a transfer from another process asks for it.
#include "runtime/api/zero_copy.h"

#include <span>

#include "base/fatal.h"
#include "base/readable.h"
#include "runtime/converse/cmi.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/scheduler/process.h"
#include "runtime/zero_copy/zero_copy_parts.h"

using periapt::Pe;
using periapt::PeObjects;
using periapt::machine::Audience;
using periapt::machine::MemoryKey;
using periapt::machine::TransferStatus;

namespace periapt::zero_copy {
namespace {

int entry_register, entry_registered, entry_ended;

machine::OneSided& one_sided() { return Process::current()->layer().one_sided(); }

// Whether a PE of ours can reach memory by a key of that kind.
bool opens(const Pe& pe, const MemoryKey& key) {
  if (!key) return false;
  const bootstrap::HostLayout& layout = pe.process.layout();
  const bool near =
      pe.process.is_simulated() || layout.processes[static_cast<std::size_t>(key.process)].host == layout.host;
  return near || key.net_bytes != 0;
}

void end_registration(CkNcpyBuffer& buffer) {
  if (buffer.deregMode == CK_BUFFER_DEREG) buffer.deregisterMem();
}
void tell(const CkNcpyBuffer& buffer) {
  if (wants_to_know(buffer.cb)) buffer.cb.send(static_cast<int>(sizeof buffer), &buffer);
}

struct RegisterCall {
  CkNcpyBuffer buffer;
  Access* access;
  int asker;
  bool on_device;
};
struct RegisteredCall {
  CkNcpyBuffer buffer;
  Access* access;
};
struct DeviceRegisteredCall {
  RegisteredCall registered;  // first: the PE that asked looks at it before it knows which of the two came
  DeviceDescription description;
};

}  // namespace

ucx::MemoryKind kind_of(Pe& pe, const void* memory, std::size_t bytes) {
  const ucx::MemoryKind kind = one_sided().kind_of(pe.index, memory);
  const bool is_unknown = kind == ucx::MemoryKind::host && bytes != 0 && !is_readable(memory);
  return is_unknown ? ucx::MemoryKind::cuda : kind;
}

bool wants_to_know(const CkCallback& callback) { return callback.type != CkCallback::ignore && !callback.isInvalid(); }

CkCallback not_inline(CkCallback callback) {
  if (callback.type >= CkCallback::isendChare && callback.type <= CkCallback::isendArray)
    callback.type =
        static_cast<CkCallback::callbackType>(callback.type - CkCallback::isendChare + CkCallback::sendChare);
  return callback;
}

void when_reached(Pe& pe, void* stream, ucx::Place memory, machine::Transfer& transfer) {
  if (pe.when_reached(stream, memory, transfer) == TransferStatus::complete) transfer.done(transfer, Status());
}

void release(Pe& pe, CkNcpyBuffer buffer) {
  const bool here = pe.process.process_of(buffer.pe) == pe.process.rank();
  if (here) {
    end_registration(buffer);
    return tell(buffer);
  }
  const bool registered = NcpyAccess::key(buffer) && buffer.deregMode == CK_BUFFER_DEREG;
  if (!registered && !wants_to_know(buffer.cb)) return;
  send_to(pe, buffer.pe, runtime_message({bytes_of(buffer)}, entry_ended, 0));
}

// ---- access to a buffer

namespace {

// Registers the buffer, or asks the PE that can.
TransferStatus begin_unregistered(Pe& pe, Access& access) {
  access.fresh = true;
  if (pe.process.process_of(access.remote.pe) == pe.process.rank()) {
    NcpyAccess::key(access.remote) = register_or_end(
        access.remote.ptr, access.remote.cnt, Audience::host,
        access.description != nullptr ? kind_of(pe, access.remote.ptr, access.remote.cnt) : ucx::MemoryKind::host);
    access.borrowed = true;
    return move(pe, access);
  }
  const RegisterCall call{access.remote, &access, pe.index, access.description != nullptr};
  send_to(pe, access.remote.pe, runtime_message({bytes_of(call)}, entry_register, 0));
  return TransferStatus::pending;
}

void on_moved(machine::Transfer& transfer, const Status& status) {
  Pe& pe = *Pe::current();
  auto& access = static_cast<Access&>(transfer);
  // A buffer may be used again although its registration ended with an earlier transfer.
  if (!status && !access.fresh) return static_cast<void>(begin_unregistered(pe, access));
  pe.end_pending();
  if (!status && access.description != nullptr)
    device_failed(access.entry >= 0 ? name_of(access.entry) : access.user, status);
  if (!status)
    fatal("a zero-copy transfer of " + std::to_string(access.size) + " bytes could not be made: " + status.message(),
          "", "the buffer's memory was freed, or the buffer deregistered, before the transfer had ended",
          "keep it until its callback comes");
  if (access.borrowed) {
    one_sided().deregister_memory(NcpyAccess::key(access.remote));
    NcpyAccess::key(access.remote) = {};
  }
  access.ended(pe, access);
}

}  // namespace

TransferStatus begin(Pe& pe, Access& access) {
  if (access.remote.pe < 0 || access.remote.regMode == CK_BUFFER_NOREG)
    fatal("a zero-copy transfer with a buffer that describes no memory that could be reached", describe_running(pe),
          "it was default-constructed, or made with CK_BUFFER_NOREG", "give it memory and another mode with init()");
  pe.begin_pending();  // until it has ended
  access.done = on_moved;
  return opens(pe, NcpyAccess::key(access.remote)) ? move(pe, access) : begin_unregistered(pe, access);
}

TransferStatus move(Pe& pe, Access& access) {
  const MemoryKey& key = NcpyAccess::key(access.remote);
  const auto at = reinterpret_cast<std::uintptr_t>(access.remote.ptr) + access.offset;
  if (access.description != nullptr)
    access.described = std::as_bytes(std::span(access.description->bytes)).first(access.description->length);
  return access.is_put ? pe.put(access.local, access.size, key, at, access, access.local_kind)
                       : pe.get(access.local, access.size, key, at, access, access.local_kind);
}

MemoryKey register_or_end(const void* memory, std::size_t size, Audience audience, ucx::MemoryKind kind) {
  Result<MemoryKey> key = one_sided().register_memory(const_cast<void*>(memory), size, audience, kind);
  if (!key && kind != ucx::MemoryKind::host) device_failed(describe_running(*Pe::current()), key.status());
  if (!key)
    fatal("memory of " + std::to_string(size) + " bytes could not be registered: " + key.message(),
          describe_running(*Pe::current()), "",
          "deregister buffers with deregisterMem(), or leave that to "
          "CK_BUFFER_DEREG");
  return *key;
}

DeviceDescription register_device(Pe& pe, CkNcpyBuffer& buffer) {
  return register_device(pe, buffer, kind_of(pe, buffer.ptr, buffer.cnt));
}
DeviceDescription register_device(Pe& pe, CkNcpyBuffer& buffer, ucx::MemoryKind kind) {
  MemoryKey& key = NcpyAccess::key(buffer);
  if (!one_sided().is_registered(key)) key = register_or_end(buffer.ptr, buffer.cnt, Audience::run, kind);
  DeviceDescription description;
  if (kind == ucx::MemoryKind::host) return description;
  const auto described = one_sided().describe(pe.index, {static_cast<std::byte*>(buffer.ptr), kind});
  if (described.size() > sizeof description.bytes) return description;
  description.length = static_cast<std::uint16_t>(described.size());
  std::memcpy(description.bytes, described.data(), described.size());
  return description;
}

namespace {

// On the PE that made the buffer.
void on_register(Pe& pe, Delivery& call) {
  auto asked = call.read<RegisterCall>();
  const auto answer = [&](const auto& registered) {
    send_to(pe, asked.asker, runtime_message({bytes_of(registered)}, entry_registered, 0));
  };
  if (asked.on_device) {
    const DeviceDescription description = register_device(pe, asked.buffer);
    return answer(DeviceRegisteredCall{{asked.buffer, asked.access}, description});
  }
  asked.buffer.registerMem();
  answer(RegisteredCall{asked.buffer, asked.access});
}
void on_registered(Pe& pe, Delivery& call) {
  const auto answer = call.read<RegisteredCall>();
  answer.access->remote = answer.buffer;
  if (answer.access->description != nullptr)
    *answer.access->description = call.read<DeviceRegisteredCall>().description;
  move(pe, *answer.access);
}
void on_ended(Pe& pe, Delivery& call) {
  auto buffer = call.read<CkNcpyBuffer>();
  end_registration(buffer);
  tell(buffer);
}

// get() and put() of the program.
struct DirectTransfer : Access {
  CkNcpyBuffer mine;
};

CkNcpyStatus transfer(CkNcpyBuffer& mine, const CkNcpyBuffer& other, bool is_put) {
  Pe& pe = *Pe::current();
  const std::size_t size = is_put ? mine.cnt : other.cnt;
  const std::size_t room = is_put ? other.cnt : mine.cnt;
  if (mine.pe < 0 || mine.regMode == CK_BUFFER_NOREG || pe.process.process_of(mine.pe) != pe.process.rank())
    fatal(std::string(is_put ? "put()" : "get()") + " of a buffer whose memory is not in this process",
          describe_running(pe), "the buffer that is called has to be the local one",
          "destination.get(source) on the destination's side, source.put(destination) on the source's");
  if (size > room)
    fatal("a zero-copy transfer of " + std::to_string(size) + " bytes into a buffer of " + std::to_string(room),
          describe_running(pe), "the source is larger than the destination", "make both of the same size");
  auto* direct = new DirectTransfer;
  direct->mine = mine;
  direct->remote = other;
  direct->local = mine.ptr;
  direct->size = size;
  direct->is_put = is_put;
  direct->ended = [](Pe& pe, Access& access) {
    auto& direct = static_cast<DirectTransfer&>(access);
    end_registration(direct.mine);
    tell(direct.mine);
    release(pe, direct.remote);
    delete &direct;
  };
  return begin(pe, *direct) == TransferStatus::complete ? CkNcpyStatus::complete : CkNcpyStatus::incomplete;
}

}  // namespace

void register_entries() {
  entry_register = register_runtime_entry("zero copy: register a buffer", on_register);
  entry_registered = register_runtime_entry("zero copy: buffer is registered", on_registered);
  entry_ended = register_runtime_entry("zero copy: transfer has ended", on_ended);
  register_device_reductions();
}

}  // namespace periapt::zero_copy

using namespace periapt::zero_copy;

void CkNcpyBuffer::init(const void* memory, std::size_t bytes, const CkCallback& callback, unsigned short reg_mode,
                        unsigned short dereg_mode) {
  ptr = const_cast<void*>(memory);
  cnt = bytes;
  cb = callback;
  regMode = reg_mode;
  deregMode = dereg_mode;
  pe = Pe::current()->index;
  key_ = {};
  if (regMode == CK_BUFFER_REG || regMode == CK_BUFFER_PREREG) registerMem();
}

CkNcpyBuffer CkNcpyBuffer::to_send(const void* memory, const CkCallback& callback, unsigned short reg_mode,
                                   unsigned short dereg_mode) {
  CkNcpyBuffer buffer;
  buffer.init(memory, 0, callback, CK_BUFFER_UNREG, dereg_mode);
  buffer.regMode = reg_mode;
  return buffer;
}

void CkNcpyBuffer::registerMem() {
  if (Pe::current()->process.process_of(pe) != Pe::current()->process.rank() || one_sided().is_registered(key_)) return;
  key_ = register_or_end(ptr, cnt, Audience::run);
}
void CkNcpyBuffer::deregisterMem() {
  one_sided().deregister_memory(key_);
  key_ = {};
}

CkNcpyStatus CkNcpyBuffer::get(const CkNcpyBuffer& source) { return transfer(*this, source, false); }
CkNcpyStatus CkNcpyBuffer::put(const CkNcpyBuffer& destination) { return transfer(*this, destination, true); }

void CkNcpyBuffer::print() const {
  CmiPrintf("[PE %d] buffer: %zu bytes at %p of PE %d, mode %d, afterwards %d, reference %p\n", CmiMyPe(), cnt, ptr, pe,
            regMode, deregMode, ref);
}

void CkNcpyBuffer::pup(PUP::er& p) {
  p(reinterpret_cast<char*>(this),
    static_cast<std::size_t>(reinterpret_cast<char*>(key_.net) - reinterpret_cast<char*>(this)));
  if (p.isUnpacking() && key_.net_bytes > MemoryKey::kNetBytes)
    periapt::fatal("a CkNcpyBuffer was unpacked from bytes that hold none", describe_running(*Pe::current()));
  p(reinterpret_cast<char*>(key_.net), key_.net_bytes);
}

void* CkRdmaAlloc(std::size_t bytes) { return Pe::current()->heap.allocate(bytes); }
void CkRdmaFree(void* memory) {
  if (memory) Pe::current()->heap.release(memory);
}
