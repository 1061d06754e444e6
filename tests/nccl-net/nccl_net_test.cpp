// NCCL's network over our engine (machine/nccl-net), loaded and called as NCCL does: between two processes, or two
// threads of one, each a rank with a connection to and from the other. A rank is a part below; its answer is an exit
// status.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdarg>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "machine/gpu/vendors.h"
#include "machine/nccl-net/meeting.h"
#include "tests/host/pattern.h"
#include "tests/nccl-net/table.h"

namespace periapt::nccl_net {
namespace {

constexpr int kNewest = 12;

thread_local std::string said;  // through the logger, of warnings
void logger(LogLevel level, unsigned long, const char*, int, const char* format, ...) {
  char line[1024];
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(line, sizeof(line), format, values);
  va_end(values);
  if (level == LogLevel::warn) said += std::string(line) + "\n";
}

[[noreturn]] void give_up(int rank, const std::string& why) {
  std::fprintf(stderr, "rank %d: %s\n%s", rank, why.c_str(), said.c_str());
  std::fflush(nullptr);
  std::_Exit(1);
}

// The other rank may need this core.
void let_others_run() { ::usleep(20); }

struct Comms {
  void *send = nullptr, *receive = nullptr;
};

class Rank {
 public:
  Rank(int rank, int version, int socket) : number(rank), net(PERIAPT_NCCL_NET, version), socket_(socket) {
    check(net.init(logger), "init");
  }

  void check(Answer answer, const std::string& what) const {
    if (answer != Answer::success) give_up(number, what + ": answer " + std::to_string(static_cast<int>(answer)));
  }
  void expect(bool holds, const std::string& what) const {
    if (!holds) give_up(number, what);
  }
  /// So it has been said, in one line.
  void expect_said(const std::string& words) const {
    if (said.find(words) == std::string::npos) give_up(number, "\"" + words + "\" was not said, but this:");
    if (std::count(said.begin(), said.end(), '\n') != 1) give_up(number, "more than one line was said:");
  }

  Comms connect() const {
    Comms made;
    std::array<char, kHandleBytes> handle;
    void* listening = nullptr;
    check(net.listen(0, handle.data(), &listening), "listen");
    swap(handle.data(), handle.size());
    while (made.send == nullptr || made.receive == nullptr) {
      if (made.send == nullptr) check(net.connect(0, handle.data(), &made.send), "connect");
      if (made.receive == nullptr) check(net.memory.accept(listening, &made.receive, nullptr), "accept");
      let_others_run();
    }
    check(net.ends.close_listen(listening), "closeListen");
    barrier();  // a process that closes now would make the other one's accept() fail
    return made;
  }
  void close(Comms comms) const {
    check(net.ends.close_send(comms.send), "closeSend");
    check(net.ends.close_receive(comms.receive), "closeRecv");
  }

  void* send(void* comm, void* bytes, std::size_t size, int tag, void* registered = nullptr) const {
    void* request = nullptr;
    while (request == nullptr) {
      check(net.send(comm, bytes, size, tag, registered, &request), "isend");
      if (request == nullptr) let_others_run();
    }
    return request;
  }
  void* receive(void* comm, void* bytes, std::size_t size, int tag, void* registered = nullptr) const {
    void* request = nullptr;
    check(net.receive(comm, {bytes}, {size}, {tag}, {registered}, &request), "irecv");
    expect(request != nullptr, "irecv gave no request");
    return request;
  }
  /// Until it is done, or has failed.
  Answer wait(void* request, int* sizes = nullptr) const {
    int done = 0;
    Answer answer = Answer::success;
    while (done == 0 && answer == Answer::success) {
      answer = net.ends.test(request, &done, sizes);
      if (done == 0) let_others_run();
    }
    return answer;
  }
  void finish(void* request, std::size_t size) const {
    std::array<int, 8> sizes{};
    check(wait(request, sizes.data()), "test");
    expect(static_cast<std::size_t>(sizes[0]) == size, "other size: " + std::to_string(sizes[0]));
  }

