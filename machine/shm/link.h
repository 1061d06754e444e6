// ShmLink: the Link of the shared memory transport: two channels (out: ours, in: the peer's) and what is under way on
// them.
//
//   payload up to                    goes
//   header and payload of 24 B       in half a cell: two messages to a cache line
//   what the cell has left (16 B)    in the cell: one cache line for everything
//   kInlineMost                      in one piece of bulk, handed up where it lies
//   transfer_min                     as a stream: pieces of bulk, written by one while the other copies them out
//   anything more, reachable         as a transfer: both sides copy from the sender's bytes to where the receiver wants
//                                    them (transfer.h); put and get of more than kAtOnce bytes too (put: kPutAtOnce)
//   the same, mapped, and alone      as a transfer from kInlineMost on: nothing else is on its way
//   anything in a shared segment     send_owned(): by reference; a cell brings the loan back when the receiver is done
//
// Put, get and atomics on memory that is mapped here are loads and stores, done when the call returns. On private
// memory they are process_vm_readv/writev; where that is forbidden, the peer is asked to do them.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "machine/host/keys.h"
#include "machine/shm/channel.h"
#include "machine/shm/peer_memory.h"
#include "machine/shm/rendezvous.h"
#include "machine/shm/segment.h"
#include "machine/shm/transfer.h"
#include "machine/ucx-like/bytes.h"
#include "machine/ucx-like/transport_base.h"

namespace periapt::shm {

/// Has the process of that pidfd ended? false without one.
bool has_ended(const File& life);

using ucx::Accepted;
using ucx::Completion;
using ucx::Header;
using ucx::Outcome;

class ShmLink;

/// What the links of one transport share.
struct TransportState {
  TransportState(ucx::Receiver& the_receiver, ucx::DeferredCalls& the_calls)
      : receiver(the_receiver), deferred(the_calls) {}

  struct RetiredLoans {
    std::vector<ucx::Buffer> loans;
    File life;  ///< the borrower's pidfd; none: it is this process
  };
  ucx::Receiver& receiver;
  ucx::DeferredCalls& deferred;
  std::vector<Segment> segments;  ///< the table's, as of segments_version
  std::uint64_t segments_version = 0;
  host::KeyRing keys;
  bool sockets_wanted = false;              ///< a link waits for what a socket will bring
  std::vector<RetiredLoans> retired_loans;  ///< loans of links that are closed, whose borrowers may still read them
  bool fenced = true;                       ///< this process has no membarrier
  bool brought_bulk = false;   ///< a message whose payload lies in bulk was handed up since it was last cleared
  bool waited = false;         ///< the last look found nothing
  bool moved = false;          ///< something was done since it was last cleared
  ShmLink* unready = nullptr;  ///< it sends larger messages, and can get ready for the next one
  std::uint64_t links_made = 0;
  std::uint64_t transfer_min = 0;  ///< of a stream of messages, or of private ones

  /// The segment that those bytes of ours lie in; 0: they are private.
  std::uint64_t segment_of(const void* bytes, std::uint64_t size);
};

class ShmLink final : public ucx::Link {
 public:
  static constexpr std::size_t kInlineMost = 8192;
  static constexpr std::uint64_t kAtOnce = 32 << 10;  ///< put and get up to here are done in the call
  /// The same for a put to memory that is mapped here: what the caller has written just now is in its core's caches
  /// only.
  static constexpr std::uint64_t kPutAtOnce = 128 << 10;
  static constexpr std::uint64_t kLoanMin = 1024;  ///< smaller payloads are copied rather than lent
  /// Messages of one link in one progress(). A worker that shares its core yields it after each: 16 halved the rate of
  /// many links.
  static constexpr int kBudget = 64;
  static constexpr int kFetchAhead = 8;

  enum class State : std::uint8_t { connecting, open, drained, lost, closed };

  ShmLink(ucx::Transport& transport, ucx::PeerId peer, TransportState& shared)
      : Link(transport, peer), shared_(shared), number_(++shared.links_made) {}
  ~ShmLink() override;

  // ---- life

