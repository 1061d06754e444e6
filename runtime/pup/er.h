// PUP::er, the stream that a pup() routine talks to. One routine sizes, packs and unpacks:
//
//   void pup(PUP::er& p) { p | count; p | name; if (p.isUnpacking()) data.resize(count); p(data.data(), count); }
//
// An er may have a *window*: the bytes [cursor_, end_) of memory that items are copied to or from without a virtual
// call. The memory streams put their whole buffer there, sizer counts with it, all others leave it empty and get every
// array of items through bytes(). A stream of one's own derives from er and implements bytes().
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

#include "runtime/pup/error.h"
#include "runtime/pup/traits.h"

namespace PUP {

class seekBlock;
typedef unsigned char myByte;

/// What er::remaining() answers when it cannot be known.
constexpr std::size_t unbounded = SIZE_MAX;

/// Objects nested deeper than this are refused when they are unpacked: a few bytes must not be able to run a process
/// out of stack. A list of more links than this wants a loop in its pup(), not recursion.
constexpr std::size_t depth_max = 10000;

namespace detail {

/// A type that is being pupped, linked to the one around it: the "in" part of an error message. Lives on the stack.
class scope {
 public:
  inline scope(er& p, const char* (*signature)());
  inline ~scope();
  scope(const scope&) = delete;
  void operator=(const scope&) = delete;

  const char* (*const signature)();
  const scope* const outer;
  const std::size_t depth;

 private:
  er& p_;
};

template <class T>
void array_slow(er& p, T* a, std::size_t n);

/// A bool is 0 or 1, whatever byte came for it.
inline void normalize(bool* a, std::size_t n) {
  unsigned char* raw = reinterpret_cast<unsigned char*>(a);
  for (std::size_t i = 0; i < n; ++i) raw[i] = raw[i] != 0;
}

}  // namespace detail

/// Marks in the stream that say how objects are structured; only streams with hasComments() see them.
enum {
  sync_builtin = 0x70000000,
  sync_begin = sync_builtin + 0x01000000,
  sync_end = sync_builtin + 0x02000000,
  sync_last_system = sync_builtin + 0x09000000,
  sync_array_m = 0x00100000,
  sync_list_m = 0x00200000,
  sync_object_m = 0x00300000,
  sync_begin_array = sync_begin + sync_array_m,
  sync_begin_list = sync_begin + sync_list_m,
  sync_begin_object = sync_begin + sync_object_m,
  sync_end_array = sync_end + sync_array_m,
  sync_end_list = sync_end + sync_list_m,
  sync_end_object = sync_end + sync_object_m,
  sync_item = sync_builtin + 0x00110000,
  sync_index = sync_builtin + 0x00120000,
  sync_last
};

class er {
 public:
  /// What the stream is for; may be or'ed into the last argument of most constructors.
  enum purpose : unsigned int {
    IS_RESTARTING = 0x0002,  ///< objects come back from a checkpoint after a failure or a restart
    IS_USERLEVEL = 0x0004,   ///< not a migration: the pup routines of system objects stay out of it
    IS_DELETING = 0x0008,    ///< C and Fortran objects delete themselves once packed
    IS_COMMENTS = 0x0010,    ///< the stream wants comments and synchronization marks
    IS_CHECKPOINT = 0x0020,  ///< a checkpoint is written or read
    IS_MIGRATION = 0x0040    ///< an object moves to another PE
  };
  friend constexpr purpose operator|(purpose a, purpose b) { return purpose(unsigned(a) | unsigned(b)); }

  er(const er&) = delete;
  er& operator=(const er&) = delete;
  virtual ~er() = default;  // inline: a stream on the stack is made and gone without a call

  // Exactly one of these three is true.
  bool isSizing() const { return PUP_er_state & IS_SIZING; }
  bool isPacking() const { return PUP_er_state & IS_PACKING; }
  bool isUnpacking() const { return PUP_er_state & IS_UNPACKING; }
  /// "sizing", "packing" or "unpacking".
  const char* typeString() const;
  /// All flags, direction included.
  unsigned int getStateFlags() const { return PUP_er_state & ~unsigned(IS_RAW | IS_DERIVED); }

