#include "bench/gpu/pair.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "machine/gpu/device_memory.h"
#include "machine/layer/transports.h"

namespace periapt::bench {
namespace {

using gpu::MemoryType;

constexpr std::uint64_t kScratch = 4 << 20;
constexpr const char* kOther = "PERIAPT_BENCH_PAIR";

[[noreturn]] void give_up(int rank, const std::string& why) {
  std::fprintf(stderr, "process %d of the pair: %s\n", rank, why.c_str());
  std::fflush(nullptr);
  std::_Exit(1);
}

/// A process's, as if nothing could be mapped.
class Unmapped final : public ucx::DeviceMemory {
 public:
  explicit Unmapped(std::unique_ptr<ucx::DeviceMemory> real) : real_(std::move(real)) {}
  Status copy(ucx::Place to, ucx::Place from, std::uint64_t bytes, ucx::Completion& completion) override {
    return real_->copy(to, from, bytes, completion);
  }
  Result<bool> when_reached(void* stream, ucx::Place memory, ucx::Completion& reached) override {
    return real_->when_reached(stream, memory, reached);
  }
  Status copy_when_reached(void* stream, ucx::Place to, ucx::Place from, std::uint64_t bytes,
                           ucx::Completion& completion) override {
    return real_->copy_when_reached(stream, to, from, bytes, completion);
  }
  ucx::MemoryKind kind_of(const void* address) override { return real_->kind_of(address); }
  std::vector<std::byte> describe(ucx::Place memory) override { return real_->describe(memory); }
  Result<ucx::Mapping> map(std::span<const std::byte>, std::uint64_t, std::uint64_t, ucx::Place) override {
    return Status::failure("not to be mapped");
  }
  Result<ucx::Allocation> allocation_of(ucx::Place memory, std::uint64_t bytes) override {
    return real_->allocation_of(memory, bytes);
  }
  std::string folder_of(ucx::Place memory) override { return real_->folder_of(memory); }
  Result<ucx::DmaBuf> share(const ucx::Allocation& allocation) override { return real_->share(allocation); }
  void written_by_devices(const ucx::Allocation& allocation) override { real_->written_by_devices(allocation); }
  void pin(std::span<std::byte> pages, ucx::Place near) override { real_->pin(pages, near); }
  Result<ucx::Buffer> piece() override { return real_->piece(); }
  std::uint64_t piece_bytes() const override { return real_->piece_bytes(); }
  int progress() override { return real_->progress(); }
  bool is_busy() const override { return real_->is_busy(); }
  void finish() override { real_->finish(); }
  const std::string& failure() const override { return real_->failure(); }

