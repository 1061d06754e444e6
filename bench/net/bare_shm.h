// What two cores can do at all between two processes, as a Side of bench/net. Nothing here could be a transport: there
// are no tags, no header, and each side knows where the other's buffers are.
//
// Small messages: a ring of one-line cells, looked at with a gap in between: a line that is left alone for a moment is
// seen in one transfer instead of two. Larger ones, by what is asked for:
//   mapped   source and target lie in shared memory; up to 4 KB the receiver copies, above both sides do, one from the
//            front, the other from the back
//   kernel   from 16 KB on both are private, and both sides copy in the same way by process_vm_readv and writev
//   slots    from 16 KB on both are private, and go through slots of shared memory: one copies in, the other out
// In place: written into shared memory and left there.
#pragma once

#include <deque>

#include "base/bits.h"
#include "base/platform.h"
#include "bench/net/operations.h"
#include "bench/net/place.h"
#include "machine/host/process_copy.h"
#include "machine/host/ring.h"

namespace periapt::bench {

class BareShm {
 public:
  enum class Bulk : std::uint8_t { mapped, kernel, slots };
  struct Request {
    std::uint64_t number = 0;
    int slot = 0;
    std::size_t size = 0;
    bool receives = false;
  };

  BareShm(Place& place, Bulk bulk)
      : place_(place),
        bulk_(bulk),
        out_(road(place.index())),
        in_(road(place.partner())),
        slots_(area(place.index(), 0), area(place.index(), 1)),
        theirs_(area(place.partner(), 0), area(place.partner(), 1)) {
    if (bulk != Bulk::mapped) own_ = Slots();
    struct {
      Slots slots;
      std::uint32_t process;
    } told{own_, static_cast<std::uint32_t>(::getpid())};
    std::vector<std::byte> heard = place_.exchange(&told, sizeof told, [] {});
    std::memcpy(&told, heard.data(), sizeof told);
    their_own_ = told.slots;
    process_ = told.process;
  }
  std::string about() const {
    return bulk_ == Bulk::mapped   ? "bare shared memory"
           : bulk_ == Bulk::kernel ? "private memory, copied by both through the kernel"
                                   : "private memory, through slots of shared memory";
  }
  int index() const { return place_.index(); }
  void meet() {
    place_.meet([] {});
  }
  std::vector<double> gather(double mine) {
    return place_.gather(mine, [] {});
  }
  std::byte* outgoing(int slot, std::size_t size) { return mine(size).outgoing(slot, size); }
  const std::byte* incoming(int slot, std::size_t size) { return mine(size).incoming(slot, size); }

  Request send(int slot, std::size_t size) {
    if (size <= kInCell) return put_cell(outgoing(slot, size), size), Request{};
    const std::uint64_t number = ++transfers_out_;
    if (in_slots(size)) {
      filling_.push_back({number, slot, size, false});
      fill();
      return {number, slot, size, false};
    }
    Transfer& transfer = out_.transfers[number % kTransfers];
    transfer.source.store(slot, std::memory_order_relaxed);
    transfer.sent.store(number, std::memory_order_release);
    return {number, slot, size, false};
  }
  Request receive(int slot, std::size_t size) {
    if (size <= kInCell) return {0, slot, size, true};
    const std::uint64_t number = ++transfers_in_;
    if (in_slots(size)) return awaited_.emplace_back(Request{number, slot, size, true});
    Transfer& transfer = in_.transfers[number % kTransfers];
    transfer.target.store(slot, std::memory_order_relaxed);
    transfer.claimed.store(number << 32, std::memory_order_relaxed);
    transfer.copied.store(0, std::memory_order_relaxed);
    transfer.awaited.store(number, std::memory_order_release);
    awaited_.push_back({number, slot, size, true});
    return awaited_.back();
  }
  void wait(Request& request) {
    if (request.size == 0) return;  // a small one that was sent
    if (request.size <= kInCell)
      get_cell(slots_.incoming(request.slot, request.size), request.size);
    else if (request.receives)
      while (taken_in_ < request.number) go_on();
    else if (in_slots(request.size))
      while (filled_ < request.number) go_on();
    else
      help(request);
    request.size = 0;
  }

