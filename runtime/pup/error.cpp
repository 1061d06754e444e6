// Errors of PUP in words.
#include "runtime/pup/error.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/pup/able.h"
#include "runtime/pup/er.h"
#include "runtime/pup/failing.h"

namespace PUP {
namespace {

void print_and_abort(const error& e) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", e.what());
  std::fflush(stderr);
  std::abort();
}

std::atomic<error_handler> the_handler{print_and_abort};
thread_local int throwing = 0;  // how many errors_throw live here
thread_local const er* failing_er = nullptr;

/// "const char* PUP::detail::signature() [with T = Foo<int>]" -> "Foo<int>"
std::string type_name(const char* signature) {
  const char* begin = std::strstr(signature, "T = ");
  const char* end = std::strrchr(signature, ']');
  return begin && end ? std::string(begin + 4, end) : std::string(signature);
}

std::string innermost_type(const er* p) {
  return p && p->innermost() ? type_name(p->innermost()->signature()) : std::string();
}

/// ", while unpacking double in std::vector<double> in Foo": what was being done, from inside out.
std::string whereabouts(const er& p) {
  const detail::scope* s = p.innermost();
  if (!s) return "";
  std::string text = std::string(", while ") + p.typeString() + " " + type_name(s->signature());
  int shown = 1;
  for (s = s->outer; s; s = s->outer) {
    if (++shown > 8) return text.append(" in ... (").append(std::to_string(s->depth)).append(" more)");
    text.append(" in ").append(type_name(s->signature()));
  }
  return text;
}

std::string position(const er& p) {
  std::string text(" at offset ");
  text.append(std::to_string(p.offset()));
  if (p.limit() != unbounded) text.append(" of ").append(std::to_string(p.limit()));
  return text;
}

[[noreturn]] void finish(error e, const er* p) {
  if (p) {
    e.offset = p->offset();
    e.limit = p->limit();
    e.type = innermost_type(p);
  }
  failing_er = p;
  detail::raise(e);
}

const char* const mismatch_hint =
    " Either the bytes were cut short or damaged, or pup() visits other members when it packs than when it unpacks: "
    "the "
    "same ones in the same order, and lengths before what they count.";

}  // namespace

error_handler set_error_handler(error_handler handler) noexcept {
  return the_handler.exchange(handler ? handler : print_and_abort);
}

errors_throw::errors_throw() noexcept { ++throwing; }
errors_throw::~errors_throw() { --throwing; }

namespace detail {

const er* failing() { return failing_er; }

void raise(const error& e) {
  if (throwing > 0) throw e;
  the_handler.load()(e);
  std::abort();
}

void raise(error::kind k, const er* p, const std::string& text) {
  finish(error(k, p ? text + position(*p) + whereabouts(*p) + "." : text), p);
}

void raise_overrun(const er& p, std::size_t n, std::size_t item_bytes) {
  const bool fits = !item_bytes || n <= SIZE_MAX / item_bytes;
  std::string what = fits ? std::to_string(n * item_bytes) + " bytes"
                          : std::to_string(n) + " items of " + std::to_string(item_bytes) + " bytes";
  error e(error::kind::overrun, std::string("PUP: ") + p.typeString() + " needed " + what + position(p) +
                                    whereabouts(p) + "." +
                                    (p.isPacking() ? " The object was sized differently than it is packed: pup() must "
                                                     "visit the same members when p.isSizing() and p.isPacking()."
                                                   : mismatch_hint));
  e.needed = fits ? n * item_bytes : SIZE_MAX;
  finish(e, &p);
}

void raise_length(const er& p, std::size_t n, std::size_t min_each) {
  std::string text = std::string("PUP: a container of ") + std::to_string(n) + " elements";
  if (min_each) text += std::string(" of at least ") + std::to_string(min_each) + " bytes";
  text += std::string(" cannot be in the ") + std::to_string(p.remaining()) + " bytes left" + position(p) +
          whereabouts(p) + ".";
  error e(error::kind::bad_length, text + mismatch_hint);
  e.needed = n;
  finish(e, &p);
}

void raise_const(const er& p, const char* signature) {
  raise(error::kind::misuse, &p,
        std::string("PUP: cannot unpack into a constant object of type ") + type_name(signature));
}

void raise_depth(const er& p) {
  raise(error::kind::bad_value, &p,
        std::string("PUP: objects are nested more than ") + std::to_string(depth_max) +
            " deep; pup a long list in a loop, not by recursion");
}

void raise_purpose() {
  raise(error::kind::misuse, nullptr,
        "PUP: the purpose of a stream is IS_USERLEVEL, IS_MIGRATION and the like, not a direction");
}

void raise_size_mismatch(const er& p, std::size_t expected, const char* signature) {
  error e(error::kind::misuse,
          std::string("PUP: ") + p.typeString() + " an object of type " + type_name(signature) + std::string(" took ") +
              std::to_string(p.size()) + " bytes, not the " + std::to_string(expected) +
              " of the buffer. pup() must visit the same members when sizing, packing and unpacking.");
  e.needed = p.size();
  finish(e, &p);
}

void raise_wrong_class(er& p, const able* got, const char* wanted_signature) {
  delete got;
  raise(error::kind::bad_value, &p,
        std::string("PUP: the PUP::able object that was unpacked is not a ") + type_name(wanted_signature));
}

}  // namespace detail
}  // namespace PUP
