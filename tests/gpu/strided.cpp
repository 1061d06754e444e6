// Strided memory as contents of messages: layouts of all kinds on both sides, in memory of all kinds, to elements of
// arrays, members of groups and node groups, one and all; what lies between the blocks is as it was. It runs on the
// GPUs of the process's driver, which in ./check is a fake one; without any, all memory is the host's.
#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "machine/gpu/packs.h"
#include "runtime/pup/pup.h"
#include "runtime/pup/stl.h"
#include "tests/gpu/driver_function.h"
#include "tests/gpu/fake/faults.h"
#include "tests/host/amount.h"
#include "tests/zero-copy/device_memory.h"

struct Case {
  int out = 0, in = 0;            // numbers of shapes
  int kind_out = 0, kind_in = 0;  // of memory
  int items = 1;                  // ints of an element of theirs
  int seed = 0;
};
PUPbytes(Case)

#include "gpu_strided_memory.decl.h"

    /*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Cell cells;
/*readonly*/ CProxy_Branch branches;
/*readonly*/ CProxy_NodeBranch nodes;

namespace {

using namespace device_memory;
using Numbers = CkDeviceLayout::Numbers;

constexpr int cell_count = 5;
constexpr int elements = 240;  // of each shape but those in which there is nothing
constexpr int shapes = 9, shapes_in = 8, nothing = 9, nothing_too = 10;
constexpr int arrays_of_step = 20;
constexpr int memory_of_one = 1500;                 // bytes, of which 240 ints are 960
constexpr int large = periapt::tests::amount(700);  // ints

// Where the elements of a layout are, found without it.
struct Shape {
  CkDeviceLayout layout;
  std::vector<std::ptrdiff_t> places;
  std::ptrdiff_t size = 0;  // of the memory
};

void add(Shape& shape, std::ptrdiff_t first, std::ptrdiff_t length) {
  for (std::ptrdiff_t i = 0; i < length; ++i) {
    shape.places.push_back(first + i);
    shape.size = std::max(shape.size, first + i + 1);
  }
}
template <class T>
Shape vector_of(int count, int length, int stride) {
  Shape shape{CkDeviceLayout::vector<T>(count, length, stride), {}};
  for (int i = 0; i < count; ++i) add(shape, std::ptrdiff_t{i} * stride, length);
  return shape;
}
template <class T>
Shape indexed_of(const Numbers& offsets, const Numbers& lengths) {
  Shape shape{CkDeviceLayout::indexed<T>(offsets, lengths), {}};
  for (std::size_t i = 0; i < offsets.size(); ++i) add(shape, offsets[i], lengths[i]);
  return shape;
}
template <class T>
Shape subarray_of(const Numbers& sizes, const Numbers& subsizes, const Numbers& starts) {
  Shape shape{CkDeviceLayout::subarray<T>(sizes, subsizes, starts), {}};
  // As of four dimensions.
  std::array<std::ptrdiff_t, 4> size{1, 1, 1, 1}, part{1, 1, 1, 1}, start{};
  const std::size_t before = 4 - sizes.size();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    size[before + i] = sizes[i];
    part[before + i] = subsizes[i];
    start[before + i] = starts[i];
  }
  for (std::ptrdiff_t a = 0; a < part[0]; ++a)
    for (std::ptrdiff_t b = 0; b < part[1]; ++b)
      for (std::ptrdiff_t c = 0; c < part[2]; ++c)
        add(shape, (((start[0] + a) * size[1] + start[1] + b) * size[2] + start[2] + c) * size[3] + start[3], part[3]);
  shape.size = size[0] * size[1] * size[2] * size[3];
  return shape;
}

