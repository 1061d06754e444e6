// What remote processes and agents of other hosts say to charmrun's hub: frames of any kind in any order, damaged, in
// pieces of any size, behind what a log-in may print. The hub is a real one, but starts no process: two processes of
// its host and two hosts below it are ends of sockets here.
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tools/charmrun/hub.h"

namespace periapt::fuzz {
namespace {

using bootstrap::Frame;
using bootstrap::FrameKind;

constexpr int kLocals = 2, kBelows = 2, kRanks = 6;

class OddHub final : public charmrun::Hub {
 public:
  explicit OddHub(Input& input) : input_(input), always_(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)) {
    plan_.size = kRanks;
    plan_.here.name = "here";
    plan_.here.ranks = kLocals;
    locals_.resize(kLocals);
    for (int i = 0; i < kLocals; ++i) {
      locals_[static_cast<std::size_t>(i)].rank = i;
      locals_[static_cast<std::size_t>(i)].world = channel();
    }
    belows_.resize(kBelows);
    for (int i = 0; i < kBelows; ++i) {
      Below& below = belows_[static_cast<std::size_t>(i)];
      below.plan.name = "host";
      below.plan.first_rank = kLocals + 2 * i;
      below.plan.ranks = 2;
      below.channel = channel();
      below.channel.prologue = &below.before;
      below.state = Below::State::starting;
      below.since = below.heard = charmrun::seconds_now();
    }
  }
  ~OddHub() override {
    for (int end : ends_) close_end(end);
    ::close(always_);
  }

 protected:
  void up(const Frame& frame) override {
    expect(static_cast<unsigned>(frame.kind) >= static_cast<unsigned>(FrameKind::ready), "what goes up is of below");
    if (frame.kind == FrameKind::trouble) return down({FrameKind::end, 1, 0, frame.body});
    // As the root does, so that there is something to be asked for.
    if (frame.kind == FrameKind::arrive && frame.detail == 0) {
      expect(frame.number == released_ + 1, "a fence is handed up once, and in its turn");
      down({FrameKind::release, frame.number, 0, frame.body});
    }
  }
  // poll() never waits.
  void add_polls(std::vector<pollfd>& polls) override { polls.push_back({always_, POLLIN, 0}); }
  void on_poll(const pollfd&) override {}
  void on_signal(int) override {}
  void on_tick(double) override {
    for (int i = 0; i < kLocals + kBelows; ++i) swallow(ends_[static_cast<std::size_t>(i)]);
    if (!input_.more()) return over();
    say(static_cast<std::size_t>(input_.below(kLocals + kBelows)));
    if (input_.below(16) == 15) down(frame());
  }
  bool finished() override { return turns_after_ > 3; }

 private:
  charmrun::Channel channel() {
    int pair[2];
    expect(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, "a socket");
    ends_.push_back(pair[1]);
    return {pair[0], pair[0]};
  }
  static void close_end(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
  static void swallow(int end) {
    std::byte heard[65536];
    while (end >= 0 && ::recv(end, heard, sizeof heard, MSG_DONTWAIT) > 0) {
    }
  }
  void over() {
    for (int& end : ends_) close_end(end);
    ++turns_after_;
  }

  Frame frame() {
    Frame frame;
    frame.kind = static_cast<FrameKind>(input_.flag() ? 64 + input_.below(15) : 1 + input_.below(10));
    if (frame.kind == FrameKind::end) frame.kind = FrameKind::ping;  // once it ends all is over
    if (frame.kind == FrameKind::plan || frame.kind == FrameKind::signal) frame.kind = FrameKind::ask_missing;
    frame.number = input_.flag()   ? released_ + 1
                   : input_.flag() ? static_cast<int>(input_.below(8))
                                   : input_.number<int>();
    frame.detail = input_.flag() ? 0 : input_.number<int>();
    std::vector<std::string> texts;
    for (std::size_t count = input_.below(4); count > 0; --count) texts.push_back(std::string(input_.below(20), 'k'));
    frame.body = bootstrap::pack_texts(texts);
    return frame;
  }
  void say(std::size_t who) {
    std::vector<std::byte> bytes;
    const auto add = [&](const std::string& text) {
      const Bytes more = std::as_bytes(std::span(text));
      bytes.insert(bytes.end(), more.begin(), more.end());
    };
    const bool below = who >= kLocals;
    if (below && !begun_[who - kLocals]) {
      begun_[who - kLocals] = true;
      add("Welcome" + std::string(charmrun::kAgentMark) + bootstrap::encode_frame({FrameKind::ready, 0, 0, {}}));
    }
    for (std::size_t count = input_.below(4); count > 0; --count) add(bootstrap::encode_frame(frame()));
    input_.damage(bytes);
    if (!bytes.empty()) static_cast<void>(::send(ends_[who], bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    if (input_.below(32) == 31) close_end(ends_[who]);
  }

  Input& input_;
  int always_;
  std::vector<int> ends_;
  bool begun_[kBelows] = {};
  int turns_after_ = 0;
};

}  // namespace

void target(Input input) {
  OddHub hub(input);
  hub.run();
}

}  // namespace periapt::fuzz
