// See recording.h.
#include "runtime/order/recording.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error_text.h"
#include "base/fatal.h"
#include "base/file_text.h"
#include "runtime/registry/registry.h"

namespace periapt::order {

namespace {
constexpr std::size_t window_bytes = std::size_t{1} << 20;
constexpr std::size_t recording_bytes_max = std::size_t{1} << 36;
constexpr std::uint64_t new_piece = 0, a_decision = 1, with_rank = 2, a_place = 3, first_number = 4;

[[noreturn]] void cannot_write(const std::string& name, int error) {
  fatal("the recording " + name + " cannot be written: " + error_text(error), "+record", "",
        "name a file in a folder that can be written to, on a disk with room");
}

std::string layout(const RecordingHead& head) {
  return std::to_string(head.pes) + (head.pes == 1 ? " PE in " : " PEs in ") + std::to_string(head.processes) +
         (head.processes == 1 ? " process" : " processes");
}
}  // namespace

// --- writing ---------------------------------------------------------------------------------------------------------

RecordingWriter::RecordingWriter(std::string name, const RecordingHead& head) : name_(std::move(name)) {
  file_ = ::open(name_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) cannot_write(name_, errno);
  next_window();
  void* const first = ::mmap(nullptr, sizeof head, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (first == MAP_FAILED) cannot_write(name_, errno);
  head_ = static_cast<RecordingHead*>(first);
  *head_ = head;
  at_ = sizeof head;
}

RecordingWriter::~RecordingWriter() {
  ::munmap(window_, window_bytes);
  ::munmap(head_, sizeof *head_);
  ::close(file_);
}

void RecordingWriter::next_window() {
  if (window_ != nullptr) {
    ::munmap(window_, window_bytes);
    window_begin_ += window_bytes;
  }
  // Room is taken now: a disk that is full must not show as a write to memory that fails.
  const auto offset = static_cast<off_t>(window_begin_);
  if (const int error = ::posix_fallocate(file_, offset, window_bytes); error != 0) cannot_write(name_, error);
  void* const part = ::mmap(nullptr, window_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, offset);
  if (part == MAP_FAILED) cannot_write(name_, errno);
  window_ = static_cast<unsigned char*>(part);
  at_ = 0;
}

void RecordingWriter::put_byte(unsigned byte) {
  if (at_ == window_bytes) next_window();
  window_[at_++] = static_cast<unsigned char>(byte);
}

void RecordingWriter::put(std::uint64_t number) {
  for (; number >= 128; number >>= 7) put_byte(static_cast<unsigned>(number & 127) | 128);
  put_byte(static_cast<unsigned>(number));
}

void RecordingWriter::add(const Piece& piece, std::uint64_t rank, const Polls& polls) {
  if (polls.begun != 0 || polls.depth != last_.depth || polls.inside != last_.inside) {
    put(a_place);
    put(polls.begun);
    put(2 * polls.depth + (polls.inside ? 1 : 0));
    last_ = polls;
  }
  const auto [known, fresh] = numbers_.emplace(piece, numbers_.size() + first_number);
  if (fresh) {
    for (const std::uint64_t number : {new_piece, static_cast<std::uint64_t>(piece.source + 1),
                                       std::uint64_t{piece.thread}, static_cast<std::uint64_t>(piece.target),
                                       std::uint64_t{piece.entry}, std::uint64_t{piece.collection}, piece.element})
      put(number);
  }
  if (rank != 0) put(with_rank);
  put(known->second);
  if (rank != 0) put(rank);
  ++head_->pieces;
  head_->bytes = window_begin_ + at_ - sizeof *head_;  // last: what it counts is there
}

void RecordingWriter::add_decision(std::span<const std::byte> decision) {
  put(a_decision);
  put(decision.size());
  for (const std::byte byte : decision) put_byte(static_cast<unsigned>(byte));
  head_->bytes = window_begin_ + at_ - sizeof *head_;
}

void RecordingWriter::end() {
  head_->whole = 1;
  // (A file that cannot be shortened is as good as one that can.)
  [[maybe_unused]] const int cut = ::ftruncate(file_, static_cast<off_t>(sizeof *head_ + head_->bytes));
}

// --- reading ---------------------------------------------------------------------------------------------------------

Result<RecordingReader> RecordingReader::open(const std::string& name, const RecordingHead& expected) {
  if (const Status is_file = check_is_file(name, false); !is_file) return is_file;
  Result<std::string> text = read_file(name, recording_bytes_max);
  return text ? of(*text, expected) : text.status();
}

Result<RecordingReader> RecordingReader::of(const std::string& text, const RecordingHead& expected) {
  RecordingReader reader;
  RecordingHead& head = reader.head_;
  if (text.size() >= sizeof head) std::memcpy(&head, text.data(), sizeof head);
  if (text.size() < sizeof head || std::memcmp(head.magic, expected.magic, sizeof head.magic) != 0)
    return Status::failure("it is no recording");
  if (head.version != expected.version)
    return Status::failure("it has version " + std::to_string(head.version) + ", and this Periapt reads version " +
                           std::to_string(expected.version));
  if (head.program != expected.program) return Status::failure("it was written by another program");
  if (head.pes != expected.pes || head.processes != expected.processes)
    return Status::failure("it is of a run with another layout: " + layout(head) + "; this one: " + layout(expected));
  if (head.pe != expected.pe) return Status::failure("it is that of PE " + std::to_string(head.pe));
  const std::size_t follow = text.size() - sizeof head;
  if (head.bytes > follow)
    return Status::failure("it is cut off: " + std::to_string(head.bytes) + " bytes should follow its head, and " +
                           std::to_string(follow) + " do");
  reader.bytes_ = text.substr(sizeof head, head.bytes);
  return reader;
}

bool RecordingReader::get(std::uint64_t& number) {
  number = 0;
  for (unsigned shift = 0; shift < 64 && at_ < bytes_.size(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes_[at_++]);
    number |= std::uint64_t{byte & 127u} << shift;
    if (byte < 128) return true;
  }
  return false;
}

Result<RecordingReader::Event> RecordingReader::next() {
  Event event;
  if (at_ == bytes_.size()) return event;
  const std::size_t begin = at_;
  if (const Status read = this->read(event); !read)
    return Status::failure("it is damaged at byte " + std::to_string(sizeof head_ + begin) + ": " + read.message());
  return event;
}

Status RecordingReader::read(Event& event) {
  std::uint64_t code;
  if (!get(code)) return Status::failure("a number does not end");
  if (code == a_decision) {
    std::uint64_t bytes;
    if (!get(bytes) || bytes > bytes_.size() - at_) return Status::failure("a decision does not end");
    const auto* const from = reinterpret_cast<const std::byte*>(bytes_.data()) + at_;
    event.kind = Event::decision;
    event.bytes.assign(from, from + bytes);
    at_ += bytes;
    return {};
  }
  event.kind = Event::piece;
  last_.begun = 0;
  if (code == a_place) {
    std::uint64_t place;
    if (!get(last_.begun) || !get(place) || !get(code)) return Status::failure("a place does not end");
    last_.depth = place / 2;
    last_.inside = place % 2 != 0;
  }
  event.polls = last_;
  if (code == new_piece) {
    if (const Status known = read_new(); !known) return known;
    if (!get(code)) return Status::failure("a number does not end");
  }
  const bool ranked = code == with_rank;
  if ((ranked && !(get(code) && get(event.rank))) || code < first_number || code - first_number >= known_.size())
    return Status::failure("it names what it has not told of");
  event.what = known_[code - first_number];
  return {};
}

Status RecordingReader::read_new() {
  std::uint64_t source, thread, target, entry, collection, element;
  for (std::uint64_t* const number : {&source, &thread, &target, &entry, &collection, &element})
    if (!get(*number)) return Status::failure("a piece of work does not end");
  const bool in_table = thread == 0 && target != static_cast<std::uint64_t>(Target::converse);
  if (source > static_cast<std::uint64_t>(head_.pes) || thread > 1 ||
      target > static_cast<std::uint64_t>(last_target) || entry > 0xffff || collection > 0xffffffff ||
      (in_table && entry >= registry().entries.size()))
    return Status::failure("it tells of a piece of work that cannot be");
  known_.push_back({static_cast<std::int32_t>(source) - 1, thread == 1, static_cast<Target>(target),
                    static_cast<std::uint16_t>(entry), static_cast<std::uint32_t>(collection), element});
  return {};
}

}  // namespace periapt::order
