// Entries with arrays that are sent without a copy. See zero_copy_entries.h.
//
// nocopy: the elements are fetched into a message that is like the one that came but holds them, and that goes through
// the queue like any other: should its receiver have moved on meanwhile, it is forwarded whole.
//
// nocopypost: the post entry method runs at once. Each array is moved when its tag has been matched and its buffer is
// posted; when all of them are there, a message with the other arguments goes through the queue, which the entry runs
// with. The receiver does not migrate as long. nocopydevice is the same, for buffers that the post entry method
// assigns.
#include "runtime/zero_copy/zero_copy_entries.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "base/fatal.h"
#include "runtime/objects/node_groups.h"
#include "runtime/scheduler/process.h"
#include "runtime/zero_copy/gathered.h"
#include "runtime/zero_copy/packing.h"
#include "runtime/zero_copy/zero_copy_parts.h"

namespace periapt::zero_copy {

Posts& posts_of(PeObjects& objects) {
  if (!objects.posts) objects.posts = std::make_shared<Posts>();
  return *objects.posts;
}

std::string name_of(int ep) { return std::string(chare_name_of_entry(ep)) + "::" + entry_name(ep); }

namespace {
ArrayPart& array_of(PeObjects& objects, int array) { return *objects.array(CkArrayID(CkGroupID{array})); }

int entry_posted_elsewhere;

struct PostEntry {
  PostFunction function;
  std::size_t item_bytes;
};
std::unordered_map<int, PostEntry>& post_entries() {
  static std::unordered_map<int, PostEntry> entries;
  return entries;
}

ArraysHead* head_of(void* payload) { return static_cast<ArraysHead*>(payload); }

bool is_on_device(int ep) { return entry_info(ep).flags & ep_nocopydevice; }

// What says that a message was damaged, or written by another build.
void check(int ep, const Message& message) {
  const std::size_t source = is_on_device(ep) ? sizeof(DeviceSource) : sizeof(CkNcpyBuffer);
  const ArraysHead* head = head_of(message.payload());
  const std::uint64_t size = message->size;
  if (size >= sizeof *head && head->where == Where::posted) return;  // see Posts::take_ready()
  bool good = size >= sizeof *head && head->arrays <= (size - sizeof *head) / sizeof(ArrayRecord) &&
              head->tail <= size && head->tail >= arguments_at(head->arrays);
  for (std::uint32_t i = 0; good && i < head->arrays; ++i) {
    const ArrayRecord& record = records_of(head)[i];
    const std::uint64_t needed = head->where == Where::at_sender  ? source
                                 : head->where == Where::gathered ? sizeof(GatheredHead)
                                                                  : record.bytes;
    good = record.offset >= head->tail && record.offset <= size && needed <= size - record.offset;
  }
  if (!good) marshal::truncated(0, size, 1);
}

template <class Source = CkNcpyBuffer>
Source source_of(const Message& message, unsigned index) {
  Source source;
  const ArraysHead* head = head_of(message.payload());
  std::memcpy(static_cast<void*>(&source), reinterpret_cast<const char*>(head) + records_of(head)[index].offset,
              sizeof source);
  return source;
}

// A message of our own like that one, with its arguments, and room for `elements` bytes behind them.
Message arguments_of(Pe& pe, const Message& message, std::size_t elements) {
  const std::size_t tail = head_of(message.payload())->tail;
  const std::size_t size = tail + elements;
  auto* envelope = static_cast<Envelope*>(pe.heap.allocate(message_bytes(size, message->priority_bits)));
  *envelope = *message.envelope();
  envelope->size = size;
  envelope->flags &= static_cast<std::uint8_t>(~(envelope_tree | envelope_waits | envelope_packed));
  std::memcpy(payload_of(envelope), message.payload(), tail);
  if (message->priority_bits)
    std::memcpy(priority_of(envelope), priority_of(message.envelope()), 4 * priority_words(message->priority_bits));
  return Message(envelope);
}

// ---- nocopy

struct Fetch {
  struct Array : Access {
    Fetch* fetch = nullptr;
  };
  Message message;
  std::unique_ptr<Array[]> arrays;
  unsigned left;
};

void fetch(PeObjects& objects, const Message& message) {
  Pe& pe = objects.pe;
  const ArraysHead* head = head_of(message.payload());
  std::size_t elements = 0;
  for (std::uint32_t i = 0; i < head->arrays; ++i) elements += padded(records_of(head)[i].bytes);
  auto* fetch =
      new Fetch{arguments_of(pe, message, elements), std::make_unique<Fetch::Array[]>(head->arrays), head->arrays};
  if (message->target == Target::array)
    array_of(objects, static_cast<int>(message->collection)).put_index(fetch->message);
  pe.count(fetch->message);
  ArraysHead* whole = head_of(fetch->message.payload());
  whole->where = Where::in_message;
  std::size_t at = whole->tail;
  for (std::uint32_t i = 0; i < head->arrays; ++i) {
    ArrayRecord& record = records_of(whole)[i];
    record.offset = at;
    at += padded(record.bytes);
  }
  for (std::uint32_t i = 0; i < head->arrays; ++i) {
    Fetch::Array& array = fetch->arrays[i];
    array.fetch = fetch;
    array.remote = source_of(message, i);
    array.local = reinterpret_cast<char*>(whole) + records_of(whole)[i].offset;
    array.size = records_of(whole)[i].bytes;
    array.ended = [](Pe& pe, Access& access) {
      Fetch* fetch = static_cast<Fetch::Array&>(access).fetch;
      release(pe, access.remote);
      if (--fetch->left != 0) return;
      pe.enqueue(std::move(fetch->message));
      delete fetch;
    };
    begin(pe, array);
  }
}

}  // namespace

// ---- nocopypost

// A call whose arrays go to buffers that its receiver posts.
class PostedCall {
  struct Array;

