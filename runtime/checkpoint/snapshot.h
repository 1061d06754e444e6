// Writes the parts of a checkpoint: what lives on a PE, in a process, and once a program.
//
// All is quiet meanwhile (checkpoints.h), so that the objects are all there is: no message is on its way, none waits,
// no element migrates, and broadcasts have come everywhere. What remains are reductions in which some have
// contributed and others have not.
#pragma once
#include <cstdint>
#include <string>

#include "base/status.h"
#include "runtime/checkpoint/storage.h"
#include "runtime/objects/pe_objects.h"

namespace periapt::checkpoint {

// Where parts go.
struct Destination {
  const Storage& storage;
  int number;        // of the checkpoint
  std::uint64_t id;  // of the checkpoint
};

// Part of a checkpoint that a PE has written: its length, or why there is none.
struct WrittenPart {
  std::uint64_t bytes = 0;
  std::uint64_t first_blocks = 0;  // those that other hosts need (copies.h)
  Status status;
};

std::string pe_part(int pe);
std::string process_part(int process);
constexpr const char* program_part = "program";

// What is called when the checkpoint is there, and after a restart.
struct Afterwards {
  CkCallback callback;
  bool wants_status = false;  // with a CkCheckpointStatusMsg
  void pup(PUP::er& p) {
    p | callback;
    p | wants_status;
  }
};

WrittenPart write_pe(PeObjects& objects, const Destination& to);
WrittenPart write_process(PeObjects& objects, const Destination& to);
// On PE 0.
WrittenPart write_program(PeObjects& objects, const Destination& to, Afterwards afterwards);

// In front of the elements that stand at one index, and in front of each of them. Of one that waits in AtSync its load
// comes next, a double.
struct PlaceHead {
  CkArrayIndexBase index;
  std::uint32_t members;
  std::uint32_t unused;
};
struct MemberHead {
  std::int32_t array;
  std::uint32_t contributions;
  std::uint64_t bytes : 63;  // of pup()
  std::uint64_t in_sync : 1;
};
static_assert(sizeof(PlaceHead) == 24 && sizeof(MemberHead) == 16);

// How many chares, sections and collections a PE has made.
struct Numbers {
  std::uint64_t chares = 0;
  std::uint32_t sections = 0;
  std::int32_t groups = 0;
  std::int32_t least_group =
      0;  // the least of all numbers of collections: those that other PEs than 0 make are negative
  void pup(PUP::er& p) {
    p | chares;
    p | sections;
    p | groups;
    p | least_group;
  }
};
struct ArrayDefinition {
  CkArrayOptions options;
  bool inserting = false;  // between beginInserting() and doneInserting()
  void pup(PUP::er& p) {
    p | options;
    p | inserting;
  }
};

// The mainchares have the first numbers of PE 0.
bool is_mainchare(std::uint64_t serial);

}  // namespace periapt::checkpoint
