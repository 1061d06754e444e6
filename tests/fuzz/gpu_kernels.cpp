// What kernels leave in pinned memory for the host: messages of a port (ck_device_send()), and what the courier says of
// its commands. The memory is the host's, and the kernels' side is played here: it does the next right thing, or writes
// anything anywhere in what kernels write, as a wrong one of the program may.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "machine/gpu/courier.h"
#include "machine/gpu/kernel_port.h"
#include "tests/fuzz/fuzz.h"

namespace periapt::fuzz {
namespace {

using gpu::CourierAnswer;
using gpu::CourierBoard;
using gpu::CourierCommand;
using gpu::Word;

/// One GPU whose memory is the host's; what it is given is done at once, and a launch is kept.
class HostDriver final : public gpu::Driver {
 public:
  std::vector<gpu::CourierOrders> launches;
  bool fails = false, idle = true;

  const char* vendor() const override { return "cuda"; }
  std::string version() const override { return "0"; }
  const std::vector<gpu::Gpu>& gpus() const override { return gpus_; }
  Result<gpu::Memory> look(const void*) override { return gpu::Memory{}; }
  Result<std::uint64_t> buffer_of(const void*) override { return std::uint64_t{0}; }
  Result<std::byte*> allocate(int, gpu::MemoryType, std::uint64_t bytes) override {
    if (fails) return none();
    return static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
  }
  Status free(int, gpu::MemoryType, std::byte* memory) override { return std::free(memory), Status(); }
  Result<gpu::Stream> make_stream(int gpu) override { return gpu::Stream{this, gpu}; }
  void destroy(gpu::Stream) override {}
  Result<int> gpu_of_stream(void*) override { return 0; }
  Status copy(gpu::Stream, void* to, const void* from, std::uint64_t bytes) override {
    if (fails) return none();
    return std::memcpy(to, from, bytes), Status();
  }
  Status copy_rows(gpu::Stream, const gpu::CopiedRows&) override { return none(); }
  Status wait_for(gpu::Stream, gpu::Event) override { return {}; }
  Result<bool> is_idle(gpu::Stream) override { return fails ? Result<bool>(none()) : idle; }
  Result<bool> is_captured(gpu::Stream) override { return false; }
  Status finish(gpu::Stream) override { return {}; }
  Status finish_all(int) override { return {}; }
  Result<gpu::Kernel> load_kernel(int gpu, const gpu::KernelCode&, const char*) override {
    return gpu::Kernel{this, gpu};
  }
  Status launch(gpu::Stream, gpu::Kernel, unsigned, unsigned, void** arguments) override {
    if (fails) return none();
    return launches.push_back(*static_cast<gpu::CourierOrders*>(arguments[0])), Status();
  }
  Result<gpu::Stream> make_urgent_stream(int gpu) override { return make_stream(gpu); }
  bool runs_processes_together(int) override { return true; }
  Result<gpu::Event> make_event(int gpu) override { return gpu::Event{this, gpu}; }
  Result<gpu::Event> make_timed_event(int gpu) override { return make_event(gpu); }
  void destroy(gpu::Event) override {}
  Status record(gpu::Event, gpu::Stream) override { return fails ? none() : Status(); }
  Result<bool> reached(gpu::Event) override { return fails ? Result<bool>(none()) : idle; }
  Result<double> seconds_between(gpu::Event, gpu::Event) override { return 0.0; }
  Status reach(int, int) override { return none(); }
  Result<gpu::IpcHandle> export_memory(const gpu::Memory&) override { return none(); }
  Result<std::byte*> import_memory(int, const gpu::IpcHandle&) override { return none(); }
  Status forget(int, std::byte*) override { return none(); }
  Result<Mapped> mapping_of(const gpu::Memory&, const void*) override { return none(); }
  Status may_give_files(int) override { return none(); }
  Result<int> open_file(const void*) override { return none(); }
  Result<std::byte*> import_file(int, int, std::uint64_t) override { return none(); }
  Status may_use_fabric(int) override { return none(); }
  Result<gpu::IpcHandle> export_to_fabric(const void*) override { return none(); }
  Result<std::byte*> import_from_fabric(int, const gpu::IpcHandle&, std::uint64_t) override { return none(); }
  Status may_share(int) override { return none(); }
  Result<ucx::DmaBuf> share(const gpu::Memory&) override { return none(); }
  void written_by_devices(const gpu::Memory&) override {}
  bool may_be_written(std::uint64_t) override { return false; }
  Status pin(int, std::byte*, std::uint64_t) override { return none(); }
  Status unpin(int, std::byte*) override { return none(); }
  std::string link_between(int, int) override { return {}; }

