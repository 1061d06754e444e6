// See holder.h.
#include "holder.h"

#include <cstring>
#include <iterator>

namespace Ck::IO::impl {

void Holder::pup(PUP::er& p) {
  p | stripes_;
  p | missing_;
}

bool Holder::Stripe::add(std::size_t offset, std::size_t bytes) {
  const auto behind = ranges.lower_bound(offset);
  if (behind != ranges.end() && behind->first < offset + bytes) return false;
  if (behind != ranges.begin() && std::prev(behind)->second > offset) return false;
  come += bytes;
  auto here = ranges.emplace(offset, offset + bytes).first;
  if (behind != ranges.end() && behind->first == here->second) {
    here->second = behind->second;
    ranges.erase(behind);
  }
  if (here != ranges.begin() && std::prev(here)->second == offset) {
    std::prev(here)->second = here->second;
    ranges.erase(here);
  }
  return true;
}

void Holder::take(std::size_t offset, std::size_t bytes, const char* data) {
  Manager& here = *managers.ckLocalBranch();
  const int session = thisIndex.x;
  const Plan& plan = here.plan_of(session, "write()");
  const std::size_t number = plan.stripe_at(offset), begin = plan.begin_of(number);
  const std::size_t size = plan.end_of(number) - begin;
  Stripe& stripe = stripes_[number];
  if (!stripe.add(offset, bytes))
    CkAbort("CkIO: of %s of the file %s some were written before in the session: each is written once",
            range(offset, bytes).c_str(), here.name_of(plan).c_str());
  if (bytes < size) {
    stripe.data.resize(size);
    std::memcpy(stripe.data.data() + (offset - begin), data, bytes);
    if (stripe.come < size) return;
    data = stripe.data.data();
  }
  here.put(plan, begin, size, data);
  std::vector<char>().swap(stripe.data);  // that it has been written stays known
  missing_ -= size;
  if (missing_ > 0) return;
  here.sync_file(plan);
  managers[0].written(session);
}

}  // namespace Ck::IO::impl
