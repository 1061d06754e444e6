// bench_net_uring: a loopback connection driven by io_uring instead of by calls, in the operations of operations.h;
// beside `bench_net bare --over tcp` it says whether machine/tcp should use it. Ends with status 77 where the kernel
// has none.
#include <liburing.h>

#include "bench/net/bare_tcp.h"
#include "bench/net/command_line.h"
#include "bench/net/operations.h"

namespace {

using namespace periapt;
using namespace periapt::bench;

/// One send and one receive are in the kernel's hands at a time: a stream has an order. The others wait in queues.
class UringTcp {
 public:
  struct Request {
    std::uint64_t number = 0;
    bool receives = false;
  };

  explicit UringTcp(Place& place) : place_(place), fd_(connect_pair(place)) {
    // Work that a completion brings is done when we ask for it, and does not interrupt us.
    const int error = io_uring_queue_init(8, &ring_, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);
    if (error != 0) {
      if (place.index() == 0) std::printf("io_uring is not to be had here: %s\n", std::strerror(-error));
      std::fflush(stdout);
      std::_Exit(77);
    }
  }
  static std::string about() { return "a bare socket driven by io_uring"; }
  int index() const { return place_.index(); }
  void meet() {
    place_.meet([] {});
  }
  std::vector<double> gather(double mine) {
    return place_.gather(mine, [] {});
  }
  std::byte* outgoing(int slot, std::size_t size) { return slots_.outgoing(slot, size); }
  const std::byte* incoming(int slot, std::size_t size) { return slots_.incoming(slot, size); }

  Request send(int slot, std::size_t size) {
    out_.waiting.push_back({outgoing(slot, size), size});
    if (out_.waiting.size() == 1) start_send();
    return {++out_.begun, false};
  }
  Request receive(int slot, std::size_t size) {
    in_.waiting.push_back({slots_.incoming(slot, size), size});
    if (in_.waiting.size() == 1) start_receive();
    return {++in_.begun, true};
  }
  void wait(Request& request) {
    while ((request.receives ? in_ : out_).ended < request.number) {
      work();
      place_.relax();
    }
  }

 private:
  struct Piece {
    std::byte* at;
    std::size_t left;
  };
  struct Queue {
    std::deque<Piece> waiting;  // the first one is with the kernel
    std::uint64_t begun = 0, ended = 0;
  };

  void start_send() {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    io_uring_prep_send(entry, fd_, out_.waiting.front().at, out_.waiting.front().left, MSG_WAITALL | MSG_NOSIGNAL);
    io_uring_sqe_set_data(entry, &out_);
    io_uring_submit(&ring_);
  }
  void start_receive() {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    io_uring_prep_recv(entry, fd_, in_.waiting.front().at, in_.waiting.front().left, MSG_WAITALL);
    io_uring_sqe_set_data(entry, &in_);
    io_uring_submit(&ring_);
  }
  void work() {
    io_uring_cqe* done;
    io_uring_get_events(&ring_);
    while (io_uring_peek_cqe(&ring_, &done) == 0) {
      Queue& queue = *static_cast<Queue*>(io_uring_cqe_get_data(done));
      const int result = done->res;
      io_uring_cqe_seen(&ring_, done);
      if (result <= 0)
        fatal(std::string("io_uring: ") + (result == 0 ? "the connection ended" : std::strerror(-result)));
      Piece& piece = queue.waiting.front();
      piece.at += result;
      piece.left -= static_cast<std::size_t>(result);
      if (piece.left == 0) {
        queue.waiting.pop_front();
        ++queue.ended;
      }
      if (queue.waiting.empty()) continue;
      &queue == &out_ ? start_send() : start_receive();
    }
  }

  Place& place_;
  int fd_;
  io_uring ring_{};
  Slots slots_;
  Queue out_, in_;
};

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  if (const auto end =
          CommandLine("A socket driven by io_uring, between two processes of this host", plan).parse(argc, argv))
    return end->print();
  return start_sides(plan, [&](Place& place) {
    UringTcp side(place);
    run(side, plan);
    if (side.index() == 0) print_about(side.about());
  });
}
