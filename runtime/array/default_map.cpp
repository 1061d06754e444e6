#include "runtime/array/default_map.h"

#include <algorithm>
#include <fstream>
#include <numeric>
#include <sstream>
#include <utility>

#include "base/fatal.h"
#include "base/file_text.h"

namespace periapt {
namespace chare {
namespace {

// The distance along a Hilbert curve through a cube of 2^bits a side: J. Skilling, "Programming the Hilbert curve", AIP
// Conference Proceedings 707, 2004.
std::uint64_t hilbert_distance(std::vector<std::uint32_t> x, int bits) {
  const std::size_t n = x.size();
  const std::uint32_t top = 1u << (bits - 1);
  for (std::uint32_t q = top; q > 1; q >>= 1) {
    const std::uint32_t p = q - 1;
    for (std::size_t i = 0; i < n; ++i) {
      if (x[i] & q) {
        x[0] ^= p;
      } else {
        const std::uint32_t t = (x[0] ^ x[i]) & p;
        x[0] ^= t;
        x[i] ^= t;
      }
    }
  }
  for (std::size_t i = 1; i < n; ++i) x[i] ^= x[i - 1];
  std::uint32_t t = 0;
  for (std::uint32_t q = top; q > 1; q >>= 1)
    if (x[n - 1] & q) t ^= q - 1;
  for (std::uint32_t& xi : x) xi ^= t;
  std::uint64_t distance = 0;
  for (int bit = bits - 1; bit >= 0; --bit)
    for (const std::uint32_t xi : x) distance = distance << 1 | (xi >> bit & 1);
  return distance;
}

int round_robin_of(std::int64_t value, int pes) {
  const int pe = static_cast<int>(value % pes);
  return pe < 0 ? pe + pes : pe;
}

}  // namespace

Placement::Placement(const CkArrayIndex& bounds, int pes)
    : bounds_(bounds), pes_(pes), count_(bounds.count64()), blocks_(count_, pes) {}

Placement Placement::fast(const CkArrayIndex& bounds, int pes) {
  Placement placement(bounds, pes);
  placement.kind_ = Kind::fast;
  placement.blocks_.smaller = std::max<std::int64_t>(1, (placement.count_ + pes - 1) / pes);
  return placement;
}

Placement Placement::round_robin(const CkArrayIndex& bounds, int pes) {
  Placement placement(bounds, pes);
  placement.kind_ = Kind::round_robin;
  return placement;
}

Placement Placement::by_node(const CkArrayIndex& bounds, int nodes, int pes_per_node) {
  Placement placement(bounds, nodes * pes_per_node);
  placement.kind_ = Kind::by_node;
  placement.pes_per_node_ = pes_per_node;
  placement.blocks_ = Blocks(placement.count_, nodes);
  return placement;
}

Placement Placement::table(const CkArrayIndex& bounds, int pes, std::vector<int> pe_of_element) {
  Placement placement(bounds, pes);
  placement.kind_ = Kind::table;
  placement.table_ = std::move(pe_of_element);
  return placement;
}

Placement Placement::hilbert(const CkArrayIndex& bounds, int pes) {
  const Placement blocks(bounds, pes);
  if (bounds.dimension != 2 && bounds.dimension != 3) return blocks;  // one dimension is its own curve
  const std::size_t n = bounds.dimension;
  int bits = 1;
  for (int d = 0; d < bounds.dimension; ++d)
    while (bounds.coordinate(d) > 1 << bits) ++bits;
  std::vector<std::pair<std::uint64_t, std::int64_t>> along;
  along.reserve(static_cast<std::size_t>(blocks.count_));
  std::vector<std::uint32_t> at(n);
  const IndexRange range(bounds);
  for (auto i = range.begin(); i != range.end(); ++i) {
    for (std::size_t d = 0; d < n; ++d) at[d] = static_cast<std::uint32_t>(i->coordinate(static_cast<int>(d)));
    along.emplace_back(hilbert_distance(at, bits), i.position());
  }
  std::sort(along.begin(), along.end());
  std::vector<int> pe_of_element(along.size());
  for (std::size_t rank = 0; rank < along.size(); ++rank)
    pe_of_element[static_cast<std::size_t>(along[rank].second)] = blocks.pe_at(static_cast<std::int64_t>(rank));
  return table(bounds, pes, std::move(pe_of_element));
}

int Placement::pe_at(std::int64_t position) const {
  switch (kind_) {
    case Kind::blocks:
      return static_cast<int>(blocks_.part_of(position));
    case Kind::fast:
      return static_cast<int>(position / blocks_.smaller);
    case Kind::round_robin:
      return round_robin_of(position, pes_);
    case Kind::by_node: {
      const std::int64_t node = blocks_.part_of(position);
      const Blocks inside(blocks_.size_of(node), pes_per_node_);
      return static_cast<int>(node * pes_per_node_ + inside.part_of(position - blocks_.first_of(node)));
    }
    case Kind::table:
      break;
  }
  if (table_.empty()) return round_robin_of(position, pes_);
  return table_[static_cast<std::size_t>(position) % table_.size()];
}

std::int64_t Placement::first_on(int pe) const {
  return kind_ == Kind::fast ? std::min<std::int64_t>(pe * blocks_.smaller, count_) : blocks_.first_of(pe);
}

int Placement::pe_outside(const CkArrayIndex& index) const {
  if (index.dimension == 1) return round_robin_of(index.index[0], pes_);
  return static_cast<int>(index.hash64() % static_cast<std::uint64_t>(pes_));
}

std::vector<int> read_placement(const std::string& path, std::int64_t count, int pes,
                                const std::function<int(int, int, int, int)>& rank_of) {
  const Status is_file = check_is_file(path, true);
  std::ifstream file;
  if (is_file) file.open(path);
  if (!is_file || !file)
    fatal("the array map's file " + path + " can't be read" + (is_file ? "" : ": " + is_file.message()), {}, {},
          "It names the PE of each element, one line for each");
  std::vector<int> placement;
  std::string line;
  for (int number = 1; static_cast<std::int64_t>(placement.size()) < count && std::getline(file, line); ++number) {
    const std::string where = path + ":" + std::to_string(number) + ": ";
    std::istringstream words(line);
    std::vector<int> values;
    for (int value; words >> value;) values.push_back(value);
    if (values.empty() && words.eof() && line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const bool coordinates = values.size() == 4 && rank_of;
    if (!words.eof() || (values.size() != 1 && !coordinates))
      fatal(where + "expected " + (rank_of ? "a PE, or four coordinates x y z t" : "a PE") + ", found \"" + line +
            "\"");
    const int pe = coordinates ? rank_of(values[0], values[1], values[2], values[3]) : values[0];
    if (pe < 0 || pe >= pes)
      fatal(where + "PE " + std::to_string(pe) + " doesn't exist: this run has PEs 0 to " + std::to_string(pes - 1));
    placement.push_back(pe);
  }
  if (static_cast<std::int64_t>(placement.size()) < count)
    fatal(path + " names the PEs of " + std::to_string(placement.size()) + " elements, the array has " +
              std::to_string(count),
          {}, {}, "Add a line for each of the others");
  return placement;
}

std::vector<int> proportional_placement(std::int64_t count, const std::vector<double>& speeds) {
  const double total = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  std::vector<std::int64_t> share(speeds.size());
  std::vector<double> lost(speeds.size());
  std::int64_t left = count;
  for (std::size_t pe = 0; pe < speeds.size(); ++pe) {
    const double exact = static_cast<double>(count) * speeds[pe] / total;
    share[pe] = static_cast<std::int64_t>(exact);
    lost[pe] = exact - static_cast<double>(share[pe]);
    left -= share[pe];
  }
  std::vector<std::size_t> order(speeds.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return lost[a] > lost[b]; });
  for (std::size_t i = 0; left > 0; ++i, --left) ++share[order[i % order.size()]];
  std::vector<int> placement;
  placement.reserve(static_cast<std::size_t>(count));
  for (std::size_t pe = 0; pe < speeds.size(); ++pe)
    placement.insert(placement.end(), static_cast<std::size_t>(share[pe]), static_cast<int>(pe));
  return placement;
}

std::vector<int> configured_placement(const std::string& text, std::int64_t count, int pes) {
  std::istringstream words(text);
  int objects = 0, block_pes = 0;
  words >> objects >> block_pes;
  std::vector<int> locations;
  for (int location; words >> location;) locations.push_back(location);
  bool fine = words.eof() && objects > 0 && block_pes > 0 && locations.size() == static_cast<std::size_t>(objects);
  for (const int location : locations) fine = fine && location >= 0 && location < block_pes;
  if (!fine)
    fatal("+ConfigurableRRMap \"" + text + "\" is not understood", {}, {},
          "It says: objects per block, PEs per block, then for each object of a block its PE within the block, as in "
          "\"4 2 0 0 1 1\"");
  std::vector<int> placement(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    placement[static_cast<std::size_t>(i)] =
        round_robin_of(i / objects * block_pes + locations[static_cast<std::size_t>(i % objects)], pes);
  return placement;
}

}  // namespace chare
}  // namespace periapt
