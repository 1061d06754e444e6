// A queue of pointers between threads (pcqueue.h). C++17.
//
// Any number of threads may push and pop at once. Null is the answer of an empty queue, and so cannot be in one.
#pragma once
#include <deque>
#include <mutex>

struct PCQueueStruct {
  std::mutex lock;
  std::deque<char*> waiting;
};
typedef PCQueueStruct* PCQueue;

inline PCQueue PCQueueCreate() { return new PCQueueStruct; }
inline void PCQueueDestroy(PCQueue queue) { delete queue; }
inline int PCQueueLength(PCQueue queue) {
  std::lock_guard<std::mutex> guard(queue->lock);
  return static_cast<int>(queue->waiting.size());
}
inline int PCQueueEmpty(PCQueue queue) { return PCQueueLength(queue) == 0; }
inline char* PCQueueTop(PCQueue queue) {
  std::lock_guard<std::mutex> guard(queue->lock);
  return queue->waiting.empty() ? nullptr : queue->waiting.front();
}
inline char* PCQueuePop(PCQueue queue) {
  std::lock_guard<std::mutex> guard(queue->lock);
  if (queue->waiting.empty()) return nullptr;
  char* first = queue->waiting.front();
  queue->waiting.pop_front();
  return first;
}
inline void PCQueuePush(PCQueue queue, char* data) {
  std::lock_guard<std::mutex> guard(queue->lock);
  queue->waiting.push_back(data);
}
