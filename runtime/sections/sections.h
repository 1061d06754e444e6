// Sections on one PE: multicasts to their members, and the trees that these and section reductions go over.
//
// The PE on which a section is made is the root of its tree and numbers the section; only it need know all members.
// What another PE multicasts goes to the root first, behind the list of members when that PE uses the section for the
// first time. The root makes the tree when the section is first used: each of its PEs gets the list of members that
// stand at it, and of its children's (section_plan.h).
//
// A multicast goes over the tree as one message, shared where memory is. Each PE gives it to the members that stand at
// it: to those that are here at once, and for others a copy goes on as any message to an element does, so it comes
// once, wherever they move, and waits at the home of one that does not exist yet. Nothing else is needed for a
// multicast to be right: in a tree each member stands at one PE.
//
// The PE tells the root which were not here, and where it believes them to be. Before the next multicast the root makes
// a tree of the next version. Messages of a version wait until the PE has the tree of that version; a PE keeps an older
// tree until it has seen all multicasts that went over it, of which the next setup tells the number.
//
// A program may make a section every step. So the root puts sections away when it knows many, those first that were not
// used for long, and only when nothing of them is under way: it has the PEs of the tree forget it, and keeps no more
// than how many reductions there were. One that is used once more gets its members with the multicast, as when it was
// new. Other PEs send multicasts without the members once they have told them: so they are asked to forget that first,
// and answer how many they have sent. Versions of trees are never used twice on a root: what is late is told from what
// is new.
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/flat_map.h"
#include "runtime/objects/pe_objects.h"
#include "runtime/sections/section_plan.h"
#include "runtime/sections/section_reduction.h"

namespace periapt {

class Sections {
 public:
  explicit Sections(PeObjects& objects) : objects_(objects), pe_(objects.pe) {}
  static void register_entries();

  // Gives a section made here its name.
  void name(std::vector<CkSectionID>& parts);
  // The same, of one whose members no proxy need know: they are kept here as long as the run lasts.
  void name_and_keep(std::vector<CkSectionID>& parts);
  // How many have got one; after a restart those of the earlier run count too.
  std::uint32_t made() const { return made_; }
  void continue_numbers(std::uint32_t made) { made_ = made; }
  // From anywhere. The message is addressed to its entry.
  void multicast(const std::vector<CkSectionID>& parts, Message message);
  // One that came here.
  void deliver(Delivery& call);
  void contribute(CkSectionInfo& cookie, ReducerType type, const chare::Contribution& contribution,
                  const CkCallback* callback);
  // Gets the results of reductions whose contributions name no callback.
  void set_client(const std::vector<CkSectionID>& parts, const CkCallback& client);

  // Sections that this PE knows more of than their names.
  std::size_t known() const { return sections_.size(); }

  // For the watchdog: sections with an open reduction here, and what they wait for.
  std::size_t waiting() const;
  std::string describe() const;

 private:
  // One version of a section's tree, as far as this PE is concerned.
  struct Tree {
    static constexpr std::uint32_t unknown = ~0u;
    std::uint32_t version = 0;
    std::vector<int> children;
    std::vector<SectionMember> members;  // that stand here
    std::uint32_t seen = 0;              // multicasts that came over it
    std::uint32_t last = unknown;        // ... that will have, once there is a newer one
  };
  // What the root alone knows.
  struct Root {
    int branching = section_branching;
    std::vector<SectionMember> members;
    std::vector<int> places;   // the PE of each, as far as is known
    std::vector<int> stops;    // PEs of the tree
    bool stale = true;         // a tree is to be made before the next multicast
    bool unplaced = true;      // ... and all members are to be looked for
    std::uint32_t sent = 0;    // multicasts over the tree
    bool used = false;         // since it was last looked at to be put away
    std::vector<int> tellers;  // PEs that have told the members
    std::uint32_t asked = 0;   // ... of which those that are to answer how many multicasts they have sent
    std::uint32_t announced = 0, received = 0;  // multicasts of other PEs: by those answers; that have come
    struct Setup {
      std::uint32_t version = 0;
      bool in_tree = false;
    };
    std::unordered_map<int, Setup> setups;  // the last one that a PE was sent
  };
  struct Section {
    Section(Sender& sender, int root, std::uint32_t number) : reduction(sender, root, number) {}
    std::uint32_t version() const { return tree ? tree->version : 0; }
    std::shared_ptr<Tree> tree;               // the newest
    std::deque<std::shared_ptr<Tree>> older;  // of which multicasts are still to come
    std::vector<Message> waiting;             // for a newer tree; on the root, for the list of members
    std::unique_ptr<Root> root;               // on the root, once it knows the members
    bool told = false;                        // on another PE: it has sent the list to the root
    std::uint32_t sent_up = 0;                // ... and so many multicasts since then
    int reducing = 0;  // calls of `reduction` that have not returned: a callback's function may use the section
    SectionReduction reduction;
  };
  // What is left of one that was put away.
  struct PutAway {
    std::uint32_t rounds = 0;  // of its reductions, which are complete
    std::unique_ptr<CkCallback> client;
  };
  struct SetupHeader;
  struct Stop;
  struct SetupStop;

