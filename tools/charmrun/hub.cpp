#include "tools/charmrun/hub.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/clock.h"
#include "machine/bootstrap/kept_memory.h"
#include "tools/charmrun/remote_shell.h"
#include "tools/charmrun/spawn.h"

namespace periapt::charmrun {
namespace {

constexpr double kPingEvery = 5;     // seconds
constexpr double kTermToKill = 1.5;  // from SIGTERM to SIGKILL
constexpr double kKillToLeave = 4;   // from the end of the run to the end of shells that don't follow
// Of quiet, before an unfinished line (a prompt, say) is passed on. On a loaded machine a writer may be stopped in the
// middle of a line for some tenths of a second, and then another process's line would come into it.
constexpr int kHoldLineMs = 1000;
constexpr std::size_t kLongestHeldLine = 1 << 16;
constexpr std::size_t kMostPrologue = 1 << 16;

void close_fd(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

std::string ranks_of(const HostPlan& host) {
  if (host.ranks == 1) return "process " + std::to_string(host.first_rank);
  return "processes " + std::to_string(host.first_rank) + "-" + std::to_string(host.first_rank + host.ranks - 1);
}

std::string host_in_words(const HostPlan& host) { return "host " + host.name + " (" + ranks_of(host) + ")"; }

}  // namespace

double seconds_now() { return static_cast<double>(clock::now_ns()) * 1e-9; }

std::string own_path() {
  char path[PATH_MAX];
  ssize_t n = ::readlink("/proc/self/exe", path, sizeof(path));
  return n > 0 ? std::string(path, static_cast<std::size_t>(n)) : "charmrun";
}

Hub::Hub() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP}) ::sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  signal_fd_ = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  ::signal(SIGPIPE, SIG_IGN);
}

Hub::~Hub() {
  for (Local& local : locals_) {
    close_fd(local.input);
    close_fd(local.output);
    close_fd(local.errors);
  }
  for (Below& below : belows_) close_fd(below.errors);
  ::close(signal_fd_);
}

int Hub::run() {
  while (!finished()) poll_once();
  return status_;
}

// ---- starting

void Hub::start(const RunPlan& plan) {
  plan_ = plan;
  for (const HostPlan& host : plan_.here.below) belows_.emplace_back().plan = host;
  if (plan_.here.ranks > 0) bootstrap::KeptMemory::open();
  start_locals();
  start_waiting_belows();
}

// ---- going back to a checkpoint in memory

void Hub::stop_locals() {
  going_back_ = true;
  kill_everything(SIGKILL);
  for (Below& below : belows_) {
    if (below.state == Below::State::gone) fail_below(below, "lost " + host_in_words(below.plan));
  }
  tell_stopped();
}

void Hub::tell_stopped() {
  for (const Local& local : locals_) {
    if (!local.ended) return;
  }
  if (plan_.here.ranks == 0) return;
  const bootstrap::KeptMemory* kept = bootstrap::KeptMemory::of_run();
  up({FrameKind::stopped, plan_.here.index, kept != nullptr ? static_cast<std::int32_t>(kept->number()) : 0, {}});
}

void Hub::forget_run() {
  for (Below& below : belows_) below.at_fence = below.ended_ranks = 0;
  values_.clear();
  new_values_.clear();
  released_ = handed_up_ = told_waiting_ = 0;
}

// What process 0 has not read of the standard input stays for the one that follows it.
void Hub::start_again(int checkpoint) {
  forget_run();
  going_back_ = awaits_word_ = false;
  std::string input;
  bool input_ends = false;
  for (Local& local : locals_) {
    input += local.waiting_input;
    input_ends = input_ends || local.input_ends;
  }
  locals_.clear();
  if (bootstrap::KeptMemory* kept = bootstrap::KeptMemory::of_run())
    kept->go_back_to(static_cast<std::uint64_t>(checkpoint));
  start_locals();
  for (Local& local : locals_) {
    if (local.rank != 0 || (input.empty() && !input_ends)) continue;
    local.waiting_input = std::move(input);
    local.input_ends = input_ends;
    feed_input(local);
  }
}