  /// Makes the channel out.
  Status prepare();
  /// The peer's hello or welcome: its channel and doorbell. False: they are not what they should be.
  bool meet(const Packet& packet, File channel, File keys, File bell, std::uint32_t process, bool same_process,
            bool copying);
  int channel_file() const { return channel_file_.get(); }
  /// The socket ended; `reason` is for link_lost(). What lies in the channel is still delivered.
  void peer_left(std::string reason);
  /// Ends everything under way.
  void abandon(Outcome outcome);
  void set_closed() { state_ = State::closed, may_send_ = false; }
  State state() const { return state_; }
  const std::string& reason() const { return reason_; }
  /// The peer left, and all that it had sent has been delivered.
  bool drained() const {
    return state_ == State::drained && (broken_ || (placement_.kind != Placing::transfer && !in_ready()));
  }
  void report_lost() { state_ = State::lost, may_send_ = false; }

  File socket, life;              ///< the connection; a pidfd
  std::uint32_t process = 0;      ///< the peer's, in our namespace
  std::uint64_t socket_name = 0;  ///< where the peer listens, when we connect to it
  bool hello_sent = false;
  std::unique_ptr<PeerMemory> memory = std::make_unique<PeerMemory>();
  void tell_segments();

  // ---- the transport's operations

  PERIAPT_INLINE Accepted send_inline(Header header, std::span<const std::byte> payload) {
    if (PERIAPT_UNLIKELY(!may_send_)) return refuse();
    std::size_t at = round_up(header.size(), 8);
    if (at + payload.size() <= HalfCell::kBodyBytes) return send_half(header, payload);
    host::Slot* cell = out_.claim();
    if (PERIAPT_UNLIKELY(cell == nullptr)) return no_room();
    std::uint64_t kind = kInCell, anew = 0;
    if (payload.size() <= host::Slot::kBodyBytes - at) {
      ucx::copy_bytes(cell->body + at, payload.data(), payload.size());
    } else {
      std::byte* bulk = out_.claim_bulk(payload.size());
      if (PERIAPT_UNLIKELY(bulk == nullptr)) return no_room();
      out_.take_line();  // while the bytes are copied
      std::memcpy(bulk, payload.data(), payload.size());
      kind = kInBulk;
      anew = out_.bulk_begins_anew() ? 1 : 0;
      shared_.unready = this;
    }
    // The cell last, and all of it at once: a reader that waits looks at its line again and again.
    write_header(cell, header);
    publish(cell, meta(kind, header.size(), payload.size(), anew));
    return Accepted::done;
  }
  Accepted send_lent(Header header, std::span<const std::byte> payload, Completion& completion);
  Accepted send_owned(Header header, ucx::Buffer& payload);
  PERIAPT_INLINE Accepted put(std::span<const std::byte> local, std::uint64_t remote, host::CachedKey& key,
                              Completion& completion) {
    std::byte* there = local.size() <= kPutAtOnce ? direct(key, remote, local.size()) : nullptr;
    if (PERIAPT_UNLIKELY(there == nullptr))
      return one_sided(true, const_cast<std::byte*>(local.data()), local.size(), remote, key, completion);
    ucx::copy_bytes(there, local.data(), local.size());
    return Accepted::done;
  }
  PERIAPT_INLINE Accepted get(std::span<std::byte> local, std::uint64_t remote, host::CachedKey& key,
                              Completion& completion) {
    const std::byte* there = local.size() <= kAtOnce ? direct(key, remote, local.size()) : nullptr;
    if (PERIAPT_UNLIKELY(there == nullptr))
      return one_sided(false, local.data(), local.size(), remote, key, completion);
    ucx::copy_bytes(local.data(), there, local.size());
    return Accepted::done;
  }
  Accepted fetch_op(ucx::AtomicOp op, std::size_t width, std::uint64_t operand, std::uint64_t compare,
                    std::uint64_t remote, host::CachedKey& key, void* result, Completion& completion);
  Accepted flush(Completion& completion);
  PERIAPT_INLINE std::byte* direct(host::CachedKey& key, std::uint64_t remote, std::uint64_t size) {
    if (PERIAPT_UNLIKELY(state_ != State::open || !key.allows(*keys_, remote, size))) return nullptr;
    if (PERIAPT_UNLIKELY(key.mapped_by != number_ && !find_mapping(key))) return nullptr;
    return reinterpret_cast<std::byte*>(remote + key.shift);
  }

  // ---- progress

