// Calls of [inline] and [local] entries on the own PE: a proxy calls the method in place, without a message, and what
// records the run hears of it. C++17: the proxies of such entries include it.
#pragma once

namespace periapt {

class Pe;
struct Delivery;

// Hears on the PE that makes such a call when it begins and when it ends. Calls nest, and the thread of an entry may
// stop within one.
class DirectCallObserver {
 public:
  virtual ~DirectCallObserver() = default;
  virtual void on_direct_call(Pe& pe, const Delivery& call, bool begins) = 0;
};

struct DirectCalls {
  // Of the process: set before the first PE runs. Null: none.
  static inline DirectCallObserver* observer = nullptr;
};

// One such call, from its begin to its end. `array` is the index() of the object's array, if it is an element.
class DirectCall {
 public:
  DirectCall(int entry, void* object, int array = 0) {
    if (DirectCalls::observer) begin(entry, object, array);
  }
  DirectCall(const DirectCall&) = delete;
  DirectCall& operator=(const DirectCall&) = delete;
  ~DirectCall() {
    if (call_) end();
  }

 private:
  void begin(int entry, void* object, int array);
  void end();

  Delivery* call_ = nullptr;  // null: nothing hears of it
};

// What is registered for [local] entries: no message calls them, so this ends the run.
[[noreturn]] void called_by_message(Delivery& call, void* object);

}  // namespace periapt