  bool in_place() const { return true; }
  Request send_active(std::size_t size) {
    if (size <= kInCell) return send(0, size);
    std::byte* there = area(place_.index(), 2) + (cells_out_ % 16) * 8192;
    std::memcpy(there, outgoing(0, size), size);
    const std::uint64_t offset = static_cast<std::uint64_t>(there - place_.shared(place_.index()));
    put_cell(reinterpret_cast<const std::byte*>(&offset), 8);
    return {};
  }
  void on_active(Look look) { look_ = std::move(look); }
  void take_active(std::size_t size) {
    std::byte cell[kInCell];
    get_cell(cell, size <= kInCell ? size : 8);
    if (size <= kInCell) return look_(cell);
    std::uint64_t offset;
    std::memcpy(&offset, cell, 8);
    look_(place_.shared(place_.partner()) + offset);
  }

  bool one_sided() const { return true; }
  volatile std::byte* window() { return area(place_.index(), 2); }
  Request put(int slot, std::size_t size) {
    std::byte* there = area(place_.partner(), 2) + static_cast<std::size_t>(slot) * size;
    // The last word last: a watcher of the last byte then finds all before it.
    std::memcpy(there, outgoing(slot, size), size - 8);
    std::uint64_t last;
    std::memcpy(&last, outgoing(slot, size) + size - 8, 8);
    reinterpret_cast<std::atomic<std::uint64_t>*>(there + size - 8)->store(last, std::memory_order_release);
    return {};
  }
  Request get(int slot, std::size_t size) {
    std::memcpy(mine(size).incoming(slot, size), area(place_.partner(), 2) + static_cast<std::size_t>(slot) * size,
                size);
    asm volatile("" ::: "memory");
    return {};
  }
  void flush() {}
  void look() { gap(); }

 private:
  static constexpr std::size_t kInCell = host::Slot::kBodyBytes;
  static constexpr std::uint64_t kCells = 512, kTransfers = 2 * kWindow;
  static constexpr std::size_t kOneCopies = 4 << 10;      // up to here the receiver alone
  static constexpr std::size_t kPrivateLeast = 16 << 10;  // smaller ones are not worth a call of the kernel
  static constexpr std::uint64_t kFromBack = 1 << 16;     // in Transfer::claimed
  static constexpr std::size_t kSlotBytes = 32 << 10;
  static constexpr std::uint64_t kSlots = 8;

  struct Transfer {
    alignas(64) std::atomic<std::uint64_t> sent;     // its number, by the sender
    std::atomic<int> source;                         // slot
    alignas(64) std::atomic<std::uint64_t> awaited;  // its number, by the receiver
    std::atomic<int> target;
    alignas(64) std::atomic<std::uint64_t> claimed;  // its number << 32 | pieces from the back << 16 | from the front
    std::atomic<std::uint32_t> copied;
    alignas(64) std::atomic<std::uint64_t> done;  // its number
  };
  // From one side to its partner.
  struct Road {
    host::Slot cells[kCells];
    alignas(64) std::atomic<std::uint64_t> taken;
    alignas(64) std::atomic<std::uint64_t> filled;
    alignas(64) std::atomic<std::uint64_t> emptied;
    Transfer transfers[kTransfers];
  };
  Road& road(int from) const { return *reinterpret_cast<Road*>(place_.shared(from)); }
  /// 0: to send from, 1: to receive into, 2: what the partner reaches.
  std::byte* area(int side, int which) const {
    constexpr std::size_t kRoad = (sizeof(Road) + 4095) & ~std::size_t{4095};
    static_assert(kRoad + 2 * Slots::kBytes + kMostBytes <= kSharedBytes);
    return place_.shared(side) + kRoad + static_cast<std::size_t>(which) * Slots::kBytes;
  }
  bool is_private(std::size_t size) const { return bulk_ != Bulk::mapped && size >= kPrivateLeast; }
  bool in_slots(std::size_t size) const { return bulk_ == Bulk::slots && size >= kPrivateLeast; }
  const Slots& mine(std::size_t size) const { return is_private(size) ? own_ : slots_; }
  const Slots& their(std::size_t size) const { return is_private(size) ? their_own_ : theirs_; }

