// Sections that were not used for long are put away: see sections.h.
#include <utility>

#include "runtime/registry/runtime_message.h"
#include "runtime/sections/sections.h"

namespace periapt {

namespace {
int entry_forget, entry_ask, entry_answer;
constexpr std::size_t kept_sections = 64;
// For each that is defined: one is looked at up to four times before it is put away.
constexpr int looks_max = 8;
}  // namespace

void Sections::register_forgetting() {
  entry_forget = register_runtime_entry("section: forget it", on_forget);
  entry_ask = register_runtime_entry("section: forget that you have told its members", on_ask);
  entry_answer = register_runtime_entry("section: multicasts sent to the root", on_answer);
}

// --- the root --------------------------------------------------------------------------------------------------------

void Sections::make_room() {
  for (int looks = 0; looks < looks_max && defined_.size() > kept_sections; ++looks) {
    const std::uint32_t number = defined_.front();
    defined_.pop_front();
    Section& oldest = section(pe_.index, number);
    const bool used = std::exchange(oldest.root->used, false);
    if (used || !at_rest(oldest) || !oldest.root->tellers.empty()) {
      defined_.push_back(number);
      if (!used) ask_tellers(number, *oldest.root);
      continue;
    }
    put_away(number, oldest);
  }
}

// Nothing of it is under way.
bool Sections::at_rest(const Section& section) const {
  const Root& root = *section.root;
  const bool all_came = !section.tree || section.tree->seen == root.sent;
  return all_came && section.older.empty() && section.waiting.empty() && root.asked == 0 &&
         root.announced == root.received && section.reducing == 0 && section.reduction.empty();
}

// What they have sent before they answer has come before the answer, but for messages with a priority: so it is
// counted.
void Sections::ask_tellers(std::uint32_t number, Root& root) {
  for (int teller : std::exchange(root.tellers, {})) {
    ++root.asked;
    send_runtime(pe_, teller, entry_ask, static_cast<std::uint32_t>(pe_.index), section_key(number, 0), teller);
  }
}

void Sections::on_answer(Pe& pe, Delivery& call) {
  Root& root = *pe.objects->sections->section(call).root;
  --root.asked;
  root.announced += call.read<std::uint32_t>();
}

// The PEs of the tree hear it over the tree, behind all else that came over it.
void Sections::put_away(std::uint32_t number, Section& section) {
  const Root& root = *section.root;
  const auto me = static_cast<std::uint32_t>(pe_.index);
  if (section.tree)
    for (int child : section.tree->children)
      send_runtime(pe_, child, entry_forget, me, section_key(number, section.tree->version), root.sent);
  for (const auto& [pe, setup] : root.setups)
    if (!setup.in_tree) send_runtime(pe_, pe, entry_forget, me, section_key(number, setup.version), std::uint32_t{0});
  section.tree.reset();
  section.root.reset();
  drop_if_empty(pe_.index, number);
}

void Sections::bring_back(std::uint32_t number, Section& section) {
  PutAway* const away = put_away_.find(number);
  if (!away) return;
  section.reduction.resume(away->rounds, away->client ? *away->client : CkCallback());
  put_away_.erase(number);
}

// --- any PE ----------------------------------------------------------------------------------------------------------

void Sections::on_forget(Pe& pe, Delivery& call) {
  Sections& self = *pe.objects->sections;
  Section& section = self.section(call);
  if (section_version_of(call.element) != section.version()) return section.waiting.push_back(keep(pe, call));
  const auto sent = call.read<std::uint32_t>();
  for (int child : section.tree->children) send_runtime(pe, child, entry_forget, call.collection, call.element, sent);
  if (section.tree->seen < sent) {
    section.tree->last = sent;
    section.older.push_back(section.tree);
  }
  section.tree.reset();
  section.reduction.set_place({});
  self.release_waiting(section);
  self.drop_if_empty(call);
}

void Sections::on_ask(Pe& pe, Delivery& call) {
  Sections& self = *pe.objects->sections;
  Section& section = self.section(call);
  section.told = false;
  send_runtime(pe, static_cast<int>(call.collection), entry_answer, call.collection, call.element,
               std::exchange(section.sent_up, 0));
  self.drop_if_empty(call);
}

void Sections::drop_if_empty(int root, std::uint32_t number) {
  const auto found = sections_.find(static_cast<std::uint64_t>(root) << 32 | number);
  if (found == sections_.end()) return;
  Section& section = *found->second;
  if (section.root || section.tree || section.told || section.reducing != 0 || !section.older.empty() ||
      !section.waiting.empty() || !section.reduction.empty())
    return;
  const CkCallback& client = section.reduction.client();
  if (root == pe_.index && (section.reduction.first_open() != 0 || !client.isInvalid()))
    put_away_[number] = {section.reduction.first_open(),
                         client.isInvalid() ? nullptr : std::make_unique<CkCallback>(client)};
  sections_.erase(found);
}

}  // namespace periapt
