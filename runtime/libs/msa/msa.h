// Multiphase shared arrays (-module msa): arrays of 1, 2 or 3 dimensions that threads on all PEs share, in phases. In
// one phase entries are read, in another one written, each by one thread at most, or accumulated to by any. C++17:
// programs include it as "msa/msa.h".
//
//   using Array = MSA::MSA2D<double, DefaultEntry<double>, 4096>;   // 4096 entries a page
//   Array a(rows, columns, workers);      // once; copies of it go to the workers, as arguments of entries
//
//   a.enroll(workers);                    // each worker, in a [threaded] entry
//   Array::Write w = a.getInitialWrite();
//   w(i, j) = 1.0;
//   Array::Read r = w.syncToRead();       // returns when all workers are here; w cannot be used any more
//   Array::Accum sum = r.syncToAccum();
//   sum(i, j) += r2(k);
//
// and in a .ci of the program, for each type of array:
//
//   group MSA_CacheGroup<double, DefaultEntry<double>, 4096>;
//   array [1D] MSA_PageArray<double, DefaultEntry<double>, 4096>;
//
// All entries are OPS::getIdentity() at first (msa-common.h). What get() returns is here until some eight other pages
// have been used. See J. DeSouza and L. V. Kalé, "MSA: Multiphase Specifically Shared Arrays", LCPC 2004.
#pragma once
#include "msa-pages.h"

namespace MSA {

// Thrown where a handle is used after its phase, or a second initial one is asked for.
struct MSA_InvalidHandle {};

template <class ENTRY>
class Writable {
 public:
  explicit Writable(ENTRY& entry) : entry_(entry) {}
  const ENTRY& operator=(const ENTRY& value) {
    entry_ = value;
    return value;
  }

 private:
  ENTRY& entry_;
};

template <class ARRAY>
class Accumulable {
 public:
  explicit Accumulable(typename ARRAY::T& entry) : entry_(entry) {}
  template <class U>
  void operator+=(const U& more) {
    accumulate(more);
  }
  template <class U>
  void accumulate(const U& more) {
    ARRAY::OPS::accumulate(entry_, more);
  }

 private:
  typename ARRAY::T& entry_;
};

template <class ARRAY>
class MSARead;
template <class ARRAY>
class MSAWrite;
template <class ARRAY>
class MSAAccum;

// What a worker may do in a phase. Each function that ends the phase makes the handle invalid.
template <class ARRAY>
class MSAHandle {
 public:
  using T = typename ARRAY::T;
  MSAHandle() = default;

  MSARead<ARRAY> syncToRead() { return next<MSARead<ARRAY>>(false); }
  MSAWrite<ARRAY> syncToWrite() { return next<MSAWrite<ARRAY>>(false); }
  MSAAccum<ARRAY> syncToAccum() { return next<MSAAccum<ARRAY>>(false); }
  // The same, and all entries become identities.
  MSAWrite<ARRAY> syncToReWrite() { return next<MSAWrite<ARRAY>>(true); }
  MSAAccum<ARRAY> syncToEAccum() { return next<MSAAccum<ARRAY>>(true); }
  void syncDone() { end()->cache()->sync(false); }
  // Ends the phase without waiting for the others; this worker takes no part in further ones.
  void syncRelease() { end()->cache()->leave(); }

  int length() { return static_cast<int>(array_->length()); }
  void pup(PUP::er& p) {
    p | valid_;
    if (!valid_) return;
    if (p.isUnpacking()) array_ = new ARRAY;
    p | *array_;
  }

 protected:
  explicit MSAHandle(ARRAY* array) : array_(array), valid_(true) {}
  template <class... I>
  T& entry(MSA_Page_Fault_t mode, I... i) {
    return array()->entry(mode, i...);
  }
  template <class... I>
  const T& entry_here(I... i) {
    return array()->entry_here(i...);
  }
  // visit(x, y, z) in the box from one corner to the other, both inclusive, row by row.
  template <class VISIT>
  static void for_each_in_box(int x1, int y1, int z1, int x2, int y2, int z2, VISIT visit) {
    for (int x = x1; x <= x2; ++x)
      for (int y = y1; y <= y2; ++y)
        for (int z = z1; z <= z2; ++z) visit(x, y, z);
  }

 private:
  // The array, while the handle is valid.
  ARRAY* array() const {
    if (!valid_) throw MSA_InvalidHandle();
    return array_;
  }
  ARRAY* end() {
    ARRAY* array = this->array();
    valid_ = false;
    return array;
  }
  template <class NEXT>
  NEXT next(bool clear) {
    ARRAY* array = end();
    array->cache()->sync(clear);
    return NEXT(array);
  }
  ARRAY* array_ = nullptr;
  bool valid_ = false;
};

// The functions below take as many indices as the array has dimensions; of one of two dimensions, also the index that
// getIndex() says.
template <class ARRAY>
class MSARead : public MSAHandle<ARRAY> {
 public:
  using ENTRY = typename ARRAY::T;
  MSARead() = default;
  explicit MSARead(ARRAY* array) : MSAHandle<ARRAY>(array) {}

