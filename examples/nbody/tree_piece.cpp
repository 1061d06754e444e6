// What a piece does in each phase.
#include "examples/nbody/tree_piece.h"

#include <algorithm>
#include <span>

#include "examples/nbody/cache.h"
#include "examples/nbody/decompose.h"
#include "examples/nbody/ewald.h"

using namespace periapt::nbody;

extern CProxy_TreePiece pieces;
extern CProxy_Cache cache;
extern CProxy_Helper helpers;
extern Settings settings;

namespace {

CkReduction::reducerType sumFilled;  // of Filled

CkReductionMsg* addFilled(int count, CkReductionMsg** messages) {
  std::vector<Filled> all;
  for (const CkReductionMsg* message : std::span(messages, std::size_t(count))) {
    const auto* filled = static_cast<const Filled*>(message->getData());
    all.insert(all.end(), filled, filled + message->getSize() / sizeof(Filled));
  }
  const std::vector<Filled> sums = addedUp(std::move(all));
  return CkReductionMsg::buildNew(int(sums.size() * sizeof(Filled)), sums.data());
}

/// Adds to a piece's busy time for as long as it lives.
class Stopwatch {
 public:
  explicit Stopwatch(double& total) : total_(total), began_(CkWallTimer()) {}
  ~Stopwatch() { total_ += CkWallTimer() - began_; }

 private:
  double& total_;
  double began_;
};

}  // namespace

void registerReducers() { sumFilled = CkReduction::addReducer(addFilled, false, "nbody: filled stretches"); }

TreePiece::~TreePiece() { dropTree(); }

void TreePiece::pup(PUP::er& p) {
  p | particles_;
  p | incoming_;
  p | box_;
  p | begin_;
  p | end_;
  p | done_;
  p | isShuffling_;
  p | busy_;
  p | tests_;
}

/// Where the runtime is to put them, and that they are there.
void TreePiece::begin(int n, Particle*, const CkCallback&, CkNcpyBufferPost* post) {
  particles_.resize(std::size_t(n));
  CkMatchBuffer(post, 0, thisIndex);
  CkPostBuffer(particles_.data(), n, thisIndex);
}

void TreePiece::begin(int, Particle*, const CkCallback& done) { contribute(done); }

void TreePiece::move(const Motion& motion, CkCallback done) {
  const Stopwatch watch(busy_);
  dropTree();
  kick(particles_, motion.kicks, motion.rung);
  drift(particles_, motion.drift, settings.period);
  if (settings.period > 0) {
    const FarImages far(Gravity{.periodic = true, .period = settings.period}.box({}));
    FarImages::Moments moments = far.noMoments();
    far.addMoments(particles_, moments);
    contribute(moments, CkReduction::sum_double, done);
    return;
  }
  std::vector<double> extent(6, -1e300);  // the largest of -x, -y, -z, x, y, z
  for (const Particle& p : particles_) {
    for (int axis = 0; axis < 3; ++axis) {
      extent[axis] = std::max(extent[axis], -p.position[axis]);
      extent[3 + axis] = std::max(extent[3 + axis], p.position[axis]);
    }
  }
  contribute(extent, CkReduction::max_double, done);
}

void TreePiece::count(const Box& box, bool isNew, int n, const Key* probes, CkCallback done) {
  const Stopwatch watch(busy_);
  if (isNew) {
    box_ = box;
    setKeys(particles_, box);
    sortByKey(particles_);
  }
  const std::vector<Filled> filled = filledBetween(particles_, {probes, std::size_t(n)});
  contribute(int(filled.size() * sizeof(Filled)), filled.data(), sumFilled, done);
}

void TreePiece::exchange(int n, const Key* cuts, const Count* totals, CkCallback done) {
  begin_ = cuts[thisIndex], end_ = cuts[thisIndex + 1];
  std::span<const Particle> rest = particles_;
  for (int piece = 0; !rest.empty(); ++piece) {
    piece = int(std::upper_bound(cuts + piece, cuts + n, rest.front().key) - cuts) - 1;
    const auto last = std::ranges::partition_point(rest, [&](const Particle& p) { return p.key < cuts[piece + 1]; });
    const auto share = rest.first(last - rest.begin());
    rest = rest.subspan(share.size());
    if (piece == thisIndex) {
      incoming_.insert(incoming_.end(), share.begin(), share.end());
    } else if (!share.empty()) {
      pieces[piece].take(int(share.size()), share.data());
    }
  }
  particles_.clear();
  done_ = done;
  expected_ = totals[thisIndex];
  incoming_.reserve(*expected_);
  branchPieces_ = std::min(settings.piecesABranch, n - 1 - thisIndex);
  branchEnd_ = cuts[thisIndex + branchPieces_];
  takeIfComplete();
}

