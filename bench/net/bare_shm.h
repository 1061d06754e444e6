// What two cores can do at all with memory that both see, as a Side of bench/net. Nothing here could be a transport:
// there are no tags, no header, and each side knows where the other's buffers are.
//
// Small messages: a ring of one-line cells, looked at with a gap in between: a line that is left alone for a moment is
// seen in one transfer instead of two. Larger ones: source and target lie in shared memory; up to 32 KB the receiver
// copies them, above both sides copy, a piece each. In place: written into shared memory and left there.
#pragma once

#include <deque>

#include "base/platform.h"
#include "bench/net/operations.h"
#include "bench/net/place.h"
#include "machine/shm/ring.h"

namespace periapt::bench {

class BareShm {
 public:
  struct Request {
    std::uint64_t number = 0;
    int slot = 0;
    std::size_t size = 0;
    bool receives = false;
  };

  explicit BareShm(Place& place)
      : place_(place),
        out_(road(place.index())),
        in_(road(place.partner())),
        slots_(area(place.index(), 0), area(place.index(), 1)),
        theirs_(area(place.partner(), 0), area(place.partner(), 1)) {}
  static std::string about() { return "bare shared memory"; }
  int index() const { return place_.index(); }
  void meet() {
    place_.meet([] {});
  }
  std::vector<double> gather(double mine) {
    return place_.gather(mine, [] {});
  }
  std::byte* outgoing(int slot, std::size_t size) { return slots_.outgoing(slot, size); }
  const std::byte* incoming(int slot, std::size_t size) { return slots_.incoming(slot, size); }

  Request send(int slot, std::size_t size) {
    if (size <= kInCell) return put_cell(outgoing(slot, size), size), Request{};
    const std::uint64_t number = ++parcels_out_;
    Parcel& parcel = out_.parcels[number % kParcels];
    parcel.source.store(slot, std::memory_order_relaxed);
    parcel.sent.store(number, std::memory_order_release);
    return {number, slot, size, false};
  }
  Request receive(int slot, std::size_t size) {
    if (size <= kInCell) return {0, slot, size, true};
    const std::uint64_t number = ++parcels_in_;
    Parcel& parcel = in_.parcels[number % kParcels];
    parcel.target.store(slot, std::memory_order_relaxed);
    parcel.claimed.store(number << 32, std::memory_order_relaxed);
    parcel.copied.store(0, std::memory_order_relaxed);
    parcel.awaited.store(number, std::memory_order_release);
    awaited_.push_back({number, slot, size, true});
    return awaited_.back();
  }
  void wait(Request& request) {
    if (request.size == 0) return;  // a small one that was sent
    if (request.size <= kInCell)
      get_cell(slots_.incoming(request.slot, request.size), request.size);
    else if (request.receives)
      while (taken_in_ < request.number) take();
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
    std::memcpy(slots_.incoming(slot, size), area(place_.partner(), 2) + static_cast<std::size_t>(slot) * size, size);
    asm volatile("" ::: "memory");
    return {};
  }
  void flush() {}
  void look() { gap(); }

 private:
  static constexpr std::size_t kInCell = shm::Slot::kBodyBytes;
  static constexpr std::uint64_t kCells = 512, kParcels = 2 * kWindow;
  static constexpr std::size_t kPiece = 32 << 10;