  template <class... I>
  const ENTRY& get(I... i) {
    return this->entry(Read_Fault, i...);
  }
  template <class... I>
  const ENTRY& operator()(I... i) {
    return get(i...);
  }
  // Of an entry that Prefetch() has brought: never waits.
  template <class... I>
  const ENTRY& get2(I... i) {
    return this->entry_here(i...);
  }
  // The box from one corner to the other, both inclusive, row by row; so for write() and accumulate().
  void read(ENTRY* to, int x1, int y1, int z1, int x2, int y2, int z2) {
    this->for_each_in_box(x1, y1, z1, x2, y2, z2, [&](int x, int y, int z) { *to++ = get(x, y, z); });
  }
};

template <class ARRAY>
class MSAWrite : public MSAHandle<ARRAY> {
 public:
  using ENTRY = typename ARRAY::T;
  MSAWrite() = default;
  explicit MSAWrite(ARRAY* array) : MSAHandle<ARRAY>(array) {}

  template <class... I>
  Writable<ENTRY> set(I... i) {
    return Writable<ENTRY>(this->entry(Write_Fault, i...));
  }
  template <class... I>
  Writable<ENTRY> operator()(I... i) {
    return set(i...);
  }
  void write(int x1, int y1, int z1, int x2, int y2, int z2, const ENTRY* from) {
    this->for_each_in_box(x1, y1, z1, x2, y2, z2, [&](int x, int y, int z) { set(x, y, z) = *from++; });
  }
};

template <class ARRAY>
class MSAAccum : public MSAHandle<ARRAY> {
 public:
  using ENTRY = typename ARRAY::T;
  MSAAccum() = default;
  explicit MSAAccum(ARRAY* array) : MSAHandle<ARRAY>(array) {}

  template <class... I>
  Accumulable<ARRAY> accumulate(I... i) {
    return Accumulable<ARRAY>(this->entry(Accumulate_Fault, i...));
  }
  template <class... I>
  Accumulable<ARRAY> operator()(I... i) {
    return accumulate(i...);
  }
  void accumulate(int x1, int y1, int z1, int x2, int y2, int z2, const ENTRY* from) {
    this->for_each_in_box(x1, y1, z1, x2, y2, z2,
                          [&](int x, int y, int z) { accumulate(x, y, z).accumulate(*from++); });
  }
};

// What arrays of all dimensions are: entries with one index.
template <class ENTRY, class ENTRY_OPS_CLASS, unsigned int ENTRIES_PER_PAGE = MSA_DEFAULT_ENTRIES_PER_PAGE>
class MSA1D {
 public:
  using CacheGroup_t = MSA_CacheGroup<ENTRY, ENTRY_OPS_CLASS, ENTRIES_PER_PAGE>;
  using CProxy_CacheGroup_t = CProxy_MSA_CacheGroup<ENTRY, ENTRY_OPS_CLASS, ENTRIES_PER_PAGE>;
  using CProxy_PageArray_t = CProxy_MSA_PageArray<ENTRY, ENTRY_OPS_CLASS, ENTRIES_PER_PAGE>;
  using T = ENTRY;
  using OPS = ENTRY_OPS_CLASS;
  using thisMSA = MSA1D;
  using Handle = MSAHandle<MSA1D>;
  using Read = MSARead<MSA1D>;
  using Write = MSAWrite<MSA1D>;
  using Accum = MSAAccum<MSA1D>;

  MSA1D() = default;
  // A new array, with all entries identities, for so many workers. A PE keeps at most so many bytes of pages, but
  // eight pages in any case.
  MSA1D(unsigned int entries, unsigned int workers, unsigned int max_bytes = MSA_DEFAULT_MAX_BYTES)
      : entries_(entries) {
    const unsigned int pages = (entries + ENTRIES_PER_PAGE - 1) / ENTRIES_PER_PAGE;
    const CProxy_PageArray_t homes = CProxy_PageArray_t::ckNew(static_cast<int>(pages));
    caches_ = CProxy_CacheGroup_t::ckNew(entries, workers, max_bytes, homes);
  }
  explicit MSA1D(CProxy_CacheGroup_t caches) : caches_(caches) { entries_ = cache()->getNumEntries(); }
  void pup(PUP::er& p) {
    p | entries_;
    p | caches_;
    if (p.isUnpacking()) changePE();
  }