  /// The pup routine should free what it packs: the object will not be used again.
  void becomeDeleting() { PUP_er_state |= IS_DELETING; }
  bool isDeleting() const { return PUP_er_state & IS_DELETING; }
  void becomeUserlevel() { PUP_er_state |= IS_USERLEVEL; }
  bool isUserlevel() const { return PUP_er_state & IS_USERLEVEL; }
  void becomeRestarting() { PUP_er_state |= IS_RESTARTING; }
  bool isRestarting() const { return PUP_er_state & IS_RESTARTING; }
  bool isCheckpoint() const { return PUP_er_state & IS_CHECKPOINT; }
  bool isMigration() const { return PUP_er_state & IS_MIGRATION; }
  bool hasComments() const { return PUP_er_state & IS_COMMENTS; }
  /// False where items travel as their memory image; then bytes() may be called with any item type.
  bool wantsTypes() const { return !(PUP_er_state & IS_RAW); }

  /// n items of a type that is its own memory image. Copies within the window; otherwise one call of bytes().
  template <class T>
  void array(T* a, std::size_t n) {
    typedef typename std::remove_cv<T>::type item;
    static_assert(as_bytes<item>::value,
                  "PUP: p(x) and p(array, n) take built-in types and types declared with PUPbytes. For any other type "
                  "write p | x, or PUParray(p, array, n).");
    if (n - 1 < room() / sizeof(T)) {  // 1 <= n <= items that fit
      const std::size_t length = n * sizeof(T);
      if (isUnpacking()) {
        std::memcpy(static_cast<void*>(const_cast<item*>(a)), reinterpret_cast<const void*>(cursor_), length);
        if constexpr (std::is_same<item, bool>::value) detail::normalize(const_cast<bool*>(a), n);
      } else if (isPacking()) {
        std::memcpy(reinterpret_cast<void*>(cursor_), a, length);
      }
      cursor_ += length;
    } else {
      detail::array_slow(*this, const_cast<item*>(a), n);
    }
  }

  template <class T>
  void operator()(T& v) {
    if constexpr (std::is_base_of<able, T>::value) {
      v.pup(*this);
    } else {
      array(&v, 1);
    }
  }
  template <class T>
  void operator()(T* a, std::size_t n) {
    array(a, n);
  }
  /// Pointers as raw values: they mean nothing in another process, hence the extra argument.
  void operator()(void*& v, void* signature) { (*this)(&v, 1, signature); }
  void operator()(void** a, std::size_t n, void* /*signature*/) { bytes(a, n, sizeof(void*), Tpointer); }
  /// An object of a registered PUP::able type: type and contents. Unpacking makes a new one.
  void operator()(able** a) { object(a); }

  /// An array that may be large, at the end of a pointer. Unpacking allocates it (malloc, or `allocate`, which is given
  /// bytes); packing frees it when isDeleting() (free, or `deallocate`) and sets the pointer to null.
  template <class T>
  void pup_buffer(T*& a, std::size_t n) {
    void* v = a;
    pup_buffer(v, n, sizeof(T), getXlateDataType(a));
    a = static_cast<T*>(v);
  }
  template <class T>
  void pup_buffer(T*& a, std::size_t n, std::function<void*(std::size_t)> allocate,
                  std::function<void(void*)> deallocate) {
    void* v = a;
    pup_buffer(v, n, sizeof(T), getXlateDataType(a), allocate, deallocate);
    a = static_cast<T*>(v);
  }
  virtual void pup_buffer(void*& p, std::size_t n, std::size_t itemSize, dataType t);
  virtual void pup_buffer(void*& p, std::size_t n, std::size_t itemSize, dataType t,
                          std::function<void*(std::size_t)> allocate, std::function<void(void*)> deallocate);

  /// Words for a human reader; most streams ignore them.
  virtual void comment(const char* message);
  /// A mark, one of sync_*; most streams ignore them.
  virtual void synchronize(unsigned int sync);
  void syncComment(unsigned int sync, const char* message = nullptr) {
    if (hasComments()) {
      synchronize(sync);
      if (message) comment(message);
    }
  }

  /// All data goes through here, except what the window takes: n items of itemSize bytes and type t at p.
  virtual void bytes(void* p, std::size_t n, std::size_t itemSize, dataType t) = 0;
  virtual void object(able** a);

  /// Bytes sized, packed or unpacked so far, where the stream counts them.
  virtual std::size_t size() const { return 0; }
  /// An upper bound of the bytes that can still be unpacked, or `unbounded`. Lengths read are checked against it.
  virtual std::size_t remaining() const { return unbounded; }
  /// The next n items where they lie, if the stream has them in memory and aligned; null otherwise. skip() them after.
  template <class T>
  const T* in_place(std::size_t n) const {
    if (!isUnpacking() || n - 1 >= room() / sizeof(T) || cursor_ % alignof(T)) return nullptr;
    return reinterpret_cast<const T*>(cursor_);
  }
  void skip(std::size_t n) { cursor_ += n; }
  bool hasWindow() const { return end_ != 0; }
  /// Offset and length for error messages.
  virtual std::size_t offset() const { return size(); }
  virtual std::size_t limit() const { return unbounded; }

