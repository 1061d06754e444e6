#include "machine/tcp/outbox.h"

#include <algorithm>
#include <utility>

namespace periapt::tcp {

Chunk* ChunkPool::take() {
  Chunk* chunk = nullptr;
  if (free_.empty()) {
    chunk = new Chunk;  // its bytes need no zeros
  } else {
    chunk = free_.back().release();
    free_.pop_back();
  }
  chunk->used = 0;
  chunk->users = 1;
  return chunk;
}

void ChunkPool::give(Chunk* chunk) {
  std::unique_ptr<Chunk> owned(chunk);
  if (free_.size() < kKept) free_.push_back(std::move(owned));
}

void Outbox::add_payload(Prefix prefix, std::span<const std::byte> header, Segment payload) {
  std::byte* at = room(sizeof prefix + header.size());
  std::memcpy(at, &prefix, sizeof prefix);
  if (!header.empty()) std::memcpy(at + sizeof prefix, header.data(), header.size());
  const std::uint64_t frame = sizeof prefix + header.size() + payload.size;
  bytes_ += payload.size;
  segments_.push_back(std::move(payload));
  if (std::size_t padding = padded(frame) - frame; padding != 0) std::memset(room(padding), 0, padding);
}

void Outbox::add_lent(std::span<const std::byte> header, std::span<const std::byte> payload,
                      ucx::Completion& completion) {
  add_payload(Prefix(FrameKind::message, header.size(), payload.size()), header,
              Segment{.at = payload.data(), .size = payload.size(), .completion = &completion});
}

void Outbox::add_owned(std::span<const std::byte> header, ucx::Buffer payload) {
  Segment segment{.at = payload.data(), .size = payload.size()};
  segment.owned = std::move(payload);
  add_payload(Prefix(FrameKind::message, header.size(), segment.size), header, std::move(segment));
}

int Outbox::gather(std::span<iovec> parts, std::size_t* bytes) const {
  std::size_t count = std::min(parts.size(), segments_.size() - first_);
  *bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Segment& segment = segments_[first_ + i];
    parts[i] = {const_cast<std::byte*>(segment.at), segment.size};
    *bytes += segment.size;
  }
  return static_cast<int>(count);
}

void Outbox::emptied() {
  segments_.clear();
  first_ = 0;
  if (current_ != nullptr) pool_.drop(std::exchange(current_, nullptr));
}

void Outbox::pop() {
  Segment& segment = segments_[first_];
  if (segment.chunk != nullptr) pool_.drop(segment.chunk);
  if (segment.completion != nullptr) ended_(context_, *segment.completion, ucx::Outcome::ok);
  segment.owned.reset();
  ++first_;
  if (first_ == segments_.size()) {
    emptied();
  } else if (first_ >= 256) {  // never quite empty: don't let what is done with pile up
    segments_.erase(segments_.begin(), segments_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
}

void Outbox::written(std::size_t bytes) {
  bytes_ -= bytes;
  while (!empty()) {
    Segment& segment = segments_[first_];
    std::size_t part = std::min<std::uint64_t>(bytes, segment.size);
    if (segment.chunk != nullptr) copied_ -= part;
    segment.at += part;
    segment.size -= part;
    bytes -= part;
    if (segment.size != 0) return;
    pop();
  }
}

void Outbox::clear(ucx::Outcome outcome) {
  for (; first_ < segments_.size(); ++first_) {
    Segment& segment = segments_[first_];
    if (segment.completion != nullptr) ended_(context_, *segment.completion, outcome);
    if (segment.chunk != nullptr) pool_.drop(segment.chunk);
  }
  emptied();
  copied_ = 0;
  bytes_ = 0;
}

}  // namespace periapt::tcp