  PERIAPT_INLINE int poll() {
    int handed_up = 0;
    if (PERIAPT_LIKELY(readable_)) handed_up = deliver();
    if (PERIAPT_UNLIKELY(busy_)) handed_up += work();
    return handed_up;
  }
  bool busy() const { return busy_; }
  /// What was accepted lies where the peer finds it without us.
  bool handed_over() const { return !stream_.active && pending_.empty(); }
  bool in_ready() const { return readable_ && in_.ready(); }
  /// Before sleep: asks the peer for its bell; and takes that back.
  void ask_for_bell(bool ask);
  bool wants_room() const { return wants_retry_ || stream_.active || !answers_.empty() || !returns_.empty(); }
  /// Before sleep: can go on what there was no room for? A refused caller is then to try again, once.
  bool has_room_again() {
    if (!wants_room() || !out_.has_room()) return false;
    wants_retry_ = false;
    return true;
  }
  /// Something is under way that no bell will tell of.
  bool must_be_polled() const;

  /// While nothing else is to be done: what the next message is written to is fetched. False: it is here.
  bool get_ready() { return may_send_ && out_.get_ready(); }

  /// A borrowed message goes back to its owner.
  void give_back(std::uint32_t loan);

  /// Keeps track of messages borrowed from the peer: they may outlive the link.
  struct Borrowing {
    ShmLink* link;  ///< nullptr once the link has gone
    std::uint64_t live = 0;
    std::unique_ptr<PeerMemory> memory;  ///< taken over from the link then
  };

 private:
  // What a cell is. meta: kind (8 bits) | bytes of header (8) | size (32) | segment (8)
  enum Kind : std::uint64_t {
    kInHalf = 1,
    kInCell,
    kInBulk,     ///< segment: 1: at the start of the ring
    kStream,     ///< header, size: pieces follow
    kPiece,      ///< of the stream under way; its bytes are in bulk, as those of kInBulk
    kTransfer,   ///< header, size, which transfer
    kLoan,       ///< header, address, size; the size field is the loan's number
    kReturns,    ///< numbers of loans, as many as the size field says
    kHelp,       ///< which transfer the peer may help with
    kAsk,        ///< a one-sided operation for the peer to do
    kAnswer,     ///< its end
    kPutStream,  ///< an Ask with the bytes following as pieces
    kGetStream,  ///< an Answer with the bytes following as pieces
  };
  static std::uint64_t meta(std::uint64_t kind, std::uint64_t header, std::uint64_t size, std::uint64_t segment = 0) {
    return kind | header << 8 | size << 16 | segment << 48;
  }

  struct Ask {
    std::uint64_t token;
    std::uint64_t key;
    std::uint64_t remote;
    std::uint64_t operand;
    std::uint64_t compare;
    std::uint32_t op;  ///< AtomicOp, or kGet, kPut
    std::uint32_t width;
    std::uint64_t size;
  };
  static_assert(sizeof(Ask) == host::Slot::kBodyBytes);
  static constexpr std::uint32_t kGet = 100, kPut = 101, kFlush = 102;
  struct Answer {
    std::uint64_t token;
    std::uint64_t outcome;
    std::uint64_t value;
    std::uint64_t size;    ///< of what follows, for a get
    std::uint64_t source;  ///< not sent: where it lies here
  };
  static_assert(sizeof(Answer) <= host::Slot::kBodyBytes);
  struct WhichTransfer {
    std::uint16_t generation;
    std::uint8_t slot;
    std::uint8_t owner_pulls;  ///< the owner of the transfer has the target, so a helper pushes
    std::uint32_t pad;
  };
  static constexpr std::size_t kHeaderMost = 40;
  static_assert(kHeaderMost + 16 == host::Slot::kBodyBytes && kHeaderMost >= ucx::kHeaderBytes);
  static constexpr std::size_t kBehindHeader = kHeaderMost;

