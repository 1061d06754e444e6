// What the fakes of both vendors' libraries do alike: handles that are pointers to what device.h models, and what is
// told of a GPU.
#pragma once

#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "tests/gpu/fake/device.h"

namespace periapt::fake_gpu {

inline Machine& machine() { return Machine::of_process(); }
inline auto locked() { return std::lock_guard(machine().mutex); }

/// A call that a message might make.
inline void count() { __atomic_fetch_add(&machine().settings.calls, 1, __ATOMIC_RELAXED); }

template <class Native>
Stream* stream_of(Native stream) {
  static Stream standard;
  return reinterpret_cast<std::uintptr_t>(stream) <= 2 ? &standard : reinterpret_cast<Stream*>(stream);
}
template <class Native>
std::shared_ptr<Event>& event_of(Native event) {
  return *reinterpret_cast<std::shared_ptr<Event>*>(event);
}
template <class Native>
int make_stream(Native* made, int gpu) {
  auto* stream = new Stream;
  stream->gpu = gpu;
  const auto lock = locked();
  machine().add(stream);
  *made = reinterpret_cast<Native>(stream);
  return 0;
}
inline int priorities(int* lowest, int* highest) {
  *lowest = 0;
  *highest = -5;
  return 0;
}
/// The compiler that a vendor has as a library: what it makes is nothing.
struct Program {};
/// Whether a source includes nothing but what is given to it by name, and all of that.
inline bool includes_all(const char* source, int headers, const char* const* texts, const char* const* names) {
  constexpr char kInclude[] = "\n#include \"";
  int found = 0;
  for (const char* at = source; (at = std::strstr(at, kInclude)) != nullptr; ++found) {
    at += sizeof kInclude - 1;
    const std::string name(at, std::strcspn(at, "\""));
    int i = 0;
    while (i < headers && (texts[i] == nullptr || name != names[i])) ++i;
    if (i == headers) return false;
  }
  return found == headers;
}
inline int make_program(Program** made, const char* source, int headers, const char* const* texts,
                        const char* const* names) {
  const bool is_known = std::strstr(source, "periapt_courier") != nullptr ||
                        std::strstr(source, "periapt_fold") != nullptr ||
                        std::strstr(source, "periapt_pack") != nullptr;
  if (!is_known || !includes_all(source, headers, texts, names)) return 1;
  *made = new Program;
  return 0;
}
inline int compile_program() { return static_cast<int>(machine().settings.compile_error); }
inline int text_size(std::size_t* size) {
  *size = 6;
  return 0;
}
inline int write_text(char* text) {
  std::memcpy(text, "error", 6);
  return 0;
}
inline int destroy_program(Program** program) {
  delete *program;
  return 0;
}
// Its functions, whose names begin with the library's.
#define PERIAPT_FAKE_COMPILER(prefix, product)                                                            \
  int prefix##CreateProgram(fake::Program** made, const char* source, const char*, int headers,           \
                            const char* const* texts, const char* const* names) {                         \
    return fake::make_program(made, source, headers, texts, names);                                       \
  }                                                                                                       \
  int prefix##CompileProgram(fake::Program*, int, const char* const*) { return fake::compile_program(); } \
  int prefix##GetProgramLogSize(fake::Program*, std::size_t* size) { return fake::text_size(size); }      \
  int prefix##GetProgramLog(fake::Program*, char* text) { return fake::write_text(text); }                \
  int prefix##Get##product##Size(fake::Program*, std::size_t* size) { return fake::text_size(size); }     \
  int prefix##Get##product(fake::Program*, char* text) { return fake::write_text(text); }                 \
  int prefix##DestroyProgram(fake::Program** program) { return fake::destroy_program(program); }

/// A module is the library itself, a function its body.
template <class Native>
int find_function(Native* function, const char* name) {
  *function = reinterpret_cast<Native>(const_cast<KernelBody*>(find_kernel(name)));
  return *function == nullptr ? kNotFound : 0;
}
template <class Function, class Native>
int launch(Function function, unsigned blocks, Native stream, void** arguments) {
  const auto& body = *reinterpret_cast<const KernelBody*>(function);
  if (blocks == 0 || (blocks != 1 && body.waits)) return kInvalidValue;
  return machine().launch(stream_of(stream), body, arguments[0]);
}
template <class Native>
int destroy_stream(Native stream) {
  const auto lock = locked();
  machine().destroy(stream_of(stream));
  return 0;
}
template <class Native>
int make_event(Native* made, unsigned flags) {
  auto* const event = new std::shared_ptr<Event>(std::make_shared<Event>());
  (*event)->timed = (flags & 2) == 0;
  *made = reinterpret_cast<Native>(event);
  return 0;
}
/// Held by the caller: the machine. The event would be a part of the graph that a captured stream makes.
template <class Stream, class Native>
int record(Stream stream, Native event) {
  if (machine().settings.capturing == 1 && reinterpret_cast<std::uintptr_t>(stream) > 2) return kCaptureImplicit;
  return machine().record(stream_of(stream), event_of(event));
}
template <class Native>
int elapsed(float* ms, Native begin, Native end) {
  const auto lock = locked();
  return machine().elapsed(*event_of(begin), *event_of(end), ms);
}

/// While a stream is captured the process's default one cannot be asked; any of the program's may be that stream.
inline int capture_status(std::uintptr_t stream, int* status) {
  if (machine().settings.capturing == 0) return 0;
  if (stream <= 2) return kCaptureImplicit;
  *status = 1;
  return 0;
}

inline int release(void* memory) {
  const auto lock = locked();
  return machine().free(memory);
}
inline int describe(char* name, int length, int gpu) {
  std::snprintf(name, static_cast<std::size_t>(length), "Fake GPU %d", machine().physical(gpu));
  return 0;
}
inline int describe_pci(char* pci, int length, int gpu) {
  std::snprintf(pci, static_cast<std::size_t>(length), "0000:%02x:00.0", machine().physical(gpu) + 16);
  return 0;
}
template <class Uuid>
int identify(Uuid* uuid, int gpu) {
  std::memset(uuid->bytes, machine().physical(gpu) + 1, sizeof(uuid->bytes));
  if (machine().settings.salt != 0) std::memcpy(uuid->bytes, &machine().settings.salt, 8);
  return 0;
}
/// Whether `from` has been allowed to read `other`'s memory before; it is from now on.
inline bool reached_before(int from, int other) { return std::exchange(machine().reached[from][other], true); }
inline bool is_mapped_by_hand(const void* memory) {
  const auto lock = locked();
  const Allocation* found = machine().find(memory);
  return found != nullptr && found->kind == Kind::vmm;
}

/// A question about an allocation, by the numbers that both vendors share; `type` is the vendor's word for its kind.
inline int answer(const Allocation& found, const void* address, int attribute, unsigned type, void* data) {
  const std::uintptr_t pool = found.kind == Kind::pool ? 1 : 0;
  switch (attribute) {
    case 2:
      *static_cast<unsigned*>(data) = type;
      return 0;
    case 3:
      std::memcpy(data, &address, sizeof(address));
      return 0;
    case 7:
      std::memcpy(data, &found.id, 8);
      return 0;
    case 8:
      *static_cast<unsigned char*>(data) = found.kind == Kind::managed;
      return 0;
    case 9:
      std::memcpy(data, found.imported ? &found.owner : &found.gpu, 4);
      return 0;
    case 17:
      std::memcpy(data, &pool, 8);
      return 0;
    default:
      return kInvalidValue;
  }
}

}  // namespace periapt::fake_gpu
