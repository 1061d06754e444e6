// What processes tell each other of their part of a run, and what all of them make of it.
#include "machine/bootstrap/job_layout.h"

#include "tests/fuzz/fuzz.h"

namespace periapt::fuzz {
namespace {

using bootstrap::Member;

Member read(Input& input) {
  const std::string text = input.line();
  Result<Member> told = Member::decode(text);
  if (told) {
    Result<Member> again = Member::decode(told->encode());
    expect(again && again->pes == told->pes && again->usable.cpus == told->usable.cpus, "what was read can be told on");
    return *told;
  }
  expect(!told.message().empty(), "a failure says why");
  Member plain;
  plain.usable.cpus = {0, 1};
  return plain;
}

}  // namespace

void target(Input input) {
  bootstrap::LayoutRequest request;
  if (input.flag()) request.pes = static_cast<int>(input.below(64)) + 1;
  if (input.flag()) request.pes_a_process = static_cast<int>(input.below(8)) + 1;
  std::vector<Member> members;
  for (std::size_t count = 1 + input.below(5); count > 0; --count) {
    const int host = static_cast<int>(input.below(3));
    members.push_back(read(input));
    members.back().host = host;
  }
  request.pe_map = input.flag() ? input.line() : "";
  const int self = static_cast<int>(members.size()) - 1;
  static_cast<void>(bootstrap::pes_of_member(request, self + 1).ok());
  Result<bootstrap::JobLayout> last = bootstrap::resolve_job(request, members, self);
  Result<bootstrap::JobLayout> first = bootstrap::resolve_job(request, members, 0);
  expect(first.ok() == last.ok() && first.message() == last.message(), "all members fail alike");
  if (!first) return;
  expect(first->member_of == last->member_of && first->layout.process_of == last->layout.process_of,
         "all members see the same run");
  expect(last->member_of[static_cast<std::size_t>(last->process)] == self, "a process knows its place");
}

}  // namespace periapt::fuzz
