// Verbs over the fake library pass the suite: as it is; with a device that takes nothing within a request and tells the
// completions of different queue pairs in any order; where queue pairs break again and again; and where none ever
// carries anything, so that all goes over TCP; where messages go as datagrams as long as they fit, of which some are
// lost, late or come twice; and where links change from datagrams to queue pairs while messages are under way.
#include "tests/machine/conformance.h"

#include "machine/verbs/transport.h"
#include "tests/verbs/fake_verbs.h"

namespace {

using periapt::verbs::factory;

periapt::fake_verbs::InPlace in_place;

void set_device(unsigned seed, unsigned inline_most, unsigned break_one_in = 0, bool port_down = false) {
  for (unsigned* one_in :
       {&periapt::fake_verbs::faults().datagrams_lost_one_in, &periapt::fake_verbs::faults().datagrams_late_one_in,
        &periapt::fake_verbs::faults().datagrams_twice_one_in})
    *one_in = 0;
  periapt::fake_verbs::faults().port_down = port_down;
  periapt::fake_verbs::faults().break_one_in = break_one_in;
  periapt::fake_verbs::faults().seed = seed;
  periapt::fake_verbs::faults().inline_most = inline_most;
}

const periapt::ucx::TransportFactory plain = {
    .name = factory.name,
    .probe = factory.probe,
    .open =
        [](const periapt::ucx::Device& device, const periapt::ucx::OpenRequest& request) {
          set_device(0, 256);
          return factory.open(device, request);
        },
};
const periapt::ucx::TransportFactory shuffled = {
    .name = factory.name,
    .probe = factory.probe,
    .open =
        [](const periapt::ucx::Device& device, const periapt::ucx::OpenRequest& request) {
          set_device(7, 0);
          return factory.open(device, request);
        },
};

const periapt::ucx::TransportFactory breaking = {
    .name = factory.name,
    .probe = factory.probe,
    .open =
        [](const periapt::ucx::Device& device, const periapt::ucx::OpenRequest& request) {
          set_device(0, 256, 30);
          return factory.open(device, request);
        },
};
const periapt::ucx::TransportFactory around = {
    .name = factory.name,
    .probe = factory.probe,
    .open =
        [](const periapt::ucx::Device& device, const periapt::ucx::OpenRequest& request) {
          set_device(0, 256, 0, true);
          return factory.open(device, request);
        },
};
const periapt::ucx::TransportFactory lossy = {
    .name = factory.name,
    .probe = factory.probe,
    .open =
        [](const periapt::ucx::Device& device, const periapt::ucx::OpenRequest& request) {
          set_device(0, 256);
          periapt::fake_verbs::faults().datagrams_lost_one_in = 50;
          periapt::fake_verbs::faults().datagrams_late_one_in = 10;
          periapt::fake_verbs::faults().datagrams_twice_one_in = 20;
          return factory.open(device, request);
        },
};

}  // namespace

PERIAPT_CONFORMS(Plain, (periapt::conformance::Subject{
                            .factory = &plain, .options = {{"+net-devices", "127.0.0.1"}}, .many = 16}));
PERIAPT_CONFORMS(Shuffled, (periapt::conformance::Subject{
                               .factory = &shuffled, .options = {{"+net-devices", "127.0.0.1"}}, .many = 16}));
PERIAPT_CONFORMS(Breaking, (periapt::conformance::Subject{
                               .factory = &breaking, .options = {{"+net-devices", "127.0.0.1"}}, .many = 16}));
PERIAPT_CONFORMS(Around,
                 (periapt::conformance::Subject{.factory = &around,
                                                .options = {{"+net-devices", "127.0.0.1"}, {"+verbs-patience", "0"}},
                                                .many = 16}));
PERIAPT_CONFORMS(Datagrams, (periapt::conformance::Subject{.factory = &lossy,
                                                           .options = {{"+net-devices", "127.0.0.1"},
                                                                       {"+verbs-datagrams-from", "0"},
                                                                       {"+verbs-connect-after", "1000000"}},
                                                           .many = 16}));
PERIAPT_CONFORMS(ChangingOver, (periapt::conformance::Subject{.factory = &lossy,
                                                              .options = {{"+net-devices", "127.0.0.1"},
                                                                          {"+verbs-datagrams-from", "0"},
                                                                          {"+verbs-connect-after", "20"}},
                                                              .many = 16}));