  /// By the test's own wire, on which nothing of the plug-in goes.
  void swap(void* bytes, std::size_t size) const {
    if (::write(socket_, bytes, size) != static_cast<ssize_t>(size)) give_up(number, "the other rank has gone");
    for (std::size_t at = 0; at < size;) {
      const ssize_t got = ::read(socket_, static_cast<char*>(bytes) + at, size - at);
      if (got <= 0) give_up(number, "the other rank has gone");
      at += static_cast<std::size_t>(got);
    }
  }
  void barrier() const {
    char here = 0;
    swap(&here, 1);
  }

  const int number;
  const Table net;

 private:
  const int socket_;
};

// ---- what the ranks do

void facts(Rank& rank) {
  int count = 0;
  rank.check(rank.net.devices(&count), "devices");
  rank.expect(count == 1, "one device stands for all");
  Table::Properties found;
  rank.check(rank.net.properties(0, &found), "getProperties");
  rank.expect(found.name == "periapt" && found.speed > 0 && found.most_receives >= 1, "properties");
  rank.expect(found.pointers == (kPointsToHost | kPointsToDevice), "the fake driver is in use");
  rank.expect(found.most_bytes >= std::size_t{1} << 31, "messages of any size");
  void* registered = nullptr;
  const Comms comms = rank.connect();
  rank.check(rank.net.memory.register_memory(comms.send, &count, sizeof(count), kPointsToHost, &registered), "regMr");
  rank.check(rank.net.memory.deregister(comms.send, registered), "deregMr");
  rank.close(comms);
}

// Both send to each other, all sizes, many at a time; tested from the last to the first.
void contents(Rank& rank, std::size_t largest) {
  const Comms comms = rank.connect();
  unsigned seed = 1;
  for (const std::size_t size : {0u, 1u, 13u, 4096u, 65'537u, 1u << 20, 16u << 20}) {
    if (size > largest) break;
    const std::size_t count = size > 1 << 20 ? 3 : size > 4096 ? 8 : 24;
    std::vector<std::vector<std::byte>> out, in;
    std::vector<void*> sends, receives;
    for (std::size_t i = 0; i < count; ++i) {
      out.push_back(pattern(size, 2 * (seed + static_cast<unsigned>(i)) + static_cast<unsigned>(rank.number)));
      in.emplace_back(size + 8);
      receives.push_back(rank.receive(comms.receive, in.back().data(), size + 8, 5));
    }
    for (std::vector<std::byte>& bytes : out) sends.push_back(rank.send(comms.send, bytes.data(), size, 5));
    for (std::size_t i = count; i-- > 0;) rank.finish(sends[i], size);
    for (std::size_t i = count; i-- > 0;) {
      rank.finish(receives[i], size);
      in[i].resize(size);
      rank.expect(
          in[i] == pattern(size, 2 * (seed + static_cast<unsigned>(i)) + 1 - static_cast<unsigned>(rank.number)),
          std::to_string(size) + " bytes: other contents");
    }
    seed += static_cast<unsigned>(count);
  }
  rank.close(comms);
}
void all_contents(Rank& rank) { contents(rank, 16 << 20); }
void small_contents(Rank& rank) { contents(rank, 65'537); }

// A group of receives is one request; which send is for which is said by the tag.
void groups(Rank& rank) {
  const Comms comms = rank.connect();
  for (std::size_t count = 1; count <= 8; ++count) {
    std::vector<std::vector<std::byte>> out(count), in(count);
    std::vector<void*> rooms, none(count, nullptr), sends;
    std::vector<std::size_t> sizes;
    std::vector<int> tags;
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = pattern(i * 10'000 + count, static_cast<unsigned>(i));
      in[i].resize(out[i].size());
      rooms.push_back(in[i].data());
      sizes.push_back(in[i].size());
      tags.push_back(static_cast<int>(100 + i) * (i % 2 == 0 ? 1 : -1));
    }
    void* request = nullptr;
    rank.check(rank.net.receive(comms.receive, rooms, sizes, tags, none, &request), "irecv of a group");
    for (std::size_t i = count; i-- > 0;) {
      sends.push_back(rank.send(comms.send, out[i].data(), out[i].size(), tags[i]));
    }
    std::array<int, 8> got{};
    rank.check(rank.wait(request, got.data()), "test of a group");
    for (std::size_t i = 0; i < count; ++i) {
      rank.expect(static_cast<std::size_t>(got[i]) == sizes[i] && in[i] == out[i],
                  "a part of a group has other contents");
    }
    for (void* send : sends) rank.check(rank.wait(send), "test");
  }
  rank.close(comms);
}

// Many connections; on the first nothing is received while the others work.
void several(Rank& rank) {
  constexpr std::size_t kComms = 12;
  std::vector<Comms> comms;
  for (std::size_t i = 0; i < kComms; ++i) comms.push_back(rank.connect());
  std::vector<std::byte> held = pattern(30'000, 1), room(30'000);
  void* request = nullptr;
  for (int i = 0; i < 1000; ++i)
    rank.check(rank.net.send(comms[0].send, held.data(), held.size(), 1, nullptr, &request), "isend");
  rank.expect(request == nullptr, "a send that no receive has been posted for was taken");
  for (unsigned round = 0; round < 40; ++round) {
    std::vector<void*> requests;
    std::vector<std::vector<std::byte>> out(kComms), in(kComms);
    for (std::size_t i = 1; i < kComms; ++i) {
      out[i] = pattern(30'000, round + static_cast<unsigned>(i));
      in[i].resize(out[i].size());
      requests.push_back(rank.receive(comms[i].receive, in[i].data(), in[i].size(), 1));
    }
    for (std::size_t i = kComms; i-- > 1;)
      requests.push_back(rank.send(comms[i].send, out[i].data(), out[i].size(), 1));
    for (void* one : requests) rank.check(rank.wait(one), "test");
    rank.expect(in == out, "connections have been mixed up");
  }
  void* const receive = rank.receive(comms[0].receive, room.data(), room.size(), 1);
  void* const send = rank.send(comms[0].send, held.data(), held.size(), 1);
  rank.finish(receive, room.size());
  rank.finish(send, held.size());
  rank.expect(room == held, "other contents of the one that was held up");
  for (const Comms& one : comms) rank.close(one);
}

// Memory of the fake GPUs, which a processor cannot touch.
void device(Rank& rank) {
  gpu::Driver& driver = *gpu::vendors()[0].driver().value();
  const Comms comms = rank.connect();
  const gpu::Stream stream = *driver.make_stream(rank.number);
  const auto copy = [&](void* to, const void* from, std::size_t size) {
    rank.expect(driver.copy(stream, to, from, size).ok() && driver.finish(stream).ok(), "the test's own copy");
  };
  for (const gpu::MemoryType kind : {gpu::MemoryType::device, gpu::MemoryType::managed, gpu::MemoryType::pool}) {
    for (const std::size_t size : {1u, 4096u, 700'001u, 5u << 20}) {
      std::byte* const out = *driver.allocate(rank.number, kind, size);
      std::byte* const in = *driver.allocate(rank.number, kind, size);
      const std::vector<std::byte> sent = pattern(size, static_cast<unsigned>(rank.number) + 3);
      copy(out, sent.data(), size);
      void *send_memory = nullptr, *receive_memory = nullptr;
      rank.check(rank.net.memory.register_memory(comms.send, out, size, kPointsToDevice, &send_memory), "regMr");
      rank.check(rank.net.memory.register_memory(comms.receive, in, size, kPointsToDevice, &receive_memory), "regMr");
      void* const receive = rank.receive(comms.receive, in, size, 2, receive_memory);
      void* const send = rank.send(comms.send, out, size, 2, send_memory);
      rank.finish(receive, size);
      void* flush = &rank;
      void* room = in;
      int length = static_cast<int>(size);
      rank.check(rank.net.ends.flush(comms.receive, 1, &room, &length, &receive_memory, &flush), "iflush");
      rank.expect(flush == nullptr, "a flush has nothing to do");
      rank.finish(send, size);
      std::vector<std::byte> got(size);
      copy(got.data(), in, size);
      rank.expect(got == pattern(size, 4 - static_cast<unsigned>(rank.number)), "other contents of a GPU's memory");
      rank.check(rank.net.memory.deregister(comms.send, send_memory), "deregMr");
      rank.check(rank.net.memory.deregister(comms.receive, receive_memory), "deregMr");
      rank.barrier();
      rank.expect(driver.free(rank.number, kind, out).ok() && driver.free(rank.number, kind, in).ok(), "free");
    }
  }
  driver.destroy(stream);
  rank.close(comms);
}

// One side after the other: what has been sent arrives though the sender has closed.
void leaving(Rank& rank) {
  for (unsigned round = 0; round < 20; ++round) {
    const Comms comms = rank.connect();
    std::vector<std::byte> out = pattern(round * 3000 + 1, round), in(out.size());
    if (rank.number == 0) {
      rank.check(rank.wait(rank.send(comms.send, out.data(), out.size(), 1)), "test");
      rank.close(comms);
    } else {
      rank.finish(rank.receive(comms.receive, in.data(), in.size(), 1), in.size());
      rank.expect(in == out, "other contents");
      rank.close(comms);
    }
  }
}

void too_long(Rank& rank) {
  const Comms comms = rank.connect();
  std::vector<std::byte> bytes(5000);
  if (rank.number == 0) {
    rank.wait(rank.send(comms.send, bytes.data(), bytes.size(), 1));
    rank.barrier();
  } else {
    void* const request = rank.receive(comms.receive, bytes.data(), 4000, 1);
    rank.expect(rank.wait(request) == Answer::invalid_usage, "a message that does not fit");
    rank.expect_said(
        "a message of 5000 bytes has come for a receive of 4000: both sides of a call are to name the same");
    rank.barrier();
  }
  rank.close(comms);
}

// One side gives up in the middle. Its memory is its own again at once; the other's operations end.
void closing(Rank& rank) {
  const Comms comms = rank.connect(), others = rank.connect();
  constexpr std::size_t kSize = 8 << 20;
  std::vector<std::byte> out(kSize), in(kSize);
  std::vector<void*> receives;
  for (int i = 0; i < 6; ++i) receives.push_back(rank.receive(comms.receive, in.data(), kSize, i));
  void* const send = rank.send(comms.send, out.data(), kSize, 0);
  rank.barrier();
  if (rank.number == 0) {
    rank.close(comms);
    std::fill(in.begin(), in.end(), std::byte{1});
    std::fill(out.begin(), out.end(), std::byte{1});
    rank.barrier();
    const std::vector<std::byte> after = in;
    void* request = nullptr;
    rank.expect(rank.net.send(others.send, out.data(), 1, 1, nullptr, &request) == Answer::remote_error,
                "connections between the same two workers end together");
    rank.barrier();
    rank.expect(in == after, "memory was written to that had been given back");
  } else {
    const Answer sent = rank.wait(send);
    rank.expect(sent == Answer::success || sent == Answer::remote_error, "the send under way");
    said.clear();
    rank.expect(rank.wait(receives[5]) == Answer::remote_error, "a receive that nothing comes for any more");
    rank.expect_said("closed the connection");
    rank.barrier();
    void* request = nullptr;
    rank.expect(rank.net.receive(comms.receive, {in.data()}, {kSize}, {1}, {nullptr}, &request) == Answer::remote_error,
                "a receive afterwards");
    rank.close(comms);
    rank.barrier();
  }
  rank.close(others);
}

void dies(Rank& rank) {
  const Comms comms = rank.connect();
  constexpr std::size_t kSize = 1 << 20;
  std::vector<std::byte> out(kSize), in(kSize);
  std::vector<void*> receives, sends;
  for (int i = 0; i < 8; ++i) receives.push_back(rank.receive(comms.receive, in.data(), kSize, 1));
  rank.barrier();
  for (int i = 0; i < 8; ++i) sends.push_back(rank.send(comms.send, out.data(), kSize, 1));
  if (rank.number == 1) {
    rank.check(rank.wait(receives[0]), "test");
    ::kill(::getpid(), SIGKILL);
  }
  for (void* request : sends) {
    const Answer answer = rank.wait(request);
    rank.expect(answer == Answer::success || answer == Answer::remote_error, "a send");
  }
  Answer last = Answer::success;
  for (void* request : receives) last = rank.wait(request);
  // It has sent all of it, or not.
  rank.expect(last == Answer::success || last == Answer::remote_error, "a receive");
  void* request = nullptr;
  Answer more = rank.net.receive(comms.receive, {in.data()}, {kSize}, {1}, {nullptr}, &request);
  if (more == Answer::success) more = rank.wait(request);
  rank.expect(more == Answer::remote_error, "a receive from a process that has died");
  more = Answer::success;
  while (more == Answer::success) more = rank.net.send(comms.send, out.data(), kSize, 9, nullptr, &request);
  rank.expect(more == Answer::remote_error, "a send to a process that has died");
  rank.close(comms);
}

// It dies when it has connected, before the first message: no operation has gone over the engine to the other yet.
void dies_early(Rank& rank) {
  const Comms comms = rank.connect();
  rank.barrier();
  if (rank.number == 1) ::kill(::getpid(), SIGKILL);
  std::byte byte{};
  rank.expect(rank.wait(rank.receive(comms.receive, &byte, 1, 1)) == Answer::remote_error, "a receive");
  Answer answer = Answer::success;
  void* request = nullptr;
  while (answer == Answer::success && request == nullptr)
    answer = rank.net.send(comms.send, &byte, 1, 1, nullptr, &request);
  rank.expect(answer == Answer::remote_error, "a send");
  rank.close(comms);
}

// NCCL tries a device by connecting to itself.
void itself(Rank& rank) {
  std::array<char, kHandleBytes> handle;
  void* listening = nullptr;
  Comms comms;
  rank.check(rank.net.listen(0, handle.data(), &listening), "listen");
  while (comms.send == nullptr || comms.receive == nullptr) {
    if (comms.send == nullptr) rank.check(rank.net.connect(0, handle.data(), &comms.send), "connect");
    if (comms.receive == nullptr) rank.check(rank.net.memory.accept(listening, &comms.receive, nullptr), "accept");
  }
  std::vector<std::byte> out = pattern(100'000, 1), in(out.size());
  void* const receive = rank.receive(comms.receive, in.data(), in.size(), 1);
  void* const send = rank.send(comms.send, out.data(), out.size(), 1);
  rank.finish(receive, in.size());
  rank.finish(send, out.size());
  rank.expect(in == out, "other contents");
  rank.close(comms);
  rank.check(rank.net.ends.close_listen(listening), "closeListen");
}

void mistakes(Rank& rank) {
  const Comms comms = rank.connect();
  const auto refused = [&](Answer answer, Answer wanted, const std::string& words) {
    rank.expect(answer == wanted, words);
    rank.expect_said(words);
    said.clear();
  };
  std::array<char, kHandleBytes> handle{};
  void* made = nullptr;
  std::byte byte{};
  refused(rank.net.connect(0, handle.data(), &made), Answer::invalid_argument, "uses another network plug-in");
  refused(rank.net.listen(3, handle.data(), &made), Answer::invalid_argument, "device 3 is not there: there is one, 0");
  refused(rank.net.memory.register_dmabuf(comms.send, &byte, 1, kPointsToDevice, 0, 0, &made), Answer::invalid_usage,
          "memory by a dma-buf is not supported");
  refused(rank.net.memory.register_memory(comms.send, &byte, 1, kPointsToDevice, &made), Answer::system_error,
          "no driver of a GPU knows the memory at 0x");
  refused(rank.net.memory.register_memory(comms.send, &byte, 1, 4, &made), Answer::invalid_argument,
          "memory of type 4 cannot be registered");
  const std::vector<void*> rooms(9, &byte), none(9, nullptr);
  const std::vector<std::size_t> sizes(9, 1);
  refused(rank.net.receive(comms.receive, rooms, sizes, std::vector<int>(9), none, &made), Answer::invalid_argument,
          "a group of 9 receives: there may be 1 to 8");
  rank.close(comms);
  // Where a connection has come to is a word of this process in the other one's bytes.
  Handle named;
  named.connecting = reinterpret_cast<std::uint64_t>(&handle);
  std::memcpy(handle.data(), &named, sizeof(named));
  refused(rank.net.connect(0, handle.data(), &made), Answer::invalid_argument,
          "the other process names a connection that this one has not begun");
  // A listener that has gone.
  void* listening = nullptr;
  rank.check(rank.net.listen(0, handle.data(), &listening), "listen");
  rank.check(rank.net.ends.close_listen(listening), "closeListen");
  Answer answer = Answer::success;
  while (answer == Answer::success) answer = rank.net.connect(0, handle.data(), &made);
  refused(answer, Answer::remote_error, "the process that listens cannot be reached over TCP: Connection refused");
}

// A connection of a stranger's to the port of a listener, and what it says.
int visit(const Rank& rank, const Handle& handle, const void* words, std::size_t size) {
  // What says nothing does not wait either: a system's queue of connections may have room for fewer.
  const int fd = ::socket(AF_INET, SOCK_STREAM | (size == 0 ? SOCK_NONBLOCK : 0), 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(handle.port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int answer = ::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to));
  rank.expect(answer == 0 || (size == 0 && errno == EINPROGRESS), "a stranger's connect");
  rank.expect(size == 0 || ::send(fd, words, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size), "a stranger's send");
  return fd;
}

// What comes to the port from outside is dropped, and one that is meant gets through; a port that belongs to another by
// now is not taken for the one that was meant.
void strangers(Rank& rank) {
  std::array<char, kHandleBytes> bytes;
  void *listening = nullptr, *made = nullptr;
  rank.check(rank.net.listen(0, bytes.data(), &listening), "listen");
  Handle handle;
  std::memcpy(&handle, bytes.data(), sizeof(handle));
  const std::string garbage(100'000, 'x');
  const std::uint64_t half[] = {Handle::kMagic, handle.token}, endless[] = {Handle::kMagic, handle.token, ~0ull},
                      wrong[] = {Handle::kMagic, handle.token + 1, 0}, no_address[] = {Handle::kMagic, handle.token, 0};
  const auto stranger = [&](const void* words, std::size_t size) { return visit(rank, handle, words, size); };
  for (const int fd : {stranger(garbage.data(), 1000), stranger(half, sizeof(half)), stranger(endless, sizeof(endless)),
                       stranger(wrong, sizeof(wrong))}) {
    rank.check(rank.net.memory.accept(listening, &made, nullptr), "accept");
    rank.expect(made == nullptr, "a stranger was let in");
    ::close(fd);
  }
  const int impostor = stranger(no_address, sizeof(no_address));
  Answer answer = Answer::success;
  while (answer == Answer::success) answer = rank.net.memory.accept(listening, &made, nullptr);
  rank.expect(answer == Answer::system_error, "an address that is none");
  rank.expect_said("these 0 bytes are not the address of a worker");
  ::close(impostor);
  said.clear();
  Comms comms;
  while (comms.send == nullptr || comms.receive == nullptr) {
    if (comms.send == nullptr) rank.check(rank.net.connect(0, bytes.data(), &comms.send), "connect");
    if (comms.receive == nullptr) rank.check(rank.net.memory.accept(listening, &comms.receive, nullptr), "accept");
  }
  rank.close(comms);
  ++handle.number;
  std::memcpy(bytes.data(), &handle, sizeof(handle));
  while ((answer = rank.net.connect(0, bytes.data(), &made)) == Answer::success) {
    rank.check(rank.net.memory.accept(listening, &comms.receive, nullptr), "accept");
  }
  rank.expect(answer == Answer::remote_error, "another listener");
  rank.expect_said("cannot be reached over TCP: another process listens there");
  rank.check(rank.net.ends.close_listen(listening), "closeListen");
}

// Many connect to a port and say nothing, more than rank 0 may have descriptors: the one that is meant gets in all the
// same, behind them or `before` them: it has said its token, and rank 0 has not looked yet when they come.
void silence(Rank& rank, bool before) {
  std::array<char, kHandleBytes> bytes;
  void* listening = nullptr;
  rank.check(rank.net.listen(0, bytes.data(), &listening), "listen");
  rank.swap(bytes.data(), bytes.size());
  std::vector<int> silent;
  Comms comms;
  for (int turn = 0; before && turn < 3; ++turn) {  // comes, is greeted, says its token
    if (rank.number == 1 && turn != 1) rank.check(rank.net.connect(0, bytes.data(), &comms.send), "connect");
    if (rank.number == 0 && turn == 1) rank.check(rank.net.memory.accept(listening, &comms.receive, nullptr), "accept");
    rank.barrier();
  }
  if (rank.number == 0) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 300;
    rank.expect(::setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
  } else {
    Handle handle;
    std::memcpy(&handle, bytes.data(), sizeof(handle));
    for (int i = 0; i < 400; ++i) silent.push_back(visit(rank, handle, nullptr, 0));
  }
  rank.barrier();
  while (comms.send == nullptr || comms.receive == nullptr) {
    if (comms.send == nullptr) rank.check(rank.net.connect(0, bytes.data(), &comms.send), "connect");
    if (comms.receive == nullptr) rank.check(rank.net.memory.accept(listening, &comms.receive, nullptr), "accept");
    let_others_run();
  }
  rank.barrier();
  for (const int fd : silent) ::close(fd);
  rank.check(rank.net.ends.close_listen(listening), "closeListen");
  rank.close(comms);
}

void silence_before(Rank& rank) { silence(rank, false); }
void silence_behind(Rank& rank) { silence(rank, true); }

void no_transport(Rank& rank) {
  int count = 0;
  rank.expect(rank.net.devices(&count) == Answer::system_error && count == 0, "devices");
  rank.expect_said("carrier-pigeon");
}

// ---- two ranks

enum class Where { processes, threads };
using Part = void (*)(Rank& rank);

/// `dying`: rank 1 ends by a signal.
void run(Part part, const std::string& transports, int version, Where where = Where::processes, bool dying = false) {
  int sockets[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
  const auto child = [&](auto body) {
    const pid_t process = ::fork();
    if (process == 0) {
      ::setenv("PERIAPT_NCCL_TRANSPORTS", transports.c_str(), 1);
      ::setenv("PERIAPT_LIBCUDA", PERIAPT_FAKE_CUDA, 1);
      body();
      std::fflush(nullptr);
      std::_Exit(0);
    }
    return process;
  };
  const auto rank = [&](int number) {
    Rank made(number, version, sockets[number]);
    part(made);
  };
  std::vector<pid_t> processes;
  if (where == Where::threads) {
    processes.push_back(child([&] {
      std::thread other([&] { rank(1); });
      rank(0);
      other.join();
    }));
  } else {
    for (int number : {0, 1}) {
      processes.push_back(child([&, number] {
        ::close(sockets[1 - number]);
        rank(number);
      }));
    }
  }
  ::close(sockets[0]);
  ::close(sockets[1]);
  for (std::size_t i = 0; i < processes.size(); ++i) {
    int status = -1;
    ::waitpid(processes[i], &status, 0);
    const bool well = dying && i == 1 ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL
                                      : WIFEXITED(status) && WEXITSTATUS(status) == 0;
    EXPECT_TRUE(well) << "rank " << i << ": what is wrong stands above; wait status " << status;
  }
}

class NcclNet : public ::testing::TestWithParam<const char*> {};
TEST_P(NcclNet, TellsNcclWhatItIs) {
  for (int version = 8; version <= kNewest; ++version) run(facts, GetParam(), version);
}
TEST_P(NcclNet, ContentsSurviveInEveryVersion) {
  for (int version = 8; version <= kNewest; ++version) run(small_contents, GetParam(), version);
}
TEST_P(NcclNet, ContentsOfAllLengthsSurvive) { run(all_contents, GetParam(), kNewest); }
TEST_P(NcclNet, ContentsSurviveBetweenThreads) { run(all_contents, GetParam(), kNewest, Where::threads); }
TEST_P(NcclNet, GroupsOfReceivesAreToldApartByTheirTags) {
  for (int version = 8; version <= kNewest; ++version) run(groups, GetParam(), version);
}
TEST_P(NcclNet, ConnectionsDoNotHoldEachOtherUp) {
  run(several, GetParam(), kNewest);
  run(several, GetParam(), kNewest, Where::threads);
}
TEST_P(NcclNet, MemoryOfGpusIsSentAndReceived) { run(device, GetParam(), kNewest); }
TEST_P(NcclNet, WhatHasBeenSentArrivesThoughTheSenderHasClosed) { run(leaving, GetParam(), kNewest); }
TEST_P(NcclNet, AMessageThatDoesNotFitIsAMistakeOfTheProgram) { run(too_long, GetParam(), kNewest); }
TEST_P(NcclNet, ClosingWithOperationsUnderWayEndsThem) {
  run(closing, GetParam(), kNewest);
  run(closing, GetParam(), kNewest, Where::threads);
}
TEST_P(NcclNet, AProcessThatDiesEndsItsOperations) { run(dies, GetParam(), kNewest, Where::processes, true); }
TEST_P(NcclNet, AProcessThatDiesBeforeItsFirstMessageIsMissed) {
  run(dies_early, GetParam(), kNewest, Where::processes, true);
}
TEST_P(NcclNet, AThreadConnectsToItself) { run(itself, GetParam(), kNewest); }
TEST_P(NcclNet, MistakesAreSaidInASentence) { run(mistakes, GetParam(), kNewest); }
TEST_P(NcclNet, StrangersAreTurnedAway) { run(strangers, GetParam(), kNewest); }
TEST_P(NcclNet, StrangersThatSayNothingKeepNothingOut) {
  run(silence_before, GetParam(), kNewest);
  run(silence_behind, GetParam(), kNewest);
}
INSTANTIATE_TEST_SUITE_P(Over, NcclNet, ::testing::Values("shm", "tcp"),
                         [](const auto& info) { return std::string(info.param); });

TEST(NcclNetAlone, ATransportThatIsNotThereIsNamed) { run(no_transport, "carrier-pigeon", kNewest); }

// NCCL takes the newest table that it knows.
TEST(NcclNetAlone, HasTheNewestTableThatTheInstalledNcclLooksFor) {
  std::ifstream file(PERIAPT_LIBNCCL, std::ios::binary | std::ios::ate);
  if (!file) GTEST_SKIP() << "libnccl is not installed here";
  std::string library(static_cast<std::size_t>(file.tellg()), '\0');
  file.seekg(0).read(library.data(), static_cast<std::streamsize>(library.size()));
  const std::string prefix = "ncclNetPlugin_v";
  int newest = 0;
  for (std::size_t at = library.find(prefix); at != std::string::npos; at = library.find(prefix, at + 1)) {
    newest = std::max(newest, std::atoi(library.c_str() + at + prefix.size()));
  }
  ASSERT_GE(newest, 8) << "of " PERIAPT_LIBNCCL;
  const Table table(PERIAPT_NCCL_NET, newest);
  EXPECT_LE(newest, kNewest);
}

}  // namespace
}  // namespace periapt::nccl_net
