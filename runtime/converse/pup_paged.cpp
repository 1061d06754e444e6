// See pup_paged.h.
#include "runtime/converse/pup_paged.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/fatal.h"
#include "runtime/converse/cmi.h"

namespace {
[[noreturn]] void failed(const pup_pagetable& table, const char* what) {
  periapt::fatal(std::string("pup_paged: ") + table.fName + " " + what, {}, std::strerror(errno),
                 "it is made in the folder where the program runs, and needs room there");
}
}  // namespace

pup_pagetable* getNewPagetable(const char* fName) {
  auto* const table = new pup_pagetable;
  table->fName = strdup((std::string(fName) + "_" + std::to_string(CmiMyPe()) + ".dat").c_str());
  table->fp = std::fopen(table->fName, "w+b");
  if (table->fp == nullptr) failed(*table, "cannot be written");
  return table;
}

std::size_t PUP_pagedDisk::seek() {
  const std::size_t within = done_ % PUP_BLOCK;
  if (std::fseek(_pagetable->fp, blocks_[done_ / PUP_BLOCK] * PUP_BLOCK + static_cast<long>(within), SEEK_SET) != 0)
    failed(*_pagetable, "cannot be positioned");
  return PUP_BLOCK - within;
}

void PUP_toPagedDisk::bytes(void* p, std::size_t n, std::size_t itemSize, PUP::dataType) {
  const char* from = static_cast<const char*>(p);
  for (std::size_t left = n * itemSize; left > 0;) {
    if (done_ == blocks_.size() * PUP_BLOCK) {
      auto& unused = _pagetable->freelist;
      blocks_.push_back(unused.empty() ? _pagetable->maxblk++ : unused.back());
      if (!unused.empty()) unused.pop_back();
    }
    const std::size_t part = std::min(left, seek());
    if (std::fwrite(from, 1, part, _pagetable->fp) != part) failed(*_pagetable, "cannot be written");
    from += part;
    left -= part;
    done_ += part;
  }
}
PUP_toPagedDisk::~PUP_toPagedDisk() {
  // What was put there before by the same address is not wanted any more.
  pup_pageentry& entry = _pagetable->table[handle];
  _pagetable->freelist.insert(_pagetable->freelist.end(), entry.blocks.begin(), entry.blocks.end());
  entry = {std::move(blocks_), done_};
}

PUP_fromPagedDisk::PUP_fromPagedDisk(void* objhandle, pup_pagetable* pgtable)
    : PUP_pagedDisk(IS_UNPACKING, objhandle, pgtable) {
  const auto found = pgtable->table.find(objhandle);
  if (found == pgtable->table.end())
    periapt::fatal("PUP_fromPagedDisk: no object of this address is in " + std::string(pgtable->fName), {},
                   "it was never put there, or was taken out already", "put it there by PUP_toPagedDisk first");
  blocks_ = std::move(found->second.blocks);
  all_ = found->second.bytes;
  pgtable->table.erase(found);
}
void PUP_fromPagedDisk::bytes(void* p, std::size_t n, std::size_t itemSize, PUP::dataType) {
  if (n * itemSize > remaining())
    periapt::fatal("PUP_fromPagedDisk: more is taken out of " + std::string(_pagetable->fName) + " than was put in", {},
                   "pup() does not read what it has written", "let pup() do the same in both directions");
  char* to = static_cast<char*>(p);
  for (std::size_t left = n * itemSize; left > 0;) {
    const std::size_t part = std::min(left, seek());
    if (std::fread(to, 1, part, _pagetable->fp) != part) failed(*_pagetable, "cannot be read");
    to += part;
    left -= part;
    done_ += part;
  }
}
PUP_fromPagedDisk::~PUP_fromPagedDisk() {
  _pagetable->freelist.insert(_pagetable->freelist.end(), blocks_.begin(), blocks_.end());
}
