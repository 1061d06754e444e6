// Which program this is: what it registers, in order. Numbers of chares, entries and reducers stand in checkpoints and
// recordings; they mean the same to a program that registers the same.
#pragma once
#include <string>

namespace periapt {

// A line for each class, entry, message and readonly.
std::string registered_text();
// "readonly int steps" of the first line in which the texts differ, and which of them has it.
std::string first_difference(const std::string& written, const std::string& here);

}  // namespace periapt
