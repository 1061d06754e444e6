// See profile.h.
#include "runtime/trace/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace periapt::trace {
namespace {

template <class Number>
void halve(std::vector<Number>& bins) {
  const std::size_t half = bins.size() / 2;
  for (std::size_t i = 0; i < half; ++i) bins[i] = bins[2 * i] + bins[2 * i + 1];
  std::fill(bins.begin() + static_cast<std::ptrdiff_t>(half), bins.end(), 0);
}

// Numbers in a row, those that repeat as "NUMBER+TIMES".
class RunLengths {
 public:
  explicit RunLengths(std::string& text, int width) : text_(text), width_(width) {}
  ~RunLengths() { write(); }
  void add(std::uint64_t number) {
    if (times_ > 0 && number == number_) {
      ++times_;
      return;
    }
    write();
    number_ = number;
    times_ = 1;
  }

 private:
  void write() {
    if (times_ == 0) return;
    if (width_ == 0) text_ += ' ';
    fmt::format_to(std::back_inserter(text_), "{:{}}", number_, width_);
    if (times_ > 1) fmt::format_to(std::back_inserter(text_), "+{}", times_);
    times_ = 0;
  }
  std::string& text_;
  const int width_;
  std::uint64_t number_ = 0;
  std::size_t times_ = 0;
};

}  // namespace

Profile::Profile(int pe, int pes, std::size_t entries, int bins, double bin_seconds, bool detail)
    : pe_(pe),
      pes_(pes),
      detail_(detail),
      bin_ns_(std::max<std::uint64_t>(1, static_cast<std::uint64_t>(bin_seconds * 1e9))),
      busy_(static_cast<std::size_t>(bins)),
      idle_(static_cast<std::size_t>(bins)),
      entries_(entries) {}

void Profile::reach(std::uint64_t ns) {
  while (ns / bin_ns_ >= busy_.size()) {
    halve(busy_);
    halve(idle_);
    for (EntryTimes& entry : entries_) {
      halve(entry.by_bin);
      halve(entry.begun);
    }
    bin_ns_ *= 2;
  }
}

template <class Add>
void Profile::spread(std::uint64_t begin_ns, std::uint64_t end_ns, Add&& add) {
  for (std::uint64_t at = begin_ns; at < end_ns;) {
    const std::uint64_t bin = at / bin_ns_;
    const std::uint64_t until = std::min(end_ns, (bin + 1) * bin_ns_);
    add(static_cast<std::size_t>(bin), until - at);
    at = until;
  }
}

void Profile::called(std::uint16_t entry) { ++entries_[entry].calls; }

void Profile::executed(std::uint16_t number, std::uint64_t begin_ns, std::uint64_t end_ns) {
  reach(end_ns);
  EntryTimes& entry = entries_[number];
  entry.ns += end_ns - begin_ns;
  entry.longest_ns = std::max(entry.longest_ns, end_ns - begin_ns);
  if (detail_ && entry.by_bin.empty()) {
    entry.by_bin.resize(busy_.size());
    entry.begun.resize(busy_.size());
  }
  spread(begin_ns, end_ns, [&](std::size_t bin, std::uint64_t ns) {
    busy_[bin] += ns;
    if (detail_) entry.by_bin[bin] += ns;
  });
  if (detail_) ++entry.begun[static_cast<std::size_t>(begin_ns / bin_ns_)];
}

void Profile::idled(std::uint64_t begin_ns, std::uint64_t end_ns) {
  reach(end_ns);
  spread(begin_ns, end_ns, [&](std::size_t bin, std::uint64_t ns) { idle_[bin] += ns; });
}

std::size_t Profile::used_bins(std::uint64_t end_ns) const {
  return std::min<std::size_t>(busy_.size(), static_cast<std::size_t>(end_ns / bin_ns_) + 1);
}

std::string Profile::text(std::uint64_t end_ns) const {
  const std::size_t bins = used_bins(end_ns);
  std::string text = fmt::format("ver:7.1 {}/{} count:{} ep:{} interval:{:e} phases:0\n", pe_, pes_, bins,
                                 entries_.size(), static_cast<double>(bin_ns_) * 1e-9);
  const auto percents = [&](const std::vector<std::uint64_t>& by_bin) {
    RunLengths run(text, 4);
    for (std::size_t i = 0; i < bins; ++i) run.add(std::min<std::uint64_t>(100, by_bin[i] * 100 / bin_ns_));
  };
  percents(busy_);
  const auto row = [&](const char* name, auto&& value) {
    text += name;
    for (const EntryTimes& entry : entries_) fmt::format_to(std::back_inserter(text), "{} ", value(entry));
    text += '\n';
  };
  row("\nEPExeTime: ", [](const EntryTimes& entry) { return entry.ns / 1000; });
  row("EPCallTime: ", [](const EntryTimes& entry) { return entry.calls; });
  row("MaxEPTime: ", [](const EntryTimes& entry) { return entry.longest_ns / 1000; });
  text += "NumMarks: 0 \nIdlePercent: ";
  percents(idle_);
  return text + "\n";
}

std::string Profile::text_by_interval(std::uint64_t end_ns) const {
  const std::size_t bins = used_bins(end_ns);
  std::string text = fmt::format("ver:7.1 cpu:{}/{} numIntervals:{} numEPs:{} intervalSize:{:e}\n", pe_, pes_, bins,
                                 entries_.size(), static_cast<double>(bin_ns_) * 1e-9);
  const auto row = [&](const char* name, auto&& value) {
    text += name;
    RunLengths run(text, 0);
    for (const EntryTimes& entry : entries_)
      for (std::size_t i = 0; i < bins; ++i) run.add(entry.by_bin.empty() ? 0 : value(entry, i));
  };
  row("ExeTimePerEPperInterval", [](const EntryTimes& entry, std::size_t i) { return entry.by_bin[i] / 1000; });
  row("\nEPCallTimePerInterval", [](const EntryTimes& entry, std::size_t i) { return std::uint64_t{entry.begun[i]}; });
  return text + "\n";
}

}  // namespace periapt::trace