void TreePiece::take(int n, const Particle* particles) {
  incoming_.insert(incoming_.end(), particles, particles + n);
  takeIfComplete();
}

void TreePiece::takeIfComplete() {
  if (!expected_ || incoming_.size() < *expected_) return;
  expected_.reset();
  particles_ = std::move(incoming_);
  incoming_.clear();
  plantTree();
}

void TreePiece::plantTree() {
  std::vector<Root> roots;
  {
    const Stopwatch watch(busy_);
    sortByKey(particles_);
    tree_ = std::make_unique<Tree>(buildTree(particles_, begin_, end_, CkMyNode(), settings.bucket, 1e-9 * box_.side));
    cache.ckLocalBranch()->publish(thisIndex, tree_.get());
    roots = rootsOf(*tree_);
  }
  const int first = thisIndex - thisIndex % settings.piecesABranch;
  if (first == thisIndex) {
    graft(int(roots.size()), roots.data());
  } else {
    pieces[first].graft(int(roots.size()), roots.data());
    contribute(done_);
  }
}

/// The first piece of a branch gets the roots of all, and when it has them, tells of the branch's.
void TreePiece::graft(int n, const Root* roots) {
  roots_.insert(roots_.end(), roots, roots + n);
  if (++planted_ == branchPieces_) growBranch();
}

void TreePiece::growBranch() {
  const Stopwatch watch(busy_);
  if (branchPieces_ > 1) {
    std::ranges::sort(roots_, {}, [](const Root& r) { return r.node.cell.begin(); });
    branch_ = std::make_unique<Tree>(buildBranch(roots_, begin_, branchEnd_, CkMyNode()));
    cache.ckLocalBranch()->graft(thisIndex, branch_.get());
    roots_ = rootsOf(*branch_);
  }
  contribute(int(roots_.size() * sizeof(Root)), roots_.data(), CkReduction::concat, done_);
  roots_.clear();
  planted_ = 0;
}

void TreePiece::dropTree() {
  if (tree_ == nullptr) return;
  cache.ckLocalBranch()->withdraw(thisIndex);
  tree_.reset();
  branch_.reset();
}

void TreePiece::walk(const Forces& forces, int n, const double* farField, CkCallback done) {
  done_ = done;
  walking_.reset(new Walking{*cache.ckLocalBranch(), forces, {farField, farField + n}});
  forces.onGpu ? stageWalk() : schedule();
}

/// The last piece of a GPU to do this starts its walk.
void TreePiece::stageWalk() {
  {
    const Stopwatch watch(busy_);
    startWalk();
    walking_->staged = walking_->cache.gpuWalks().stage(thisIndex, *walking_->walk);
  }
  walking_->cache.gpuWalks().staged(thisIndex, walking_->forces.gravity);
}

void TreePiece::walked() {
  {
    const Stopwatch watch(busy_);
    walking_->cache.gpuWalks().take(thisIndex, walking_->staged, *walking_->walk);
  }
  finishWalk();
}

/// When all above the piece's roots is here: the way down to them is one of sinks, too.
void TreePiece::startWalk() {
  const Forces& forces = walking_->forces;
  const Tree& trunk = walking_->cache.trunk();
  const Walk::Finder find = [this](const Node& node) { return this->find(node); };
  if (Walk::reaches(trunk, *tree_, find))
    walking_->walk.emplace(forces.gravity, trunk, *tree_, particles_, forces.rung, find);
}

/// Where a node can be opened: in this process, or not yet. What was asked for is not here before `arrived` says so: no
/// walk ends while a message for it is on its way.
const Node* TreePiece::find(const Node& node) {
  if (const Node* here = walking_->cache.rootHere(node.cell.bits)) return here;
  const auto [known, isNew] = walking_->known.try_emplace(node.cell.bits, nullptr);
  if (isNew) known->second = walking_->cache.need(node, thisIndex);
  return known->second;
}

/// Ahead of the other pieces on this PE: they walk one after the other as long as there is something to do, and use
/// the same memory again.
void TreePiece::schedule() {
  if (walking_->isScheduled) return;
  walking_->isScheduled = true;
  CkEntryOptions next;
  next.setQueueing(CK_QUEUEING_LIFO);
  thisProxy[thisIndex].goOn(&next);
}

