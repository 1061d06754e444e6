// Files of a GPU's memory that was mapped by hand (cuMemMap), from the process whose it is to others of this host,
// which map it by them (imports.h).
//
// A file cannot be named to another process: it is handed over, through a socket. A process that has told others of
// such memory has a thread, which waits for their questions and opens the file when one comes: so no file is open
// meanwhile, which would keep memory that the program has freed. The socket's name is of the kernel's, not in a folder.
// Any user of the host may read it there (/proc/net/unix), so the number in it is no secret: each side asks the kernel
// which user the other one is, and talks to its own alone.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "machine/gpu/vendor.h"

namespace periapt::gpu {

/// What is asked for: a mapping of another process.
struct FileName {
  std::uint64_t process = 0;  ///< its this_process()
  std::uint64_t buffer = 0;   ///< Memory::buffer there
  std::uint64_t begin = 0;    ///< its addresses there
};

/// Others may ask this process for its files from now on. Any thread; a failure is the system's.
Status give_files(Driver& driver);
/// The file of a mapping that another process has and gives, which the caller closes. Waits for its answer, a second at
/// most. A failure: it was unmapped, or that process cannot be asked: it has gone, or is in a network namespace of its
/// own. `waited`, if there is one, is set where that second went by.
Result<int> ask_for_file(const Driver& driver, const FileName& name, bool* waited = nullptr);

}  // namespace periapt::gpu
