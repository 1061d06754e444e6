// A recording of the order of messages: as it comes, and behind a head that is right.
#include "runtime/order/recording.h"

#include "tests/fuzz/fuzz.h"

namespace periapt::fuzz {

namespace {
void read_all(const std::string& text, const order::RecordingHead& expected) {
  Result<order::RecordingReader> reader = order::RecordingReader::of(text, expected);
  if (!reader) return expect(!reader.message().empty(), "a failure says why");
  while (true) {
    const auto event = reader->next();
    if (!event) return expect(!event.message().empty(), "a failure says why");
    if (event->kind == order::RecordingReader::Event::end) return;
    expect(event->kind == order::RecordingReader::Event::decision || event->what.source < expected.pes,
           "work comes from a PE that there is");
  }
}
}  // namespace

void target(Input input) {
  order::RecordingHead head;
  head.pes = 4;
  head.processes = 1;
  const std::string text = input.text();
  read_all(text, head);
  head.bytes = text.size();
  read_all(std::string(reinterpret_cast<const char*>(&head), sizeof head) + text, head);
}

}  // namespace periapt::fuzz
