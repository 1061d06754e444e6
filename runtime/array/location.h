// Where the elements of an array are, as one PE knows it. Arrays bound to each other share it: their elements move
// together.
//
// Every index has a *home*, a PE computed from it by the map. The home keeps a *record* of each living element that is
// elsewhere, and what is sent to one that does not exist waits there. Other PEs hold *hints*: where an element went
// when it left them, or what a PE that forwarded a message told them. A hint has an age: the life of the index
// (indices are used again) and the migrations in it. Only a younger one replaces it, and no PE is told of a place
// where the element has not arrived yet; so each PE on the way of a message knows something younger than the one
// before, or asks the home.
//
// A PE from which an element has gone home forgets it. A sender with an older hint would go by way of that PE for ever:
// it is told, and asks the home whether the hint may go.
//
// Hints that are many make room, the oldest first and many at a time, when the home says that it knows as much: what is
// sent by way of it still goes to ever younger places. Records last as long as what they are of.
//
// An element that is made elsewhere than at home, or where another one is still known at home, is *unconfirmed* until
// the home has answered its *claim*: its life begins here; or what it is bound to is elsewhere, and it goes there; or
// the index is taken, and the run ends with a sentence that names both PEs. It works meanwhile, but does not migrate.
#pragma once
#include <deque>
#include <unordered_map>
#include <vector>

#include "base/flat_map.h"
#include "runtime/array/array_host.h"
#include "runtime/collective/sender.h"
#include "runtime/registry/registry.h"

namespace periapt {

class Location {
 public:
  struct Hint {
    std::int32_t pe;
    Age age;
    std::uint32_t home : 31;
    std::uint32_t arrived : 1;  // it has been there: others may be told
  };
  static_assert(sizeof(Hint) == 16);
  // Of elements that have their home elsewhere so many hints are kept, besides those that are being asked about and a
  // few more: homes are asked about many at a time.
  static inline std::size_t hints_kept = 1 << 14;  // (tests change it)
  static std::size_t hints_slack() { return hints_kept / 16; }

  Location(Sender& sender, const Homes& homes) : sender_(sender), homes_(homes) {}

  // `function` finds the location that a message of the protocol is for, and has it receive() that.
  static void register_entries(RuntimeFunction function);
  void receive(const Delivery& call);

  const Homes& homes() const { return homes_; }
  int home(const CkArrayIndex& index) const { return homes_.home(index); }

  // --- hints ---
  const Hint* find(std::uint64_t id) const { return hints_.find(id); }
  // Best guess for an element that isn't here; -1 when there is none.
  int guess(std::uint64_t id) const {
    const Hint* hint = hints_.find(id);
    return hint ? hint->pe : -1;
  }
  // Takes a hint, unless a younger one is known. True when it was news.
  bool learn(std::uint64_t id, int pe, Age age, bool arrived, int home);
  // An element is about to leave with this age: what is sent to it waits here until set_out() says where to.
  void prepare_departure(std::uint64_t id, Age age, int home) { learn(id, sender_.me, age, false, home); }
  void set_out(std::uint64_t id, int to);
  // An element that left with this age has arrived.
  void confirm(std::uint64_t id, Age age);
  void forget(std::uint64_t id) {
    hints_.erase(id);
    ++changes_;
  }
  // PE `pe` has sent on to the home what came by way of a hint: if the home knows as much as that says, it goes.
  void doubt(std::uint64_t id, int pe);
  // Those of elements that have their home elsewhere.
  std::size_t hints_of_others() const;
  // Goes up whenever guess() may answer something else than before.
  std::uint32_t changes() const { return changes_; }
  // The home hears where an element has come to.
  void moved(std::uint64_t id, int pe, Age age);
  // Something new is known of it: what waits for it in any array goes on.
  void release_waiting(std::uint64_t id);

