// See liveViz.h.
#include "liveViz.h"

#include <cstring>
#include <string>
#include <utility>

#include "base/fatal.h"
#include "pieces.h"
#include "requests.h"
#include "runtime/converse/per_pe.h"

namespace periapt::live_viz {
namespace {

// The member of the newest liveVizInit().
PerPe<liveVizGroup*> member;
CkReduction::reducerType together;

// A contribution: this, and the pixels of `where`.
struct alignas(16) ImageHeader {
  liveVizRequest request;
  Rectangle where;
  int pixel_bytes;
  liveVizCombine_t combine;

  static ImageHeader& of(CkReductionMsg* message) { return *static_cast<ImageHeader*>(message->getData()); }
  byte* pixels() { return reinterpret_cast<byte*>(this + 1); }
  Piece piece() { return {where, pixels()}; }
  std::size_t bytes() const { return where.area() * static_cast<std::size_t>(pixel_bytes); }
};

CkReductionMsg* contribution(const ImageHeader& head) {
  CkReductionMsg* message = CkReductionMsg::buildNew(static_cast<int>(sizeof head + head.bytes()), nullptr, together);
  ImageHeader::of(message) = head;
  return message;
}

void expect_one_image(const ImageHeader& one, const ImageHeader& other) {
  const auto differ = [](const char* what) {
    fatal(std::string("liveViz: elements deposit for one image with different ") + what, "liveVizDeposit()", "",
          "each element deposits once for each request");
  };
  if (one.request.replyToken.request != other.request.replyToken.request) differ("requests");
  if (one.request.wid != other.request.wid || one.request.ht != other.request.ht) differ("sizes of it");
  if (one.combine != other.combine) differ("ways to combine");
  if (one.pixel_bytes != other.pixel_bytes) differ("bytes per pixel");
}

// The smallest piece that has them all.
CkReductionMsg* put_together(int count, CkReductionMsg** messages) {
  ImageHeader head = ImageHeader::of(messages[0]);
  for (int i = 1; i < count; ++i) {
    expect_one_image(head, ImageHeader::of(messages[i]));
    head.where = around(head.where, ImageHeader::of(messages[i]).where);
  }
  const bool fits = head.where == ImageHeader::of(messages[0]).where;
  CkReductionMsg* all = fits ? messages[0] : contribution(head);
  if (!fits) std::memset(ImageHeader::of(all).pixels(), 0, head.bytes());
  for (int i = fits ? 1 : 0; i < count; ++i)
    blend(ImageHeader::of(messages[i]).piece(), head.pixel_bytes, head.combine, head.where,
          ImageHeader::of(all).pixels());
  return all;
}

liveVizGroup& here(const char* function) {
  if (!member.initialized() || member.here() == nullptr)
    fatal(std::string(function) + "() is called before liveVizInit() or liveVizPollInit()", "");
  return *member.here();
}

void expect_pe_0(const char* function) {
  if (CkMyPe() != 0)
    fatal(std::string(function) + "() is called on PE " + std::to_string(CkMyPe()), "", "",
          "call it on PE 0, in the mainchare's constructor for instance");
}

void deposit(ImageHeader head, const Rectangle& where, const byte* pixels, ArrayElement* element,
             const char* function) {
  liveVizGroup& group = here(function);
  const bool floats = head.combine == sum_float_image_data || head.combine == max_float_image_data;
  if (floats != (head.pixel_bytes == sizeof(float)))
    fatal(std::string("pixels of ") + std::to_string(head.pixel_bytes) + " bytes can't be combined as " +
              (floats ? "floats" : "bytes"),
          std::string(function) + "()", "",
          "sum_float_image_data and max_float_image_data are for pix_float, the other two for bytes");
  if (head.pixel_bytes != 1 && head.pixel_bytes != 3 && head.pixel_bytes != 4)
    fatal("pixels have 1, 3 or 4 bytes, and not " + std::to_string(head.pixel_bytes), std::string(function) + "()");
  const Piece piece{where, pixels};
  if (pixels != nullptr)
    head.where = lit(piece, head.pixel_bytes, common(where, {0, 0, head.request.wid, head.request.ht}));
  CkReductionMsg* message = contribution(head);
  if (!head.where.is_empty()) copy_part(piece, head.pixel_bytes, head.where, ImageHeader::of(message).pixels());
  message->setCallback(group.whenAssembled());
  group.deposits(head.request);
  if (group.setup().is_mirrored)
    CProxy_LiveVizBoundElement(group.setup().mirror)[element->ckGetArrayIndex()].deposit(message);
  else
    element->contribute(message);
}

}  // namespace
}  // namespace periapt::live_viz

using namespace periapt::live_viz;

