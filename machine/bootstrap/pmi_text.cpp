#include "machine/bootstrap/pmi_text.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace periapt::bootstrap {

PmiFields parse_pmi1(const std::string& line) {
  PmiFields fields;
  std::size_t at = 0;
  while (at < line.size()) {
    std::size_t end = line.find_first_of(" \n", at);
    if (end == std::string::npos) end = line.size();
    std::size_t equals = line.find('=', at);
    if (equals < end && equals > at) fields[line.substr(at, equals - at)] = line.substr(equals + 1, end - equals - 1);
    at = end + 1;
  }
  return fields;
}

std::string format_pmi1(const PmiPairs& fields) {
  std::string line;
  for (const auto& [name, value] : fields) line += (line.empty() ? "" : " ") + name + "=" + value;
  return line + "\n";
}

PmiFields parse_pmi2(const std::string& record) {
  PmiFields fields;
  std::string name, text;
  bool in_value = false;
  for (std::size_t i = 0; i < record.size(); ++i) {
    char c = record[i];
    if (!in_value && c == '=') {
      name = std::move(text);
      text.clear();
      in_value = true;
    } else if (c == ';' && i + 1 < record.size() && record[i + 1] == ';') {
      text += ';';
      ++i;
    } else if (c == ';') {
      if (in_value && !name.empty()) fields[name] = std::move(text);
      text.clear();
      in_value = false;
    } else {
      text += c;
    }
  }
  return fields;
}

std::string format_pmi2(const PmiPairs& fields) {
  std::string body;
  for (const auto& [name, value] : fields) {
    body += name + "=";
    for (char c : value) body.append(c == ';' ? 2 : 1, c);
    body += ';';
  }
  char length[16];
  std::snprintf(length, sizeof(length), "%6zu", body.size());
  return length + body;
}

long parse_pmi2_length(const std::string& six_characters) {
  long length = 0;
  bool digits = false, ended = false;
  for (char c : six_characters) {
    if (c == ' ') {
      ended = digits;
    } else if (c >= '0' && c <= '9' && !ended) {
      length = length * 10 + (c - '0');
      digits = true;
    } else {
      return -1;
    }
  }
  return digits && six_characters.size() == kPmi2LengthDigits ? length : -1;
}

long pmi_number(const PmiFields& fields, const std::string& name, long fallback) {
  auto found = fields.find(name);
  if (found == fields.end() || found->second.empty()) return fallback;
  char* end = nullptr;
  long value = std::strtol(found->second.c_str(), &end, 10);
  return *end == '\0' ? value : fallback;
}

std::string shown(const std::string& bytes) {
  constexpr std::size_t kMost = 200;
  std::string text = "\"";
  for (char c : bytes.substr(0, kMost)) text += c >= ' ' && c <= '~' ? c : '?';
  return text + (bytes.size() > kMost ? "...\"" : "\"");
}

namespace {
constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

int digit_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '-') return 62;
  return c == '_' ? 63 : -1;
}
}  // namespace

std::string encode_text(const std::string& bytes) {
  std::string text;
  text.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t bits = 0;
  int held = 0;
  for (char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (held += 8; held >= 6; held -= 6) text += kAlphabet[bits >> (held - 6) & 63];
  }
  if (held > 0) text += kAlphabet[bits << (6 - held) & 63];
  return text;
}

bool decode_text(const std::string& text, std::string& bytes) {
  bytes.clear();
  std::uint32_t bits = 0;
  int held = 0;
  for (char c : text) {
    int digit = digit_of(c);
    if (digit < 0) return false;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held & 255);
  }
  return held < 6;
}

}  // namespace periapt::bootstrap