namespace {
// What reads the person's ~/.charmrunrc on this host and becomes the program behind it: a shell, bash where it is, for
// which such files are written with Charm++. Its function keeps the program's arguments from the file, and what runs in
// the file from the program's input. Empty if there is no such file.
std::vector<std::string> reader_of_settings() {
  const char* const home = std::getenv("HOME");
  const std::string path = std::string(home ? home : "") + "/.charmrunrc";
  std::error_code error;
  if (!home || !std::filesystem::is_regular_file(path, error) || ::access(path.c_str(), R_OK) != 0) return {};
  const char* const shell = ::access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh";
  return {shell, "-c", R"(read_settings() { . "$0"; }; read_settings </dev/null; exec "$@")", path};
}
}  // namespace

void Hub::start_locals() {
  const bootstrap::KeptMemory* kept = bootstrap::KeptMemory::of_run();
  const std::vector<std::string> reader = reader_of_settings();
  locals_.reserve(static_cast<std::size_t>(plan_.here.ranks));
  for (int i = 0; i < plan_.here.ranks && !ending_; ++i) {
    Local& local = locals_.emplace_back();
    local.rank = plan_.here.first_rank + i;
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
      up({FrameKind::trouble, 1, 0,
          std::string("host ") + plan_.here.name + ": no socket for process " + std::to_string(local.rank) + ": " +
              std::strerror(errno) + " (see ulimit -n)"});
      return;
    }
    SpawnRequest request;
    request.command = reader;
    if (!plan_.runscript.empty()) request.command.push_back(plan_.runscript);
    request.command.push_back(plan_.here.program);
    request.command.insert(request.command.end(), plan_.arguments.begin(), plan_.arguments.end());
    request.environment = plan_.environment;
    request.environment.push_back(std::string(bootstrap::kWorldVariable) + "=" + std::to_string(pair[1]));
    request.folder = plan_.here.folder;
    request.keep_open = {pair[1]};
    if (kept != nullptr) {
      request.environment.push_back(kept->variable());
      request.keep_open.push_back(kept->file());
    }
    request.with_input = local.rank == 0;
    request.dies_with_us = true;
    Result<Spawned> process = spawn(request);
    ::close(pair[1]);
    local.world = Channel(pair[0], pair[0]);
    if (!process) {
      tell_not_started(local, process.message());
      local.ended = local.told = true;
      return;
    }
    local.pid = process->pid;
    local.input = process->input;
    local.output = process->output;
    local.errors = process->errors;
    for (int fd : {local.input, local.output, local.errors}) {
      if (fd >= 0) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
    }
    local.world.send({FrameKind::hello, local.rank, plan_.size,
                      bootstrap::pack_texts({plan_.job, plan_.secret, plan_.mapping, plan_.describe})});
  }
}

void Hub::tell_not_started(const Local& local, const std::string& why) {
  up({FrameKind::trouble, 127, 0,
      "host " + plan_.here.name + ": process " + std::to_string(local.rank) + ": " + why +
          "\n      the program and its folder must be on every host under the same path, or pathfix must translate "
          "them"});
}

void Hub::start_waiting_belows() {
  int starting = 0;
  for (const Below& below : belows_) starting += below.state == Below::State::starting;
  for (Below& below : belows_) {
    if (ending_ || starting >= plan_.shells_at_once) return;
    if (below.state != Below::State::waiting) continue;
    ++starting;
    start_below(below);
  }
}

void Hub::start_below(Below& below) {
  SpawnRequest request;
  request.command = below.plan.shell;
  if (request.command.empty()) {
    request.command = {below.plan.agent, "++agent"};
  } else {
    request.command.push_back(remote_text(below.plan.setup, below.plan.agent));
  }
  request.with_input = true;
  below.state = Below::State::starting;
  below.since = below.heard = seconds_now();
  if (plan_.verbose) {
    std::string text;
    for (const std::string& word : request.command) text += (text.empty() ? "" : " ") + word;
    up({FrameKind::output, -1, 2,
        "charmrun: host " + below.plan.name + " (" + ranks_of(below.plan) + "): " + text + "\n"});
  }
  Result<Spawned> shell = spawn(request);
  if (!shell) {
    return fail_below(below, "host " + below.plan.name + ": the remote shell does not start: " + shell.message() +
                                 "\n      ++remote-shell, the nodelist's shell or $CONV_RSH name another one");
  }
  below.pid = shell->pid;
  below.errors = shell->errors;
  ::fcntl(below.errors, F_SETFL, ::fcntl(below.errors, F_GETFL) | O_NONBLOCK);
  below.channel = Channel(shell->output, shell->input);
  below.channel.prologue = &below.before;
  below.channel.send({FrameKind::plan, 0, 0, encode_plan(plan_for(plan_, below.plan))});
}

