// See collidecharm.h.
#include "collidecharm.h"

namespace {

collideMgr& manager_here(CollideHandle collider, const char* call, int chunk) {
  collideMgr* here = CProxy_collideMgr(collider).ckLocalBranch();
  if (here == nullptr)
    CkAbort(
        "%s of chunk %d on PE %d, where the collider is not known yet: it is made in the constructor of the main "
        "chare, or all PEs are waited for",
        call, chunk, CkMyPe());
  return *here;
}

int bytes_of(const CollisionList& pairs) { return static_cast<int>(pairs.length() * sizeof(Collision)); }

}  // namespace

// ---- clients

CkGroupID CollideSerialClient(CollisionClientFn function, void* parameter) {
  return CProxy_serialCollideClient::ckNew(reinterpret_cast<CmiUInt8>(function), reinterpret_cast<CmiUInt8>(parameter));
}
CkGroupID CollideSerialClient(CkCallback to) { return CProxy_serialCollideClient::ckNew(to); }
CkGroupID CollideDistributedClient(CkCallback to) { return CProxy_distributedCollideClient::ckNew(to); }

serialCollideClient::serialCollideClient(CmiUInt8 function, CmiUInt8 parameter)
    : to_(CkIndex_serialCollideClient::reductionDone(nullptr), thisProxy[0]),
      function_(function),
      parameter_(parameter) {}

void serialCollideClient::pup(PUP::er& p) {
  p | to_;
  p | function_;
  p | parameter_;
}

void serialCollideClient::collisions(int, CollisionList& pairs) {
  contribute(bytes_of(pairs), pairs.getData(), CkReduction::concat, to_);
}

void serialCollideClient::reductionDone(CkReductionMsg* all) {
  if (function_ != 0)
    reinterpret_cast<CollisionClientFn>(function_)(reinterpret_cast<void*>(parameter_),
                                                   static_cast<int>(all->getSize() / sizeof(Collision)),
                                                   static_cast<Collision*>(all->getData()));
  delete all;
}

void distributedCollideClient::pup(PUP::er& p) { p | to_; }

void distributedCollideClient::collisions(int, CollisionList& pairs) {
  CkCallback to = to_;
  if (to.type == CkCallback::bcastGroup || to.type == CkCallback::bcastNodeGroup) to.transformBcastToLocalElem();
  to.send(bytes_of(pairs), pairs.getData());
}

// ---- the face

CollideHandle CollideCreate(const CollideGrid3d& grid, CkGroupID client) {
  return CProxy_collideMgr::ckNew(grid, client, CProxy_collideVoxel::ckNew());
}
void CollideRegister(CollideHandle collider, int chunk) {
  manager_here(collider, "CollideRegister()", chunk).add_chunk(chunk);
}
void CollideUnregister(CollideHandle collider, int chunk) {
  collideMgr* here = CProxy_collideMgr(collider).ckLocalBranch();
  if (here != nullptr) here->remove_chunk(chunk);  // at the end of a program it may be gone
}
void CollideBoxesPrio(CollideHandle collider, int chunk, int count, const bbox3d* boxes, const int* prio) {
  if (count < 0) CkAbort("CollideBoxesPrio() of chunk %d with %d boxes", chunk, count);
  manager_here(collider, "CollideBoxesPrio()", chunk)
      .give(chunk, {boxes, boxes + count},
            prio != nullptr ? std::vector<int>(prio, prio + count) : std::vector<int>(count, chunk));
}

// ---- a step

collideMgr::collideMgr(CollideGrid3d grid, CkGroupID client, CkArrayID voxels)
    : grid_(grid), client_(client), voxels_(voxels) {}

void collideMgr::pup(PUP::er& p) {
  p | grid_;
  p | client_;
  p | voxels_;
  p | step_;
  p | counted_step_;
}

void collideMgr::add_chunk(int chunk) {
  if (!chunks_.emplace(chunk, false).second)
    CkAbort("CollideRegister() of chunk %d on PE %d, where it is registered", chunk, CkMyPe());
  ++missing_;
}

void collideMgr::remove_chunk(int chunk) {
  const auto it = chunks_.find(chunk);
  if (it == chunks_.end())
    CkAbort("CollideUnregister() of chunk %d on PE %d, where it is not registered", chunk, CkMyPe());
  if (!it->second) --missing_;
  chunks_.erase(it);
  advance();
}

