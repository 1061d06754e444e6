// conv::msgQ: messages by priority of any ordered type, smaller first; at the front or the back of those of the same
// priority. C++17: reached from msgq.h.
#pragma once
#include <cstddef>
#include <deque>
#include <limits>
#include <map>
#include <ostream>

namespace conv {

typedef void msg_t;

template <class P = int>
class msgQ {
 public:
  typedef P prio_t;

  void enq(const msg_t* message, const prio_t& priority = prio_t(), bool is_fifo = true) {
    auto& bucket = buckets_[priority];
    if (is_fifo)
      bucket.push_back(message);
    else
      bucket.push_front(message);
    ++size_;
  }
  // The next one; null when there is none.
  const msg_t* deq() {
    if (empty()) return nullptr;
    auto first = buckets_.begin();
    const msg_t* message = first->second.front();
    first->second.pop_front();
    if (first->second.empty()) buckets_.erase(first);
    --size_;
    return message;
  }
  std::size_t size() const { return size_; }
  std::size_t max_size() const { return std::numeric_limits<std::size_t>::max(); }
  bool empty() const { return size_ == 0; }
  // As many as there are, or fit between first and last.
  void enumerate(msg_t** first, msg_t** last) const {
    for (const auto& bucket : buckets_)
      for (const msg_t* message : bucket.second) {
        if (first == last) return;
        *first++ = const_cast<msg_t*>(message);
      }
  }
  friend std::ostream& operator<<(std::ostream& out, const msgQ& q) { return out << "\nmsgQ[" << q.size_ << "]:\n"; }

 private:
  std::map<prio_t, std::deque<const msg_t*>> buckets_;
  std::size_t size_ = 0;
};

}  // namespace conv
