#include "lang/ci-translator/source.h"

#include <algorithm>
#include <cctype>
#include <optional>

namespace periapt::ci {
namespace {

bool isSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

struct Marker {
  std::size_t number;
  std::string file;  // empty: the same as before
};

/// Reads `# 12 "file" 1` and `#line 12 "file"`.
std::optional<Marker> readMarker(std::string_view line) {
  std::size_t at = 0;
  auto skipSpace = [&] {
    while (at < line.size() && isSpace(line[at])) ++at;
  };
  skipSpace();
  if (at == line.size() || line[at] != '#') return std::nullopt;
  ++at;
  skipSpace();
  if (line.substr(at, 4) == "line") at += 4;
  skipSpace();
  Marker marker{0, {}};
  std::size_t digits = 0;
  for (; at < line.size() && std::isdigit(static_cast<unsigned char>(line[at])) && digits < 9; ++at, ++digits)
    marker.number = marker.number * 10 + static_cast<std::size_t>(line[at] - '0');
  if (digits == 0) return std::nullopt;
  skipSpace();
  if (at < line.size() && line[at] == '"') {
    for (++at; at < line.size() && line[at] != '"'; ++at) {
      if (line[at] == '\\' && at + 1 < line.size()) ++at;
      marker.file += line[at];
    }
  }
  return marker;
}

std::vector<std::string_view> splitLines(std::string_view text) {
  std::vector<std::string_view> lines;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end == text.npos ? text.npos : end - begin));
    if (end == text.npos) return lines;
    begin = end + 1;
  }
}

std::string withoutSpace(std::string_view text) {
  std::string out;
  std::copy_if(text.begin(), text.end(), std::back_inserter(out), [](char c) { return !isSpace(c); });
  return out;
}

/// Column (from 0) in `to` of the character at `column` of `from`; both lines are equal but for spaces.
std::size_t mapColumn(std::string_view from, std::size_t column, std::string_view to) {
  std::size_t before = 0;
  for (std::size_t i = 0; i < column && i < from.size(); ++i) before += !isSpace(from[i]);
  // A place behind the last of `before` characters stays behind it; a place at a character stays at that character.
  const bool atCharacter = column < from.size() && !isSpace(from[column]);
  std::size_t seen = 0;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (isSpace(to[i])) continue;
    if (atCharacter && seen == before) return i;
    ++seen;
    if (!atCharacter && seen == before) return i + 1;
  }
  return atCharacter ? to.size() : std::min(column, to.size());
}

}  // namespace

SourceText::SourceText(std::string text, std::string file) : text_(std::move(text)) {
  std::size_t current = fileIndex(file);
  std::size_t number = 1;
  for (std::string_view line : splitLines(text_)) {
    const auto begin = static_cast<std::size_t>(line.data() - text_.data());
    lines_.push_back({begin, number, current});
    if (auto marker = readMarker(line)) {
      if (!marker->file.empty()) current = fileIndex(marker->file);
      number = marker->number;
    } else {
      ++number;
    }
  }
}

std::size_t SourceText::fileIndex(const std::string& name) {
  const auto found = std::find(files_.begin(), files_.end(), name);
  if (found != files_.end()) return static_cast<std::size_t>(found - files_.begin());
  files_.push_back(name);
  return files_.size() - 1;
}

void SourceText::setOriginal(const std::string& file, std::string_view text) {
  auto& lines = originals_[file];
  lines.clear();
  for (std::string_view line : splitLines(text)) lines.emplace_back(line);
}

std::string_view SourceText::slice(Span span) const {
  return std::string_view(text_).substr(span.begin, span.end - span.begin);
}

const SourceText::Line& SourceText::lineAt(std::size_t offset) const {
  auto after = std::upper_bound(lines_.begin(), lines_.end(), offset,
                                [](std::size_t at, const Line& line) { return at < line.begin; });
  return *(after - 1);  // the first line begins at 0
}

std::size_t SourceText::lineOf(std::size_t offset) const { return lineAt(offset).number; }
const std::string& SourceText::fileOf(std::size_t offset) const { return files_[lineAt(offset).file]; }

Location SourceText::locate(Span span) const {
  const Line& line = lineAt(span.begin);
  const std::size_t lineEnd = std::min(text_.find('\n', line.begin), text_.size());
  std::string_view here = std::string_view(text_).substr(line.begin, lineEnd - line.begin);
  std::size_t first = span.begin - line.begin;
  std::size_t last = std::min(span.end, lineEnd) - line.begin;
  if (last < first) last = first;
  const auto original = originals_.find(files_[line.file]);
  if (original != originals_.end() && line.number >= 1 && line.number <= original->second.size()) {
    const std::string& theirs = original->second[line.number - 1];
    if (theirs != here && withoutSpace(theirs) == withoutSpace(here)) {
      const std::size_t mapped = mapColumn(here, first, theirs);
      last = last == first ? mapped : mapColumn(here, last - 1, theirs) + 1;
      first = mapped;
      here = theirs;
    }
  }
  std::string shown(here);
  while (!shown.empty() && shown.back() == '\r') shown.pop_back();
  return {files_[line.file], line.number, first + 1, std::max<std::size_t>(last - first, 1), std::move(shown)};
}

}  // namespace periapt::ci