  /// Some 60 ns in which the line that is awaited is left alone.
  void gap() const {
    const std::uint64_t begin = platform::ticks();
    while (platform::ticks() - begin < 120) {
    }
    place_.relax();
  }

  void put_cell(const std::byte* bytes, std::size_t size) {
    while (cells_out_ - taken_ >= kCells) {
      taken_ = out_.taken.load(std::memory_order_acquire);
      if (cells_out_ - taken_ >= kCells) gap();
    }
    host::Slot& cell = out_.cells[cells_out_ % kCells];
    std::memcpy(cell.body, bytes, size);
    cell.word.store(++cells_out_, std::memory_order_release);
    streak_ = 0;
    platform::prefetch_for_write(&out_.cells[(cells_out_ + 4) % kCells]);
  }
  void get_cell(std::byte* into, std::size_t size) {
    host::Slot& cell = in_.cells[cells_in_ % kCells];
    if (cell.word.load(std::memory_order_acquire) != cells_in_ + 1) {
      // In a stream, a reader at the sender's heels takes each line away from it: let it get ahead.
      for (int i = 0; streak_ > 4 && i < 8; ++i) gap();
      while (cell.word.load(std::memory_order_acquire) != cells_in_ + 1) gap();
      platform::prefetch_for_write(&out_.cells[cells_out_ % kCells]);  // an answer may follow soon
    }
    ++streak_;
    std::memcpy(into, cell.body, size);
    if (streak_ > 4) platform::prefetch(&in_.cells[(cells_in_ + 4) % kCells]);
    if ((++cells_in_ & 127) == 0) in_.taken.store(cells_in_, std::memory_order_release);
  }

  // As machine/shm divides them (pair.cpp): what was fastest.
  std::uint64_t piece_of(std::uint64_t size) const {
    if (size <= kOneCopies) return size;
    const std::uint64_t most = 128 << 10;
    if (is_private(size))
      return std::clamp(round_up(size / 4, 4096), round_up(std::min(size / 2, most / 2), 4096), most);
    return std::clamp(round_up(size / 16, 4096), round_up(std::min(size / 4, most / 8), 4096), most);
  }
  std::uint64_t pieces(std::size_t size) const { return (size + piece_of(size) - 1) / piece_of(size); }

  /// Copies pieces until none is left unclaimed: the receiver from the front, the sender from the back.
  void copy(Transfer& transfer, const std::byte* from, std::byte* to, std::size_t size, bool receives) {
    const std::uint64_t all = pieces(size), piece = piece_of(size), one = receives ? 1 : kFromBack;
    for (std::uint64_t word = transfer.claimed.load(std::memory_order_acquire);;) {
      const std::uint64_t front = word % kFromBack, back = word / kFromBack % kFromBack;
      if (front + back >= all) return;
      if (!transfer.claimed.compare_exchange_weak(word, word + one, std::memory_order_acq_rel)) continue;
      const std::size_t at = piece * (receives ? front : all - 1 - back);
      copy_piece(to + at, from + at, std::min<std::size_t>(piece, size - at), receives, size);
      transfer.copied.fetch_add(1, std::memory_order_acq_rel);
      word = transfer.claimed.load(std::memory_order_acquire);
    }
  }
  void copy_piece(std::byte* to, const std::byte* from, std::size_t bytes, bool receives, std::size_t size) {
    if (!is_private(size)) return std::memcpy(to, from, bytes), void();
    const int failed = receives ? host::copy_from_process(process_, to, reinterpret_cast<std::uintptr_t>(from), bytes)
                                : host::copy_to_process(process_, reinterpret_cast<std::uintptr_t>(to), from, bytes);
    if (failed != 0) fatal("the kernel doesn't copy between processes here");
  }
  /// The message that is the next to be received, if it was sent.
  void take() {
    const Request& request = awaited_.front();
    Transfer& transfer = in_.transfers[request.number % kTransfers];
    if (transfer.sent.load(std::memory_order_acquire) != request.number) return gap();
    platform::prefetch_for_write(&out_.transfers[(transfers_out_ + 1) % kTransfers].sent);
    const std::byte* from = their(request.size).outgoing(transfer.source.load(std::memory_order_relaxed), request.size);
    std::byte* to = mine(request.size).incoming(request.slot, request.size);
    if (pieces(request.size) == 1) {
      copy_piece(to, from, request.size, true, request.size);
    } else {
      copy(transfer, from, to, request.size, true);
      while (transfer.copied.load(std::memory_order_acquire) < pieces(request.size)) place_.relax();
    }
    transfer.done.store(request.number, std::memory_order_release);
    awaited_.pop_front();
    ++taken_in_;
  }
  void help(const Request& request) {
    Transfer& transfer = out_.transfers[request.number % kTransfers];
    while (transfer.done.load(std::memory_order_acquire) != request.number) {
      if (!awaited_.empty()) take();  // both may be sending
      if (pieces(request.size) == 1 || transfer.awaited.load(std::memory_order_acquire) != request.number) {
        gap();
      } else {
        std::byte* to = their(request.size).incoming(transfer.target.load(std::memory_order_relaxed), request.size);
        copy(transfer, mine(request.size).outgoing(request.slot, request.size), to, request.size, false);
      }
    }
  }