void Hub::fail_below(Below& below, const std::string& why) {
  const bool has_ended = !going_back_ && below.ended_ranks == below.plan.all_ranks();
  // Others may have missed it first and ended the run. Then one that is only slow to leave has answered since.
  const bool is_cut = !ending_ || !below.channel.open() || below.heard < ending_since_;
  const bool lost = below.state == Below::State::ready && !below.has_left && !has_ended && is_cut;
  bool expected = ending_ || has_ended;
  below.state = Below::State::gone;
  below.channel.close();
  if (below.pid > 0) ::kill(-below.pid, SIGKILL);
  if (lost) up({FrameKind::host_lost, below.plan.index, 0, {}});
  if (!expected) up({FrameKind::trouble, 1, 0, why});
}

// ---- the loop

void Hub::poll_once() {
  std::vector<pollfd> polls = {{signal_fd_, POLLIN, 0}};
  auto add = [&](int fd, short events) {
    if (fd >= 0 && events != 0) polls.push_back({fd, events, 0});
  };
  auto add_channel = [&](Channel& channel) {
    short out = channel.queued() > 0 ? POLLOUT : 0;
    if (channel.in() == channel.out()) return add(channel.in(), static_cast<short>(POLLIN | out));
    add(channel.in(), POLLIN);
    add(channel.out(), out);
  };
  bool held = false, stuck = output_is_stuck();
  for (Local& local : locals_) {
    add_channel(local.world);
    if (!stuck) add(local.output, POLLIN), add(local.errors, POLLIN);
    if (!local.waiting_input.empty()) add(local.input, POLLOUT);
    held = held || !local.held[0].empty() || !local.held[1].empty();
  }
  bool starting = false;
  for (Below& below : belows_) {
    if (below.state == Below::State::waiting || below.state == Below::State::gone) continue;
    add_channel(below.channel);
    add(below.errors, POLLIN);
    starting = starting || below.state == Below::State::starting;
  }
  std::size_t own = polls.size();
  add_polls(polls);
  int limit = held ? kHoldLineMs / 4 : ending_ ? 50 : starting ? 200 : 1000;
  int ready = ::poll(polls.data(), polls.size(), limit);
  double looked = seconds_now();
  if (ready > 0) {
    std::set<int> fds;
    for (std::size_t i = 0; i < own; ++i) {
      if (polls[i].revents != 0) fds.insert(polls[i].fd);
    }
    for (Local& local : locals_) {
      if (fds.count(local.output)) read_output(local, 0, false);
      if (fds.count(local.errors)) read_output(local, 1, false);
      if (fds.count(local.world.in())) on_world(local);
      if (fds.count(local.input)) feed_input(local);
    }
    for (Below& below : belows_) {
      if (fds.count(below.errors)) on_below_errors(below);
      if (fds.count(below.channel.out())) below.channel.flush();
      if (fds.count(below.channel.in())) on_below(below);
    }
    for (std::size_t i = own; i < polls.size(); ++i) {
      if (polls[i].revents != 0) on_poll(polls[i]);
    }
    if (fds.count(signal_fd_)) read_signals();
  }
  if (held) give_out_unfinished(looked, !stuck);
  tick();
}

// What is no line yet may be a question to a person: it goes out after a moment of quiet. Quiet is a pipe that was
// looked at and empty: while the output is stuck, the rest of the line may be in it.
void Hub::give_out_unfinished(double looked, bool at_pipes) {
  for (Local& local : locals_) {
    for (int stream : {0, 1}) {
      if (!at_pipes) local.held_since[stream] = looked;
      if (looked - local.held_since[stream] > kHoldLineMs * 1e-3) give_out(local, stream, true);
    }
  }
}

void Hub::read_signals() {
  signalfd_siginfo info;
  while (::read(signal_fd_, &info, sizeof(info)) == sizeof(info)) {
    int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) {
      reap();
    } else {
      on_signal(signal);
    }
  }
}

void Hub::reap() {
  int status = 0;
  for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    for (Local& local : locals_) {
      if (local.pid != pid) continue;
      local.pid = -1;
      local.wait_status = status;
      local.ended = true;
      ::kill(-pid, SIGKILL);  // what it left behind in its group
      settle(local);
      if (going_back_) tell_stopped();
    }
    for (Below& below : belows_) {
      if (below.pid != pid) continue;
      below.pid = -1;
      below.reaped = true;
      below.wait_status = status;
      reaped_below(below);
    }
  }
}

