// Arrays of threads. What is sent goes to each PE that has one of its receivers, and waits there in the threads'
// tables. A reduction is merged on each PE, then on the first PE of its set, which sends the result.
#include "runtime/converse/cpath.h"

#include <algorithm>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/fatal.h"
#include "runtime/converse/converse_state.h"
#include "runtime/converse/tables.h"

namespace periapt {

namespace {
constexpr int dimensions_most = 13;
constexpr int tags_most = 256;
using Indices = std::vector<int>;
using SetName = std::pair<std::pair<int, int>, Indices>;  // creator and number of an array, and what of it
using Tags = std::vector<int>;

struct Clauses {
  CPath over{}, destination{};
  Indices over_indices, indices;
  Tags tags;
  int reducer = 0;
  int count = 0, element_bytes = 0;  // of a reduction's values; `count` 0: bytes
  const char* data = nullptr;
  std::size_t bytes = 0;
};

// What a thread gets, and CPathMsgFree() frees; the bytes follow.
struct Received {
  int bytes, count, element_bytes, padding;
};

struct PathThread {
  CPath path;
  Indices indices;
  CmmTable messages = CmmNew();
  CthThread thread = nullptr;
  bool waits = false;
  std::map<std::pair<SetName, Tags>, int> reductions;  // how many of them it has taken part in
};
// A reduction that is not finished here: of the same tags there may be several.
struct PathReduction {
  std::vector<char> data;
  int parts = 0;
  int count = 0, element_bytes = 0, reducer = 0;
};
using ReductionName = std::pair<std::pair<SetName, Tags>, int>;

[[noreturn]] void wrong(const char* function, const std::string& what) {
  fatal(std::string(function) + "(): " + what, function, "its arguments are clauses, the last of which is CPATH_END",
        "see runtime/converse/cpath.h");
}
}  // namespace

struct Paths {
  int next = 0;
  std::map<SetName, std::unique_ptr<PathThread>> threads;
  std::map<CthThread, PathThread*> running;
  std::map<ReductionName, PathReduction> here, at_first;
};

namespace {
Paths& paths(Pe& pe) {
  auto& all = ConverseState::of(pe).paths;
  if (!all) all = std::make_shared<Paths>();
  return *all;
}
SetName name_of(const CPath& path, const Indices& indices) { return {{path.creator, path.seqno}, indices}; }

template <class Function>
Function function_of(int number) {
  return reinterpret_cast<Function>(reinterpret_cast<void*>(CmiHandlerToFunction(number)));
}
int place_of(const CPath& path, const Indices& indices) {
  if (path.mapfn < 0) return -1 - path.mapfn;  // CPathMakeThread
  CPath copy = path;
  int at[dimensions_most] = {};
  std::copy(indices.begin(), indices.end(), at);
  return static_cast<int>(function_of<CPathMapFn>(path.mapfn)(&copy, at) % static_cast<unsigned>(CmiNumPes()));
}

// Calls visit(indices) for each element of a set.
template <class Visit>
void for_each(const CPath& path, const Indices& set, Visit&& visit) {
  Indices at = set;
  for (int& index : at) index = std::max(index, 0);
  for (;;) {
    visit(at);
    std::size_t d = 0;
    for (; d < set.size(); ++d) {
      if (set[d] != CPATH_ALL) continue;
      if (++at[d] < path.sizes[d]) break;
      at[d] = 0;
    }
    if (d == set.size()) return;
  }
}
std::set<int> pes_of(const CPath& path, const Indices& set) {
  std::set<int> pes;
  for_each(path, set, [&](const Indices& at) { pes.insert(place_of(path, at)); });
  return pes;
}

void run_thread(void* argument) {
  auto& self = *static_cast<PathThread*>(argument);
  CPath path = self.path;
  int at[dimensions_most] = {};
  std::copy(self.indices.begin(), self.indices.end(), at);
  function_of<void (*)(CPath*, int*)>(path.startfn)(&path, at);
  paths(*Pe::current()).running.erase(CthSelf());
}
PathThread& thread_of(Pe& pe, const CPath& path, const Indices& indices) {
  auto& thread = paths(pe).threads[name_of(path, indices)];
  if (!thread) {
    thread = std::make_unique<PathThread>();
    thread->path = path;
    thread->indices = indices;
    thread->thread = CthCreate(run_thread, thread.get(), 0);
    paths(pe).running[thread->thread] = thread.get();
    CthAwaken(thread->thread);
  }
  return *thread;
}
std::vector<PathThread*> threads_here(Pe& pe, const CPath& path, const Indices& set) {
  std::vector<PathThread*> here;
  for_each(path, set, [&](const Indices& at) {
    if (place_of(path, at) == pe.index) here.push_back(&thread_of(pe, path, at));
  });
  return here;
}
PathThread& running_thread(const char* function) {
  Pe& pe = require_pe(function);
  const auto found = paths(pe).running.find(CthSelf());
  if (found == paths(pe).running.end())
    fatal(std::string(function) + "() outside of a thread of an array", function, "",
          "call it in the function that CPathMakeArray() or CPathMakeThread() was given");
  return *found->second;
}

// ---- what goes between PEs: clauses as bytes

class Bytes {
 public:
  template <class T>
  void put(const T& value) {
    const char* from = reinterpret_cast<const char*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof value);
  }
  void put(const std::vector<int>& values) {
    put(static_cast<int>(values.size()));
    for (const int value : values) put(value);
  }
  void put(const char* from, std::size_t count) { bytes_.insert(bytes_.end(), from, from + count); }
  Message message(ConverseHandler handler) const {
    Message message = converse_system_message(handler, bytes_.size());
    std::memcpy(message.payload(), bytes_.data(), bytes_.size());
    return message;
  }

