// The calls of programs. See ckio.h.
#include "holder.h"
#include "manager.h"

namespace Ck::IO {

namespace impl {
/*readonly*/ CProxy_Manager managers;
/*readonly*/ CProxy_Holder writers;

namespace {
// Of a program that links the module and has no `extern module CkIO`, the mainchares are made before the Director: they
// may open files in their constructors.
const CProxy_Manager& made_managers() {
  if (managers.ckGetGroupID().isZero()) {
    managers = CProxy_Manager::ckNew();
    writers = CProxy_Holder::ckNew();
    writers.doneInserting();
  }
  return managers;
}
Plan plan_of(File file, std::size_t bytes, std::size_t offset, const CkCallback& ready) {
  Plan plan;
  plan.file = file.number();
  plan.bytes = bytes;
  plan.offset = offset;
  plan.ready = ready;
  return plan;
}
}  // namespace

Director::Director(CkArgMsg* m) {
  delete m;
  made_managers();
}
}  // namespace impl

using impl::managers;

void open(std::string name, CkCallback opened, Options options) {
  impl::made_managers()[0].open(name, opened, options);
}
void close(File file, CkCallback closed) { managers[0].close(file.number(), closed); }

void startSession(File file, std::size_t bytes, std::size_t offset, CkCallback ready, CkCallback complete) {
  startSession(file, bytes, offset, ready, nullptr, 0, 0, complete);
}
void startSession(File file, std::size_t bytes, std::size_t offset, CkCallback ready, const char* commitData,
                  std::size_t commitBytes, std::size_t commitOffset, CkCallback complete) {
  impl::Plan plan = impl::plan_of(file, bytes, offset, ready);
  plan.writes = true;
  plan.complete = complete;
  if (commitBytes > 0) plan.commit.assign(commitData, commitData + commitBytes);
  plan.commit_offset = commitOffset;
  managers[0].begin(plan);
}
void startReadSession(File file, std::size_t bytes, std::size_t offset, CkCallback ready) {
  startReadSession(file, bytes, offset, ready, {});
}
void startReadSession(File file, std::size_t bytes, std::size_t offset, CkCallback ready, std::vector<int> pes) {
  for (int pe : pes)
    if (pe < 0 || pe >= CkNumPes())
      CkAbort("CkIO: startReadSession() is to put a part on PE %d: PEs are numbered 0 to %d", pe, CkNumPes() - 1);
  impl::Plan plan = impl::plan_of(file, bytes, offset, ready);
  plan.pes = std::move(pes);
  managers[0].begin(plan);
}
void write(Session session, const char* data, std::size_t bytes, std::size_t offset) {
  managers.ckLocalBranch()->write(session.number(), data, bytes, offset);
}
void read(Session session, std::size_t bytes, std::size_t offset, char* data, CkCallback after_read) {
  managers.ckLocalBranch()->read(session.number(), bytes, offset, data, after_read);
}
void closeReadSession(Session session, CkCallback after_end) { managers[0].end(session.number(), after_end); }

}  // namespace Ck::IO

#include "CkIO.def.h"
