#include "machine/bootstrap/frames.h"

#include <cstring>

namespace periapt::bootstrap {
namespace {

constexpr std::uint8_t kMagic[2] = {0xA9, 'w'};
constexpr std::size_t kKeepRead = 1 << 16;  // bytes already read are dropped in pieces of this size

void append_u32(std::string& bytes, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(value >> shift & 255);
}
std::uint32_t u32_at(const char* bytes) {
  std::uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

bool is_frame_kind(unsigned value) {
  return (value >= static_cast<unsigned>(FrameKind::plan) && value <= static_cast<unsigned>(FrameKind::again)) ||
         (value >= static_cast<unsigned>(FrameKind::ready) && value <= static_cast<unsigned>(FrameKind::host_lost));
}

std::string encode_frame(const Frame& frame) {
  std::string bytes;
  bytes.reserve(kFrameHead + frame.body.size());
  bytes.append(reinterpret_cast<const char*>(kMagic), 2);
  bytes += static_cast<char>(kFrameVersion);
  bytes += static_cast<char>(frame.kind);
  append_u32(bytes, static_cast<std::uint32_t>(frame.body.size()));
  append_u32(bytes, static_cast<std::uint32_t>(frame.number));
  append_u32(bytes, static_cast<std::uint32_t>(frame.detail));
  return bytes += frame.body;
}

Result<std::optional<Frame>> FrameReader::next() {
  if (unread_.size() - at_ < kFrameHead) return std::optional<Frame>();
  const char* head = unread_.data() + at_;
  if (std::memcmp(head, kMagic, 2) != 0) return Status::failure("what came is not of our launcher's wire");
  if (static_cast<std::uint8_t>(head[2]) != kFrameVersion) {
    return Status::failure("the other side speaks version " + std::to_string(static_cast<unsigned char>(head[2])) +
                           " of our launcher's wire, this one version " + std::to_string(kFrameVersion) +
                           ": charmrun and the program are of different releases; build both again");
  }
  unsigned kind = static_cast<unsigned char>(head[3]);
  std::uint32_t length = u32_at(head + 4);
  if (!is_frame_kind(kind) || length > kLongestBody) return Status::failure("what came is not of our launcher's wire");
  if (unread_.size() - at_ - kFrameHead < length) return std::optional<Frame>();
  Frame frame;
  frame.kind = static_cast<FrameKind>(kind);
  frame.number = static_cast<std::int32_t>(u32_at(head + 8));
  frame.detail = static_cast<std::int32_t>(u32_at(head + 12));
  frame.body.assign(head + kFrameHead, length);
  at_ += kFrameHead + length;
  if (at_ == unread_.size() || at_ >= kKeepRead) {
    unread_.erase(0, at_);
    at_ = 0;
  }
  return std::optional<Frame>(std::move(frame));
}

std::string pack_texts(const std::vector<std::string>& texts) {
  std::string body;
  for (const std::string& text : texts) {
    append_u32(body, static_cast<std::uint32_t>(text.size()));
    body += text;
  }
  return body;
}

bool unpack_texts(const std::string& body, std::vector<std::string>& texts) {
  texts.clear();
  for (std::size_t at = 0; at < body.size();) {
    if (body.size() - at < 4) return false;
    std::size_t length = u32_at(body.data() + at);
    at += 4;
    if (body.size() - at < length) return false;
    texts.push_back(body.substr(at, length));
    at += length;
  }
  return true;
}

}  // namespace periapt::bootstrap
