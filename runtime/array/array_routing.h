// The way of a message to an element of an array that is not on this PE.
//
// It goes to where Location guesses the element, or to its home. A PE that gets it in vain sends it on and tells the
// sender what it knows better. When the home knows of no such element the message waits there, until one is made,
// comes, or is heard of.
//
// Each PE on the way knows a younger place than the one before, or asks the home, so the message arrives in the end.
// Its envelope counts the hops. After very many of them it *chases* its element: it takes along the age of the
// youngest place it was sent to, by which coming nearer can be told from going in a circle.
//
// Orders to an element that may be elsewhere, to migrate or to be destroyed, go the same way.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/array/location.h"
#include "runtime/array/news.h"
#include "runtime/objects/pe_objects.h"

namespace periapt {

class ArrayRouting {
 public:
  using Waiting = std::unordered_map<std::uint64_t, std::vector<Message>>;  // by element

  ArrayRouting(ArrayManager& array, Pe& pe, Location& location);
  static void register_entries();

  // The PE to send to for an element that is not here; this one if that is to wait here.
  int destination(std::uint64_t id, const CkArrayIndex& index) {
    const Sent& sent = sent_[id % sent_.size()];
    if (sent.id == id && sent.changes == location_.changes() && location_.bound.size() == 1) [[likely]]
      return sent.pe;
    return find_destination(id, index);
  }
  // A message that has come for an element that is not here.
  void forward(Message message, std::uint64_t id) { forward(std::move(message), id, Age()); }

  // What waits for elements.
  const Waiting& waiting() const { return waiting_; }
  // Whether what has made so many hops, and is no message to the element itself, goes by way of the home now: hints of
  // one that has died may point in a circle.
  static bool asks_home(std::uint32_t hops) { return hops % 8 == 0; }
  // A message that is not for the element itself, but has to know where it is.
  void wait_until_known(std::uint64_t id, Message message) {
    pe_.count(message);
    waiting_[id].push_back(std::move(message));
  }
  // Something is known of the element: what waits for it goes through the queue, and so to the element or on its way.
  void release_waiting(std::uint64_t id);

  // Where an element is: told to its home when it has come to another PE, and to a sender whose message made a detour.
  struct Place {
    std::uint64_t id;
    Age age;
    std::int32_t pe;
    std::int32_t home;
  };
  // Elements have come here: their homes, the receivers of the news, hear of it.
  void tell_homes(News<Place>& arrivals);

  // Sends the element there, or destroys it, wherever it is. `id`: 0 when only the index is known.
  static void order_migration(CkArrayID array, std::uint64_t id, const CkArrayIndex& index, int to);
  static void order_destruction(CkArrayID array, std::uint64_t id, const CkArrayIndex& index);
  // Sends an element of this PE there when what is queued has run. Counted as created already.
  void order_migration_later(std::uint64_t id, const CkArrayIndex& index, int to);

 private:
  struct OrderCall;
  // Where one that is elsewhere was sent to, as long as Location knows nothing else.
  struct Sent {
    std::uint64_t id = 0;
    std::uint32_t changes = ~std::uint32_t{0};  // none yet
    std::int32_t pe = 0;
  };

  static ArrayRouting* of(Pe& pe, Delivery& call);
  static void on_hint(Pe&, Delivery&);
  static void on_moved(Pe&, Delivery&);
  static void on_chase(Pe&, Delivery&);
  static void on_order(Pe&, Delivery&);
  static void order(int entry, CkArrayID array, std::uint64_t id, OrderCall order);

  int find_destination(std::uint64_t id, const CkArrayIndex& index);
  // `youngest`: the age of the places it has been sent on to, if it knows.
  void forward(Message message, std::uint64_t id, Age youngest);
  void tell_sender(const Message& message, std::uint64_t id, const Location::Hint& hint, int home);
  [[noreturn]] void refuse_circle(const Message& message) const;
  void wait_for(std::uint64_t id, Message message);
  std::uint32_t collection() const;  // the array, in messages

  ArrayManager& array_;
  Pe& pe_;
  Location& location_;
  std::array<Sent, 8> sent_;  // the latest ones, by id
  Waiting waiting_;
};

}  // namespace periapt
