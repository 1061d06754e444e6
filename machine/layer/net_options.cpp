#include "machine/layer/net_options.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <vector>

#include "base/nearest.h"
#include "machine/bootstrap/arguments.h"
#include "machine/bootstrap/layout.h"

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
// Beside these, transports have options of their own.
constexpr const char* kWithValue[] = {"transports", "transport-path", "cost-file",
                                      "rendezvous", "workers",        "gpu-courier"};
constexpr const char* kFlags[] = {"no-shared-memory", "explain-transport"};
// Of the runtime above, and of simulated runs.
constexpr const char* kOfOthers[] = {"sim", "verbose", "balancer", "watchdog", "stacksize"};
// An option that begins like this is meant to be one of these; the beginning of a transport's option up to its '-' too.
constexpr const char* kOurs[] = {"transport", "eager-", "rendezvous-", "credit-", "explain-", "gpu-cour"};

using Factories = std::vector<const ucx::TransportFactory*>;

const ucx::TransportOption* option_of(const Factories& known, const std::string& name) {
  for (const ucx::TransportFactory* factory : known) {
    for (const ucx::TransportOption& option : factory->options) {
      if (name == option.name) return &option;
    }
  }
  return nullptr;
}

bool looks_like_ours(const Factories& known, const std::string& name) {
  const auto begins = [&](std::string_view with) { return !with.empty() && name.rfind(with, 0) == 0; };
  for (const ucx::TransportFactory* factory : known) {
    for (const ucx::TransportOption& option : factory->options) {
      const std::string_view own = option.name;
      if (begins(own.substr(0, own.find('-') + 1))) return true;  // nothing where there is no '-'
    }
  }
  return std::any_of(std::begin(kOurs), std::end(kOurs), begins);
}

void add_own_options(std::vector<std::string_view>& names) {
  for (const SizeOption& option : kSizes) names.push_back(option.name);
  names.insert(names.end(), std::begin(kWithValue), std::end(kWithValue));
  names.insert(names.end(), std::begin(kFlags), std::end(kFlags));
}

void add_options_of(const Factories& known, std::vector<std::string_view>& names) {
  for (const ucx::TransportFactory* factory : known) {
    for (const ucx::TransportOption& option : factory->options) names.push_back(option.name);
  }
}

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

Status refuse(const std::string& name, const Factories& known) {
  std::vector<std::string_view> names;
  add_own_options(names);
  add_options_of(known, names);
  const std::string meant = nearest(name, names);
  const ucx::TransportOption* option = option_of(known, meant);
  return Status::failure("there is no option +" + name + ": did you mean +" + meant + "?" +
                         (option == nullptr ? "" : std::string(" It says ") + option->help + ".") +
                         " (docs/machine.md lists them)");
}

// False: it is none of ours.
Result<bool> take_option(bootstrap::Arguments& arguments, const std::string& name, NetOptions& options) {
  const SizeOption* size = nullptr;
  for (const SizeOption& option : kSizes) {
    if (name == option.name) size = &option;
  }
  const ucx::TransportOption* of_transport = option_of(options.known, name);
  const bool known = size != nullptr || of_transport != nullptr ||
                     std::any_of(std::begin(kWithValue), std::end(kWithValue),
                                 [&](const char* candidate) { return name == candidate; });
  if (!known) {
    if (looks_like_ours(options.known, name)) return refuse(name, options.known);
    return false;
  }
  if (of_transport != nullptr && of_transport->value == nullptr) {
    arguments.take();
    options.others["+" + name] = "on";
    return true;
  }
  Result<std::string> value = arguments.take_value(name);
  if (!value) return value.status();
  if (name == "workers") {
    Result<int> workers = read_workers(*value);
    if (!workers) return workers.status();
    options.workers = *workers;
    return true;
  }
  if (name == "gpu-courier" && *value != "on" && *value != "off") {
    return Status::failure("+gpu-courier wants on or off, not \"" + *value +
                           "\"; without it small messages of GPUs go by the courier where it is faster");
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
  add_own_options(names);
  add_options_of(transports(), names);
}

Status check_option_names(const Factories& transports) {
  std::vector<std::string_view> taken;
  add_own_options(taken);
  taken.insert(taken.end(), std::begin(kOfOthers), std::end(kOfOthers));
  bootstrap::add_layout_options(taken);
  std::map<std::string_view, const char*> owners;
  for (const std::string_view name : taken) owners[name] = nullptr;
  for (const ucx::TransportFactory* factory : transports) {
    for (const ucx::TransportOption& option : factory->options) {
      const auto [other, is_new] = owners.emplace(option.name, factory->name);
      if (is_new) continue;
      return Status::failure("the transport " + std::string(factory->name) + " declares the option +" + option.name +
                             ", and there is one of that name already, of " +
                             (other->second == nullptr ? "every run" : "the transport " + std::string(other->second)) +
                             ". Give it another name in the transport's source");
    }
  }
  return {};
}

bool NetOptions::apart() const { return no_shared_memory || (!transports.empty() && !name_shared_memory(transports)); }

bool NetOptions::kernel_copies() const { return wants_kernel_copies(texts()); }

gpu::CourierUse NetOptions::courier_use(const ucx::OptionText& texts) {
  const std::string said = texts ? texts("+gpu-courier") : std::string();
  return said == "on" ? gpu::CourierUse::on : said == "off" ? gpu::CourierUse::off : gpu::CourierUse::automatic;
}

ucx::OptionText NetOptions::texts() const {
  return [texts = others](const std::string& name) {
    auto found = texts.find(name);
    return found == texts.end() ? std::string() : found->second;
  };
}

Result<NetOptions> take_net_options(int& argc, char** argv) {
  // First: what it loads says which other options there are.
  std::string path;
  for (bootstrap::Arguments arguments(argc, argv); arguments.more();) {
    if (arguments.name() != "transport-path") {
      arguments.skip();
      continue;
    }
    Result<std::string> value = arguments.take_value("transport-path");
    if (!value) return value.status();
    path = *value;
  }
  Result<Factories> known = transports_with(path);
  if (!known) return known.status();
  if (Status names = check_option_names(*known); !names) return names;
  Result<NetOptions> options = take_net_options(argc, argv, std::move(*known));
  if (options && !path.empty()) options->others["+transport-path"] = path;
  return options;
}

Result<NetOptions> take_net_options(int& argc, char** argv, Factories known) {
  NetOptions options;
  options.known = std::move(known);
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
    Result<bool> taken = take_option(arguments, name, options);
    if (!taken) return taken.status();
    if (!*taken) arguments.skip();
  }
  auto transports = options.others.find("+transports");
  if (transports != options.others.end()) options.transports = transports->second;
  return options;
}

}  // namespace periapt::machine
