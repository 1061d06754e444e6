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
// Hints that are many make room, the oldest first and many at a time, when the home says that it knows as much: what is
// sent by way of it still goes to ever younger places. Records last as long as what they are of.
//
// An element that is made elsewhere than at home, or where another one is still known at home, is *unsettled* until the
// home has answered its *claim*: its life begins here; or what it is bound to is elsewhere, and it goes there; or the
// index is taken, and the run ends with a sentence that names both PEs. It works meanwhile, but does not migrate.
#pragma once
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/flat_map.h"
#include "runtime/api/array_map.h"
#include "runtime/array/default_map.h"
#include "runtime/objects/pe_objects.h"

namespace periapt {

struct Age {
  static constexpr std::uint32_t no_life = 0xffffffff;
  std::uint32_t life = no_life;
  std::uint32_t migrations = 0;
  bool unsettled() const { return life == no_life; }
  bool operator==(const Age& o) const { return life == o.life && migrations == o.migrations; }
  bool younger_than(const Age& o) const { return life != o.life ? life > o.life : migrations > o.migrations; }
};

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

  Location(PeObjects& objects, const CkArrayOptions& options, CkArrayID array);
  static void register_entries();

  int home(const CkArrayIndex& index) const;
  int place(const CkArrayIndex& index) const;  // where it is made
  CkArrayMap* map() const { return map_; }
  const chare::Placement& placement() const { return *default_; }  // when there is no map()
  int map_handle() const { return map_handle_; }

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
  void prepare_departure(std::uint64_t id, Age age, int home) { learn(id, pe_.index, age, false, home); }
  void set_out(std::uint64_t id, int to);
  // An element that left with this age has arrived.
  void confirm(std::uint64_t id, Age age);
  void forget(std::uint64_t id) {
    hints_.erase(id);
    ++changes_;
  }
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
  Age birth(ArrayManager& array, std::uint64_t id, const CkArrayIndex& index, bool at_home);
  // At home: is it still being looked into where the element is?
  bool is_claimed(std::uint64_t id) const { return !claims_.empty() && claims_.count(id) != 0; }
  // At home, of an element that is nowhere: it is to be made on `pe`, with this age.
  Age begin_life(std::uint64_t id, int pe);
  // One that went after what it is bound to and has not found it here.
  void rejoin(ArrayManager& array, std::uint64_t id, const CkArrayIndex& index, std::uint32_t follows);
  // Whether it is unsettled because its home has not answered its claim.
  bool has_claim(std::uint64_t id) const { return unsettled_.count(id) != 0; }
  // An unsettled element is to migrate: it will when it is settled.
  void wish(std::uint64_t id, int to);
  // What unsettled ones here are bound to has come: they are settled. Returns the PE they want to migrate to, or -1.
  int joined(std::uint64_t id, Age age);
  // An element here has been destroyed.
  void died(std::uint64_t id, const CkArrayIndex& index, Age age);
  // A second element of an index here; the other one is on PE `first`.
  [[noreturn]] void refuse_second(const ArrayManager& array, const CkArrayIndex& index, int first) const;

  // Of the arrays that share this: one that has the element here; null when none has.
  ArrayManager* here(std::uint64_t id) const;

  std::vector<ArrayManager*> bound;  // arrays whose elements move together, the first one leads

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
  struct Settled {  // answer to a Claim
    Answer what;
    std::uint32_t serial;
    std::int32_t pe;  // where what it is bound to is, or the element that has its index
    std::int32_t home;
    Age age;
  };
  struct Gone {
    Age age;
    std::int32_t pe;
    std::uint32_t serial;  // of its claim, if unsettled
  };
  struct Known {  // is a hint of no use to the PE `asker`, as its home knows as much; and the answer
    std::uint64_t id;
    Age age;
    std::int32_t asker;
    std::int32_t known;
  };
  struct Unsettled {
    std::uint32_t serial;
    std::int32_t wish;          // PE to migrate to, or -1
    const ArrayManager* array;  // for whose element it was claimed
  };

  static Location* of(Pe& pe, Delivery& call);
  static void on_claim(Pe&, Delivery&);
  static void on_probe(Pe&, Delivery&);
  static void on_found(Pe&, Delivery&);
  static void on_settled(Pe&, Delivery&);
  static void on_gone(Pe&, Delivery&);
  static void on_is_known(Pe&, Delivery&);
  static void on_known(Pe&, Delivery&);
  template <class T>
  void tell(int pe, int entry, std::uint64_t id, const T& what);

  int collection() const;  // that messages to other PEs name
  void make_room();
  void heard_known(const Known& answer);
  bool knows(std::uint64_t id, Age age) const;
  void claim(ArrayManager& array, std::uint64_t id, const CkArrayIndex& index);
  void consider(std::uint64_t id);
  void answer(std::uint64_t id, Answer what, int pe, Age age);
  void settle(std::uint64_t id, const Settled& settled);
  int close(std::uint64_t id);
  void gone(std::uint64_t id, const Gone& gone);
  void withdraw(std::uint64_t id, const Gone& gone);
  bool taken(std::uint64_t id, const Claim& claim) const;
  void set_age(std::uint64_t id, Age age);

  PeObjects& objects_;
  Pe& pe_;
  FlatMap<Hint> hints_;
  std::deque<std::uint64_t> oldest_;  // hints of elements that have their home elsewhere; some are gone
  std::uint32_t changes_ = 0;
  CkArrayMap* map_ = nullptr;
  int map_handle_ = 0;
  std::optional<chare::Placement> default_;

  std::unordered_map<std::uint64_t, Unsettled> unsettled_;  // elements here
  std::uint32_t claims_made_ = 0;
  // As a home.
  std::unordered_map<std::uint64_t, std::deque<Claim>> claims_;  // the first of each is being looked into
  std::uint32_t deaths_ = 0;  // number of the life that begins next: more than that of any that has ended
};

}  // namespace periapt