 private:
  std::vector<char> bytes_;
};
Message pack(const Clauses& c, ConverseHandler handler) {
  Bytes out;
  out.put(c.over), out.put(c.destination), out.put(c.over_indices), out.put(c.indices), out.put(c.tags);
  out.put(c.reducer), out.put(c.count), out.put(c.element_bytes), out.put(c.bytes);
  out.put(c.data, c.bytes);
  return out.message(handler);
}
// `data` points into the message.
Clauses unpack(const Message& message) {
  Clauses c;
  const char* from = static_cast<const char*>(message.payload());
  const auto get = [&](auto& value) {
    std::memcpy(&value, from, sizeof value);
    from += sizeof value;
  };
  const auto get_all = [&](std::vector<int>& values) {
    int count;
    get(count);
    values.resize(static_cast<std::size_t>(count));
    for (int& value : values) get(value);
  };
  get(c.over), get(c.destination), get_all(c.over_indices), get_all(c.indices), get_all(c.tags);
  get(c.reducer), get(c.count), get(c.element_bytes), get(c.bytes);
  c.data = from;
  return c;
}

void send(Pe& pe, const Clauses& c) {
  const std::set<int> to = pes_of(c.destination, c.indices);
  const std::vector<int> pes(to.begin(), to.end());
  converse_send_list(pe, static_cast<int>(pes.size()), pes.data(), pack(c, handler_path));
}

// Merges a part; true when all `wanted` are in it.
bool merge(PathReduction& reduction, const Clauses& c, std::size_t wanted) {
  if (reduction.parts++ == 0) {
    reduction.data.assign(c.data, c.data + c.bytes);
    reduction.count = c.count, reduction.element_bytes = c.element_bytes, reduction.reducer = c.reducer;
  } else {
    if (reduction.count != c.count || reduction.element_bytes != c.element_bytes || reduction.reducer != c.reducer)
      wrong("CPathReduce", "threads that take part in one reduction give " + std::to_string(reduction.count) +
                               " times " + std::to_string(reduction.element_bytes) + " and " + std::to_string(c.count) +
                               " times " + std::to_string(c.element_bytes) + " bytes, or other reducers");
    std::vector<char> other(c.data, c.data + c.bytes);
    function_of<CPathReduceFn>(c.reducer)(c.count, reduction.data.data(), other.data());
  }
  return static_cast<std::size_t>(reduction.parts) == wanted;
}

// ---- arguments

// Of `arguments`, for the call's messages `function`.
class ClauseReader {
 public:
  ClauseReader(const char* function, va_list arguments) : function_(function) { va_copy(arguments_, arguments); }
  ~ClauseReader() { va_end(arguments_); }
  int number() { return va_arg(arguments_, int); }
  void* pointer() { return va_arg(arguments_, void*); }

