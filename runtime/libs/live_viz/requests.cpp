// See requests.h.
#include "requests.h"

#include <algorithm>
#include <cstring>

#include "base/fatal.h"
#include "base/log.h"

namespace periapt::live_viz {
namespace {

constexpr std::size_t kImageMost = std::size_t{256} << 20;  // bytes of an image that a client may ask for

template <class T>
std::string on_the_wire(T& what) {
  PUP_toNetwork_sizer sizer;
  what.pupNetwork(sizer);
  std::string bytes(sizer.size(), '\0');
  PUP_toNetwork_pack pack(bytes.data(), bytes.size());
  what.pupNetwork(pack);
  return bytes;
}

// Pairs of a count and the byte that comes so often.
std::string in_runs(const std::vector<byte>& bytes) {
  std::string runs;
  for (std::size_t i = 0; i < bytes.size();) {
    std::size_t end = i + 1;
    while (end < bytes.size() && end - i < 255 && bytes[end] == bytes[i]) ++end;
    runs += static_cast<char>(end - i);
    runs += static_cast<char>(bytes[i]);
    i = end;
  }
  return runs;
}

}  // namespace

Requests::Requests(const Setup& setup, const CutOff& before)
    : setup_(setup), has_pieces_(before.has_pieces), cut_off_(before.requests) {
  if (has_pieces_) {
    runs_ = cut_off_.back();
    log::note(
        "liveViz: some elements had deposited for an image when the checkpoint was made: clients wait until the others "
        "have");
  }
  CcsRegisterHandlerFn("lvConfig", on_config, this);
  CcsRegisterHandlerFn("lvImage", on_image, this);
}

// (Another liveVizInit() has registered its own, or the program is over.)
Requests::~Requests() = default;

void Requests::on_config(void* self, int, const void*) {
  liveVizConfig config = static_cast<Requests*>(self)->setup_.config;
  if (config.getVerbose(1)) CkPrintf("liveViz: a client asks for the configuration\n");
  const std::string bytes = on_the_wire(config);
  CcsSendReply(static_cast<int>(bytes.size()), bytes.data());
}

void Requests::on_image(void* self, int bytes, const void* request) {
  auto& requests = *static_cast<Requests*>(self);
  Waiting waiting;
  const std::string wrong = requests.read(request, static_cast<std::size_t>(bytes), waiting);
  if (!wrong.empty()) {
    log::warn("liveViz: a client " + wrong);
    return CcsNoReply();
  }
  if (requests.setup_.config.getVerbose(2))
    CkPrintf("liveViz: a client asks for %d x %d pixels\n", waiting.request.wid, waiting.request.ht);
  waiting.request.replyToken = CcsDelayReply();
  requests.waiting_.push_back(std::move(waiting));
  requests.go_on();
}

// Not empty: what is wrong.
std::string Requests::read(const void* bytes, std::size_t length, Waiting& waiting) const {
  constexpr std::size_t old = 16, now = 24;  // bytes of requests of version 1, and 2
  const auto* begin = static_cast<const char*>(bytes);
  liveVizRequest& request = waiting.request;
  const bool has_compression = length >= old && (begin[0] != 0 || begin[1] != 0 || begin[2] != 0 || begin[3] > 1);
  const std::size_t head = has_compression ? now : old;
  if (length < head)
    return "asks for an image with " + std::to_string(length) + " bytes, of " + std::to_string(head) + " at least";
  PUP_toNetwork_unpack unpack(begin, head);
  request.pupNetwork(unpack);
  const std::string size = std::to_string(request.wid) + " x " + std::to_string(request.ht);
  if (request.wid < 0 || request.ht < 0) return "asks for an image of " + size + " pixels";
  const auto pixel_bytes = static_cast<std::size_t>(setup_.config.getBytesPerPixel());
  if (static_cast<std::size_t>(request.wid) * static_cast<std::size_t>(request.ht) > kImageMost / pixel_bytes)
    return "asks for an image of " + size + " pixels, which is more than 256 MiB";
  if (request.compressionType != liveVizRequest::compressionNone &&
      request.compressionType != liveVizRequest::compressionRunLength)
    return "asks for compression " + std::to_string(request.compressionType) + ": there is none (0) and runs (2)";
  waiting.more.assign(begin + head, length - head);
  return {};
}

void Requests::begin() {
  begun_ = true;
  go_on();
}

void Requests::assembled(const liveVizRequest& request, Image image) {
  if (setup_.is_polled) {
    images_.push_back(std::move(image));
  } else {
    const unsigned long long which = request.replyToken.request;
    const auto cut_off = std::find(cut_off_.begin(), cut_off_.end(), which);
    if (cut_off != cut_off_.end()) {
      cut_off_.erase(cut_off);
    } else {
      if (which != runs_)
        fatal("elements deposit for a request that has its image already", "liveVizDeposit()", "",
              "each element deposits once for each request");
      answer(request, image);
    }
    if (runs_ == which) runs_ = 0;
  }
  go_on();
}

void Requests::pieces_come(unsigned long long request) {
  if (request == runs_) has_pieces_ = true;
}

CutOff Requests::cut_off() const {
  CutOff all{cut_off_, runs_ != 0 && has_pieces_};
  if (runs_ != 0) {
    all.requests.erase(std::remove(all.requests.begin(), all.requests.end(), runs_), all.requests.end());
    all.requests.push_back(runs_);
  }
  return all;
}

void Requests::go_on() {
  while (begun_ && !waiting_.empty() && (setup_.is_polled ? !images_.empty() : runs_ == 0)) {
    const Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    if (setup_.is_polled) {
      answer(next.request, images_.front());
      images_.pop_front();
      continue;
    }
    runs_ = next.request.replyToken.request;
    has_pieces_ = false;
    setup_.client.send(liveVizRequestMsg::buildNew(next.request, next.more.data(), static_cast<int>(next.more.size())));
  }
}

void Requests::answer(liveVizRequest request, const Image& image) const {
  request.wid = image.width;
  request.ht = image.height;
  std::vector<byte> colors;
  if (image.pixel_bytes == sizeof(float)) {
    const std::size_t count = image.pixels.size() / sizeof(float);
    std::vector<float> floats(count);
    if (count > 0) std::memcpy(floats.data(), image.pixels.data(), image.pixels.size());
    colors.resize(3 * count);
    liveVizFloatToRGB(request, floats.data(), colors.data(), static_cast<int>(count));
  }
  const std::vector<byte>& bytes = image.pixel_bytes == sizeof(float) ? colors : image.pixels;
  if (request.compressionType == liveVizRequest::compressionRunLength) {
    const std::string runs = in_runs(bytes);
    return CcsSendDelayedReply(request.replyToken, static_cast<int>(runs.size()), runs.data());
  }
  CcsSendDelayedReply(request.replyToken, static_cast<int>(bytes.size()), bytes.data());
}

}  // namespace periapt::live_viz

