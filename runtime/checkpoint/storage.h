// Where a checkpoint lies: in a folder, or in the memory that the run keeps when its processes are killed
// (machine/bootstrap/kept_memory.h). Both hold a manifest and parts, and one checkpoint counts until the next is whole.
#pragma once
#include <memory>
#include <string>

#include "runtime/checkpoint/blocks.h"
#include "runtime/checkpoint/manifest.h"

namespace periapt::checkpoint {

class Storage {
 public:
  virtual ~Storage() = default;
  /// "log", "memory": what stands behind "checkpoint in ".
  virtual std::string name() const = 0;
  /// Of the checkpoint that counts.
  virtual Result<Manifest> manifest() const = 0;
  virtual Place place(int number, const std::string& part) const = 0;

  /// A number that no checkpoint here has, finished or not.
  virtual int next_number() const = 0;
  /// Before its parts are written.
  virtual Status prepare(int number) = 0;
  /// It counts from here on.
  virtual Status commit(const Manifest& manifest) = 0;
  /// One that was not finished.
  virtual void discard(int number) = 0;
};

std::unique_ptr<Storage> folder_storage(const std::string& folder);

/// Whether this run keeps memory, and whether it holds a checkpoint.
bool has_memory_storage();
bool has_checkpoint_in_memory();
std::unique_ptr<Storage> memory_storage();

}  // namespace periapt::checkpoint