 public:
  PostedCall(PeObjects& objects, int ep, const Message& message)
      : objects_(objects), ep_(ep), call_(arguments_of(objects.pe, message, 0)) {
    objects.pe.count(call_);
    const ArraysHead* head = head_of(message.payload());
    const bool at_sender = head->where == Where::at_sender;
    arrays_.resize(head->arrays);
    for (std::uint32_t i = 0; i < head->arrays; ++i) {
      arrays_[i].call = this;
      arrays_[i].size = records_of(head)[i].bytes;
      arrays_[i].entry = ep;
      if (!is_on_device(ep)) {
        if (at_sender) arrays_[i].remote = source_of(message, i);
        continue;
      }
      arrays_[i].device = std::make_unique<Device>();
      arrays_[i].description = &arrays_[i].device->description;
      if (head->where == Where::gathered) read_gathered(arrays_[i], message, records_of(head)[i]);
      if (!at_sender) continue;
      const auto source = source_of<DeviceSource>(message, i);
      arrays_[i].remote = source.buffer;
      arrays_[i].device->description = source.description;
      arrays_[i].device->cb = source.cb;
    }
    if (head->where == Where::in_message) {
      data_ = message.share();
      for (std::uint32_t i = 0; i < head->arrays; ++i)
        arrays_[i].here = reinterpret_cast<const char*>(head) + records_of(head)[i].offset;
    }
    left_ = arrays_.size();
  }

  Envelope& envelope() { return *call_.envelope(); }

