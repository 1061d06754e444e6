// bench_net_counted: the engine, for counted.h.
//
//   bench_net_counted MESSAGES IN_A_ROW [TRANSPORT]
#include "bench/net/counted.h"

#include <array>
#include <memory>
#include <string>

#include "base/fatal.h"
#include "machine/layer/transports.h"
#include "machine/ucx-like/worker.h"

namespace {

using namespace periapt;

template <class T>
T made(Result<T> result) {
  if (!result) fatal(result.message());
  return std::move(*result);
}

class EngineEnds {
 public:
  explicit EngineEnds(const std::string& transport) {
    for (std::size_t end : {0, 1}) {
      ucx::ContextRequest request;
      request.factories = machine::transports();
      request.transports = transport;
      request.self = static_cast<ucx::PeerId>(end) + 1;
      request.host = "end" + std::to_string(end);
      request.secret.assign(16, std::byte{1});
      request.option = [](const std::string& name) { return std::string(name == "+net-devices" ? "lo" : ""); };
      contexts_[end] = made(ucx::Context::create(std::move(request)));
      workers_[end] = made(ucx::Worker::create(*contexts_[end]));
    }
    endpoint_ = made(workers_[0]->connect(workers_[1]->address()));
  }
  ~EngineEnds() {
    for (auto& receive : receives_) receive.reset();
  }
  void expect() {
    receives_[expected_++ % kMost] = workers_[1]->tag_receive(std::as_writable_bytes(std::span(&in_, 1)), kTag);
  }
  /// One that does not go at once goes by itself.
  void send() { endpoint_->tag_send(std::as_bytes(std::span(&out_, 1)), kTag); }
  void look(int end) {
    workers_[static_cast<std::size_t>(end)]->progress();
    while (taken_ < expected_ && receives_[taken_ % kMost]->ended()) receives_[taken_++ % kMost].reset();
  }
  long taken() const { return static_cast<long>(taken_); }

 private:
  static constexpr ucx::Tag kTag = 7;
  static constexpr std::size_t kMost = 64;
  std::array<std::unique_ptr<ucx::Context>, 2> contexts_;
  std::array<std::unique_ptr<ucx::Worker>, 2> workers_;
  ucx::Endpoint* endpoint_ = nullptr;
  std::array<ucx::RequestPtr, kMost> receives_;
  std::size_t expected_ = 0, taken_ = 0;
  std::uint64_t out_ = 1, in_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  EngineEnds ends(argc > 3 ? argv[3] : "verbs");
  return bench::count(ends, argc, argv);
}
