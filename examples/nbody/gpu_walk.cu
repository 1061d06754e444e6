// Kernels of the walk, and GPUs as a GpuWalk. For nvcc and hipcc.
//
// A walk is a list of pairs that is gone through again and again: each time every pair of it is looked at by a thread,
// and what opens is written to the next list. Pairs that act are put aside, each with its number among those of its
// sink; afterwards they are sorted by sink, and a warp adds up what acts on one sink.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "examples/gpu/runtime.h"
#include "examples/nbody/gpu_walk.h"

namespace periapt::nbody {
namespace {

using gpu_example::check;

constexpr int threads = 128;
constexpr int rounds_at_a_time = 48;  // lists that are gone through before the host looks whether one is left
constexpr int lanes = gpu_example::lanes;

/// A pair that acts: the number-th of its sink's.
struct Acting {
  std::uint32_t sink;
  ImageOf source;
  std::uint32_t number;
};

enum Counter { list_even, list_odd, far_pairs, near_pairs, tests, particle_pairs, counters };
using Count = unsigned long long;

/// What there is room for.
struct Room {
  std::size_t list = 0, far = 0, near = 0;
};

/// All of a walk, as its kernels see it.
struct State {
  PairScene scene;
  Room room;
  std::size_t sinks, actives;
  Count* count;                                                    // by Counter
  Pair* list[2];                                                   // read and written by turns
  Acting *far, *near;                                              // as they were found
  ImageOf *by_far, *by_near;                                       // by sink
  std::uint32_t *far_count, *near_count, *far_begin, *near_begin;  // of each sink
  float* locals;
  ActiveField* fields;
};

/// Room for `mine` items behind *counter. All lanes of a warp call it.
__device__ Count reserve(Count* counter, unsigned mine) {
  unsigned up_to = mine;
  const int lane = threadIdx.x % lanes;
  for (int by = 1; by < lanes; by *= 2) {
    const unsigned before = gpu_example::from_lane_below(up_to, by);
    if (lane >= by) up_to += before;
  }
  Count begin = 0;
  if (lane == lanes - 1 && up_to > 0) begin = atomicAdd(counter, Count{up_to});
  begin = gpu_example::from_lane(begin, lanes - 1);
  return begin + up_to - mine;
}

__device__ void put_aside(const Pair& pair, bool acts, Count* counter, Acting* list, std::size_t room,
                          std::uint32_t* of_sink) {
  const Count at = reserve(counter, acts);
  if (acts && at < room) list[at] = {pair.sink, pair.source, atomicAdd(&of_sink[pair.sink], 1u)};
}

__global__ void go_through(State state, int from) {
  const Count size = min(state.count[from], static_cast<Count>(state.room.list));
  const Count all = gridDim.x * static_cast<Count>(blockDim.x);
  // Whole warps, as lanes reserve room together.
  for (Count i = blockIdx.x * static_cast<Count>(blockDim.x) + threadIdx.x; i - threadIdx.x % lanes < size; i += all) {
    Pair pair{}, opened[2];
    int opens = 0;
    Fate fate = Fate::sinkOpens;
    if (i < size) {
      pair = state.list[from][i];
      fate = fateOf(state.scene, pair);
      if (fate == Fate::sinkOpens || fate == Fate::sourceOpens) opens = open(state.scene, pair, fate, opened);
    }
    const Count at = reserve(&state.count[1 - from], opens);
    for (int k = 0; k < opens; ++k)
      if (at + k < state.room.list) state.list[1 - from][at + k] = opened[k];
    put_aside(pair, fate == Fate::far, &state.count[far_pairs], state.far, state.room.far, state.far_count);
    put_aside(pair, fate == Fate::near, &state.count[near_pairs], state.near, state.room.near, state.near_count);
  }
}

/// Between two rounds, by one thread: the list that has been read is empty. One that was too long stays to be seen.
__global__ void turn(State state, int read) {
  state.count[tests] += state.count[read];
  if (state.count[read] <= state.room.list) state.count[read] = 0;
}

/// Where each sink's begin: sums of the counts before. One block; each thread has a stretch of them.
__global__ void begin_of_each(const std::uint32_t* count, std::uint32_t* begin, std::size_t size) {
  __shared__ std::uint32_t before[1024];
  const std::size_t each = (size + blockDim.x - 1) / blockDim.x;
  const std::size_t first = min(size, threadIdx.x * each), last = min(size, first + each);
  std::uint32_t sum = 0;
  for (std::size_t i = first; i < last; ++i) sum += count[i];
  before[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    std::uint32_t all = 0;
    for (unsigned i = 0; i < blockDim.x; ++i) all += std::exchange(before[i], all);
  }
  __syncthreads();
  sum = before[threadIdx.x];
  for (std::size_t i = first; i < last; ++i) {
    begin[i] = sum;
    sum += count[i];
  }
}

__global__ void by_sink(const Count* size, std::size_t room, const Acting* found, const std::uint32_t* begin,
                        ImageOf* to) {
  const Count last = min(*size, static_cast<Count>(room));
  for (Count i = blockIdx.x * static_cast<Count>(blockDim.x) + threadIdx.x; i < last;
       i += gridDim.x * static_cast<Count>(blockDim.x)) {
    const std::size_t at = std::size_t(begin[found[i].sink]) + found[i].number;
    if (at < room) to[at] = found[i].source;
  }
}

__device__ float sum_of_lanes(float value) {
  for (int by = lanes / 2; by > 0; by /= 2) value += gpu_example::from_lane_above(value, by);
  return value;
}

/// A warp a sink.
__global__ void __launch_bounds__(threads) add_far(State state) {
  const std::size_t index = (blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x) / lanes;
  const int lane = threadIdx.x % lanes;
  if (index >= state.sinks) return;
  const Sink& sink = state.scene.sinks[index];
  const std::size_t begin = state.far_begin[index];
  const std::size_t end = min(begin + state.far_count[index], state.room.far);
  Series<float> sum;
#pragma unroll
  for (int k = 0; k < terms; ++k) sum.term[k] = 0;
  for (std::size_t i = begin + lane; i < end; i += lanes) addFar(state.scene, sink, state.by_far[i], sum);
#pragma unroll
  for (int k = 0; k < terms; ++k) {
    const float all = sum_of_lanes(sum.term[k]);
    if (lane == 0) state.locals[index * terms + k] = all;
  }
}

/// A warp a leaf: each lane has one of its active particles, and the sources go round in shared memory.
__global__ void __launch_bounds__(threads) add_near(State state) {
  __shared__ NearSource shared[threads];
  const std::size_t index = (blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x) / lanes;
  const int lane = threadIdx.x % lanes;
  if (index >= state.sinks) return;
  NearSource* const sources = shared + threadIdx.x - lane;
  const Sink& sink = state.scene.sinks[index];
  const std::size_t begin = state.near_begin[index];
  const std::size_t end = min(begin + state.near_count[index], state.room.near);
  Count pairs = 0;
  for (int first = 0; first < sink.actives; first += lanes) {
    const bool has = first + lane < sink.actives;
    const std::size_t active = std::size_t(sink.firstActive) + (has ? first + lane : 0);
    const ActivePlace at = state.scene.places[active];
    FieldSum all;
    for (std::size_t i = begin; i < end; ++i) {
      ActiveField sum{};
      const ImageOf source = state.by_near[i];
      const std::uint32_t count = state.scene.nodes[source / 32].count;
      for (std::uint32_t taken = 0; taken < count; taken += lanes) {
        const int here = min(count - taken, static_cast<std::uint32_t>(lanes));
        if (lane < here) sources[lane] = nearSource(state.scene, sink, source, taken + lane);
        gpu_example::meet_lanes();
        for (int j = 0; j < here; ++j) addNear(sources[j], at, sum);
        gpu_example::meet_lanes();
      }
      all.add(sum);
      if (lane == 0) pairs += Count{count} * min(sink.actives - first, lanes);
    }
    if (has) state.fields[active] = all.rounded();
  }
  if (lane == 0 && pairs > 0) atomicAdd(&state.count[particle_pairs], pairs);
}

/// Memory of a GPU or pinned memory of the host, that grows.
template <class T, bool pinned = false>
class Memory {
  T* at_ = nullptr;
  std::size_t size_ = 0;

 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  ~Memory() { release(); }
  void release() {
    if (at_ != nullptr) (void)(pinned ? GPU(FreeHost)(at_) : GPU(Free)(at_));
    at_ = nullptr;
    size_ = 0;
  }
  T* room(std::size_t size) {
    if (size <= size_ && at_ != nullptr) return at_;
    release();
    size_ = size + size / 4 + 16;
    void* made = nullptr;
    if (pinned)
      check(GPU(HostAlloc)(&made, size_ * sizeof(T), 0), "nbody: pinned memory");
    else if (GPU(Malloc)(&made, size_ * sizeof(T)) != GPU(Success))
      CkAbort(
          "nbody: the walk needs %.0f MB more on a GPU, and there is no room: fewer particles a GPU, or without --gpu",
          static_cast<double>(size_ * sizeof(T)) / (1 << 20));
    return at_ = static_cast<T*>(made);
  }
  T* at() const { return at_; }
};

class OfGpu {
 public:
  OfGpu(int gpu) : gpu_(gpu) {
    use();
    check(GPU(StreamCreateWithFlags)(&stream_, GPU(StreamNonBlocking)), "a stream");
    answer_.room(counters);
  }
  void use() const { check(GPU(SetDevice)(gpu_), "the choice of a GPU"); }