  void array(CPath& path, Indices& indices) {
    path = *static_cast<const CPath*>(pointer());
    for (int d = 0; d < path.nsizes; ++d) {
      const int index = number();
      if (index < CPATH_ALL || index >= path.sizes[d])
        wrong(function_, "index " + std::to_string(index) + " in dimension " + std::to_string(d) + ", whose size is " +
                             std::to_string(path.sizes[d]));
      indices.push_back(index);
    }
  }
  void tags(int key, Tags& tags) {
    const int count = key == CPATH_TAG ? 1 : number();
    if (count < 0 || count > tags_most) wrong(function_, std::to_string(count) + " tags; 256 are the most");
    if (key == CPATH_TAGVEC) {
      const int* from = static_cast<const int*>(pointer());
      return tags.assign(from, from + count);
    }
    for (int i = 0; i < count; ++i) tags.push_back(number());
  }

 private:
  const char* function_;
  va_list arguments_;
};
bool is_tags(int key) { return key == CPATH_TAG || key == CPATH_TAGS || key == CPATH_TAGVEC; }

// All clauses up to CPATH_END, each of `wanted` once.
Clauses read_clauses(const char* function, int key, ClauseReader& reader, std::set<int> wanted) {
  Clauses c;
  const bool reduces = wanted.count(CPATH_OVER) != 0;
  for (; key != CPATH_END; key = reader.number()) {
    if (wanted.erase(is_tags(key) ? CPATH_TAG : key) == 0)
      wrong(function, "no clause belongs there that begins with " + std::to_string(key) + ", or it is there twice");
    if (is_tags(key)) reader.tags(key, c.tags);
    if (key == CPATH_OVER) reader.array(c.over, c.over_indices);
    if (key == CPATH_DEST) reader.array(c.destination, c.indices);
    if (key == CPATH_REDUCER) c.reducer = reader.number();
    if (key != CPATH_BYTES) continue;
    if (reduces) c.count = reader.number();
    c.element_bytes = reader.number();
    c.data = static_cast<const char*>(reader.pointer());
    if (c.element_bytes < 0 || (reduces && c.count < 1)) wrong(function, "less than no bytes");
    c.bytes = static_cast<std::size_t>(c.element_bytes) * static_cast<std::size_t>(reduces ? c.count : 1);
  }
  if (!wanted.empty())
    wrong(function, "the clause that begins with " + std::to_string(*wanted.begin()) + " is missing");
  return c;
}

void path_arrived(Pe& pe, Message message) {
  const Clauses c = unpack(message);
  Tags tags = c.tags;
  for (PathThread* const thread : threads_here(pe, c.destination, c.indices)) {
    auto* copy = static_cast<Received*>(std::malloc(sizeof(Received) + c.bytes));
    *copy = {static_cast<int>(c.bytes), c.count, c.element_bytes, 0};
    std::memcpy(static_cast<void*>(copy + 1), c.data, c.bytes);
    CmmPut(thread->messages, static_cast<int>(tags.size()), tags.data(), copy);
    if (std::exchange(thread->waits, false)) CthAwaken(thread->thread);
  }
}

// A PE's part, at the first PE of the set. Parts of one reduction have its number in front of their indices.
void path_reduction_arrived(Pe& pe, Message message) {
  Clauses c = unpack(message);
  const int number = c.over_indices.front();
  c.over_indices.erase(c.over_indices.begin());
  const ReductionName name{{name_of(c.over, c.over_indices), c.tags}, number};
  PathReduction& reduction = paths(pe).at_first[name];
  if (!merge(reduction, c, pes_of(c.over, c.over_indices).size())) return;
  c.data = reduction.data.data();
  send(pe, c);
  paths(pe).at_first.erase(name);
}
const ConverseArrival path_arrives(handler_path, path_arrived);
const ConverseArrival path_reduction_arrives(handler_path_reduction, path_reduction_arrived);
}  // namespace

}  // namespace periapt

