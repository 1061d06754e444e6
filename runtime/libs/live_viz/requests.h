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

/// Requests that ran when a checkpoint was made: after a restart their clients have gone, and the elements may still
/// deposit for them.
struct CutOff {
  std::vector<unsigned long long> requests;
  bool has_pieces = false;  ///< of the last of them: some elements had deposited, and the others will
  void pup(PUP::er& p) {
    p | requests;
    p | has_pieces;
  }
};

class Requests {
 public:
  /// From now on clients are heard; they wait until begin(). `before`: of the checkpoint that the run has come from.
  explicit Requests(const Setup& setup, const CutOff& before = {});
  ~Requests();
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  /// The program may be asked.
  void begin();
  /// What the elements have deposited for the request that runs.
  void assembled(const liveVizRequest& request, Image image);
  /// An element deposits for that request.
  void pieces_come(unsigned long long request);
  CutOff cut_off() const;

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
  bool has_pieces_ = false;  // what runs
  std::vector<unsigned long long> cut_off_;
};

}  // namespace periapt::live_viz