  // Runs the post entry method, which matches, posts or assigns a buffer for each array.
  void ask(void* object) {
    const auto entry = post_entries().find(ep_);
    if (entry == post_entries().end()) fatal("an entry without a post entry method gets arrays", name_of(ep_));
    const PostFunction function = entry->second.function;
    if (call_->target == Target::array) {
      held_ = true;
      array_ = static_cast<int>(call_->collection);
      element_ = call_->element;
      posts_of(objects_).hold(array_, element_);
      array_of(objects_, array_).put_index(call_);
    }
    for (const Array& array : arrays_)
      if (array.device && array.device->gathered) demand_member(*array.device->gathered, object);
    std::vector<CkNcpyBufferPost> posts(arrays_.size());
    for (CkNcpyBufferPost& post : posts) post.call = this;
    ++left_;  // nothing ends before all of them are known
    objects_.call_aside(call_, object, [&](Delivery& call) { function(call, object, posts.data()); });
    for (std::size_t i = 0; i < posts.size(); ++i) {
      if (arrays_[i].matched) continue;
      if (!posts[i].assigned && arrays_[i].size != 0)  // an empty std::vector has no pointer to give
        fatal("a post entry method says nothing of array " + std::to_string(i), name_of(ep_), "",
              is_on_device(ep_) ? "set the array's pointer there to the memory, of a GPU or not, where it is to go"
                                : "call CkMatchBuffer(post, " + std::to_string(i) +
                                      ", tag) in it, and CkPostBuffer(buffer, count, tag) there "
                                      "or anywhere else on this PE");
      if (arrays_[i].device)
        move_to_device(arrays_[i], posts[i]);
      else
        move_to(static_cast<int>(i), posts[i].assigned, posts[i].assigned_bytes);
    }
    one_less();
  }

  void match(int index, int tag, Tags& tags, std::unique_lock<std::mutex> lock) {
    if (index < 0 || static_cast<std::size_t>(index) >= arrays_.size() ||
        arrays_[static_cast<std::size_t>(index)].matched)
      fatal("CkMatchBuffer() of array " + std::to_string(index) + ", " +
                (index < 0 || static_cast<std::size_t>(index) >= arrays_.size()
                     ? "but there are " + std::to_string(arrays_.size())
                     : std::string("for the second time")),
            name_of(ep_), "", "nocopypost arrays are numbered from 0 in the order of the parameters");
    arrays_[static_cast<std::size_t>(index)].matched = true;
    const auto posted = tags.posted.find(tag);
    if (posted == tags.posted.end()) {
      if (!tags.wanted.try_emplace(tag, Tags::Wanted{this, index, objects_.pe.index}).second)
        fatal("CkMatchBuffer() with tag " + std::to_string(tag) + ", which another array waits with for its buffer",
              name_of(ep_), "", "a tag of its own for each array that may be under way at the same time");
      return;
    }
    const Tags::Buffer buffer = posted->second;
    tags.posted.erase(posted);
    if (lock) lock.unlock();
    move_to(index, buffer.bytes, buffer.size);
  }

  // The buffer of an array is known. On the PE of the receiver.
  void move_to(int index, void* buffer, std::size_t room) {
    Array& array = arrays_[static_cast<std::size_t>(index)];
    array.local = buffer;
    array.size = std::min(array.size, room);
    if (array.here) {
      if (array.size) std::memcpy(buffer, array.here, array.size);
      return one_less();
    }
    array.ended = [](Pe& pe, Access& access) {
      release(pe, access.remote);
      static_cast<Array&>(access).call->one_less();
    };
    begin(objects_.pe, array);
  }

  // The same of an array that may come from or go to the memory of a GPU: behind what its stream has to do.
  void move_to_device(Array& array, const CkNcpyBufferPost& post) {
    if (!post.layout.is_contiguous()) demand_room(array, post);
    if (array.device->gathered && array.device->gathered->head.slices == 0) demand_whole(array, post);
    array.local = post.assigned;
    array.size = std::min(array.size, post.assigned_bytes);
    array.local_kind = kind_of(objects_.pe, array.local, array.size);
    if (array.size != 0) array.device->layout = post.layout.get();
    array.device->scattered = array.place();
    array.ended = [](Pe& pe, Access& access) {
      auto& array = static_cast<Array&>(access);
      has_arrived(pe, array);
      array.call->one_less();
    };
    if (array.device->gathered && !array.device->layout)
      array.device->gathered->prepare(objects_.pe, array.place(), array.size);
    objects_.pe.begin_pending();
    array.device->array = &array;
    array.device->done = [](machine::Transfer& transfer, const Status& status) {
      Array& array = *static_cast<Device&>(transfer).array;
      array.call->objects_.pe.end_pending();
      array.call->stream_reached(array, status);
    };
    when_reached(objects_.pe, post.stream, array.place(), *array.device);
  }

