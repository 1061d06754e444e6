// Ping-pong: how long a message takes from one object to another, and how many a second there can be.
//
//   charmrun +p2 ./pingpong                 between two PEs of a process, and within a PE
//   charmrun +p2 ++ppn 1 ./pingpong         between two processes, and within a PE
//   charmrun +p4 ++ppn 2 ./pingpong         all three
//
//   -m MIN:MAX       sizes in bytes, each twice the one before   (8:4194304; up to 64 MB and more)
//   -i N  -x N       round trips that count; that warm up        (1000, fewer for large messages; a tenth)
//   --kinds LIST     of array,chare,group,nodegroup              (all)
//   --ways LIST      of marshalled,message,threaded              (all; none of them with D D)
//   --places LIST    of pe,process,processes                     (all there are)
//   --json FILE      the same figures for a program
//   D D  H D  D H  M M   an array that lies in the memory of a GPU (D), of the host (H), or in managed memory (M): of
//                    the one that begins and keeps the time, then of the other; PE k uses GPU k modulo their number
//
// Columns, as OSU's benchmarks have them: one way latency, half of the mean round trip; then median and 99th percentile
// of single round trips, halved; then bandwidth and messages a second of a stream in one direction, in windows of 64
// messages (fewer when they are large) that are answered by a short one.
//
// In the warm-up every byte is checked on both sides. Afterwards neither looks at the contents, so what is measured is
// the way and, for marshalled arrays, the copy that the caller asks for. A message is sent back and forth; a stream
// makes new ones.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "buffers.h"
#include "pingpong.decl.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_ArrayPlayer arrayPlayers;
/*readonly*/ CProxy_GroupPlayer groupPlayers;
/*readonly*/ CProxy_NodePlayer nodePlayers;
/*readonly*/ std::string buffers;  // two letters; "": none
/*readonly*/ int largest;          // bytes of an array in them

class Ball : public CMessage_Ball {
 public:
  int mode, size;
  char* data;
};

// What a ball asks of its receiver.
enum Mode { there = 1, answer = 2, check = 4, shortly = 8 };

static std::vector<char> pattern(int size) {
  std::vector<char> bytes(size);
  for (int i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7 + i / 251);
  return bytes;
}

// One of two that play; Peer is a proxy of the other. The one that is told to play counts and keeps the time.
template <class Peer>
class Player {
 public:
  void setPeer(const Peer& peer) {
    peer_ = peer;
    mainProxy.met();
  }

  void begin(const Task& task) {
    task_ = task;
    bytes_ = pattern(task.size);
    if (task.way == Task::device) fill(0, task.size);
    stamps_.clear();
    phase_ = warming;
    left_ = task.warm_up;
    serve(nullptr);
  }

  void gotBytes(int mode, int n, const char* data) {
    if (mode & check) verify(n, data);
    if (!(mode & there)) return returned(nullptr);
    if (!(mode & answer)) return;
    peer_.gotArray(mode & check, mode & shortly ? std::min(n, 8) : n, data);
  }

  // Where an array is to go, in the memory of this side.
  char* room(int mode, int n, CkDeviceBufferPost* post) {
    const int side = mode & there ? 1 : 0;
    if (side == 1 && sides_[1].size < n) fill(1, n);
    char* const at = sides_[side].in.room(buffers[side], largest);
    post->cuda_stream = sides_[side].in.stream();
    return at;
  }
  void gotDevice(int mode, int n) {
    if (mode & check) {
      Buffer& in = sides_[mode & there ? 1 : 0].in;
      verify(n, in.read(n).data());
      in.write(std::vector<char>(n));
    }
    if (!(mode & there)) return returned(nullptr);
    if (!(mode & answer)) return;
    peer_.gotDevice(mode & check, mode & shortly ? std::min(n, 8) : n,
                    CkDeviceBuffer(sides_[1].sent.at(), sides_[1].sent.stream()));
  }

  void gotBall(Ball* ball, bool threaded) {
    if (ball->mode & check) verify(ball->size, ball->data);
    if (!(ball->mode & there)) return returned(ball);
    if (!(ball->mode & answer)) {
      delete ball;
      return;
    }
    if (ball->mode & shortly) {
      delete ball;
      ball = make(8, 0);
    }
    ball->mode &= check;
    threaded ? peer_.gotThreaded(ball) : peer_.gotMessage(ball);
  }

