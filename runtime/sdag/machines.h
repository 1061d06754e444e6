// The machines of one PE, for the watchdog: which when waits for what.
#pragma once
#include <mutex>
#include <string>

#include "runtime/objects/pe_objects.h"
#include "runtime/sdag/machine.h"

namespace periapt::sdag {

class Machines : public WaitingBodies {
 public:
  ~Machines() override;
  // A machine is known to the PE that it is made on. Those of node groups may go on another one.
  static void add(Machine& machine);
  static void remove(Machine& machine);
  std::string describe() const override;

 private:
  mutable std::mutex mutex_;
  Machine* first_ = nullptr;
};

}  // namespace periapt::sdag