template <class T>
Shape shape_of_items(int number) {
  switch (number) {
    case 0: {
      Shape shape;
      add(shape, 0, elements);
      return shape;
    }
    case 1:
      return vector_of<T>(240, 1, 3);
    case 2:
      return vector_of<T>(30, 8, 20);
    case 3:
      return subarray_of<T>({6, 240}, {1, 240}, {3, 0});  // in one piece
    case 4:
      return indexed_of<T>({500, 0, 17, 18, 300, 90, 40}, {100, 16, 1, 2, 90, 0, 31});
    case 5:
      return subarray_of<T>({20, 40}, {12, 20}, {3, 5});
    case 6:
      return subarray_of<T>({4, 6, 7, 9}, {2, 5, 6, 4}, {1, 0, 1, 3});
    case 7:
      return subarray_of<T>({6, 6, 16}, {5, 6, 8}, {1, 0, 4});
    case 8:
      return vector_of<T>(60, 4, 2);  // some elements are sent twice
    case nothing:
      return vector_of<T>(0, 1, 3);
    default:
      return subarray_of<T>({6, 6, 16}, {5, 0, 8}, {1, 6, 4});
  }
}
// All of ints.
Shape shape_of(int number, int items) {
  if (items == 1) return shape_of_items<int>(number);
  const Shape of_items = shape_of_items<std::array<int, large>>(number);
  Shape shape{of_items.layout, {}};
  for (const std::ptrdiff_t place : of_items.places) add(shape, place * large, large);
  shape.size = of_items.size * large;
  return shape;
}

bool are_alike(const CkDeviceLayout& a, const CkDeviceLayout& b) {
  if (a.is_contiguous() || b.is_contiguous()) return a.is_contiguous() == b.is_contiguous();
  using periapt::gpu::Layout;
  const Layout &one = *a.get(), &other = *b.get();
  const auto same_rows = [](const Layout::Row& x, const Layout::Row& y) {
    return x.count == y.count && x.stride == y.stride;
  };
  const auto same_blocks = [](const Layout::Block& x, const Layout::Block& y) {
    return x.offset == y.offset && x.bytes == y.bytes;
  };
  return one.first == other.first && one.block == other.block && one.bytes == other.bytes &&
         one.extent == other.extent && one.multiples == other.multiples && one.overlaps == other.overlaps &&
         std::equal(one.rows.begin(), one.rows.end(), other.rows.begin(), other.rows.end(), same_rows) &&
         std::equal(one.blocks.begin(), one.blocks.end(), other.blocks.begin(), other.blocks.end(), same_blocks);
}

int value(int seed, std::ptrdiff_t i) { return static_cast<int>(i * 7919 + seed * 104729) & 0x3FFFFFFF; }
// Of elements whose places may be the same ones.
int sent_value(const Case& c, const Shape& from, std::size_t i) { return value(c.seed, from.places[i]); }
int untouched(std::ptrdiff_t place) { return -1 - static_cast<int>(place % 1000); }

// Memory stays until its contents have been read: an element may have gone by then.
std::mutex mutex;
std::vector<std::unique_ptr<Memory>>& memories() {
  static auto& all = *new std::vector<std::unique_ptr<Memory>>;
  return all;
}
Memory& make(MemoryType kind, std::ptrdiff_t ints) {
  auto made = std::make_unique<Memory>(kind, static_cast<std::size_t>(ints) * sizeof(int));
  std::lock_guard lock(mutex);
  memories().push_back(std::move(made));
  return *memories().back();
}
std::unique_ptr<Memory> take(const int* at) {
  std::lock_guard lock(mutex);
  const auto found = std::find_if(memories().begin(), memories().end(),
                                  [at](const auto& one) { return one->template at<int>() == at; });
  DEMAND(found != memories().end());
  std::unique_ptr<Memory> taken = std::move(*found);
  memories().erase(found);
  return taken;
}

CkDeviceBuffer to_send(const Case& c, const CkCallback& read) {
  const Shape shape = shape_of(c.out, c.items);
  Memory& memory = make(kinds[c.kind_out], shape.size);
  std::vector<int> values(static_cast<std::size_t>(shape.size), -1);
  for (const std::ptrdiff_t place : shape.places) values[static_cast<std::size_t>(place)] = value(c.seed, place);
  memory.write(values);
  return shape.layout.is_contiguous() ? CkDeviceBuffer(memory.at<int>(), read, memory.stream())
                                      : CkDeviceBuffer(memory.at<int>(), shape.layout, read, memory.stream());
}
CkDeviceBuffer to_send(const Case& c) { return to_send(c, CkCallback(CkIndex_Main::one(), mainProxy)); }
int count_of(const Case& c) { return c.out < nothing ? elements * c.items : 0; }