  // As it was posted.
  void* buffer(unsigned index) const {
    const Array& array = arrays_[index];
    return array.device && array.device->scattered.at ? array.device->scattered.at : array.local;
  }
  std::size_t bytes(unsigned index) const { return arrays_[index].size; }

  // The entry has run.
  void end() {
    const int array = array_;
    PeObjects& objects = objects_;
    const bool held = held_;
    const std::uint64_t element = element_;
    delete this;
    if (held) posts_of(objects).release(objects, array, element);
  }

  std::string describe(int index, int tag) const {
    return "array " + std::to_string(index) + " of " + name_of(ep_) + " on PE " + std::to_string(objects_.pe.index) +
           " waits for CkPostBuffer() with tag " + std::to_string(tag) + "\n";
  }

 private:
  // What an array of a GPU's needs beside; and its waiting for a stream, then for a copy from the message, or for its
  // elements to be unpacked, of one that goes to strided memory.
  struct Device : Packing {
    Array* array = nullptr;
    CkCallback cb = CkCallback(CkCallback::ignore);  // the sender's
    DeviceDescription description;
    std::shared_ptr<std::byte> mapping;  // of another process's memory that they are unpacked from
    std::unique_ptr<Gathered> gathered;  // the result of an allgather or a reduction: where its parts are
  };
  struct Array : Access {
    PostedCall* call = nullptr;
    const char* here = nullptr;  // the elements, if they came with the message
    bool matched = false;
    std::unique_ptr<Device> device;
    std::byte* in_message() const { return reinterpret_cast<std::byte*>(const_cast<char*>(here)); }
    ucx::Place place() const { return {static_cast<std::byte*>(local), local_kind}; }
  };

  void demand_room(const Array& array, const CkNcpyBufferPost& post) const {
    demand_as_many(post.layout, post.assigned_bytes, "a post entry method gives an array", name_of(ep_));
    demand_as_many(post.layout, array.size, "a call brings an array", name_of(ep_));
    if (post.layout.get()->overlaps)
      fatal("a post entry method gives an array a layout whose blocks lie on one another", name_of(ep_),
            "some bytes would be written twice, in no order",
            "give it blocks that do not: a stride of at least the length");
  }

  static void read_gathered(Array& array, const Message& message, const ArrayRecord& record) {
    const char* const at = static_cast<const char*>(message.payload()) + record.offset;
    array.device->gathered = Gathered::read(at, message->size - record.offset, record.bytes);
    if (!array.device->gathered) marshal::truncated(0, message->size, 1);
    array.remote = array.device->gathered->head.whole;
  }
  // Those that have contributed are counted when they have read all parts.
  void demand_member(const Gathered& gathered, const void* object) const {
    if (gathered.head.members == 0) return;
    const CkArrayIndex index =
        chare::is_compact_id(element_) ? chare::index_of(element_) : array_of(objects_, array_).index_of_holder(object);
    if (index.nInts == 0 || gathered.has(index)) return;
    fatal(
        "element " + index.toString() + " of an array gets the result of an allgather to which it has not contributed",
        name_of(ep_), "it was inserted meanwhile",
        "insert and destroy elements when no allgather of device buffers is under way, or gather for a section");
  }
  void demand_whole(const Array& array, const CkNcpyBufferPost& post) const {
    if (post.assigned_bytes >= array.size) return;
    fatal("a post entry method gives an array of " + std::to_string(post.assigned_bytes) +
              " bytes for the result of an allgather of " + std::to_string(array.size),
          name_of(ep_), "the result is all parts, one behind the other", "leave the length as it comes");
  }

  // Brings the elements from where they are to array.local, and calls array.ended.
  static void fetch(Pe& pe, Array& array) {
    Device& device = *array.device;
    if (!device.gathered) return static_cast<void>(begin(pe, array));
    const ucx::Place to = array.place();
    const std::span<const std::byte> posted =
        device.room.at == nullptr ? std::span<const std::byte>(to.at, array.size)
                                  : std::span<const std::byte>(device.scattered.at, device.layout->extent);
    device.gathered->fetch(pe, to, array.size, posted, array.entry, [&pe, &array] { array.ended(pe, array); });
  }

