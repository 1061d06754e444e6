// What a plug-in's process is asked and what it answers. Numbers as this machine writes them; every array begins at a
// multiple of 8 bytes. python_host.inc reads the same.
//
//   question: length, step, pes, objects, has_positions, pairs (uint64 each); then the arrays of periapt_problem in the
//             order in which write_question() has them
//   answer:   length (uint64) of what follows, status, flags (uint32 each); then int32 places, or a text
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/loadbalance/database.h"
#include "runtime/loadbalance/plugin/balancer.h"

namespace periapt::loadbalance {

enum class AnswerStatus : std::uint32_t { right = 0, wrong = 1 };
constexpr std::uint32_t flag_messages = 1;  // of the answer to being started: it wants messages

struct AnswerHead {
  std::uint64_t length;  // of all behind this number
  std::uint32_t status, flags;
};

// `objects` with messages by place, where the balancer wants them.
std::vector<char> write_question(const LoadDatabase& database, bool messages);
// Of a question without its length. Points into it.
periapt_problem read_question(const std::vector<char>& question);
std::vector<char> write_answer(AnswerStatus status, std::uint32_t flags, const void* data, std::size_t bytes);

}  // namespace periapt::loadbalance