  void take(const std::byte* sources, std::size_t bytes) {
    use();
    copy(sources_.room(bytes), sources, bytes, GPU(MemcpyHostToDevice));
  }

  ActedOn room(std::size_t sinks, std::size_t actives) {
    use();
    return {host_sinks_.room(sinks), host_places_.room(actives), host_locals_.room(sinks * terms),
            host_fields_.room(actives)};
  }

  void start(const PairRules& rules, std::span<const Pair> first, std::size_t sinks, std::size_t actives,
             const CkCallback& told) {
    use();
    first_.assign(first.begin(), first.end());
    told_ = told;
    state_.scene = {rules, reinterpret_cast<const Node*>(sources_.at()), sinks_.room(sinks), places_.room(actives)};
    state_.sinks = sinks;
    state_.actives = actives;
    state_.room.list = std::max({state_.room.list, std::size_t{1} << 20, 64 * sinks, first.size()});
    state_.room.far = std::max({state_.room.far, std::size_t{1} << 20, 256 * sinks});
    state_.room.near = std::max({state_.room.near, std::size_t{1} << 20, 64 * sinks});
    copy(sinks_.at(), host_sinks_.at(), sinks * sizeof(Sink), GPU(MemcpyHostToDevice));
    copy(places_.at(), host_places_.at(), actives * sizeof(ActivePlace), GPU(MemcpyHostToDevice));
    begin();
  }

