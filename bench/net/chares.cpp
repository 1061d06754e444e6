// bench_net_chares: chares in the operations of operations.h. An array has an element on each PE; the first half of the
// PEs sends to the second half.
//
//   bench_net_chares +p2                    between two PEs of a process
//   bench_net_chares +p2 ++ppn 1            between two processes; +transports tcp: over TCP
//   bench_net_chares --pairs 4 +p8          four pairs
//   --marshalled                            parameters, copied into a message and out of it, instead of messages, which
//                                           change owner and are looked at where they are
//   --nocopy                                the same with an array that the entry method takes nocopy
//
// Operations are written as a row of calls, so each end runs its PE's scheduler in the place where it waits.
#include <deque>

#include "bench/net/command_line.h"
#include "bench/net/mailbox.h"
#include "bench/net/operations.h"
#include "bench/net/place.h"
#include "bench_net_chares.decl.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Party parties;

using namespace periapt::bench;

class Payload : public CMessage_Payload {
 public:
  explicit Payload(std::size_t its_size) : size(its_size) {}
  std::size_t size;
  char* bytes;
  std::byte* data() { return reinterpret_cast<std::byte*>(bytes); }
};

struct Settings {
  Plan plan;
  bool marshalled = false, nocopy = false;
  bool parameters() const { return marshalled || nocopy; }
  void parse(const std::string& arguments) {
    CommandLine command_line("Chares between PEs", plan);
    command_line.flag("--marshalled", marshalled, "parameters instead of messages");
    command_line.flag("--nocopy", nocopy, "parameters that are taken nocopy", "--marshalled");
    const auto end = command_line.parse(arguments);
    if (!end) return;
    if (end->status != 0) CkAbort("bench_net_chares: %s", end->text.c_str());
    CkPrintf("%s", end->text.c_str());
    CkExit();
  }
};

class Main : public CBase_Main {
 public:
  explicit Main(CkArgMsg* m) {
    std::string arguments;
    for (int i = 1; i < m->argc; ++i) arguments += std::string(i > 1 ? " " : "") + m->argv[i];
    delete m;
    Settings settings;
    settings.parse(arguments);
    if (CkNumPes() != 2 * settings.plan.pairs)
      CkAbort("bench_net_chares: %d pairs need +p%d", settings.plan.pairs, 2 * settings.plan.pairs);
    mainProxy = thisProxy;
    parties = CProxy_Party::ckNew(CkNumPes());
    // Not as a broadcast: the next one would wait for its end.
    for (int pe = 0; pe < CkNumPes(); ++pe) parties[pe].begin(arguments);
  }
  void done() { CkExit(); }
};

class Party : public CBase_Party {
 public:
  struct Request {
    std::uint64_t number = 0;  // of a receive
    int slot = 0;
  };

  Party() {}
  explicit Party(CkMigrateMessage*) {}

  void begin(const std::string& arguments) {
    settings_.parse(arguments);
    const int pairs = settings_.plan.pairs;
    partner_ = parties[(thisIndex + pairs) % (2 * pairs)];
    run(*this, settings_.plan);
    if (thisIndex != 0) return;
    print_about(std::string("chares") +
                (settings_.marshalled ? ", marshalled"
                 : settings_.nocopy   ? ", nocopy"
                                      : "") +
                (CkNumNodes() > 1 ? ", processes" : ", threads of a process"));
    std::fflush(stdout);
    mainProxy.done();
  }

  // ---- entries

  void got(Payload* payload) {
    if (shown_) {
      shown_(payload->data());
      ++actives_shown_;
      keep(0, payload);
    } else {
      arrived_.push_back(payload);
      ++arrivals_;
    }
    look_up();
  }
  void gotBytes(int n, const char* bytes) {
    if (shown_) {
      shown_(reinterpret_cast<const std::byte*>(bytes));
      ++actives_shown_;
    } else {
      mailbox_.take({reinterpret_cast<const std::byte*>(bytes), static_cast<std::size_t>(n)});
    }
    look_up();
  }
  void gotArray(int n, char* bytes) { gotBytes(n, bytes); }
  void met(int who, double value) {
    values_.resize(static_cast<std::size_t>(CkNumPes()));
    values_[static_cast<std::size_t>(who)] = value;
    if (++met_ < CkNumPes()) return;
    met_ = 0;
    parties.allMet(CkNumPes(), values_.data());
  }
  void allMet(int n, const double* values) {
    all_.assign(values, values + n);
    look_up();
  }