  // ---- slots

  static std::size_t chunk_of(std::size_t size) { return std::clamp<std::size_t>(size / 4, 16 << 10, kSlotBytes); }
  std::byte* slot_at(int side, std::uint64_t number) const { return area(side, 0) + number % kSlots * kSlotBytes; }
  /// What is next to be done of either direction, or a pause.
  void go_on() {
    if (!awaited_.empty() && !in_slots(awaited_.front().size)) return take();
    const bool filled = fill();
    if (!empty() && !filled) gap();
  }
  /// Copies in as long as there are messages and room. False: nothing was done.
  bool fill() {
    bool done = false;
    while (!filling_.empty() && filled_slots_ - out_.emptied.load(std::memory_order_acquire) < kSlots) {
      const Request& request = filling_.front();
      const std::size_t bytes = std::min(chunk_of(request.size), request.size - filled_bytes_);
      std::memcpy(slot_at(place_.index(), filled_slots_),
                  mine(request.size).outgoing(request.slot, request.size) + filled_bytes_, bytes);
      out_.filled.store(++filled_slots_, std::memory_order_release);
      filled_bytes_ += bytes;
      done = true;
      if (filled_bytes_ < request.size) continue;
      filled_ = request.number;
      filled_bytes_ = 0;
      filling_.pop_front();
    }
    return done;
  }
  /// Copies one out. False: there was none.
  bool empty() {
    if (awaited_.empty() || in_.filled.load(std::memory_order_acquire) == emptied_slots_) return false;
    const Request& request = awaited_.front();
    const std::size_t bytes = std::min(chunk_of(request.size), request.size - emptied_bytes_);
    std::memcpy(mine(request.size).incoming(request.slot, request.size) + emptied_bytes_,
                slot_at(place_.partner(), emptied_slots_), bytes);
    in_.emptied.store(++emptied_slots_, std::memory_order_release);
    emptied_bytes_ += bytes;
    if (emptied_bytes_ < request.size) return true;
    emptied_bytes_ = 0;
    awaited_.pop_front();
    ++taken_in_;
    return true;
  }

  Place& place_;
  const Bulk bulk_;
  Road &out_, &in_;
  Slots slots_, theirs_;
  Slots own_{nullptr, nullptr}, their_own_{nullptr, nullptr};  // private
  std::uint32_t process_ = 0;                                  // the partner's
  std::uint64_t cells_out_ = 0, cells_in_ = 0, taken_ = 0;
  std::uint64_t transfers_out_ = 0, transfers_in_ = 0, taken_in_ = 0;
  std::uint64_t streak_ = 0;  // messages taken since the last one was sent
  std::deque<Request> awaited_, filling_;
  std::uint64_t filled_ = 0;                            // messages
  std::uint64_t filled_slots_ = 0, emptied_slots_ = 0;  // in all
  std::size_t filled_bytes_ = 0, emptied_bytes_ = 0;    // of the message at the front
  Look look_;
};

}  // namespace periapt::bench