using namespace periapt;

extern "C" {

void CPathMakeArray(CPath* path, int startfn, int mapfn, ...) {
  *path = {paths(require_pe("CPathMakeArray")).next++, CmiMyPe(), startfn, mapfn, 0, {}};
  va_list sizes;
  va_start(sizes, mapfn);
  for (int size; (size = va_arg(sizes, int)) != 0;) {
    if (path->nsizes == dimensions_most) wrong("CPathMakeArray", "more than 13 dimensions, or no 0 behind the last");
    if (size < 0) wrong("CPathMakeArray", "a dimension of the size " + std::to_string(size));
    path->sizes[path->nsizes++] = size;
  }
  va_end(sizes);
}
void CPathMakeThread(CPath* path, int startfn, int pe) {
  if (pe < 0 || pe >= CmiNumPes())
    wrong("CPathMakeThread", "PE " + std::to_string(pe) + ", and the run has " + std::to_string(CmiNumPes()) + " PEs");
  *path = {paths(require_pe("CPathMakeThread")).next++, CmiMyPe(), startfn, -1 - pe, 0, {}};
}

void CPathSend(int key, ...) {
  va_list arguments;
  va_start(arguments, key);
  ClauseReader reader("CPathSend", arguments);
  send(require_pe("CPathSend"), read_clauses("CPathSend", key, reader, {CPATH_DEST, CPATH_TAG, CPATH_BYTES}));
  va_end(arguments);
}

void* CPathRecv(int key, ...) {
  va_list arguments;
  va_start(arguments, key);
  Tags tags;
  {
    ClauseReader reader("CPathRecv", arguments);
    tags = read_clauses("CPathRecv", key, reader, {CPATH_TAG}).tags;
  }
  va_end(arguments);
  PathThread& self = running_thread("CPathRecv");
  int found[tags_most];
  for (;;) {
    void* const message = CmmGet(self.messages, static_cast<int>(tags.size()), tags.data(), found);
    if (message != nullptr) return message;
    self.waits = true;
    CthSuspend();
  }
}

void CPathReduce(int key, ...) {
  va_list arguments;
  va_start(arguments, key);
  ClauseReader reader("CPathReduce", arguments);
  Clauses c = read_clauses("CPathReduce", key, reader, {CPATH_OVER, CPATH_TAG, CPATH_REDUCER, CPATH_DEST, CPATH_BYTES});
  va_end(arguments);
  PathThread& self = running_thread("CPathReduce");
  Pe& pe = *Pe::current();
  const std::vector<PathThread*> here = threads_here(pe, c.over, c.over_indices);
  if (std::find(here.begin(), here.end(), &self) == here.end())
    wrong("CPathReduce", "the thread that calls is not among those that CPATH_OVER names");
  const std::pair<SetName, Tags> which{name_of(c.over, c.over_indices), c.tags};
  const ReductionName name{which, self.reductions[which]++};
  PathReduction& reduction = paths(pe).here[name];
  if (!merge(reduction, c, here.size())) return;
  const std::vector<char> merged = std::move(reduction.data);
  paths(pe).here.erase(name);
  c.data = merged.data();
  const int first = *pes_of(c.over, c.over_indices).begin();
  c.over_indices.insert(c.over_indices.begin(), name.second);
  converse_send(pe, first, pack(c, handler_path_reduction));
}

void CPathMsgDecodeBytes(void* message, int* length, void* bytes) {
  auto* received = static_cast<Received*>(message);
  *length = received->bytes;
  *static_cast<void**>(bytes) = received + 1;
}
void CPathMsgDecodeReduction(void* message, int* count, int* element_bytes, void* bytes) {
  auto* received = static_cast<Received*>(message);
  *count = received->count;
  *element_bytes = received->element_bytes;
  *static_cast<void**>(bytes) = received + 1;
}
void CPathMsgFree(void* message) { std::free(message); }
}
