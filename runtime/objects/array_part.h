// What the floors below the arrays ask the part of an array on this PE for. ArrayManager (runtime/array) is one.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/api/array_index.h"
#include "runtime/message/message.h"

namespace periapt {

class Reduction;

// A receiver in words, and the messages that wait for it.
using WaitingVisitor = std::function<void(const std::string& receiver, const std::vector<Message>& messages)>;

class ArrayPart {
 public:
  virtual Reduction& reduction() = 0;
  // An element is to migrate, wherever it is; a message says so, as it may be running.
  virtual void order_migration(std::uint64_t element, int to) = 0;
  // The same when it has a thread that is about to end.
  virtual void order_migration_later(std::uint64_t element, int to) = 0;
  virtual bool has(std::uint64_t element) = 0;
  // A message for an element goes on as one that carries the element's index, if that is too large to be an id.
  virtual void put_index(Message& message) const = 0;
  virtual void for_each_waiting(const WaitingVisitor& visit) const = 0;
  // The element in words whose object this is; empty when none of this PE is.
  virtual std::string describe_holder(const void* object) const = 0;
  // The elements here that a reduction which has begun here waits for, in words; empty when there are none.
  virtual std::string describe_late() const = 0;
  // The index of the element, which is one of this PE, whose object this is, or the base of it that an entry is of;
  // no index where that cannot be told at once.
  virtual CkArrayIndex index_of_holder(const void* object) const = 0;

 protected:
  ~ArrayPart() = default;
};

}  // namespace periapt
