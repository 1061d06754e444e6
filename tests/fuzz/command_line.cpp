// Command lines: options of the layout and of the network, and the text of +pemap.
#include <string>
#include <vector>

#include "machine/bootstrap/layout.h"
#include "machine/layer/net_options.h"
#include "tests/fuzz/fuzz.h"

namespace periapt::fuzz {
namespace {

// The input as a command line: an argument a line. `take` shall leave what it does not know, and a null at the end.
template <class Take>
void command_line(Input input, Take take) {
  std::vector<std::string> words = {"program"};
  while (input.more()) words.push_back(input.line());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  int argc = static_cast<int>(words.size());
  const auto result = take(argc, argv.data());
  expect(result.ok() || !result.message().empty(), "a failure says why");
  expect(argc >= 1 && argc <= static_cast<int>(words.size()) && argv[0] == words[0].data(), "the program's name stays");
  if (result.ok()) expect(argv[static_cast<std::size_t>(argc)] == nullptr, "the list ends with a null");
}

}  // namespace

void target(Input input) {
  const std::size_t what = input.below(3);
  if (what == 0) return command_line(input, bootstrap::take_layout_options);
  if (what == 1) {
    // A +transport-path is text here like any other: nothing is loaded.
    return command_line(
        input, [](int& argc, char** argv) { return machine::take_net_options(argc, argv, machine::transports()); });
  }
  Result<std::vector<int>> cpus = bootstrap::parse_pe_map(input.text());
  if (!cpus) return expect(!cpus.message().empty(), "a failure says why");
  expect(!cpus->empty() && cpus->size() <= 65536, "a map names cpus, and not too many");
  for (int cpu : *cpus) expect(cpu >= 0, "a cpu's number is not negative");
}

}  // namespace periapt::fuzz
