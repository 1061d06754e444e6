// What protocols cost (protocol/protocol.h), over the devices that lead to a peer.
//
// Plan: from what devices can do and say they cost; the thresholds of Limits override it. WayTimes: how long large
// messages really took, by each way, measured by their receivers at first use and remembered (also in a file); the
// receiver decides by them. explain() says both in words.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "machine/ucx-like/context.h"
#include "machine/ucx-like/transport.h"

namespace periapt::ucx {

/// How a large message gets over, once its receiver is known.
enum class LargeWay : std::uint8_t { data, get, put };
inline constexpr std::size_t kLargeWays = 3;
constexpr unsigned bit_of(LargeWay way) { return 1u << static_cast<unsigned>(way); }
const char* name_of(LargeWay way);
/// "64 KiB", "119999 B".
std::string bytes_text(std::uint64_t bytes);
/// The ways that `+rendezvous text` allows, as bits; 0: all.
Result<unsigned> ways_by_hand(const std::string& text);

struct Plan {
  std::uint64_t inline_max = 0;  ///< up to here: copied by send_inline()
  std::uint64_t eager_max = 0;   ///< up to here: sent at once, from where it lies; above: announced
  std::uint64_t part_max = 0;    ///< of one data message
  std::uint64_t split_min = 0;   ///< from here on over all rails that are worth it
  double best_bytes_per_ns = 0;  ///< of the rails
  bool hands_over = false;       ///< owned messages of any size change owner instead
  std::uint64_t lent_max = 0;    ///< of one message that is lent or handed over
  double copying = 0;            ///< ns that a byte takes which a side copies
  double lending_ns = 0;         ///< of lending, so that it breaks even behind inline_max
  double asking_ns = 0;          ///< of announcing, so that it breaks even behind eager_max
  bool same_host = false;        ///< so a peer may be able to map memory of ours
  unsigned ways = 0;             ///< for large messages that the devices have, a bit each
  bool reaches_gpus = false;     ///< one of the devices reads and writes memory that is not the host's
  std::string why_inline, why_eager;

  /// Half of the messages are unexpected, and copied by their receiver.
  double receiving_ns(std::uint64_t size) const { return static_cast<double>(size) * copying / 2; }

  /// Does a rail help beside the best one?
  bool worth(const Device& device) const { return device.costs.bytes_per_ns * kSlowerMost >= best_bytes_per_ns; }
};

/// `devices`: of the rails to a peer, the one for ordered messages first.
Plan make_plan(const std::vector<const Device*>& devices, const Limits& limits);

/// What large messages took over one device, by way and size.
class WayTimes {
 public:
  static constexpr unsigned kEnough = 3;  ///< samples of each way before one is preferred

  /// The way to take: one that has too few samples yet, else the fastest.
  LargeWay choose(unsigned ways, std::uint64_t size) const;
  /// What that way costs for a message of that size, in ns; 0: it has too few samples yet.
  double cost_ns(LargeWay way, std::uint64_t size) const;
  void note(LargeWay way, std::uint64_t size, std::uint64_t ns);
  /// "by get, the fastest: get 12.1 GB/s, data 4.0 GB/s; the device has no put", for sizes like that one.
  std::string explain(unsigned had, unsigned allowed, std::uint64_t size) const;

  /// Lines of a cost file for a device, and back. A line of another device, or of none, says nothing.
  std::string lines(const std::string& device) const;
  void read_line(const std::string& device, const std::string& line);
  bool changed() const { return changed_; }
  /// Whether it is one that lines() may have written, for whatever device.
  static bool is_line(const std::string& line);

  static constexpr std::size_t kSizes = 4;
  static std::size_t bin_of(std::uint64_t size);
  /// The least size of a bin; the sizes of the bins [first, end) in words.
  static std::uint64_t bin_begin(std::size_t bin);
  static std::string bins_name(std::size_t first, std::size_t end);

 private:
  struct Cell {
    double best_bytes_per_ns = 0;
    unsigned samples = 0;
  };
  std::array<std::array<Cell, kSizes>, kLargeWays> cells_;
  bool changed_ = false;
};

}  // namespace periapt::ucx
