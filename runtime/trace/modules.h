// Tells the trace modules of a program (trace_module.h) what happens on their PE.
#pragma once
#include "runtime/objects/serial_block.h"
#include "runtime/scheduler/execution_frames.h"
#include "runtime/trace/trace_module.h"

namespace periapt::trace {

// What runs: an entry, as a module is told of it when its thread goes on.
struct Called {
  std::uint16_t entry = 0;
  bool traced = true;  // not [notrace]
  int bytes = 0;
  void* object = nullptr;
  bool in_body = false;  // its end is told: blocks of its body follow it
};

class Modules : public Observer {
 public:
  Modules(Pe& pe, TraceArray& all);
  Modules(const Modules&) = delete;
  Modules& operator=(const Modules&) = delete;
  ~Modules() override = default;

  void turn(bool on);
  bool is_on() const { return on_; }
  TraceArray& all() { return all_; }
  // A block of a body, which Charm++ has as an entry of its own that runs in place of the one that called the body.
  void serial(const SerialBlock& block, bool begins);
  // Of an [inline] or [local] entry, called in place: told as a message and an entry, as Charm++ does.
  void direct(const Delivery& call, bool begins);
  // At the end of the run.
  void end();

 private:
  void on_created(Pe&, const Created& created) override;
  void on_begin(Pe&, const Delivery& call) override;
  void on_end(Pe&, const Delivery& call) override;
  friend ExecutionFrames<Called, Modules>;
  void before_change();
  void after_change();
  void push(const Called& called);
  void go_on(const Called& called);

  Pe& pe_;
  TraceArray& all_;
  bool on_ = false;
  bool idle_ = false;
  bool calling_ = false;   // frames change as an entry begins or ends, not with a thread
  bool stopping_ = false;  // the innermost frame before a change is traced
  std::size_t frames_before_ = 0;
  ExecutionFrames<Called, Modules> frames_;
};

// Of the PE that runs; null where the program has none.
Modules* modules_here();
// Has the program make its modules on this PE.
void make_modules(Pe& pe);
// Has modules of the program, if there are any, told of its bodies and of messages that are packed. When all of the
// program is registered. False: there are none.
bool prepare_modules();
// The words of the command line, of which each PE gets a list.
void keep_arguments(char** argv);

}  // namespace periapt::trace
