// How many bytes of arguments travel inside a queue slot, without a message. C++17: reached from charm++.h.
#pragma once
#include <cstddef>

namespace periapt {
constexpr std::size_t inline_arguments_max = 48;
}
