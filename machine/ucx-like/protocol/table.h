// The engine's protocols, a file each. What a peer's engine does with their messages is in the same files.
#pragma once

#include "machine/ucx-like/protocol/protocol.h"

namespace periapt::ucx {

extern const Protocol kEagerCopied, kEagerLent, kHandedOverWhole;  // eager.cpp
extern const Protocol kActive;                                     // active.cpp
extern const Protocol kRendezvous;                                 // rendezvous.cpp: announces, for those below
extern const Protocol kRendezvousGet;                              // rendezvous_get.cpp
extern const Protocol kRendezvousPut;                              // rendezvous_put.cpp
extern const Protocol kRendezvousData;                             // rendezvous_data.cpp
extern const Protocol kMappedFetch, kMappedRma;                    // mapped.cpp
extern const Protocol kDirect;                                     // direct.cpp
extern const Protocol kStagedEager, kStagedData;                   // staged.cpp
extern const Protocol kStagedPut, kStagedGet, kStagedRma;          // staged.cpp: what devices move to and from pieces
extern const Protocol kRmaDevice;                                  // rma_device.cpp
extern const Protocol kRmaMessages;                                // rma_messages.cpp
extern const Protocol kFlush;                                      // flush.cpp
extern const Protocol kConnection;                                 // connection.cpp

}  // namespace periapt::ucx
