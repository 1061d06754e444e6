// From a piece of work to the object that it is for.
#pragma once
#include "runtime/objects/pe_objects.h"

namespace periapt {

// What the scheduler has taken from its queue: held back while the program has not started here.
void deliver(Pe& pe, Work& work);
// The one place that finds out what a call is for. Counts it as processed.
void deliver(PeObjects& objects, Delivery& call);

}  // namespace periapt