  // What seekBlock needs.
  virtual void impl_startSeek(seekBlock& s);
  virtual std::size_t impl_tell(seekBlock& s);
  virtual void impl_seek(seekBlock& s, std::size_t off);
  virtual void impl_endSeek(seekBlock& s);

  /// The innermost type being pupped, null outside any.
  const detail::scope* innermost() const { return scope_; }

 protected:
  enum direction : unsigned int {
    IS_RAW = 0x0001,
    IS_DERIVED = 0x0080,  ///< of a class that a program derives from a memory stream (memory.h)
    IS_SIZING = 0x0100,
    IS_PACKING = 0x0200,
    IS_UNPACKING = 0x0400,
    TYPE_MASK = 0xFF00
  };
  friend constexpr unsigned int operator|(direction a, direction b) { return unsigned(a) | unsigned(b); }
  friend constexpr unsigned int operator|(direction a, purpose b) { return unsigned(a) | unsigned(b); }
  friend constexpr unsigned int operator+(direction a, purpose b) { return unsigned(a) | unsigned(b); }

  explicit er(unsigned int inType) : PUP_er_state(inType & ~unsigned(IS_RAW)) {}
  /// For streams that carry items as they are in memory; purpose must hold no direction.
  er(direction d, unsigned int purpose) : PUP_er_state(d | purpose | IS_RAW) {
    if (purpose & TYPE_MASK) detail::raise_purpose();
  }

  std::size_t room() const { return end_ - cursor_; }

  unsigned int PUP_er_state;
  std::uintptr_t cursor_ = 0;  ///< an address, except in sizer, where it counts
  std::uintptr_t end_ = 0;

 private:
  friend class detail::scope;
  const detail::scope* scope_ = nullptr;
};

inline detail::scope::scope(er& p, const char* (*s)())
    : signature(s), outer(p.scope_), depth(outer ? outer->depth + 1 : 1), p_(p) {
  if (depth > depth_max) raise_depth(p);
  const scope* self = this;
  __asm__("" : "+r"(self));  // GCC 13 would warn in every program that the er keeps it: it does until the scope ends
  p.scope_ = self;
}
inline detail::scope::~scope() { p_.scope_ = outer; }

template <class T>
[[gnu::noinline]] void detail::array_slow(er& p, T* a, std::size_t n) {
  scope here(p, signature<T>);
  if constexpr (is_builtin<T>::value || std::is_enum<T>::value) {
    p.bytes(a, n, sizeof(T), data_type<T>());
  } else {
    if constexpr (parts<T>::value) {
      if (p.wantsTypes()) {
        for (std::size_t i = 0; i < n; ++i) parts<T>::each(p, a[i]);
        return;
      }
    }
    if (n > SIZE_MAX / sizeof(T)) raise_overrun(p, n, sizeof(T));
    p.bytes(a, n * sizeof(T), 1, Tbyte);
  }
}

/// Up to three sections of a stream that may be unpacked in another order than they were packed:
///
///   PUP::seekBlock s(p, 2);
///   if (p.isUnpacking()) { s.seek(0); p | system; }
///   s.seek(1); p | user;
///   if (p.isPacking()) { s.seek(0); p | system; }
///   s.endBlock();
class seekBlock {
  enum { maxSections = 3 };
  std::size_t secTab[maxSections + 1];  // where each section begins, from the beginning of the block; last: the end
  int nSec;
  std::size_t secTabOff = 0;
  er& p;
  bool hasEnded = false;

 public:
  seekBlock(er& p, int nSections);
  ~seekBlock();
  seekBlock(const seekBlock&) = delete;
  void operator=(const seekBlock&) = delete;

  /// Goes to a section, 0 to nSections - 1. While sizing and packing each must be visited once.
  void seek(int toSection);
  void endBlock();

  /// Where the block began, as the stream likes to remember it.
  union {
    std::size_t off;
    long loff;
    const myByte* cptr;
    myByte* ptr;
    void* vptr;
  } data;
};

}  // namespace PUP

/// For people that forget the "::".
typedef PUP::er PUPer;