 private:
  std::unique_ptr<ucx::DeviceMemory> real_;
};

// (Under a sanitizer its bytes take longer than all that they are for.)
__attribute__((no_sanitize("thread", "address", "undefined"))) void pattern(std::byte* bytes, std::uint64_t size,
                                                                            std::uint64_t offset, unsigned seed) {
  for (std::uint64_t i = 0; i < size; i += sizeof(std::uint64_t)) {
    std::uint64_t word = (offset + i + 1) * (seed * 2 + 1) * 0x9E37'79B9'7F4A'7C15u;
    word ^= word >> 29;
    std::memcpy(bytes + i, &word, std::min<std::uint64_t>(sizeof(word), size - i));
  }
}

void write_all(int rank, int socket, const void* bytes, std::size_t size) {
  for (std::size_t at = 0; at < size;) {
    const ssize_t written = ::write(socket, static_cast<const char*>(bytes) + at, size - at);
    if (written <= 0) give_up(rank, "the other process has gone");
    at += static_cast<std::size_t>(written);
  }
}
void read_all(int rank, int socket, void* bytes, std::size_t size) {
  for (std::size_t at = 0; at < size;) {
    const ssize_t got = ::read(socket, static_cast<char*>(bytes) + at, size - at);
    if (got <= 0) give_up(rank, "the other process has gone");
    at += static_cast<std::size_t>(got);
  }
}

}  // namespace

Pair::Pair(const gpu::Vendor& vendor, Way way, int rank, int socket)
    : vendor_(vendor), way_(std::move(way)), rank_(rank), socket_(socket) {
  if (!vendor.driver()) give_up(rank, vendor.driver().message());
  Result<gpu::Stream> stream = driver().make_stream(gpu());
  Result<std::byte*> scratch = driver().allocate(gpu(), MemoryType::pinned, kScratch);
  if (!stream || !scratch) give_up(rank, stream.message() + scratch.message());
  stream_ = *stream;
  scratch_ = *scratch;

  ucx::ContextRequest request;
  request.factories = machine::transports();
  request.transports = way_.transport;
  request.self = (static_cast<ucx::PeerId>(::getpid()) << 8) + 1;
  request.host = "here";
  request.secret.assign(16, std::byte{7});
  request.option = [](const std::string& name) { return name == "+net-devices" ? std::string("lo") : std::string(); };
  const auto use = way_.courier ? gpu::CourierUse::on : gpu::CourierUse::off;
  request.device_memory = [maps = way_.maps, use]() -> std::unique_ptr<ucx::DeviceMemory> {
    auto real = gpu::make_device_memory({.courier = use});
    if (maps || real == nullptr) return real;
    return std::make_unique<Unmapped>(std::move(real));
  };
  auto context = ucx::Context::create(std::move(request));
  if (!context) give_up(rank, context.message());
  context_ = std::move(*context);
  auto worker = ucx::Worker::create(*context_);
  if (!worker) give_up(rank, worker.message());
  worker_ = std::move(*worker);
  tell(worker_->address());
  Result<ucx::Endpoint*> peer = worker_->connect(told());
  if (!peer) give_up(rank, peer.message());
  peer_ = *peer;
}

Pair::~Pair() {
  worker_.reset();
  for (auto& [kind, memory] : std::exchange(made_, {})) {
    if (kind == MemoryType::host) {
      std::free(memory);
    } else {
      static_cast<void>(driver().free(gpu(), kind, memory));
    }
  }
  static_cast<void>(driver().free(gpu(), MemoryType::pinned, scratch_));
  driver().destroy(stream_);
  ::close(socket_);
}

ucx::MemoryKind Pair::kind_of(MemoryType kind) const {
  if (kind == MemoryType::managed) return vendor_.managed;
  return gpu::is_on_device(kind) ? vendor_.on_device : ucx::MemoryKind::host;
}

std::byte* Pair::make(MemoryType kind, std::uint64_t bytes) {
  Result<std::byte*> made = kind == MemoryType::host ? Result<std::byte*>(static_cast<std::byte*>(std::malloc(bytes)))
                                                     : driver().allocate(gpu(), kind, bytes);
  if (!made || *made == nullptr) give_up(rank_, "no memory: " + made.message());
  made_.emplace_back(kind, *made);
  return *made;
}

void Pair::free(MemoryType kind, std::byte* memory) {
  made_.erase(std::find(made_.begin(), made_.end(), std::pair(kind, memory)));
  if (kind == MemoryType::host) return std::free(memory);
  if (Status freed = driver().free(gpu(), kind, memory); !freed) give_up(rank_, freed.message());
}

void Pair::copy(void* to, const void* from, std::uint64_t bytes) {
  Status done = driver().copy(stream_, to, from, bytes);
  if (done) done = driver().finish(stream_);
  if (!done) give_up(rank_, done.message());
}

void Pair::fill(MemoryType kind, std::byte* memory, std::uint64_t bytes, unsigned seed) {
  if (kind == MemoryType::host) return pattern(memory, bytes, 0, seed);
  for (std::uint64_t at = 0; at < bytes; at += kScratch) {
    const std::uint64_t part = std::min(kScratch, bytes - at);
    pattern(scratch_, part, at, seed);
    copy(memory + at, scratch_, part);
  }
}

bool Pair::holds(MemoryType kind, const std::byte* memory, std::uint64_t bytes, unsigned seed) {
  std::vector<std::byte> expected(std::min(kScratch, bytes));
  for (std::uint64_t at = 0; at < bytes; at += kScratch) {
    const std::uint64_t part = std::min(kScratch, bytes - at);
    pattern(expected.data(), part, at, seed);
    if (kind != MemoryType::host) copy(scratch_, memory + at, part);
    if (std::memcmp(kind == MemoryType::host ? memory + at : scratch_, expected.data(), part) != 0) return false;
  }
  return true;
}

ucx::Outcome Pair::wait(const ucx::RequestPtr& request, bool may_fail) {
  for (unsigned idle = 0; request != nullptr && !request->ended();) {
    idle = worker_->progress() == 0 ? idle + 1 : 0;
    if (idle > 10'000) ::sched_yield();
  }
  const ucx::Outcome outcome = request == nullptr ? ucx::Outcome::ok : request->outcome();
  if (outcome != ucx::Outcome::ok && !may_fail) {
    const ucx::DeviceMemory* memory = worker_->device_memory();
    give_up(rank_, std::string("a message: ") + ucx::describe(outcome) + "; " + peer_->failure() +
                       (memory != nullptr ? memory->failure() : std::string()));
  }
  return outcome;
}

void Pair::send(MemoryType kind, const std::byte* memory, std::uint64_t bytes, ucx::Tag tag) {
  wait(peer_->tag_send_from(kind_of(kind), {memory, bytes}, tag));
}
void Pair::receive(MemoryType kind, std::byte* memory, std::uint64_t bytes, ucx::Tag tag) {
  wait(worker_->tag_receive_into(kind_of(kind), {memory, bytes}, tag));
}

void Pair::barrier() {
  constexpr ucx::Tag kBarrier = ~ucx::Tag{0};
  std::byte here{}, there{};
  ucx::RequestPtr receive = worker_->tag_receive({&there, 1}, kBarrier);
  wait(peer_->tag_send({&here, 1}, kBarrier));
  wait(receive);
}

void Pair::tell(const std::vector<std::byte>& bytes) {
  const std::uint64_t size = bytes.size();
  write_all(rank_, socket_, &size, sizeof(size));
  write_all(rank_, socket_, bytes.data(), bytes.size());
}
std::vector<std::byte> Pair::told() {
  std::uint64_t size = 0;
  read_all(rank_, socket_, &size, sizeof(size));
  std::vector<std::byte> bytes(size);
  read_all(rank_, socket_, bytes.data(), size);
  return bytes;
}

// ---- the two processes

std::optional<int> other_of_pair(const Parts& parts) {
  const char* text = std::getenv(kOther);
  if (text == nullptr) return std::nullopt;
  std::istringstream words(text);
  std::string part;
  std::size_t vendor = 0;
  int socket = -1;
  Way way;
  words >> part >> vendor >> socket >> way.transport >> way.maps >> way.largest >> way.courier;
  Pair pair(gpu::vendors()[vendor], way, 1, socket);
  const int status = parts.at(part)(pair);
  std::fflush(nullptr);
  return status;
}

int run_pair(const Parts& parts, const std::string& part, const gpu::Vendor& vendor, const Way& way) {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) give_up(0, "no socket");
  std::ostringstream words;
  words << part << ' ' << &vendor - gpu::vendors().data() << ' ' << sockets[1] << ' ' << way.transport << ' '
        << way.maps << ' ' << way.largest << ' ' << way.courier;
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // the other one polls, and would for ever if this one were killed
    ::setenv(kOther, words.str().c_str(), 1);
    ::close(sockets[0]);
    ::execl("/proc/self/exe", "other-of-pair", nullptr);
    ::_exit(9);
  }
  ::close(sockets[1]);
  int status = 1;
  {
    Pair pair(vendor, way, 0, sockets[0]);
    status = parts.at(part)(pair);
  }
  int theirs = -1;
  ::waitpid(child, &theirs, 0);
  return std::max(status, WIFEXITED(theirs) ? WEXITSTATUS(theirs) : 128);
}

}  // namespace periapt::bench