  unsigned int length() const { return entries_; }
  const CProxy_CacheGroup_t& getCacheGroup() const { return caches_; }
  unsigned int getNumEntriesPerPage() const { return ENTRIES_PER_PAGE; }
  unsigned int getPageIndex(unsigned int i) const { return i / ENTRIES_PER_PAGE; }
  unsigned int getOffsetWithinPage(unsigned int i) const { return i % ENTRIES_PER_PAGE; }

  // Each worker calls one of these first; they return when all have.
  void enroll(unsigned int workers) { cache()->enroll(workers); }
  // A worker that has moved to another PE and kept this object calls this.
  void changePE() { cache_ = nullptr; }

  // The first entry of the page of entry i. When written or accumulated to, entry i counts as touched.
  ENTRY& getPageBottom(unsigned int i, MSA_Page_Fault_t mode) { return cache()->page_of(i, mode)[0]; }
  void FreeMem() { cache()->free_memory(); }

  // Has the pages of entries `first` to `last` brought here, where they stay until Unlock(). WaitAll() waits for them,
  // and returns 1, with all unlocked, where there was no room for some.
  void Prefetch(unsigned int first, unsigned int last) {
    cache()->prefetch(first / ENTRIES_PER_PAGE, last / ENTRIES_PER_PAGE);
  }
  int WaitAll() { return cache()->wait_all(); }
  void Unlock() { Unlock(0, entries_); }
  void Unlock(unsigned int first, unsigned int last) {
    cache()->unlock(first / ENTRIES_PER_PAGE, last / ENTRIES_PER_PAGE);
  }

  Write getInitialWrite() { return initial<Write>(this); }
  Accum getInitialAccum() { return initial<Accum>(this); }

 protected:
  template <class ARRAY>
  friend class MSAHandle;

  CacheGroup_t* cache() {
    if (cache_ == nullptr) cache_ = caches_.ckLocalBranch();
    return cache_;
  }
  ENTRY& entry(MSA_Page_Fault_t mode, unsigned int i) { return cache()->page_of(i, mode)[i % ENTRIES_PER_PAGE]; }
  const ENTRY& entry_here(unsigned int i) { return cache()->entry_here(i); }
  template <class HANDLE, class ARRAY>
  HANDLE initial(ARRAY* array) {
    if (std::exchange(initial_given_, true)) throw MSA_InvalidHandle();
    return HANDLE(array);
  }

 private:
  unsigned int entries_ = 0;
  bool initial_given_ = false;
  CProxy_CacheGroup_t caches_;
  CacheGroup_t* cache_ = nullptr;  // this PE's, once it is asked for
};

template <class ENTRY, class ENTRY_OPS_CLASS, unsigned int ENTRIES_PER_PAGE = MSA_DEFAULT_ENTRIES_PER_PAGE,
          MSA_Array_Layout_t ARRAY_LAYOUT = MSA_ROW_MAJOR>
class MSA2D : public MSA1D<ENTRY, ENTRY_OPS_CLASS, ENTRIES_PER_PAGE> {
 public:
  using super = MSA1D<ENTRY, ENTRY_OPS_CLASS, ENTRIES_PER_PAGE>;
  using typename super::CProxy_CacheGroup_t;
  using thisMSA = MSA2D;
  using Handle = MSAHandle<MSA2D>;
  using Read = MSARead<MSA2D>;
  using Write = MSAWrite<MSA2D>;
  using Accum = MSAAccum<MSA2D>;

  MSA2D() = default;
  MSA2D(unsigned int rows, unsigned int columns, unsigned int workers, unsigned int max_bytes = MSA_DEFAULT_MAX_BYTES)
      : super(rows * columns, workers, max_bytes), rows_(rows), columns_(columns) {}
  MSA2D(unsigned int rows, unsigned int columns, CProxy_CacheGroup_t caches)
      : super(caches), rows_(rows), columns_(columns) {}
  void pup(PUP::er& p) {
    super::pup(p);
    p | rows_;
    p | columns_;
  }

  unsigned int getIndex(unsigned int row, unsigned int column) const {
    if (row >= rows_ || column >= columns_)
      CkAbort("MSA: entry (%u, %u) of an array of %u x %u", row, column, rows_, columns_);
    return ARRAY_LAYOUT == MSA_ROW_MAJOR ? row * columns_ + column : column * rows_ + row;
  }
  unsigned int getPageIndex(unsigned int row, unsigned int column) const {
    return getIndex(row, column) / ENTRIES_PER_PAGE;
  }
  unsigned int getOffsetWithinPage(unsigned int row, unsigned int column) const {
    return getIndex(row, column) % ENTRIES_PER_PAGE;
  }
  unsigned int getRows() const { return rows_; }
  unsigned int getCols() const { return columns_; }
  unsigned int getColumns() const { return columns_; }
  MSA_Array_Layout_t getArrayLayout() const { return ARRAY_LAYOUT; }

