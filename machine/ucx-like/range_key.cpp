#include "machine/ucx-like/range_key.h"

#include <sys/resource.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "machine/ucx-like/transport_base.h"

namespace periapt::ucx {
namespace {

struct Packed {
  std::uint64_t check = 0;
  RangeKey key;
};
static_assert(sizeof(Packed) == 32);

std::uint64_t check_of(const RangeKey& key) {
  std::uint64_t sum = 0x3179'656b;  // "key1"
  for (std::uint64_t word : {key.address, key.size, key.key})
    sum = (std::rotl(sum, 23) ^ word) * 0x9e37'79b9'7f4a'7c15u;
  return sum;
}

}  // namespace

std::vector<std::byte> pack(const RangeKey& key) { return packed(Packed{check_of(key), key}); }

Result<RemoteKey> unpack_range_key(const std::string& transport, std::span<const std::byte> bytes) {
  Packed found;
  const std::string of = "a memory key of the " + transport + " transport";
  if (!unpack(bytes, &found)) return Status::failure(of + " has another length");
  if (found.check != check_of(found.key))
    return Status::failure("that is not " + of + ", or it was damaged on its way");
  return RemoteKey{found.key.key, new RangeKey(found.key)};
}

void release(RemoteKey& key) { delete static_cast<RangeKey*>(std::exchange(key.detail, nullptr)); }

std::string registration_fault(std::uint64_t bytes, int error) {
  std::string what = std::to_string(bytes) + " bytes of memory can't be registered: " + std::strerror(error);
  rlimit limit{};
  if ((error != ENOMEM && error != EPERM && error != EAGAIN) || ::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return what;
  if (limit.rlim_cur == RLIM_INFINITY) return what;
  return what + "; the limit of locked memory of this process is " + std::to_string(limit.rlim_cur) +
         " bytes, and is lifted by: ulimit -l unlimited (for all users: \"* - memlock unlimited\" in "
         "/etc/security/limits.conf)";
}

}  // namespace periapt::ucx