// A process has ended: what it wrote goes out first, then the news.
void Hub::settle(Local& local) {
  on_world(local);
  read_output(local, 0, true);
  read_output(local, 1, true);
  close_fd(local.input);
  if (local.told || going_back_) return;
  local.told = true;
  // A shell ends so that could not become the program; why has gone out with what it wrote.
  const int code = WIFEXITED(local.wait_status) ? WEXITSTATUS(local.wait_status) : 0;
  if (!local.here && (code == 126 || code == 127) && !reader_of_settings().empty())
    return tell_not_started(local,
                            "cannot start " + plan_.here.program + ": the shell that has read .charmrunrc says why");
  const bootstrap::KeptMemory* kept = bootstrap::KeptMemory::of_run();
  awaits_word_ = awaits_word_ || (local.wait_status != 0 && !local.finalized && kept != nullptr && kept->number() != 0);
  up({FrameKind::left, local.rank, local.wait_status,
      bootstrap::pack_texts({plan_.here.name,
                             local.finalized ? "finalized"
                             : local.here    ? "here"
                                             : "started",
                             std::to_string(kept != nullptr ? kept->number() : 0),
                             local.killed_by_us ? "by us" : ""})});
}

void Hub::reaped_below(Below& below) {
  on_below_errors(below);
  if (below.state != Below::State::gone) on_below(below);  // what is still in the pipe
  if (below.state == Below::State::gone) return;
  std::string why =
      below.state == Below::State::starting
          ? explain_shell(below.plan.name, below.plan.shell, below.wait_status, below.said, below.plan.agent)
          : "lost " + host_in_words(below.plan) + ": the connection to it, or charmrun's agent there, was cut";
  fail_below(below, why);
}

void Hub::tick() {
  double now = seconds_now();
  if (ending_) escalate(now);
  bool ping = now - last_ping_ >= kPingEvery;
  if (ping) last_ping_ = now;
  for (Below& below : belows_) {
    if (below.state == Below::State::starting && now - below.since > plan_.timeout_seconds) {
      fail_below(below,
                 "host " + below.plan.name + " did not answer within " + std::to_string(plan_.timeout_seconds) +
                     " s\n      see that a login there works without questions, or give it longer with ++timeout");
    }
    if (below.state != Below::State::ready) continue;
    if (ping) below.channel.send({FrameKind::ping, 0, 0, {}});
    if (now - below.heard > plan_.silence_seconds) {
      fail_below(below, "lost " + host_in_words(below.plan) + ": nothing was heard of it for " +
                            std::to_string(plan_.silence_seconds) + " s: it is down, or cut off from the network");
    }
  }
  start_waiting_belows();
  on_tick(now);
}

void Hub::escalate(double now) {
  double since = now - ending_since_;
  if (since > kTermToKill) kill_everything(SIGKILL);
  if (since < kKillToLeave) return;
  for (Below& below : belows_) {
    if (below.state != Below::State::gone) fail_below(below, {});
  }
}

void Hub::kill_everything(int signal) {
  for (Local& local : locals_) {
    if (local.pid <= 0) continue;
    local.killed_by_us = local.killed_by_us || signal == SIGKILL;
    ::kill(-local.pid, signal);
  }
}

bool Hub::all_ended() const {
  if ((going_back_ || awaits_word_) && !ending_) return false;
  for (const Local& local : locals_) {
    if (!local.ended) return false;
  }
  for (const Below& below : belows_) {
    bool never = ending_ && below.state == Below::State::waiting;
    if (!never && below.state != Below::State::gone) return false;
  }
  return true;
}

// ---- processes of this host

void Hub::on_world(Local& local) {
  if (!local.world.open()) return;
  local.world.flush();
  bool open = local.world.fill();
  for (;;) {
    Result<std::optional<Frame>> next = local.world.reader().next();
    if (!next) {
      up({FrameKind::trouble, 1, 0,
          "process " + std::to_string(local.rank) + " on host " + plan_.here.name + ": " + next.message()});
      return local.world.close();
    }
    if (!next->has_value()) break;
    from_process(local, **next);
  }
  if (!open) local.world.close();
}

