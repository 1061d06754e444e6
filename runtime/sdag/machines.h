// The machines of one PE, for the watchdog: which when waits for what.
#pragma once
#include <mutex>
#include <string>

#include "runtime/objects/pe_objects.h"
#include "runtime/objects/serial_block.h"
#include "runtime/sdag/machine.h"

namespace periapt::sdag {

class Machines : public WaitingBodies {
 public:
  ~Machines() override;
  // A machine is known to the PE that it is made on. Those of node groups may go on another one.
  static void add(Machine& machine);
  static void remove(Machine& machine);
  std::string describe() const override;
  // The block that began last of the entry that runs; null: none.
  static const SerialBlock* running(const Pe& pe);

  // A serial block runs on this PE, maybe within another. After a thread of an entry was suspended in one, the name of
  // that of another thread may be forgotten: it is only for messages.
  class Serial {
   public:
    Serial(Pe& pe, const SerialBlock& block) : pe_(pe), now_(of(pe).now_), outer_(now_), block_(block) {
      now_ = {pe.running, &block};
      if (SerialBlocks::observer) [[unlikely]]
        SerialBlocks::observer->on_serial(pe_, block_, true);
    }
    ~Serial() {
      if (SerialBlocks::observer) [[unlikely]]
        SerialBlocks::observer->on_serial(pe_, block_, false);
      now_ = outer_;
    }
    Serial(const Serial&) = delete;

   private:
    friend class Machines;
    struct Now {
      const Delivery* call = nullptr;  // in which it runs
      const SerialBlock* block = nullptr;
    };
    Pe& pe_;
    Now& now_;
    const Now outer_;
    const SerialBlock& block_;
  };

 private:
  static Machines& of(Pe& pe) {
    if (!pe.objects->waiting_bodies) [[unlikely]]
      make(pe);
    return static_cast<Machines&>(*pe.objects->waiting_bodies);
  }
  static void make(Pe& pe);
  Serial::Now now_;

  mutable std::mutex mutex_;
  Machine* first_ = nullptr;
};

}  // namespace periapt::sdag