// A post entry method does this.
void post(const Case& c, int*& x, CkDeviceBufferPost& where) {
  const Shape shape = shape_of(c.in, c.items);
  Memory& memory = make(kinds[c.kind_in], shape.size);
  std::vector<int> values(static_cast<std::size_t>(shape.size));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = untouched(static_cast<std::ptrdiff_t>(i));
  memory.write(values);
  x = memory.at<int>();
  where.cuda_stream = memory.stream();
  where.layout = shape.layout;
}
// And the entry this.
void check(const Case& c, const int* x, int n) {
  DEMAND(n == count_of(c));
  const Shape from = shape_of(c.out, c.items), to = shape_of(c.in, c.items);
  const std::unique_ptr<Memory> memory = take(x);
  std::vector<int> expected(static_cast<std::size_t>(to.size));
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = untouched(static_cast<std::ptrdiff_t>(i));
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
    expected[static_cast<std::size_t>(to.places[i])] = sent_value(c, from, i);
  const std::vector<int> got = memory->read(x, expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    if (got[i] != expected[i])
      CkAbort("from shape %d in %d to %d in %d: element %zu is %d, not %d", c.out, c.kind_out, c.in, c.kind_in, i,
              got[i], expected[i]);
  mainProxy.one();
}

}  // namespace

class Main : public CBase_Main {
  int left_ = 0;
  CthThread thread_ = nullptr;

  // Each of the calls that are made meanwhile tells one() when all is well.
  void wait(int count) {
    left_ += count;
    while (left_ != 0) {
      thread_ = CthSelf();
      CthSuspend();
      thread_ = nullptr;
    }
    CkWaitQD();  // nothing comes twice
    DEMAND(left_ == 0);
  }

 public:
  explicit Main(CkArgMsg* args) {
    const std::string wrong = args->argc > 1 ? args->argv[1] : "";
    delete args;
    mainProxy = thisProxy;
    cells = CProxy_Cell::ckNew(cell_count);
    branches = CProxy_Branch::ckNew();
    nodes = CProxy_NodeBranch::ckNew();
    if (wrong.empty())
      thisProxy.run();
    else if (wrong == "steps" || wrong == "one_piece")
      thisProxy.steps(wrong == "steps" ? 4 : 3);
    else if (wrong == "scarce" || wrong == "scarce_both")
      thisProxy.scarce(wrong == "scarce_both");
    else
      cells[0].wrong(wrong);
  }
  void one() {
    --left_;
    if (left_ == 0 && thread_) CthAwaken(thread_);
  }

  void run() {
    const bool by_kernel = driver() && periapt::gpu::Packer::kernel(*driver(), 0).ok();
    CkPrintf("on %s, packed %s\n", driver() ? driver()->vendor() : "no GPU",
             by_kernel ? "by a kernel" : "without a kernel");
    for (int out = 0; out < shapes; ++out) {
      for (int in = 0; in < shapes_in; ++in)
        for (int k = 0; k < 2; ++k) {
          const Case c{out, in, (3 * out + in + k) % 5, (out + 2 * in + 3 * k) % 5, 1, 10 * out + in};
          cells[(out + in) % cell_count].send(c);
        }
      wait(shapes_in * 2 * 2 * 3);
    }
    for (int out = 0; out < shapes; ++out) {
      cells[out % cell_count].send({out, (out + 3) % shapes_in, out % 2 * 4, out % 3 % 2 * 4, large, out});
      wait(2 * 3);
    }
    for (const auto& [out, in] : {std::pair(nothing, nothing_too), {nothing_too, nothing}, {nothing, 0}, {0, 0}}) {
      cells[0].send({out, in, 0, 0, 1, 0});
      wait(2 * 3);
    }
    // Every kind to every other.
    for (int kind_out = 0; kind_out < 5; ++kind_out) {
      for (int kind_in = 0; kind_in < 5; ++kind_in) cells[kind_in].send({2, 5, kind_out, kind_in, 1, kind_in});
      wait(5 * 2 * 3);
    }
    // To collections: the elements go along.
    for (int out : {0, 1, 4, 6}) {
      for (int kind = 0; kind < 5; ++kind)
        cells[kind].sendToAll({out, (out + kind) % shapes_in, kind, 4 - kind, 1, kind});
      wait(5 * (cell_count + CkNumPes() + CkNumNodes() + 3));
    }
    for (int shape = 0; shape <= nothing_too; ++shape) {
      const CkDeviceLayout layout = shape_of(shape, 1).layout;
      cells[1].given(shape, layout, CkDeviceBuffer(nullptr, layout));
    }
    wait(nothing_too + 1);
    cells.rounds(3);
    wait(cell_count * 3 * 2);
    // Elements that are on the move.
    for (int i = 0; i < cell_count; ++i) cells[i].wander(10);
    wait(cell_count * 10 * 2);
    CkPrintf("all strided messages have come\n");
    CkExit();
  }