 private:
  enum Phase { warming, timing, stamping, streaming };
  static constexpr int windows = 10;

  Ball* make(int size, int mode) {
    Ball* ball = new (size) Ball;
    ball->size = size;
    ball->mode = mode;
    return ball;
  }

  void verify(int n, const char* data) {
    if (static_cast<int>(bytes_.size()) != n) bytes_ = pattern(n);
    if (n && std::memcmp(data, bytes_.data(), n) != 0) CkAbort("pingpong: a message of %d bytes arrived changed", n);
  }

  void fill(int side, int n) {
    sides_[side].sent.room(buffers[side], largest);
    sides_[side].sent.write(pattern(n));
    sides_[side].size = n;
  }

  void send(Ball* ball, int mode) {
    if (task_.way == Task::device)
      return peer_.gotDevice(mode, task_.size, CkDeviceBuffer(sides_[0].sent.at(), sides_[0].sent.stream()));
    if (task_.way == Task::marshalled) return peer_.gotArray(mode, task_.size, bytes_.data());
    if (!ball) {
      ball = make(task_.size, mode);
      if (mode & check) std::memcpy(ball->data, bytes_.data(), bytes_.size());
    }
    ball->mode = mode;
    task_.way == Task::threaded ? peer_.gotThreaded(ball) : peer_.gotMessage(ball);
  }

  void serve(Ball* ball) {
    if (phase_ == streaming) {
      delete ball;
      for (int i = 1; i < task_.window; ++i) send(nullptr, there);
      return send(nullptr, there | answer | shortly);
    }
    send(ball, phase_ == warming ? there | answer | check : there | answer);
  }

  // The ball is back.
  void returned(Ball* ball) {
    if (phase_ == stamping) stamps_.push_back(CkWallTimer());
    if (--left_ > 0) return serve(ball);
    const double now = CkWallTimer();
    switch (phase_) {
      case warming:
        phase_ = timing;
        left_ = task_.iterations;
        break;
      case timing:
        result_.latency = (now - since_) / (2.0 * task_.iterations);
        phase_ = stamping;
        left_ = task_.iterations;
        stamps_.reserve(task_.iterations + 1);
        stamps_.push_back(now);
        break;
      case stamping:
        percentiles();
        phase_ = streaming;
        left_ = windows;
        break;
      case streaming:
        result_.per_message = (now - since_) / (static_cast<double>(windows) * task_.window);
        delete ball;
        mainProxy.played(result_);
        return;
    }
    since_ = CkWallTimer();
    serve(ball);
  }

  void percentiles() {
    std::vector<double> trips;
    for (std::size_t i = 1; i < stamps_.size(); ++i) trips.push_back((stamps_[i] - stamps_[i - 1]) / 2);
    std::sort(trips.begin(), trips.end());
    result_.p50 = trips[trips.size() / 2];
    result_.p99 = trips[trips.size() * 99 / 100];
  }

  Peer peer_;
  Task task_ = {};
  Result result_ = {};
  Phase phase_ = warming;
  int left_ = 0;
  double since_ = 0;
  std::vector<double> stamps_;
  std::vector<char> bytes_;
  // Of the one that begins, and of the other: within a PE both may be one object.
  struct Side {
    Buffer sent, in;
    int size = 0;  // what was sent is the pattern of so many bytes
  } sides_[2];
};

#define PLAYER(Class, Proxy)                                                                                 \
  class Class : public CBase_##Class, public Player<Proxy> {                                                 \
   public:                                                                                                   \
    Class() {}                                                                                               \
    explicit Class(CkMigrateMessage*) {}                                                                     \
    void meet(const Proxy& peer) { setPeer(peer); }                                                          \
    void play(const Task& task) { begin(task); }                                                             \
    void gotArray(int mode, int n, const char* data) { gotBytes(mode, n, data); }                            \
    void gotDevice(int& mode, int& n, char*& data, CkDeviceBufferPost* post) { data = room(mode, n, post); } \
    void gotDevice(int mode, int n, char*) { Player<Proxy>::gotDevice(mode, n); }                            \
    void gotMessage(Ball* ball) { gotBall(ball, false); }                                                    \
    void gotThreaded(Ball* ball) { gotBall(ball, true); }                                                    \
  };
PLAYER(ArrayPlayer, CProxyElement_ArrayPlayer)
PLAYER(CharePlayer, CProxy_CharePlayer)
PLAYER(GroupPlayer, CProxyElement_GroupPlayer)
PLAYER(NodePlayer, CProxyElement_NodePlayer)

