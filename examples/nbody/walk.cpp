// The dual tree walk.
#include "examples/nbody/walk.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace periapt::nbody {
namespace {

/// Sources of a list that are asked for before their turn. They lie anywhere in the trees, and waiting for memory is a
/// tenth of the walk otherwise.
constexpr std::size_t sources_ahead = 8;
void prefetch(const Moments& moments) {
  for (std::size_t byte = 0; byte < sizeof moments.term; byte += 64) {
    __builtin_prefetch(reinterpret_cast<const char*>(moments.term) + byte);
  }
}

/// Whether nothing of the piece is below the node.
bool isApart(const Node& node, const Tree& own) {
  return node.cell.end() <= own.roots().front().cell.begin() || node.cell.begin() >= own.roots().back().cell.end();
}

}  // namespace

Walk::Walk(const Gravity& gravity, const Tree& trunk, const Tree& own, std::span<Particle> particles, int minRung,
           Finder find)
    : gravity_(gravity),
      opening_(float(2 / std::sqrt(3.) / gravity.theta)),
      own_(own),
      particles_(particles),
      find_(std::move(find)),
      kernels_(kernels()),
      shared_(std::make_shared<Shared>()) {
  for (int image = 0; image < images; ++image) {
    shifts_[image] = gravity.period * Vec3(image / 9 - 1, image / 3 % 3 - 1, image % 3 - 1);
  }
  if (trunk.roots().empty() || own.roots().empty()) return;
  const Node& root = trunk.roots()[0];
  if (addSink(root, minRung) < 0) return;
  shared_->locals.resize(shared_->sinks.size());
  for (int image = 0; image < images; ++image) {
    if (image == middle_image || gravity.periodic) sources_.push_back(sourceOf(root, image));
  }
  tasks_.push_back({0, 0, sources_.size()});
}

Walk::Walk(const Walk& whole, Finder find)
    : gravity_(whole.gravity_),
      opening_(whole.opening_),
      shifts_(whole.shifts_),
      own_(whole.own_),
      particles_(whole.particles_),
      find_(std::move(find)),
      kernels_(whole.kernels_),
      shared_(whole.shared_) {}

Walk::Source Walk::sourceOf(const Node& node, int image) const {
  const Vec3 centre = node.centre + shifts_[image];
  return {float(centre.x), float(centre.y),     float(centre.z), node.radius,
          node.softening,  std::int16_t(image), node.isLeaf(),   &node};
}

bool Walk::reaches(const Tree& trunk, const Tree& own, const Finder& find) {
  const auto below = [&](auto& self, const Node& node) -> bool {
    if (isApart(node, own) || own.find(node.cell) != nullptr) return true;
    const Node* here = node.isOpenable() ? &node : find(node);
    if (here == nullptr) return false;
    const bool left = self(self, here->child(0)), right = self(self, here->child(1));
    return left && right;
  };
  return trunk.roots().empty() || own.roots().empty() || below(below, trunk.roots()[0]);
}

/// The sinks at and below a node, or -1 where nothing is active. Parents come before their children.
std::int32_t Walk::addSink(const Node& node, int minRung) {
  if (isApart(node, own_)) return -1;
  if (!node.isOpenable()) {  // a root of this piece, or of the branch above it
    const Node* here = own_.find(node.cell);
    return addSink(here != nullptr ? *here : *find_(node), minRung);
  }
  const auto index = std::int32_t(shared_->sinks.size());
  shared_->sinks.push_back({node.centre, node.radius, node.softening});
  if (node.isLeaf()) {
    Sink& sink = shared_->sinks.back();
    sink.leaf = true;
    sink.firstActive = std::int32_t(shared_->actives.size());
    for (std::uint32_t i = node.first; i < node.first + node.count; ++i) {
      Particle& p = particles_[i];
      if (p.rung < minRung) continue;
      shared_->actives.push_back(i);
      p.acceleration = {};
      p.potential = 0;
    }
    sink.actives = std::int32_t(shared_->actives.size()) - sink.firstActive;
    if (sink.actives > 0) return index;
  } else {
    for (int which : {0, 1}) {
      const std::int32_t child = addSink(node.child(which), minRung);
      shared_->sinks[index].child[which] = child;
    }
    if (shared_->sinks[index].child[0] >= 0 || shared_->sinks[index].child[1] >= 0) return index;
  }
  shared_->sinks.pop_back();
  return -1;
}

bool Walk::advance(std::size_t patience) {
  for (; patience > 0 && (!tasks_.empty() || takeUp()); --patience) {
    const Task task = tasks_.back();
    tasks_.pop_back();
    sources_.resize(task.end);
    visit(task);
  }
  return !tasks_.empty() || (!arrivals_.empty() && shared_->parts == 0);
}

