// The nodelist of charmrun, and the words of commands in it.
#include "tools/charmrun/nodelist.h"

#include <numeric>

#include "tests/fuzz/fuzz.h"
#include "tools/charmrun/remote_shell.h"

namespace periapt::fuzz {

void target(Input input) {
  const int processes = 1 + static_cast<int>(input.below(100));
  const std::string text = input.text();
  static_cast<void>(charmrun::split_command(text));
  Result<std::vector<charmrun::Host>> hosts = charmrun::parse_nodelist(text, "main", "fuzz");
  if (!hosts) return expect(hosts.message().rfind("fuzz", 0) == 0, "a failure names the file");
  expect(!hosts->empty(), "there is a host");
  const std::vector<int> shares = charmrun::share_processes(*hosts, processes);
  expect(shares.size() == hosts->size() && std::accumulate(shares.begin(), shares.end(), 0) == processes,
         "every process has a host");
  for (const charmrun::Host& host : *hosts) {
    expect(!host.name.empty() && host.name[0] != '-', "a name is no option of the remote shell");
    expect(host.cpus >= 1, "a share is positive");
  }
}

}  // namespace periapt::fuzz
