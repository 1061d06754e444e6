#include "base/fatal.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace periapt {
namespace {
std::atomic<FatalHandler> installed_handler{nullptr};
}

void set_fatal_handler(FatalHandler handler) { installed_handler.store(handler, std::memory_order_release); }

void fatal(std::string_view sentence) {
  if (FatalHandler handler = installed_handler.load(std::memory_order_acquire)) handler(sentence);
  std::fprintf(stderr, "Periapt: %.*s\n", static_cast<int>(sentence.size()), sentence.data());
  std::fflush(stderr);
  std::abort();
}

}  // namespace periapt
