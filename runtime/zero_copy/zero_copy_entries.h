// The receiving side of entries with arrays that are sent without a copy: see zero_copy_marshal.h.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "runtime/api/device_marshal.h"
#include "runtime/api/zero_copy_marshal.h"
#include "runtime/objects/pe_objects.h"

namespace periapt::zero_copy {

// Tags that have been matched and wait for a buffer, and buffers that wait for a tag to be matched.
struct Tags {
  struct Wanted {
    PostedCall* call;
    int index;
    int pe;
  };
  struct Buffer {
    void* bytes;
    std::size_t size;
  };
  std::unordered_map<int, Wanted> wanted;
  std::unordered_map<int, Buffer> posted;
};

// Of one PE; made when it is first needed.
class Posts {
 public:
  Tags tags;
  // An element whose calls have buffers that are being filled stays until they have run. True: it does, and migrates
  // then.
  bool holds(int array, std::uint64_t element, int to);
  void hold(int array, std::uint64_t element) { ++held_[{array, element}].calls; }
  void release(PeObjects& objects, int array, std::uint64_t element);
  // Calls whose buffers are filled, on their way through the queue.
  void add_ready(PostedCall* call) { ready_.insert(call); }
  bool take_ready(PostedCall* call) { return ready_.erase(call) != 0; }
  // What waits for CkPostBuffer(), in words, for the watchdog.
  std::string describe() const;
  std::size_t waiting() const { return tags.wanted.size(); }

 private:
  struct Held {
    int calls = 0;
    int goes_to = -1;  // PE to migrate to
  };
  std::map<std::pair<int, std::uint64_t>, Held> held_;
  std::unordered_set<PostedCall*> ready_;
};

// Those of a PE, made when they are first asked for.
Posts& posts_of(PeObjects& objects);

// The arguments of a call that is kept beyond the entry (runtime/sdag): they know their buffers without the PostedCall.
void keep_posted(void* arguments);

// An entry with such arrays is to be run: it is, or will be when they are here.
void run(PeObjects& objects, Delivery& call);
// The same for one element that a broadcast reaches. The message is shared by all of them.
void run_for_element(PeObjects& objects, int ep, void* object, int array, std::uint64_t element,
                     const Message& message);

void register_post_entries();

}  // namespace periapt::zero_copy
