#include "machine/shm/link.h"

#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "machine/host/arena.h"

namespace periapt::shm {
namespace {

// Of a stream. Small enough that the reader soon has something to do, large enough that a cell's cost is nothing.
constexpr std::uint64_t kStreamPiece = 16 << 10;
static_assert(kStreamPiece <= Channel::kPieceMost && ShmLink::kInlineMost <= Channel::kPieceMost);
constexpr std::size_t kAsksMost = 1024;
// Bytes that one look at a transfer copies: then it is time to look at what else there is.
constexpr std::uint64_t kCopyAtOnce = 128 << 10;

// Of a transfer: a share of the whole, so that the last pieces of both sides end at about the same time. Each piece
// costs two lines that both write, and one that the kernel copies a call: small transfers are best in two to each side,
// or one.
std::uint64_t transfer_piece(std::uint64_t size, bool by_kernel) {
  if (by_kernel) {
    std::uint64_t half = round_up(std::min<std::uint64_t>(size / 2, 64 << 10), 4096);
    return std::clamp<std::uint64_t>(round_up(size / 4, 4096), half, kCopyAtOnce);
  }
  std::uint64_t quarter = round_up(std::min<std::uint64_t>(size / 4, 16 << 10), 4096);
  return std::clamp<std::uint64_t>(round_up(size / 16, 4096), quarter, kCopyAtOnce);
}

template <class Word>
std::uint64_t apply(ucx::AtomicOp op, void* at, std::uint64_t operand, std::uint64_t compare) {
  std::atomic_ref<Word> word(*static_cast<Word*>(at));
  Word value = static_cast<Word>(operand);
  switch (op) {
    case ucx::AtomicOp::add:
      return word.fetch_add(value);
    case ucx::AtomicOp::bit_and:
      return word.fetch_and(value);
    case ucx::AtomicOp::bit_or:
      return word.fetch_or(value);
    case ucx::AtomicOp::bit_xor:
      return word.fetch_xor(value);
    case ucx::AtomicOp::swap:
      return word.exchange(value);
    case ucx::AtomicOp::compare_swap: {
      Word expected = static_cast<Word>(compare);
      word.compare_exchange_strong(expected, value);
      return expected;
    }
  }
  return 0;
}
std::uint64_t apply(ucx::AtomicOp op, std::size_t width, void* at, std::uint64_t operand, std::uint64_t compare) {
  return width == 4 ? apply<std::uint32_t>(op, at, operand, compare) : apply<std::uint64_t>(op, at, operand, compare);
}
bool is_atomic(std::size_t width, std::uint64_t address) { return (width == 4 || width == 8) && address % width == 0; }

struct Borrowed {
  ShmLink::Borrowing* from;
  std::uint32_t loan;
};

void release_borrowed(void* pool, void*) {
  Borrowed* borrowed = static_cast<Borrowed*>(pool);
  ShmLink::Borrowing* from = borrowed->from;
  if (from->link != nullptr) from->link->give_back(borrowed->loan);
  if (--from->live == 0 && from->link == nullptr) delete from;
  delete borrowed;
}

template <class T>
T read_body(const host::Slot& cell, std::size_t at = 0) {
  T value;
  std::memcpy(&value, cell.body + at, sizeof(T));
  return value;
}
template <class T>
void write_body(host::Slot* cell, std::size_t at, const T& value) {
  std::memcpy(cell->body + at, &value, sizeof(T));
}

}  // namespace

bool has_ended(const File& life) {
  pollfd state{life.get(), POLLIN, 0};
  return life && ::poll(&state, 1, 0) > 0;
}

std::uint64_t TransportState::segment_of(const void* bytes, std::uint64_t size) {
  if (std::uint64_t now = segments::version(); PERIAPT_UNLIKELY(now != segments_version)) {
    segments_version = now;
    segments = segments::all();
  }
  for (const Segment& segment : segments) {
    if (segment.contains(bytes, size)) return segment.id;
  }
  return 0;
}

// ---- life

ShmLink::~ShmLink() {
  if (shared_.unready == this) shared_.unready = nullptr;
  if (borrowing_ != nullptr) {
    borrowing_->link = nullptr;
    borrowing_->memory = std::move(memory);
    if (borrowing_->live == 0) delete borrowing_;
  }
  if (loans_.size() != free_loans_.size()) shared_.retired_loans.push_back({std::move(loans_), std::move(life)});
}

Status ShmLink::prepare() {
  auto file = make_memory_file("periapt-channel", sizeof(Channel));
  if (!file) return file.status();
  File owned(*file);
  out_mapping_ = share_memory_file(*file, sizeof(Channel));
  std::byte* at = out_mapping_.get();
  if (at == nullptr) return Status::failure(std::string("could not map a channel: ") + std::strerror(errno));
  host::populate_pages(at, offsetof(Channel, bulk));
  channel_file_ = std::move(owned);
  out_ = ChannelWriter(*reinterpret_cast<Channel*>(at));
  may_send_ = true;
  return {};
}

bool ShmLink::meet(const Packet& packet, File channel, File keys, File bell, std::uint32_t peer, bool same_process,
                   bool copying) {
  if (packet.channel_bytes != sizeof(Channel) || !is_fixed_memory_file(channel.get(), sizeof(Channel)) ||
      !is_fixed_memory_file(keys.get(), sizeof(host::KeyTable))) {
    return false;
  }
  in_mapping_ = share_memory_file(channel.get(), sizeof(Channel));
  keys_mapping_ = share_memory_file(keys.get(), sizeof(host::KeyTable));
  std::byte* at = in_mapping_.get();
  keys_ = reinterpret_cast<const host::KeyTable*>(keys_mapping_.get());
  if (at == nullptr || keys_ == nullptr) return false;
  in_ = ChannelReader(*reinterpret_cast<Channel*>(at));
  readable_ = true;
  bell_ = std::move(bell);
  process = peer;
  fenced_ = shared_.fenced || (packet.flags & Packet::kNoMembarrier) != 0;
  memory->set_process(peer, same_process);
  Copies copies = memory->try_copying(packet.cookie_at, packet.cookie, copying);
  out_.channel().head.writer_copies.store(static_cast<std::uint32_t>(copies), std::memory_order_release);
  state_ = State::open;
  if (rings_at_meeting_) ring();
  return true;
}

void ShmLink::tell_segments() {
  if (state_ != State::open) return;
  shared_.segment_of(nullptr, 0);  // brings the list up to date
  for (const Segment& segment : shared_.segments) {
    if (segment.id <= told_segment_) continue;
    Packet packet;
    packet.kind = PacketKind::segment;
    packet.segment_id = segment.id;
    packet.segment_base = reinterpret_cast<std::uintptr_t>(segment.base);
    packet.segment_size = segment.size;
    if (send_packet(socket.get(), packet, {&segment.file, 1}) != Sent::yes) return;
    told_segment_ = segment.id;
  }
}

void ShmLink::peer_left(std::string reason) {
  if (state_ != State::connecting && state_ != State::open) return;
  gone_ = true;
  state_ = State::drained;
  reason_ = std::move(reason);
  may_send_ = false;
  // What it had not copied of its message won't come any more.
  if (placement_.kind == Placing::transfer && placement_.transfer.state() == TransferView::State::running) {
    broken_ = true;
  }
}

void ShmLink::break_off(const std::string& why) {
  if (state_ == State::drained) broken_ = true;  // it has left, and what is left of it cannot be delivered
  if (state_ != State::connecting && state_ != State::open) return;
  state_ = State::drained;
  broken_ = true;
  may_send_ = false;
  reason_ = why;
}

void ShmLink::abandon(Outcome outcome) {
  auto revoke = [this](TransferView& transfer) {
    transfer.revoke();
    // At most one piece is being copied by the peer. While it is, the bytes are not ours to give back.
    while (!gone_ && transfer.in_flight() && !has_ended(life)) ::sched_yield();
  };
  if (placement_.kind == Placing::transfer) revoke(placement_.transfer);
  placement_ = {};
  if (stream_.active) shared_.deferred.end(stream_.completion, outcome);
  stream_ = {};
  for (Pending& pending : pending_) {
    if (pending.transfer) revoke(pending.transfer);
    shared_.deferred.end(pending.completion, outcome);
  }
  pending_.clear();
  helping_.clear();
  answers_.clear();
  returns_.clear();
  for (Flushing& flushing : flushing_) shared_.deferred.end(flushing.completion, outcome);
  flushing_.clear();
  busy_ = false;
}

void ShmLink::reconsider() {
  bool alive = state_ == State::open || state_ == State::connecting;
  may_send_ = alive && !stream_.active && puts_running_ == 0;
  busy_ = stream_.active || placement_.kind == Placing::transfer || !pending_.empty() || !helping_.empty() ||
          !answers_.empty() || !returns_.empty() || !flushing_.empty();
}

void ShmLink::ask_for_bell(bool ask) {
  if (readable_) in_.channel().head.reader_sleeps.store(ask ? 1 : 0, std::memory_order_relaxed);
  out_.channel().head.writer_sleeps.store(ask && wants_room() ? 1 : 0, std::memory_order_relaxed);
}

bool ShmLink::must_be_polled() const {
  // What only the peer can bring on rings the bell: room, an answer.
  bool transfers = std::any_of(pending_.begin(), pending_.end(), [](const Pending& p) { return bool(p.transfer); });
  return placement_.kind == Placing::transfer || transfers || !helping_.empty() || state_ == State::drained;
}

void ShmLink::ring() {
  // It came to our channel and fell asleep before its answer with the bell was here: then the bell rings when it comes.
  if (state_ == State::connecting) rings_at_meeting_ = true;
  std::uint64_t one = 1;
  if (bell_ && ::write(bell_.get(), &one, sizeof(one)) < 0 && errno != EAGAIN) bell_.reset();
}

void ShmLink::ring_bell(std::atomic<std::uint32_t>& sleeps) {
  if (sleeps.exchange(0, std::memory_order_acq_rel) != 0) ring();
}

Accepted ShmLink::refuse() { return state_ == State::open || state_ == State::connecting ? no_room() : Accepted::lost; }

Accepted ShmLink::no_room() {
  out_.drop_claims();
  wants_retry_ = true;
  return Accepted::no_resource;
}

// ---- sending

Accepted ShmLink::send_lent(Header header, std::span<const std::byte> payload, Completion& completion) {
  if (payload.size() <= kInlineMost) return send_inline(header, payload);
  return send_large(header, payload, &completion, nullptr);
}

Accepted ShmLink::send_owned(Header header, ucx::Buffer& payload) {
  if (payload.size() >= kLoanMin && state_ == State::open) {
    std::uint64_t segment = shared_.segment_of(payload.data(), payload.size());
    if (segment > told_segment_) tell_segments();
    if (told(segment) && segment <= 0xFF) {
      if (!may_send_) return refuse();
      host::Slot* cell = out_.claim();
      if (cell == nullptr) return no_room();
      if (free_loans_.empty()) {
        free_loans_.push_back(static_cast<std::uint32_t>(loans_.size()));
        loans_.emplace_back();
      }
      std::uint32_t loan = free_loans_.back();
      free_loans_.pop_back();
      write_header(cell, header);
      write_body(cell, kBehindHeader, reinterpret_cast<std::uintptr_t>(payload.data()));
      write_body(cell, kBehindHeader + 8, std::uint64_t{payload.size()});
      loans_[loan] = std::move(payload);
      publish(cell, meta(kLoan, header.size(), loan, segment));
      return Accepted::done;
    }
  }
  if (payload.size() > kInlineMost) return send_large(header, payload.bytes(), nullptr, &payload);
  Accepted accepted = send_inline(header, payload.bytes());
  if (accepted == Accepted::done) payload.reset();
  return accepted;
}

Accepted ShmLink::send_large(Header header, std::span<const std::byte> payload, Completion* completion,
                             ucx::Buffer* owned) {
  if (!may_send_) return refuse();
  host::Slot* cell = out_.claim();
  if (cell == nullptr) return no_room();
  write_header(cell, header);
  write_body(cell, kBehindHeader, std::uint64_t{payload.size()});

  SegmentAddress source{reinterpret_cast<std::uintptr_t>(payload.data()),
                        shared_.segment_of(payload.data(), payload.size())};
  if (source.segment > told_segment_) tell_segments();
  if (!told(source.segment)) source.segment = 0;
  bool mapped = state_ == State::open && (memory->same_process() || source.segment != 0);
  // Small ones of a stream go faster by the ring, whose reader does not hold the writer up.
  bool alone = pending_.empty() && out_.reader_is_near();
  std::uint64_t least = mapped && alone ? 0 : shared_.transfer_min;
  int slot = (mapped || peer_copies()) && payload.size() >= least ? free_transfer() : -1;
  if (slot < 0) {
    bool gone = start_stream(cell, meta(kStream, header.size(), 0), payload, completion, owned);
    return gone ? Accepted::done : Accepted::pending;
  }
  Pending pending{next_number_++, completion};
  pending.transfer = TransferView::begin(out_.channel().transfers[slot], source, payload.size(),
                                         transfer_piece(payload.size(), !mapped));
  pending.slot = static_cast<unsigned>(slot);
  pending.end = TransferView::End::back;
  if (owned != nullptr) pending.owned = std::move(*owned);
  transfers_used_ |= 1u << pending.slot;
  write_body(
      cell, kBehindHeader + 8,
      WhichTransfer{static_cast<std::uint16_t>(pending.transfer.generation()), static_cast<std::uint8_t>(slot), 0, 0});
  publish(cell, meta(kTransfer, header.size(), 0));
  pending_.push_back(std::move(pending));
  busy_ = true;
  return Accepted::pending;
}

// The cell has been written but for being published. True: all of it has gone out.
bool ShmLink::start_stream(host::Slot* cell, std::uint64_t meta, std::span<const std::byte> payload,
                           Completion* completion, ucx::Buffer* owned) {
  stream_.next = payload.data();
  stream_.left = payload.size();
  stream_.number = next_number_++;
  stream_.active = true;
  if (owned != nullptr) stream_.owned = std::move(*owned);
  publish(cell, meta);
  pump();
  if (stream_.active) stream_.completion = completion;
  reconsider();
  return !stream_.active;
}

void ShmLink::pump() {
  while (stream_.left != 0) {
    std::uint64_t size = std::min(stream_.left, kStreamPiece);
    host::Slot* cell = out_.claim();
    std::byte* bulk = cell == nullptr ? nullptr : out_.claim_bulk(size);
    if (bulk == nullptr) return out_.drop_claims();
    std::memcpy(bulk, stream_.next, size);
    publish(cell, meta(kPiece, 0, size, out_.bulk_begins_anew() ? 1 : 0));
    stream_.next += size;
    stream_.left -= size;
    shared_.moved = true;
  }
  shared_.deferred.end(stream_.completion, Outcome::ok);
  shared_.unready = this;
  stream_ = {};
}

// ---- one-sided

// Where all the memory of a key is mapped here: looked up once, since the address of what is loaded hangs on it.
bool ShmLink::find_mapping(host::CachedKey& key) {
  std::byte* here = memory->here({key.address, key.segment}, key.size);
  if (here == nullptr && key.segment != 0) shared_.sockets_wanted = true;  // it has been told before
  if (here == nullptr) return false;
  key.shift = reinterpret_cast<std::uintptr_t>(here) - key.address;
  key.mapped_by = number_;
  return true;
}

Accepted ShmLink::one_sided(bool is_put, std::byte* local, std::uint64_t size, std::uint64_t remote,
                            host::CachedKey& key, Completion& completion) {
  if (PERIAPT_UNLIKELY(state_ != State::open)) return refuse();
  if (PERIAPT_UNLIKELY(!key.allows(*keys_, remote, size))) return fail(completion, Outcome::bad_key);
  SegmentAddress there{remote, key.segment};
  std::byte* here = memory->here(there, size);
  if (here == nullptr && size <= kAtOnce && memory->copies()) {
    bool copied = is_put ? memory->push(there, local, size) : memory->pull(local, there, size);
    return copied ? Accepted::done : fail(completion, Outcome::failed);
  }
  if (here == nullptr && !memory->copies()) {
    if (there.segment != 0) return wait_for_segment();
    return ask_for_bytes(is_put, local, size, remote, key, completion);
  }
  int slot = free_transfer();
  if (slot < 0) return no_room();
  SegmentAddress ours{reinterpret_cast<std::uintptr_t>(local), shared_.segment_of(local, size)};
  if (ours.segment > told_segment_) tell_segments();
  if (!told(ours.segment)) ours.segment = 0;
  Pending pending{next_number_++, &completion};
  pending.transfer = TransferView::begin(out_.channel().transfers[slot], is_put ? ours : there, size,
                                         transfer_piece(size, here == nullptr));
  pending.transfer.open(is_put ? there : ours);
  pending.slot = static_cast<unsigned>(slot);
  pending.pull = !is_put;
  pending.end = is_put ? TransferView::End::back : TransferView::End::front;
  pending.holds_sends = is_put;
  transfers_used_ |= 1u << pending.slot;
  bool can_help = memory->same_process() || ours.segment != 0 || peer_copies();
  host::Slot* cell = can_help ? out_.claim() : nullptr;
  if (cell != nullptr) {
    write_body(cell, 0,
               WhichTransfer{static_cast<std::uint16_t>(pending.transfer.generation()), static_cast<std::uint8_t>(slot),
                             static_cast<std::uint8_t>(!is_put), 0});
    publish(cell, meta(kHelp, 0, 0));
  }
  puts_running_ += is_put ? 1 : 0;
  pending_.push_back(std::move(pending));
  reconsider();
  return Accepted::pending;
}

Accepted ShmLink::fail(Completion& completion, Outcome outcome) {
  shared_.deferred.end(&completion, outcome);
  return Accepted::pending;
}

// The peer has told of it before it gave the key away, but that packet has not been read yet.
Accepted ShmLink::wait_for_segment() {
  shared_.sockets_wanted = true;
  return Accepted::no_resource;
}

// Neither side may touch the other's memory: the peer does it, as told.
Accepted ShmLink::ask_for_bytes(bool is_put, std::byte* local, std::uint64_t size, std::uint64_t remote,
                                host::CachedKey& key, Completion& completion) {
  if (size == 0) return Accepted::done;
  host::Slot* cell = pending_.size() < kAsksMost && may_send_ ? out_.claim() : nullptr;
  if (cell == nullptr) return no_room();
  Pending pending{next_number_++, &completion};
  pending.into = local;
  pending.size = is_put ? 0 : size;
  write_body(cell, 0, Ask{pending.number, key.id, remote, 0, 0, is_put ? kPut : kGet, 0, size});
  pending_.push_back(std::move(pending));
  busy_ = true;
  if (is_put) {
    start_stream(cell, meta(kPutStream, 0, 0), {local, size}, nullptr, nullptr);
  } else {
    publish(cell, meta(kAsk, 0, 0));
  }
  return Accepted::pending;
}

Accepted ShmLink::fetch_op(ucx::AtomicOp op, std::size_t width, std::uint64_t operand, std::uint64_t compare,
                           std::uint64_t remote, host::CachedKey& key, void* result, Completion& completion) {
  if (PERIAPT_UNLIKELY(state_ != State::open)) return refuse();
  if (PERIAPT_UNLIKELY(!key.allows(*keys_, remote, width))) return fail(completion, Outcome::bad_key);
  if (PERIAPT_UNLIKELY(!is_atomic(width, remote))) return fail(completion, Outcome::failed);
  SegmentAddress there{remote, key.segment};
  if (std::byte* here = memory->here(there, width)) {
    std::uint64_t before = apply(op, width, here, operand, compare);
    if (result != nullptr) std::memcpy(result, &before, width);
    return Accepted::done;
  }
  if (there.segment != 0) return wait_for_segment();
  host::Slot* cell = pending_.size() < kAsksMost && may_send_ ? out_.claim() : nullptr;
  if (cell == nullptr) return no_room();
  Pending pending{next_number_++, &completion};
  pending.result = result;
  pending.width = static_cast<std::uint32_t>(width);
  write_body(cell, 0,
             Ask{pending.number, key.id, remote, operand, compare, static_cast<std::uint32_t>(op),
                 static_cast<std::uint32_t>(width), width});
  pending_.push_back(std::move(pending));
  busy_ = true;
  publish(cell, meta(kAsk, 0, 0));
  return Accepted::pending;
}

// Messages are complete when the peer has taken them in: it is asked to say so, with a cell that comes behind them.
Accepted ShmLink::flush(Completion& completion) {
  if (state_ != State::open && state_ != State::connecting) return Accepted::lost;
  if (pending_.empty() && !stream_.active && flushed_ == out_.position()) return Accepted::done;
  host::Slot* cell = pending_.size() < kAsksMost && may_send_ ? out_.claim() : nullptr;
  if (cell == nullptr) return no_room();
  Pending pending{next_number_++, nullptr};
  write_body(cell, 0, Ask{pending.number, 0, 0, 0, 0, kFlush, 0, 0});
  publish(cell, meta(kAsk, 0, 0));
  pending.size = out_.position();
  pending.flush = true;
  pending_.push_back(std::move(pending));
  flushing_.push_back({&completion, next_number_});
  busy_ = true;
  return Accepted::pending;
}

int ShmLink::free_transfer() const {
  for (unsigned slot = 0; slot < Channel::kTransfers; ++slot) {
    if ((transfers_used_ & 1u << slot) == 0) return static_cast<int>(slot);
  }
  return -1;
}

bool ShmLink::peer_copies() const {
  return readable_ &&
         in_.channel().head.writer_copies.load(std::memory_order_acquire) == static_cast<std::uint32_t>(Copies::work);
}

// ---- receiving

bool ShmLink::deliver_other(const HalfCell& peeked, std::uint64_t kind, std::uint64_t header, std::uint64_t size,
                            std::uint64_t segment, int& handed_up) {
  shared_.moved = true;
  bool understood = header <= kHeaderMost && !in_.is_second();
  if (understood) {
    const host::Slot& cell = ChannelReader::whole(peeked);
    switch (kind) {
      case kStream:
        understood = deliver_stream(cell, header);
        break;
      case kPiece:
        understood = deliver_piece(size, segment != 0, handed_up);
        break;
      case kTransfer:
        understood = deliver_transfer(cell, header);
        break;
      case kLoan: {
        bool mapped = true;
        understood = deliver_loan(cell, header, size, segment, handed_up, mapped);
        if (!mapped) return false;
        break;
      }
      case kReturns:
        understood = deliver_returns(cell, size);
        break;
      case kHelp:
        understood = deliver_help(cell);
        break;
      case kAsk:
      case kPutStream:
        understood = deliver_ask(cell, kind == kPutStream);
        break;
      case kAnswer:
      case kGetStream:
        understood = deliver_answer(cell, kind == kGetStream);
        break;
      default:
        understood = false;
    }
  }
  if (!understood) {
    break_off("it sent something that cannot be understood (kind " + std::to_string(kind) +
              "); the link was closed. Do all processes run the same version?");
  }
  reconsider();
  return understood && !broken_ && state_ != State::closed && placement_.kind != Placing::transfer;
}

bool ShmLink::deliver_stream(const host::Slot& cell, std::uint64_t header) {
  std::uint64_t size = read_body<std::uint64_t>(cell, kBehindHeader);
  if (placement_.kind != Placing::nothing || size == 0) return false;
  std::byte* to = shared_.receiver.place(*this, {cell.body, header}, size);
  consumed();
  if (state_ == State::closed) return true;
  if (to == nullptr) return break_off("no memory for a message of " + std::to_string(size) + " bytes"), true;
  placement_ = {Placing::stream, to, size, 0, {}};
  return true;
}

bool ShmLink::deliver_transfer(const host::Slot& cell, std::uint64_t header) {
  std::uint64_t size = read_body<std::uint64_t>(cell, kBehindHeader);
  WhichTransfer which = read_body<WhichTransfer>(cell, kBehindHeader + 8);
  if (placement_.kind != Placing::nothing || size == 0 || which.slot >= Channel::kTransfers) return false;
  std::byte* to = shared_.receiver.place(*this, {cell.body, header}, size);
  consumed();
  if (state_ == State::closed) return true;
  if (to == nullptr) return break_off("no memory for a message of " + std::to_string(size) + " bytes"), true;
  SegmentAddress target{reinterpret_cast<std::uintptr_t>(to), shared_.segment_of(to, size)};
  if (target.segment > told_segment_) tell_segments();
  if (!told(target.segment)) target.segment = 0;
  placement_ = {Placing::transfer, to, size, 0, TransferView(in_.channel().transfers[which.slot], which.generation)};
  if (!placement_.transfer.open(target)) {
    placement_ = {};  // its sender has taken it back, and is parting
    broken_ = true;
  }
  return true;
}

bool ShmLink::deliver_piece(std::uint64_t size, bool anew, int& handed_up) {
  if (placement_.kind == Placing::nothing || size > placement_.left || size > Channel::kPieceMost || size == 0)
    return false;
  const std::byte* bytes = in_.bulk(size, anew);
  if (placement_.to != nullptr) {
    std::memcpy(placement_.to, bytes, size);
    placement_.to += size;
  }
  placement_.left -= size;
  consumed();
  if (placement_.left == 0) handed_up += end_of_placement();
  return true;
}

int ShmLink::end_of_placement() {
  Placement ended = placement_;
  placement_ = {};
  switch (ended.kind) {
    case Placing::stream:
    case Placing::transfer:
      shared_.receiver.placed(*this);
      return 1;
    case Placing::put:
      answers_.push_back(
          {ended.token, static_cast<std::uint64_t>(ended.to != nullptr ? Outcome::ok : Outcome::bad_key), 0, 0, 0});
      return 0;
    case Placing::get:
      end_pending(ended.token, Outcome::ok);
      return 0;
    case Placing::nothing:
      break;
  }
  return 0;
}

bool ShmLink::deliver_loan(const host::Slot& cell, std::uint64_t header, std::uint64_t loan, std::uint64_t segment,
                           int& handed_up, bool& mapped) {
  SegmentAddress there{read_body<std::uint64_t>(cell, kBehindHeader), segment};
  std::uint64_t size = read_body<std::uint64_t>(cell, kBehindHeader + 8);
  std::byte* bytes = memory->here(there, size);
  if (bytes == nullptr) {
    if (memory->knows(segment)) return false;
    shared_.sockets_wanted = true;  // it has been told before
    mapped = false;
    return true;
  }
  if (borrowing_ == nullptr) borrowing_ = new Borrowing{this, 0, nullptr};
  ++borrowing_->live;
  ucx::Buffer buffer(bytes, size, &release_borrowed, new Borrowed{borrowing_, static_cast<std::uint32_t>(loan)});
  shared_.receiver.arrived_owned(*this, {cell.body, header}, std::move(buffer));
  consumed();
  ++handed_up;
  return true;
}

void ShmLink::give_back(std::uint32_t loan) {
  if (state_ != State::open) return;
  returns_.push_back(loan);
  busy_ = true;
}

bool ShmLink::deliver_returns(const host::Slot& cell, std::uint64_t count) {
  if (count > host::Slot::kBodyBytes / sizeof(std::uint32_t)) return false;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint32_t loan = read_body<std::uint32_t>(cell, i * sizeof(std::uint32_t));
    if (loan >= loans_.size() || !loans_[loan]) return false;
    loans_[loan].reset();
    free_loans_.push_back(loan);
  }
  consumed();
  return true;
}

