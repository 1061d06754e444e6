// CkIO on one PE. A session's part of the file is cut into stripes, which some PEs hold in turn. To write, an element
// sends each stripe's bytes to its holder, which writes the stripe when all of it has come; that holder is an element
// of an array (holder.h), so that what has come goes over a checkpoint to other PEs. To read, the holders load their
// stripes when the session begins, and send what they are asked for: what they have can be loaded again. PE 0 numbers
// files and sessions, tells all PEs of them, and of their end.
#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "ckio.h"

namespace Ck::IO::impl {

// In words.
std::string range(std::size_t offset, std::size_t bytes);

// What all PEs know of a session.
struct Plan {
  int number = -1, file = -1;
  bool writes = false;
  std::size_t offset = 0, bytes = 0;
  std::size_t stripe = 1;  // bytes; when written a multiple in the file is where a stripe begins
  int holders = 1, first = 0, skip = 1;
  std::vector<int> pes;  // given by the program
  CkCallback ready, complete;
  std::vector<char> commit;
  std::size_t commit_offset = 0;

  void pup(PUP::er& p);
  std::size_t end() const { return offset + bytes; }
  // Stripes are numbered from 0.
  std::size_t stripes() const { return bytes == 0 ? 0 : stripe_at(end() - 1) + 1; }
  std::size_t stripe_at(std::size_t at) const { return (at - base()) / stripe; }
  std::size_t begin_of(std::size_t number) const { return std::max(offset, base() + number * stripe); }
  std::size_t end_of(std::size_t number) const { return std::min(end(), base() + (number + 1) * stripe); }
  // Holders are numbered from 0; `used` of them have a stripe.
  int holder_of(std::size_t number) const { return static_cast<int>(number % static_cast<std::size_t>(holders)); }
  int used() const { return static_cast<int>(std::min<std::size_t>(stripes(), static_cast<std::size_t>(holders))); }
  int pe_of(int holder) const;
  bool covers(std::size_t at, std::size_t count) const { return at >= offset && at <= end() && count <= end() - at; }
  // Calls visit(stripe, at, count) for each part of a range in it.
  template <class Visit>
  void for_each_part(std::size_t at, std::size_t count, Visit visit) const {
    while (count > 0) {
      const std::size_t number = stripe_at(at), part = std::min(count, end_of(number) - at);
      visit(number, at, part);
      at += part;
      count -= part;
    }
  }

 private:
  std::size_t base() const { return writes ? offset / stripe * stripe : offset; }
};

class Director : public CBase_Director {
 public:
  explicit Director(CkArgMsg* m);
  explicit Director(CkMigrateMessage* m) : CBase_Director(m) {}
};

class Manager : public CBase_Manager {
 public:
  Manager() = default;
  // Files and sessions that are open stay so; what readers had loaded is loaded again.
  explicit Manager(CkMigrateMessage* m) : CBase_Manager(m) {}
  void pup(PUP::er& p) override;
  ~Manager() override;

  void open(std::string name, CkCallback opened, Options options);
  void begin(Plan plan);
  void end(int session, CkCallback ended) { thisProxy.forget_session(session, ended); }
  void close(int file, CkCallback closed);
  void all_know_file(int file);
  void all_know_session(int session);
  void written(int session);

  void know_file(int file, std::string name);
  void know_session(Plan plan);
  void forget_session(int session, CkCallback ended);
  void forget_file(int file, CkCallback closed);

  void write(int session, const char* data, std::size_t bytes, std::size_t offset);
  void read(int session, std::size_t bytes, std::size_t offset, char* data, CkCallback after_read);
  void load(int session);
  void want(int session, int read, int reader, std::size_t offset, std::size_t bytes);
  void give(int read, std::size_t offset, std::size_t bytes, const char* data);

  // For holders that are here.
  const Plan& plan_of(int session, const char* what) { return this->session(session, what).plan; }
  const std::string& name_of(const Plan& plan) { return files_[plan.file].name; }
  void put(const Plan& plan, std::size_t at, std::size_t bytes, const char* data);
  void sync_file(const Plan& plan);

 private:
  struct OpenFile {
    std::string name;
    int descriptor = -1;  // opened when it is first needed here
    bool writes = false;
    void pup(PUP::er& p) { p | name; }
  };
  struct Stripe {
    std::vector<char> data;
    std::size_t come = 0;  // bytes of it
  };
  struct Request {
    int read, reader;
    std::size_t offset, bytes;
  };
  struct Here {  // a session
    Plan plan;
    // Of one that reads:
    std::map<std::size_t, Stripe> stripes;  // held here
    std::size_t missing = 0;                // bytes that are still to be loaded
    std::vector<Request> waiting;           // for what is not loaded yet
    bool loads_on_demand = false;           // nothing has begun to load it: it comes from a checkpoint
    void pup(PUP::er& p) { p | plan; }
  };
  struct Read {
    char* data;
    std::size_t offset, bytes, missing;
    CkCallback after;
  };
  struct AtFirst {  // on PE 0: a file, and what is to be said of it
    Options options;
    CkCallback opened;
    int sessions = 0;
    void pup(PUP::er& p) {
      p | options;
      p | opened;
      p | sessions;
    }
  };

  OpenFile& file(int number, const char* what);
  Here& session(int number, const char* what);
  int descriptor(int number, bool writes);
  void spread(Plan& plan, const Options& options) const;
  static std::size_t held_by(const Plan& plan, int holder);
  static std::size_t held_here(const Plan& plan);
  void sync_what_is_written();
  void answer(Here& here, const Request& request);
  bool loaded(const Here& here, std::size_t offset, std::size_t bytes) const;

  std::map<int, OpenFile> files_;
  std::map<int, Here> sessions_;
  std::map<int, Read> reads_;
  int reads_made_ = 0;
  // On PE 0.
  int files_made_ = 0, sessions_made_ = 0;
  std::map<int, AtFirst> first_;
  // By session: holders that have not written all of theirs, and one more until all PEs know it.
  std::map<int, int> unwritten_;
};

}  // namespace Ck::IO::impl