void liveVizConfig::pupNetwork(PUP::er& p) {
  int version = 1;
  bool has_colors = pixels_ != pix_greyscale;
  p | version;
  p | has_colors;
  p | push_;
  p | is_3d_;
  if (p.isUnpacking()) pixels_ = has_colors ? pix_color : pix_greyscale;
  if (is_3d_) p | box_;
}

void liveVizRequest::pupNetwork(PUP::er& p) {
  int version = 2;
  p | version;
  p | code;
  p | wid;
  p | ht;
  if (version < 2) return;  // an older client
  p | compressionType;
  p | compressionQuality;
}

liveVizRequestMsg* liveVizRequestMsg::buildNew(const liveVizRequest& req, const void* data, int dataLen) {
  auto* message = new (dataLen, 0) liveVizRequestMsg;
  message->req = req;
  message->dataLen = dataLen;
  if (dataLen > 0) std::memcpy(message->data, data, static_cast<std::size_t>(dataLen));
  return message;
}

bool periaptLiveVizBytes(const liveVizRequestMsg* message, std::size_t wanted, char* padded) {
  const auto sent = static_cast<std::size_t>(message->dataLen);
  std::memcpy(padded, message->data, std::min(sent, wanted));
  if (sent == wanted) return true;
  periapt::log::warn("liveViz: a client sends " + std::to_string(sent) +
                     " bytes behind its request, and the program wants " + std::to_string(wanted));
  return false;
}
