// Frames between charmrun, its agents and processes, cut at any place; texts in them; the plan that an agent gets.
#include "machine/bootstrap/frames.h"
#include "tests/fuzz/fuzz.h"
#include "tools/charmrun/plan.h"

namespace periapt::fuzz {
namespace {

void body_of(const bootstrap::Frame& frame) {
  std::vector<std::string> texts;
  if (bootstrap::unpack_texts(frame.body, texts)) expect(bootstrap::pack_texts(texts) == frame.body, "texts are whole");
  Result<charmrun::RunPlan> plan = charmrun::decode_plan(frame.body);
  if (!plan) return expect(!plan.message().empty(), "a failure says why");
  expect(plan->here.first_rank >= 0 && plan->here.ranks >= 0 && plan->here.first_rank + plan->here.ranks <= plan->size,
         "the ranks of a host are among the run's");
  const std::string again = charmrun::encode_plan(*plan);
  Result<charmrun::RunPlan> twice = charmrun::decode_plan(again);
  expect(twice && charmrun::encode_plan(*twice) == again, "a plan that was read can be written and read again");
}

}  // namespace

void target(Input input) {
  bootstrap::FrameReader reader;
  std::size_t fed = 0, taken = 0;
  bool failed = false;
  while (input.more()) {
    const Bytes piece = input.bytes(1 + input.below(300));
    reader.feed(reinterpret_cast<const char*>(piece.data()), piece.size());
    fed += piece.size();
    for (;;) {
      Result<std::optional<bootstrap::Frame>> next = reader.next();
      expect(!failed || !next, "a failure stays one");
      failed = !next;
      if (failed || !next->has_value()) break;
      taken += bootstrap::kFrameHead + (*next)->body.size();
      body_of(**next);
    }
  }
  expect(taken <= fed, "nothing comes out that was not put in");
}

}  // namespace periapt::fuzz
