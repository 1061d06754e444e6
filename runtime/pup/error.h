// What goes wrong while packing or unpacking, and what hears of it.
//
// PUP never reads past the bytes it was given, and never trusts a length that it read. When something cannot be right
// it makes a PUP::error and hands it to the error handler. The default handler prints what() and aborts the program;
// the runtime installs one that adds the chare and entry method; a test may install one that throws the error.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace PUP {

class er;

/// One failed operation, in words (what()) and in numbers.
class error : public std::runtime_error {
 public:
  enum class kind {
    overrun,          ///< more bytes were asked for than there are
    bad_length,       ///< a container length that cannot fit in the bytes that are left
    bad_value,        ///< bytes that no value of the type packs to
    io,               ///< a file that ended early, or could not be written
    unknown_type,     ///< a PUP::able type that this process does not know
    foreign_machine,  ///< a data representation that cannot be converted
    misuse            ///< the program asked for something that makes no sense
  };
  error(kind k, const std::string& text) : std::runtime_error(text), why(k) {}

  kind why;
  std::size_t needed = 0;  ///< bytes (or elements, for bad_length) that were asked for
  std::size_t offset = 0;  ///< where in the stream, bytes from its beginning
  std::size_t limit = 0;   ///< length of the stream in bytes, when it is known
  std::string type;        ///< innermost C++ type that was being pupped, empty when unknown
};

/// Receives every PUP::error. It should not return (the program is aborted if it does); it may throw, except that an
/// error of a toDisk that was not asked arrives from a destructor.
typedef void (*error_handler)(const error& e);

/// Installs `handler` for the whole process (null: the default one) and returns the one before. Any thread may call it.
error_handler set_error_handler(error_handler handler) noexcept;

/// While one lives, errors on its thread are thrown, whatever the handler is.
class errors_throw {
 public:
  errors_throw() noexcept;
  ~errors_throw();
  errors_throw(const errors_throw&) = delete;
  errors_throw& operator=(const errors_throw&) = delete;
};

namespace detail {
/// Hands `e` to the handler; aborts if that comes back.
[[noreturn]] void raise(const error& e);
[[noreturn]] void raise(error::kind k, const er* p, const std::string& text);
/// Those that fast paths need, kept out of line and cold.
[[noreturn, gnu::cold, gnu::noinline]] void raise_overrun(const er& p, std::size_t n, std::size_t item_bytes);
[[noreturn, gnu::cold, gnu::noinline]] void raise_length(const er& p, std::size_t n, std::size_t min_each);
[[noreturn, gnu::cold, gnu::noinline]] void raise_const(const er& p, const char* signature);
[[noreturn, gnu::cold, gnu::noinline]] void raise_depth(const er& p);
[[noreturn, gnu::cold, gnu::noinline]] void raise_purpose();
}  // namespace detail
}  // namespace PUP
