// The file in which the order of a PE's work is written down: FILE.3 for PE 3.
//
//   head       64 bytes
//   events     one after the other, of numbers in LEB128 (seven bits a byte, the lowest first):
//                0  what has not run before, gets the next number, from 4 on: source + 1, thread, target, entry,
//                   collection, element
//                1  a decision: how many bytes, and they
//                2  a number and k: of those with that number the one runs that came when k others waited
//                3  the place (see Polls) of what runs next: polls begun, of that piece alone; and twice the depth, one
//                   more inside of the last poll, of those behind it too
//                n  the first of those with number n runs
//
// The file is memory of the system's from the first byte on: what a process has written before it is killed is there.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "runtime/order/piece.h"
#include "runtime/order/polls.h"

namespace periapt::order {

struct RecordingHead {
  char magic[8] = {'P', 'e', 'r', 'O', 'r', 'd', 'e', 'r'};
  std::uint32_t version = 2;
  std::int32_t pe = 0, pes = 0, processes = 0;
  std::uint64_t program = 0;  // a hash of what it registers
  std::uint64_t bytes = 0;    // of events
  std::uint64_t pieces = 0;   // of work
  std::uint32_t whole = 0;    // 1: the run came to its end
  std::uint32_t unused[3] = {};
};
static_assert(sizeof(RecordingHead) == 64);

// Writes one. A file that cannot be written ends the run.
class RecordingWriter {
 public:
  RecordingWriter(std::string name, const RecordingHead& head);
  ~RecordingWriter();
  RecordingWriter(const RecordingWriter&) = delete;
  // `rank`: how many like it came before it, and still wait.
  void add(const Piece& piece, std::uint64_t rank, const Polls& polls = {});
  void add_decision(std::span<const std::byte> decision);
  void end();

 private:
  void put(std::uint64_t number);
  void put_byte(unsigned byte);
  void next_window();

  const std::string name_;
  int file_ = -1;
  RecordingHead* head_ = nullptr;    // in the file
  unsigned char* window_ = nullptr;  // the part of the file that is written to
  std::size_t at_ = 0;               // in it
  std::uint64_t window_begin_ = 0;   // in the file
  std::unordered_map<Piece, std::uint64_t, PieceHash> numbers_;
  Polls last_;
};

// Reads one.
class RecordingReader {
 public:
  struct Event {
    enum Kind { end, piece, decision } kind = end;
    Piece what;
    std::uint64_t rank = 0;
    Polls polls;  // where a piece ran
    std::vector<std::byte> bytes;
  };
  // Fails with what is wrong: no such file, not whole, of another run than `expected` says.
  static Result<RecordingReader> open(const std::string& name, const RecordingHead& expected);
  static Result<RecordingReader> of(const std::string& text, const RecordingHead& expected);

  const RecordingHead& head() const { return head_; }
  // The next event; end where there is none. Fails when the bytes make no sense.
  Result<Event> next();

 private:
  bool get(std::uint64_t& number);
  Status read(Event& event);
  Status read_new();

  RecordingHead head_;
  std::string bytes_;
  std::size_t at_ = 0;
  std::vector<Piece> known_;
  Polls last_;
};

}  // namespace periapt::order