void TreePiece::goOn() {
  walking_->isScheduled = false;
  bool more;
  {
    const Stopwatch watch(busy_);
    if (!walking_->walk) startWalk();
    if (!walking_->walk) return;
    more = walking_->walk->advance(sinks_at_a_time);
  }
  if (more) {
    walking_->cache.share(thisIndex, *walking_->walk);
    schedule();
  } else if (walking_->walk->isOver()) {
    finishWalk();
  }
}

/// A part of this walk comes back.
void TreePiece::join() {
  walking_->walk->join(*walking_->cache.walked(thisIndex));
  schedule();
}

void TreePiece::arrived(Key cell) {
  const Node* node = walking_->known[cell] = walking_->cache.fetched(cell);
  if (walking_->walk) walking_->walk->arrived(*node);
  schedule();
}

void TreePiece::finishWalk() {
  Tally tally;
  {
    const Stopwatch watch(busy_);
    const Forces& forces = walking_->forces;
    walking_->walk->finish();
    if (!walking_->farField.empty()) {
      FarImages(forces.gravity.box({})).addField(walking_->farField, particles_, forces.rung);
    }
    for (const Particle& p : particles_) tally.forces += p.rung >= forces.rung;
    kick(particles_, forces.kicks, forces.rung);
    chooseRungs(particles_, settings.stepping, forces.a, forces.rung);
    for (const Particle& p : particles_) ++tally.onRung[p.rung];
    tally.cellPairs = double(walking_->walk->work().cellPairs);
    tally.particlePairs = double(walking_->walk->work().particlePairs);
    tally.tests = double(walking_->walk->work().tests);
    const auto rung = std::size_t(std::min(forces.rung, balanced_rungs - 1));
    tests_.resize(std::max(tests_.size(), rung + 1));
    tests_[rung] += tally.tests;
    helpers.ckLocalBranch()->addTests(tally.tests);
    tally.totals = totalsOf(particles_, forces.a);
    walking_.reset();
  }
  contribute(sizeof tally, &tally, CkReduction::sum_double, done_);
}

/// Busy time, at the place of this PE. The first piece to be asked tells its helper's too.
void TreePiece::report(CkCallback done) {
  std::vector<double> busy(CkNumPes());
  busy[CkMyPe()] = busy_ + helpers.ckLocalBranch()->takeBusy();
  busy_ = 0;
  contribute(busy, CkReduction::sum_double, done);
}

void TreePiece::draw(CkCallback done) {
  cache.ckLocalBranch()->draw(particles_, CkMyPe());
  contribute(done);
}

void TreePiece::save(CkCallback done) {
  contribute(int(particles_.size() * sizeof(Particle)), particles_.data(), CkReduction::concat, done);
}

/// Strategies that keep neighbours together (Orb, Sfc) want to know where the piece is: at its place along the curve.
/// What they give a process is one stretch then, so branches stay whole, and pieces below the same nodes fetch them
/// once.
/// An evaluation of forces is a phase: all wait for it. Those of the same rung are even when one of them is.
/// Its load is its walks' tests of sources against sinks, to which their time is proportional: they are as many
/// wherever it was, whichever PEs walked parts and however busy the processor was besides.
void TreePiece::balance(double secondsATest, CkCallback done) {
  dropTree();
  setObjPosition(thisIndex, 0, 0);
  if (secondsATest > 0 && !tests_.empty()) {
    for (double& tests : tests_) tests *= secondsATest;
    setObjPhases(tests_.data(), int(tests_.size()));
  }
  tests_.clear();
  done_ = done;
  AtSync();
}

void TreePiece::ResumeFromSync() { contribute(done_); }

void TreePiece::shuffle(Count seed, CkCallback done) {
  Count mixed = (seed + Count(thisIndex)) * 0x9e3779b97f4a7c15;
  mixed ^= mixed >> 29;
  dropTree();
  const int pe = int(mixed * 0xbf58476d1ce4e5b9 >> 33) % CkNumPes();
  done_ = done;
  isShuffling_ = pe != CkMyPe();
  isShuffling_ ? migrateMe(pe) : contribute(done_);
}

/// Only now is the tree gone from where it was, so that the driver may go on.
void TreePiece::ckJustMigrated() {
  if (isShuffling_) contribute(done_);
  isShuffling_ = false;
}
