#include "tests/gpu/fake/kernels.h"

#include <chrono>
#include <cstring>

#include "tests/gpu/fake/device.h"

#define PERIAPT_ON_GPU inline
#include "machine/gpu/courier_board.h"

// ---- the courier's words for this machine

namespace periapt::gpu {
namespace {

using fake_gpu::Launch;

thread_local Launch* launch_of_thread;
thread_local unsigned warp_of_thread;

unsigned lanes_of_warp() { return 1; }
unsigned lane_number() { return 0; }
unsigned warp_number() { return warp_of_thread; }
unsigned warps_of_block() { return launch_of_thread->warps; }
void wait_for_warp() {}
// What a kernel may not touch costs it its GPU: it is stopped where it is.
struct Stopped {};
void pass_time() {
  std::this_thread::yield();
  if (fake_gpu::Machine::of_process().is_lost()) throw Stopped();
}
void wait_for_block() {
  Launch& launch = *launch_of_thread;
  const unsigned round = launch.round.load();
  if (launch.waiting.fetch_add(1) + 1 == launch.warps) {
    launch.waiting.store(0);
    launch.round.store(round + 1);
  }
  while (launch.round.load() == round) pass_time();
}
Word time_ns() {
  const auto ns = std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  return static_cast<Word>(ns) * static_cast<Word>(launch_of_thread->clock) / 1000;
}
template <class T>
T same_in_warp(T value) {
  return value;
}
template <class T>
T read_shared(T* at) {
  return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}
template <class T>
void write_shared(T* at, T value) {
  __atomic_store_n(at, value, __ATOMIC_RELEASE);
}
void add_shared(unsigned* at, unsigned more) { __atomic_fetch_add(at, more, __ATOMIC_ACQ_REL); }
bool replace_shared(Word* at, Word expected, Word value) {
  return __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}
bool take_shared(unsigned* at) { return __atomic_exchange_n(at, 1u, __ATOMIC_ACQ_REL) == 0; }
void fence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void fence_near() { fence_system(); }
Word read_system(const Word* at) { return __atomic_load_n(at, __ATOMIC_SEQ_CST); }
void write_system(Word* at, Word value) { __atomic_store_n(at, value, __ATOMIC_SEQ_CST); }
CourierCommand read_command(const CourierCommand* at) {
  return {read_system(&at->to),
          read_system(&at->from),
          read_system(&at->bytes),
          read_system(&at->check),
          {read_system(&at->sent[0]), read_system(&at->sent[1]), read_system(&at->sent[2]), read_system(&at->sent[3])}};
}
// Half of it first, and the halves some time apart.
void write_answer(CourierAnswer* at, CourierAnswer answer) {
  write_system(&at->seal, answer.seal);
  pass_time();
  write_system(&at->word, answer.word);
}

// A unit that lies askew costs the GPU as an address does at which there is nothing.
template <class Unit>
void* place_of_unit(Word at) {
  return at % alignof(Unit) == 0 ? reinterpret_cast<void*>(at) : nullptr;
}
template <class Unit>
Unit load_unit(Word from) {
  Unit unit{};
  if (!fake_gpu::Machine::of_process().touch(launch_of_thread->gpu, nullptr, place_of_unit<Unit>(from), &unit,
                                             sizeof(unit)))
    throw Stopped();
  return unit;
}
template <class Unit>
void store_unit(Word to, Unit unit) {
  if (!fake_gpu::Machine::of_process().touch(launch_of_thread->gpu, place_of_unit<Unit>(to), nullptr, &unit,
                                             sizeof(unit)))
    throw Stopped();
}

}  // namespace
}  // namespace periapt::gpu

#include "machine/gpu/courier_kernel.inc"

// ---- the words of the kernels that combine and pack arrays

#include "machine/gpu/fold_orders.h"
#include "machine/gpu/pack_orders.h"

namespace periapt::gpu {
namespace {
Word first_item() { return warp_of_thread; }
Word items_at_a_time() { return launch_of_thread->warps; }
}  // namespace
}  // namespace periapt::gpu

#include "machine/gpu/fold_kernel.inc"
#include "machine/gpu/pack_kernel.inc"

namespace periapt::fake_gpu {
namespace {

// Runs what is to be done with the arguments.
template <class Arguments, class Function>
void run_as(Launch& launch, unsigned warp, Function function) {
  gpu::launch_of_thread = &launch;
  gpu::warp_of_thread = warp;
  Arguments arguments;
  std::memcpy(&arguments, launch.arguments.data(), sizeof(arguments));
  try {
    function(arguments);
  } catch (gpu::Stopped) {
  }
}

constexpr KernelBody kKernels[] = {
    {"periapt_courier", sizeof(gpu::CourierOrders),
     [](Launch& launch, unsigned warp) {
       run_as<gpu::CourierOrders>(launch, warp, [&](const gpu::CourierOrders& orders) {
         gpu::courier_run(*reinterpret_cast<gpu::CourierBlock*>(launch.shared.data()), orders);
       });
     },
     true},
    {"periapt_fold", sizeof(gpu::FoldOrders),
     [](Launch& launch, unsigned warp) { run_as<gpu::FoldOrders>(launch, warp, gpu::fold_run); }, false},
    {"periapt_pack", sizeof(gpu::PackOrders),
     [](Launch& launch, unsigned warp) { run_as<gpu::PackOrders>(launch, warp, gpu::pack_run); }, false}};

}  // namespace

const KernelBody* find_kernel(const char* name) {
  for (const KernelBody& kernel : kKernels)
    if (std::strcmp(name, kernel.name) == 0) return &kernel;
  return nullptr;
}

Launch::Launch(const KernelBody& the_body, int the_gpu, const void* the_arguments)
    : body(the_body), gpu(the_gpu), shared(64) {
  const auto* bytes = static_cast<const unsigned char*>(the_arguments);
  arguments.assign(bytes, bytes + body.argument_bytes);
}

Launch::~Launch() {
  for (std::thread& thread : threads_) thread.join();
}

void Launch::begin(unsigned count) {
  warps = count;
  left_.store(count);
  for (unsigned warp = 0; warp < count; ++warp) {
    threads_.emplace_back([this, warp] {
      body.run(*this, warp);
      left_.fetch_sub(1, std::memory_order_release);
    });
  }
}

}  // namespace periapt::fake_gpu
