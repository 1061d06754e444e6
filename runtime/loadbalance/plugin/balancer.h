// A balancer in a shared library: +balancer ./mine.so. It includes periapt_balancer.h alone; docs/first-balancer.md
// shows one. C++17.
//
//   static void balance(const periapt_problem& p, int32_t* to) { ... }
//   PERIAPT_BALANCER("what it does", balance)
//
// The library is opened in a process of its own, so a mistake in it costs a step and not the run. balance() may throw.
#pragma once
#include <cstddef>
#include <cstdint>

// The number of this interface. A library that was made for another one is refused.
#define PERIAPT_BALANCER_INTERFACE 2

// Arrays of plain numbers; times are seconds since the last balancing.
struct periapt_problem {
  uint64_t step;
  uint64_t pes;
  const double* pe_wall;        // length of the interval
  const double* pe_idle;        // without work
  const double* pe_background;  // in what cannot be moved
  const double* pe_speed;       // relative: work of w seconds at speed 1 takes w / speed
  const double* pe_gpu;         // of GPUs, for what cannot be moved
  const uint8_t* pe_available;  // 0: nothing may be put there
  uint64_t objects;
  const double* load;         // on the PE where it is
  const double* gpu;          // that GPUs have worked for it
  const int32_t* pe;          // where it is
  const uint8_t* migratable;  // 0: it stays
  const int32_t* array;
  const uint64_t* element;
  const uint64_t* bytes;  // its state, packed; 0: not known
  const float* position;  // x, y, z of each object, not a number where it gave none; null when none did
  uint64_t pairs;         // what objects have sent each other, with PERIAPT_BALANCER_OF_MESSAGES
  const uint32_t* pair_from;
  const uint32_t* pair_to;
  const uint64_t* pair_messages;
  const uint64_t* pair_bytes;
};

struct periapt_balancer {
  uint32_t interface;
  uint32_t wants_messages;
  const char* summary;
  // Writes the PE of each object; before, to[i] is where it is.
  void (*balance)(const periapt_problem& problem, int32_t* to);
};

#define PERIAPT_BALANCER_DEFINE(summary, function, messages) \
  extern "C" __attribute__((visibility("default")))          \
  const periapt_balancer periapt_balancer_plugin = {PERIAPT_BALANCER_INTERFACE, messages, summary, function};
#define PERIAPT_BALANCER(summary, function) PERIAPT_BALANCER_DEFINE(summary, function, 0)
#define PERIAPT_BALANCER_OF_MESSAGES(summary, function) PERIAPT_BALANCER_DEFINE(summary, function, 1)
