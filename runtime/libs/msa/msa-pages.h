// The pages of multiphase shared arrays (msa.h): MSA_PageArray has an element for each page, its home, and a member of
// MSA_CacheGroup has the pages that its PE uses. C++17: programs include it.
//
// Within a phase a page is read, written or accumulated to. What is read comes from its home; what is written or
// accumulated to begins with identities here, and the entries that were touched go to the home when the page makes room
// for another one or the phase ends. There they are assigned, or accumulated to what is there.
//
// A phase ends when all workers have come to sync, which PE 0 counts. Then it tells all PEs to send their changes and
// to forget their pages; when every home has confirmed, all workers go on. Nothing depends on which worker is on which
// PE, so workers may migrate between phases.
#pragma once
#include <algorithm>
#include <bitset>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "msa-common.h"
#include "runtime/pup/pup.h"

// Some entries, in a message or a page.
template <class ENTRY, class OPS>
class MSA_Entries {
 public:
  MSA_Entries() = default;
  explicit MSA_Entries(unsigned int size) : data_(new ENTRY[size]), size_(size) {}
  static MSA_Entries identities(unsigned int size) {
    MSA_Entries entries(size);
    std::fill_n(entries.data(), size, OPS().getIdentity());
    return entries;
  }
  ENTRY* data() const { return data_.get(); }
  unsigned int size() const { return size_; }
  void pup(PUP::er& p) {
    unsigned int size = size_;
    p | size;
    if (p.isUnpacking()) *this = MSA_Entries(size);
    if (OPS().pupEveryElement())
      PUParray(p, data(), size);
    else
      p(reinterpret_cast<char*>(data()), size * sizeof(ENTRY));
  }

 private:
  std::unique_ptr<ENTRY[]> data_;
  unsigned int size_ = 0;
};

#include "msa.decl.h"

template <class ENTRY, class OPS, unsigned int ENTRIES_PER_PAGE>
class MSA_CacheGroup : public CBase_MSA_CacheGroup<ENTRY, OPS, ENTRIES_PER_PAGE> {
 public:
  using Homes = CProxy_MSA_PageArray<ENTRY, OPS, ENTRIES_PER_PAGE>;
  using Index = CkIndex_MSA_CacheGroup<ENTRY, OPS, ENTRIES_PER_PAGE>;

  MSA_CacheGroup(unsigned int entries, unsigned int workers, unsigned int max_bytes, const CkArrayID& homes)
      : entries_(entries), workers_(workers), max_bytes_(max_bytes), homes_(homes), pages_(page_count()) {}
  explicit MSA_CacheGroup(CkMigrateMessage*) {}
  // Between phases, when no page is here.
  void pup(PUP::er& p) {
    p | entries_;
    p | workers_;
    p | max_bytes_;
    p | homes_;
    p | left_;
    if (p.isUnpacking()) pages_.resize(page_count());
  }

  unsigned int getNumEntries() const { return entries_; }
  Homes getArray() const { return homes_; }

  // The page with entry i, in that mode; the thread that calls waits where the page has to come first.
  ENTRY* page_of(unsigned int i, MSA_Page_Fault_t mode) {
    Page* page = i < entries_ ? pages_[i / ENTRIES_PER_PAGE].get() : nullptr;
    if (page == nullptr || page->mode != mode) page = fault(i, mode);
    page->used = ++clock_;
    if (mode != Read_Fault) page->touched.set(i % ENTRIES_PER_PAGE);
    return page->entries.data();
  }
  const ENTRY& entry_here(unsigned int i) const {
    const Page* page = i < entries_ ? pages_[i / ENTRIES_PER_PAGE].get() : nullptr;
    if (page == nullptr || page->mode != Read_Fault)
      CkAbort("MSA: get2() of entry %u, which is not on PE %d: Prefetch() and WaitAll() bring it, or get() does", i,
              CkMyPe());
    return page->entries.data()[i % ENTRIES_PER_PAGE];
  }

  // These two return when all workers have called them.
  void enroll(unsigned int workers) {
    if (workers != workers_)
      CkAbort("MSA: enroll(%u) in an array that was made for %u workers: the two numbers have to be the same", workers,
              workers_);
    sync(false);
  }
  void sync(bool clear) {
    this->thisProxy[0].arrive(clear, false);
    wait_in(workers_here_);
  }
  // The worker that calls ends its phase, and takes no part in further ones.
  void leave() { this->thisProxy[0].arrive(false, true); }

