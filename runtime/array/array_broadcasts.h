// Broadcasts to all elements of an array: the part on one PE.
//
// A broadcast goes to PE 0, which numbers it (its *epoch*) and sends it down one tree to all PEs. Each PE gives it to
// its elements, one broadcast after the other in the order of their epochs; one that comes too early is delayed.
//
// Elements move meanwhile. Each holds the epoch it has seen: one that comes from a PE that is ahead is passed over, so
// that it gets nothing twice, and one from a PE that is *behind* catches up with what this PE keeps: its *history*.
//
// A kept broadcast can go when no element needs it that is here, or may come here. What a PE knows of that is its
// *low-water mark*: a broadcast that all elements have seen that it answers for. It answers for its elements, and for
// those that have left it until they are not behind where they have come to: that PE may have given its own mark
// before. Each of these *departures* ends with an acknowledgement from there; those of elements that came together come
// together. One that goes on before it has caught up
// takes the *forwarding acknowledgement* that its PE owes along, into the next departure, and so they go back the whole
// way.
//
// PE 0 asks for the marks with one broadcast in so many, or after so many bytes of them (`hops` of the envelope). The
// least of all answers is what every element has seen; it goes along with the broadcasts that follow (`extra`), and
// each PE drops its history up to it.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

#include "runtime/array/local_elements.h"
#include "runtime/array/location.h"
#include "runtime/array/news.h"

namespace periapt {

class ArrayBroadcasts {
 public:
  // Of this array; its elements here are `elements`.
  ArrayBroadcasts(ArrayHost& host, Sender& sender, int collection, LocalElements& elements, Location& location);

  // `function` finds the broadcasts that a message of the protocol is for, and has them receive() that.
  static void register_entries(RuntimeFunction function);
  void receive(const Delivery& call);

  // A message that is addressed to all elements.
  void send(Message message);
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
  std::uint32_t leaves_unmade() {
    ++departures_[epoch_];
    return epoch_;
  }
  // One that has seen `seen` came from PE `from` with this age. When it is ready to run entries it is to catch up.
  void arrived(std::uint64_t id, std::uint32_t seen, int from, Age age);
  void catch_up(std::uint64_t id);
  // Acknowledgements wait between these, which may be nested: then those for one PE go in one message.
  void hold_acknowledgements() { ++holds_; }
  void release_acknowledgements() {
    if (--holds_ == 0) send_acknowledgements();
  }

  // The last broadcast that an element has seen: it travels along.
  static std::uint32_t seen_by(const ArrayElement* element) { return element->broadcast_epoch_; }
  static void set_seen(ArrayElement* element, std::uint32_t epoch) { element->broadcast_epoch_ = epoch; }

 private:
  // How an element left a PE: its age then, and the broadcasts it had seen.
  struct Leave {
    Age age;
    std::uint32_t epoch;
    bool operator==(const Leave& o) const { return age == o.age && epoch == o.epoch; }
  };
  // What is owed to the PE that an element came from: to say that it is there, no longer behind.
  struct ForwardingAck {
    std::int32_t to = -1;
    Leave leave;
  };
  // Of an element that left before it had caught up: the acknowledgement that it took along.
  struct Owed {
    Leave leave;
    ForwardingAck ack;
  };
  struct Acknowledgement {
    std::uint64_t id;
    Leave leave;
  };
  // What PE 0 knows more than others.
  struct Root {
    std::uint32_t last = 0;            // numbered
    std::uint32_t low_water_mark = 0;  // of all PEs, as far as it is known
    std::uint64_t unasked_bytes = 0;   // of broadcasts since the last that asked
    // Answers to the question that is open.
    bool asking = false;
    std::uint32_t heard = 0, least = 0;
  };

  void number(Message message);
  void run(Message message);
  void run_delayed();
  void give_to_all(const Message& message);
  bool give_missed(ArrayElement* element);
  void give(ArrayElement* element, const Message& message);

  void keeps_up(std::uint64_t id);
  void send_acknowledgements();
  void acknowledge(std::uint64_t id, const ForwardingAck& ack);
  void ended(std::uint64_t id, const Leave& leave);
  std::uint32_t low_water_mark() const;
  void heard_low_water_mark(std::uint32_t mark);
  void drop_history(std::uint32_t mark);

  ArrayHost& host_;
  Sender& sender_;
  const int collection_;  // the array, in messages
  LocalElements& elements_;
  Location& location_;

  std::uint32_t epoch_ = 0;      // last one delivered here
  std::deque<Message> history_;  // epoch_ - size + 1 .. epoch_
  std::deque<Message> delayed_;  // came early, or while another one was being given; by epoch
  bool giving_ = false;
  std::size_t giving_at_ = 0;  // position of the element that has its turn
  bool disordered_ = false;    // one of those that had their turn has gone: another one may have come to its position
  std::map<std::uint32_t, std::uint32_t> departures_;  // that have not ended, by the epoch seen: how many
  std::unordered_multimap<std::uint64_t, Owed> owed_;  // by element
  News<Acknowledgement> acknowledgements_;             // that are held
  int holds_ = 0;
  std::unordered_map<std::uint64_t, ForwardingAck> behind_;  // elements here that have not caught up yet
  Root root_;
};

}  // namespace periapt
