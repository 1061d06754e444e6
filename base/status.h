// An operating failure as a value: no device, a limit, a peer that left. It goes up to a caller that can decide.
// (A mistake of the program is not a Status: see fatal.h.) C++17.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace periapt {

class [[nodiscard]] Status {
 public:
  Status() = default;

  /// `message` is a sentence for the person who reads it: what went wrong, and what to do.
  static Status failure(std::string message) {
    Status status;
    status.failed_ = true;
    status.message_ = std::move(message);
    return status;
  }

  bool ok() const { return !failed_; }
  explicit operator bool() const { return ok(); }
  const std::string& message() const { return message_; }

 private:
  bool failed_ = false;
  std::string message_;
};

/// A value, or the reason why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) {}

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Status& status() const { return status_; }
  const std::string& message() const { return status_.message(); }

  T& value() { return *value_; }
  const T& value() const { return *value_; }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace periapt
