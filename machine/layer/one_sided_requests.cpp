// Requests of OneSided: the other process of the host copies, into or out of the arena. What it can't reach there is
// copied once more by the one that asked; memory of a GPU is copied by its own process, and takes time. Its bytes go
// through the stage of the PE that asks: memory in the arena that both processes' drivers are told to pin, so that a
// GPU writes there what another one reads, and no processor copies it.
//
// Each side reads what the other one has had in its hands. Of a request nothing is believed: what it names has to be
// registered, the place in the arena, the asker a PE of this host. Of an answer only how it went; the rest is the
// asker's own, and sealed.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "base/fatal.h"
#include "base/fnv1a.h"
#include "base/platform.h"
#include "machine/layer/one_sided.h"

namespace periapt::machine {
namespace {

// What a request copies at most, and how many of one transfer may be under way: the other process's scheduler must not
// stand still for long, and neither shall the transfer.
constexpr std::uint64_t kRequestBytes = 256 << 10;
constexpr unsigned kRequestsAtOnce = 4;
// Pieces of a stage. Of 1 MB a GPU writes or reads one in 20 us, beside which the messages about it count little.
constexpr std::uint64_t kPieceLeast = 256 << 10, kPieceMost = 1 << 20;
constexpr std::size_t kPieces = 8;
// Places of transfers that are small, which would hold a whole piece each, and wait for one another.
constexpr std::uint64_t kSmall = 16 << 10;
constexpr std::size_t kSmallPlaces = 64;
constexpr std::uint64_t kSmallBegin = kPieces * kPieceMost, kStageBytes = kSmallBegin + kSmallPlaces * kSmall;

// As many pieces as there are, so that both GPUs soon have something to do. Where one side is the host's, its processor
// copies within a call: a piece at a time of what it is asked for, of what it puts as many as there are places.
std::uint64_t piece_of(std::uint64_t bytes, bool by_gpus) {
  return by_gpus ? std::clamp(bytes / kPieces, kPieceLeast, kPieceMost) : kRequestBytes;
}

// Over what the asker needs when the answer comes. `cookie`: the asker's process.
template <class Request>
std::uint64_t seal_of(const Request& request, std::uint64_t cookie) {
  std::uint64_t seal = cookie;
  for (const std::uint64_t word :
       {reinterpret_cast<std::uint64_t>(&request), reinterpret_cast<std::uint64_t>(request.transfer),
        reinterpret_cast<std::uint64_t>(request.place), reinterpret_cast<std::uint64_t>(request.staged), request.offset,
        request.size, std::uint64_t{request.own_place} << 1 | std::uint64_t{request.is_put}})
    seal = fnv1a_with(seal, word);
  return seal;
}

}  // namespace

// In a block of the heap of the PE that asks; it goes there and back.
struct OneSided::RmaRequest {
  Transfer* transfer;
  std::uint64_t key, remote;
  std::byte* place;      // in the arena: where to copy to, or from
  std::uint64_t offset;  // in the transfer
  std::uint64_t size;
  std::uint64_t seal;
  std::int32_t asker;  // number in the whole run
  bool is_put;
  bool own_place;        // a block for this request only
  ucx::MemoryKind kind;  // of the memory that is asked for
  enum : std::uint8_t { asked, done, refused, failed } state;
  char why[200];      // it failed; as much as there is room for
  std::byte* staged;  // where the stage begins that the place lies in; nullptr: it lies in none
};

void OneSided::send_requests(Transfer& transfer) {
  static_assert(offsetof(RmaRequest, seal) == 48 && offsetof(RmaRequest, asker) == 56 &&
                    offsetof(RmaRequest, is_put) == 60 && offsetof(RmaRequest, kind) == 62 &&
                    offsetof(RmaRequest, state) == 63 && offsetof(RmaRequest, why) == 64,
                "tests/machine/two_sides.h says where they are");
  const bool on_device = transfer.kind_ != ucx::MemoryKind::host || transfer.remote_kind_ != ucx::MemoryKind::host;
  if (on_device && !config_.simulated) {
    Stage& stage = stage_of(transfer.pe_);
    (transfer.size_ <= kSmall ? stage.small : stage.large).waiting.push_back(&transfer);
    return use_stage(transfer.pe_);
  }
  const bool reachable =
      transfer.kind_ == ucx::MemoryKind::host &&
      (config_.simulated || in_arena(reinterpret_cast<std::uintptr_t>(transfer.local_), transfer.size_));
  while (transfer.asked_ < transfer.size_ && transfer.outstanding_ < kRequestsAtOnce && transfer.status_.ok()) {
    RmaRequest& request = next_request(transfer, config_.simulated ? transfer.size_ : kRequestBytes);
    request.own_place = !reachable;
    request.place = transfer.local_ + request.offset;
    if (request.own_place) request.place = static_cast<std::byte*>(port(transfer.pe_).heap().allocate(request.size));
    fill_and_send(request);
  }
}

OneSided::RmaRequest& OneSided::next_request(Transfer& transfer, std::uint64_t most) {
  auto* request = new (port(transfer.pe_).heap().allocate(sizeof(RmaRequest))) RmaRequest{};
  request->transfer = &transfer;
  request->key = transfer.key_;
  request->offset = transfer.asked_;
  request->remote = transfer.remote_ + transfer.asked_;
  request->size = std::min(transfer.size_ - transfer.asked_, most);
  request->asker = transfer.pe_ + config_.origin;
  request->is_put = transfer.is_put_;
  request->kind = transfer.remote_kind_;
  transfer.asked_ += request->size;
  ++transfer.outstanding_;
  return *request;
}

OneSided::Stage& OneSided::stage_of(int pe) {
  Stage& stage = stages_[of_process(pe)];
  if (stage.begin != nullptr) return stage;
  stage.begin = static_cast<std::byte*>(port(pe).heap().allocate_permanent(kStageBytes, platform::kPage));
  for (std::size_t i = kPieces; i-- > 0;) stage.large.free.push_back(stage.begin + i * kPieceMost);
  for (std::size_t i = kSmallPlaces; i-- > 0;) stage.small.free.push_back(stage.begin + kSmallBegin + i * kSmall);
  return stage;
}

void OneSided::use_stage(int pe) {
  Stage& stage = stage_of(pe);
  use_places(pe, stage.small);
  use_places(pe, stage.large);
}

// Transfers that have more to ask for get a place each in turn.
void OneSided::use_places(int pe, Places& places) {
  std::byte* const begin = stage_of(pe).begin;
  while (!places.waiting.empty() && !places.free.empty()) {
    Transfer& transfer = *places.waiting.front();
    places.waiting.pop_front();
    const bool is_on_gpu = transfer.kind_ != ucx::MemoryKind::host;
    const bool by_gpus = is_on_gpu && transfer.remote_kind_ != ucx::MemoryKind::host;
    RmaRequest& request = next_request(transfer, piece_of(transfer.size_, by_gpus));
    if (transfer.asked_ < transfer.size_) places.waiting.push_back(&transfer);
    request.own_place = true;
    request.place = places.free.back();
    request.staged = begin;
    places.free.pop_back();
    if (is_on_gpu) devices_.pin(of_process(pe), {begin, kStageBytes}, {transfer.local_, transfer.kind_});
    fill_and_send(request);
  }
}

void OneSided::fill_and_send(RmaRequest& request) {
  const Transfer& transfer = *request.transfer;
  std::byte* const local = transfer.local_ + request.offset;
  if (request.own_place && request.is_put && transfer.kind_ != ucx::MemoryKind::host) {
    return devices_.copy(of_process(transfer.pe_), {request.place}, {local, transfer.kind_}, request.size,
                         [this, &request](Status status) {
                           if (!status) return request_ended(request, std::move(status));
                           send_request(request);
                         });
  }
  if (request.own_place && request.is_put) std::memcpy(request.place, local, request.size);
  send_request(request);
}

void OneSided::send_request(RmaRequest& request) {
  request.seal = seal_of(request, cookie_);
  const Transfer& transfer = *request.transfer;
  const bootstrap::Process& other = config_.layout->processes[static_cast<std::size_t>(transfer.process_)];
  port(transfer.pe_).send(other.first_pe - config_.origin + transfer.pe_ % other.pes, kRmaRequestMeta, &request);
}

std::uint64_t OneSided::request_bytes(const void* block) {
  const auto* request = static_cast<const RmaRequest*>(block);
  const bool bears_bytes =
      request->state == RmaRequest::asked ? request->is_put : request->state == RmaRequest::done && !request->is_put;
  return sizeof(RmaRequest) + (bears_bytes ? request->size : 0);
}

bool OneSided::take_request(int pe, void* block) {
  auto& request = *static_cast<RmaRequest*>(block);
  if (request.state != RmaRequest::asked) {
    answered(request);
    settle(pe);
    return false;
  }
  const bootstrap::Host& here = config_.layout->this_host();
  const int first = config_.simulated ? 0 : here.first_pe - config_.origin;
  const std::int64_t asker = std::int64_t{request.asker} - config_.origin;
  if (asker < first || asker >= first + (config_.simulated ? config_.layout->pes : here.pes))
    fatal("a request for memory comes from PE " + std::to_string(asker) + ", which this host has not",
          "PE " + std::to_string(pe), "memory that processes of this host share was written over");
  // As it is now: the block stays within reach of the other process.
  const std::uint64_t remote = request.remote, size = request.size;
  const bool is_put = request.is_put;
  std::byte* const at = request.place;
  std::byte* const staged = request.staged;
  const ucx::MemoryKind kind = request.kind;
  host::CachedKey entry;
  entry.id = request.key;
  const bool allowed = entry.allows(*table_, remote, size) && kind <= ucx::MemoryKind::hip_managed &&
                       (config_.simulated || in_arena(reinterpret_cast<std::uintptr_t>(at), size));
  if (!allowed) {
    request.state = RmaRequest::refused;
  } else {
    const ucx::Place own{reinterpret_cast<std::byte*>(remote), kind};
    const ucx::Place place{at};
    const ucx::Place &to = is_put ? own : place, &from = is_put ? place : own;
    request.state = RmaRequest::done;
    if (kind != ucx::MemoryKind::host) {
      if (is_stage(staged, at, size)) devices_.pin(of_process(pe), {staged, kStageBytes}, own);
      devices_.copy(of_process(pe), to, from, size, [this, pe, asker, &request](const Status& status) {
        if (!status) {
          request.state = RmaRequest::failed;
          request.why[status.message().copy(request.why, sizeof request.why - 1)] = '\0';
        }
        if (!config_.simulated) ++of_pe(pe).served;
        port(pe).send(static_cast<int>(asker), kRmaRequestMeta, &request);
      });
      settle(pe);
      return !config_.simulated;
    }
    std::memcpy(to.at, from.at, size);
  }
  port(pe).send(static_cast<int>(asker), kRmaRequestMeta, block);
  return false;
}

bool OneSided::is_stage(const std::byte* staged, const std::byte* place, std::uint64_t size) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(staged), at = reinterpret_cast<std::uintptr_t>(place);
  return begin % platform::kPage == 0 && !config_.simulated && in_arena(begin, kStageBytes) && at >= begin &&
         at - begin <= kStageBytes - size;
}