  // Pages stay here from prefetch() to unlock(). Where there is no room for all of them, wait_all() returns 1.
  void prefetch(unsigned int first, unsigned int last) {
    for (unsigned int number = first; number <= last && number < pages_.size() && !full_; ++number) {
      if (pages_[number] == nullptr) {
        full_ = !room();
        if (full_) return;
        ask_for(number);
      }
      pages_[number]->locked = true;
    }
  }
  int wait_all() {
    while (awaited_ > 0) wait_in(awaiting_);
    const bool full = std::exchange(full_, false);
    if (full) unlock(0, page_count());
    return full ? 1 : 0;
  }
  void unlock(unsigned int first, unsigned int last) {
    for (const unsigned int number : here_)
      if (first <= number && number <= last) pages_[number]->locked = false;
  }
  // Drops what is read; changes go home.
  void free_memory() {
    for (std::size_t i = here_.size(); i-- > 0;)
      if (pages_[here_[i]]->mode != Uninit_State) drop(i);
  }

  void arrive(bool clear, bool leaves) {
    clear_ = clear_ || clear;
    ++(leaves ? left_ : arrived_);
    if (arrived_ + left_ < workers_) return;
    arrived_ = 0;
    this->thisProxy.flush(std::exchange(clear_, false));
  }
  void flush(bool clear) {
    while (!here_.empty()) drop(here_.size() - 1);
    ++phase_;  // pages that were prefetched and still come are of the last one
    awaited_ = 0;
    flushing_ = true;
    clears_ = clear;
    confirm();
  }
  void clear_homes() { homes_.clear(this->thisProxy); }
  void go_on() { wake(workers_here_); }

  void take(unsigned int number, int phase, MSA_Entries<ENTRY, OPS> entries) {
    if (phase != phase_) return;
    Page& page = *pages_[number];
    page.entries = entries.size() > 0 ? std::move(entries) : MSA_Entries<ENTRY, OPS>::identities(ENTRIES_PER_PAGE);
    page.mode = Read_Fault;
    wake(page.waiting);
    if (--awaited_ == 0) wake(awaiting_);
  }
  void changed(unsigned int number) {
    const auto threads = leaving_.find(number);
    wake(threads->second);
    leaving_.erase(threads);
    confirm();
  }

 private:
  using Threads = std::vector<CthThread>;
  struct Page {
    MSA_Page_Fault_t mode = Uninit_State;  // so while it is awaited
    bool locked = false;
    std::uint64_t used = 0;  // clock_ when it was last used
    std::bitset<ENTRIES_PER_PAGE> touched;
    MSA_Entries<ENTRY, OPS> entries;
    Threads waiting;
  };
  // References to entries of the pages used last are in use, as in `a.get(i) + b.get(j)`.
  static constexpr std::size_t pages_min = 8;

  unsigned int page_count() const { return (entries_ + ENTRIES_PER_PAGE - 1) / ENTRIES_PER_PAGE; }

  static void wait_in(Threads& threads) {
    threads.push_back(CthSelf());
    CthSuspend();
  }
  static void wake(Threads& threads) {
    for (CthThread thread : std::exchange(threads, {})) CthAwaken(thread);
  }

  Page* fault(unsigned int i, MSA_Page_Fault_t mode) {
    if (i >= entries_) CkAbort("MSA: entry %u of an array of %u", i, entries_);
    const unsigned int number = i / ENTRIES_PER_PAGE;
    for (;;) {
      Page* page = pages_[number].get();
      if (page != nullptr && page->mode == mode) return page;
      if (page != nullptr && (page->mode != Uninit_State || mode != Read_Fault))
        CkAbort("MSA: entry %u is %s in a phase in which its page is %s: a sync has to come between", i, name(mode),
                name(page->mode));
      if (page != nullptr) {
        wait_in(page->waiting);
      } else if (const auto threads = leaving_.find(number); threads != leaving_.end()) {
        wait_in(threads->second);  // its first changes have to be there before the second ones
      } else {
        if (!room())
          CkAbort(
              "MSA: no room for a page on PE %d, as all %u bytes of its cache are locked by Prefetch(): Unlock() "
              "some, or make the array with more",
              CkMyPe(), max_bytes_);
        if (mode == Read_Fault)
          ask_for(number);
        else
          make(number, mode).entries = MSA_Entries<ENTRY, OPS>::identities(ENTRIES_PER_PAGE);
      }
    }
  }
  static const char* name(MSA_Page_Fault_t mode) {
    return mode == Write_Fault ? "written" : mode == Accumulate_Fault ? "accumulated to" : "read";
  }
  Page& make(unsigned int number, MSA_Page_Fault_t mode) {
    pages_[number] = std::make_unique<Page>();
    pages_[number]->mode = mode;
    here_.push_back(number);
    return *pages_[number];
  }
  void ask_for(unsigned int number) {
    make(number, Uninit_State).used = ++clock_;
    ++awaited_;
    homes_[static_cast<int>(number)].read(this->thisProxy, CkMyPe(), phase_);
  }

