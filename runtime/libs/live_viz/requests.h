// What clients ask for, one after the other, and what they get. On PE 0.
#pragma once
#include <deque>
#include <string>
#include <vector>

#include "liveViz.h"

namespace periapt::live_viz {

/// Of a client or of the program, with its pixels as they are put together.
struct Image {
  int width, height;
  int pixel_bytes;
  std::vector<byte> pixels;
};

class Requests {
 public:
  /// From now on clients are heard; they wait until begin(). `cut_off`: runs() in a checkpoint that the run has come
  /// from.
  explicit Requests(const Setup& setup, unsigned long long cut_off = 0);
  ~Requests();
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  /// The program may be asked.
  void begin();
  /// What the elements have deposited for the request that runs.
  void assembled(const liveVizRequest& request, Image image);
  /// The request whose pieces come; 0: none.
  unsigned long long runs() const { return runs_; }

 private:
  struct Waiting {
    liveVizRequest request;
    std::string more;
  };
  static void on_config(void* self, int bytes, const void* request);
  static void on_image(void* self, int bytes, const void* request);
  std::string read(const void* bytes, std::size_t length, Waiting& waiting) const;
  void go_on();
  void answer(liveVizRequest request, const Image& image) const;

  const Setup setup_;
  std::deque<Waiting> waiting_;
  std::deque<Image> images_;  // polled: not asked for yet
  bool begun_ = false;
  unsigned long long runs_ = 0;
  bool is_cut_off_ = false;  // what runs: its client has gone, and its pieces still come
};

}  // namespace periapt::live_viz
