// What was chosen, and why, in words; and the file that what was measured is kept in.
#include <cstdio>
#include <fstream>
#include <utility>

#include "base/error_text.h"
#include "machine/ucx-like/engine.h"

namespace periapt::ucx {
namespace {

std::string device_name(const Port& port) { return port.device.transport + "/" + port.device.name; }

}  // namespace

std::string EndpointImpl::explain() const {
  std::string text = "worker " + std::to_string(peer_) + ": ";
  if (!failure_.empty()) return text + "gone: " + failure_ + "\n";
  if (rail_ == nullptr) {
    text += "not connected yet; reached over";
    for (auto& rail : rails_) text += " " + device_name(*rail->port);
    return text + "\n";
  }
  const Port& first = *rail_->port;
  text += "over " + device_name(first);
  std::string beside, slow;
  for (auto& rail : rails_) {
    if (rail.get() == rail_) continue;
    std::string& list = plan_.worth(rail->port->device) ? beside : slow;
    list += (list.empty() ? "" : ", ") + device_name(*rail->port) + (rail->unusable ? " (failed)" : "");
  }
  if (!beside.empty()) text += ", and for messages from " + std::to_string(plan_.split_min) + " B beside it " + beside;
  if (!slow.empty()) text += "; not over " + slow + ", more than eight times slower";
  text += "\n  up to " + bytes_text(plan_.inline_max) + ": copied and sent at once: " + plan_.why_inline;
  if (plan_.eager_max > plan_.inline_max) {
    text += "\n  below " + bytes_text(plan_.eager_max + 1) + ": sent at once from where it lies: " + plan_.why_eager;
  }
  if (plan_.hands_over) text += "\n  owned messages of any size: handed over, which this device does without a copy";
  text += "\n  above, or beyond the peer's window of " + bytes_text(static_cast<std::uint64_t>(credit_.window())) +
          ": announced first, then brought";
  // Sizes of which the same is known stand in one line.
  auto way_of = [&](std::size_t bin) {
    return first.times.explain(plan_.ways, worker_.allowed_ways(plan_), WayTimes::bin_begin(bin));
  };
  for (std::size_t bin = 0, end; bin < WayTimes::kSizes; bin = end) {
    const std::string way = way_of(bin);
    for (end = bin + 1; end < WayTimes::kSizes && way_of(end) == way;) ++end;
    text += "\n    " + WayTimes::bins_name(bin, end) + ": " + way;
  }
  if (worker_.forced_ways_ != 0) text += "\n    the way was set by hand (+rendezvous)";
  return text + "\n";
}

std::string WorkerImpl::explain(const Endpoint* endpoint) const {
  if (endpoint != nullptr) return static_cast<const EndpointImpl*>(endpoint)->explain();
  std::string text;
  for (const Device& device : devices_) {
    text += device.transport + "/" + device.name + ": " + (device.usable ? "used: " : "not used: ") + device.detail +
            (device.remedy.empty() ? "" : " (" + device.remedy + ")") + "\n";
  }
  for (auto& known : endpoints_) text += known->explain();
  return text;
}

// ---- the cost file: a line for each device, way and size

void WorkerImpl::read_costs() {
  std::ifstream file(context_.request().cost_file);
  for (std::string line; std::getline(file, line);) {
    for (auto& port : ports_) port->times.read_line(device_name(*port), line);
  }
}

Status WorkerImpl::keep_costs() {
  const std::string& path = context_.request().cost_file;
  bool changed = false;
  for (auto& port : ports_) changed |= port->times.changed();
  if (path.empty() || !changed || std::exchange(tried_to_keep_costs_, true)) return {};
  // What others have measured for devices that are not here stays.
  std::string text;
  std::ifstream old(path);
  for (std::string line; std::getline(old, line);) {
    bool ours = false;
    for (auto& port : ports_) ours |= line.starts_with(device_name(*port) + " ");
    if (!ours && !line.empty()) text += line + "\n";
  }
  for (auto& port : ports_) {
    if (!port->loopback) text += port->times.lines(device_name(*port));
  }
  // Many processes end at the same time: each replaces the file as a whole.
  std::string mine = path + "." + std::to_string(self_);
  std::ofstream file(mine, std::ios::trunc);
  file << text;
  file.close();
  if (file && std::rename(mine.c_str(), path.c_str()) == 0) return {};
  const std::string why = error_text();
  std::remove(mine.c_str());
  return Status::failure("what was measured of ways for large messages could not be kept in " + path + ": " + why);
}

}  // namespace periapt::ucx
