// A worker of the engine with the connections that NCCL has over it, and the workers of this process.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/status.h"
#include "machine/nccl-net/meeting.h"
#include "machine/nccl-net/net.h"
#include "machine/ucx-like/worker.h"

namespace periapt::nccl_net {

/// A line through NCCL's logger; before init() it goes nowhere.
void set_logger(Logger logger);
void say(LogLevel level, const std::string& text);
/// The answer, said.
Answer failed(Answer answer, const std::string& why);

struct Comm;
class CommWorker;

/// What NCCL has a request of: a send, or a group of receives.
struct NcclRequest {
  Comm* comm = nullptr;
  int count = 0;
  std::array<ucx::RequestPtr, kMostReceives> parts;  ///< nullptr: a send that was done at once
  std::array<std::size_t, kMostReceives> bytes{};    ///< sent; of a receive: its room
  std::list<NcclRequest>::iterator at;

  bool has_ended() const;
};

/// A connection in one direction. Its number is the receiving worker's.
struct Comm {
  std::shared_ptr<CommWorker> worker;
  ucx::Endpoint* peer = nullptr;
  std::uint32_t number = 0;
  bool sends = false;
  bool said = false;            ///< its failure
  std::string failure;          ///< why nothing comes or goes any more
  std::list<NcclRequest> live;  ///< begun and not tested to its end
  std::list<NcclRequest> spare;
  std::unique_ptr<Stream> stream;                ///< until the other side has been heard over the engine
  bool greeted = false;                          ///< of a receiving one: the sender has been heard
  std::vector<std::pair<int, unsigned>> grants;  ///< of a sending one: by tag, how many sends are granted

  unsigned& granted(int tag);
  NcclRequest& begin();
  void end(NcclRequest& operation);
  /// Of an operation that cannot end well.
  Answer refuse(Answer answer, const std::string& why);
};

class CommWorker {
 public:
  /// The calling thread's.
  static Result<std::shared_ptr<CommWorker>> of_thread();
  explicit CommWorker(std::unique_ptr<ucx::Worker> made);

  std::mutex mutex;  ///< held by the caller of all below
  std::unique_ptr<ucx::Worker> engine;

  Result<std::unique_ptr<Comm>> connect_sending(std::uint32_t number, std::span<const std::byte> address,
                                                std::shared_ptr<CommWorker> self);
  Result<std::unique_ptr<Comm>> connect_receiving(std::span<const std::byte> address, std::shared_ptr<CommWorker> self);
  void grant(Comm& receiving, int tag);
  /// With operations under way: ends them, and all between these two workers.
  void close(Comm& comm);

 private:
  enum class Word : std::uint32_t { hello, grant, sender_closed, receiver_closed };
  struct Control {
    Word word = Word::hello;
    std::uint32_t number = 0;
    std::int32_t tag = 0;
  };
  Result<std::unique_ptr<Comm>> connect(std::uint32_t number, std::span<const std::byte> address,
                                        std::shared_ptr<CommWorker> self);
  static bool heard(void* context, ucx::Endpoint& from, std::span<const std::byte> header, std::span<const std::byte>);
  void take(const Control& control, ucx::PeerId from);
  void tell(Comm& comm, Word word, int tag = 0);
  void fail_all(ucx::PeerId peer, const std::string& why);

  std::map<std::pair<ucx::PeerId, std::uint32_t>, Comm*> sending_;
  std::map<std::uint32_t, Comm*> receiving_;
  std::uint32_t next_number_ = 1;
};

/// What all workers of this process share.
class Process {
 public:
  static Process& self();
  /// The context, made at the first call; or why no transport is usable.
  Result<ucx::Context*> context();
  std::string devices() const;

 private:
  friend class CommWorker;
  std::mutex mutex_;
  std::unique_ptr<ucx::Context> context_;
  std::map<std::thread::id, std::weak_ptr<CommWorker>> workers_;
};

}  // namespace periapt::nccl_net
