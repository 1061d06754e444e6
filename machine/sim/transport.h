// The simulated transport: the contract of machine/ucx-like/transport.h in virtual time, for any number of workers in
// one process. What can happen to a network happens to it when it is asked to: delay, loss, duplicates, disorder, no
// resource, workers that die; all of it follows from a seed, so that a failure can be had again.
//
//   option "sim": "seed=7,loss=0.1,delay=3us,topology=torus:4x4" (options.h), "name=x" for a network apart from others
//
// Packets travel by the model of model.h. Under the messages lies what a reliable network does: numbers, answers,
// sending again. With raw=1 it does not: a message that is lost stays lost, one that comes twice comes twice.
//
// Virtual time moves in progress(): what is due is done; when nothing is due for the caller, time goes on to the next
// thing that happens anywhere. Calls in the same order make the same run. Threads may each have workers of their own.
#pragma once

#include <cstdint>
#include <string>

#include "machine/ucx-like/transport.h"

namespace periapt::sim {

extern const ucx::TransportFactory factory;

/// Ends a worker of the network `name` as kill -9 would: it says nothing more, its peers find out after a while. False:
/// there is none.
bool kill_worker(const std::string& name, ucx::PeerId worker);

/// What a network has done so far.
struct NetworkCounts {
  std::uint64_t packets = 0, lost = 0, duplicated = 0, delayed = 0, sent_again = 0, refused = 0;
  std::uint64_t time = 0;  ///< virtual, ps
};
NetworkCounts counts_of(const std::string& name);

}  // namespace periapt::sim