bool ShmLink::deliver_help(const host::Slot& cell) {
  WhichTransfer which = read_body<WhichTransfer>(cell);
  if (which.slot >= Channel::kTransfers) return false;
  helping_.push_back({TransferView(in_.channel().transfers[which.slot], which.generation), which.owner_pulls == 0});
  consumed();
  return true;
}

bool ShmLink::deliver_ask(const host::Slot& cell, bool with_bytes) {
  Ask what = read_body<Ask>(cell);
  bool known = what.op == kFlush || host::CachedKey{what.key}.allows(shared_.keys.table(), what.remote, what.size);
  Outcome outcome = known ? Outcome::ok : Outcome::bad_key;
  if (with_bytes) {
    if (what.op != kPut || placement_.kind != Placing::nothing || what.size == 0) return false;
    // Not known: the bytes are read and dropped, and the answer says so.
    placement_ = {Placing::put, known ? reinterpret_cast<std::byte*>(what.remote) : nullptr, what.size, what.token, {}};
  } else if (what.op == kFlush) {  // it comes after all before it
    answers_.push_back({what.token, static_cast<std::uint64_t>(Outcome::ok), 0, 0, 0});
  } else if (what.op == kGet) {
    answers_.push_back({what.token, static_cast<std::uint64_t>(outcome), 0, known ? what.size : 0, what.remote});
  } else {
    if (what.op > static_cast<std::uint32_t>(ucx::AtomicOp::compare_swap) || !is_atomic(what.width, what.remote))
      return false;
    std::uint64_t before = 0;
    if (known) {
      before = apply(static_cast<ucx::AtomicOp>(what.op), what.width, reinterpret_cast<void*>(what.remote),
                     what.operand, what.compare);
    }
    answers_.push_back({what.token, static_cast<std::uint64_t>(outcome), before, 0, 0});
  }
  consumed();
  return true;
}

