// The registry of PUP::able classes, and how such an object goes through a stream.
//
// Lookups happen for every object and take no lock: they read an immutable table that registration replaces. Old tables
// are kept until the process ends; there are as many as registrations, all at start-up.
#include "runtime/pup/able.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <typeinfo>
#include <vector>

#include "base/fnv1a.h"
#include "base/hexadecimal.h"
#include "runtime/pup/memory.h"
#include "runtime/pup/operators.h"

namespace PUP {
namespace {

struct RegisteredClass {
  able::PUP_ID id;
  std::string name;
  able::constructor_function make;
};
typedef std::vector<RegisteredClass> Table;  // ordered by id

bool before(const able::PUP_ID& a, const able::PUP_ID& b) { return std::memcmp(a.hash, b.hash, able::PUP_ID::len) < 0; }

class Registry {
 public:
  static Registry& get() {
    static Registry* the_one = new Registry;  // never destroyed: objects may be pupped while statics are
    return *the_one;
  }

  const RegisteredClass* find(const able::PUP_ID& id) const {
    const Table* table = current_.load(std::memory_order_acquire);  // pairs with the release in add()
    auto at = std::lower_bound(table->begin(), table->end(), id,
                               [](const RegisteredClass& e, const able::PUP_ID& i) { return before(e.id, i); });
    return at != table->end() && at->id == id ? &*at : nullptr;
  }

  void add(const RegisteredClass& entry) {
    std::lock_guard<std::mutex> lock(writers_);
    auto next = std::make_unique<Table>(*current_.load(std::memory_order_relaxed));
    auto at = std::lower_bound(next->begin(), next->end(), entry.id,
                               [](const RegisteredClass& e, const able::PUP_ID& i) { return before(e.id, i); });
    if (at == next->end() || at->id != entry.id) {
      next->insert(at, entry);
    } else if (at->name == entry.name) {
      if (at->make == entry.make) return;
      *at = entry;
    } else {
      detail::raise(error::kind::misuse, nullptr,
                    "PUP::able: the names " + at->name + " and " + entry.name +
                        " have the same hash; register one of them under another name with PUPable_reg2.");
    }
    current_.store(next.get(), std::memory_order_release);
    tables_.push_back(std::move(next));
  }

 private:
  Registry() {
    tables_.push_back(std::make_unique<Table>());
    current_.store(tables_.back().get());
  }

  std::atomic<const Table*> current_;
  std::mutex writers_;
  std::vector<std::unique_ptr<Table>> tables_;
};

const able::PUP_ID null_id(0);

std::string hex(const able::PUP_ID& id) { return "0x" + periapt::hexadecimal(id.hash); }

}  // namespace

able::~able() {}
void able::pup(er&) {}

/// Big-endian, so that it prints the same everywhere. Zero is for null.
void able::PUP_ID::setName(const char* name) {
  std::uint64_t h = periapt::fnv1a(name, std::strlen(name));
  if (!h) h = 1;
  for (int i = 0; i < len; ++i) hash[i] = static_cast<unsigned char>(h >> (56 - 8 * i));
}

able::PUP_ID able::register_constructor(const char* className, constructor_function fn) {
  PUP_ID id(className);
  Registry::get().add({id, className, fn});
  return id;
}

able::constructor_function able::get_constructor(const PUP_ID& id) {
  if (const RegisteredClass* e = Registry::get().find(id)) return e->make;
  detail::raise(error::kind::unknown_type, nullptr,
                std::string("PUP::able: no class with the id ") + hex(id) + " is registered");
}

able* able::clone() const {
  able* self = const_cast<able*>(this);
  detail::counter sizing;
  self->pup(sizing);
  std::vector<char> buffer(sizing.size());
  detail::writer packing(buffer.data(), buffer.size());
  self->pup(packing);
  std::unique_ptr<able> copy(get_constructor(get_PUP_ID())());
  detail::reader unpacking(buffer.data(), buffer.size());
  copy->pup(unpacking);
  return copy.release();
}

void er::object(able** a) {
  able::PUP_ID id;
  if (!isUnpacking() && *a) {
    id = (*a)->get_PUP_ID();
    if (id == null_id || !Registry::get().find(id)) {
      detail::raise(
          error::kind::unknown_type, this,
          std::string("PUP::able: an object of a class that is not registered cannot be packed (mangled name ") +
              typeid(**a).name() +
              "). Name the class in a .ci file of the program (PUPable Name;), or call PUPable_reg(Name) at "
              "start-up in every process;");
    }
  }
  id.pup(*this);
  if (id == null_id) {
    if (isUnpacking()) *a = nullptr;
    return;
  }
  const RegisteredClass* entry = Registry::get().find(id);
  if (!entry) {
    detail::raise(
        error::kind::unknown_type, this,
        std::string("PUP::able: an object of a class with the id ") + hex(id) +
            " arrived, and no class registered in this process has that id. Probably PUPable_reg(Name) (or "
            "\"PUPable Name;\" in a .ci module that is registered) did not run here; or the pup routines before "
            "it packed and unpacked different bytes;");
  }
  if (isUnpacking()) *a = entry->make();
  if (hasComments()) syncComment(sync_begin_object, entry->name.c_str());
  detail::scope here(*this, detail::signature<able>);
  (*a)->pup(*this);
  syncComment(sync_end_object);
}

}  // namespace PUP
