// What is said when a program is ended by a signal of its own making: an invalid pointer, abort(), a division by zero.
#pragma once

namespace periapt {

// Installs the handlers, where no sanitizer or library has its own. Once a process.
void catch_crashes();
// A stack for the handlers of the calling thread, so that an overflow of its own can be told too.
void give_crash_stack();

}  // namespace periapt
