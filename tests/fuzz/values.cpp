// What other processes of a run put, as it comes back from a launcher: values in pieces, the secret, hosts. (PMIx, PMI
// and charmrun all end here.)
#include <map>

#include "machine/bootstrap/wire.h"
#include "tests/fuzz/fuzz.h"

namespace periapt::fuzz {
namespace {

// A launcher that gives back whatever the input says.
class OddWire final : public bootstrap::Wire {
 public:
  explicit OddWire(Input input) : input_(input) {
    facts_.size = 1 + static_cast<int>(input_.below(5));
    facts_.rank = static_cast<int>(input_.below(static_cast<std::size_t>(facts_.size)));
    facts_.job = "fuzz";
    facts_.watched = true;  // it has no watchdog of its own then
    facts_.longest_value = 8 + input_.below(64);
  }
  const bootstrap::WireFacts& facts() const override { return facts_; }
  Status put(const std::string& key, const std::string& value) override {
    expect(key.size() <= facts_.longest_key && value.size() <= facts_.longest_value, "what is put keeps to the limits");
    own_[key] = value;
    return {};
  }
  Status fence() override { return {}; }
  Result<std::string> get(int, const std::string& key) override {
    const std::size_t what = input_.below(8);
    if (what == 0) return Status::failure("it has gone");
    if (what < 3 && own_.count(key) != 0) return own_[key];
    return input_.line();
  }
  void abort(int, const std::string&) override {}
  void finalize() override {}
  bool well(std::string*) override { return true; }
  int wait_fd() const override { return -1; }

 private:
  Input input_;
  bootstrap::WireFacts facts_;
  std::map<std::string, std::string> own_;
};

}  // namespace

void target(Input input) {
  auto world = bootstrap::world_on_wire(std::make_unique<OddWire>(input), {});
  if (!world) return expect(!world.message().empty(), "a failure says why");
  expect(static_cast<int>((*world)->host_of().size()) == (*world)->size(), "every process has a host");
  if (!(*world)->put("value", std::string(300, 'v'))) return;
  for (int rank = -1; rank <= (*world)->size(); ++rank) {
    Result<std::string> value = (*world)->get(rank, "value");
    expect(value.ok() || !value.message().empty(), "a failure says why");
  }
}

}  // namespace periapt::fuzz
