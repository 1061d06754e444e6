// What a test sets of the fake GPUs, and what it may look at. A process of its own takes it from PERIAPT_FAKE_GPU in
// its environment: "gpus=4,delay=0,ipc=0".
#pragma once

#include <cstdint>

namespace periapt::fake_gpu {

struct Settings {
  std::int64_t gpus = 2;
  std::int64_t delay = 2;               ///< how often an event has to be asked about before a piece of work is done
  std::int64_t ipc = 1;                 ///< 0: other processes may not map memory, as in many containers
  std::int64_t peers = 1;               ///< 0: no GPU reads another one's memory; 2: they do, over PCI express
  std::int64_t memory = 1LL << 40;      ///< bytes of a GPU
  std::int64_t pinned = 1LL << 40;      ///< bytes of pinned memory
  std::int64_t pins = 1;                ///< 0: memory that is there already may not become pinned
  std::int64_t version = 0;             ///< that the driver says it has; 0: a new one
  std::int64_t init_error = 0;          ///< what it answers to its first call
  std::int64_t copies_until_loss = -1;  ///< after so many copies the GPU is lost: each answers with an error
  std::int64_t compile_error = 0;       ///< of the compiler that is a library
  std::int64_t image_error = 0;         ///< of machine code that the build has
  std::int64_t kernels = 1;             ///< 0: a kernel finds no room on its GPU, until something waits for it
  std::int64_t launches = -1;           ///< after so many kernels each launch is refused
  std::int64_t warps = 1;               ///< that a block has
  std::int64_t salt = 0;                ///< GPUs of another one are others, although they have the same numbers
  std::int64_t mps = 0;                 ///< 1: kernels of several processes run together
  std::int64_t lost = 0;                ///< it is: so do all calls that need its context
  std::int64_t capturing = 0;           ///< 1: a stream is captured; -1: a question has broken that
  std::int64_t busy_default = 0;        ///< 1: the process's default stream has something to do
  std::int64_t clock = 1000;  ///< a kernel's: 1 goes a thousand times slower, for hosts that are busy; 0 stands still
  std::int64_t touches = -1;  ///< after so many loads and stores of kernels the GPU is lost
  std::int64_t dma_buf = 1;   ///< 0: the driver has none for other devices; -1: it gives none
  std::int64_t files = 1;     ///< 0: the driver gives no files of what is mapped by hand
  std::int64_t fabric = 0;    ///< 1: it gives handles of such memory that hold on other hosts
  std::int64_t begin = 0;     ///< where in a page allocations begin; those that do cannot be mapped by others
  // counted
  std::int64_t calls = 0;  ///< of those that a message might make
  std::int64_t copies = 0;
  std::int64_t pageable = 0;    ///< copies from or to memory that the driver does not know, which may wait
  std::int64_t row_copies = 0;  ///< copies by rows
  std::int64_t questions = 0;   ///< about addresses
  std::int64_t imports = 0;     ///< handles that are open
  std::int64_t launched = 0;    ///< kernels
  std::int64_t waits = 0;       ///< calls that wait for a GPU
  std::int64_t shared = 0;      ///< files for other devices that were given out
  std::int64_t opened = 0;      ///< a bit for each GPU that has had a context made
  std::int64_t in_time = 0;     ///< allocations to and from which copies have ended when the program is told so
};

}  // namespace periapt::fake_gpu
