// periapt-doctor: what was compiled in, found, usable and chosen on this host, and how to mend what is not as it should
// be.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/child_processes.h"
#include "machine/layer/net_options.h"
#include "tools/doctor/finding.h"

int main(int argc, char** argv) {
  using namespace periapt::doctor;
  periapt::keep_ended_children();
  // The options of a run about the network count here as they do there.
  auto options = periapt::machine::take_net_options(argc, argv);
  auto settings = options ? periapt::machine::settings_of(*options) : options.status();
  if (!settings) {
    std::fprintf(stderr, "periapt-doctor: %s\n", settings.message().c_str());
    return 1;
  }
  CLI::App app("Looks at this host with Periapt's eyes: what is there, what works, what to do about the rest.");
  bool json = false, all = false;
  app.add_flag("--json", json, "for programs");
  app.add_flag("-a,--all", all, "what to do about things that nobody needs, too");
  app.footer(
      "Options of a run about the network (+transports, +net-devices, +transport-path ...) count here as they do "
      "there.\n"
      "The status is 0 when programs can run here, 1 when something is broken.");
  // charmrun tells every program of how many PEs it is: of no matter here.
  std::vector<char*> own;
  for (int i = 0; i < argc; ++i) {
    if (argv[i][0] != '+')
      own.push_back(argv[i]);
    else if (std::strcmp(argv[i], "+ppn") == 0)
      ++i;
  }
  CLI11_PARSE(app, static_cast<int>(own.size()), own.data());

  // Under a launcher one process a host speaks.
  auto world = periapt::bootstrap::World::find();
  if (world.ok()) {
    const std::vector<int>& hosts = (*world)->host_of();
    int rank = (*world)->rank();
    auto first = std::find(hosts.begin(), hosts.end(), hosts[static_cast<std::size_t>(rank)]);
    if (first - hosts.begin() != rank) return (*world)->finalize(), 0;
  }

  Findings findings;
  probe_build(findings);
  probe_run(findings, world);
  probe_workers(findings, options->workers);
  probe_transports(findings, *settings);
  probe_choice(findings, *settings);
  probe_launchers(findings);
  probe_cores(findings);
  probe_limits(findings);
  probe_sharing(findings);
  probe_devices(findings);
  if (world.ok()) (*world)->finalize();
  std::fputs((json ? as_json(findings) : as_text(findings, all)).c_str(), stdout);
  for (const Finding& finding : findings) {
    if (finding.state == Availability::broken) return 1;
  }
  return 0;
}