  /// Something of ours that has not ended.
  struct Pending {
    Pending(std::uint64_t n, Completion* c) : number(n), completion(c) {}
    std::uint64_t number;  ///< in the order of acceptance; the token of an Ask
    Completion* completion;
    TransferView transfer;
    unsigned slot = 0;
    TransferView::End end = TransferView::End::front;
    bool pull = false;
    bool holds_sends = false;   ///< a put: messages wait for it
    bool flush = false;         ///< `size` is the position flushed
    ucx::Buffer owned;          ///< of send_owned()
    std::byte* into = nullptr;  ///< of an asked get
    std::uint64_t size = 0;
    void* result = nullptr;  ///< of an asked atomic
    std::uint32_t width = 0;
  };
  struct Stream {
    const std::byte* next = nullptr;
    std::uint64_t left = 0;
    Completion* completion = nullptr;
    ucx::Buffer owned;
    std::uint64_t number = 0;
    bool active = false;
  };
  enum class Placing : std::uint8_t { nothing, stream, transfer, put, get };
  struct Placement {
    Placing kind = Placing::nothing;
    std::byte* to = nullptr;
    std::uint64_t left = 0;
    std::uint64_t token = 0;
    TransferView transfer;
  };
  struct Helping {
    TransferView transfer;
    bool pull;
  };
  struct Flushing {
    Completion* completion;
    std::uint64_t before;  ///< the first number that it does not wait for
  };

  PERIAPT_INLINE Accepted send_half(Header header, std::span<const std::byte> payload) {
    HalfCell* cell = out_.claim_half();
    if (PERIAPT_UNLIKELY(cell == nullptr)) return no_room();
    // (Not through cell->body: GCC would warn of branches that are not taken, the sizes being small enough.)
    std::byte* body = reinterpret_cast<std::byte*>(cell) + offsetof(HalfCell, body);
    ucx::copy_bytes(body, header.data(), header.size());
    ucx::copy_bytes(body + round_up(header.size(), 8), payload.data(), payload.size());
    publish(cell, meta(kInHalf, header.size(), payload.size()));
    return Accepted::done;
  }
  PERIAPT_INLINE static void write_header(host::Slot* cell, Header header) {
    ucx::copy_bytes(cell->body, header.data(), header.size());
  }
  template <class Cell>
  PERIAPT_INLINE void publish(Cell* cell, std::uint64_t meta) {
    if (PERIAPT_UNLIKELY(out_.publish(cell, meta, fenced_))) ring_bell(out_.channel().head.reader_sleeps);
  }
  PERIAPT_INLINE void consumed() {
    if (PERIAPT_UNLIKELY(in_.consume())) told_of_room();
  }
  void told_of_room() {
    if (in_.writer_wants_room(fenced_)) ring();
  }

  PERIAPT_INLINE int deliver() {
    int handed_up = 0;
    if (PERIAPT_UNLIKELY(placement_.kind == Placing::transfer)) return 0;
    ucx::Receiver& receiver = shared_.receiver;
    while (handed_up < kBudget) {
      bool goes_on = true;
      const HalfCell* cell = in_.peek();
      if (cell == nullptr) break;
      std::uint64_t meta = ChannelReader::meta(*cell);
      std::uint64_t kind = meta & 0xFF, header = (meta >> 8) & 0xFF, size = (meta >> 16) & 0xFFFFFFFF;
      std::size_t at = round_up(header, 8);
      // So many in a row: the writer is well ahead, and its lines can be asked for before they are needed.
      if (handed_up >= kFetchAhead || behind_) in_.fetch(kFetchAhead);
      if (shared_.waited && kind <= kInCell) out_.take_line();  // an answer may follow soon
      if (PERIAPT_LIKELY(kind == kInHalf && at + size <= HalfCell::kBodyBytes)) {
        goes_on = receiver.arrived(*this, {cell->body, header}, {cell->body + at, size});
        if (PERIAPT_UNLIKELY(in_.consume_half())) told_of_room();
      } else if (kind == kInCell && at + size <= host::Slot::kBodyBytes && !in_.is_second()) {
        const std::byte* body = ChannelReader::whole(*cell).body;
        goes_on = receiver.arrived(*this, {body, header}, {body + at, size});
        consumed();
      } else if (kind == kInBulk && at <= host::Slot::kBodyBytes && size <= kInlineMost && !in_.is_second()) {
        goes_on = receiver.arrived(*this, {ChannelReader::whole(*cell).body, header},
                                   {in_.bulk(size, meta >> 48 != 0), size});
        shared_.brought_bulk = true;
        consumed();
      } else {
        int others = 0;
        goes_on = deliver_other(*cell, kind, header, size, meta >> 48, others);
        handed_up += others;
        if (!goes_on) break;
        continue;
      }
      ++handed_up;
      // A reader that has waited wants this one now: a look at the next line would hold up all that it writes.
      if (PERIAPT_UNLIKELY(state_ == State::closed || !goes_on || shared_.waited)) break;
    }
    behind_ = handed_up == kBudget;
    return handed_up;
  }