/// All that has arrived, so that a sink has one list of what was parked with it. True if there is something to do.
bool Walk::takeUp() {
  if (shared_->parts > 0) return false;
  std::vector<std::pair<std::int32_t, Source>> waiting;  // by sink
  for (const Node* node : std::exchange(arrivals_, {})) {
    const auto found = parked_.find(node->cell.bits);
    if (found == parked_.end()) continue;
    for (const Parked& parked : found->second) waiting.push_back({parked.sink, sourceOf(*node, parked.image)});
    parked_.erase(found);
  }
  mayOverlap_ |= !waiting.empty();
  std::ranges::stable_sort(waiting, {}, [](const auto& w) { return w.first; });
  sources_.clear();
  for (const auto& [sink, source] : waiting) {
    if (tasks_.empty() || tasks_.back().sink != sink) tasks_.push_back({sink, sources_.size(), 0});
    sources_.push_back(source);
    tasks_.back().end = sources_.size();
  }
  return !tasks_.empty();
}

/// The task put off longest is the one highest up in the tree.
std::unique_ptr<Walk> Walk::split(Finder find) {
  if (mayOverlap_ || tasks_.size() < 2 || shared_->sinks[tasks_.front().sink].leaf) return nullptr;
  const Task task = tasks_.front();
  tasks_.erase(tasks_.begin());
  std::unique_ptr<Walk> part(new Walk(*this, std::move(find)));
  part->sources_.assign(sources_.begin() + std::ptrdiff_t(task.begin), sources_.begin() + std::ptrdiff_t(task.end));
  part->tasks_.push_back({task.sink, 0, part->sources_.size()});
  ++shared_->parts;
  return part;
}

void Walk::join(Walk& part) {
  work_ += part.work_;
  for (auto& [cell, waiting] : part.parked_) {
    std::vector<Parked>& all = parked_[cell];
    all.insert(all.end(), waiting.begin(), waiting.end());
    if (const Node* node = find_(*waiting[0].source)) arrivals_.push_back(node);
  }
  --shared_->parts;
}

/// One sink with the list of sources that still matter to it. Each source acts from afar, acts nearby, is opened, or is
/// left to the sink's children.
void Walk::visit(Task task) {
  far_.clear();
  near_.clear();
  open_.clear();
  const Sink& sink = shared_->sinks[task.sink];
  const float x = float(sink.centre.x), y = float(sink.centre.y), z = float(sink.centre.z);
  const std::size_t kept = sources_.size();
  const auto sort = [&](const Source& source) {
    const float dx = x - source.x, dy = y - source.y, dz = z - source.z;
    const float extent = sink.radius + source.radius;
    const float reach = std::max(opening_ * extent, extent + sink.softening + source.softening);
    if (dx * dx + dy * dy + dz * dz > reach * reach) {
      const Vec3 apart = sink.centre - source.node->centre - shifts_[source.image];
      const Moments& moments = source.node->momentsHere();
      prefetch(moments);
      far_.push_back({float(apart.x), float(apart.y), float(apart.z), source.radius, moments.term});
    } else if (!sink.leaf && (source.leaf || source.radius < sink.radius)) {
      sources_.push_back(source);
    } else {
      open_.push_back(source);
    }
  };
  for (std::size_t i = task.begin; i < task.end; ++i) {
    if (i + sources_ahead < task.end) __builtin_prefetch(sources_[i + sources_ahead].node);
    sort(Source(sources_[i]));
  }
  work_.tests += task.end - task.begin;
  while (!open_.empty()) {
    const Source source = open_.back();
    open_.pop_back();
    const Node* node = source.node->isOpenable() ? source.node : find_(*source.node);
    if (node == nullptr) {
      parked_[source.node->cell.bits].push_back({task.sink, source.image, source.node});
    } else if (source.leaf) {
      near_.push_back({node, source.image});
    } else {
      for (int which : {0, 1}) sort(sourceOf(node->child(which), source.image));
      work_.tests += 2;
    }
  }
  if (!far_.empty()) actFromAfar(task.sink);
  if (!near_.empty()) actNearby(task.sink);
  if (sources_.size() == kept) return;
  for (int which : {1, 0}) {
    if (sink.child[which] >= 0) tasks_.push_back({sink.child[which], kept, sources_.size()});
  }
}

void Walk::actFromAfar(std::int32_t sink) {
  work_.cellPairs += far_.size();
  kernels_.cells(far_.data(), far_.size(), shared_->sinks[sink].radius, shared_->locals[sink].term);
}

