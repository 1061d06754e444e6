// What a message of 8 bytes costs in instructions: two ends in one process, which send in turn, so that nothing waits
// and each look finds something. counted_send() and counted_look() are what is counted, by
//
//   valgrind --tool=callgrind --collect-atstart=no --toggle-collect='*counted_*' bench_net_counted 1000 1
//
// bench/instructions does so, and takes away what libibverbs and its driver do themselves. The arguments: how many
// messages, and how many of them in a row before the other end looks.
#pragma once

#include <unistd.h>

#include <concepts>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace periapt::bench {

/// Both ends: `send()` sends the next 8 bytes from the first to the second, which has asked for it before (`expect()`);
/// `look(end)` lets that end make progress; `taken()` says how many have come.
template <class E>
concept Ends = requires(E& ends, int end) {
  ends.expect();
  ends.send();
  ends.look(end);
  { ends.taken() } -> std::same_as<long>;
};

}  // namespace periapt::bench

// By these names callgrind knows them: of one program each, and never inlined.
template <class E>
[[gnu::noinline]] void counted_send(E& ends) {
  ends.expect();
  ends.send();
}
template <class E>
[[gnu::noinline]] void counted_look(E& ends, int end) {
  ends.look(end);
}

namespace periapt::bench {

template <Ends E>
int count(E& ends, int argc, char** argv) {
  const long messages = argc > 1 ? std::atol(argv[1]) : 1000, in_a_row = argc > 2 ? std::atol(argv[2]) : 1;
  long looks = 0, before = 0;
  for (; before < 200; ++before) {  // until all is connected, and no table grows any more
    ends.expect();
    ends.send();
    while (ends.taken() <= before) ends.look(0), ends.look(1);
  }
  for (long sent = 0; sent < messages;) {
    for (long i = 0; i < in_a_row; ++i, ++sent) counted_send(ends);
    if (in_a_row > 1) counted_look(ends, 0), ++looks;  // what was gathered goes then
    while (ends.taken() < before + sent) {
      ::usleep(100);  // a software device does its part in the kernel
      counted_look(ends, 1), ++looks;
    }
    ::usleep(100);
    counted_look(ends, 0), ++looks;
  }
  std::printf("counted: %ld messages, %ld in a row, %ld looks\n", messages, in_a_row, looks);
  return 0;
}

}  // namespace periapt::bench