  bool is_over() {
    use();
    const Count* const count = answer_.at();
    const bool fits = std::max(count[list_even], count[list_odd]) <= state_.room.list &&
                      count[far_pairs] <= state_.room.far && count[near_pairs] <= state_.room.near;
    if (!fits) {
      state_.room.list = std::max<std::size_t>(state_.room.list, 2 * std::max(count[list_even], count[list_odd]));
      state_.room.far = std::max<std::size_t>(state_.room.far, 2 * count[far_pairs]);
      state_.room.near = std::max<std::size_t>(state_.room.near, 2 * count[near_pairs]);
      begin();
    } else if (count[list_even] + count[list_odd] > 0) {
      go_on();
    }
    return fits && count[list_even] + count[list_odd] == 0;
  }
  Work work() const {
    const Count* const count = answer_.at();
    return {count[far_pairs], count[particle_pairs], count[tests]};
  }

 private:
  void copy(void* to, const void* from, std::size_t bytes, GPU(MemcpyKind) kind) {
    if (bytes > 0) check(GPU(MemcpyAsync)(to, from, bytes, kind, stream_), "a copy");
  }
  void clear(void* memory, std::size_t bytes) {
    if (bytes > 0) check(GPU(MemsetAsync)(memory, 0, bytes, stream_), "setting memory to 0");
  }
  unsigned warps(std::size_t count) const { return static_cast<unsigned>((count * lanes + threads - 1) / threads); }

  void begin() {
    const std::size_t sinks = state_.sinks;
    state_.count = count_.room(counters);
    for (int i : {0, 1}) state_.list[i] = list_[i].room(state_.room.list);
    state_.far = far_.room(state_.room.far);
    state_.near = near_.room(state_.room.near);
    state_.by_far = by_far_.room(state_.room.far);
    state_.by_near = by_near_.room(state_.room.near);
    std::uint32_t* const of_sinks = of_sinks_.room(4 * sinks);
    state_.far_count = of_sinks;
    state_.near_count = of_sinks + sinks;
    state_.far_begin = of_sinks + 2 * sinks;
    state_.near_begin = of_sinks + 3 * sinks;
    state_.locals = locals_.room(sinks * terms);
    state_.fields = fields_.room(state_.actives);
    std::memset(answer_.at(), 0, counters * sizeof(Count));
    answer_.at()[list_even] = first_.size();
    copy(state_.count, answer_.at(), counters * sizeof(Count), GPU(MemcpyHostToDevice));
    copy(state_.list[0], first_.data(), first_.size() * sizeof(Pair), GPU(MemcpyHostToDevice));
    clear(state_.far_count, 2 * sinks * sizeof(std::uint32_t));
    go_on();
  }

