#include "machine/sim/model.h"

#include <algorithm>
#include <cmath>

namespace periapt::sim {

Time bytes_time(std::uint64_t bytes, double G) {
  return bytes <= 1 ? 0 : static_cast<Time>(std::llround(static_cast<double>(bytes - 1) * G));
}

Model::Model(LogGP costs, std::unique_ptr<Topology> topology) : costs_(costs), topology_(std::move(topology)) {
  links_.resize(static_cast<std::size_t>(topology_->links()));
  out_.resize(static_cast<std::size_t>(topology_->nodes()));
  in_.resize(static_cast<std::size_t>(topology_->nodes()));
}

// Waits until it is free, and holds it. Returns when the head of the message goes in.
Time Model::take(LinkUse& use, Time at, Time occupied, std::uint64_t bytes) {
  const Time start = std::max(at, use.free_at);
  waited_ += start - at;
  use.free_at = start + occupied;
  use.busy += occupied;
  ++use.messages;
  use.bytes += bytes;
  return start;
}

Time Model::send(Time ready, int from, int to, std::uint64_t bytes) {
  const Time adapter = bytes_time(bytes, costs_.G);
  const Time wire = bytes_time(bytes, costs_.link_G);
  path_.clear();
  topology_->route(from, to, path_);
  Time head = take(out_[static_cast<std::size_t>(from)], ready, adapter + costs_.g, bytes);
  Time tail = adapter;
  for (LinkId link : path_) {
    head = take(links_[static_cast<std::size_t>(link)], head, wire, bytes) + costs_.hop;
    tail = std::max(tail, wire);  // the slowest part of the way sets the pace
  }
  head = take(in_[static_cast<std::size_t>(to)], head + costs_.L, adapter + costs_.g, bytes);
  if (path_.size() >= by_hops_.size()) by_hops_.resize(path_.size() + 1);
  ++by_hops_[path_.size()].messages;
  by_hops_[path_.size()].bytes += bytes;
  return head + tail;
}

Time Model::unloaded(Time ready, int from, int to, std::uint64_t bytes) const {
  const auto hops = static_cast<Time>(topology_->hops(from, to));
  const Time adapter = bytes_time(bytes, costs_.G);
  const Time tail = hops == 0 ? adapter : std::max(adapter, bytes_time(bytes, costs_.link_G));
  return ready + costs_.L + hops * costs_.hop + tail;
}

const LinkUse* Model::busiest(std::string* name) const {
  const LinkUse* most = nullptr;
  auto look = [&](const std::vector<LinkUse>& uses, auto&& name_of) {
    for (std::size_t i = 0; i < uses.size(); ++i) {
      if (uses[i].messages == 0 || (most != nullptr && uses[i].busy <= most->busy)) continue;
      most = &uses[i];
      *name = name_of(static_cast<int>(i));
    }
  };
  look(links_, [&](int i) { return topology_->name_of(i); });
  look(out_, [](int i) { return "adapter of node " + std::to_string(i) + ", sending"; });
  look(in_, [](int i) { return "adapter of node " + std::to_string(i) + ", receiving"; });
  return most;
}

}  // namespace periapt::sim
