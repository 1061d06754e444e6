// What one holder of a session that writes has got of its stripes: element (session, holder) of an array. With a
// checkpoint it goes to whatever PEs the run has then, and writes from there.
#pragma once
#include <map>
#include <vector>

#include "manager.h"

namespace Ck::IO::impl {

extern CProxy_Manager managers;
extern CProxy_Holder writers;

class Holder : public CBase_Holder {
 public:
  // Bytes of all its stripes.
  explicit Holder(std::size_t bytes) : missing_(bytes) { setMigratable(false); }
  explicit Holder(CkMigrateMessage*) { setMigratable(false); }
  void pup(PUP::er& p) override;
  // Of one stripe.
  void take(std::size_t offset, std::size_t bytes, const char* data);

 private:
  struct Stripe {
    std::vector<char> data;
    std::size_t come = 0;                       // bytes of it
    std::map<std::size_t, std::size_t> ranges;  // which: begin and end of each
    // False: some of them had come before.
    bool add(std::size_t offset, std::size_t bytes);
    void pup(PUP::er& p) {
      p | data;
      p | come;
      p | ranges;
    }
  };
  std::map<std::size_t, Stripe> stripes_;
  std::size_t missing_ = 0;  // bytes that are still to be written
};

}  // namespace Ck::IO::impl
