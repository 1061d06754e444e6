// A transport as a shared object that is loaded at run time (+transport-path). Its source is that of any transport, and
// one line more:
//
//   PERIAPT_TRANSPORT_PLUGIN(yours::factory)
//
// docs/transports.md says how it is built. What passes between program and shared object are C++ objects, so both must
// be built from the same headers by compilers that agree about them; what is written here is compared before anything
// else is touched.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "machine/ucx-like/transport.h"

namespace periapt::ucx {

struct TransportPlugin {
  static constexpr std::uint64_t kMagic = 0x6e69'676c'702d'7070;  // "pp-plgin"
  std::uint64_t magic = kMagic;
  std::uint32_t contract = kContractVersion;
  /// Two builds that disagree about these disagree about more. An iterator is larger where the library checks itself.
  std::array<std::uint32_t, 5> sizes{sizeof(TransportFactory), sizeof(OpenRequest), sizeof(Device), kHeaderBytes,
                                     sizeof(std::vector<int>::iterator)};
  const char* compiler = __VERSION__;  ///< for people
  const TransportFactory* factory = nullptr;
};

/// The symbol that is looked for.
inline constexpr char kPluginSymbol[] = "periapt_transport";

}  // namespace periapt::ucx

/// Once in a shared object, outside of any namespace.
#define PERIAPT_TRANSPORT_PLUGIN(the_factory)                                                                \
  extern "C" __attribute__((visibility("default"))) const ::periapt::ucx::TransportPlugin periapt_transport; \
  const ::periapt::ucx::TransportPlugin periapt_transport{.factory = &(the_factory)};
