// What charmc -tracemode projections links: libtrace-projections.a.
#include "runtime/trace/part.h"

// Called by what charmc writes.
void _createTraceprojections(char**) { periapt::trace::want_projections(); }
