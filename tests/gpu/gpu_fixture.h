// A driver over the fake GPUs, and memory of theirs that a test fills and reads.
#pragma once

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <utility>
#include <vector>

#include "machine/gpu/vendors.h"
#include "machine/ucx-like/transport.h"
#include "tests/gpu/fake_gpu.h"
#include "tests/host/pattern.h"

namespace periapt::gpu {

inline const fake_gpu::InPlace fakes_in_place;

/// The end of a copy: how often, and with what.
struct Told : ucx::Completion {
  Told() { done = tell; }
  static void tell(ucx::Completion& self, ucx::Outcome outcome) {
    static_cast<Told&>(self).outcome = outcome;
    ++static_cast<Told&>(self).count;
  }
  ucx::Outcome outcome = ucx::Outcome::unsupported;
  unsigned count = 0;
};

class GpuTest : public ::testing::TestWithParam<const char*> {
 protected:
  GpuTest() : settings(fake_gpu::settings(GetParam())), before_(settings), driver(driver_of(GetParam())) {
    settings.pageable = settings.waits = 0;
    stream_ = *driver.make_stream(0);
  }
  ~GpuTest() override {
    settings.copies_until_loss = -1;
    settings.lost = 0;
    driver.destroy(stream_);
    for (auto& [memory, kind] : made_) EXPECT_TRUE(driver.free(0, kind, memory).ok());
    EXPECT_EQ(fake_gpu::function<std::size_t()>(GetParam(), "periapt_fake_gpu_contexts")(), 0u)
        << "a thread's current GPU is the program's business";
    settings = before_;
  }
  static Driver& driver_of(const std::string& name) {
    for (const Vendor& vendor : vendors()) {
      if (vendor.name == name) return *vendor.driver().value();
    }
    std::abort();
  }
  std::byte* make(MemoryType kind, std::uint64_t bytes, int gpu = 0) {
    Result<std::byte*> made = driver.allocate(gpu, kind, bytes);
    EXPECT_TRUE(made.ok()) << made.message();
    if (!made) std::abort();
    made_.emplace_back(*made, kind);
    return *made;
  }
  void free(std::byte* memory) {
    for (std::size_t i = 0; i < made_.size(); ++i) {
      if (made_[i].first != memory) continue;
      EXPECT_TRUE(driver.free(0, made_[i].second, memory).ok());
      made_.erase(made_.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  }
  /// For what a test is not about: waits.
  void write(std::byte* memory, const std::vector<std::byte>& bytes) { move(memory, bytes.data(), bytes.size()); }
  std::vector<std::byte> read(const std::byte* memory, std::uint64_t size) {
    std::vector<std::byte> bytes(size);
    move(bytes.data(), memory, size);
    return bytes;
  }
  /// In a child process: its answer is "" when all is well there.
  template <class Body>
  static void in_another_process(Body&& body) {
    const pid_t child = ::fork();  // the fakes do outlive a fork
    if (child == 0) {
      const std::string wrong = body();
      if (!wrong.empty()) std::fprintf(stderr, "the other process: %s\n", wrong.c_str());
      ::_exit(wrong.empty() ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }

  fake_gpu::Settings& settings;

 private:
  void move(void* to, const void* from, std::uint64_t bytes) {
    const std::int64_t pageable = settings.pageable, waits = settings.waits;
    const std::int64_t questions = settings.questions;
    Stream stream = stream_;  // of the GPU that the memory lies on: a pool is closed to others
    for (const void* memory : {static_cast<const void*>(to), from}) {
      const int gpu = driver.look(memory)->gpu;
      if (gpu > 0 && stream.gpu == stream_.gpu) stream = *driver.make_stream(gpu);
    }
    EXPECT_TRUE(driver.copy(stream, to, from, bytes).ok());
    EXPECT_TRUE(driver.finish(stream).ok());
    if (stream.gpu != stream_.gpu) driver.destroy(stream);
    settings.questions = questions;
    settings.pageable = pageable;
    settings.waits = waits;
  }

  const fake_gpu::Settings before_;
  std::vector<std::pair<std::byte*, MemoryType>> made_;
  Stream stream_;

 protected:
  Driver& driver;
};

}  // namespace periapt::gpu
