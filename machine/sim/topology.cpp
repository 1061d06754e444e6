#include "machine/sim/topology.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <numeric>

#include "base/nearest.h"

namespace periapt::sim {
namespace {

constexpr int kMostNodes = 1 << 20;

std::string times(const std::vector<int>& sizes) {
  std::string text;
  for (int size : sizes) {
    if (!text.empty()) text += 'x';
    text += std::to_string(size);
  }
  return text;
}

class Flat : public Topology {
 public:
  explicit Flat(int nodes) { nodes_ = nodes; }
  void route(int, int, std::vector<LinkId>&) const override {}
  std::string name_of(LinkId) const override { return "none"; }
  std::string describe() const override { return "flat, " + std::to_string(nodes_) + " nodes"; }
};

// Link: node * 2 dimensions, then up and down of each.
class Torus : public Topology {
 public:
  explicit Torus(std::vector<int> sizes) : sizes_(std::move(sizes)) {
    nodes_ = std::accumulate(sizes_.begin(), sizes_.end(), 1, std::multiplies<>());
    links_ = nodes_ * 2 * static_cast<int>(sizes_.size());
  }
  void route(int from, int to, std::vector<LinkId>& path) const override {
    const int dimensions = static_cast<int>(sizes_.size());
    int stride = 1;
    for (int d = 0; d < dimensions; ++d) {
      const int size = sizes_[static_cast<std::size_t>(d)];
      int at = from / stride % size;
      const int goal = to / stride % size;
      const int upward = (goal - at + size) % size;
      const bool up = upward <= size - upward;
      for (int left = up ? upward : size - upward; left > 0; --left) {
        path.push_back((from * dimensions + d) * 2 + (up ? 0 : 1));
        const int next = (at + (up ? 1 : size - 1)) % size;
        from += (next - at) * stride;
        at = next;
      }
      stride *= size;
    }
  }
  std::vector<int> coordinates(int node) const override {
    std::vector<int> at;
    for (int size : sizes_) at.push_back(node % size), node /= size;
    return at;
  }
  std::vector<int> dimensions() const override { return sizes_; }
  std::string name_of(LinkId link) const override {
    const int dimensions = static_cast<int>(sizes_.size());
    std::string place;
    for (int c : coordinates(link / 2 / dimensions)) {
      if (!place.empty()) place += ',';
      place += std::to_string(c);
    }
    return "torus link of node (" + place + "), " + (link % 2 == 0 ? "up" : "down") + " in dimension " +
           std::to_string(link / 2 % dimensions);
  }
  std::string describe() const override { return std::to_string(sizes_.size()) + "D torus " + times(sizes_); }

 private:
  std::vector<int> sizes_;
};

// Level l (0: leaf switches) has subtrees of size_[l] nodes, each with lanes_[l] links up to the level above and as
// many down from it. Links: for each level but the top, all lanes up of all subtrees, then all lanes down.
class FatTree : public Topology {
 public:
  FatTree(std::vector<int> arity, int taper) : arity_(std::move(arity)), taper_(taper) {
    nodes_ = std::accumulate(arity_.begin(), arity_.end(), 1, std::multiplies<>());
    int size = 1;
    for (std::size_t level = 0; level + 1 < arity_.size(); ++level) {
      size *= arity_[level];
      size_.push_back(size);
      lanes_.push_back(std::max(1, size / taper));
      first_.push_back(links_);
      links_ += 2 * (nodes_ / size) * lanes_.back();
    }
  }
  void route(int from, int to, std::vector<LinkId>& path) const override {
    std::size_t levels = 0;  // to climb
    while (levels < size_.size() && from / size_[levels] != to / size_[levels]) ++levels;
    for (std::size_t l = 0; l < levels; ++l) path.push_back(first_[l] + from / size_[l] * lanes_[l] + to % lanes_[l]);
    for (std::size_t l = levels; l-- > 0;)
      path.push_back(first_[l] + (nodes_ / size_[l] + to / size_[l]) * lanes_[l] + to % lanes_[l]);
  }
  std::string name_of(LinkId link) const override {
    std::size_t level = size_.size() - 1;
    while (link < first_[level]) --level;
    link -= first_[level];
    const int subtrees = nodes_ / size_[level];
    const bool up = link < subtrees * lanes_[level];
    const int subtree = link / lanes_[level] % subtrees;
    return std::string("fat tree link ") + (up ? "up from" : "down to") + " the level " + std::to_string(level + 1) +
           " switches of nodes " + std::to_string(subtree * size_[level]) + "-" +
           std::to_string((subtree + 1) * size_[level] - 1) + ", lane " + std::to_string(link % lanes_[level]);
  }
  std::string describe() const override {
    return "fat tree " + times(arity_) + (taper_ > 1 ? ", taper " + std::to_string(taper_) : "");
  }

