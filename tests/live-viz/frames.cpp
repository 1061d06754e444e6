// Shows clients pictures of which frames_test.py knows every byte: frames WAY, of
//   grey color max float floatmax   how pixels are combined; the array's own reductions carry the pieces
//   mirrored                        colors, with reductions of the program's own between them, and tiles that move
//   polled                          three images, and what is asked for further waits
//   late twice ways pixels pe nothing   mistakes
#include <algorithm>
#include <string>
#include <vector>

#include "ckcallback-ccs.h"
#include "frames.decl.h"
#include "liveViz.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ std::string way;

namespace {
constexpr int tiles = 7;

// What a client may send behind its request.
struct Shift {
  int x = 0;
  short y = 0;
  void pup(PUP::er& p) {
    p | x;
    p | y;
  }
};

CkBbox3d box() {
  CkBbox3d box;
  box.add(CkVector3d(-1, -2, -3));
  box.add(CkVector3d(1, 2, 3.5));
  return box;
}

liveVizConfig config() {
  if (way == "max") return liveVizConfig(true, false, box());
  if (way == "float" || way == "floatmax") return liveVizConfig(liveVizConfig::pix_float, false);
  liveVizConfig config(way != "grey", way == "mirrored");
  config.moreVerbose();
  config.moreVerbose();
  return config;
}
}  // namespace

class Main : public CBase_Main {
  int own_reductions_ = 0;
  CcsDelayedReply reply_;

 public:
  explicit Main(CkArgMsg* arguments) {
    way = arguments->argc > 1 ? arguments->argv[1] : "grey";
    delete arguments;
    mainProxy = thisProxy;
    CcsRegisterHandler("stop", CkCallback(CkIndex_Main::stop(nullptr), thisProxy));
    if (way == "polled") liveVizPollInit();
    CkArrayOptions options(tiles);
    CProxy_Tile array = CProxy_Tile::ckNew(options);
    const CkCallback draw(CkIndex_Tile::draw(nullptr), array);
    CkArrayOptions none;
    if (way == "polled")
      for (int image = 0; image < 3; ++image) array.poll(image);
    else if (way == "late" || way == "pe")
      array[tiles - 1].poll(0);
    else if (way == "mirrored" || way == "nothing")
      liveVizInit(config(), array, draw, way == "nothing" ? none : options);
    else
      liveVizInit(config(), array, draw);
    CkPrintf("there is a server\n");
  }
  void stop(CkCcsRequestMsg* request) {
    reply_ = request->reply;
    delete request;
    // The client has its image while reductions that were begun behind it may be under way.
    if (way == "mirrored") return CkStartQD(CkCallback(CkIndex_Main::stopped(), thisProxy));
    stopped();
  }
  void stopped() {
    CkPrintf("%d reductions of its own\n", own_reductions_);
    CcsSendDelayedReply(reply_, 0, nullptr);
    CkExit();
  }
  void counted(int number) {
    if (number != tiles) CkAbort("a reduction of the program's own has %d contributions", number);
    ++own_reductions_;
  }
};

class Tile : public CBase_Tile {
 public:
  Tile() {}
  explicit Tile(CkMigrateMessage*) {}

  // Tiles lie over each other, reach out of the image on all sides, and one shows nothing.
  void draw(liveVizRequestMsg* m) {
    if (thisIndex == 3) return deposited(m, 0, 0, 0, 0, nullptr);
    Shift shift;
    if (m->dataLen > 0) liveVizRequestUnpack(m, shift);
    const int width = m->req.wid / 3 + thisIndex, height = m->req.ht / 2;
    const int x0 = thisIndex * m->req.wid / 5 - 3 + shift.x, y0 = thisIndex * m->req.ht / 6 - 2 + shift.y;
    std::vector<byte> pixels = pattern(x0, y0, width, height, m->req.code);
    deposited(m, x0, y0, width, height, pixels.data());
  }

  void poll(int image) {
    if (way == "pe") liveVizPollInit();
    const int width = 30 + image, height = 4;
    std::vector<byte> pixels = pattern(0, thisIndex * height, width, height, image);
    liveVizPollDeposit(this, 0, thisIndex * height, width, height, width, tiles * height, pixels.data());
  }

 private:
  static bool is_float() { return way == "float" || way == "floatmax"; }
  static int channels() { return way == "grey" ? 1 : is_float() ? 4 : 3; }

  // A quarter of it is black. Floats are multiples of 1/64, so that sums are exact.
  std::vector<byte> pattern(int x0, int y0, int width, int height, int code) const {
    std::vector<byte> pixels(static_cast<std::size_t>(width * height * channels()));
    for (int y = y0, at = 0; y < y0 + height; ++y)
      for (int x = x0; x < x0 + width; ++x, at += channels()) {
        if ((x + y) % 4 == 0) continue;
        const int value = x * 3 + y * 5 + thisIndex * 40 + code;
        if (is_float()) {
          const float number = static_cast<float>(value & 31) / 64 - 0.125f;
          std::copy_n(reinterpret_cast<const byte*>(&number), sizeof number, &pixels[static_cast<std::size_t>(at)]);
        } else {
          for (int c = 0; c < channels(); ++c)
            pixels[static_cast<std::size_t>(at + c)] = static_cast<byte>(value + c * 7);
        }
      }
    return pixels;
  }

  void deposited(liveVizRequestMsg* m, int x, int y, int width, int height, const byte* pixels) {
    liveVizCombine_t combine = way == "max"        ? max_image_data
                               : way == "float"    ? sum_float_image_data
                               : way == "floatmax" ? max_float_image_data
                                                   : sum_image_data;
    if (way == "pixels") combine = sum_float_image_data;
    if (way == "ways" && thisIndex == 1) combine = max_image_data;
    if (way == "twice") liveVizDeposit(m->req, x, y, width, height, pixels, this, combine);
    liveVizDeposit(m, x, y, width, height, pixels, this, combine);
    if (way != "mirrored") return;
    const int one = 1;
    contribute(sizeof one, &one, CkReduction::sum_int, CkCallback(CkReductionTarget(Main, counted), mainProxy));
    migrateMe((CkMyPe() + 1) % CkNumPes());
  }
};

#ifdef OWN_COLORS
void liveVizFloatToRGB(liveVizRequest& req, const float* pixels, unsigned char* rgb, int count) {
  for (int i = 0; i < 3 * count; ++i)
    rgb[i] = static_cast<byte>(static_cast<int>(pixels[i / 3] * 64) + req.code + i % 3);
}
#endif

#include "frames.def.h"