  // Where there is memory for one array, packed or not unpacked yet; with `both` each of two PEs has one of these, and
  // neither reads the other's from where it is.
  void scarce(bool both) {
    for (int k = 0; k < 2; ++k) cells[k * (cell_count - 1)].prepare(1);
    CkWaitQD();
    for (int k = 0; k < 2; ++k) cells[k * (cell_count - 1)].beScarce();
    CkWaitQD();
    cells[0].sendStep(1, cell_count - 1);
    if (both) cells[cell_count - 1].sendStep(1, 0);
    wait((both ? 4 : 2) * arrays_of_step);
    CkPrintf("all have come, one after the other\n");
    CkExit();
  }
  // On the fake driver: the same arrays again and again, after the first time without more memory.
  void steps(int shape) {
    static auto* const settings = driver_function<periapt::fake_gpu::Settings*()>("periapt_fake_gpu_settings");
    for (int step = 0; step < 6; ++step) {
      cells[0].sendStep(shape, 1);
      wait(2 * arrays_of_step);
      if (step == 0) settings()->memory = 0;
    }
    CkPrintf("%d bytes were given back, %d kernels were launched\n", static_cast<int>(settings()->memory),
             static_cast<int>(settings()->launched));
    CkExit();
  }
};

class Cell : public CBase_Cell {
  Cell_SDAG_CODE int round = 0;
  std::vector<CkDeviceLayout> layouts_;       // of all shapes
  std::vector<Memory*> out_, in_;             // of steps
  std::vector<CkDeviceLayout> step_layouts_;  // that are the program's from the first step on

 public:
  Cell() {
    for (int shape = 0; shape <= nothing_too; ++shape) layouts_.push_back(shape_of(shape, 1).layout);
  }
  explicit Cell(CkMigrateMessage*) {}
  void pup(PUP::er& p) override { p | layouts_; }

  void send(const Case& c) {
    thisProxy[(thisIndex + 1) % cell_count].take(c, count_of(c), to_send(c));
    branches[(thisIndex + 1) % CkNumPes()].take(c, count_of(c), to_send(c));
    // Two arrays of one call: one in one piece, and one of another type.
    const Case plain{0, 0, c.kind_in, c.kind_out, 1, c.seed};
    if (c.seed % 2 == 0) return nodes[(thisIndex + 1) % CkNumNodes()].take(c, count_of(c), to_send(c));
    Memory& doubles = make(kinds[c.kind_out], 2 * 100);
    doubles.write(std::vector<double>(100, c.seed));
    thisProxy[(thisIndex + 2) % cell_count].two(
        plain, elements, to_send(plain, CkCallback(CkCallback::ignore)), 25,
        CkDeviceBuffer(doubles.at<double>(), CkDeviceLayout::vector<double>(25, 1, 4),
                       CkCallback(CkIndex_Main::one(), mainProxy), doubles.stream()));
  }
  void sendToAll(const Case& c) {
    thisProxy.take(c, count_of(c), to_send(c));
    branches.take(c, count_of(c), to_send(c));
    nodes.take(c, count_of(c), to_send(c));
  }
  void wander(int left) {
    if (left == 0) return;
    const Case c{left % shapes, (left + thisIndex) % shapes_in, left % 5, thisIndex % 5, 1, left};
    thisProxy[(thisIndex + 1) % cell_count].take(c, count_of(c), to_send(c));
    thisProxy[thisIndex].wander(left - 1);
    migrateMe((CkMyPe() + 1 + (left + thisIndex) % 3) % CkNumPes());
  }
  void take(const Case& c, int&, int*& x, CkDeviceBufferPost* where) {
    post(c, x, where[0]);
    DEMAND(c.items != 1 || are_alike(where[0].layout, layouts_.at(static_cast<std::size_t>(c.in))));
    if (c.items == 1) where[0].layout = layouts_[static_cast<std::size_t>(c.in)];
  }
  void take(const Case& c, int n, int* x) { check(c, x, n); }

