// Which devices there are, and which of them were asked for.
#include "machine/ucx-like/context.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <sstream>

#include "base/error_text.h"
#include "base/file_text.h"
#include "base/nearest.h"
#include "machine/ucx-like/header.h"
#include "machine/ucx-like/plan.h"

namespace periapt::ucx {
namespace {

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> names;
  for (std::size_t from = 0; from <= list.size();) {
    std::size_t to = std::min(list.find(',', from), list.size());
    if (to > from) names.push_back(list.substr(from, to - from));
    from = to + 1;
  }
  return names;
}

Status unknown(const std::string& name, const std::vector<const TransportFactory*>& factories) {
  std::string all;
  std::vector<std::string_view> known;
  for (const TransportFactory* factory : factories) {
    known.push_back(factory->name);
    all += (all.empty() ? "" : ", ") + std::string(factory->name);
  }
  return Status::failure("there is no transport \"" + name + "\": did you mean \"" + nearest(name, known) +
                         "\"? There are: " + all);
}

// Those that were asked for, in that order; all when none was.
Result<std::vector<const TransportFactory*>> wanted_of(const ContextRequest& request) {
  if (request.transports.empty()) return request.factories;
  std::vector<const TransportFactory*> wanted;
  for (const std::string& name : split(request.transports)) {
    auto known = std::find_if(request.factories.begin(), request.factories.end(),
                              [&](const TransportFactory* factory) { return name == factory->name; });
    if (known == request.factories.end()) return unknown(name, request.factories);
    wanted.push_back(*known);
  }
  if (wanted.empty()) {
    return Status::failure("+transports \"" + request.transports +
                           "\" names none: leave it out to use all that are usable");
  }
  return wanted;
}

OpenRequest open_request_of(const ContextRequest& request) {
  OpenRequest open;
  open.self = request.self;
  open.secret = request.secret;
  open.host = request.host;
  open.one_host = request.one_host;
  open.cpus = request.cpus;
  open.number_on_host = request.number_on_host;
  open.option = request.option ? request.option : [](const std::string&) { return std::string(); };
  return open;
}

class ContextImpl final : public Context {
 public:
  explicit ContextImpl(ContextRequest request) : request_(std::move(request)) {}

  Status find_devices() {
    Result<std::vector<const TransportFactory*>> wanted = wanted_of(request_);
    if (!wanted) return wanted.status();
    const OpenRequest open = open_request_of(request_);
    std::string why;
    bool usable = false;
    for (const TransportFactory* factory : *wanted) {
      for (Device& device : factory->probe(open)) {
        check(device);
        usable |= device.usable;
        if (!device.usable) {
          why += "\n  " + describe(device);
        }
        devices_.push_back(std::move(device));
      }
    }
    if (!usable) return Status::failure("no transport can be used here:" + (why.empty() ? " none was found" : why));
    return {};
  }

  const std::vector<Device>& devices() const override { return devices_; }
  const ContextRequest& request() const override { return request_; }

 private:
  // A transport that cannot do what the engine needs at least is passed over with the reason.
  static void check(Device& device) {
    if (!device.usable) return;
    if (device.can.max_header >= kHeaderBytes && (device.can.max_inline >= 1024 || device.can.max_lent >= 1024)) return;
    device.usable = false;
    device.detail = "carries headers of " + std::to_string(device.can.max_header) + " and messages of " +
                    std::to_string(std::max(device.can.max_inline, device.can.max_lent)) + " bytes: at least " +
                    std::to_string(kHeaderBytes) + " and 1024 are needed";
  }

  ContextRequest request_;
  std::vector<Device> devices_;
};

constexpr std::size_t kCostFileMost = std::size_t{16} << 20;  // lines of a hundred bytes

// At the end of the run it is written anew, and lines of other devices are kept: so it must be a file of costs already,
// or one that can be made.
Status check_cost_file(const std::string& path) {
  if (path.empty()) return {};
  const std::string it = "+cost-file " + path;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return Status::failure(it + " is a folder: name a file in it");
  // It will be replaced, so it may not be a pipe either.
  if (Status is_file = check_is_file(path, false); !is_file) return Status::failure(it + ": " + is_file.message());
  Result<std::string> text = std::filesystem::exists(path, ignored) ? read_file(path, kCostFileMost) : std::string();
  if (!text) return Status::failure(it + " cannot be read: " + text.message());
  std::istringstream file(*text);
  int number = 1;
  for (std::string line; std::getline(file, line); ++number) {
    if (!line.empty() && !WayTimes::is_line(line)) {
      return Status::failure(
          it + " is not a file of costs: line " + std::to_string(number) +
          " is not a device, a way, a size and a rate; name another file, or one that is not there yet");
    }
  }
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const char* where = folder.empty() ? "." : folder.c_str();
  struct statvfs disk;
  const bool full = ::statvfs(where, &disk) == 0 && disk.f_blocks != 0 && disk.f_bfree == 0;
  if (!full && ::access(where, W_OK) == 0) return {};
  return Status::failure(it + " cannot be written: its folder: " + error_text(full ? ENOSPC : errno));
}

}  // namespace

Status check_request(const ContextRequest& request) {
  Result<std::vector<const TransportFactory*>> wanted = wanted_of(request);
  if (!wanted) return wanted.status();
  const OpenRequest open = open_request_of(request);
  if (Result<unsigned> ways = ways_by_hand(open.option("+rendezvous")); !ways) return ways.status();
  if (Status writable = check_cost_file(request.cost_file); !writable) return writable;
  for (const TransportFactory* factory : request.factories) {
    for (const TransportOption& option : factory->options) {
      const std::string text = open.option(std::string("+") + option.name);
      if (text.empty() || option.check == nullptr) continue;
      if (Status sensible = option.check(text); !sensible) return sensible;
    }
  }
  return {};
}

Result<std::unique_ptr<Context>> Context::create(ContextRequest request) {
  auto context = std::make_unique<ContextImpl>(std::move(request));
  Status found = context->find_devices();
  if (!found.ok()) return found;
  return std::unique_ptr<Context>(std::move(context));
}

std::string describe(const Device& device) {
  return device.transport + (device.name.empty() ? "" : "/" + device.name) + ": " + device.detail +
         (device.remedy.empty() ? "" : " (" + device.remedy + ")");
}

const char* describe(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok:
      return "done";
    case Outcome::cancelled:
      return "cancelled";
    case Outcome::peer_lost:
      return "the peer is gone";
    case Outcome::too_long:
      return "the message is longer than the room for it";
    case Outcome::no_memory:
      return "no memory";
    case Outcome::bad_key:
      return "the key does not give access to that memory";
    case Outcome::unsupported:
      return "the transport does not offer that";
    case Outcome::failed:
      break;
  }
  return "failed";
}

}  // namespace periapt::ucx
