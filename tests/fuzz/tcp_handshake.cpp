// The handshake of a TCP connection: two sound sides with a stranger between them that changes what is under way.
#include "machine/tcp/handshake.h"
#include "tests/fuzz/fuzz.h"

namespace periapt::fuzz {

void target(Input input) {
  const std::string secret = "a secret of the tests", other = "another one";
  const bool knows = !input.flag();
  tcp::Handshake opener(1, 2, std::as_bytes(std::span(knows ? secret : other)));
  tcp::Handshake accepter(2, 0, std::as_bytes(std::span(secret)));
  using State = tcp::Handshake::State;
  bool changed = false;
  tcp::Handshake* from = &opener;
  tcp::Handshake* to = &accepter;
  for (int turn = 0; turn < 6; ++turn, std::swap(from, to)) {
    std::vector<std::byte> bytes = from->output();
    from->output().clear();
    const std::vector<std::byte> before = bytes;
    input.damage(bytes);
    if (input.below(8) == 7) {
      const Bytes more = input.bytes(200);
      bytes.insert(bytes.end(), more.begin(), more.end());
    }
    changed = changed || bytes != before;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t piece = std::min(1 + input.below(100), bytes.size() - at);
      const std::size_t used = to->feed(Bytes(bytes).subspan(at, piece));
      expect(used <= piece, "no more is used than was given");
      at += piece;
    }
    expect(to->state() != State::proved || to == &accepter, "only who accepts is asked for a welcome");
    if (to->state() == State::proved) {
      expect(knows, "who doesn't know the secret does not come in");
      to->welcome();
    }
  }
  for (tcp::Handshake* side : {&opener, &accepter}) {
    expect(side->state() != State::refused || !side->reason().empty(), "a refusal has a reason");
    if (!changed)
      expect(side->state() == (knows ? State::agreed : State::refused), "undisturbed, it ends as it should");
  }
}

}  // namespace periapt::fuzz
