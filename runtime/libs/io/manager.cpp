// See manager.h.
#include "manager.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "holder.h"

namespace Ck::IO::impl {

namespace {
constexpr std::size_t usual_stripe = std::size_t{4} << 20;

[[noreturn]] void cannot(const char* what, const std::string& name) {
  CkAbort("CkIO: the file %s cannot be %s: %s", name.c_str(), what, std::strerror(errno));
}

void write_all(int descriptor, const char* data, std::size_t bytes, std::size_t offset, const std::string& name) {
  while (bytes > 0) {
    const ssize_t done = ::pwrite(descriptor, data, bytes, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) cannot("written", name);
    data += done;
    bytes -= static_cast<std::size_t>(done);
    offset += static_cast<std::size_t>(done);
  }
}
// A device or a pipe has nothing to wait for.
void sync(int descriptor, const std::string& name) {
  if (::fdatasync(descriptor) != 0 && errno != EINVAL && errno != EROFS) cannot("written", name);
}
void read_all(int descriptor, char* data, std::size_t bytes, std::size_t offset, const std::string& name) {
  while (bytes > 0) {
    const ssize_t done = ::pread(descriptor, data, bytes, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) cannot("read", name);
    if (done == 0) CkAbort("CkIO: the file %s became shorter while it was read", name.c_str());
    data += done;
    bytes -= static_cast<std::size_t>(done);
    offset += static_cast<std::size_t>(done);
  }
}
}  // namespace

std::string range(std::size_t offset, std::size_t bytes) {
  return std::to_string(bytes) + " bytes from byte " + std::to_string(offset);
}

void Plan::pup(PUP::er& p) {
  p | number;
  p | file;
  p | writes;
  p | offset;
  p | bytes;
  p | stripe;
  p | holders;
  p | first;
  p | skip;
  p | pes;
  p | ready;
  p | complete;
  p | commit;
  p | commit_offset;
}

int Plan::pe_of(int holder) const {
  const auto number = static_cast<std::size_t>(holder);
  if (!pes.empty()) return pes[number % pes.size()] % CkNumPes();  // one that a checkpoint has brought may name more
  return static_cast<int>((static_cast<std::size_t>(first) + number * static_cast<std::size_t>(skip)) %
                          static_cast<std::size_t>(CkNumPes()));
}

void Manager::pup(PUP::er& p) {
  p | files_made_;
  p | sessions_made_;
  p | reads_made_;
  p | files_;
  p | sessions_;
  p | first_;
  p | unwritten_;
  if (p.isPacking()) sync_what_is_written();
  if (!p.isUnpacking()) return;
  for (auto& [_, here] : sessions_)
    if (!here.plan.writes) here.loads_on_demand = (here.missing = held_here(here.plan)) > 0;
  if (CkMyPe() == 0) return;
  first_.clear();  // of PE 0, from which members are made where the PEs are others
  unwritten_.clear();
}
// A run that goes on from the checkpoint does not write it again, also where this host is lost.
void Manager::sync_what_is_written() {
  for (const auto& [_, here] : sessions_) {
    const auto file = files_.find(here.plan.file);
    if (here.plan.writes && file != files_.end() && file->second.descriptor >= 0)
      sync(file->second.descriptor, file->second.name);
  }
}
Manager::~Manager() {
  for (auto& [_, file] : files_)
    if (file.descriptor >= 0) ::close(file.descriptor);
}

// --- what is known here ----------------------------------------------------------------------------------------------

Manager::OpenFile& Manager::file(int number, const char* what) {
  const auto found = files_.find(number);
  if (found == files_.end())
    CkAbort("CkIO: %s of a file that is not open: open() says which it is in its callback, until close()", what);
  return found->second;
}
Manager::Here& Manager::session(int number, const char* what) {
  const auto found = sessions_.find(number);
  if (found == sessions_.end())
    CkAbort(
        "CkIO: %s in a session that is not open: it begins with its callback `ready`, and ends when all has been "
        "written, or with closeReadSession()",
        what);
  return found->second;
}
int Manager::descriptor(int number, bool writes) {
  OpenFile& file = this->file(number, writes ? "writing" : "reading");
  if (file.descriptor >= 0 && (file.writes || !writes)) return file.descriptor;
  if (file.descriptor >= 0) ::close(file.descriptor);
  file.descriptor = ::open(file.name.c_str(), (writes ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC, 0666);
  // Some files may be written and not be read.
  if (file.descriptor < 0 && writes && errno == EACCES)
    file.descriptor = ::open(file.name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file.descriptor < 0) cannot(writes ? "opened for writing" : "opened for reading", file.name);
  file.writes = writes;
  return file.descriptor;
}

// --- on PE 0 ---------------------------------------------------------------------------------------------------------

void Manager::open(std::string name, CkCallback opened, Options options) {
  const int number = files_made_++;
  first_[number] = {options, opened, 0};
  thisProxy.know_file(number, name);
}
void Manager::all_know_file(int number) { first_.at(number).opened.send(new FileReadyMsg(File(number))); }

// Over all processes, unless the program says how.
void Manager::spread(Plan& plan, const Options& options) const {
  const int given = !plan.pes.empty()                        ? static_cast<int>(plan.pes.size())
                    : !plan.writes && options.numReaders > 0 ? static_cast<int>(options.numReaders)
                                                             : options.activePEs;
  plan.holders = std::clamp(given > 0 ? given : CkNumNodes(), 1, plan.pes.empty() ? CkNumPes() : given);
  plan.first = std::max(options.basePE, 0) % CkNumPes();
  plan.skip = options.skipPEs > 0 ? options.skipPEs : std::max(1, CkNumPes() / plan.holders);
  const auto holders = static_cast<std::size_t>(plan.holders);
  if (plan.writes)
    plan.stripe = options.peStripe > 0 ? options.peStripe : usual_stripe;
  else
    plan.stripe = std::max<std::size_t>(1, (plan.bytes + holders - 1) / holders);
}

void Manager::begin(Plan plan) {
  file(plan.file, "a session");
  AtFirst& of = first_.at(plan.file);
  ++of.sessions;
  plan.number = sessions_made_++;
  spread(plan, of.options);
  // What is wrong with the file is said before anything is sent.
  const int opened = descriptor(plan.file, plan.writes);
  struct stat status = {};
  if (!plan.writes && ::fstat(opened, &status) == 0 && S_ISREG(status.st_mode) &&
      static_cast<std::size_t>(status.st_size) < plan.end())
    CkAbort("CkIO: a session is to read %s of the file %s, which has %lld bytes",
            range(plan.offset, plan.bytes).c_str(), files_[plan.file].name.c_str(),
            static_cast<long long>(status.st_size));
  if (plan.writes) unwritten_[plan.number] = plan.used() + 1;
  thisProxy.know_session(plan);
}
void Manager::all_know_session(int number) {
  const Plan plan = session(number, "readiness").plan;
  plan.ready.send(new SessionReadyMsg(Session(plan.number, plan.file, plan.bytes, plan.offset)));
  if (plan.writes) written(number);
}
void Manager::written(int number) {
  if (--unwritten_.at(number) > 0) return;
  unwritten_.erase(number);
  const Plan& plan = session(number, "the end").plan;
  if (!plan.commit.empty()) {
    const int opened = descriptor(plan.file, true);
    write_all(opened, plan.commit.data(), plan.commit.size(), plan.commit_offset, files_[plan.file].name);
    sync(opened, files_[plan.file].name);
  }
  // `complete` comes when all have forgotten it: in a checkpoint that is made then nothing of it is left.
  thisProxy.forget_session(number, plan.complete);
}
void Manager::close(int number, CkCallback closed) {
  const std::string name = file(number, "close()").name;
  if (const int open = first_.at(number).sessions)
    CkAbort(
        "CkIO: close() of the file %s, of which %d session%s open: wait for `complete` first, or call "
        "closeReadSession()",
        name.c_str(), open, open == 1 ? " is" : "s are");
  first_.erase(number);
  thisProxy.forget_file(number, closed);
}

// --- on all PEs ------------------------------------------------------------------------------------------------------

void Manager::know_file(int number, std::string name) {
  files_[number].name = std::move(name);
  contribute(sizeof number, &number, CkReduction::max_int,
             CkCallback(CkReductionTarget(Manager, all_know_file), thisProxy[0]));
}
std::size_t Manager::held_by(const Plan& plan, int holder) {
  std::size_t bytes = 0;
  for (auto i = static_cast<std::size_t>(holder); i < plan.stripes(); i += static_cast<std::size_t>(plan.holders))
    bytes += plan.end_of(i) - plan.begin_of(i);
  return bytes;
}
std::size_t Manager::held_here(const Plan& plan) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < plan.stripes(); ++i)
    if (plan.pe_of(plan.holder_of(i)) == CkMyPe()) bytes += plan.end_of(i) - plan.begin_of(i);
  return bytes;
}
void Manager::know_session(Plan plan) {
  const int number = plan.number;
  Here& here = sessions_[number];
  here.plan = std::move(plan);
  if (here.plan.writes) {
    for (int holder = 0; holder < here.plan.used(); ++holder)
      if (here.plan.pe_of(holder) == CkMyPe()) writers(number, holder).insert(held_by(here.plan, holder), CkMyPe());
  } else {
    here.missing = held_here(here.plan);
    if (here.missing > 0) thisProxy[CkMyPe()].load(number);
  }
  contribute(sizeof number, &number, CkReduction::max_int,
             CkCallback(CkReductionTarget(Manager, all_know_session), thisProxy[0]));
}
void Manager::forget_session(int number, CkCallback ended) {
  Here& here = session(number, "closeReadSession()");
  if (CkMyPe() == 0) --first_.at(here.plan.file).sessions;
  for (int holder = 0; here.plan.writes && holder < here.plan.used(); ++holder)
    if (Holder* const here_too = writers(number, holder).ckLocal()) here_too->ckDestroy();
  sessions_.erase(number);
  contribute(ended);
}
void Manager::forget_file(int number, CkCallback closed) {
  const auto found = files_.find(number);
  if (found->second.descriptor >= 0 && ::close(found->second.descriptor) != 0) cannot("closed", found->second.name);
  files_.erase(found);
  contribute(closed);
}

