// What secrets are made of, and how they are compared.
#pragma once

#include <cstddef>
#include <string>

namespace periapt {

/// Bytes that cannot be guessed, from the kernel. A kernel that gives none ends the process: nothing that needs them is
/// safe without.
void fill_random(void* bytes, std::size_t size);
std::string random_bytes(std::size_t size);

/// Whether they are the same, in a time that doesn't tell how far they are.
bool equal_secrets(const void* a, const void* b, std::size_t size);

}  // namespace periapt
