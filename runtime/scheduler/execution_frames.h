// What runs on a PE, the innermost last, for observers that measure it. Entries nest (an [inline] call), and a threaded
// entry may stop in the middle: its frames are put aside with its thread, and come back when that goes on.
#pragma once
#include <algorithm>
#include <vector>

#include "runtime/scheduler/pe.h"

namespace periapt {

// Of the Owner, before_change() and after_change() are called: the innermost frame is about to be another one, and is.
template <class Record, class Owner>
class ExecutionFrames {
 public:
  ExecutionFrames(Pe& pe, Owner& owner) : pe_(pe), owner_(owner) {}
  ExecutionFrames(const ExecutionFrames&) = delete;
  ExecutionFrames& operator=(const ExecutionFrames&) = delete;

  bool empty() const { return frames_.empty(); }
  std::size_t size() const { return frames_.size(); }
  Record& innermost() { return frames_.back().record; }
  const Record& innermost() const { return frames_.back().record; }

  void push(Record record) {
    owner_.before_change();
    Thread* thread = pe_.threads.current();
    frames_.push_back({std::move(record), thread});
    if (thread) listen_to(thread);
    owner_.after_change();
  }
  // What runs goes on as another.
  void replace(Record record) {
    owner_.before_change();
    frames_.back().record = std::move(record);
    owner_.after_change();
  }
  // False: what ends began before anything was recorded, so that it has no frame.
  bool pop() {
    if (frames_.empty() || frames_.back().thread != pe_.threads.current()) return false;
    owner_.before_change();
    frames_.pop_back();
    owner_.after_change();
    return true;
  }
  // Those of threads that wait too.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (Frame& frame : frames_) visit(frame.record);
    for (Stopped* stopped : stopped_)
      for (Frame& frame : stopped->frames) visit(frame.record);
  }
  void clear() {
    frames_.clear();
    for (Stopped* stopped : stopped_) stopped->frames.clear();
  }

 private:
  struct Frame {
    Record record;
    Thread* thread;
  };
  // Listens to one thread from its first frame to its end.
  struct Stopped {
    scheduler::ThreadListener listener{};
    ExecutionFrames* all;
    std::vector<Frame> frames;

    Stopped(ExecutionFrames& a, Thread* thread) : all(&a) {
      listener.data = this;
      listener.suspend = [](scheduler::ThreadListener* l) { static_cast<Stopped*>(l->data)->suspend(); };
      listener.resume = [](scheduler::ThreadListener* l) { static_cast<Stopped*>(l->data)->resume(); };
      listener.free = [](scheduler::ThreadListener* l) { static_cast<Stopped*>(l->data)->free(); };
      thread->system().add_listener(thread, &listener);
    }
    void suspend() {
      auto& now = all->frames_;
      auto first = now.end();
      while (first != now.begin() && (first - 1)->thread == listener.thread) --first;
      if (first == now.end()) return;
      all->owner_.before_change();
      frames.assign(first, now.end());
      now.erase(first, now.end());
      all->owner_.after_change();
    }
    void resume() {
      if (frames.empty()) return;
      all->owner_.before_change();
      all->frames_.insert(all->frames_.end(), frames.begin(), frames.end());
      frames.clear();
      all->owner_.after_change();
    }
    void free() {
      suspend();
      std::erase(all->stopped_, this);
      delete this;
    }
  };

  void listen_to(Thread* thread) {
    const auto known = [thread](Stopped* s) { return s->listener.thread == thread; };
    if (std::none_of(stopped_.begin(), stopped_.end(), known)) stopped_.push_back(new Stopped(*this, thread));
  }

  Pe& pe_;
  Owner& owner_;
  std::vector<Frame> frames_;
  std::vector<Stopped*> stopped_;
};

}  // namespace periapt