bool ShmLink::deliver_answer(const host::Slot& cell, bool with_bytes) {
  Answer answer = read_body<Answer>(cell);
  auto at = std::find_if(pending_.begin(), pending_.end(), [&](const Pending& p) { return p.number == answer.token; });
  if (at == pending_.end() || at->transfer) return false;
  if (with_bytes) {
    if (answer.size == 0 || answer.size != at->size || placement_.kind != Placing::nothing) return false;
    placement_ = {Placing::get, at->into, answer.size, answer.token, {}};
  } else {
    if (at->flush) flushed_ = at->size;
    bool good = answer.outcome == static_cast<std::uint64_t>(Outcome::ok);
    if (good && at->result != nullptr) std::memcpy(at->result, &answer.value, at->width);
    end_pending(answer.token, good ? Outcome::ok : Outcome::bad_key);
  }
  consumed();
  return true;
}

void ShmLink::end_pending(std::uint64_t number, Outcome outcome) {
  auto at = std::find_if(pending_.begin(), pending_.end(), [&](const Pending& p) { return p.number == number; });
  if (at == pending_.end()) return;
  shared_.deferred.end(at->completion, outcome);
  pending_.erase(at);
}

// ---- what goes on between the cells

int ShmLink::work() {
  int handed_up = 0;
  if (placement_.kind == Placing::transfer) {
    copy_pieces(placement_.transfer, TransferView::End::front, true);
    TransferView::State state = placement_.transfer.state();
    if (state == TransferView::State::complete) handed_up += end_of_placement();
    if (state == TransferView::State::failed) break_off("the bytes of a message could not be copied from its memory");
    if (state_ == State::closed) return handed_up;
  }
  if (state_ == State::open || state_ == State::connecting) {
    if (stream_.active) pump();
    work_on_pending();
    for (std::size_t i = 0; i < helping_.size(); ++i) {
      if (copy_pieces(helping_[i].transfer, helping_[i].pull ? TransferView::End::front : TransferView::End::back,
                      helping_[i].pull))
        continue;
      helping_.erase(helping_.begin() + static_cast<std::ptrdiff_t>(i--));
    }
    send_returns();
    send_answers();
    end_flushes();
  }
  reconsider();
  return handed_up;
}

