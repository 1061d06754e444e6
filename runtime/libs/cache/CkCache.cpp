// See CkCache.h.
#include "CkCache.h"

#include <algorithm>
#include <mutex>

#include "runtime/face/kept_state.h"
#include "runtime/face/watchdog.h"

namespace {
// The caches of this process, by PE.
std::mutex caches_mutex;
std::map<int, std::vector<CkCacheWaiting*>> caches;

std::string describe_caches(int pe) {
  const std::lock_guard lock(caches_mutex);
  std::string text;
  if (const auto here = caches.find(pe); here != caches.end())
    for (const CkCacheWaiting* cache : here->second) text += cache->describe_waiting();
  return text;
}

std::string open_round(int pe) {
  const std::lock_guard lock(caches_mutex);
  const auto here = caches.find(pe);
  const bool open = here != caches.end() && std::any_of(here->second.begin(), here->second.end(),
                                                        [](const CkCacheWaiting* cache) { return cache->in_round(); });
  return open ? "a round of a CkCacheManager" : "";
}
}  // namespace

CkCacheWaiting::CkCacheWaiting() {
  const std::lock_guard lock(caches_mutex);
  caches[CkMyPe()].push_back(this);
}
CkCacheWaiting::~CkCacheWaiting() {
  const std::lock_guard lock(caches_mutex);
  for (auto& [_, here] : caches) here.erase(std::remove(here.begin(), here.end(), this), here.end());
}

CkReduction::reducerType CkCacheStatistics::sum;

void register_caches() {
  CkCacheStatistics::sum = CkReduction::addReducer(CkCacheStatistics::sumFn);
  periapt::Watchdog::also_explain(describe_caches);
  periapt::also_ask_what_is_tied_to_pes(open_round);
}

CkReductionMsg* CkCacheStatistics::sumFn(int count, CkReductionMsg** parts) {
  CkCacheStatistics total;
  for (int i = 0; i < count; ++i) {
    const auto& part = *static_cast<const CkCacheStatistics*>(parts[i]->getData());
    total.messages_ += part.messages_;
    total.entries_ += part.entries_;
    total.misses_ += part.misses_;
    total.local_ += part.local_;
    total.unasked_ += part.unasked_;
    total.requests_ += part.requests_;
    if (total.pe_ >= 0 && part.most_ <= total.most_) continue;
    total.most_ = part.most_;
    total.pe_ = part.pe_;
  }
  return CkReductionMsg::buildNew(sizeof total, &total);
}

void CkCacheStatistics::printTo(CkOStream& out) {
  out << "  Cache: " << requests_ << " requests, " << misses_ << " of what was not there yet, " << local_
      << " answered by elements of the same PE" << endl;
  out << "  Cache: " << entries_ << " data have come from other PEs, in " << messages_ << " messages" << endl;
  out << "  Cache: at most " << most_ << " stored at a time, on PE " << pe_ << endl;
}

#include "CkCache.def.h"
