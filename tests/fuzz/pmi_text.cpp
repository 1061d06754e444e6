// What PMI servers say: lines of PMI-1, records of PMI-2, values as text, and the mapping of processes to hosts.
#include "machine/bootstrap/pmi_text.h"

#include "machine/bootstrap/process_mapping.h"
#include "tests/fuzz/fuzz.h"

namespace periapt::fuzz {
namespace {

void fields(const std::string& text) {
  using namespace bootstrap;
  for (const PmiFields& found : {parse_pmi1(text), parse_pmi2(text)}) {
    for (const auto& [name, value] : found) expect(!name.empty(), "a field has a name");
    static_cast<void>(pmi_number(found, "rc", 0));
  }
  const long length = parse_pmi2_length(text.substr(0, kPmi2LengthDigits));
  expect(length >= -1 && length <= 999'999, "a length is none, or has six digits");
  expect(shown(text).size() <= 210, "what is shown of it is short");
}

void value(const std::string& text) {
  std::string bytes;
  if (!bootstrap::decode_text(text, bytes)) return;
  expect(bootstrap::encode_text(bytes).size() == text.size(), "what was decoded has the length that it was encoded to");
}

void mapping(const std::string& text, int size) {
  Result<std::vector<int>> hosts = bootstrap::parse_process_mapping(text, size);
  if (!hosts) return expect(!hosts.message().empty(), "a failure says why");
  expect(static_cast<int>(hosts->size()) == size, "there is a host for every process");
}

// Bytes of any kind must come back as they were.
void there_and_back(const std::string& bytes) {
  std::string again;
  expect(bootstrap::decode_text(bootstrap::encode_text(bytes), again) && again == bytes, "encoding loses nothing");
}

}  // namespace

void target(Input input) {
  const std::size_t what = input.below(4);
  const int size = 1 + static_cast<int>(input.below(64));
  const std::string text = input.text();
  if (what == 0) fields(text);
  if (what == 1) value(text);
  if (what == 2) mapping(text, size);
  if (what == 3) there_and_back(text);
}

}  // namespace periapt::fuzz
