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
  if (meter_.running() == Meter::nobody || created.element == 0) return;
  add(name_of(*pe_.objects, {static_cast<std::int32_t>(created.collection), created.element}), 1, created.bytes);
}
void Traffic::sent(ElementName to, std::uint64_t messages, std::uint64_t bytes) {
  if (on_ && meter_.running() != Meter::nobody) add(to, messages, bytes);
}
void Traffic::add(const ElementName& to, std::uint64_t messages, std::uint64_t bytes) {
  Amount& amount = amounts_[{names_[meter_.running()], to}];
  amount.messages += messages;
  amount.bytes += bytes;
}

std::vector<Communication> Traffic::recorded() const {
  std::vector<Communication> all;
  for (const auto& [pair, amount] : amounts_) all.push_back({pair.from, pair.to, amount.messages, amount.bytes});
  return all;
}

}  // namespace periapt::loadbalance
