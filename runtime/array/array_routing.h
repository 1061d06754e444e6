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
#include <unordered_map>
#include <vector>

#include "runtime/array/location.h"
#include "runtime/array/news.h"

namespace periapt {

class ArrayRouting {
 public:
  using Waiting = std::unordered_map<std::uint64_t, std::vector<Message>>;  // by element

  ArrayRouting(ArrayHost& host, Sender& sender, Location& location, int collection);

  // `function` finds the routing that a message of the protocol is for, and has it receive() that.
  static void register_entries(RuntimeFunction function);
  void receive(Delivery& call);

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
  // A message of the runtime's own that has to know where the element is: that is on its way, and quiescence waits.
  void wait_until_known(std::uint64_t id, Message message) {
    host_.count_kept(message);
    waiting_[id].push_back(std::move(message));
  }
  // Something is known of the element: what waits for it goes through the queue, and so to the element or on its way.
  void release_waiting(std::uint64_t id) {
    if (!waiting_.empty()) [[unlikely]]
      requeue_waiting(id);
  }

  // Where an element is: told to its home when it has come to another PE, and to a sender whose message made a detour.
  struct Place {
    std::uint64_t id;
    Age age;  // none: the PE knows nothing of it, and has asked the home
    std::int32_t pe;
    std::int32_t home;
  };
  // Elements have come here: their homes, the receivers of the news, hear of it.
  void tell_homes(News<Place>& arrivals);

  // An element is to migrate or to be destroyed, wherever it is. `to`: the PE that it migrates to.
  enum class Order : std::uint8_t { migrate, destroy };
  void order(Order what, std::uint64_t id, const CkArrayIndex& index, int to) { order(what, id, {index, to}); }
  // The same for a PE that has not heard of the array yet.
  static Message order_message(Order what, CkArrayID array, std::uint64_t id, const CkArrayIndex& index, int to) {
    return order_message(what, array, id, {index, to});
  }
  // Sends an element of this PE there when what is queued has run. Counted as created already.
  void order_migration_later(std::uint64_t id, const CkArrayIndex& index, int to);

 private:
  struct OrderCall {
    CkArrayIndex index;
    std::int32_t to;  // the PE it is to migrate to
    std::uint32_t hops = 0;
  };
  // Where one that is elsewhere was sent to, as long as Location knows nothing else.
  struct Sent {
    std::uint64_t id = 0;
    std::uint32_t changes = ~std::uint32_t{0};  // none yet
    std::int32_t pe = 0;
  };

  void on_hint(const Place& hint);
  void on_chase(Delivery& call);
  void on_order(const Delivery& call);
  void order(Order what, std::uint64_t id, OrderCall order);
  static Message order_message(Order what, CkArrayID array, std::uint64_t id, const OrderCall& order);

  int find_destination(std::uint64_t id, const CkArrayIndex& index);
  // `youngest`: the age of the places it has been sent on to, if it knows.
  void forward(Message message, std::uint64_t id, Age youngest);
  void tell_sender(const Message& message, const Place& place);
  void wait_for(std::uint64_t id, Message message);
  void requeue_waiting(std::uint64_t id);

  ArrayHost& host_;
  Sender& sender_;
  Location& location_;
  const int collection_;      // the array, in messages
  std::array<Sent, 8> sent_;  // the latest ones, by id
  Waiting waiting_;
};

}  // namespace periapt
