// The blocks of C++ in the bodies of entries (runtime/sdag), for what tells what runs: error messages and traces.
// C++17: reached from charm++.h.
#pragma once

namespace periapt {

class Pe;

// Both texts last as long as the program.
struct SerialBlock {
  const char* label;  // of serial "label"; may be empty
  const char* place;  // "hello.ci:12"
};

// Hears of each block that begins and ends, on the PE that runs it. Blocks may nest, and threads of entries may end
// theirs in another order.
class SerialObserver {
 public:
  virtual ~SerialObserver() = default;
  virtual void on_serial(Pe& pe, const SerialBlock& block, bool begins) = 0;
};

struct SerialBlocks {
  // Of the process: set before the first PE runs. Null: none.
  static inline SerialObserver* observer = nullptr;
  // The block that runs on a PE, or null. Set by runtime/sdag.
  static inline const SerialBlock* (*running)(const Pe& pe) = nullptr;
};

}  // namespace periapt