void Hub::from_process(Local& local, Frame& frame) {
  std::vector<std::string> texts;
  switch (frame.kind) {
    case FrameKind::here:
      local.here = true;
      break;
    case FrameKind::put:
      if (bootstrap::unpack_texts(frame.body, texts) && texts.size() == 2) {
        new_values_.insert(new_values_.end(), texts.begin(), texts.end());
      }
      break;
    case FrameKind::arrive:
      local.at_fence = frame.number;
      look_at_fence();
      break;
    case FrameKind::get: {
      auto found = values_.find(frame.body);
      bool there = found != values_.end();
      local.world.send({FrameKind::value, 0, there ? 1 : 0, there ? found->second : std::string()});
      break;
    }
    case FrameKind::abort:
      up({FrameKind::abort, local.rank, frame.detail, bootstrap::pack_texts({plan_.here.name, frame.body})});
      break;
    case FrameKind::finalized:
      local.finalized = true;
      up({FrameKind::finalized, local.rank, 0, {}});
      break;
    case FrameKind::start_again:
    case FrameKind::checkpoint_begins:
      up(frame);
      break;
    default:
      break;  // nothing that a process may say
  }
}

// Lines go out whole; what is no line yet waits (give_out_unfinished).
void Hub::read_output(Local& local, int stream, bool to_the_end) {
  int& fd = stream == 0 ? local.output : local.errors;
  char bytes[65536];
  for (int round = 0; fd >= 0 && (to_the_end || round < 4); ++round) {
    ssize_t n = ::read(fd, bytes, sizeof(bytes));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    if (n == 0) {
      close_fd(fd);
      to_the_end = true;
      break;
    }
    local.held[stream].append(bytes, static_cast<std::size_t>(n));
    local.held_since[stream] = seconds_now();
    give_out(local, stream, false);
  }
  if (to_the_end) {
    give_out(local, stream, true);
    if (local.ended) close_fd(fd);
  }
}

void Hub::give_out(Local& local, int stream, bool all) {
  std::string& held = local.held[stream];
  std::size_t end = held.rfind('\n');
  bool too_long = end == std::string::npos && held.size() > kLongestHeldLine;
  std::size_t count = all || too_long ? held.size() : end + 1;  // npos + 1 is 0
  if (count == 0) return;
  up({FrameKind::output, local.rank, stream + 1, held.substr(0, count)});
  held.erase(0, count);
}

void Hub::feed_input(Local& local) {
  while (local.input >= 0 && !local.waiting_input.empty()) {
    ssize_t n = ::write(local.input, local.waiting_input.data(), local.waiting_input.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n < 0) close_fd(local.input);  // it reads no more
    if (n > 0) local.waiting_input.erase(0, static_cast<std::size_t>(n));
  }
  local.waiting_input.clear();
  if (local.input_ends) return close_fd(local.input);
  up({FrameKind::drained, 0, 0, {}});
}

// ---- agents below

void Hub::on_below_errors(Below& below) {
  char bytes[16384];
  while (below.errors >= 0) {
    ssize_t n = ::read(below.errors, bytes, sizeof(bytes));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return;
    if (n == 0) return close_fd(below.errors);
    std::string text(bytes, static_cast<std::size_t>(n));
    if (below.state == Below::State::starting) {
      if (below.said.size() < kMostPrologue) below.said += text;
    } else if (!ending_) {
      up({FrameKind::output, -1, 2, text});
    }
  }
}

void Hub::on_below(Below& below) {
  if (!below.channel.open()) return;
  bool open = below.channel.fill();
  if (below.channel.prologue != nullptr) {
    std::size_t mark = below.before.find(kAgentMark);
    if (mark != std::string::npos) {
      std::string rest = below.before.substr(mark + std::strlen(kAgentMark));
      below.channel.prologue = nullptr;
      below.channel.reader().feed(rest.data(), rest.size());
    } else if (below.before.size() > kMostPrologue) {
      return fail_below(below,
                        "host " + below.plan.name +
                            " prints without end before charmrun's agent begins: look at its shell start-up files");
    }
  }
  while (below.channel.prologue == nullptr && below.channel.open()) {
    Result<std::optional<Frame>> next = below.channel.reader().next();
    if (!next) return fail_below(below, "host " + below.plan.name + ": " + next.message());
    if (!next->has_value()) break;
    below.heard = seconds_now();
    from_below(below, **next);
  }
  if (open || !below.channel.open()) return;
  below.channel.close();
  if (below.state != Below::State::ready) return;  // the shell's end says more
  if (below.ended_ranks == below.plan.all_ranks() && !going_back_) {
    below.state = Below::State::gone;
  } else {
    fail_below(below,
               "lost " + host_in_words(below.plan) + ": the connection to it, or charmrun's agent there, was cut");
  }
}