void OneSided::answered(RmaRequest& request) {
  if (request.seal != seal_of(request, cookie_))
    fatal("an answer to a request for memory is none to what this process has asked", "",
          "memory that processes of this host share was written over");
  Transfer& transfer = *request.transfer;
  if (request.state == RmaRequest::refused) return request_ended(request, not_registered(transfer.process_));
  if (request.state == RmaRequest::failed)
    return request_ended(
        request,
        Status::failure("process " + std::to_string(transfer.process_) + " could not copy its memory of a GPU: " +
                        std::string(request.why, ::strnlen(request.why, sizeof request.why))));
  if (request.state != RmaRequest::done)
    return request_ended(request, Status::failure("process " + std::to_string(transfer.process_) +
                                                  " has answered with what is no answer"));
  if (request.own_place && !request.is_put) {
    std::byte* const local = transfer.local_ + request.offset;
    if (transfer.kind_ != ucx::MemoryKind::host) {
      return devices_.copy(of_process(transfer.pe_), {local, transfer.kind_}, {request.place}, request.size,
                           [this, &request](Status status) { request_ended(request, std::move(status)); });
    }
    std::memcpy(local, request.place, request.size);
  }
  request_ended(request, Status());
}

void OneSided::request_ended(RmaRequest& request, Status status) {
  Transfer& transfer = *request.transfer;
  const int pe = transfer.pe_;
  Stage& stage = stages_[of_process(pe)];
  host::Heap& heap = port(pe).heap();
  const bool is_staged = request.staged != nullptr;
  if (is_staged) {
    (request.place < stage.begin + kSmallBegin ? stage.large : stage.small).free.push_back(request.place);
  } else if (request.own_place) {
    heap.release(request.place);
  }
  heap.release(&request);
  --transfer.outstanding_;
  if (!status) {
    transfer.status_ = std::move(status);
    std::erase(stage.small.waiting, &transfer);
    std::erase(stage.large.waiting, &transfer);
  }
  if (is_staged) {
    use_stage(pe);
  } else {
    send_requests(transfer);
  }
  const bool asks_no_more = transfer.asked_ == transfer.size_ || !transfer.status_;
  if (transfer.outstanding_ == 0 && asks_no_more) static_cast<void>(end(transfer, std::move(transfer.status_)));
}

}  // namespace periapt::machine
