// What a PE holds back until the program has started there.
//
// The constructors of the mainchares run on PE 0 before anything else runs anywhere. The collections that they make
// (groups, node groups and arrays, numbered 1 to N on PE 0) are announced as they are made; the readonlys and N follow
// when all have returned. Every other PE holds back all that reaches it, in the order in which it comes, until it has
// the readonlys and the N creations, whichever of them was overtaken on the way. Then it sets the readonlys, runs the
// creations in the order of their numbers, and lets the rest go in the order in which it came, creations of what was
// made since among it. So whatever follows from a mainchare's constructor finds, on every PE, all that the constructor
// made. A constructor of one of the N that waits for what another PE sends waits for ever, as that is held back; one of
// a later collection may wait.
//
// The first PE of a process sets the readonlys and makes the members of node groups; the other ones wait for that at
// its place in the order, until they are told. (They go by the message, although they share what it tells of: so the
// order of messages says when a gate opens, and a replay has it as it was.)
#pragma once
#include <map>
#include <set>
#include <vector>

#include "runtime/objects/pe_objects.h"

namespace periapt {

class StartGate {
 public:
  explicit StartGate(PeObjects& objects) : objects_(objects), pe_(objects.pe) {}
  static void register_entries();
  // On PE 0, when the constructors of the mainchares have returned: the gates of all other PEs may open.
  static void announce(PeObjects& objects);
  // Takes what has come to a PE whose gate is closed.
  void hold(Delivery& call);
  // Also where what has been made again from a checkpoint is here.
  void open();
  // Told by the first PE of the process.
  void node_group_is_made(int number);

 private:
  static void on_start(Pe&, Delivery&);
  static void on_process_ready(Pe&, Delivery&);
  // Opens if what it waited for has come.
  void try_open();
  bool complete() const { return start_ && created_ + static_cast<int>(creations_.size()) == expected_; }
  bool is_expected(const Message& message) const;
  bool set_readonlys();
  bool create_collections();

  PeObjects& objects_;
  Pe& pe_;
  Message start_;  // the readonlys; empty until they have come
  bool readonlys_set_ = false;
  int expected_ = 0;                  // the mainchares' constructors have made collections 1 to this
  std::map<int, Message> creations_;  // of these, by number; what came before the readonlys is among held_ until then
  std::set<int> node_groups_;         // that the first PE of the process has told of
  int created_ = 0;                   // of these, so many are made here
  bool creating_ = false;             // the constructor of one runs, which may run the scheduler
  std::vector<Message> held_;         // all else, in order of arrival
};

}  // namespace periapt
