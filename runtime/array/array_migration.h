// How an element, with the elements of other arrays that are bound to it, goes to another PE: pup() packs them into one
// message, they are destroyed here, and made again over there. Where they have gone is Location's to know, what they
// may miss on the way ArrayBroadcasts'.
#pragma once
#include <cstdint>

#include "runtime/array/array_manager.h"

namespace periapt {

// Sends an element that is here to PE `to`; it is gone when this returns. It stays where it is if it is there already,
// and for now if it is not settled yet, buffers of its calls are being filled or threads of its entries run: it goes
// then.
// `follows`: not 0: it goes after what it is bound to, to the PE of so many in a row.
void migrate(ArrayManager& array, ArrayElement* element, int to, std::uint32_t follows = 0);

// Whether threads of its entries, or of those of elements bound to it, have begun and not ended.
bool has_threads(ArrayManager& array, std::uint64_t id);

void register_migration_entries();

}  // namespace periapt