  // The elements at their sender have been read.
  static void has_arrived(Pe& pe, Array& array) {
    release(pe, array.remote);
    if (wants_to_know(array.device->cb)) not_inline(array.device->cb).send();
  }

  void stream_reached(Array& array, const Status& status) {
    if (!status) device_failed(name_of(ep_), status);
    if (array.device->layout && !array.device->layout->is_one_piece()) return bring_to_unpack(array);
    if (array.device->layout) {
      const Result<std::byte*> at = one_piece_at(*array.device->layout, array.place());
      if (!at) device_failed(name_of(ep_), at.status());
      array.local = *at;
    }
    if (!array.here) return fetch(objects_.pe, array);
    if (array.local_kind == ucx::MemoryKind::host) {
      if (array.size) std::memcpy(array.local, array.here, array.size);
      return one_less();
    }
    objects_.pe.begin_pending();
    array.device->done = [](machine::Transfer& transfer, const Status& status) {
      PostedCall& call = *static_cast<Device&>(transfer).array->call;
      call.objects_.pe.end_pending();
      if (!status) device_failed(name_of(call.ep_), status);
      call.one_less();
    };
    objects_.pe.copy(array.place(), {array.in_message()}, array.size, *array.device);
  }

  // ---- to strided memory: unpacked where they are if that can be read there, else brought into one piece before

  void bring_to_unpack(Array& array) {
    Device& device = *array.device;
    Pe& pe = objects_.pe;
    const bool of_host = array.local_kind == ucx::MemoryKind::host;
    if (array.here && of_host) return unpack(array, array.in_message());
    if (!array.here && !of_host && !device.gathered)
      if (std::byte* const there = readable(array)) return unpack(array, there);
    if (const Status taken = take_room_to_unpack(pe, device); !taken) device_failed(name_of(ep_), taken);
    bring_to_room(array);
  }

  void bring_to_room(Array& array) {
    Device& device = *array.device;
    Pe& pe = objects_.pe;
    array.local = device.room.at;
    array.local_kind = kind_of(pe, device.room.at, array.size);
    if (!array.here) {
      array.ended = [](Pe& pe, Access& access) {
        auto& array = static_cast<Array&>(access);
        has_arrived(pe, array);
        array.call->unpack(array, array.device->room.at);
      };
      return fetch(pe, array);
    }
    pe.begin_pending();
    device.done = [](machine::Transfer& transfer, const Status& status) {
      Array& array = *static_cast<Device&>(transfer).array;
      array.call->objects_.pe.end_pending();
      if (!status) device_failed(name_of(array.call->ep_), status);
      array.call->unpack(array, array.device->room.at);
    };
    pe.copy(array.place(), {array.in_message()}, array.size, device);
  }

  // The elements at their sender, where the GPU that they go to reads them; nullptr: it does not.
  std::byte* readable(Array& array) {
    Device& device = *array.device;
    Pe& pe = objects_.pe;
    auto* there = static_cast<std::byte*>(array.remote.ptr);
    if (pe.process.process_of(array.remote.pe) != pe.process.rank()) {
      const auto described = std::as_bytes(std::span(device.description.bytes)).first(device.description.length);
      Result<ucx::Mapping> mapped = pe.process.layer().one_sided().map(
          pe.index, described, reinterpret_cast<std::uintptr_t>(array.remote.ptr), array.size, device.scattered);
      if (!mapped) {
        device.description.length = 0;  // to fetch them does not try it again
        return nullptr;
      }
      device.mapping = std::move(mapped->at);
      there = device.mapping.get();
    }
    if (reads(pe, device, there, device.mapping != nullptr)) return there;
    device.mapping = nullptr;
    return nullptr;
  }