// --- writing ---------------------------------------------------------------------------------------------------------

void Manager::write(int number, const char* data, std::size_t bytes, std::size_t offset) {
  const Plan& plan = session(number, "write()").plan;
  if (!plan.writes) CkAbort("CkIO: write() in a session that reads: begin one with startSession()");
  if (!plan.covers(offset, bytes))
    CkAbort("CkIO: write() of %s of the file %s, in a session of %s", range(offset, bytes).c_str(),
            files_[plan.file].name.c_str(), range(plan.offset, plan.bytes).c_str());
  plan.for_each_part(offset, bytes, [&](std::size_t stripe, std::size_t at, std::size_t count) {
    const char* part = data + (at - offset);
    // Also what is held here goes by a message: the session may end with it, and the caller be in the middle of its
    // data.
    writers(number, plan.holder_of(stripe)).take(at, count, part);
  });
}

void Manager::put(const Plan& plan, std::size_t at, std::size_t bytes, const char* data) {
  write_all(descriptor(plan.file, true), data, bytes, at, name_of(plan));
}
void Manager::sync_file(const Plan& plan) { sync(descriptor(plan.file, true), name_of(plan)); }

// --- reading ---------------------------------------------------------------------------------------------------------

// A few MiB at a time, so that other entries run between them.
void Manager::load(int number) {
  const auto found = sessions_.find(number);
  if (found == sessions_.end()) return;  // closed meanwhile
  Here& here = found->second;
  const Plan& plan = here.plan;
  std::size_t stripe = 0;
  const auto full = [&](std::size_t i) {
    const auto held = here.stripes.find(i);
    return held != here.stripes.end() && held->second.come == plan.end_of(i) - plan.begin_of(i);
  };
  while (plan.pe_of(plan.holder_of(stripe)) != CkMyPe() || full(stripe)) ++stripe;
  Stripe& held = here.stripes[stripe];
  const std::size_t size = plan.end_of(stripe) - plan.begin_of(stripe);
  held.data.resize(size);
  const std::size_t part = std::min(size - held.come, usual_stripe);
  read_all(descriptor(plan.file, false), held.data.data() + held.come, part, plan.begin_of(stripe) + held.come,
           files_[plan.file].name);
  held.come += part;
  here.missing -= part;
  std::vector<Request> waiting;
  waiting.swap(here.waiting);
  for (const Request& request : waiting) answer(here, request);
  if (here.missing > 0) thisProxy[CkMyPe()].load(number);
}

