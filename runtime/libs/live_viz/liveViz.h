// -module liveViz: pictures of a running program, for clients that ask over TCP (docs/liveviz.md). C++17.
//
// A client asks for an image of some size; the callback of liveVizInit() is called with the request; each element of
// the array deposits its piece, and the pieces become the image that the client gets. One request is worked on at a
// time.
//
//   liveVizInit(liveVizConfig(liveVizConfig::pix_color, true), cells, CkCallback(CkIndex_Cell::draw(nullptr), cells),
//   options); void Cell::draw(liveVizRequestMsg* m) { liveVizDeposit(m, x, y, width, height, rgb, this); }
//
// Polled, the program deposits images when it has them, and each is for the client that asks next:
//
//   liveVizPollInit();
//   void Cell::step() { liveVizPollDeposit(this, x, y, width, height, imageWidth, imageHeight, rgb); }
#pragma once
#include <vector>

#include "colorScale.h"
#include "liveViz0.h"
#include "runtime/api/array_map.h"
#include "runtime/api/array_options.h"
#include "runtime/api/callback.h"
#include "runtime/api/objects.h"
#include "runtime/pup/network.h"

// What becomes of pixels that several pieces have. An image begins black, with zeros: so a maximum is never below 0.
// Bytes are added up to 255.
typedef enum { sum_image_data, max_image_data, sum_float_image_data, max_float_image_data } liveVizCombine_t;

namespace periapt::live_viz {
// What every PE has to know.
class Setup {
 public:
  liveVizConfig config;
  CkCallback client;
  CkArrayID mirror;  // bound to the program's array: it does the reductions
  bool is_mirrored = false;
  bool is_polled = false;
  void pup(PUP::er& p) {
    p | config;
    p | client;
    p | mirror;
    p | is_mirrored;
    p | is_polled;
  }
};
class Requests;
}  // namespace periapt::live_viz

#include "liveViz.decl.h"

class liveVizRequestMsg : public CMessage_liveVizRequestMsg {
 public:
  liveVizRequest req;
  char* data;   // what the client sent behind its request
  int dataLen;  // bytes

  static liveVizRequestMsg* buildNew(const liveVizRequest& req, const void* data, int dataLen);
};
typedef liveVizRequestMsg liveVizPollRequestMsg;

// On PE 0. `client` is called with a liveVizRequestMsg; then each element of the array deposits once. The pieces go by
// a reduction of the array itself, in turn with those of the program.
void liveVizInit(const liveVizConfig& config, CkArrayID array, CkCallback client);
// The same with reductions of their own, those of elements bound to the array's: made with `options`, as the array was.
void liveVizInit(const liveVizConfig& config, CkArrayID array, CkCallback client, CkArrayOptions& options);

// Rows of pixels from the top, without gaps; what is outside of the image is left out. Sizes 0 and no pixels: nothing
// to show here.
void liveVizDeposit(const liveVizRequest& req, int startx, int starty, int sizex, int sizey,
                    const unsigned char* imageData, ArrayElement* client, liveVizCombine_t combine = sum_image_data);
// Deletes the message.
void liveVizDeposit(liveVizRequestMsg* message, int startx, int starty, int sizex, int sizey,
                    const unsigned char* imageData, ArrayElement* client, liveVizCombine_t combine = sum_image_data);

// On PE 0, before the array is made.
void liveVizPollInit();
// Each element deposits once for each image, all with the same sizes of it. Images wait for clients in PE 0's memory.
// bytes_per_pixel: 1 (grey), 3 (colors), 4 (a float).
void liveVizPollDeposit(ArrayElement* from, int startx, int starty, int sizex, int sizey, int imagewidth,
                        int imageheight, const unsigned char* imageData, liveVizCombine_t combine = sum_image_data,
                        int bytes_per_pixel = 3);

// To be written by a program that deposits floats: colors of the pixels of an image that is complete. Called on PE 0.
// One that is there colors 0 to 1 by colorScale().
void liveVizFloatToRGB(liveVizRequest& req, const float* floatSrc, unsigned char* destRgb, int nPixels);

// What the client sent behind its request, which is all that `dest` pups. Where it sent less, or more, there is a
// warning, and what is missing is zero.
bool periaptLiveVizBytes(const liveVizRequestMsg* message, std::size_t wanted, char* padded);
template <class T>
void liveVizRequestUnpack(const liveVizRequestMsg* message, T& dest) {
  PUP_toNetwork_sizer sizer;
  sizer | dest;
  std::vector<char> bytes(sizer.size() + 1);
  periaptLiveVizBytes(message, sizer.size(), bytes.data());
  PUP_toNetwork_unpack unpack(bytes.data(), sizer.size());
  unpack | dest;
}

class liveVizGroup : public CBase_liveVizGroup {
 public:
  explicit liveVizGroup(const periapt::live_viz::Setup& setup);
  explicit liveVizGroup(CkMigrateMessage* m);
  ~liveVizGroup() override;
  void pup(PUP::er& p) override;
  // On PE 0: every PE has its member; all of an image has come; and elements of a PE have begun to deposit for a
  // request.
  void ready(CkReductionMsg* all);
  void assembled(CkReductionMsg* image);
  void begun(unsigned long long request);

  // An element here deposits.
  void deposits(const liveVizRequest& request);

  const periapt::live_viz::Setup& setup() const { return setup_; }
  CkCallback whenAssembled() const { return CkCallback(CkIndex_liveVizGroup::assembled(nullptr), thisProxy[0]); }

 private:
  void begin();
  unsigned long long begun_ = 0;  // the request that elements here deposited for last
  periapt::live_viz::Setup setup_;
  periapt::live_viz::Requests* requests_ = nullptr;  // on PE 0
};

class LiveVizBoundElement : public CBase_LiveVizBoundElement {
 public:
  LiveVizBoundElement() {}
  explicit LiveVizBoundElement(CkMigrateMessage*) {}
  void deposit(CkReductionMsg* piece) { contribute(piece); }
};