  PERIAPT_NOINLINE bool find_mapping(host::CachedKey& key);
  Accepted refuse();
  Accepted no_room();
  void ring_bell(std::atomic<std::uint32_t>& sleeps);
  void ring();
  void break_off(const std::string& why);
  void reconsider();
  PERIAPT_NOINLINE bool deliver_other(const HalfCell& peeked, std::uint64_t kind, std::uint64_t header,
                                      std::uint64_t size, std::uint64_t segment, int& handed_up);
  bool deliver_stream(const host::Slot& cell, std::uint64_t header);
  bool deliver_piece(std::uint64_t size, bool anew, int& handed_up);
  bool deliver_transfer(const host::Slot& cell, std::uint64_t header);
  bool deliver_loan(const host::Slot& cell, std::uint64_t header, std::uint64_t loan, std::uint64_t segment,
                    int& handed_up, bool& mapped);
  bool deliver_returns(const host::Slot& cell, std::uint64_t count);
  bool deliver_help(const host::Slot& cell);
  bool deliver_ask(const host::Slot& cell, bool with_bytes);
  bool deliver_answer(const host::Slot& cell, bool with_bytes);
  int end_of_placement();
  void end_pending(std::uint64_t number, Outcome outcome);

  PERIAPT_NOINLINE int work();
  void pump();
  bool copy_pieces(TransferView& view, TransferView::End end, bool pull);
  void work_on_pending();
  void send_returns();
  void send_answers();
  void end_flushes();

  bool start_stream(host::Slot* cell, std::uint64_t meta, std::span<const std::byte> payload, Completion* completion,
                    ucx::Buffer* owned);
  Accepted send_large(Header header, std::span<const std::byte> payload, Completion* completion, ucx::Buffer* owned);
  Accepted one_sided(bool is_put, std::byte* local, std::uint64_t size, std::uint64_t remote, host::CachedKey& key,
                     Completion& completion);
  Accepted ask_for_bytes(bool is_put, std::byte* local, std::uint64_t size, std::uint64_t remote, host::CachedKey& key,
                         Completion& completion);
  Accepted fail(Completion& completion, Outcome outcome);
  Accepted wait_for_segment();
  int free_transfer() const;
  bool peer_copies() const;
  bool told(std::uint64_t segment) const { return segment != 0 && segment <= told_segment_; }

  TransportState& shared_;
  const std::uint64_t number_;  ///< no other link of the transport has it, before or after
  State state_ = State::connecting;
  bool may_send_ = false;                 ///< send_inline() need not look further
  bool readable_ = false;                 ///< the channel in is mapped
  bool busy_ = false;                     ///< there is work()
  bool fenced_ = true;                    ///< one of the two has no membarrier
  bool gone_ = false;                     ///< the peer has parted: it copies nothing any more
  bool broken_ = false;                   ///< the peer sent nonsense: nothing more is read
  bool behind_ = false;                   ///< the last look did not find the end of what there is
  bool wants_retry_ = false;              ///< a caller was refused for want of room
  bool rings_at_meeting_ = false;         ///< the peer is to be woken as soon as its bell is known
  const host::KeyTable* keys_ = nullptr;  ///< the peer's
  ChannelWriter out_;
  ChannelReader in_;
  Stream stream_;
  Placement placement_;
  std::vector<Pending> pending_;
  std::vector<Helping> helping_;
  std::deque<Answer> answers_;
  std::vector<Flushing> flushing_;
  std::vector<ucx::Buffer> loans_;  ///< by number
  std::vector<std::uint32_t> free_loans_;
  std::vector<std::uint32_t> returns_;
  Borrowing* borrowing_ = nullptr;
  std::uint64_t next_number_ = 1;
  std::uint64_t told_segment_ = 0;
  std::uint64_t flushed_ = 0;  ///< the peer has taken in all before this cell
  unsigned transfers_used_ = 0;
  unsigned puts_running_ = 0;
  std::string reason_;
  Mapping out_mapping_, in_mapping_, keys_mapping_;
  File channel_file_, bell_;
};

}  // namespace periapt::shm
