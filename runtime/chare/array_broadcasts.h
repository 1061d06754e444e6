// Broadcasts to all elements of an array: the part on one PE.
//
// A broadcast goes to PE 0, which numbers it (its *epoch*) and sends it down one tree to all PEs. Each PE gives it to
// its elements, one broadcast after the other in the order of their epochs; one that comes too early is delayed.
//
// Elements move meanwhile. Each holds the epoch it has seen: one that comes from a PE that is ahead is passed over, so
// that it gets nothing twice, and one from a PE that is *behind* catches up with what this PE keeps: its *history*.
//
// A kept broadcast can go when nobody needs it who is here, or may come here. What a PE knows of that is its *floor*: a
// broadcast up to which everybody that it answers for has come. It answers for its elements, and for those that have
// left it until they are not behind where they have come to: that PE may have given its own floor before. Each of these
// *departures* ends with a word from there. To say it is a *duty* of the PE that the element has come to; one that goes
// on before it has caught up takes its duty along, into the next departure, and so the words go back the whole way.
//
// PE 0 asks for floors with one broadcast in so many (`hops` of its envelope). The least of all answers is what
// everybody has seen; it goes along with the broadcasts that follow (`extra`), and each PE drops its history up to
// it.
#pragma once
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "runtime/chare/local_elements.h"
#include "runtime/chare/location.h"
#include "runtime/chare/pe_objects.h"

namespace periapt {

class ArrayBroadcasts {
 public:
  // Of this array; its elements here are `elements`.
  ArrayBroadcasts(PeObjects& objects, CkArrayID array, LocalElements& elements, Location& location);
  static void register_entries();

  // From anywhere; the array may still be unknown here.
  static void send(CkArrayID array, Message message);
  // One that came here, to be numbered or to be given to the elements.
  void deliver(Message message);

  // --- what happens to the elements here ---
  // A new one has seen what this PE has.
  void born(ArrayElement* element) const { element->broadcast_epoch_ = epoch_; }
  // Before it is taken out of the elements; and after it was, because it has died.
  void removing(const ArrayElement* element);
  void died(std::uint64_t id) { keeps_up(id); }
  // It leaves for another PE, where it will have this age. Call it after removing().
  void left(const ArrayElement* element, Age age);
  // It is to be made on another PE, with what it has seen here: the answer.
  std::uint32_t leaves_unmade(std::uint64_t id) {
    departures_.push_back({id, {Age(), epoch_}, {}});
    return epoch_;
  }
  // One that has seen `seen` came from PE `from` with this age. When it is ready to run entries it is to catch up.
  void arrived(std::uint64_t id, std::uint32_t seen, int from, Age age);
  void catch_up(std::uint64_t id);

  // The last broadcast that an element has seen: it travels along.
  static std::uint32_t seen_by(const ArrayElement* element) { return element->broadcast_epoch_; }
  static void set_seen(ArrayElement* element, std::uint32_t epoch) { element->broadcast_epoch_ = epoch; }

 private:
  // How an element left a PE: its age then, and the broadcasts it had seen.
  struct Leave {
    Age age;
    std::uint32_t epoch;
  };
  // To tell the PE it came from that it is there, no longer behind.
  struct Duty {
    std::int32_t from = -1;
    Leave leave;
  };
  struct Departure {
    std::uint64_t id;
    Leave leave;
    Duty duty;  // left before it had caught up
  };
  // What PE 0 knows more than others.
  struct Root {
    std::uint32_t last = 0;   // numbered
    std::uint32_t floor = 0;  // of all PEs, as far as it is known
    // Answers to the question that is open.
    bool asking = false;
    std::uint32_t heard = 0, least = 0;
  };

  static ArrayBroadcasts* of(Pe& pe, Delivery& call);
  static void on_arrived(Pe&, Delivery&);
  static void on_floor(Pe&, Delivery&);

  void number(Message message);
  void run(Message message);
  void run_delayed();
  void give_to_all(const Message& message);
  bool give_missed(ArrayElement* element);
  void give(ArrayElement* element, const Message& message);

  void keeps_up(std::uint64_t id);
  void fulfil(std::uint64_t id, const Duty& duty);
  void ended(std::uint64_t id, const Leave& leave);
  std::uint32_t floor() const;
  void heard_floor(std::uint32_t floor);
  void drop_history(std::uint32_t floor);

  PeObjects& objects_;
  Pe& pe_;
  const CkArrayID array_;
  LocalElements& elements_;
  Location& location_;

  std::uint32_t epoch_ = 0;      // last one delivered here
  std::deque<Message> history_;  // epoch_ - size + 1 .. epoch_
  std::deque<Message> delayed_;  // came early, or while another one was being given; by epoch
  bool giving_ = false;
  std::size_t giving_at_ = 0;  // position of the element that has its turn
  bool disordered_ = false;    // one of those that had their turn has gone: another one may have come to its position
  std::vector<Departure> departures_;               // elements that left and have not caught up elsewhere yet
  std::unordered_map<std::uint64_t, Duty> behind_;  // elements here that have not caught up yet
  Root root_;
};

}  // namespace periapt