 private:
  static Status none() { return Status::failure("the GPU does not"); }
  std::vector<gpu::Gpu> gpus_ = std::vector<gpu::Gpu>(1);
};

// ---- a port

class PortScene {
 public:
  PortScene(Input& input, HostDriver& driver, bool wrong) : input_(input), driver_(driver), wrong_(wrong) {}

  void run() {
    driver_.fails = input_.below(32) == 31;
    // Few sizes: rings of ports that are closed are kept for the next ones, for good where a message has not come.
    constexpr std::uint64_t kPlaces[] = {1, 4, 16};
    most_ = input_.flag() ? 40 : 0;
    auto opened = gpu::KernelPort::open(driver_, 0, kPlaces[input_.below(std::size(kPlaces))], most_);
    driver_.fails = false;
    if (!opened) return expect(!opened.message().empty(), "what is refused has a reason");
    port_ = std::move(*opened);
    handle_ = port_->handle();
    for (int acts = 0; input_.more() && acts < 300; ++acts) act();
    close();
  }

 private:
  ck_port_place& place(std::uint64_t number) const {
    return *reinterpret_cast<ck_port_place*>(handle_.places + (number & handle_.place_mask) * handle_.place_bytes);
  }
  void act() {
    switch (input_.below(6)) {
      case 0:
      case 1: {
        std::array<std::byte, 48> bytes{};
        bytes.fill(static_cast<std::byte>(sent_));
        const std::size_t size = input_.below(48);
        const int answer = ck_device_send(handle_, bytes.data(), size);
        expect(answer != ck_device_sent || size <= most_, "what is sent is no longer than it may be");
        sent_ += answer == ck_device_sent;
        return;
      }
      case 2: {
        ck_port_place& any = place(input_.below(16));
        if (wrong_) (input_.flag() ? any.number : any.bytes) = number();
        return;
      }
      case 3: {
        ck_device_word* const words[] = {&handle_.counts->opening, &handle_.counts->places_left, &handle_.counts->next,
                                         &handle_.counts->seen, &handle_.head->too_long};
        if (wrong_) *words[input_.below(std::size(words))] = number();
        return;
      }
      default:
        return take();
    }
  }
  ck_device_word number() { return input_.flag() ? taken_ + input_.below(20) : input_.number<ck_device_word>(); }
  void take() {
    port_->take(1 + static_cast<int>(input_.below(20)), [&](Bytes message) {
      expect(message.size() <= most_, "a message is no longer than those of the port");
      for (const std::byte byte : message)
        expect(wrong_ || byte == static_cast<std::byte>(taken_), "messages come in their order, whole");
      ++taken_;
    });
    static_cast<void>(port_->too_long());
  }
  // It ends, whatever is there: within its patience, by the clock that it is given.
  void close() {
    driver_.idle = input_.below(8) != 7;
    driver_.fails = input_.below(16) == 15;
    std::uint64_t now_ns = 1;
    const Status begun = port_->begin_close(now_ns);
    expect(begun.ok() || driver_.fails, "it is closed, or says why not");
    auto closing = gpu::KernelPort::Closing::under_way;
    for (int rounds = 0; closing == gpu::KernelPort::Closing::under_way; ++rounds) {
      expect(rounds < 100, "closing ends");
      port_->take(64, [](Bytes) {});
      closing = port_->close_on(now_ns += gpu::KernelPort::kPatience_ns / 8);
    }
    expect(wrong_ || driver_.fails || !driver_.idle || closing == gpu::KernelPort::Closing::done, "all has come");
    driver_.fails = false;
    driver_.idle = true;
  }

  Input& input_;
  HostDriver& driver_;
  std::unique_ptr<gpu::KernelPort> port_;
  ck_kernel_port handle_{};
  std::uint64_t most_ = 0, sent_ = 0, taken_ = 0;
  const bool wrong_;
};

// ---- the courier

class CourierScene {
 public:
  CourierScene(Input& input, HostDriver& driver) : input_(input), driver_(driver) {}

  void run() {
    driver_.launches.clear();
    gpu::CourierSettings settings;
    if (input_.flag()) settings.patience_ns = settings.rest_ns = settings.doubt_ns = 0;
    courier_ = std::move(*gpu::Courier::make(driver_, 0, settings));
    for (int acts = 0; input_.more() && acts < 400; ++acts) {
      act();
      for (Command& command : commands_) look(command);
    }
    // Its program ends with commands under way.
    courier_.reset();
    driver_.fails = false;
    driver_.idle = true;
  }

 private:
  struct Command {
    std::uint64_t number = 0;
    std::vector<std::byte> from, to;  // as long as they have to be, so that a sanitizer sees what is beyond
    bool ended = false;
  };

