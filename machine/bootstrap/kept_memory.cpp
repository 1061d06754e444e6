#include "machine/bootstrap/kept_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error_text.h"
#include "base/file_text.h"
#include "base/program.h"
#include "base/secret.h"
#include "machine/bootstrap/resized_start.h"

namespace periapt::bootstrap {
namespace {

constexpr char kVariable[] = "PERIAPT_KEPT_MEMORY";
constexpr off_t kFileBytes = off_t{1} << 62;  // of addresses in it

// The file that an earlier start of this run has left, or -1. What is no such file is not looked at.
int left_file() {
  const char* text = std::getenv(kVariable);
  if (text == nullptr) return -1;
  const int file = std::atoi(text);
  ::unsetenv(kVariable);  // it is ours, not that of programs that we start
  const bool ours = file > 2 && ::fcntl(file, F_GET_SEALS) >= 0 && ::fcntl(file, F_SETFD, FD_CLOEXEC) == 0;
  return ours ? file : -1;
}

// The words of this process's command line, as the kernel has them.
std::vector<std::string> command_line() {
  std::vector<std::string> words;
  Result<std::string> text = read_file("/proc/self/cmdline", 16 << 20);
  if (!text) return words;
  for (std::size_t at = 0; at < text->size(); at += words.back().size() + 1) words.emplace_back(text->c_str() + at);
  return words;
}

}  // namespace

struct KeptMemory::Words {
  std::uint64_t identity;
  std::uint64_t began_ns;
  std::atomic<std::uint64_t> number;
  std::atomic<std::uint64_t> description_bytes[2];  // of even and of odd numbers
  std::atomic<std::uint32_t> starts;                // again, since the last commit
  std::atomic<std::uint32_t> resizing;              // 1: the run ends to be started again
  std::atomic<std::uint32_t> only_for_resize;       // what is whole
  char start[1024];                                 // of all starts from here on; "": as the first one
};

KeptMemory* KeptMemory::the_one_ = nullptr;
bool KeptMemory::watched_ = false;
std::string KeptMemory::why_none_ =
    "no parent of ours watches its processes: it is one process, or another launcher started it";

void KeptMemory::open() {
  keep(make(left_file()));
  watched_ = true;
}

Status KeptMemory::open_here() {
  if (the_one_ == nullptr) keep(make(-1));
  return the_one_ != nullptr ? Status() : Status::failure(why_none_);
}

void KeptMemory::adopt() {
  adopt_own();
  watched_ = true;
}
void KeptMemory::adopt_own() {
  const int left = left_file();
  if (left >= 0) keep(make(left));
}

void KeptMemory::keep(Result<KeptMemory*> made) {
  if (made)
    the_one_ = *made;
  else
    why_none_ = made.message();
}

Result<KeptMemory*> KeptMemory::make(int left) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    return Status::failure("the size of files is limited; lift it with: ulimit -f unlimited");
  const int file = left >= 0 ? left : ::memfd_create("periapt-kept", MFD_CLOEXEC);
  if (file < 0 || (left < 0 && ::ftruncate(file, kFileBytes) != 0))
    return Status::failure("no memory to keep: " + error_text());
  void* page = ::mmap(nullptr, sizeof(Words), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (page == MAP_FAILED) return Status::failure("no memory to keep: " + error_text());
  auto* words = static_cast<Words*>(page);
  if (left < 0) {
    new (words) Words{};
    fill_random(&words->identity, sizeof words->identity);
    words->began_ns = clock::now_ns();
  } else {
    // "exe" else, as ps shows it.
    ::prctl(PR_SET_NAME, program::path().substr(program::path().rfind('/') + 1).c_str());
  }
  return new KeptMemory(file, words);
}

std::uint64_t KeptMemory::number() const { return words_->number.load(std::memory_order_acquire); }
std::uint64_t KeptMemory::description_bytes() const {
  return words_->description_bytes[number() % 2].load(std::memory_order_relaxed);
}
std::uint64_t KeptMemory::identity() const { return words_->identity; }
std::string KeptMemory::variable() const { return std::string(kVariable) + "=" + std::to_string(file_); }
std::uint64_t KeptMemory::began_ns() const { return words_->began_ns; }

void KeptMemory::commit(std::uint64_t number, std::uint64_t description_bytes) {
  words_->description_bytes[number % 2].store(description_bytes, std::memory_order_relaxed);
  words_->starts.store(0, std::memory_order_relaxed);
  // release: partner is the acquire in number(); what is described was written before.
  words_->number.store(number, std::memory_order_release);
}

void KeptMemory::go_back_to(std::uint64_t number) { words_->number.store(number, std::memory_order_release); }

char* KeptMemory::block(int region, std::uint64_t number) {
  const std::uint64_t behind = number * kBlockBytes;
  const std::uint64_t place = begin_of(region) + behind / kMappedBytes * kMappedBytes;
  std::lock_guard<std::mutex> lock(mapping_);
  char*& mapped = mapped_[place];
  if (mapped == nullptr) {
    void* at = ::mmap(nullptr, kMappedBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_,
                      static_cast<off_t>(place));
    if (at == MAP_FAILED) return nullptr;
    mapped = static_cast<char*>(at);
  }
  return mapped + behind % kMappedBytes;
}

void KeptMemory::drop_what_a_resize_left() {
  if (words_->only_for_resize.exchange(0, std::memory_order_relaxed) == 0) return;
  words_->number.store(0, std::memory_order_release);
  // Pages that are mapped are given back too; they are zeros when they are touched again.
  static_cast<void>(
      ::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, begin_of(0), kFileBytes - begin_of(0)));
}

Status KeptMemory::resize(const std::string& start) {
  if (start.size() >= sizeof words_->start) return Status::failure("the description of the next start is too long");
  std::memcpy(words_->start, start.c_str(), start.size() + 1);
  words_->only_for_resize.store(number() == 1 || !is_watched() ? 1 : 0, std::memory_order_relaxed);
  // release: partner is the acquire in is_resizing().
  words_->resizing.store(1, std::memory_order_release);
  return Status();
}
bool KeptMemory::is_resizing() const { return words_->resizing.load(std::memory_order_acquire) != 0; }

bool KeptMemory::may_start_again() const {
  return number() != 0 && words_->starts.load(std::memory_order_relaxed) < kStartsMost;
}

Status KeptMemory::start_again() {
  words_->starts.fetch_add(1, std::memory_order_relaxed);
  words_->resizing.store(0, std::memory_order_relaxed);
  if (words_->start[0] != '\0') ::setenv(ResizedStart::kVariable, words_->start, 1);
  std::vector<std::string> words = command_line();
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::setenv(kVariable, std::to_string(file_).c_str(), 1);
  if (!words.empty() && ::fcntl(file_, F_SETFD, 0) == 0) ::execv("/proc/self/exe", pointers.data());
  return Status::failure("the program could not be started again: " + error_text());
}

}  // namespace periapt::bootstrap
