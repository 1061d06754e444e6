// What a client of liveViz asks for, and what it is told first. C++17: reached from liveViz.h.
//
// On the wire, by PUP_toNetwork:
//   lvConfig   asked with nothing; answered with version (1), whether there are colors, whether the client is to
//              ask again and again, whether there are three dimensions and, if so, the corners of their box: ints
//              and doubles
//   lvImage    asked with version (2), code, width, height, compression, quality, and any further bytes for the
//              program; answered with the image: rows from the top, a byte (grey) or three (red, green, blue) a
//              pixel
#pragma once
#include "runtime/ccs/ccs.h"
#include "runtime/containers/vector3d.h"
#include "runtime/pup/pup.h"

typedef unsigned char byte;

struct liveVizRequest {
  typedef enum { compressionNone = 0, compressionJPEG = 1, compressionRunLength = 2 } compressionType_t;

  CcsDelayedReply replyToken = {};
  int code = 0;  // whatever the client and the program mean by it
  int wid = 0, ht = 0;
  // JPEG is refused. Runs: pairs of a count (1 to 255) and the byte that comes so often.
  int compressionType = compressionNone;
  int compressionQuality = 0;

  // As on the wire, without the reply.
  void pupNetwork(PUP::er& p);
};

// What a client in three dimensions sends behind its request: the axes and the origin of its screen, and how deep it
// sees.
struct liveVizRequest3d {
  CkVector3d x, y, z, o;
  double minZ, maxZ;
  void pup(PUP::er& p) {
    p | x;
    p | y;
    p | z;
    p | o;
    p | minZ;
    p | maxZ;
  }
};

class liveVizConfig {
 public:
  typedef enum {
    pix_greyscale = 0,  // a byte
    pix_color = 1,      // red, green, blue: three bytes
    pix_float = 2       // a float, that liveVizFloatToRGB() makes a color of
  } pixel_t;

  // serverPush: clients are to ask again and again; otherwise only when what they look at has changed.
  liveVizConfig(pixel_t pixels = pix_greyscale, bool serverPush = false) : pixels_(pixels), push_(serverPush) {}
  liveVizConfig(bool isColor, bool serverPush) : liveVizConfig(isColor ? pix_color : pix_greyscale, serverPush) {}
  // The client is to look into that box from any side.
  liveVizConfig(pixel_t pixels, bool serverPush, const CkBbox3d& box) : liveVizConfig(pixels, serverPush) {
    is_3d_ = true;
    box_ = box;
  }
  liveVizConfig(bool isColor, bool serverPush, const CkBbox3d& box)
      : liveVizConfig(isColor ? pix_color : pix_greyscale, serverPush, box) {}

  // Once: new clients are told of; twice: their requests too.
  void moreVerbose() { ++verbose_; }
  bool getVerbose(int level) const { return verbose_ >= level; }

  bool getColor() const { return pixels_ == pix_color; }
  // While an image is put together, and on the wire.
  int getBytesPerPixel() const { return pixels_ == pix_greyscale ? 1 : pixels_ == pix_color ? 3 : 4; }
  int getNetworkBytesPerPixel() const { return pixels_ == pix_greyscale ? 1 : 3; }
  bool getPush() const { return push_; }
  bool get3d() const { return is_3d_; }
  const CkBbox3d& getBox() const { return box_; }

  void pupNetwork(PUP::er& p);
  void pup(PUP::er& p) {
    p | pixels_;
    p | push_;
    p | is_3d_;
    p | box_;
    p | verbose_;
  }

 private:
  pixel_t pixels_;
  bool push_ = false;
  bool is_3d_ = false;
  CkBbox3d box_;
  int verbose_ = 0;
};