void collideMgr::give(int chunk, std::vector<bbox3d> boxes, std::vector<int> prio) {
  const auto it = chunks_.find(chunk);
  if (it == chunks_.end())
    CkAbort("CollideBoxesPrio() of chunk %d on PE %d, where it is not registered", chunk, CkMyPe());
  if (is_colliding_ || it->second) {
    later_.push_back({chunk, std::move(boxes), std::move(prio)});
    return;
  }
  it->second = true;
  --missing_;
  ++given_;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (boxes[i].isEmpty()) continue;
    const CollideObjID id(chunk, static_cast<int>(i), prio[i], CkMyPe());
    const periapt::collide::Voxels in = periapt::collide::voxels_of(grid_, boxes[i], id);
    for (int x = in.first.x; x <= in.last.x; ++x)
      for (int y = in.first.y; y <= in.last.y; ++y)
        for (int z = in.first.z; z <= in.last.z; ++z) outgoing_[{x, y, z}].emplace_back(id, boxes[i]);
  }
  advance();
}

void collideMgr::send_boxes() {
  for (auto& to : outgoing_)
    voxels_(to.first.x, to.first.y, to.first.z)
        .add(thisgroup, step_, static_cast<int>(to.second.size()), to.second.data());
  sent_ += static_cast<CmiInt8>(outgoing_.size());
  outgoing_.clear();
}

// A PE without chunks is asked to count as soon as another one has called PE 0.
void collideMgr::advance() {
  if (is_colliding_ || missing_ > 0) return;
  send_boxes();
  if (counting_ == step_) {
    counting_ = 0;
    const CmiInt8 counts[] = {given_, sent_, arrivals_[step_].messages};
    contribute(sizeof counts, counts, CkReduction::sum_long_long,
               CkCallback(CkIndex_collideMgr::counted(nullptr), thisProxy[0]));
  } else if (given_ > 0 && !has_woken_) {
    has_woken_ = true;
    thisProxy[0].wake(step_);
  }
}

void collideMgr::wake(int step) {
  if (step <= counted_step_) return;
  counted_step_ = step;
  counts_ = Counts();
  thisProxy.count(step);
}

void collideMgr::count(int step) {
  counting_ = step;
  has_woken_ = true;
  advance();
}

void collideMgr::counted(CkReductionMsg* message) {
  const auto* sums = static_cast<const CmiInt8*>(message->getData());
  const Counts before = counts_;
  counts_.given = sums[0];
  counts_.sent = sums[1];
  counts_.arrived = sums[2];
  delete message;
  if (counts_.sent == counts_.arrived && counts_.sent == before.sent && counts_.given == before.given)
    thisProxy.collide(counted_step_);
  else
    thisProxy.count(counted_step_);
}

void collideMgr::arrived(int step, bool is_first, CkArrayIndex3D voxel) {
  Arrivals& arrivals = arrivals_[step];
  ++arrivals.messages;
  if (is_first) arrivals.voxels.push_back(voxel);
}

void collideMgr::collide(int step) {
  is_colliding_ = true;
  const std::vector<CkArrayIndex3D> voxels = std::move(arrivals_[step].voxels);
  arrivals_.erase(step);
  voxels_missing_ = static_cast<int>(voxels.size());
  for (const CkArrayIndex3D& voxel : voxels) voxels_[voxel].collide(thisgroup, CkMyPe(), step, grid_);
  if (voxels_missing_ == 0) end_step();
}

void collideMgr::found(int count, Collision* pairs) {
  for (int i = 0; i < count; ++i) found_.push_back(pairs[i]);
  if (--voxels_missing_ == 0) end_step();
}

void collideMgr::end_step() {
  auto* client = static_cast<collideClient*>(CkLocalBranch(client_));
  if (client == nullptr) CkAbort("CollideCreate() with a client that is no group on PE %d", CkMyPe());
  client->collisions(step_, found_);
  found_.empty();
  ++step_;
  is_colliding_ = has_woken_ = false;
  given_ = sent_ = 0;
  missing_ = static_cast<int>(chunks_.size());
  for (auto& chunk : chunks_) chunk.second = false;
  std::deque<Given> waiting;
  waiting.swap(later_);
  for (Given& one : waiting)
    if (chunks_.count(one.chunk) != 0) give(one.chunk, std::move(one.boxes), std::move(one.prio));
  advance();
}

// ---- voxels

void collideVoxel::add(CkGroupID manager, int step, int count, CollideObjRec* boxes) {
  std::vector<CollideObjRec>& all = boxes_[step];
  const bool is_first = all.empty();
  all.insert(all.end(), boxes, boxes + count);
  const CkArrayIndex3D here(thisIndex.x, thisIndex.y, thisIndex.z);
  collideMgr* local = CProxy_collideMgr(manager).ckLocalBranch();
  if (local != nullptr)
    local->arrived(step, is_first, here);
  else
    CProxy_collideMgr(manager)[CkMyPe()].arrived(step, is_first, here);
}

void collideVoxel::collide(CkGroupID manager, int pe, int step, CollideGrid3d grid) {
  CollisionList pairs;
  periapt::collide::find(grid, {thisIndex.x, thisIndex.y, thisIndex.z}, boxes_[step], pairs);
  boxes_.erase(step);
  CProxy_collideMgr(manager)[pe].found(pairs.length(), pairs.getData());
}

#include "collidecharm.def.h"
