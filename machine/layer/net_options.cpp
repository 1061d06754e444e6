#include "machine/layer/net_options.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <vector>

#include "base/nearest.h"
#include "machine/bootstrap/arguments.h"

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
constexpr const char* kWithValue[] = {"transports", "transport-path", "net-devices", "net-timeout", "cost-file",
                                      "shm-cma",    "shm-direct",     "rendezvous",  "workers"};
// Whoever begins like this means one of ours.
constexpr const char* kOurs[] = {"net-", "transport", "shm-", "eager-", "rendezvous-", "credit-", "explain-"};

// "64K" and the like.
Result<std::uint64_t> read_size(const std::string& option, const std::string& text) {
  const auto wrong = [&] {
    return Status::failure("+" + option + " wants a number of bytes, like 8192, 64K or 1M, not \"" + text + "\"");
  };
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return wrong();
  const std::string unit(end, text.data() + text.size());
  static const std::string units = "KMGT";
  const std::size_t which = unit.size() == 1 ? units.find(static_cast<char>(std::toupper(unit[0]))) : std::string::npos;
  if (!unit.empty() && which == std::string::npos) return wrong();
  const std::size_t shift = unit.empty() ? 0 : 10 * (which + 1);
  if (value > ~std::uint64_t{0} >> shift) return wrong();
  return value << shift;
}

Result<int> read_workers(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= 1 && value <= NetOptions::kWorkersMax)
    return value;
  return Status::failure("+workers wants a number from 1 to " + std::to_string(NetOptions::kWorkersMax) +
                         ", of engines that a process has for other hosts, not \"" + text + "\"");
}

Status refuse(const std::string& name) {
  std::vector<std::string_view> known;
  add_net_options(known);
  return Status::failure("there is no option +" + name + ": did you mean +" + nearest(name, known) +
                         "? (docs/machine.md lists them)");
}

// False: it is none of ours.
Result<bool> take_with_value(bootstrap::Arguments& arguments, const std::string& name, NetOptions& options) {
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
  Result<std::string> value = arguments.take_value(name);
  if (!value) return value.status();
  if (name == "workers") {
    Result<int> workers = read_workers(*value);
    if (!workers) return workers.status();
    options.workers = *workers;
    return true;
  }
  if (size == nullptr) {
    options.others["+" + name] = *value;
    return true;
  }
  Result<std::uint64_t> bytes = read_size(name, *value);
  if (!bytes) return bytes.status();
  options.limits.*size->field = *bytes;
  return true;
}

}  // namespace

void add_net_options(std::vector<std::string_view>& names) {
  for (const SizeOption& option : kSizes) names.push_back(option.name);
  names.insert(names.end(), std::begin(kWithValue), std::end(kWithValue));
  names.insert(names.end(), {"no-shared-memory", "explain-transport"});
}

bool NetOptions::apart() const {
  return no_shared_memory || (!transports.empty() && ("," + transports + ",").find(",shm,") == std::string::npos);
}

bool NetOptions::kernel_copies() const {
  const auto given = others.find("+shm-cma");
  return given == others.end() || given->second != "off";
}

Result<NetOptions> take_net_options(int& argc, char** argv) {
  NetOptions options;
  for (bootstrap::Arguments arguments(argc, argv); arguments.more();) {
    const std::string name = arguments.name();
    bool* flag = name == "no-shared-memory"    ? &options.no_shared_memory
                 : name == "explain-transport" ? &options.explain
                 : name == "verbose"           ? &options.verbose
                                               : nullptr;
    if (flag != nullptr) {
      *flag = true;
      arguments.take();
      continue;
    }
    if (name == "noCMAForZC") {  // what Charm++ calls it
      options.others["+shm-cma"] = "off";
      arguments.take();
      continue;
    }
    Result<bool> taken = take_with_value(arguments, name, options);
    if (!taken) return taken.status();
    if (!*taken) arguments.skip();
  }
  auto transports = options.others.find("+transports");
  if (transports != options.others.end()) options.transports = transports->second;
  return options;
}

}  // namespace periapt::machine