void Manager::read(int number, std::size_t bytes, std::size_t offset, char* data, CkCallback after_read) {
  const Plan& plan = session(number, "read()").plan;
  if (plan.writes) CkAbort("CkIO: read() in a session that writes: begin one with startReadSession()");
  if (!plan.covers(offset, bytes))
    CkAbort("CkIO: read() of %s of the file %s, in a session of %s", range(offset, bytes).c_str(),
            files_[plan.file].name.c_str(), range(plan.offset, plan.bytes).c_str());
  const int mine = ++reads_made_;
  if (bytes == 0) return after_read.send(new ReadCompleteMsg(static_cast<std::size_t>(mine), offset, 0));
  reads_[mine] = {data, offset, bytes, bytes, after_read};
  plan.for_each_part(offset, bytes, [&](std::size_t stripe, std::size_t at, std::size_t count) {
    thisProxy[plan.pe_of(plan.holder_of(stripe))].want(number, mine, CkMyPe(), at, count);
  });
}
bool Manager::loaded(const Here& here, std::size_t offset, std::size_t bytes) const {
  const std::size_t stripe = here.plan.stripe_at(offset);
  const auto held = here.stripes.find(stripe);
  return held != here.stripes.end() && offset + bytes <= here.plan.begin_of(stripe) + held->second.come;
}
void Manager::want(int number, int read, int reader, std::size_t offset, std::size_t bytes) {
  Here& here = session(number, "read()");
  if (std::exchange(here.loads_on_demand, false)) thisProxy[CkMyPe()].load(number);
  answer(here, {read, reader, offset, bytes});
}
void Manager::answer(Here& here, const Request& request) {
  if (!loaded(here, request.offset, request.bytes)) {
    here.waiting.push_back(request);
    return;
  }
  const std::size_t stripe = here.plan.stripe_at(request.offset);
  thisProxy[request.reader].give(request.read, request.offset, request.bytes,
                                 here.stripes.at(stripe).data.data() + (request.offset - here.plan.begin_of(stripe)));
}
void Manager::give(int number, std::size_t offset, std::size_t bytes, const char* data) {
  Read& read = reads_.at(number);
  std::memcpy(read.data + (offset - read.offset), data, bytes);
  read.missing -= bytes;
  if (read.missing > 0) return;
  const Read done = read;
  reads_.erase(number);
  done.after.send(new ReadCompleteMsg(static_cast<std::size_t>(number), done.offset, done.bytes));
}

}  // namespace Ck::IO::impl