// False: there is no piece for us.
bool ShmLink::copy_pieces(TransferView& view, TransferView::End end, bool pull) {
  Piece all = view.look();
  if (!all || !memory->can_reach(pull ? all.source : all.target, all.size)) return false;
  for (std::uint64_t copied = 0; copied < kCopyAtOnce;) {
    Piece piece = view.claim(end);
    if (!piece) return copied != 0;
    view.finish(pull ? memory->pull(reinterpret_cast<void*>(piece.target.address), piece.source, piece.size)
                     : memory->push(piece.target, reinterpret_cast<void*>(piece.source.address), piece.size));
    shared_.moved = true;
    copied += piece.size;
  }
  return true;
}

void ShmLink::work_on_pending() {
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    Pending& pending = pending_[i];
    if (!pending.transfer) continue;
    copy_pieces(pending.transfer, pending.end, pending.pull);
    TransferView::State state = pending.transfer.state();
    if (state == TransferView::State::running) continue;
    shared_.deferred.end(pending.completion, state == TransferView::State::complete ? Outcome::ok : Outcome::failed);
    puts_running_ -= pending.holds_sends ? 1 : 0;
    transfers_used_ &= ~(1u << pending.slot);
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i--));
  }
}

void ShmLink::send_returns() {
  while (!returns_.empty()) {
    host::Slot* cell = out_.claim();
    if (cell == nullptr) return;
    std::uint64_t count = std::min<std::uint64_t>(returns_.size(), host::Slot::kBodyBytes / sizeof(std::uint32_t));
    std::memcpy(cell->body, returns_.data(), count * sizeof(std::uint32_t));
    returns_.erase(returns_.begin(), returns_.begin() + static_cast<std::ptrdiff_t>(count));
    publish(cell, meta(kReturns, 0, count));
    shared_.moved = true;
  }
}

void ShmLink::send_answers() {
  while (!answers_.empty()) {
    Answer answer = answers_.front();
    if (answer.size != 0 && stream_.active) return;
    host::Slot* cell = out_.claim();
    if (cell == nullptr) return;
    answers_.pop_front();
    write_body(cell, 0, answer);
    shared_.moved = true;
    if (answer.size == 0) {
      publish(cell, meta(kAnswer, 0, 0));
    } else {
      start_stream(cell, meta(kGetStream, 0, 0), {reinterpret_cast<const std::byte*>(answer.source), answer.size},
                   nullptr, nullptr);
    }
  }
}

void ShmLink::end_flushes() {
  if (flushing_.empty()) return;
  std::uint64_t oldest = stream_.active ? stream_.number : ~std::uint64_t{0};
  for (const Pending& pending : pending_) oldest = std::min(oldest, pending.number);
  std::erase_if(flushing_, [&](const Flushing& flushing) {
    if (oldest < flushing.before) return false;
    shared_.deferred.end(flushing.completion, Outcome::ok);
    return true;
  });
}

}  // namespace periapt::shm