void liveVizRegister() { together = CkReduction::addReducer(put_together, false, "liveViz"); }
void liveVizBegin() { member.initialize(); }

// --- the group

liveVizGroup::liveVizGroup(const Setup& setup) : setup_(setup) {
  begin();
  if (CkMyPe() == 0) requests_ = new Requests(setup_);
  contribute(CkCallback(CkIndex_liveVizGroup::ready(nullptr), thisProxy[0]));
}
liveVizGroup::liveVizGroup(CkMigrateMessage* m) : CBase_liveVizGroup(m) {}
liveVizGroup::~liveVizGroup() { delete requests_; }

void liveVizGroup::begin() { member.here() = this; }

// Requests are not kept, as after a restart their clients are gone; but the one whose pieces some elements have
// deposited and others have not is ended before the next. One that no element has deposited for is not waited for, as a
// program may forget it.
void liveVizGroup::pup(PUP::er& p) {
  p | setup_;
  CutOff cut_off = requests_ != nullptr ? requests_->cut_off() : CutOff{};
  p | cut_off;
  if (!p.isUnpacking()) return;
  begin();
  if (CkMyPe() != 0) return;
  requests_ = new Requests(setup_, cut_off);
  requests_->begin();
}

void liveVizGroup::ready(CkReductionMsg* all) {
  delete all;
  requests_->begin();
}

void liveVizGroup::assembled(CkReductionMsg* message) {
  const ImageHeader head = ImageHeader::of(message);
  const Rectangle whole{0, 0, head.request.wid, head.request.ht};
  Image image{head.request.wid, head.request.ht, head.pixel_bytes, {}};
  image.pixels.resize(whole.area() * static_cast<std::size_t>(head.pixel_bytes));
  blend(ImageHeader::of(message).piece(), head.pixel_bytes, head.combine, whole, image.pixels.data());
  delete message;
  requests_->assembled(head.request, std::move(image));
}

void liveVizGroup::begun(unsigned long long request) { requests_->pieces_come(request); }

void liveVizGroup::deposits(const liveVizRequest& request) {
  if (setup_.is_polled || request.replyToken.request == begun_) return;
  begun_ = request.replyToken.request;
  thisProxy[0].begun(begun_);
}

// --- what programs call

void liveVizInit(const liveVizConfig& config, CkArrayID array, CkCallback client) {
  expect_pe_0("liveVizInit");
  Setup setup;
  setup.config = config;
  setup.client = client;
  CProxy_liveVizGroup::ckNew(setup);
}

void liveVizInit(const liveVizConfig& config, CkArrayID array, CkCallback client, CkArrayOptions& options) {
  expect_pe_0("liveVizInit");
  if (!options.populated())
    periapt::fatal(
        "options that make no elements are given", "liveVizInit()", "",
        "give those that the array was made with, or none: then deposits take turns with its own reductions");
  Setup setup;
  setup.config = config;
  setup.client = client;
  CkArrayOptions mirror(options.getStart(), options.getEnd(), options.getStep());
  mirror.bindTo(array);
  setup.mirror = CProxy_LiveVizBoundElement::ckNew(mirror);
  setup.is_mirrored = true;
  CProxy_liveVizGroup::ckNew(setup);
}

void liveVizPollInit() {
  expect_pe_0("liveVizPollInit");
  Setup setup;
  setup.config = liveVizConfig(liveVizConfig::pix_color, true);
  setup.is_polled = true;
  CProxy_liveVizGroup::ckNew(setup);
}

void liveVizDeposit(const liveVizRequest& req, int startx, int starty, int sizex, int sizey, const byte* imageData,
                    ArrayElement* client, liveVizCombine_t combine) {
  const int pixel_bytes = here("liveVizDeposit").setup().config.getBytesPerPixel();
  deposit({req, {}, pixel_bytes, combine}, {startx, starty, sizex, sizey}, imageData, client, "liveVizDeposit");
}

void liveVizDeposit(liveVizRequestMsg* message, int startx, int starty, int sizex, int sizey, const byte* imageData,
                    ArrayElement* client, liveVizCombine_t combine) {
  liveVizDeposit(message->req, startx, starty, sizex, sizey, imageData, client, combine);
  delete message;
}

void liveVizPollDeposit(ArrayElement* from, int startx, int starty, int sizex, int sizey, int imagewidth,
                        int imageheight, const byte* imageData, liveVizCombine_t combine, int bytes_per_pixel) {
  liveVizRequest request;
  request.wid = imagewidth;
  request.ht = imageheight;
  deposit({request, {}, bytes_per_pixel, combine}, {startx, starty, sizex, sizey}, imageData, from,
          "liveVizPollDeposit");
}

#include "liveViz.def.h"
