// The shared part of a process.
#include "examples/nbody/cache.h"

#include <algorithm>
#include <utility>

extern CProxy_TreePiece pieces;
extern CProxy_Cache cache;
extern CProxy_Helper helpers;
extern Settings settings;

namespace {
// Sent in answer to one request: a piece's tree of some 500 particles, so that few ask twice.
constexpr std::size_t excerpt_nodes = 256;
}  // namespace

void Cache::plant(int n, const Root* roots, bool onGpu, CkCallback done) {
  {
    const std::lock_guard guard(lock_);
    nodes_.clear();
    blocks_.clear();
    idle_.clear();
    isAnyIdle_ = false;
    trunk_ = periapt::nbody::buildTrunk({roots, std::size_t(n)});
    roots_.clear();
    for (const auto& [piece, planted] : trees_) {
      for (const Node& root : planted.tree->roots()) roots_[root.cell.bits] = &root;
      if (planted.branch == nullptr) continue;
      for (const Node& root : planted.branch->roots()) {
        if (root.isOpenable()) roots_[root.cell.bits] = &root;
      }
    }
    if (onGpu) gpuWalks_.plant(trunk_, trees_);
  }
  contribute(done);
}

void Cache::publish(int piece, const Tree* tree) {
  const std::lock_guard guard(lock_);
  trees_[piece] = {tree, CkMyPe()};
}

void Cache::graft(int piece, const Tree* branch) {
  const std::lock_guard guard(lock_);
  trees_[piece].branch = branch;
}

void Cache::withdraw(int piece) {
  const std::lock_guard guard(lock_);
  trees_.erase(piece);
}

const Cache::Node* Cache::rootHere(Key cell) const {
  const auto found = roots_.find(cell);
  return found == roots_.end() ? nullptr : found->second;
}

const Cache::Node* Cache::need(const Node& node, int piece) {
  const std::lock_guard guard(lock_);
  if (const auto known = nodes_.find(node.cell.bits); known != nodes_.end()) return known->second;
  std::vector<int>& waiting = waiting_[node.cell.bits];
  if (waiting.empty()) cache[node.owner].request(node.cell.bits, CkMyNode());
  if (std::ranges::find(waiting, piece) == waiting.end()) waiting.push_back(piece);
  return nullptr;
}

const Cache::Node* Cache::fetched(Key cell) {
  const std::lock_guard guard(lock_);
  return nodes_.at(cell);
}

void Cache::request(Key cell, int process) {
  Key above = cell;
  while (!roots_.contains(above) && above > 1) above >>= 1;
  const Tree block = Tree::excerpt(*Tree::find(*roots_.at(above), {cell}), excerpt_nodes,
                                   [this](const Node& node) { return rootHere(node.cell.bits); });
  cache[process].reply(int(block.bytes().size()), reinterpret_cast<const Byte*>(block.bytes().data()));
}

void Cache::reply(int n, const Byte* block) {
  std::vector<int> waiting;
  Key cell;
  {
    const std::lock_guard guard(lock_);
    blocks_.emplace_back(std::as_bytes(std::span(block, std::size_t(n))));
    const Node& top = blocks_.back().roots()[0];
    cell = top.cell.bits;
    nodes_[cell] = &top;
    waiting = std::move(waiting_[cell]);
    waiting_.erase(cell);
  }
  for (const int piece : waiting) pieces[piece].arrived(cell);
}

void Cache::share(int piece, periapt::nbody::Walk& walk) {
  while (isAnyIdle_) {
    auto part = walk.split([this](const Node& node) { return rootHere(node.cell.bits); });
    if (part == nullptr) return;
    const std::lock_guard guard(lock_);
    parts_.push_back({piece, std::move(part)});
    if (idle_.empty()) return;  // the next PE that is takes it
    const int pe = *idle_.begin();
    idle_.erase(pe);
    isAnyIdle_ = !idle_.empty();
    helpers[pe].help(Helper::whenIdle());
  }
}

Part Cache::takePart(int pe) {
  const std::lock_guard guard(lock_);
  if (parts_.empty()) {
    idle_.insert(pe);
    isAnyIdle_ = true;
    return {};
  }
  Part part = std::move(parts_.front());
  parts_.pop_front();
  return part;
}

void Cache::giveBack(Part part) {
  const int piece = part.piece;
  {
    const std::lock_guard guard(lock_);
    walked_.push_back(std::move(part));
  }
  pieces[piece].join();
}

std::unique_ptr<periapt::nbody::Walk> Cache::walked(int piece) {
  const std::lock_guard guard(lock_);
  const auto found = std::ranges::find(walked_, piece, &Part::piece);
  std::unique_ptr<periapt::nbody::Walk> walk = std::move(found->walk);
  walked_.erase(found);
  return walk;
}

void Cache::draw(const std::vector<Particle>& particles, int pe) {
  const std::lock_guard guard(lock_);
  if (!map_) map_.emplace(settings.pixels, periapt::nbody::Vec3{}, settings.view, settings.domains);
  map_->add(particles, pe);
}

void Cache::picture(CkCallback done) {
  std::vector<float> grid(2 * std::size_t(settings.pixels) * settings.pixels);
  {
    const std::lock_guard guard(lock_);
    if (map_) grid.swap(map_->grid());
    map_.reset();
  }
  contribute(grid, CkReduction::sum_float, done);
}