  void act() {
    switch (input_.below(8)) {
      case 0:
      case 1:
      case 2:
        return post();
      case 3:
        if (input_.below(16) == 15) driver_.fails = !driver_.fails;
        if (input_.below(16) == 15) driver_.idle = !driver_.idle;
        return courier_->missed();
      case 4:
        return scribble();
      default:
        return be_the_kernel();
    }
  }
  void post() {
    Command& command = commands_.emplace_back();
    const std::size_t size = 1 + input_.below(32);
    command.from.assign(size, static_cast<std::byte>(commands_.size()));
    command.to.assign(size, std::byte{0});
    const std::size_t how = input_.below(3);
    command.number = how == 0   ? courier_->post(command.to.data(), command.from.data(), size)
                     : how == 1 ? courier_->send(command.to.data(), command.from.data(), size)
                                : courier_->tell(command.to.data(), command.from.data(), size);
    if (command.number == 0) commands_.pop_back();
  }
  void look(Command& command) {
    if (command.ended) return;
    const gpu::Courier::State state = courier_->look(command.number);
    command.ended = state != gpu::Courier::State::under_way;
    expect(wrong_ || state != gpu::Courier::State::done || command.to == command.from, "what is done has been copied");
  }

  CourierBoard& board() const { return *driver_.launches.back().board; }
  // The next step of the launch that was asked for last: it begins, does its next command, or ends.
  void be_the_kernel() {
    if (driver_.launches.empty()) return;
    const gpu::CourierOrders& orders = driver_.launches.back();
    if (begun_ != orders.launch) {
      begun_ = orders.launch;
      next_ = orders.first;
      runs_ = true;
      board().started = orders.launch;
      if (board().cancelled >= orders.launch) end(orders);
      return;
    }
    if (!runs_) return;
    const CourierCommand& command = board().places[next_ % CourierBoard::kPlaces].command;
    if (input_.below(6) == 5) return end(orders);
    if (command.check == gpu::courier_check(command, next_)) execute(command, next_++);
  }
  void end(const gpu::CourierOrders& orders) {
    runs_ = false;
    board().next = next_;
    board().ended = orders.launch;
  }
  // What is scribbled into is the kernel's part, so commands are as the host has written them; but they may be old
  // ones, of memory that was given back.
  void execute(const CourierCommand& command, Word number) {
    const auto known =
        std::find_if(commands_.begin(), commands_.end(), [&](const Command& one) { return one.number == number; });
    expect(known != commands_.end(), "a command that the host has given");
    const auto bytes = static_cast<unsigned>(command.bytes);
    expect(bytes == known->from.size(), "of its size");
    const std::size_t place = number % CourierBoard::kPlaces;
    if ((command.bytes & CourierCommand::kTold) != 0) {
      for (std::size_t i = 0; i * sizeof(Word) < bytes; ++i) {
        Word word = 0;
        std::memcpy(&word, known->from.data() + i * sizeof(Word), std::min(sizeof word, bytes - i * sizeof(Word)));
        board().answers[place][i] = {word, gpu::courier_seal(word, number)};
      }
      return;
    }
    const bool is_sent = (command.bytes & CourierCommand::kSent) != 0;
    std::memcpy(reinterpret_cast<void*>(command.to),
                is_sent ? static_cast<const void*>(command.sent) : reinterpret_cast<const void*>(command.from), bytes);
    board().done[place] = number;
  }
  void scribble() {
    if (driver_.launches.empty()) return;
    CourierBoard& all = board();
    CourierAnswer& answer = all.answers[input_.below(CourierBoard::kPlaces)][input_.below(CourierCommand::kWords)];
    Word* const words[] = {&all.done[input_.below(CourierBoard::kPlaces)],
                           &answer.word,
                           &answer.seal,
                           &all.started,
                           &all.ended,
                           &all.next};
    *words[input_.below(std::size(words))] =
        input_.flag() ? driver_.launches.back().launch + input_.below(4) - 1 : input_.number<Word>();
    wrong_ = true;
  }

  Input& input_;
  HostDriver& driver_;
  std::deque<Command> commands_;
  std::unique_ptr<gpu::Courier> courier_;
  Word begun_ = 0, next_ = 0;
  bool runs_ = false, wrong_ = false;
};

}  // namespace

void target(Input input) {
  // Rings of ports are kept with it: what a wrong kernel has left in one is found by the next port that has it.
  static HostDriver right, wrong;
  switch (input.below(3)) {
    case 0:
      return PortScene(input, right, false).run();
    case 1:
      return PortScene(input, wrong, true).run();
    default:
      return CourierScene(input, right).run();
  }
}

}  // namespace periapt::fuzz