void Hub::from_below(Below& below, Frame& frame) {
  std::vector<std::string> texts;
  switch (frame.kind) {
    case FrameKind::ready:
      below.state = Below::State::ready;
      below.said.clear();
      break;
    case FrameKind::arrive:
      if (frame.detail != 0) return up(frame);  // only the first of its processes has come
      below.at_fence = frame.number;
      if (bootstrap::unpack_texts(frame.body, texts) && texts.size() % 2 == 0) {
        new_values_.insert(new_values_.end(), texts.begin(), texts.end());
      }
      return look_at_fence();
    case FrameKind::pong:
      break;
    case FrameKind::agent_leaves:
      below.has_left = true;
      break;
    case FrameKind::left:
      ++below.ended_ranks;
      [[fallthrough]];
    default:
      if (frame.kind >= FrameKind::ready) up(frame);
  }
}

// ---- fences

void Hub::look_at_fence() {
  int fence = released_ + 1;
  std::size_t come = 0;
  for (const Local& local : locals_) come += local.at_fence >= fence;
  for (const Below& below : belows_) come += below.at_fence >= fence;
  if (come > 0 && told_waiting_ < fence) {
    told_waiting_ = fence;
    up({FrameKind::arrive, fence, 1, {}});
  }
  if (come < locals_.size() + belows_.size() || handed_up_ >= fence) return;
  handed_up_ = fence;
  std::string body = bootstrap::pack_texts(new_values_);
  new_values_.clear();
  up({FrameKind::arrive, fence, 0, std::move(body)});
}

void Hub::release(const Frame& frame) {
  released_ = frame.number;
  std::vector<std::string> texts;
  if (bootstrap::unpack_texts(frame.body, texts)) {
    for (std::size_t i = 0; i + 1 < texts.size(); i += 2) values_[texts[i]] = std::move(texts[i + 1]);
  }
  for (Local& local : locals_) local.world.send({FrameKind::release, frame.number, 0, {}});
}

std::string Hub::who_is_missing(int fence) const {
  std::string text;
  for (const Local& local : locals_) {
    if (local.at_fence >= fence) continue;
    text += (text.empty() ? "" : ", ") + std::string("process ") + std::to_string(local.rank) + " (host " +
            plan_.here.name + (local.pid > 0 ? ", pid " + std::to_string(local.pid) : "") + ") " +
            (local.ended  ? "has ended"
             : local.here ? "is before it"
                          : "has not begun to look for the others");
  }
  return text;
}

// ---- from above

void Hub::down(const Frame& frame) {
  if (frame.kind == FrameKind::end && !ending_) {
    ending_ = true;
    ending_since_ = seconds_now();
    last_ping_ = 0;
    for (Local& local : locals_) local.world.send(frame);
    kill_everything(SIGTERM);
  }
  if (frame.kind == FrameKind::stop) stop_locals();
  if (frame.kind == FrameKind::again && going_back_) start_again(frame.number);
  if (frame.kind == FrameKind::release) release(frame);
  if (frame.kind == FrameKind::ask_missing) {
    std::string missing = who_is_missing(frame.number);
    if (!missing.empty()) up({FrameKind::missing, frame.number, 0, std::move(missing)});
  }
  if (frame.kind == FrameKind::signal) kill_everything(frame.number);
  if (frame.kind == FrameKind::input) {
    for (Local& local : locals_) {
      if (local.rank != 0) continue;
      local.waiting_input += frame.body;
      local.input_ends = frame.body.empty();
      feed_input(local);
    }
  }
  std::string bytes;
  for (Below& below : belows_) {
    bool first = below.plan.first_rank == 0;  // the tree is in order of ranks
    if (!below.channel.open() || (frame.kind == FrameKind::input && !first)) continue;
    if (bytes.empty()) bytes = bootstrap::encode_frame(frame);
    below.channel.send_raw(bytes);
  }
}

}  // namespace periapt::charmrun
