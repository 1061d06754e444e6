// See partners.h.
#include "runtime/loadbalance/partners.h"

#include <algorithm>
#include <limits>

namespace periapt::loadbalance {

ObjectIndex::ObjectIndex(const LoadDatabase& database) {
  for (const ObjectLoad& object : database.objects) {
    Table& table = arrays_[object.array];
    table.least = std::min(table.least, object.element);
    table.most = std::max(table.most, object.element);
    ++table.count;
  }
  for (auto& [array, table] : arrays_) {
    const std::uint64_t range = table.most - table.least;
    if (range < 4 * table.count + 64)
      table.dense.assign(range + 1, none);
    else
      table.sparse.reserve(table.count);
  }
  for (std::size_t i = 0; i < database.objects.size(); ++i) {
    const ObjectLoad& object = database.objects[i];
    Table& table = arrays_[object.array];
    const auto place = static_cast<std::uint32_t>(i);
    if (!table.dense.empty())
      table.dense[object.element - table.least] = place;
    else if (object.element != FlatMap<std::uint32_t>::kEmpty)
      *table.sparse.try_emplace(object.element, place).first = place;
  }
}

std::uint32_t ObjectIndex::find(ElementName name) const {
  const auto found = arrays_.find(name.array);
  if (found == arrays_.end()) return none;
  const Table& table = found->second;
  if (name.element < table.least || name.element > table.most) return none;
  if (!table.dense.empty()) return table.dense[name.element - table.least];
  const std::uint32_t* const place = table.sparse.find(name.element);
  return place ? *place : none;
}

namespace {
std::uint32_t sum_of(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(a + b, std::numeric_limits<std::uint32_t>::max()));
}

// Sorts a row and makes one entry of those for the same object. Returns the new end.
Partner* merge_row(Partner* begin, Partner* end) {
  std::sort(begin, end, [](const Partner& a, const Partner& b) { return a.object < b.object; });
  Partner* kept = begin;
  for (Partner* next = begin; next != end; ++next) {
    if (kept != begin && kept[-1].object == next->object) {
      kept[-1].messages = sum_of(kept[-1].messages, next->messages);
      kept[-1].bytes += next->bytes;
    } else {
      *kept++ = *next;
    }
  }
  return kept;
}
}  // namespace

Partners::Partners(const LoadDatabase& database)
    : begin_(database.objects.size() + 1), end_(database.objects.size() + 1) {
  if (database.communication.empty()) return;
  const ObjectIndex index(database);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  pairs.reserve(database.communication.size());
  for (const Communication& c : database.communication) {
    const std::uint32_t from = index.find(c.from), to = index.find(c.to);
    const bool inside = from != ObjectIndex::none && to != ObjectIndex::none && from != to;
    pairs.emplace_back(inside ? from : ObjectIndex::none, to);
    if (!inside) continue;
    ++begin_[from + 1];
    ++begin_[to + 1];
  }
  for (std::size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
  end_ = begin_;
  all_.resize(begin_.back());
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    const auto [from, to] = pairs[k];
    if (from == ObjectIndex::none) continue;
    const Communication& c = database.communication[k];
    all_[end_[from]++] = {to, sum_of(c.messages, 0), c.bytes};
    all_[end_[to]++] = {from, sum_of(c.messages, 0), c.bytes};
  }
  for (std::size_t i = 0; i + 1 < begin_.size(); ++i)
    end_[i] = static_cast<std::size_t>(merge_row(all_.data() + begin_[i], all_.data() + end_[i]) - all_.data());
}

std::size_t Partners::size() const {
  std::size_t sum = 0;
  for (std::size_t i = 0; i + 1 < begin_.size(); ++i) sum += end_[i] - begin_[i];
  return sum;
}

}  // namespace periapt::loadbalance