namespace {

const char* const way_names[] = {"marshalled", "message", "threaded", "device"};

struct Kind {
  const char* name;
  const char* classic[3];  // what Charm++'s own pingpong calls it
};
const Kind kinds[] = {
    {"array", {"1D Arrays Marshalled", "1D Arrays", "1D threaded Arrays"}},
    {"chare", {"Chares Marshalled", "Chares (reuse msgs)", "threaded Chares (reuse)"}},
    {"group", {"Groups Marshalled", "Groups", "threaded Groups"}},
    {"nodegroup", {"NodeGroups Marshalled", "NodeGroups", "threaded NodeGroups"}},
};

struct Place {
  const char* name;
  const char* text;
  int pe;  // where the other one is; the first is on PE 0
};

struct Options {
  long least = 8, most = 4 << 20;
  int iterations = 0, warm_up = -1;  // not given: by size
  std::string kinds = "array,chare,group,nodegroup", ways = "marshalled,message,threaded",
              places = "pe,process,processes", json, buffers;
};

bool listed(const std::string& list, const char* name) {
  return ("," + list + ",").find(std::string(",") + name + ",") != std::string::npos;
}

void check_list(const char* option, const std::string& list, const std::string& possible) {
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    if (!listed(possible, list.substr(at, end - at).c_str()))
      CkAbort("pingpong: %s %s: '%s' is none of %s", option, list.c_str(), list.substr(at, end - at).c_str(),
              possible.c_str());
    at = end + 1;
  }
}

Options read_options(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "H" || option == "D" || option == "M") {
      o.buffers += option;
      continue;
    }
    if (option != "-m" && option != "-i" && option != "-x" && option != "--kinds" && option != "--ways" &&
        option != "--places" && option != "--json")
      CkAbort(
          "pingpong: what is %s? Options: -m MIN:MAX -i N -x N --kinds LIST --ways LIST --places LIST --json FILE, and "
          "D D, H D, "
          "D H, M M and so on",
          option.c_str());
    if (++i == argc) CkAbort("pingpong: %s wants a value", option.c_str());
    const char* value = argv[i];
    if (option == "-m") {
      char* end;
      o.least = std::strtol(value, &end, 10);
      o.most = *end == ':' ? std::strtol(end + 1, &end, 10) : o.least;
      if (*end || o.least < 1 || o.most < o.least || o.most > 1 << 30)
        CkAbort("pingpong: -m %s: sizes are MIN:MAX, from 1 to 1073741824", value);
    } else if (option == "-i" || option == "-x") {
      const int n = std::atoi(value);
      if (n < 1) CkAbort("pingpong: %s %s: a number from 1 on", option.c_str(), value);
      (option == "-i" ? o.iterations : o.warm_up) = n;
    } else if (option == "--kinds") {
      check_list("--kinds", o.kinds = value, "array,chare,group,nodegroup");
    } else if (option == "--ways") {
      check_list("--ways", o.ways = value, "marshalled,message,threaded");
    } else if (option == "--places") {
      check_list("--places", o.places = value, "pe,process,processes");
    } else {
      o.json = value;
    }
  }
  if (!o.buffers.empty() && o.buffers.size() != 2)
    CkAbort("pingpong: where do the arrays of both lie? Two of H, D and M, as in D H");
  if (!o.buffers.empty()) o.ways = way_names[Task::device];
  return o;
}

}  // namespace

class Main : public CBase_Main {
  Options options_;
  CthThread driver_ = nullptr;
  int awaited_ = 0;
  Result result_;
  std::FILE* json_ = nullptr;
  bool first_row_ = true;

 public:
  explicit Main(CkArgMsg* m) : options_(read_options(m->argc, m->argv)) {
    delete m;
    mainProxy = thisProxy;
    buffers = options_.buffers;
    largest = static_cast<int>(options_.most);
    arrayPlayers = CProxy_ArrayPlayer::ckNew(2 * CkNumPes());  // 2k and 2k + 1 on PE k
    groupPlayers = CProxy_GroupPlayer::ckNew();
    nodePlayers = CProxy_NodePlayer::ckNew();
    thisProxy.run();
  }

  void met() { arrive(); }
  void played(const Result& result) {
    result_ = result;
    arrive();
  }

