// See traffic.h.
#include "runtime/loadbalance/traffic.h"

#include <utility>

#include "runtime/array/array_manager.h"
#include "runtime/scheduler/process.h"

namespace periapt::loadbalance {

ElementName name_of(PeObjects& objects, ElementName element) {
  if (ArrayManager* manager = find_array(objects, CkArrayID(CkGroupID{element.array})))
    element.array = manager->bound().front()->id().index();
  return element;
}

void Traffic::turn(bool on) {
  if (on == on_) return;
  on_ = on;
  if (!on) return pe_.unsubscribe(this);
  known_.resize(known_count);
  pe_.subscribe(this, created);
}

void Traffic::set_name(std::int32_t record, ElementName name) {
  if (static_cast<std::size_t>(record) >= names_.size()) names_.resize(record + 1);
  if (names_[record] == name) return;
  names_[record] = name;
  forget_known();  // it was another's
}

void Traffic::on_created(Pe&, const Created& created) {
  const std::int32_t record = meter_.running();
  if (record == Meter::nobody) return;
  const bool is_member = created.element == 0;
  const std::uint64_t element = is_member ? static_cast<std::uint64_t>(created.to_pe) : created.element;
  const std::uint64_t hash =
      (element ^ std::uint64_t{created.collection} << 40 ^ static_cast<std::uint64_t>(record) << 20) *
      0x9E3779B97F4A7C15u;
  static_assert(known_count == 1 << 8, "the highest bits of a hash of 64 choose");
  Known& known = known_[hash >> 56];
  const std::uint64_t sender_and_collection =
      static_cast<std::uint64_t>(record) << 33 | std::uint64_t{is_member} << 32 | created.collection;
  if (known.sender_and_collection != sender_and_collection || known.element != element) [[unlikely]] {
    Amount* const amount = find(created);
    if (!amount) return;
    known.add_up();
    known = {sender_and_collection, element, 0, 0, amount};
    knows_ = true;
  }
  ++known.messages;
  known.bytes += created.bytes;
}
Traffic::Amount* Traffic::find(const Created& created) {
  const auto collection = static_cast<std::int32_t>(created.collection);
  if (created.element != 0) return &amount_for(name_of(*pe_.objects, {collection, created.element}));
  if (collection == 0 || created.to_pe < 0) return nullptr;
  const Target target = entry_info(created.entry).target;
  if (target != Target::group && target != Target::node_group) return nullptr;
  const bool to_process = target == Target::node_group;
  const int process = pe_.process.process_of(created.to_pe);
  Amount& amount = amount_for({collection, static_cast<std::uint64_t>(to_process ? process : created.to_pe)});
  amount.to_pe =
      to_process ? pe_.process.layout().processes[static_cast<std::size_t>(process)].first_pe : created.to_pe;
  amount.to_process = to_process;
  return &amount;
}
void Traffic::sent(ElementName to, std::uint64_t messages, std::uint64_t bytes) {
  if (!on_ || meter_.running() == Meter::nobody) return;
  Amount& amount = amount_for(to);
  amount.messages += messages;
  amount.bytes += bytes;
}

void Traffic::forget_known() {
  if (!std::exchange(knows_, false)) return;
  for (Known& known : known_) {
    known.add_up();
    known = {};
  }
}

std::vector<Communication> Traffic::recorded() {
  forget_known();
  std::vector<Communication> all;
  for (const auto& [pair, amount] : amounts_)
    all.push_back({pair.from, pair.to, amount.messages, amount.bytes, amount.to_pe, amount.to_process});
  return all;
}

}  // namespace periapt::loadbalance
