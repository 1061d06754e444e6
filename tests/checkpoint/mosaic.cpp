// A file of which each step of each tile is a record, written in one session of CkIO that is open through all
// checkpoints; each checkpoint finds tiles in the middle of their whens, and a section that has not contributed.
//
//   mosaic FOLDER disk|memory|none STOP
//
// Tiles send values to their neighbours; those with odd numbers, a section, wait for a multicast besides, and answer it
// with a reduction of the items that have come to them through TRAM. In step STOP the program ends behind its
// checkpoint on disk, or a process kills itself behind one in memory. At the end the file is compared with what is
// computed anew.
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "NDMeshStreamer.h"
#include "ckio.h"
#include "ckmulticast.h"

struct Picture {
  int tiles = 24, steps = 6, stop = 0;
};
PUPbytes(Picture)

#include "mosaic.decl.h"

    /*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Tile tiles;
/*readonly*/ Picture picture;

namespace {
constexpr std::size_t record = 11, before = 7;
CmiUInt8 scramble(CmiUInt8 x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}
char byte_of(CmiUInt8 value, std::size_t i) { return static_cast<char>(scramble(value + i) >> 7); }
CmiUInt8 first_value(int tile) { return scramble(static_cast<CmiUInt8>(tile) + 1); }
CmiUInt8 next_value(CmiUInt8 own, CmiUInt8 left, CmiUInt8 beat) { return scramble(own + 3 * left + beat); }
}  // namespace

class PulseMsg : public CkMcastBaseMsg, public CMessage_PulseMsg {
 public:
  int step;
  CmiUInt8 beat;
  PulseMsg(int step, CmiUInt8 beat) : step(step), beat(beat) {}
};

class Main : public CBase_Main {
  Main_SDAG_CODE int step = 0;
  std::string folder, way;
  Ck::IO::File file;
  CProxySection_Tile odd;
  std::vector<CmiUInt8> beats = {1};

  std::string name() const { return folder + "/mosaic"; }
  static std::size_t bytes() { return record * static_cast<std::size_t>(picture.tiles * picture.steps); }

 public:
  explicit Main(CkArgMsg* m) {
    if (m->argc != 4) CkAbort("mosaic FOLDER disk|memory|none STOP");
    folder = m->argv[1];
    way = m->argv[2];
    picture.stop = std::atoi(m->argv[3]);
    delete m;
    mainProxy = thisProxy;
    tiles = CProxy_Tile::ckNew(picture.tiles);
    std::vector<CkArrayIndex1D> members;
    for (int i = 1; i < picture.tiles; i += 2) members.emplace_back(i);
    odd = CProxySection_Tile::ckNew(tiles, members.data(), static_cast<int>(members.size()));
    thisProxy.live();
  }
  explicit Main(CkMigrateMessage* m) : CBase_Main(m) {}
  void pup(PUP::er& p) {
    p | step;
    p | folder;
    p | way;
    p | file;
    p | odd;
    p | beats;
  }
  // Records lie across stripes, which all PEs hold.
  void open() {
    Ck::IO::Options options;
    options.peStripe = 100;
    options.activePEs = CkNumPes();
    Ck::IO::open(name(), CkCallback(CkIndex_Main::opened(nullptr), thisProxy), options);
  }
  void begin_writing(Ck::IO::FileReadyMsg* m) {
    file = m->file;
    delete m;
    Ck::IO::startSession(file, bytes(), before, CkCallback(CkIndex_Main::ready(nullptr), thisProxy),
                         CkCallback(CkReductionTarget(Main, written), thisProxy));
  }
  void start(Ck::IO::SessionReadyMsg* m) {
    tiles.run(m->session);
    delete m;
  }
  void checkpoint() {
    const CkCallback go_on(CkIndex_Main::saved(), thisProxy);
    if (way == "disk" && step == picture.stop)
      CkStartCheckpoint((folder + "/log").c_str(), go_on);
    else if (way == "memory" && step % 2 == 0)
      CkStartMemCheckpoint(go_on);
    else
      go_on.send();
  }
  bool goes_on() {
    if (step != picture.stop || way == "none") return true;
    if (_restarted) CkPrintf("mosaic: restarted on %d PEs\n", CkNumPes());
    if (way == "memory" && !_restarted) tiles[picture.tiles / 2].die();
    return way == "memory" || _restarted;
  }
  void pulse() { odd.pulse(new PulseMsg(step, beats.back())); }
  void take(CkReductionMsg* m) {
    beats.push_back(scramble(beats.back() + *static_cast<CmiUInt8*>(m->getData())));
    delete m;
  }
  void finish() {
    std::ifstream in(name(), std::ios::binary);
    in.seekg(before);
    std::vector<CmiUInt8> values, next;
    for (int i = 0; i < picture.tiles; ++i) values.push_back(first_value(i));
    for (int s = 0; s < picture.steps; ++s) {
      next.clear();
      for (std::size_t i = 0; i < values.size(); ++i) {
        const CmiUInt8 left = values[(i + values.size() - 1) % values.size()];
        next.push_back(next_value(values[i], left, i % 2 == 1 ? beats[static_cast<std::size_t>(s)] : 0));
        for (std::size_t k = 0; k < record; ++k)
          if (in.get() != static_cast<unsigned char>(byte_of(next.back(), k)))
            CkAbort("byte %zu of the record of tile %zu in step %d is wrong", k, i, s);
      }
      values = next;
    }
    CkPrintf("mosaic: whole, %llx\n", static_cast<unsigned long long>(beats.back()));
    CkExit();
  }
};

class Tile : public CBase_Tile {
  Tile_SDAG_CODE int step = 0;
  CmiUInt8 value, left = 0, beat = 0, marks_ = 0;
  CkSectionInfo cookie_;
  Ck::IO::Session session;

 public:
  Tile() : value(first_value(thisIndex)) {}
  explicit Tile(CkMigrateMessage*) {}
  void pup(PUP::er& p) override {
    p | step;
    p | value;
    p | left;
    p | beat;
    p | marks_;
    p | cookie_;
    p | session;
  }
  void scatter(int in_step) {
    for (int i = 0; i < 30; ++i) {
      const CmiUInt8 item = scramble(static_cast<CmiUInt8>(in_step * 1000003 + thisIndex * 101 + i));
      tiles[static_cast<int>(item % static_cast<CmiUInt8>(picture.tiles))].mark(item);
    }
  }
  void mark(const CmiUInt8& item) { marks_ += item; }
  void pulse(PulseMsg* m) {
    CkGetSectionInfo(cookie_, m);
    thisProxy[thisIndex].tick(m->step, m->beat);
    CProxySection_Tile::contribute(sizeof marks_, &marks_, CkReduction::sum_ulong_long, cookie_,
                                   CkCallback(CkIndex_Main::summed(nullptr), mainProxy));
    delete m;
  }
  void advance() {
    value = next_value(value, left, beat);
    beat = 0;
    std::vector<char> data;
    for (std::size_t i = 0; i < record; ++i) data.push_back(byte_of(value, i));
    const auto number = static_cast<std::size_t>(step * picture.tiles + thisIndex);
    Ck::IO::write(session, data.data(), record, before + record * number);
    ++step;
  }
  void die() { CkDieNow(); }
};

#include "mosaic.def.h"