  /// Some rounds, an even number of them, and what comes after the last.
  void go_on() {
    constexpr unsigned grid = 1024;
    for (int round = 0; round < rounds_at_a_time; ++round) {
      go_through<<<grid, threads, 0, stream_>>>(state_, round % 2);
      turn<<<1, 1, 0, stream_>>>(state_, round % 2);
    }
    if (state_.sinks > 0) {
      clear(&state_.count[particle_pairs], sizeof(Count));
      begin_of_each<<<1, 1024, 0, stream_>>>(state_.far_count, state_.far_begin, state_.sinks);
      begin_of_each<<<1, 1024, 0, stream_>>>(state_.near_count, state_.near_begin, state_.sinks);
      by_sink<<<grid, threads, 0, stream_>>>(&state_.count[far_pairs], state_.room.far, state_.far, state_.far_begin,
                                             state_.by_far);
      by_sink<<<grid, threads, 0, stream_>>>(&state_.count[near_pairs], state_.room.near, state_.near,
                                             state_.near_begin, state_.by_near);
      add_far<<<warps(state_.sinks), threads, 0, stream_>>>(state_);
      add_near<<<warps(state_.sinks), threads, 0, stream_>>>(state_);
    }
    check(GPU(GetLastError)(), "nbody: a kernel");
    copy(host_locals_.at(), state_.locals, state_.sinks * terms * sizeof(float), GPU(MemcpyDeviceToHost));
    copy(host_fields_.at(), state_.fields, state_.actives * sizeof(ActiveField), GPU(MemcpyDeviceToHost));
    copy(answer_.at(), state_.count, counters * sizeof(Count), GPU(MemcpyDeviceToHost));
    gpu_example::call_back(stream_, told_);
  }

  const int gpu_;
  GPU(Stream_t) stream_ = nullptr;
  CkCallback told_;
  std::vector<Pair> first_;
  State state_ = {};
  Memory<Sink, true> host_sinks_;
  Memory<ActivePlace, true> host_places_;
  Memory<float, true> host_locals_;
  Memory<ActiveField, true> host_fields_;
  Memory<Count, true> answer_;
  Memory<std::byte> sources_;
  Memory<Sink> sinks_;
  Memory<ActivePlace> places_;
  Memory<Count> count_;
  Memory<Pair> list_[2];
  Memory<Acting> far_, near_;
  Memory<ImageOf> by_far_, by_near_;
  Memory<std::uint32_t> of_sinks_;
  Memory<float> locals_;
  Memory<ActiveField> fields_;
};

class Gpus : public GpuWalk {
  std::string name_;
  Memory<std::byte, true> sources_;
  std::size_t bytes_ = 0;
  std::vector<std::unique_ptr<OfGpu>> all_;

 public:
  explicit Gpus(int count) : name_(gpu_example::describe(count)) {
    for (int gpu = 0; gpu < count; ++gpu) all_.push_back(std::make_unique<OfGpu>(gpu));
  }
  std::string name() const override { return name_; }
  int gpus() const override { return static_cast<int>(all_.size()); }
  std::byte* sources(std::size_t bytes) override {
    bytes_ = bytes;
    return sources_.room(bytes);
  }
  void send() override {
    for (auto& gpu : all_) gpu->take(sources_.at(), bytes_);
  }
  ActedOn room(int gpu, std::size_t sinks, std::size_t actives) override {
    return all_[static_cast<std::size_t>(gpu)]->room(sinks, actives);
  }
  void start(int gpu, const PairRules& rules, std::span<const Pair> first, std::size_t sinks, std::size_t actives,
             const CkCallback& told) override {
    all_[static_cast<std::size_t>(gpu)]->start(rules, first, sinks, actives, told);
  }
  bool isOver(int gpu) override { return all_[static_cast<std::size_t>(gpu)]->is_over(); }
  Work work(int gpu) const override { return all_[static_cast<std::size_t>(gpu)]->work(); }
};

}  // namespace

std::unique_ptr<GpuWalk> makeGpuWalk(std::string& whyNot) {
  const int count = gpu_example::count(whyNot);
  return count > 0 ? std::make_unique<Gpus>(count) : nullptr;
}

}  // namespace periapt::nbody
