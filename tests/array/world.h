// An array, or several that are bound to each other, over PEs on a network that a test makes up (tests/collective): in
// one thread, step by step, from a seed. Elements of the test are made, move, are ordered about and die; calls and
// broadcasts are sent to them, also before their array is there. The world knows all at any time, and says what is
// wrong.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/api/objects.h"
#include "runtime/array/array_broadcasts.h"
#include "runtime/array/array_host.h"
#include "runtime/array/array_routing.h"
#include "runtime/array/local_elements.h"
#include "runtime/array/location.h"
#include "tests/collective/fake_messages.h"
#include "tests/collective/fake_network.h"

namespace periapt::test {

extern std::uint64_t next_element;  // number of the ArrayElement that is made next

class World;

// A second element of an index.
struct Refused {
  int index, first, second;
};

struct Element final : ArrayElement {
  Element(int array, int index) : array(array), index(index) {}
  const int array, index;
  Age age;
  std::uint32_t seen = 0;                  // the last broadcast that it got, or that was before it
  std::map<int, int> heard;                // the last broadcast of each PE
  std::optional<std::uint32_t> made_at{};  // what `seen` was when it was made
};

// The part of an array on a PE.
class Host final : public ArrayHost {
 public:
  Host(World& world, int pe, int array, Location& location);

  CkArrayID id() const override { return CkArrayID(CkGroupID{collection}); }
  bool has(std::uint64_t id) override { return elements.find(id) != nullptr; }
  CkArrayIndex index_of(std::uint64_t id) const override { return chare::index_of(id); }
  Age age_of(std::uint64_t id) override { return find(id).age; }
  void set_age(std::uint64_t id, Age age) override;
  void migrate_element(std::uint64_t id, int to, std::uint32_t follows) override;
  void destroy_element(std::uint64_t id) override;
  void give(ArrayElement* element, const Message& message) override;
  void order_migration(std::uint64_t id, const CkArrayIndex& index, int to) override {
    routing.order(ArrayRouting::Order::migrate, id, index, to);
  }
  void release_waiting(std::uint64_t id) override { routing.release_waiting(id); }
  bool makes_element(const Message& message) const override;
  void make_element(int entry, int source, const CkArrayIndex& index) override;
  void claim_begins() override { ++claims; }
  void claim_ends() override { --claims; }
  void count_kept(const Message&) override {}
  void requeue(std::vector<Message>&& messages) override;
  void send_to_all(Message message) override;
  [[noreturn]] void refuse_second(const CkArrayIndex& index, int first) const override;
  [[noreturn]] void refuse_circle(const Message& message) const override;

  Element& find(std::uint64_t id) { return static_cast<Element&>(*elements.find(id)); }

  World& world;
  const int pe, array, collection;
  std::map<std::uint64_t, std::unique_ptr<Element>> owned;
  LocalElements elements;
  ArrayRouting routing;
  ArrayBroadcasts broadcasts;
  int claims = 0;
};

struct Options {
  int pes = 4;
  unsigned seed = 0;
  int arrays = 1;         // bound to each other
  int indices = 6;        // 0 ...; as many again are made when they are called
  bool restless = false;  // elements move, make others and die when they get something
};

class World final : public Homes {
 public:
  explicit World(const Options& options);
  ~World();

  // --- what the program does ---
  void make(int pe);  // the next array there
  void make_everywhere();
  // An element that there is not; an order to one that there is. False: it is the other way round.
  bool insert(int array, int index, int pe);
  void insert_again(int array, int index, int pe);  // one that there is
  bool order_migration(int array, int index, int from, int to);
  bool order_destruction(int array, int index, int from);
  int call(int array, int index, int from);  // number of the call
  void broadcast(int array, int from);
  void disturb(int calls, int broadcasts, int deaths);  // one of all that, at random: in so many of a hundred

  // An element leaves as soon as a call to it comes, so many times.
  void flee(int times) { flights_ = times; }

  bool step();
  void drain();
  // Makes what is missing, and looks at all when nothing is under way any more.
  void come_to_an_end();
  void check_places();
  void check_calls();
  void check_broadcasts();

