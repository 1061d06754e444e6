// The wire to charmrun: frames (frames.h) over the socket that the agent of this host left open for this process.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "machine/bootstrap/frames.h"
#include "machine/bootstrap/kept_memory.h"
#include "machine/bootstrap/process_mapping.h"
#include "machine/bootstrap/wire.h"

namespace periapt::bootstrap {
namespace {

constexpr int kMostProcesses = 1 << 24;

class OwnWire final : public Wire {
 public:
  explicit OwnWire(int fd) : fd_(fd) {}
  ~OwnWire() override { ::close(fd_); }

  Status begin() {
    Result<Frame> hello = await(FrameKind::hello);
    if (!hello) return hello.status();
    std::vector<std::string> texts;
    bool sound = unpack_texts(hello->body, texts) && texts.size() == 4 && hello->detail >= 1 &&
                 hello->detail <= kMostProcesses && hello->number >= 0 && hello->number < hello->detail;
    if (!sound) return Status::failure("charmrun's first words make no sense");
    facts_.rank = hello->number;
    facts_.size = hello->detail;
    facts_.job = texts[0];
    facts_.secret = texts[1];
    Result<std::vector<int>> hosts = parse_process_mapping(texts[2], facts_.size);
    if (!hosts) return hosts.status();
    facts_.host_of = std::move(*hosts);
    facts_.host_source = "charmrun's plan";
    facts_.describe = texts[3];
    facts_.longest_key = 1000;
    facts_.longest_value = std::size_t{1} << 24;
    facts_.watched = true;
    facts_.starts_again = StartsAgain::launcher;
    return send({FrameKind::here, static_cast<std::int32_t>(::getpid()), 0, {}});
  }

  const WireFacts& facts() const override { return facts_; }
  Status put(const std::string& key, const std::string& value) override {
    return send({FrameKind::put, 0, 0, pack_texts({key, value})});
  }
  Status fence() override {
    Status sent = send({FrameKind::arrive, ++fences_, 0, {}});
    return sent ? await(FrameKind::release).status() : sent;
  }
  Result<std::string> get(int, const std::string& key) override {
    Status sent = send({FrameKind::get, 0, 0, key});
    if (!sent) return sent;
    Result<Frame> answer = await(FrameKind::value);
    if (!answer) return answer.status();
    if (answer->detail != 1) return Status::failure("it was not put before the latest fence");
    return std::move(answer->body);
  }
  void abort(int code, const std::string& reason) override {
    static_cast<void>(send({FrameKind::abort, 0, code, reason}).ok());
  }
  void finalize() override {
    if (finalized_) return;
    finalized_ = true;
    static_cast<void>(send({FrameKind::finalized, 0, 0, {}}).ok());
  }
  bool well(std::string* reason) override {
    pollfd poll{fd_, POLLIN, 0};
    while (end_.empty() && !finalized_ && ::poll(&poll, 1, 0) > 0) {
      static_cast<void>(read_more().ok());
      static_cast<void>(take(nullptr).ok());
    }
    if (end_.empty() || finalized_) return true;
    if (reason) *reason = said_ ? std::string() : end_;
    return false;
  }
  int wait_fd() const override { return fd_; }
  Status start_again(const std::string& start) override { return send({FrameKind::start_again, 0, 0, start}); }
  void checkpoint_begins(const std::string& folder) override {
    static_cast<void>(send({FrameKind::checkpoint_begins, 0, 0, folder}).ok());
  }

 private:
  Status send(const Frame& frame) {
    std::string bytes = encode_frame(frame);
    std::lock_guard<std::mutex> lock(sending_);
    for (std::size_t sent = 0; sent < bytes.size();) {
      ssize_t n = ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return Status::failure(end_.empty() ? "charmrun has gone; the run ends" : end_);
      sent += static_cast<std::size_t>(n);
    }
    return {};
  }

  Status read_more() {
    char bytes[16384];
    ssize_t n;
    do {
      n = ::read(fd_, bytes, sizeof(bytes));
    } while (n < 0 && errno == EINTR);
    if (n <= 0) {
      if (end_.empty()) end_ = "charmrun, or its agent on this host, has gone; the run ends";
      return Status::failure(end_);
    }
    reader_.feed(bytes, static_cast<std::size_t>(n));
    return {};
  }

  // Goes through what has been read; the frame that is waited for goes to `wanted`.
  Result<bool> take(Frame* wanted) {
    for (;;) {
      Result<std::optional<Frame>> next = reader_.next();
      if (!next) {
        end_ = next.message();
        return next.status();
      }
      if (!next->has_value()) return false;
      Frame& frame = **next;
      if (frame.kind == FrameKind::end) {
        end_ = frame.body.empty() ? "the run was ended" : frame.body;
        said_ = frame.detail == 1;
        return Status::failure(end_);
      }
      if (wanted == nullptr || frame.kind != wanted->kind) continue;  // nothing that we asked for
      *wanted = std::move(frame);
      return true;
    }
  }

  Result<Frame> await(FrameKind kind) {
    for (;;) {
      if (!end_.empty()) return Status::failure(end_);
      Frame frame;
      frame.kind = kind;
      Result<bool> found = take(&frame);
      if (!found) return found.status();
      if (*found) return frame;
      Status more = read_more();
      if (!more) return more;
    }
  }

  int fd_;
  WireFacts facts_;
  FrameReader reader_;
  std::mutex sending_;
  std::string end_;
  bool said_ = false;  // charmrun has told it
  std::int32_t fences_ = 0;
  bool finalized_ = false;
};

}  // namespace

Looked look_for_own_launcher() {
  const char* text = std::getenv(kWorldVariable);
  if (text == nullptr) return Looked::nothing(std::string("charmrun: ") + kWorldVariable + " is not set");
  std::string number = text;
  ::unsetenv(kWorldVariable);  // it is ours, not that of programs that we start
  char* end = nullptr;
  long fd = std::strtol(number.c_str(), &end, 10);
  bool open = *end == '\0' && fd > 2 && fd < 1 << 20 && ::fcntl(static_cast<int>(fd), F_SETFD, FD_CLOEXEC) == 0;
  if (!open) {
    return Looked::unusable(
        std::string("charmrun: ") + kWorldVariable + "=" + number +
        " is not an open file of this process: something between charmrun and the program closed it " +
        "(a ++runscript that closes files?)");
  }
  KeptMemory::adopt();
  auto wire = std::make_unique<OwnWire>(static_cast<int>(fd));
  Status begun = wire->begin();
  if (!begun) return Looked::unusable("charmrun: " + begun.message());
  return Looked::found(std::move(wire));
}

}  // namespace periapt::bootstrap
