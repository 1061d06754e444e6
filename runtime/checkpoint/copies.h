// A checkpoint in memory where hosts have memories of their own: what each needs of the others' parts to begin again.
//
// A process begins again on its own host, which has its parts. Beside them each host needs the part of the program, the
// definitions of collections, which stand first in PE 0's part, and what the node groups of process 0 know; PE 0 needs
// what all parts know of unfinished reductions, which stands first in those of PEs, and somewhere in those of
// processes. So blocks of these parts are sent; then PE 0 has the checkpoint count everywhere.
//
// Only when all hosts have said so the next one is begun: until then each host has the one before, too, and the run
// goes back to the latest that all have (tools/charmrun/hub.h).
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "runtime/checkpoint/manifest.h"
#include "runtime/checkpoint/snapshot.h"
#include "runtime/scheduler/pe.h"

namespace periapt::checkpoint {

class Copies {
 public:
  explicit Copies(Pe& pe) : pe_(pe) {}
  static void register_entries();

  // On each PE: it has written a part, of which the first `blocks` are needed elsewhere.
  void forget_parts() { parts_.clear(); }
  void add_part(const std::string& name, std::uint64_t blocks) { parts_.push_back({name, blocks}); }

  // On PE 0, when all PEs have written: sends what has to be sent and commits. `others`: a PE of each memory but PE
  // 0's. `done` gets what failed, or nothing.
  void begin(const Manifest& manifest, std::vector<int> others, std::function<void(std::string)> done);

 private:
  struct Part {
    std::string name;
    std::uint64_t blocks;
  };
  struct Order {
    std::uint64_t memory;  // PE 0's; behind this: the numbers of others
    std::int32_t number;   // of the checkpoint
  };
  struct Head {
    std::uint64_t block;
    std::int32_t number;
    std::int32_t name_bytes;  // behind this; then the bytes of the block
  };

  static void on_order(Pe&, Delivery&);
  static void on_block(Pe&, Delivery&);
  static void on_sent(Pe&, Delivery&);
  static void on_stored(Pe&, Delivery&);
  static void on_commit(Pe&, Delivery&);
  static void on_committed(Pe&, Delivery&);

  int send_parts(int to, int number);
  void look();

  Pe& pe_;
  std::vector<Part> parts_;
  // PE 0
  Manifest manifest_;
  std::vector<int> others_;
  std::function<void(std::string)> done_;
  int told_ = 0, sent_ = 0, stored_ = 0, committed_ = 0;
  bool failed_ = false;
};

}  // namespace periapt::checkpoint
