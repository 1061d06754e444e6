// See announce.h.
#include "runtime/objects/announce.h"

#include "runtime/scheduler/pe.h"
#include "runtime/scheduler/process.h"

namespace periapt {

void announce(Pe& pe, const Message& news) {
  const int pes = pe.process.pes();
  if (pe.process.layout().host_count() > 1) return pe.broadcast(news);
  for (int to = 0; to < pes; ++to)
    if (to != pe.index) pe.send(to, news.share());
}

}  // namespace periapt