  void run() {
    driver_ = CthSelf();
    if (!options_.json.empty() && !(json_ = std::fopen(options_.json.c_str(), "w")))
      CkAbort("pingpong: cannot write %s", options_.json.c_str());
    if (json_) std::fprintf(json_, "[");
    for (const Place& place : places())
      for (int kind = 0; kind < 4; ++kind)
        for (int way = 0; way < 4; ++way)
          if (listed(options_.places, place.name) && listed(options_.kinds, kinds[kind].name) &&
              listed(options_.ways, way_names[way]))
            table(place, kind, way);
    if (json_) {
      std::fprintf(json_, "\n]\n");
      std::fclose(json_);
    }
    CkExit();
  }

 private:
  static std::vector<Place> places() {
    std::vector<Place> all = {{"pe", "within a PE", 0}};
    if (CkNodeSize(0) > 1) all.push_back({"process", "between PEs of a process", 1});
    if (CkNumNodes() > 1) all.push_back({"processes", "between processes", CkNodeFirst(1)});
    return all;
  }

  void arrive() {
    if (--awaited_ == 0) CthAwaken(driver_);
  }
  void wait(int events) {
    awaited_ = events;
    CthSuspend();
  }

  template <class First, class Second>
  void table(First first, Second second, const Place& place, int kind, int way) {
    awaited_ = 2;
    first.meet(second);
    second.meet(first);
    CthSuspend();
    CkPrintf("\n# %s, %s, %s\n", kinds[kind].name, text_of(way).c_str(), place.text);
    CkPrintf("# Size          Latency (us)        p50 (us)        p99 (us)  Bandwidth (MB/s)      Messages/s\n");
    double smallest = 0;
    for (long size = options_.least; size <= options_.most; size *= 2) {
      first.play(task(way, static_cast<int>(size)));
      wait(1);
      if (size == options_.least) smallest = result_.latency;
      row(place, kind, way, size);
    }
    if (way != Task::device) CkPrintf("Roundtrip time for %s is %lf us\n", kinds[kind].classic[way], 2e6 * smallest);
  }

  void table(const Place& place, int kind, int way) {
    switch (kind) {
      case 0:
        return table(arrayPlayers[0], arrayPlayers[2 * place.pe + 1], place, kind, way);
      case 1:
        return table(CProxy_CharePlayer(CProxy_CharePlayer::ckNew(0)),
                     CProxy_CharePlayer(CProxy_CharePlayer::ckNew(place.pe)), place, kind, way);
      case 2:
        return table(groupPlayers[0], groupPlayers[place.pe], place, kind, way);
      default:
        return table(nodePlayers[0], nodePlayers[CkNodeOf(place.pe)], place, kind, way);
    }
  }

  static std::string text_of(int way) {
    std::string text = way_names[way];
    if (way == Task::device)
      for (char letter : buffers) text += std::string(" ") + letter;
    return text;
  }

  Task task(int way, int size) const {
    Task t;
    t.way = way;
    t.size = size;
    t.iterations = options_.iterations ? options_.iterations : std::max(10, std::min(1000, (64 << 20) / size));
    t.warm_up = options_.warm_up > 0 ? options_.warm_up : std::max(2, t.iterations / 10);
    t.window = std::max(2, std::min(64, (64 << 20) / size));
    return t;
  }

  void row(const Place& place, int kind, int way, long size) {
    const Result& r = result_;
    CkPrintf("%-15ld %13.3f %15.3f %15.3f %17.2f %15.0f\n", size, 1e6 * r.latency, 1e6 * r.p50, 1e6 * r.p99,
             1e-6 * static_cast<double>(size) / r.per_message, 1 / r.per_message);
    std::fflush(stdout);
    if (!json_) return;
    std::fprintf(json_,
                 "%s\n  {\"place\": \"%s\", \"kind\": \"%s\", \"way\": \"%s\", \"size\": %ld, \"latency_us\": %.4f, "
                 "\"p50_us\": %.4f, \"p99_us\": %.4f, \"bandwidth_mb_s\": %.3f, \"messages_s\": %.0f}",
                 first_row_ ? "" : ",", place.name, kinds[kind].name, text_of(way).c_str(), size, 1e6 * r.latency,
                 1e6 * r.p50, 1e6 * r.p99, 1e-6 * static_cast<double>(size) / r.per_message, 1 / r.per_message);
    first_row_ = false;
  }
};

#include "pingpong.def.h"