  // Rows, or columns where those lie together.
  void Prefetch(unsigned int one, unsigned int other) { super::Prefetch(first_of(one, other), last_of(one, other)); }
  void UnlockPages(unsigned int one, unsigned int other) { super::Unlock(first_of(one, other), last_of(one, other)); }

  Write getInitialWrite() { return super::template initial<Write>(this); }
  Accum getInitialAccum() { return super::template initial<Accum>(this); }

 protected:
  template <class ARRAY>
  friend class MSAHandle;

  using super::entry;
  using super::entry_here;
  ENTRY& entry(MSA_Page_Fault_t mode, unsigned int row, unsigned int column) {
    return entry(mode, getIndex(row, column));
  }
  const ENTRY& entry_here(unsigned int row, unsigned int column) { return entry_here(getIndex(row, column)); }

 private:
  unsigned int first_of(unsigned int one, unsigned int other) const {
    return ARRAY_LAYOUT == MSA_ROW_MAJOR ? getIndex(std::min(one, other), 0) : getIndex(0, std::min(one, other));
  }
  unsigned int last_of(unsigned int one, unsigned int other) const {
    return ARRAY_LAYOUT == MSA_ROW_MAJOR ? getIndex(std::max(one, other), columns_ - 1)
                                         : getIndex(rows_ - 1, std::max(one, other));
  }
  unsigned int rows_ = 0, columns_ = 0;
};

template <class ENTRY, class ENTRY_OPS_CLASS, unsigned int ENTRIES_PER_PAGE>
class MSA3D : public MSA1D<ENTRY, ENTRY_OPS_CLASS, ENTRIES_PER_PAGE> {
 public:
  using super = MSA1D<ENTRY, ENTRY_OPS_CLASS, ENTRIES_PER_PAGE>;
  using thisMSA = MSA3D;
  using Handle = MSAHandle<MSA3D>;
  using Read = MSARead<MSA3D>;
  using Write = MSAWrite<MSA3D>;
  using Accum = MSAAccum<MSA3D>;

  MSA3D() = default;
  // Indices from 0.
  MSA3D(unsigned int x, unsigned int y, unsigned int z, unsigned int workers,
        unsigned int max_bytes = MSA_DEFAULT_MAX_BYTES)
      : super(x * y * z, workers, max_bytes), from_{0, 0, 0}, size_{x, y, z} {}
  // Indices from xa to xb, both inclusive, and so on.
  MSA3D(int xa, int xb, int ya, int yb, int za, int zb, unsigned int workers,
        unsigned int max_bytes = MSA_DEFAULT_MAX_BYTES)
      : MSA3D(count(xa, xb), count(ya, yb), count(za, zb), workers, max_bytes) {
    from_[0] = xa;
    from_[1] = ya;
    from_[2] = za;
  }
  void pup(PUP::er& p) {
    super::pup(p);
    PUParray(p, from_, 3);
    PUParray(p, size_, 3);
  }
  void enroll() { super::cache()->sync(false); }
  using super::enroll;

  unsigned int index(int x, int y, int z) const {
    const unsigned int at[3] = {static_cast<unsigned int>(x - from_[0]), static_cast<unsigned int>(y - from_[1]),
                                static_cast<unsigned int>(z - from_[2])};
    if (at[0] >= size_[0] || at[1] >= size_[1] || at[2] >= size_[2])
      CkAbort("MSA: entry (%d, %d, %d) of an array of %u x %u x %u from (%d, %d, %d)", x, y, z, size_[0], size_[1],
              size_[2], from_[0], from_[1], from_[2]);
    return (at[0] * size_[1] + at[1]) * size_[2] + at[2];
  }

  Write getInitialWrite() { return super::template initial<Write>(this); }
  Accum getInitialAccum() { return super::template initial<Accum>(this); }

 protected:
  template <class ARRAY>
  friend class MSAHandle;

  using super::entry;
  using super::entry_here;
  ENTRY& entry(MSA_Page_Fault_t mode, int x, int y, int z) { return entry(mode, index(x, y, z)); }
  const ENTRY& entry_here(int x, int y, int z) { return entry_here(index(x, y, z)); }

 private:
  static unsigned int count(int first, int last) { return static_cast<unsigned int>(last - first + 1); }
  int from_[3] = {0, 0, 0};
  unsigned int size_[3] = {0, 0, 0};
};

}  // namespace MSA