  // Makes room for a page: the page goes that has not been used for longest. False: all are locked or awaited.
  bool room() {
    const std::size_t most = std::max(pages_min, max_bytes_ / (sizeof(ENTRY) * ENTRIES_PER_PAGE));
    if (here_.size() < most) return true;
    std::size_t oldest = here_.size();
    for (std::size_t i = 0; i < here_.size(); ++i) {
      const Page& page = *pages_[here_[i]];
      if (!page.locked && page.mode != Uninit_State &&
          (oldest == here_.size() || page.used < pages_[here_[oldest]]->used))
        oldest = i;
    }
    if (oldest == here_.size()) return false;
    drop(oldest);
    return true;
  }
  void drop(std::size_t at) {
    const unsigned int number = here_[at];
    if (pages_[number]->touched.any()) send_changes(number);
    pages_[number].reset();
    here_[at] = here_.back();
    here_.pop_back();
  }
  void send_changes(unsigned int number) {
    const Page& page = *pages_[number];
    MSA_Entries<ENTRY, OPS> entries(static_cast<unsigned int>(page.touched.count()));
    std::vector<unsigned int> runs;  // begin, end, begin, end...
    ENTRY* to = entries.data();
    for (unsigned int i = 0; i < ENTRIES_PER_PAGE; ++i) {
      if (!page.touched.test(i)) continue;
      if (runs.empty() || runs.back() != i) runs.insert(runs.end(), {i, i});
      runs.back() = i + 1;
      *to++ = page.entries.data()[i];
    }
    leaving_[number];
    homes_[static_cast<int>(number)].change(this->thisProxy, CkMyPe(), page.mode == Accumulate_Fault, runs, entries);
  }
  // All changes of this PE are at their homes.
  void confirm() {
    if (!flushing_ || !leaving_.empty()) return;
    flushing_ = false;
    this->contribute(clears_ ? CkCallback(Index::redn_wrapper_clear_homes(nullptr), this->thisProxy[0])
                             : CkCallback(Index::redn_wrapper_go_on(nullptr), this->thisProxy));
  }

  unsigned int entries_ = 0, workers_ = 0, max_bytes_ = 0;
  Homes homes_;
  std::vector<std::unique_ptr<Page>> pages_;  // by number; of those that are here
  std::vector<unsigned int> here_;
  std::map<unsigned int, Threads> leaving_;  // pages whose changes are on their way, and threads that wait for them
  Threads awaiting_, workers_here_;          // until all pages have come; the end of the phase
  unsigned int awaited_ = 0;                 // pages that are on their way here
  std::uint64_t clock_ = 0;
  int phase_ = 0;
  bool full_ = false, flushing_ = false, clears_ = false;
  unsigned int arrived_ = 0, left_ = 0;  // on PE 0
  bool clear_ = false;                   // on PE 0: one of those that have arrived wants it
};

template <class ENTRY, class OPS, unsigned int ENTRIES_PER_PAGE>
class MSA_PageArray : public CBase_MSA_PageArray<ENTRY, OPS, ENTRIES_PER_PAGE> {
 public:
  using Caches = CProxy_MSA_CacheGroup<ENTRY, OPS, ENTRIES_PER_PAGE>;
  using CacheIndex = CkIndex_MSA_CacheGroup<ENTRY, OPS, ENTRIES_PER_PAGE>;

  MSA_PageArray() = default;
  explicit MSA_PageArray(CkMigrateMessage*) {}
  void pup(PUP::er& p) { p | entries_; }

  void read(Caches caches, int pe, int phase) {
    caches[pe].take(static_cast<unsigned int>(this->thisIndex), phase, entries_);
  }
  void change(Caches caches, int pe, bool accumulates, const std::vector<unsigned int>& runs,
              const MSA_Entries<ENTRY, OPS>& entries) {
    if (entries_.size() == 0) entries_ = MSA_Entries<ENTRY, OPS>::identities(ENTRIES_PER_PAGE);
    const ENTRY* from = entries.data();
    for (std::size_t run = 0; run < runs.size(); run += 2)
      for (unsigned int i = runs[run]; i < runs[run + 1]; ++i, ++from)
        if (accumulates)
          OPS().accumulate(entries_.data()[i], *from);
        else
          entries_.data()[i] = *from;
    caches[pe].changed(static_cast<unsigned int>(this->thisIndex));
  }
  void clear(Caches caches) {
    entries_ = {};
    this->contribute(CkCallback(CacheIndex::redn_wrapper_go_on(nullptr), caches));
  }

 private:
  MSA_Entries<ENTRY, OPS> entries_;  // none as long as all are identities
};

#define CK_TEMPLATES_ONLY
#include "msa.def.h"
#undef CK_TEMPLATES_ONLY
