// See changes.h.
#include "runtime/order/changes.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/fatal.h"

namespace periapt::order {

namespace {
constexpr int pe_max = 1 << 30;

// Takes a number from the beginning of `text`.
bool take_number(std::string_view& text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}
bool take(std::string_view& text, char sign) {
  if (text.empty() || text.front() != sign) return false;
  text.remove_prefix(1);
  return true;
}

Status no_changes(std::string_view item) {
  return Status::failure("'" + std::string(item.substr(0, 40)) + "' is none");
}
}  // namespace

Result<Changes> Changes::parse(const std::string& text) {
  std::string list = text;
  if (text.rfind('@', 0) == 0) {
    std::ifstream file(text.substr(1), std::ios::binary);
    if (!file) return Status::failure(text.substr(1) + " cannot be read: " + std::strerror(errno));
    list.assign(std::istreambuf_iterator<char>(file), {});
    while (!list.empty() && (list.back() == '\n' || list.back() == ' ')) list.pop_back();
  }
  Changes changes;
  if (list == "all") return changes;
  changes.all_ = false;
  if (list == "none") return changes;
  for (std::string_view rest = list;;) {
    const std::string_view item = rest.substr(0, rest.find(','));
    std::string_view left = item;
    std::uint64_t pe = 0, first = 0, last = 0;
    if (!take_number(left, pe) || pe > pe_max || !take(left, ':') || !take_number(left, first)) return no_changes(item);
    last = first;
    if (take(left, '-') && (!take_number(left, last) || last < first)) return no_changes(item);
    if (!left.empty()) return no_changes(item);
    changes.pes_[static_cast<int>(pe)].emplace_back(first, last);
    if (item.size() == rest.size()) break;
    rest.remove_prefix(item.size() + 1);
  }
  for (auto& [_, ranges] : changes.pes_) {
    std::sort(ranges.begin(), ranges.end());
    std::vector<OfPe::Range> apart;
    for (const OfPe::Range& range : ranges) {
      if (!apart.empty() && range.first <= apart.back().second)
        apart.back().second = std::max(apart.back().second, range.second);
      else
        apart.push_back(range);
    }
    ranges = std::move(apart);
  }
  return changes;
}

Changes::OfPe Changes::of(int pe) const {
  OfPe own;
  own.all_ = all_;
  if (const auto found = pes_.find(pe); found != pes_.end()) own.ranges_ = found->second;
  return own;
}

std::uint64_t Changes::count() const {
  std::uint64_t sum = 0;
  for (const auto& [_, ranges] : pes_)
    for (const auto& [first, last] : ranges) sum += last - first + 1;
  return sum;
}

ChangeLog::ChangeLog(std::string name) : name_(std::move(name)), file_(std::fopen(name_.c_str(), "we")) {
  if (file_) return;
  fatal("the log " + name_ + " cannot be written: " + std::strerror(errno), "+fuzz-log", "",
        "name a file in a folder that is there");
}
ChangeLog::~ChangeLog() { std::fclose(file_); }
void ChangeLog::add(std::uint64_t decision, const std::string& what) {
  std::fprintf(file_, "%llu %s\n", static_cast<unsigned long long>(decision), what.c_str());
  std::fflush(file_);
}

}  // namespace periapt::order