  void prepare(int shape) {
    for (int i = 0; i < arrays_of_step; ++i) prepare(shape, static_cast<std::size_t>(i));
  }
  // From here on the GPUs have no memory for more than one array.
  void beScarce() {
    driver_function<periapt::fake_gpu::Settings*()>("periapt_fake_gpu_settings")()->memory = memory_of_one;
  }
  void prepare(int shape, std::size_t i) {
    const Shape of = shape_of(shape, 1);
    if (out_.size() == i) out_.push_back(&make(MemoryType::device, of.size));
    if (in_.size() == i) in_.push_back(&make(MemoryType::device, of.size));
    if (step_layouts_.size() == i) step_layouts_.push_back(of.layout);
  }
  void sendStep(int shape, int to) {
    for (std::size_t i = 0; i < arrays_of_step; ++i) {
      prepare(shape, i);
      std::vector<int> values(static_cast<std::size_t>(shape_of(shape, 1).size));
      for (std::size_t k = 0; k < values.size(); ++k)
        values[k] = value(static_cast<int>(i), static_cast<std::ptrdiff_t>(k));
      out_[i]->write(values);
      thisProxy[to].step(shape, static_cast<int>(i), elements,
                         CkDeviceBuffer(out_[i]->at<int>(), step_layouts_[i],
                                        CkCallback(CkIndex_Main::one(), mainProxy), out_[i]->stream()));
    }
  }
  void step(int shape, int number, int&, int*& x, CkDeviceBufferPost* where) {
    const auto i = static_cast<std::size_t>(number);
    prepare(shape, i);
    x = in_[i]->at<int>();
    where[0].cuda_stream = in_[i]->stream();
    where[0].layout = step_layouts_[i];
  }
  void step(int shape, int number, int n, int* x) {
    DEMAND(n == elements);
    const Shape to = shape_of(shape, 1);
    const std::vector<int> got = in_[static_cast<std::size_t>(number)]->read(x, static_cast<std::size_t>(to.size));
    for (const std::ptrdiff_t place : to.places) DEMAND(got[static_cast<std::size_t>(place)] == value(number, place));
    mainProxy.one();
  }

  void two(const Case& c, int&, int*& x, int&, double*& y, CkDeviceBufferPost* where) {
    post(c, x, where[0]);
    Memory& doubles = make(kinds[c.kind_in], 2 * 50);
    doubles.write(std::vector<double>(50, -1));
    y = doubles.at<double>();
    where[1].cuda_stream = doubles.stream();
    where[1].layout = CkDeviceLayout::subarray<double>({10, 5}, {5, 5}, {5, 0});
  }
  void two(const Case& c, int n, int* x, int m, double* y) {
    DEMAND(m == 25);
    std::vector<double> expected(50, -1);
    std::fill(expected.begin() + 25, expected.end(), c.seed);
    const std::unique_ptr<Memory> doubles = ::take(reinterpret_cast<int*>(y));
    DEMAND(doubles->read(y, 50) == expected);
    check(c, x, n);
  }

  void sendRound() {
    const Case c{1 + round, 6 - round, round, 4 - round, 1, round};
    thisProxy[(thisIndex + 1) % cell_count].arrived(round, c, count_of(c), to_send(c));
  }
  void arrived(int, const Case& c, int&, int*& x, CkDeviceBufferPost* where) { post(c, x, where[0]); }
  static void check(const Case& c, const int* x, int n) { ::check(c, x, n); }