  void unpack(Array& array, std::byte* packed) {
    Device& device = *array.device;
    Pe& pe = objects_.pe;
    pe.begin_pending();
    device.done = [](machine::Transfer& transfer, const Status& status) {
      auto& device = static_cast<Device&>(transfer);
      Array& array = *device.array;
      PostedCall& call = *array.call;
      Pe& pe = call.objects_.pe;
      pe.end_pending();
      if (!status) device_failed(name_of(call.ep_), status);
      if (!array.here && !device.room.at) has_arrived(pe, array);
      give_room(pe, device.room);
      device.mapping = nullptr;
      call.one_less();
    };
    const Status begun = zero_copy::begin(pe, gpu::Packer::Way::unpack, device, packed);
    if (!begun) device_failed(name_of(ep_), begun);
  }

  void one_less() {
    if (--left_ != 0) return;
    data_ = Message();
    ArraysHead* head = head_of(call_.payload());
    head->where = Where::posted;
    head->call = this;
    if (call_->target != Target::node_group) posts_of(objects_).add_ready(this);
    objects_.pe.enqueue(std::move(call_));
  }

  PeObjects& objects_;
  const int ep_;
  Message call_;  // the other arguments
  Message data_;  // holds the elements, if they came along
  std::vector<Array> arrays_;
  std::size_t left_;
  bool held_ = false;
  int array_ = 0;  // what is held
  std::uint64_t element_ = 0;
};

std::size_t item_bytes_of(int ep) { return post_entries().at(ep).item_bytes; }

void* elements(const ArraysHead* head, unsigned index) {
  if (head->where == Where::posted) return head->call->buffer(index);
  // Of a call that is kept it may lead out of the message: see keep_posted().
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(head) + records_of(head)[index].offset);
}

void keep_posted(void* arguments) {
  ArraysHead* head = head_of(arguments);
  if (head->where != Where::posted) return;
  for (std::uint32_t i = 0; i < head->arrays; ++i) {
    ArrayRecord& record = records_of(head)[i];
    record.offset = reinterpret_cast<std::uintptr_t>(head->call->buffer(i)) - reinterpret_cast<std::uintptr_t>(head);
    record.bytes = head->call->bytes(i);
  }
  head->where = Where::in_message;
  head->call = nullptr;
}

// Not for a receiver that posts buffers: from a message the bytes would be copied once more.
bool copies_for(int pe, int ep, std::size_t bytes) {
  if (pe < 0 || bytes > copied_max_elsewhere || entry_info(ep).flags & ep_nocopypost) return false;
  return Process::current()->layer().route(pe) != machine::Route::self_process;
}

void has_been_copied(const CkNcpyBuffer& buffer, std::size_t bytes) {
  CkNcpyBuffer source = buffer;
  source.cnt = bytes;
  if (source.cb.type != CkCallback::ignore) source.cb.send(static_cast<int>(sizeof source), &source);
}

// ---- running

void run(PeObjects& objects, Delivery& call) {
  const bool post = entry_info(call.entry).flags & ep_nocopypost;
  PostedCall* posted = nullptr;
  check(call.entry, call.message);
  switch (head_of(call.arguments)->where) {
    case Where::posted:
      posted = head_of(call.arguments)->call;
      // One that waited for a node group's member to be free is run by any PE of the process.
      if (call.message->target != Target::node_group && !posts_of(objects).take_ready(posted))
        fatal("the buffers that were posted for a call are on another PE", name_of(call.entry),
              "their owner has been destroyed and made again elsewhere meanwhile",
              "keep an object until what it has posted buffers for has run");
      break;
    case Where::in_message:
      if (!post) break;
      [[fallthrough]];
    case Where::at_sender:
    case Where::gathered:
      if (post)
        (new PostedCall(objects, call.entry, call.message))->ask(call.object);
      else
        fetch(objects, call.message);
      if (call.exclusive) node_groups().leave_exclusive(objects, call);
      return;
  }
  objects.run_ready(call);
  if (posted) posted->end();
}