  struct Parcel {
    alignas(64) std::atomic<std::uint64_t> sent;     // its number, by the sender
    std::atomic<int> source;                         // slot
    alignas(64) std::atomic<std::uint64_t> awaited;  // its number, by the receiver
    std::atomic<int> target;
    alignas(64) std::atomic<std::uint64_t> claimed;  // its number << 32 | pieces
    std::atomic<std::uint32_t> copied;
    alignas(64) std::atomic<std::uint64_t> done;  // its number
  };
  // From one side to its partner.
  struct Road {
    shm::Slot cells[kCells];
    alignas(64) std::atomic<std::uint64_t> taken;
    Parcel parcels[kParcels];
  };
  Road& road(int from) const { return *reinterpret_cast<Road*>(place_.shared(from)); }
  /// 0: to send from, 1: to receive into, 2: what the partner reaches.
  std::byte* area(int side, int which) const {
    constexpr std::size_t kRoad = (sizeof(Road) + 4095) & ~std::size_t{4095};
    static_assert(kRoad + 2 * Slots::kBytes + kMostBytes <= kSharedBytes);
    return place_.shared(side) + kRoad + static_cast<std::size_t>(which) * Slots::kBytes;
  }

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
    shm::Slot& cell = out_.cells[cells_out_ % kCells];
    std::memcpy(cell.body, bytes, size);
    cell.word.store(++cells_out_, std::memory_order_release);
    streak_ = 0;
    platform::prefetch_for_write(&out_.cells[(cells_out_ + 4) % kCells]);
  }
  void get_cell(std::byte* into, std::size_t size) {
    shm::Slot& cell = in_.cells[cells_in_ % kCells];
    if (cell.word.load(std::memory_order_acquire) != cells_in_ + 1) {
      // In a stream, who is at the sender's heels takes each line away from it: let it get ahead.
      for (int i = 0; streak_ > 4 && i < 8; ++i) gap();
      while (cell.word.load(std::memory_order_acquire) != cells_in_ + 1) gap();
      platform::prefetch_for_write(&out_.cells[cells_out_ % kCells]);  // an answer may follow soon
    }
    ++streak_;
    std::memcpy(into, cell.body, size);
    if (streak_ > 4) platform::prefetch(&in_.cells[(cells_in_ + 4) % kCells]);
    if ((++cells_in_ & 127) == 0) in_.taken.store(cells_in_, std::memory_order_release);
  }

  static std::uint32_t pieces(std::size_t size) { return static_cast<std::uint32_t>((size + kPiece - 1) / kPiece); }
  /// Copies pieces until none is left unclaimed.
  static void copy(Parcel& parcel, const std::byte* from, std::byte* to, std::size_t size) {
    for (std::uint32_t piece; (piece = static_cast<std::uint32_t>(parcel.claimed.fetch_add(1))) < pieces(size);) {
      const std::size_t at = piece * kPiece;
      std::memcpy(to + at, from + at, std::min(kPiece, size - at));
      parcel.copied.fetch_add(1, std::memory_order_acq_rel);
    }
  }
  /// The message that is the next to be received, if it was sent.
  void take() {
    const Request& request = awaited_.front();
    Parcel& parcel = in_.parcels[request.number % kParcels];
    if (parcel.sent.load(std::memory_order_acquire) != request.number) return gap();
    platform::prefetch_for_write(&out_.parcels[(parcels_out_ + 1) % kParcels].sent);
    const std::byte* from = theirs_.outgoing(parcel.source.load(std::memory_order_relaxed), request.size);
    std::byte* to = slots_.incoming(request.slot, request.size);
    if (pieces(request.size) == 1) {
      std::memcpy(to, from, request.size);
    } else {
      copy(parcel, from, to, request.size);
      while (parcel.copied.load(std::memory_order_acquire) < pieces(request.size)) place_.relax();
    }
    parcel.done.store(request.number, std::memory_order_release);
    awaited_.pop_front();
    ++taken_in_;
  }
  void help(const Request& request) {
    Parcel& parcel = out_.parcels[request.number % kParcels];
    while (parcel.done.load(std::memory_order_acquire) != request.number) {
      if (!awaited_.empty()) take();  // both may be sending
      if (pieces(request.size) == 1 || parcel.awaited.load(std::memory_order_acquire) != request.number) {
        gap();
      } else if (static_cast<std::uint32_t>(parcel.claimed.load()) < pieces(request.size)) {
        std::byte* to = theirs_.incoming(parcel.target.load(std::memory_order_relaxed), request.size);
        copy(parcel, slots_.outgoing(request.slot, request.size), to, request.size);
      }
    }
  }

  Place& place_;
  Road &out_, &in_;
  Slots slots_, theirs_;
  std::uint64_t cells_out_ = 0, cells_in_ = 0, taken_ = 0;
  std::uint64_t parcels_out_ = 0, parcels_in_ = 0, taken_in_ = 0;
  std::uint64_t streak_ = 0;  // messages taken since the last one was sent
  std::deque<Request> awaited_;
  Look look_;
};

}  // namespace periapt::bench