  // What has to end with a sentence. Of 100 ints, at an entry that wants them as `how` says.
  void wrong(const std::string& how) {
    const CkDeviceLayout even = CkDeviceLayout::vector<int>(100, 1, 2);
    const bool on_host = how.find("_host") != std::string::npos;
    auto* const memory = new Memory(on_host ? MemoryType::host : MemoryType::device, 200 * sizeof(int));
    memory->write(std::vector<int>(200));
    CkDeviceBuffer good(memory->at<int>(), even, memory->stream());
    CkDeviceBuffer bad = good;
    if (how == "negative_stride") CkDeviceLayout::vector<int>(100, 1, -2);
    if (how == "negative_count") CkDeviceLayout::vector<int>(-1, 1, 2);
    if (how == "negative_offset") CkDeviceLayout::indexed<int>({0, -3}, {1, 1});
    if (how == "lists") CkDeviceLayout::indexed<int>({0, 3}, {1});
    if (how == "dimensions") CkDeviceLayout::subarray<int>({2, 2, 2, 2, 2}, {1, 1, 1, 1, 1}, {0, 0, 0, 0, 0});
    if (how == "outside") CkDeviceLayout::subarray<int>({10, 20}, {10, 10}, {0, 11});
    if (how == "endless") CkDeviceLayout::vector<int>(std::ptrdiff_t{1} << 62, 1, 4);
    if (how == "contributed")
      contribute(400, good, CkReduction::sum_int, CkCallback(CkReductionTarget(Cell, sum), thisProxy));
    if (how == "sent_zero") bad.layout = CkDeviceLayout::vector<int>(0, 1, 2);
    if (how == "sent_past") bad.layout = CkDeviceLayout::vector<int>(100, 1, 3);
    if (how == "sent_past_host") bad.layout = CkDeviceLayout::vector<int>(100, 1, std::ptrdiff_t{1} << 40);
    if (how == "sent_freed") {
      memory->finish();
      delete memory;
    }
    if (how == "stuck") {  // none receives the first one, whose memory the second one waits for
      driver_function<periapt::fake_gpu::Settings*()>("periapt_fake_gpu_settings")()->memory = 700;
      thisProxy[cell_count].late(how, 100, good);
    }
    if (how == "sent_few") return thisProxy[1].late(how, 99, bad);
    thisProxy[1].late(how, 100, bad);
  }
  void late(const std::string& how, int& n, int*& x, CkDeviceBufferPost* where) {
    auto* const memory = new Memory(how == "past_host" ? MemoryType::host : MemoryType::device, 200 * sizeof(int));
    memory->write(std::vector<int>(200));
    x = memory->at<int>();
    where[0].cuda_stream = memory->stream();
    where[0].layout = CkDeviceLayout::vector<int>(100, 1, 2);
    if (how == "few") where[0].layout = CkDeviceLayout::vector<int>(n = 99, 1, 2);
    if (how == "many") where[0].layout = CkDeviceLayout::vector<int>(n = 101, 1, 1);
    if (how == "other") where[0].layout = CkDeviceLayout::vector<int>(50, 1, 2);
    if (how == "zero") where[0].layout = CkDeviceLayout::vector<int>(0, 1, 2);
    if (how == "overlap") where[0].layout = CkDeviceLayout::vector<int>(50, 2, 1);
    if (how == "overlap_indexed") where[0].layout = CkDeviceLayout::indexed<int>({60, 0}, {39, 61});
    if (how == "past") where[0].layout = CkDeviceLayout::vector<int>(100, 1, 3);
    if (how == "past_host") where[0].layout = CkDeviceLayout::vector<int>(100, 1, std::ptrdiff_t{1} << 40);
    if (how == "freed") {
      memory->finish();
      delete memory;
      where[0].cuda_stream = {};
    }
  }
  void late(const std::string&, int, int*) {
    CkPrintf("it has come\n");
    CkExit();
  }
  void sum(int&, int*&, CkDeviceBufferPost*) {}
  void sum(int, int*) {}
  void given(int shape, const CkDeviceLayout& layout, const CkDeviceBuffer& buffer) {
    DEMAND(are_alike(layout, layouts_.at(static_cast<std::size_t>(shape))));
    DEMAND(are_alike(buffer.layout, layout));
    mainProxy.one();
  }
};

class Branch : public CBase_Branch {
 public:
  Branch() = default;
  void take(const Case& c, int&, int*& x, CkDeviceBufferPost* where) { post(c, x, where[0]); }
  void take(const Case& c, int n, int* x) { check(c, x, n); }
};

class NodeBranch : public CBase_NodeBranch {
 public:
  NodeBranch() = default;
  void take(const Case& c, int&, int*& x, CkDeviceBufferPost* where) { post(c, x, where[0]); }
  void take(const Case& c, int n, int* x) { check(c, x, n); }
};

#include "gpu_strided_memory.def.h"