  // ---- a Side

  int index() const { return thisIndex; }
  std::vector<double> gather(double mine) {
    parties[0].met(thisIndex, mine);
    until([this] { return !all_.empty(); });
    return std::exchange(all_, {});
  }
  void meet() { gather(0); }

  std::byte* outgoing(int slot, std::size_t size) {
    if (settings_.parameters()) return slots_.outgoing(slot, size);
    Payload*& mine = of(outgoing_, slot);
    // A message that came back is sent again.
    if (mine == nullptr) mine = std::exchange(of(incoming_, slot), nullptr);
    if (mine != nullptr && mine->size == size) return mine->data();
    delete mine;
    mine = new (static_cast<int>(size)) Payload(size);
    return mine->data();
  }
  Request send(int slot, std::size_t size) {
    std::byte* bytes = outgoing(slot, size);
    if (settings_.nocopy)
      partner_.gotArray(static_cast<int>(size), CkSendBuffer(bytes, CK_BUFFER_UNREG));
    else if (settings_.marshalled)
      partner_.gotBytes(static_cast<int>(size), reinterpret_cast<char*>(bytes));
    else
      partner_.got(std::exchange(of(outgoing_, slot), nullptr));
    return {};
  }
  Request receive(int slot, std::size_t size) {
    if (settings_.parameters()) return {mailbox_.want(slots_.incoming(slot, size)), slot};
    return {++wanted_, slot};
  }
  const std::byte* incoming(int slot, std::size_t size) {
    return settings_.parameters() ? slots_.incoming(slot, size) : of(incoming_, slot)->data();
  }
  void wait(Request& request) {
    if (request.number == 0) return;
    if (settings_.parameters()) return until([&] { return mailbox_.ended(request.number); });
    until([&] { return arrivals_ >= request.number; });
    keep(request.slot, arrived_.front());
    arrived_.pop_front();
  }

  bool in_place() const { return !settings_.parameters(); }
  void on_active(Look look) {
    shown_ = std::move(look);
    actives_shown_ = actives_taken_ = 0;
  }
  Request send_active(std::size_t size) { return send(0, size); }
  void take_active(std::size_t) {
    ++actives_taken_;
    until([this] { return actives_shown_ >= actives_taken_; });
  }
  void take_shown(int count) {
    actives_taken_ += static_cast<std::uint64_t>(count);
    until([this] { return actives_shown_ >= actives_taken_; });
  }

 private:
  using Payloads = std::vector<Payload*>;
  static Payload*& of(Payloads& payloads, int slot) {
    return payloads[static_cast<std::size_t>(slot < 0 ? kWindow : slot)];
  }
  void keep(int slot, Payload* payload) { delete std::exchange(of(incoming_, slot), payload); }

  /// Runs the scheduler until it is so: an entry that has brought something looks, and ends it.
  template <class Condition>
  void until(Condition holds) {
    if (holds()) return;
    awaited_ = &holds;
    is_so_ = [](void* condition) { return (*static_cast<Condition*>(condition))(); };
    CsdScheduleForever();
    awaited_ = nullptr;
  }
  void look_up() {
    if (awaited_ != nullptr && is_so_(awaited_)) CsdExitScheduler();
  }

  Settings settings_;
  CProxyElement_Party partner_;
  Slots slots_;
  Mailbox mailbox_;
  Payloads outgoing_ = Payloads(kWindow + 1), incoming_ = Payloads(kWindow + 1);
  std::deque<Payload*> arrived_;
  std::uint64_t arrivals_ = 0, wanted_ = 0;
  Look shown_;
  std::uint64_t actives_shown_ = 0, actives_taken_ = 0;
  std::vector<double> values_, all_;
  int met_ = 0;
  void* awaited_ = nullptr;  // what until() waits for; is_so_ asks it
  bool (*is_so_)(void*) = nullptr;
};

#include "bench_net_chares.def.h"