 private:
  std::vector<int> arity_, size_, lanes_, first_;
  int taper_;
};

// Links: a x a within each group (local), then group x group (global). The global link from group i to group j leaves
// at the router that has the j-th share of i's links.
class Dragonfly : public Topology {
 public:
  Dragonfly(int nodes_a_router, int routers, int groups)
      : p_(nodes_a_router), a_(routers), g_(groups), h_(std::max(1, (groups - 1 + routers - 1) / routers)) {
    nodes_ = p_ * a_ * g_;
    links_ = g_ * a_ * a_ + g_ * g_;
  }
  void route(int from, int to, std::vector<LinkId>& path) const override {
    const int from_router = from / p_, to_router = to / p_;
    const int from_group = from_router / a_, to_group = to_router / a_;
    int at = from_router % a_;
    if (from_group != to_group) {
      local(from_group, at, gateway(from_group, to_group), path);
      path.push_back(g_ * a_ * a_ + from_group * g_ + to_group);
      at = gateway(to_group, from_group);
    }
    local(to_group, at, to_router % a_, path);
  }
  std::string name_of(LinkId link) const override {
    if (link >= g_ * a_ * a_) {
      link -= g_ * a_ * a_;
      return "dragonfly global link from group " + std::to_string(link / g_) + " to group " + std::to_string(link % g_);
    }
    return "dragonfly local link in group " + std::to_string(link / (a_ * a_)) + " from router " +
           std::to_string(link / a_ % a_) + " to router " + std::to_string(link % a_);
  }
  std::string describe() const override {
    return "dragonfly of " + std::to_string(g_) + " groups of " + std::to_string(a_) + " routers of " +
           std::to_string(p_) + " nodes, " + std::to_string(h_) + " global links a router";
  }

 private:
  int gateway(int group, int other) const { return (other < group ? other : other - 1) / h_; }
  void local(int group, int from, int to, std::vector<LinkId>& path) const {
    if (from != to) path.push_back((group * a_ + from) * a_ + to);
  }
  int p_, a_, g_, h_;
};

// "8x8x16": all of it, positive, and not so many that it must be a mistake.
Result<std::vector<int>> parse_sizes(const std::string& text, std::size_t fewest, std::size_t most,
                                     const std::string& example) {
  std::vector<int> sizes;
  std::int64_t product = 1;
  const char* at = text.data();
  const char* end = at + text.size();
  while (true) {
    int size = 0;
    auto [next, error] = std::from_chars(at, end, size);
    product *= size;
    if (error != std::errc() || size < 1 || product > kMostNodes || (next != end && *next != 'x') ||
        (next != end && next + 1 == end))
      return Status::failure("\"" + text + "\" is not a list of sizes for a topology; write it like " + example +
                             (product > kMostNodes ? " (and with a million nodes at most)" : ""));
    sizes.push_back(size);
    if (next == end) break;
    at = next + 1;
  }
  if (sizes.size() < fewest || sizes.size() > most)
    return Status::failure("\"" + text + "\" has " + std::to_string(sizes.size()) + " sizes; write it like " + example);
  return sizes;
}

Result<std::unique_ptr<Topology>> make(const std::string& kind, std::string sizes, int nodes) {
  using Made = std::unique_ptr<Topology>;
  if (kind == "flat") {
    if (!sizes.empty()) return Status::failure("a flat topology has no sizes; write topology=flat");
    return Made(new Flat(std::max(nodes, 1)));
  }
  if (kind == "torus") {
    if (sizes.empty()) return Status::failure("a torus wants its sizes; write it like topology=torus:8x8x16");
    auto parsed = parse_sizes(sizes, 1, 4, "topology=torus:8x8x16 (1 to 4 dimensions)");
    if (!parsed) return parsed.status();
    return Made(new Torus(*parsed));
  }
  if (kind == "fattree") {
    int taper = 1;
    if (auto slash = sizes.find('/'); slash != std::string::npos) {
      auto parsed = parse_sizes(sizes.substr(slash + 1), 1, 1, "topology=fattree:16x8/2");
      if (!parsed) return parsed.status();
      taper = parsed->front();
      sizes.resize(slash);
    }
    if (sizes.empty()) sizes = "16x" + std::to_string((std::max(nodes, 1) + 15) / 16);
    auto parsed = parse_sizes(sizes, 1, 6, "topology=fattree:16x8x4");
    if (!parsed) return parsed.status();
    return Made(new FatTree(*parsed, taper));
  }
  if (kind == "dragonfly") {
    auto parsed = parse_sizes(sizes, 3, 3, "topology=dragonfly:4x8x9 (nodes a router x routers a group x groups)");
    if (!parsed) return parsed.status();
    return Made(new Dragonfly((*parsed)[0], (*parsed)[1], (*parsed)[2]));
  }
  return Status::failure("there is no topology \"" + kind + "\"; did you mean " +
                         nearest(kind, {"flat", "torus", "fattree", "dragonfly"}) +
                         "? There are flat, torus, fattree and dragonfly");
}

}  // namespace

Result<std::unique_ptr<Topology>> Topology::parse(const std::string& text, int nodes) {
  const std::size_t colon = text.find(':');
  auto made = make(text.substr(0, colon), colon == std::string::npos ? "" : text.substr(colon + 1), nodes);
  if (made && nodes > (*made)->nodes())
    return Status::failure("topology=" + text + " has room for " + std::to_string((*made)->nodes()) +
                           " nodes, but nodes=" + std::to_string(nodes) + "; make it larger, or leave nodes= out");
  return made;
}

}  // namespace periapt::sim
