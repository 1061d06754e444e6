#include "machine/ucx-like/protocol/table.h"

#include "machine/ucx-like/worker_impl.h"

namespace periapt::ucx {

// Of two rows that cost the same, the first is taken.
ProtocolTable ProtocolTable::standard() {
  ProtocolTable table;
  for (const Protocol* row : {&kEagerCopied, &kEagerLent, &kHandedOverWhole, &kStagedEager, &kActive, &kRendezvous,
                              &kMappedFetch, &kDirect, &kRendezvousGet, &kRendezvousPut, &kRendezvousData, &kStagedData,
                              &kMappedRma, &kRmaDevice, &kRmaMessages, &kFlush, &kConnection}) {
    table.add(*row);
  }
  return table;
}

Result<std::unique_ptr<Worker>> Worker::create(Context& context, PeerId self) {
  auto worker =
      std::make_unique<WorkerImpl>(context, self != 0 ? self : context.request().self, ProtocolTable::standard());
  Status opened = worker->open();
  if (!opened.ok()) return opened;
  return std::unique_ptr<Worker>(std::move(worker));
}

}  // namespace periapt::ucx
