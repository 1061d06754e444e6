// The wire of our own launcher: frames over any stream (a socket between a process and the agent of its host, the
// standard streams of a remote shell between hosts). Used by both sides: own_wire.cpp here, tools/charmrun there.
//
// A frame is 16 bytes of head (magic, version, kind, length of the body, two numbers; little-endian) and a body. What
// comes from outside may be anything: a reader that meets nonsense says so, once and for all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace periapt::bootstrap {

enum class FrameKind : std::uint8_t {
  // from above: charmrun to the agents of hosts, an agent to its processes
  plan = 1,  ///< body: what an agent shall start (tools/charmrun/plan.h)
  hello,     ///< to a process; number: rank, detail: size; body: texts job, secret, process mapping, description
  release,   ///< number: the fence that all processes have come to; body (to agents): texts key, value, key, value ...
  value,     ///< answer to get; detail: 1 found, 0 not
  end,       ///< the run ends; number: status; detail 1: charmrun has said why; body: why
  signal,    ///< number: pass this signal to the processes
  input,     ///< body: for the standard input of process 0; empty: its end
  ping,      ///< are you there? number: 1: the asker will sleep, don't miss it
  ask_missing,  ///< number: a fence; which processes have not come to it?
  stop,         ///< the run goes back to its checkpoint in memory: kill the processes, and wait
  again,        ///< start them again; number: the checkpoint that they are to find

  // from below
  ready = 64,  ///< an agent has its plan and began; number: host
  here,        ///< a process found its world; number: pid
  put,         ///< body: texts key, value
  arrive,      ///< number: fence; body (from agents): texts key, value ... detail 1: the first of an agent's only
  get,         ///< body: key
  abort,       ///< detail: status; body: why. From agents: number: rank
  finalized,   ///< the process has ended the run as it should. From agents: number: rank
  output,      ///< number: rank; detail: 1 or 2; body: what it wrote
  left,     ///< number: rank; detail: wait status; body: texts host, how far it came, number of its checkpoint, whether
            ///< charmrun has killed it
  trouble,  ///< something could not be started; number: status; body: a sentence
  missing,  ///< answer to ask_missing; body: a sentence
  drained,  ///< the input given so far has been taken
  pong,
  stopped,  ///< the host's processes have ended; number: host, detail: the number of its checkpoint, 0: there is none
  start_again,        ///< when all have left, the run is started again; body: how (resized_start.h)
  checkpoint_begins,  ///< a checkpoint is being written to a disk; body: its folder
  agent_leaves,       ///< all of its host has ended, and of the hosts below; nothing follows
  host_lost,          ///< of an agent below, which was cut off before it had left; number: host
};
bool is_frame_kind(unsigned value);

struct Frame {
  FrameKind kind = FrameKind::ping;
  std::int32_t number = 0;
  std::int32_t detail = 0;
  std::string body;
};

inline constexpr std::size_t kFrameHead = 16;
inline constexpr std::uint8_t kFrameVersion = 1;
inline constexpr std::uint32_t kLongestBody = 1u << 28;

std::string encode_frame(const Frame& frame);

class FrameReader {
 public:
  void feed(const char* bytes, std::size_t count) { unread_.append(bytes, count); }
  /// The next whole frame; nothing: more bytes are needed; a failure: what came is no frame.
  Result<std::optional<Frame>> next();

 private:
  std::string unread_;
  std::size_t at_ = 0;
};

/// Several texts in one body.
std::string pack_texts(const std::vector<std::string>& texts);
bool unpack_texts(const std::string& body, std::vector<std::string>& texts);

/// How a process that charmrun starts finds its agent: the number of an open socket.
inline constexpr char kWorldVariable[] = "PERIAPT_WORLD_FD";

}  // namespace periapt::bootstrap