  Section& section(int root, std::uint32_t number);
  // Null: nothing is known of it here.
  Section* find(const Delivery& call);
  Section& section(const Delivery& call) {
    return section(static_cast<int>(call.collection), section_number_of(call.element));
  }
  static void register_trees();
  static void register_forgetting();
  static void on_define(Pe&, Delivery&);
  static void on_setup(Pe&, Delivery&);
  static void on_stale(Pe&, Delivery&);
  static void on_client(Pe&, Delivery&);
  static void on_forget(Pe&, Delivery&);
  static void on_ask(Pe&, Delivery&);
  static void on_answer(Pe&, Delivery&);
  static void for_reduction(Pe&, Delivery&);

  void tell_members(int root, std::uint32_t number, const std::vector<CkSectionID>& parts);
  void define(Section& section, std::uint32_t number, const std::vector<CkSectionID>& parts);
  void read_members(Section& section, const std::vector<CkSectionID>& parts);
  void release_waiting(Section& section) { pe_.enqueue_front(std::exchange(section.waiting, {})); }
  // Root.
  void send_down(Section& section, std::uint32_t number, Message message);
  // Tells observers of the one message that each member gets. (On the PE that sends: of the root alone it may be known
  // where they are.)
  void note_created(const std::vector<CkSectionID>& parts, const Root* root, const Message& message);
  // Trees: sections_tree.cpp. Root:
  void place_members(Root& root);
  void make_tree(Section& section, std::uint32_t number);
  std::vector<int> send_setups(const SetupHeader& header, std::uint32_t number, const std::vector<SetupStop>& row);
  void enter_tree(Section& section, std::shared_ptr<Tree> tree, int parent, std::uint32_t sent_before,
                  std::uint32_t first_open);
  // Any PE of the tree.
  std::shared_ptr<Tree> tree_of(Section& section, std::uint32_t version);
  void give_to_members(const Delivery& call, const Tree& tree, const Message& message);
  bool give(const SectionMember& member, const Message& message);
  void send_on(const SectionMember& member, const Message& message);
  int believed_place(const SectionMember& member);

  // Putting away: sections_forget.cpp.
  void make_room();
  bool at_rest(const Section& section) const;
  void put_away(std::uint32_t number, Section& section);
  void ask_tellers(std::uint32_t number, Root& root);
  void drop_if_empty(int root, std::uint32_t number);
  void drop_if_empty(const Delivery& call) {
    drop_if_empty(static_cast<int>(call.collection), section_number_of(call.element));
  }
  void bring_back(std::uint32_t number, Section& section);

  PeObjects& objects_;
  Pe& pe_;
  std::uint32_t made_ = 0;             // sections, here
  std::uint32_t versions_ = 0;         // of trees of sections made here
  std::deque<std::uint32_t> defined_;  // sections made here whose members are known, in the order of looking at them
  FlatMap<PutAway> put_away_;          // by number
  std::unordered_map<std::uint64_t, std::unique_ptr<Section>> sections_;
};

}  // namespace periapt
