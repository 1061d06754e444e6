// The trees of sections, which the root sets up over the PEs of the members: see sections.h.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/fatal.h"
#include "runtime/array/array_manager.h"
#include "runtime/objects/protocols.h"
#include "runtime/registry/runtime_message.h"
#include "runtime/scheduler/process.h"
#include "runtime/sections/sections.h"

namespace periapt {

namespace {
int entry_setup;
}

// A setup is a SetupHeader, then a Stop and its members for each PE of a piece of the row, the receiver's first.
struct Sections::SetupHeader {
  std::uint32_t version;
  std::uint32_t first_open;  // reduction
  std::int32_t parent;
  std::int32_t branching;
  std::int32_t root;
  std::uint32_t stops;
  std::uint32_t unused[2];
};
struct Sections::Stop {
  std::int32_t pe;
  std::uint32_t members;
  std::uint32_t after;  // the version of the setup before, and the multicasts over that tree
  std::uint32_t sent;
};
struct Sections::SetupStop {
  Stop stop;
  const SectionMember* members;
};

void Sections::register_trees() { entry_setup = register_runtime_entry("section: a tree", on_setup); }

// The tree for one more multicast; it is forgotten after the last one. Null: it is yet to come.
std::shared_ptr<Sections::Tree> Sections::tree_of(Section& section, std::uint32_t version) {
  if (section.version() == version) {
    ++section.tree->seen;
    return section.tree;
  }
  const auto found = std::find_if(section.older.begin(), section.older.end(),
                                  [&](const std::shared_ptr<Tree>& tree) { return tree->version == version; });
  if (found == section.older.end() && version > section.version()) return nullptr;
  if (found == section.older.end())
    fatal("a section multicast comes over a tree that has gone", "version " + std::to_string(version),
          "a bug of the runtime", "please report it");
  std::shared_ptr<Tree> tree = *found;
  if (++tree->seen == tree->last) section.older.erase(found);
  return tree;
}

// -1: its array is not known here yet.
int Sections::believed_place(const SectionMember& member) {
  if (member.of_group()) return pe_.index;
  ArrayManager* array = find_array(objects_, CkArrayID(CkGroupID{member.collection}));
  return array ? array->locate(member.id, member.index) : -1;
}

void Sections::place_members(Root& root) {
  root.unplaced = false;
  for (const SectionMember& member : root.members) {
    if (member.of_group()) continue;
    const int place = believed_place(member);
    root.unplaced |= place < 0;
    root.places[member.number] = place < 0 ? pe_.index : place;
  }
}

void Sections::make_tree(Section& section, std::uint32_t number) {
  Root& root = *section.root;
  if (root.unplaced) place_members(root);
  const std::uint32_t version = ++versions_;
  const SetupHeader header{version, section.reduction.first_open(), pe_.index, root.branching, pe_.index, 0, {}};
  const std::vector<SectionStop> stops = section_row(pe_.index, pe_.process.pes(), root.members, root.places);
  std::vector<SetupStop> row;
  for (const SectionStop& stop : stops) {
    const Root::Setup last = std::exchange(root.setups[stop.pe], {version, true});
    row.push_back(
        {{stop.pe, static_cast<std::uint32_t>(stop.members.size()), last.version, last.in_tree ? root.sent : 0},
         stop.members.data()});
  }
  // Those that are in it no longer hear so, and how many multicasts are still to come.
  for (int pe : root.stops) {
    Root::Setup& last = root.setups[pe];
    if (last.version == version) continue;
    send_setups(header, number, {{}, {{pe, 0, last.version, root.sent}, nullptr}});
    last = {version, false};
  }
  auto tree = std::make_shared<Tree>();
  tree->version = version;
  tree->children = send_setups(header, number, row);
  tree->members = stops[0].members;
  enter_tree(section, std::move(tree), -1, root.sent, header.first_open);
  root.stops.clear();
  for (const SectionStop& stop : stops)
    if (stop.pe != pe_.index) root.stops.push_back(stop.pe);
  root.sent = 0;
  root.stale = root.unplaced;
}

// To the children of the first of the row: answers their PEs.
std::vector<int> Sections::send_setups(const SetupHeader& header, std::uint32_t number,
                                       const std::vector<SetupStop>& row) {
  std::vector<int> children;
  for (const auto& [begin, end] : section_pieces(row.size(), header.branching)) {
    std::size_t bytes = sizeof(SetupHeader);
    for (std::size_t i = begin; i < end; ++i) bytes += sizeof(Stop) + row[i].stop.members * sizeof(SectionMember);
    Message message = Message::make(bytes);
    char* out = static_cast<char*>(message.payload());
    const auto put = [&out](const void* from, std::size_t size) {
      if (size) std::memcpy(out, from, size);
      out += size;
    };
    SetupHeader own = header;
    own.parent = pe_.index;
    own.stops = static_cast<std::uint32_t>(end - begin);
    put(&own, sizeof own);
    for (std::size_t i = begin; i < end; ++i) {
      put(&row[i].stop, sizeof(Stop));
      put(row[i].members, row[i].stop.members * sizeof(SectionMember));
    }
    const int child = row[begin].stop.pe;
    children.push_back(child);
    pe_.send(child, runtime_message(std::move(message), entry_setup, static_cast<std::uint32_t>(header.root),
                                    section_key(number, header.version)));
  }
  return children;
}

void Sections::on_setup(Pe& pe, Delivery& call) {
  Sections& self = *pe.objects->sections;
  Section& section = self.section(call);
  const SetupHeader header = call.read<SetupHeader>();
  const char* in = static_cast<const char*>(call.arguments) + sizeof header;
  std::vector<SetupStop> row(header.stops);
  for (SetupStop& stop : row) {
    std::memcpy(&stop.stop, in, sizeof(Stop));
    stop.members = reinterpret_cast<const SectionMember*>(in + sizeof(Stop));
    in += sizeof(Stop) + stop.stop.members * sizeof(SectionMember);
  }
  const SetupStop& own = row[0];
  if (own.stop.after != section.version()) return section.waiting.push_back(keep(pe, call));
  auto tree = std::make_shared<Tree>();
  tree->version = header.version;
  tree->members.assign(own.members, own.members + own.stop.members);
  tree->children = self.send_setups(header, section_number_of(call.element), row);
  self.enter_tree(section, std::move(tree), header.parent, own.stop.sent, header.first_open);
  self.release_waiting(section);
}

void Sections::enter_tree(Section& section, std::shared_ptr<Tree> tree, int parent, std::uint32_t sent_before,
                          std::uint32_t first_open) {
  if (section.tree && section.tree->seen < sent_before) {
    section.tree->last = sent_before;
    section.older.push_back(section.tree);
  }
  section.tree = std::move(tree);
  section.reduction.set_place({section.tree->version, parent, section.tree->children,
                               static_cast<std::uint32_t>(section.tree->members.size()), first_open});
}

}  // namespace periapt
