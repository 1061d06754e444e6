// See allGather.h.
#include "allGather.h"

#include <algorithm>
#include <cstring>

AllGather::AllGather(int bytes, int way, int) : bytes_(bytes), way_(way) {
  if (bytes < 0 || way < ALL_GATHER_RING || way > ALL_GATHER_FLOODING)
    CkAbort("AllGather is made with %d bytes a piece and way %d: a size and one of allGatherType are wanted", bytes,
            way);
}

void AllGather::init(void* result, void* piece, int index, CkCallback done) {
  if (runs_)
    CkAbort(
        "AllGather::init() is called on PE %d while its last one runs: each PE gives one piece, and the next one when "
        "its callback has been sent",
        CkMyPe());
  if (index < 0 || index >= CkNumPes())
    CkAbort("AllGather::init() with index %d: there are %d pieces, one of each PE", index, CkNumPes());
  runs_ = true;
  ++gather_;
  step_ = 0;
  result_ = static_cast<char*>(result);
  done_ = done;
  have_.clear();
  place(1, &index, static_cast<const char*>(piece));
  const int me = CkMyPe(), n = CkNumPes();
  if (way_ == ALL_GATHER_RING && n > 1) send((me + 1) % n, 0, 1);
  if (way_ == ALL_GATHER_FLOODING)
    for (int i = 1; i < n; ++i) send((me + i) % n, 0, 1);
  send_doubled();
  advance();
}

void AllGather::place(int count, const int* indices, const char* pieces) {
  for (int i = 0; i < count; ++i) {
    char* at = result_ + static_cast<std::size_t>(indices[i]) * bytes_;
    if (at != pieces + static_cast<std::size_t>(i) * bytes_)
      std::memcpy(at, pieces + static_cast<std::size_t>(i) * bytes_, bytes_);
    have_.push_back(indices[i]);
  }
}

// The first `count` pieces that came.
void AllGather::send(int to, int step, int count) {
  std::vector<char> pieces(static_cast<std::size_t>(count) * bytes_);
  for (int i = 0; i < count; ++i)
    std::memcpy(pieces.data() + static_cast<std::size_t>(i) * bytes_,
                result_ + static_cast<std::size_t>(have_[i]) * bytes_, bytes_);
  thisProxy[to].take(gather_, step, count, have_.data(), static_cast<int>(pieces.size()), pieces.data());
}

void AllGather::take(int gather, int step, int count, int* indices, int bytes, char* pieces) {
  // What goes round need not wait for this PE to begin.
  if (way_ == ALL_GATHER_RING && step + 2 < CkNumPes())
    thisProxy[(CkMyPe() + 1) % CkNumPes()].take(gather, step + 1, count, indices, bytes, pieces);
  early_.push_back({gather, step, {indices, indices + count}, {pieces, pieces + bytes}});
  if (runs_) advance();
}

// The step of doubling that follows from what is here.
void AllGather::send_doubled() {
  const int n = CkNumPes(), distance = 1 << step_;
  if (way_ == ALL_GATHER_HYPERCUBE && distance < n)
    send((CkMyPe() + distance) % n, step_, std::min(distance, n - distance));
}

void AllGather::advance() {
  const auto usable = [this](const Pieces& p) {
    return p.gather == gather_ && (way_ != ALL_GATHER_HYPERCUBE || p.step == step_);
  };
  for (auto next = early_.begin(); (next = std::find_if(early_.begin(), early_.end(), usable)) != early_.end();) {
    place(static_cast<int>(next->indices.size()), next->indices.data(), next->bytes.data());
    early_.erase(next);
    ++step_;
    send_doubled();
  }
  if (static_cast<int>(have_.size()) < CkNumPes()) return;
  runs_ = false;
  done_.send(new allGatherMsg);
}

#include "allGather.def.h"
