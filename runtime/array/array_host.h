// The part of an array on a PE, as the protocols see it that follow its elements: Location, ArrayRouting and
// ArrayBroadcasts. They know no PE and no object of a program: they send through a Sender that they are given, and ask
// this for the rest. ArrayManager is one; tests have their own (tests/array).
#pragma once
#include <cstdint>
#include <vector>

#include "runtime/api/array_index.h"
#include "runtime/message/message.h"
#include "runtime/registry/ids.h"

class ArrayElement;

namespace periapt {

// Orders what PEs hear of the places of an index: by its life, as indices are used again, and the migrations in it.
struct Age {
  static constexpr std::uint32_t no_life = 0xffffffff;
  std::uint32_t life = no_life;
  std::uint32_t migrations = 0;
  bool unconfirmed() const { return life == no_life; }
  bool operator==(const Age& o) const { return life == o.life && migrations == o.migrations; }
  bool younger_than(const Age& o) const { return life != o.life ? life > o.life : migrations > o.migrations; }
};

// Where elements have their homes and are made: a function of the index alone, the same on all PEs.
class Homes {
 public:
  virtual int home(const CkArrayIndex& index) const = 0;
  virtual int place(const CkArrayIndex& index) const = 0;
  // Whether the program computes it, and may answer differently each time.
  virtual bool of_program() const = 0;

 protected:
  ~Homes() = default;
};

class ArrayHost {
 public:
  virtual CkArrayID id() const = 0;

  // --- elements on this PE ---
  virtual bool has(std::uint64_t element) = 0;
  virtual CkArrayIndex index_of(std::uint64_t element) const = 0;
  virtual Age age_of(std::uint64_t element) = 0;
  virtual void set_age(std::uint64_t element, Age age) = 0;  // of one that may have gone
  // It leaves for another PE; `follows`: not 0: it goes after what it is bound to, to the PE of so many in a row.
  virtual void migrate_element(std::uint64_t element, int to, std::uint32_t follows) = 0;
  virtual void destroy_element(std::uint64_t element) = 0;
  // A broadcast is given to one.
  virtual void give(ArrayElement* element, const Message& message) = 0;

  // --- elements that may be elsewhere ---
  virtual void order_migration(std::uint64_t element, const CkArrayIndex& index, int to) = 0;
  // Where it is has become known: what waits for it goes on.
  virtual void release_waiting(std::uint64_t element) = 0;
  // Whether a message makes its element where there is none, as its entry may say.
  virtual bool makes_element(const Message& message) const = 0;
  // Such a message from PE `source` waits here, its home, the first for this element.
  virtual void make_element(int entry, int source, const CkArrayIndex& index) = 0;
  // A claim is under way, and has been answered: balancing waits for it, as for an element that migrates.
  virtual void claim_begins() = 0;
  virtual void claim_ends() = 0;

  // --- messages ---
  // One is kept, and will be delivered once more.
  virtual void count_kept(const Message& message) = 0;
  // Those that were kept go through the queue, before all that is in it.
  virtual void requeue(std::vector<Message>&& messages) = 0;
  // To all PEs, this one too.
  virtual void send_to_all(Message message) = 0;

  // --- mistakes of the program: they end the run ---
  // There is a second element of an index here; the first one is on PE `first`.
  [[noreturn]] virtual void refuse_second(const CkArrayIndex& index, int first) const = 0;
  [[noreturn]] virtual void refuse_circle(const Message& message) const = 0;

 protected:
  ~ArrayHost() = default;
};

}  // namespace periapt