void run_for_element(PeObjects& objects, int ep, void* object, int array, std::uint64_t element,
                     const Message& message) {
  check(ep, message);
  auto* call = new PostedCall(objects, ep, message);
  call->envelope().target = Target::array;
  call->envelope().collection = static_cast<std::uint32_t>(array);
  call->envelope().element = element;
  call->ask(object);
}

// ---- tags

bool Posts::holds(int array, std::uint64_t element, int to) {
  const auto held = held_.find({array, element});
  if (held == held_.end()) return false;
  if (held->second.goes_to < 0) Pe::current()->begin_pending();  // until it goes
  held->second.goes_to = to;
  return true;
}

void Posts::release(PeObjects& objects, int array, std::uint64_t element) {
  const auto held = held_.find({array, element});
  if (--held->second.calls != 0) return;
  const int goes_to = held->second.goes_to;
  held_.erase(held);
  if (goes_to < 0) return;
  objects.pe.end_pending();
  ArrayPart& part = array_of(objects, array);
  if (part.has(element)) part.order_migration(element, goes_to);
}

std::string Posts::describe() const {
  std::string text;
  for (const auto& [tag, wanted] : tags.wanted) text += wanted.call->describe(wanted.index, tag);
  return text;
}

namespace {

// Of a process, for CkMatchNodeBuffer() and CkPostNodeBuffer().
struct NodeTags {
  std::mutex mutex;
  Tags tags;
};
NodeTags& node_tags() {
  static std::deque<NodeTags> tags(static_cast<std::size_t>(Process::current()->hosted_processes()));
  return tags[Process::current()->is_simulated() ? static_cast<std::size_t>(Process::current()->rank()) : 0];
}

struct PostedElsewhere {
  PostedCall* call;
  Tags::Buffer buffer;
  int index;
};

}  // namespace

void post_buffer(void* bytes, std::size_t size, int tag, bool of_node) {
  PeObjects& objects = PeObjects::current();
  std::unique_lock<std::mutex> lock;
  if (of_node) lock = std::unique_lock<std::mutex>(node_tags().mutex);
  Tags& tags = of_node ? node_tags().tags : posts_of(objects).tags;
  const auto wanted = tags.wanted.find(tag);
  if (wanted == tags.wanted.end()) {
    if (!tags.posted.try_emplace(tag, Tags::Buffer{bytes, size}).second)
      fatal(std::string(of_node ? "CkPostNodeBuffer()" : "CkPostBuffer()") + " with tag " + std::to_string(tag) +
                ", which another buffer is posted with already",
            describe_running(objects.pe), "nothing has matched that tag yet", "a tag of its own for each buffer");
    return;
  }
  const Tags::Wanted found = wanted->second;
  tags.wanted.erase(wanted);
  if (lock) lock.unlock();
  if (found.pe == objects.pe.index) return found.call->move_to(found.index, bytes, size);
  send_runtime(objects.pe, found.pe, entry_posted_elsewhere, 0, 0,
               PostedElsewhere{found.call, {bytes, size}, found.index});
}

void register_post_entries() {
  PeObjects::run_without_copy = run;
  entry_posted_elsewhere = register_runtime_entry("zero copy: posted by another PE", [](Pe& pe, Delivery& call) {
    const auto posted = call.read<PostedElsewhere>();
    posted.call->move_to(posted.index, posted.buffer.bytes, posted.buffer.size);
  });
}

}  // namespace periapt::zero_copy

using namespace periapt::zero_copy;

void CkRegisterPostEntry(int ep, PostFunction function, std::size_t item_bytes) {
  post_entries()[ep] = {function, item_bytes};
}

void CkMatchBuffer(CkNcpyBufferPost* post, int index, int tag) {
  post->call->match(index, tag, periapt::zero_copy::posts_of(periapt::PeObjects::current()).tags, {});
}
void CkMatchNodeBuffer(CkNcpyBufferPost* post, int index, int tag) {
  NodeTags& node = node_tags();
  std::unique_lock<std::mutex> lock(node.mutex);
  post->call->match(index, tag, node.tags, std::move(lock));
}
