// Marshalling of arrays that are sent without a copy (nocopy, nocopypost). C++17: reached from charm++.h.
//
//   | ArraysHead | ArrayRecord for each such array | the other arguments | CkNcpyBuffer for each array, or its elements
//   |
//
// A message for one receiver carries where the elements are (a CkNcpyBuffer each); the PE where the receiver is fetches
// them, and delivers a message that holds them. One for a collection, or with few elements, holds them from the start.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "runtime/api/marshal.h"
#include "runtime/api/zero_copy.h"

namespace periapt {

// One array to be sent.
template <class T>
struct NcpyToSend {
  static_assert(std::is_trivially_copyable<T>::value, "only arrays of plain bytes can be sent without a copy");
  const CkNcpyBuffer& buffer;
  std::size_t count;
  std::size_t bytes() const { return count * sizeof(T); }
};
template <class T, class N>
NcpyToSend<T> ncpyArg(const CkNcpyBuffer& buffer, N count) {
  return {buffer, static_cast<std::size_t>(count)};
}

namespace zero_copy {

// Arrays of so many bytes together are copied into the message by their sender: within a process that costs from here
// on more than fetching them; between processes, where a fetch is a way there and back, much later (docs/speed.md).
constexpr std::size_t copied_max = 2048;
constexpr std::size_t copied_max_elsewhere = 256 << 10;
// Are so many bytes, more than copied_max, copied for an entry of a receiver on that PE? -1: the PE is not known.
bool copies_for(int pe, int ep, std::size_t bytes);

enum class Where : std::uint32_t {
  at_sender,   // behind the arguments: a CkNcpyBuffer for each array
  in_message,  // behind the arguments: the elements
  posted,      // in buffers that a PostedCall knows
  gathered,    // behind the arguments: where the parts of an allgather's result are (runtime/zero_copy/gathered.h)
};
struct ArraysHead {
  std::uint32_t arrays;
  Where where;
  std::uint64_t tail;  // what is behind the arguments
  PostedCall* call;
};
struct ArrayRecord {
  std::uint64_t count;  // elements
  std::uint64_t bytes;
  std::uint64_t offset;  // in the message, if they are there
};
constexpr std::size_t arguments_at(std::size_t arrays) { return sizeof(ArraysHead) + arrays * sizeof(ArrayRecord); }
inline ArrayRecord* records_of(ArraysHead* head) { return reinterpret_cast<ArrayRecord*>(head + 1); }
inline const ArrayRecord* records_of(const ArraysHead* head) { return reinterpret_cast<const ArrayRecord*>(head + 1); }
constexpr std::size_t padded(std::size_t bytes) { return marshal::align_up(bytes, 16); }

// Calls the post entry method of an entry, with its arguments: it says where the arrays are to go.
typedef void (*PostFunction)(Delivery& call, void* object, CkNcpyBufferPost* posts);

// Where the elements are that the record says, for an entry that is being called.
void* elements(const ArraysHead* head, unsigned index);

template <class T>
struct is_ncpy : std::false_type {};
template <class T>
struct is_ncpy<NcpyToSend<T>> : std::true_type {};

class Sizer {
 public:
  explicit Sizer(std::size_t arrays) : arguments_(arguments_at(arrays)), arrays_(arrays) {}
  template <class T>
  void operator()(const T& value) {
    arguments_(value);
  }
  template <class T>
  void operator()(const NcpyToSend<T>& a) {
    add_elements(a.bytes());
  }
  std::size_t elements() const { return elements_; }
  std::size_t tail() const { return padded(arguments_.size()); }
  std::size_t size(Where where) const { return size(where, sizeof(CkNcpyBuffer)); }
  std::size_t size(Where where, std::size_t source) const {
    return tail() + (where == Where::at_sender ? arrays_ * source : elements_);
  }

 protected:
  void add_elements(std::size_t bytes) { elements_ += padded(bytes); }

 private:
  marshal::Sizer arguments_;
  std::size_t arrays_, elements_ = 0;
};

class Writer {
 public:
  Writer(void* to, std::size_t arrays, std::size_t tail, Where where)
      : base_(static_cast<char*>(to)),
        head_(static_cast<ArraysHead*>(to)),
        arguments_(to, arguments_at(arrays)),
        end_(tail) {
    *head_ = {static_cast<std::uint32_t>(arrays), where, tail, nullptr};
  }
  template <class T>
  void operator()(const T& value) {
    arguments_(value);
  }
  template <class T>
  void operator()(const NcpyToSend<T>& a) {
    char* const place = base_ + add_record(a.count, a.bytes(), sizeof(CkNcpyBuffer));
    if (head_->where == Where::at_sender) {
      const CkNcpyBuffer source = ready_to_send(a.buffer, a.bytes());
      std::memcpy(place, static_cast<const void*>(&source), sizeof source);
    } else if (a.count) {
      std::memcpy(place, a.buffer.ptr, a.bytes());
    }
  }

 protected:
  // Returns where in the message its elements are to stand, or, in `source` bytes, what says where they are.
  std::size_t add_record(std::size_t count, std::size_t bytes, std::size_t source) {
    const std::size_t at = end_;
    records_of(head_)[next_++] = {count, bytes, at};
    end_ += head_->where == Where::at_sender ? source : padded(bytes);
    return at;
  }

 private:
  static CkNcpyBuffer ready_to_send(CkNcpyBuffer buffer, std::size_t bytes) {
    buffer.cnt = bytes;
    if (buffer.regMode == CK_BUFFER_REG || buffer.regMode == CK_BUFFER_PREREG) buffer.registerMem();
    return buffer;
  }
  char* base_;
  ArraysHead* head_;
  marshal::Writer arguments_;
  std::size_t end_;
  unsigned next_ = 0;
};

// The sender's callback for an array that was copied.
void has_been_copied(const CkNcpyBuffer& buffer, std::size_t bytes);
template <class T>
void tell_if_copied(const T&) {}
template <class T>
void tell_if_copied(const NcpyToSend<T>& a) {
  has_been_copied(a.buffer, a.bytes());
}

}  // namespace zero_copy

// --- the receiving side ----------------------------------------------------------------------------------------------
class NcpyUnmarshal : public Unmarshal {
 public:
  NcpyUnmarshal(const Delivery& call, unsigned arrays) : Unmarshal(call, zero_copy::arguments_at(arrays)) {}
  void* next_array() { return zero_copy::elements(head(), next_++); }
  void skip_array() { ++next_; }

 private:
  const zero_copy::ArraysHead* head() const { return reinterpret_cast<const zero_copy::ArraysHead*>(base_); }
  unsigned next_ = 0;
};

template <class T>
class NcpyArg {
 public:
  explicit NcpyArg(NcpyUnmarshal& in) : data_(static_cast<T*>(in.next_array())) {}
  T*& data() { return data_; }

 private:
  T* data_;
};

// Of a post entry method: a pointer that it may set to a buffer of its own.
template <class T>
class NcpyPosting {
 public:
  explicit NcpyPosting(NcpyUnmarshal& in) { in.skip_array(); }
  T*& data() { return data_; }

 private:
  T* data_ = nullptr;
};
template <class T, class N>
void assigned(CkNcpyBufferPost& post, T* buffer, N count) {
  post.assigned = buffer;
  post.assigned_bytes = static_cast<std::size_t>(count) * sizeof(T);
}

}  // namespace periapt

// The post entry method that belongs to entry `ep`. `item_bytes`: of a reduction target, the size of its array's items.
void CkRegisterPostEntry(int ep, periapt::zero_copy::PostFunction function, std::size_t item_bytes = 0);
