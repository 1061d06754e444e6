#include "lang/ci-translator/diagnostics.h"

#include <algorithm>
#include <cctype>

namespace periapt::ci {
namespace {

/// Edit distance with insertion, deletion, substitution and swap of neighbours (Damerau; optimal string alignment).
std::size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, const std::vector<std::string_view>& known) {
  std::string_view best;
  if (word.size() > 64) return best;
  std::size_t bestCost = 1 + word.size() / 3;  // further away than this is no longer the same word
  for (std::string_view candidate : known) {
    const std::size_t cost = editDistance(word, candidate);
    if (cost >= word.size()) continue;
    if (cost < bestCost || (cost == bestCost && best.empty())) {
      best = candidate;
      bestCost = cost;
    }
  }
  return best;
}

void Diagnostics::error(Span at, std::string message, std::string hint) {
  add({at, true, std::move(message), std::move(hint)});
}

void Diagnostics::warning(Span at, std::string message, std::string hint) {
  add({at, false, std::move(message), std::move(hint)});
}

void Diagnostics::warningOfFile(std::string message, std::string hint) {
  add({{0, 0}, false, std::move(message), std::move(hint), true});
}

void Diagnostics::add(Diagnostic entry) {
  for (const Diagnostic& earlier : entries_)
    if (earlier.at.begin == entry.at.begin && earlier.message == entry.message) return;
  if (entry.isError && full()) return;
  errors_ += entry.isError;
  entries_.push_back(std::move(entry));
}

std::string Diagnostics::render() const {
  std::vector<const Diagnostic*> ordered;
  for (const Diagnostic& entry : entries_) ordered.push_back(&entry);
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const Diagnostic* a, const Diagnostic* b) { return a->at.begin < b->at.begin; });
  std::string out;
  for (const Diagnostic* entry : ordered) {
    const Location at = source_.locate(entry->at);
    if (entry->ofFile) {
      out += at.file + ": warning: " + entry->message + "\n";
      if (!entry->hint.empty()) out += "  = hint: " + entry->hint + "\n";
      continue;
    }
    out += at.file + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": " +
           (entry->isError ? "error: " : "warning: ") + entry->message + "\n";
    const std::string number = std::to_string(at.line);
    const std::string margin(std::max<std::size_t>(number.size(), 4), ' ');
    // Of a very long line only the part around the place is shown.
    const std::size_t from = at.column > 140 ? at.column - 60 : 0;
    const std::string shown = (from ? "..." : "") + at.lineText.substr(std::min(from, at.lineText.size()), 160);
    out += margin.substr(0, margin.size() - number.size()) + number + " | " + shown + "\n";
    std::string under;  // tabs are kept, so that the caret stands under its column whatever the tab width
    const std::size_t column = at.column - from + (from ? 3 : 0);
    for (std::size_t i = 0; i + 1 < column; ++i) under += i < shown.size() && shown[i] == '\t' ? '\t' : ' ';
    under += '^' + std::string(std::min<std::size_t>(at.width, 100) - 1, '~');
    out += margin + " | " + under + "\n";
    if (!entry->hint.empty()) out += margin + " = hint: " + entry->hint + "\n";
  }
  if (full()) out += "too many errors; the rest is not shown\n";
  return out;
}

}  // namespace periapt::ci
