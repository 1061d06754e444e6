// Makes a program again from a checkpoint, on any number of PEs and processes.
//
// Each PE reads what it needs by itself. When there are as many PEs as there were, all is where it was. When there are
// not, group members are made from what PE 0's was, as in Charm++, and singleton chares but the mainchares are left
// out; elements of a part go to the PEs that have its number modulo the smaller of both numbers of PEs, and their homes
// hear of them. Node groups, likewise, by processes.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/checkpoint/manifest.h"
#include "runtime/checkpoint/part_stream.h"
#include "runtime/checkpoint/snapshot.h"

namespace periapt {
class ArrayManager;
}

namespace periapt::checkpoint {

class Restart {
 public:
  // Ends the run when there is no checkpoint of this program.
  Restart(PeObjects& objects, const Storage& storage);

  // Readonlys and mainchares; what is called afterwards. On the first PE of a process, before it and others restore().
  Afterwards restore_program();
  // All that lives on this PE, and in its process if it is the first there.
  void restore();

  bool same_pes() const;
  const Manifest& manifest() const { return manifest_; }

 private:
  struct Definition {
    int type;
    ArrayDefinition array;
  };
  // Elements of a part that this PE takes: the share number `share` of so many.
  struct Share {
    int part, share, shares;
  };

  std::unique_ptr<UnpackPart> open(const std::string& part) const;
  [[noreturn]] void refuse(const std::string& why) const;
  void check_program(UnpackPart& in) const;
  void continue_numbers();
  void read_definitions();
  void read_listeners();
  void add_reductions(int part);
  void restore_objects(UnpackPart& in);
  void restore_chare(UnpackPart& in, const RecordHead& head);
  void restore_group(UnpackPart& in, const RecordHead& head);
  void restore_node_groups();
  Reduction::State node_group_reduction(int number) const;
  void make_arrays();
  bool make_array(int number, const Definition& definition);
  std::vector<Share> shares() const;
  void restore_elements(const Share& share);
  void restore_futures(UnpackPart& in, const RecordHead& head, const Share& share);
  void restore_places(UnpackPart& in, const RecordHead& head, const Share& share);
  void restore_member(UnpackPart& in, const CkArrayIndex& index, const MemberHead& member);

  PeObjects& objects_;
  Pe& pe_;
  const Storage& storage_;
  Manifest manifest_;
  std::map<int, Reduction::State> reductions_;  // by collection
  std::map<int, Definition> arrays_;
  std::vector<ArrayManager*> made_;
};

}  // namespace periapt::checkpoint
