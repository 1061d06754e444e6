// A doubly linked list through the objects themselves: no allocation, and an object takes itself out. An object can be
// in several lists, one for each Hook<Tag> that it derives from.
#pragma once

namespace periapt::ucx {

template <class Tag>
struct Hook {
  Hook() = default;
  ~Hook() { unlink(); }
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;
  bool linked() const { return next_hook != nullptr; }
  void unlink() {
    if (next_hook == nullptr) return;
    previous_hook->next_hook = next_hook;
    next_hook->previous_hook = previous_hook;
    next_hook = previous_hook = nullptr;
  }
  Hook* next_hook = nullptr;
  Hook* previous_hook = nullptr;
};

template <class T, class Tag>
class List {
 public:
  List() { head_.next_hook = head_.previous_hook = &head_; }
  List(const List&) = delete;
  List& operator=(const List&) = delete;

  bool empty() const { return head_.next_hook == &head_; }
  /// nullptr: empty.
  T* front() { return empty() ? nullptr : object(head_.next_hook); }
  /// The one behind; nullptr: it was the last.
  T* after(T* item) {
    Hook<Tag>* next = static_cast<Hook<Tag>*>(item)->next_hook;
    return next == &head_ ? nullptr : object(next);
  }
  /// Looks at all of them.
  bool holds(const T& item) {
    T* one = front();
    while (one != nullptr && one != &item) one = after(one);
    return one != nullptr;
  }
  void push_back(T* item) { insert(item, head_.previous_hook, &head_); }
  void push_front(T* item) { insert(item, &head_, head_.next_hook); }
  /// nullptr: at the end.
  void insert_before(T* place, T* item) {
    Hook<Tag>* behind = place == nullptr ? &head_ : static_cast<Hook<Tag>*>(place);
    insert(item, behind->previous_hook, behind);
  }
  T* pop_front() {
    T* item = front();
    if (item != nullptr) static_cast<Hook<Tag>*>(item)->unlink();
    return item;
  }

 private:
  static T* object(Hook<Tag>* hook) { return static_cast<T*>(hook); }
  void insert(T* item, Hook<Tag>* previous, Hook<Tag>* next) {
    Hook<Tag>* hook = item;
    hook->previous_hook = previous;
    hook->next_hook = next;
    previous->next_hook = hook;
    next->previous_hook = hook;
  }

  Hook<Tag> head_;
};

}  // namespace periapt::ucx