  int pick(int below) { return network_.pick(below); }
  int hops_of(int call) const { return calls_[static_cast<std::size_t>(call)].hops; }
  int place_of(int array, int index) const;  // -1: nowhere
  Location& location(int pe) { return *at(pe).location; }
  Host& host(int pe, int array) { return *at(pe).hosts[static_cast<std::size_t>(array)]; }
  static std::uint64_t id_of(int index) { return chare::compact_id(CkArrayIndex1D(index)); }
  std::uint32_t broadcasts_sent(int array) const { return broadcasts_[static_cast<std::size_t>(array)]; }

  // Homes
  int home(const CkArrayIndex& index) const override {
    return static_cast<int>((static_cast<unsigned>(index.index[0]) * 7 + options_.seed) %
                            static_cast<unsigned>(options_.pes));
  }
  int place(const CkArrayIndex& index) const override { return home(index); }
  bool of_program() const override { return false; }

 private:
  friend class Host;
  using Packet = FakeNetwork::Packet;
  enum Entry : int { call_entry = 1000, broadcast_entry, insert_entry, arrive_entry };
  static constexpr int first_collection = 5;

  struct PePart {
    std::optional<Location> location;
    std::vector<std::unique_ptr<Host>> hosts;  // in the order of the arrays
    std::vector<std::deque<Packet>> waiting;   // for arrays that are not here yet
    std::deque<Message> front;                 // to be worked on before all else
    std::deque<Packet> late;                   // broadcasts that others overtake
  };
  // What an index is to the program.
  struct Truth {
    bool exists = false;   // or is coming
    bool known = false;    // all have heard of it
    bool ordered = false;  // to migrate: an order may be under way
    int goal = -1;         // the PE that it is to end up on, if that is known
  };
  struct Call {
    int array, index, from;
    int delivered = 0;
    int hops = 0;
  };
  struct Journey {
    std::int32_t from, members;  // as bits
    std::uint32_t follows;
    Age age;
    std::int32_t travellers;  // its place in travellers_
  };
  using Travellers = std::vector<std::unique_ptr<Element>>;

  PePart& at(int pe) { return pes_[static_cast<std::size_t>(pe)]; }
  const PePart& at(int pe) const { return pes_[static_cast<std::size_t>(pe)]; }
  Truth& truth(int array, int index) { return truth_[{array, index}]; }
  bool made(int pe, int array) { return at(pe).hosts.size() > static_cast<std::size_t>(array); }
  FakeNetwork::Port& port(int pe) { return network_.port(pe); }

  void take(int pe, Packet packet);
  void dispatch(int pe, Packet packet);
  void to_protocol(Host& host, Delivery& call);
  void flush(int pe);
  void deliver_call(Host& host, Message message);
  void create(Host& host, int index);
  void leave(Host& host, Element& element, Age age, Travellers& travellers);
  void depart(Host& host, std::uint64_t id, int to, std::uint32_t follows);
  void arrive(int pe, Packet packet);
  void join(int pe, std::uint64_t id, const Journey& journey, const std::vector<Host*>& arrived);
  void join_host(std::uint64_t id, const Journey& journey, ArrayHost* host, const std::vector<Host*>& arrived);
  void note_place(std::uint64_t id, Age age, int pe);
  void stir(Host& host, std::uint64_t id);
  void check_way(std::uint64_t id, int from, int to);
  void check_record(std::uint64_t id, int index, int place, Age age);

  const Options options_;
  std::mt19937 chance_;
  FakeNetwork network_;
  std::vector<PePart> pes_;
  std::map<std::pair<int, int>, Truth> truth_;  // by array and index
  std::deque<Travellers> travellers_;
  std::vector<Call> calls_;
  std::map<std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>, int> places_;  // by element and age
  int flights_ = 0;
  std::vector<std::uint32_t> broadcasts_;             // of each array
  std::map<std::pair<int, int>, int> broadcasts_of_;  // by array and PE
};

}  // namespace periapt::test
