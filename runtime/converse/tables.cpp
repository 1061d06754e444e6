// Messages by tags, and queues: lists in the order of arrival.
#include "runtime/converse/tables.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <list>
#include <vector>

#include "runtime/converse/cmi.h"

namespace {
bool match(int a, int b) { return a == b || a == CmmWildCard || b == CmmWildCard; }
}  // namespace

struct CmmTableStruct {
  struct Stored {
    std::vector<int> tags;
    void* message;
  };
  std::list<Stored> stored;
  // The first whose first `count` tags match, of those with `exactly` so many.
  std::list<Stored>::iterator find(int count, const int* tags, bool exactly) {
    return std::find_if(stored.begin(), stored.end(), [&](const Stored& s) {
      const int stored_tags = static_cast<int>(s.tags.size());
      return (exactly ? stored_tags == count : stored_tags >= count) &&
             std::equal(tags, tags + count, s.tags.begin(), match);
    });
  }
};
struct CdsFifoStruct {
  std::deque<void*> items;
};

extern "C" {

CmmTable CmmNew() { return new CmmTableStruct; }
void CmmFree(CmmTable t) {
  if (!t) return;
  for (const CmmTableStruct::Stored& s : t->stored) CmiFree(s.message);
  delete t;
}
void CmmFreeAll(CmmTable t) {
  if (t) t->stored.clear();
}
void CmmPut(CmmTable t, int count, int* tags, void* message) {
  t->stored.push_back({std::vector<int>(tags, tags + count), message});
}
void* CmmFind(CmmTable t, int count, int* tags, int* found_tags, int remove) {
  if (!t) return nullptr;
  const auto found = t->find(count, tags, true);
  if (found == t->stored.end()) return nullptr;
  if (found_tags) std::copy(found->tags.begin(), found->tags.end(), found_tags);
  void* const message = found->message;
  if (remove) t->stored.erase(found);
  return message;
}
int CmmEntries(CmmTable t) { return static_cast<int>(t->stored.size()); }
int CmmGetLastTag(CmmTable t, int count, int* tags) {
  const auto found = t->find(count, tags, false);
  return found == t->stored.end() || found->tags.empty() ? -1 : found->tags.back();
}
CmmTable CmmPup(pup_er p, CmmTable t, CmmPupMessageFn pup_message) {
  if (pup_isUnpacking(p)) t = CmmNew();
  int entries = CmmEntries(t);
  pup_int(p, &entries);
  if (pup_isUnpacking(p)) t->stored.resize(static_cast<std::size_t>(entries));
  for (CmmTableStruct::Stored& s : t->stored) {
    int count = static_cast<int>(s.tags.size());
    pup_int(p, &count);
    s.tags.resize(static_cast<std::size_t>(count));
    pup_ints(p, s.tags.data(), s.tags.size());
    pup_message(p, &s.message);
  }
  if (!pup_isDeleting(p)) return t;
  delete t;
  return nullptr;
}

CdsFifo CdsFifo_Create() { return new CdsFifoStruct; }
CdsFifo CdsFifo_Create_len(int) { return CdsFifo_Create(); }
void CdsFifo_Destroy(CdsFifo q) { delete q; }
void CdsFifo_Enqueue(CdsFifo q, void* item) { q->items.push_back(item); }
void CdsFifo_Push(CdsFifo q, void* item) { q->items.push_front(item); }
void* CdsFifo_Dequeue(CdsFifo q) {
  if (q->items.empty()) return nullptr;
  void* const item = q->items.front();
  q->items.pop_front();
  return item;
}
void* CdsFifo_Pop(CdsFifo q) { return CdsFifo_Dequeue(q); }
void* CdsFifo_Peek(CdsFifo q) { return q->items.empty() ? nullptr : q->items.front(); }
int CdsFifo_Empty(CdsFifo q) { return q->items.empty(); }
int CdsFifo_Length(CdsFifo q) { return static_cast<int>(q->items.size()); }
void** CdsFifo_Enumerate(CdsFifo q) {
  void** items = static_cast<void**>(std::malloc(std::max<std::size_t>(q->items.size(), 1) * sizeof(void*)));
  _MEMCHECK(items);
  std::copy(q->items.begin(), q->items.end(), items);
  return items;
}
}
