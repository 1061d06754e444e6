// Which program wrote a checkpoint: what it registers, in order. Numbers of chares, entries and reducers stand in a
// checkpoint; they mean the same to a program that registers the same.
#pragma once
#include <cstdint>
#include <string>

namespace periapt::checkpoint {

// A line for each class, entry, message and readonly.
std::string registered_text();
std::uint64_t identity_of(const std::string& registered);
// "readonly int steps" of the first line in which the texts differ, and which of them has it.
std::string first_difference(const std::string& written, const std::string& here);

}  // namespace periapt::checkpoint
