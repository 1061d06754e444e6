// Objects that are put into a file and taken out again, each as blocks of 512 bytes, which others reuse once it is out.
// C++17: reached from pup_paged.h.
//
//   pup_pagetable* table = getNewPagetable("swap");                // the file swap_<PE>.dat
//   { PUP_toPagedDisk p(object, table); p | *object; }
//   { PUP_fromPagedDisk p(object, table); p | *object; }           // by the same address; once
#pragma once
#include <cstddef>
#include <cstdio>
#include <map>
#include <vector>

#include "runtime/pup/pup.h"

#define PUP_BLOCK 512

struct pup_pageentry {
  std::vector<long> blocks;
  std::size_t bytes;
};
struct pup_pagetable {
  std::map<void*, pup_pageentry> table;  // by the objects' addresses
  std::vector<long> freelist;            // taken out: the next to be used
  long maxblk = 0;                       // blocks in the file
  FILE* fp = nullptr;
  char* fName = nullptr;
};
pup_pagetable* getNewPagetable(const char* fName);

class PUP_pagedDisk : public PUP::er {
 public:
  std::size_t size() const override { return done_; }

 protected:
  PUP_pagedDisk(unsigned int type, void* objhandle, pup_pagetable* pgtable)
      : PUP::er(type), _pagetable(pgtable), handle(objhandle) {}
  // Goes to byte done_ of the object, and says how many bytes follow there in its block.
  std::size_t seek();

  pup_pagetable* _pagetable;
  void* handle;
  std::vector<long> blocks_;
  std::size_t done_ = 0;
};

class PUP_toPagedDisk : public PUP_pagedDisk {
 public:
  PUP_toPagedDisk(void* objhandle, pup_pagetable* pgtable) : PUP_pagedDisk(IS_PACKING, objhandle, pgtable) {}
  ~PUP_toPagedDisk() override;
  void bytes(void* p, std::size_t n, std::size_t itemSize, PUP::dataType t) override;
};

class PUP_fromPagedDisk : public PUP_pagedDisk {
 public:
  PUP_fromPagedDisk(void* objhandle, pup_pagetable* pgtable);
  ~PUP_fromPagedDisk() override;
  void bytes(void* p, std::size_t n, std::size_t itemSize, PUP::dataType t) override;
  std::size_t remaining() const override { return all_ - done_; }

 private:
  std::size_t all_ = 0;
};