  // --- births and deaths ---
  // The age of a new element of `array`, which is about to be made here.
  Age birth(ArrayHost& array, std::uint64_t id, const CkArrayIndex& index, bool at_home);
  // At home: is it still being looked into where the element is?
  bool is_claimed(std::uint64_t id) const { return !claims_.empty() && claims_.count(id) != 0; }
  // At home, of an element that is nowhere: it is to be made on `pe`, with this age.
  Age begin_life(std::uint64_t id, int pe);
  // One that went after what it is bound to and has not found it here.
  void rejoin(ArrayHost& array, std::uint64_t id, const CkArrayIndex& index, std::uint32_t follows);
  // Whether it is unconfirmed because its home has not answered its claim.
  bool has_claim(std::uint64_t id) const { return unconfirmed_.count(id) != 0; }
  // An unconfirmed element is to migrate: it will when it is confirmed.
  void set_pending_migration(std::uint64_t id, int to);
  // What unconfirmed ones here are bound to has come: they are confirmed. Returns the PE that they are to go to, or -1.
  int joined(std::uint64_t id, Age age);
  // An element here has been destroyed.
  void died(std::uint64_t id, const CkArrayIndex& index, Age age);

  // Of the arrays that share this: one that has the element here; null when none has.
  ArrayHost* here(std::uint64_t id) const;

  std::vector<ArrayHost*> bound;  // arrays whose elements move together, the first one leads

 private:
  struct Claim {
    CkArrayIndex index;
    std::int32_t array, pe;
    std::uint32_t serial;  // of the claims of that PE
  };
  struct Probe {
    Claim claim;
    std::uint32_t life;
  };
  struct Found {  // answer to a Probe
    std::int32_t claimant;
    std::uint32_t serial;
    std::int32_t pe;     // -1: not here
    std::int32_t taken;  // by an element of the same array
    Age age;
  };
  enum class Answer : std::int32_t { begins, joins, taken };
  struct ClaimAnswer {  // answer to a Claim
    Answer what;
    std::uint32_t serial;
    std::int32_t pe;  // where what it is bound to is, or the element that has its index
    std::int32_t home;
    Age age;
  };
  struct Gone {
    Age age;
    std::int32_t pe;
    std::uint32_t serial;  // of its claim, if unconfirmed
  };
  struct Known {  // is a hint of no use to the PE `asker`, as its home knows as much; and the answer
    std::uint64_t id;
    Age age;
    std::int32_t asker;
    std::int32_t known;
  };
  struct Unconfirmed {
    std::uint32_t serial;
    std::int32_t pending_migration;  // PE to migrate to, or -1
    ArrayHost* array;                // for whose element it was claimed
  };

  void on_claim(std::uint64_t id, const Claim& claim);
  void on_probe(std::uint64_t id, const Probe& probe);
  void on_found(std::uint64_t id, const Found& found);
  void on_is_known(const Delivery& call);
  template <class T>
  void tell(int pe, int entry, std::uint64_t id, const T& what);

  int collection() const;  // that messages to other PEs name
  void make_room();
  void heard_known(const Known& answer);
  bool knows(std::uint64_t id, Age age) const;
  void claim(ArrayHost& array, std::uint64_t id, const CkArrayIndex& index);
  void consider(std::uint64_t id);
  void answer(std::uint64_t id, Answer what, int pe, Age age);
  void on_claim_answer(std::uint64_t id, const ClaimAnswer& answered);
  int close(std::uint64_t id);
  void gone(std::uint64_t id, const Gone& gone);
  void withdraw(std::uint64_t id, const Gone& gone);
  bool taken(std::uint64_t id, const Claim& claim) const;
  void set_age(std::uint64_t id, Age age);

  Sender& sender_;
  const Homes& homes_;
  FlatMap<Hint> hints_;
  std::deque<std::uint64_t> oldest_;  // hints of elements that have their home elsewhere; some are gone
  std::uint32_t changes_ = 0;

  std::unordered_map<std::uint64_t, Unconfirmed> unconfirmed_;  // elements here
  std::uint32_t claims_made_ = 0;
  // As a home.
  std::unordered_map<std::uint64_t, std::deque<Claim>> claims_;  // the first of each is being looked into
  std::uint32_t deaths_ = 0;  // number of the life that begins next: more than that of any that has ended
};

}  // namespace periapt