void Walk::actNearby(std::int32_t sinkIndex) {
  const Sink& sink = shared_->sinks[sinkIndex];
  std::size_t size = 0;
  for (const Near& s : near_) size += s.node->count;
  const std::size_t padded = (size + near_padding - 1) / near_padding * near_padding;
  for (auto& run : sourceRuns_) {
    if (run.size() < padded + near_padding) run.resize(2 * padded + near_padding);
  }
  std::size_t at = 0;
  for (const Near& s : near_) {
    const Vec3 move = s.node->centre + shifts_[s.image] - sink.centre;
    const float shift[5] = {float(move.x), float(move.y), float(move.z), 0, 0};
    const float* runs = s.node->particleRuns();
    for (int r = 0; r < 5; ++r, runs += s.node->count) {
      // Whole vectors, past the end: the next leaf, or the filling below, writes over the rest.
      for (std::size_t i = 0; i < s.node->count; i += near_padding) {
        float* to = sourceRuns_[r].data() + at + i;
        for (std::size_t lane = 0; lane < near_padding; ++lane) to[lane] = runs[i + lane] + shift[r];
      }
    }
    at += s.node->count;
  }
  constexpr float filling[5] = {1e9f, 1e9f, 1e9f, 0, 0};
  for (int r = 0; r < 5; ++r) std::fill(sourceRuns_[r].data() + at, sourceRuns_[r].data() + padded, filling[r]);

  const auto n = std::size_t(sink.actives);
  for (auto& run : sinkRuns_) run.assign(n, 0.f);
  for (std::size_t i = 0; i < n; ++i) {
    const Particle& p = particles_[shared_->actives[sink.firstActive + i]];
    const Vec3 place = p.position - sink.centre;
    for (int axis = 0; axis < 3; ++axis) sinkRuns_[axis][i] = float(place[axis]);
    sinkRuns_[3][i] = p.softening;
  }
  kernels_.particles({sourceRuns_[0].data(), sourceRuns_[1].data(), sourceRuns_[2].data(), sourceRuns_[3].data(),
                      sourceRuns_[4].data(), padded},
                     {sinkRuns_[0].data(), sinkRuns_[1].data(), sinkRuns_[2].data(), sinkRuns_[3].data(),
                      sinkRuns_[4].data(), sinkRuns_[5].data(), sinkRuns_[6].data(), sinkRuns_[7].data(), n});
  work_.particlePairs += size * n;
  for (std::size_t i = 0; i < n; ++i) {
    Particle& p = particles_[shared_->actives[sink.firstActive + i]];
    p.acceleration += {sinkRuns_[4][i], sinkRuns_[5][i], sinkRuns_[6][i]};
    p.potential += sinkRuns_[7][i];
  }
}

std::span<const Sink> Walk::handOver() {
  tasks_.clear();
  sources_.clear();
  return shared_->sinks;
}

void Walk::places(ActivePlace* to) const {
  for (const Sink& sink : shared_->sinks) {
    for (std::int32_t i = sink.firstActive; i < sink.firstActive + sink.actives; ++i) {
      const Particle& p = particles_[shared_->actives[i]];
      const Vec3 place = p.position - sink.centre;
      to[i] = {float(place.x), float(place.y), float(place.z), p.softening};
    }
  }
}

void Walk::add(const float* locals, const ActiveField* fields, const Work& work) {
  for (Series<double>& local : shared_->locals) {
    for (int k = 0; k < terms; ++k) local[k] += *locals++;
  }
  for (const std::uint32_t index : shared_->actives) {
    particles_[index].acceleration += {fields->x, fields->y, fields->z};
    particles_[index].potential += fields++->potential;
  }
  work_ += work;
}

void Walk::finish() {
  // Parents come before their children.
  for (std::size_t i = 0; i < shared_->sinks.size(); ++i) handDown(std::int32_t(i));
}

void Walk::handDown(std::int32_t index) {
  const Sink& sink = shared_->sinks[index];
  const Series<double>& local = shared_->locals[index];
  for (const std::int32_t child : sink.child) {
    if (child < 0) continue;
    const Vec3 shift = 1. / sink.radius * (shared_->sinks[child].centre - sink.centre);
    Series<double> translation;
    exponential(shift.x, shift.y, shift.z, translation);
    double power[order + 1] = {1};
    for (int n = 0; n < order; ++n) power[n + 1] = power[n] * (double(shared_->sinks[child].radius) / sink.radius);
    Series<double>& to = shared_->locals[child];
    contract(translation, local, [&](auto k, double value) {
      constexpr int degree = powers[k].degree();
      to[k] += value * power[degree];
    });
  }
  for (std::int32_t i = 0; i < sink.actives; ++i) {
    Particle& p = particles_[shared_->actives[sink.firstActive + i]];
    const Vec3 offset = 1. / sink.radius * (p.position - sink.centre);
    Series<double> here;
    exponential(offset.x, offset.y, offset.z, here);
    p.potential -= contracted<0>(here, local);
    p.acceleration += 1. / sink.radius *
                      Vec3{contracted<place(1, 0, 0)>(here, local), contracted<place(0, 1, 0)>(here, local),
                           contracted<place(0, 0, 1)>(here, local)};
    if (p.softening > 0) p.potential += 1.4 * p.mass / p.softening;  // its own share
  }
}

}  // namespace periapt::nbody
