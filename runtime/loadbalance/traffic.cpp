// See traffic.h.
#include "runtime/loadbalance/traffic.h"

#include "runtime/array/array_manager.h"

namespace periapt::loadbalance {

ElementName name_of(PeObjects& objects, ElementName element) {
  if (ArrayManager* manager = find_array(objects, CkArrayID(CkGroupID{element.array})))
    element.array = manager->bound().front()->id().index();
  return element;
}

void Traffic::turn(bool on) {
  if (on == on_) return;
  on_ = on;
  on ? pe_.subscribe(this, created) : pe_.unsubscribe(this);
}

void Traffic::set_name(std::int32_t record, ElementName name) {
  if (static_cast<std::size_t>(record) >= names_.size()) names_.resize(record + 1);
  names_[record] = name;
}

void Traffic::on_created(Pe&, const Created& created) {
  const std::int32_t sender = meter_.running();
  if (sender == Meter::nobody || created.element == 0) return;
  const ElementName to = name_of(*pe_.objects, {static_cast<std::int32_t>(created.collection), created.element});
  Amount& amount = amounts_[{names_[sender], to}];
  ++amount.messages;
  amount.bytes += created.bytes;
}

std::vector<Communication> Traffic::recorded() const {
  std::vector<Communication> all;
  for (const auto& [pair, amount] : amounts_) all.push_back({pair.from, pair.to, amount.messages, amount.bytes});
  return all;
}

}  // namespace periapt::loadbalance
