#include "machine/layer/net_options.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <vector>

namespace periapt::machine {
namespace {

struct SizeOption {
  const char* name;
  std::uint64_t ucx::Limits::*field;
};
constexpr SizeOption kSizes[] = {{"eager-copy-max", &ucx::Limits::eager_copy_max},
                                 {"rendezvous-min", &ucx::Limits::rendezvous_min},
                                 {"credit-bytes", &ucx::Limits::credit_bytes},
                                 {"unexpected-bytes", &ucx::Limits::unexpected_bytes},
                                 {"registrations", &ucx::Limits::registrations}};
// The transports read these themselves (docs/transports.md).
constexpr const char* kWithValue[] = {"transports", "transport-path", "net-devices", "net-timeout",
                                      "cost-file",  "shm-cma",        "shm-direct"};
// Whoever begins like this means one of ours.
constexpr const char* kOurs[] = {"net-", "transport", "shm-", "eager-", "rendezvous-", "credit-", "explain-"};

// "64K" and the like.
Result<std::uint64_t> read_size(const std::string& option, const std::string& text) {
  char* end = nullptr;
  const unsigned long long number = std::strtoull(text.c_str(), &end, 10);
  static const std::string units = "KMGT";
  std::uint64_t value = number;
  if (*end != 0 && end != text.c_str()) {
    const std::size_t unit = units.find(static_cast<char>(std::toupper(*end)));
    if (unit != std::string::npos) {
      value <<= 10 * (unit + 1);
      ++end;
    }
  }
  if (text.empty() || text[0] == '-' || *end != 0) {
    return Status::failure("+" + option + " wants a number of bytes, like 8192, 64K or 1M, not \"" + text + "\"");
  }
  return value;
}

void take(int& argc, char** argv, int at) {
  for (int i = at; i < argc; ++i) argv[i] = argv[i + 1];
  --argc;
}

std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

Status refuse(const std::string& name) {
  std::string nearest;
  const auto consider = [&](const char* candidate) {
    if (nearest.empty() || distance(name, candidate) < distance(name, nearest)) nearest = candidate;
  };
  for (const SizeOption& option : kSizes) consider(option.name);
  for (const char* candidate : kWithValue) consider(candidate);
  for (const char* candidate : {"no-shared-memory", "explain-transport"}) consider(candidate);
  return Status::failure("there is no option +" + name + ": did you mean +" + nearest + "? (docs/machine.md lists them)");
}

// False: it is none of ours.
Result<bool> take_with_value(int& argc, char** argv, int at, const std::string& name, NetOptions& options) {
  const SizeOption* size = nullptr;
  for (const SizeOption& option : kSizes) {
    if (name == option.name) size = &option;
  }
  const bool known = size != nullptr || std::any_of(std::begin(kWithValue), std::end(kWithValue),
                                                    [&](const char* candidate) { return name == candidate; });
  if (!known) {
    for (const char* ours : kOurs) {
      if (name.rfind(ours, 0) == 0) return refuse(name);
    }
    return false;
  }
  if (at + 1 >= argc) return Status::failure("+" + name + " is the last argument, but wants a value behind it");
  const std::string value = argv[at + 1];
  take(argc, argv, at);
  take(argc, argv, at);
  if (size == nullptr) {
    options.others["+" + name] = value;
    return true;
  }
  Result<std::uint64_t> bytes = read_size(name, value);
  if (!bytes) return bytes.status();
  options.limits.*size->field = *bytes;
  return true;
}

}  // namespace

bool NetOptions::apart() const {
  return no_shared_memory || (!transports.empty() && transports.find("shm") == std::string::npos);
}

bool NetOptions::kernel_copies() const {
  const auto given = others.find("+shm-cma");
  return given == others.end() || given->second != "off";
}

Result<NetOptions> take_net_options(int& argc, char** argv) {
  NetOptions options;
  for (int i = 1; i < argc;) {
    const char* name = argv[i];
    if (name[0] != '+') {
      ++i;
      continue;
    }
    name += name[1] == '+' ? 2 : 1;
    bool* flag = std::strcmp(name, "no-shared-memory") == 0    ? &options.no_shared_memory
                 : std::strcmp(name, "explain-transport") == 0 ? &options.explain
                 : std::strcmp(name, "verbose") == 0           ? &options.verbose
                                                               : nullptr;
    if (flag != nullptr) {
      *flag = true;
      take(argc, argv, i);
      continue;
    }
    if (std::strcmp(name, "noCMAForZC") == 0) {  // what Charm++ calls it
      options.others["+shm-cma"] = "off";
      take(argc, argv, i);
      continue;
    }
    Result<bool> taken = take_with_value(argc, argv, i, name, options);
    if (!taken) return taken.status();
    if (!*taken) ++i;
  }
  auto transports = options.others.find("+transports");
  if (transports != options.others.end()) options.transports = transports->second;
  return options;
}

}  // namespace periapt::machine
