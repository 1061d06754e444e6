#include "base/secret.h"

#include <sys/random.h>

#include <cerrno>
#include <cstring>

#include "base/fatal.h"

namespace periapt {

void fill_random(void* bytes, std::size_t size) {
  auto* at = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t got = ::getrandom(at, size, 0);
    if (got < 0 && errno != EINTR) {
      fatal(std::string("the kernel gives no random numbers: ") + std::strerror(errno), "getrandom()",
            "a kernel older than Linux 3.17, or a sandbox that forbids the system call",
            "allow getrandom in the sandbox");
    }
    if (got <= 0) continue;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
}

std::string random_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  fill_random(bytes.data(), size);
  return bytes;
}

bool equal_secrets(const void* a, const void* b, std::size_t size) {
  const auto* left = static_cast<const unsigned char*>(a);
  const auto* right = static_cast<const unsigned char*>(b);
  unsigned difference = 0;
  for (std::size_t i = 0; i < size; ++i) difference |= static_cast<unsigned>(left[i] ^ right[i]);
  return difference == 0;
}

}  // namespace periapt
