// Can a processor read an address? Asked of the kernel, which never ends the process for it.
#pragma once

namespace periapt {

/// False: reading there would be a SIGSEGV. True holds for the page at the time of the question.
bool is_readable(const void* address);

}  // namespace periapt
