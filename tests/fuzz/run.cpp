// Runs a target without libFuzzer: all files of its corpus as they are, then damaged ones, each from a seed of its own.
//
//   fuzz_NAME [--runs N] [--seconds S] [--seed FIRST] [--words FILE] [FILE|FOLDER]...
//
// Input and seed of a run that crashes are told, and the input is written to ./crash-SEED. Nothing here looks at what
// the target did, so it finds less than libFuzzer; it is there for every build and every compiler.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "base/platform.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// Of the address sanitizer's library, where that is linked.
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

namespace fs = std::filesystem;
using Text = std::string;

constexpr std::size_t kLongest = 1 << 16;

// ---- what runs now, for its last words

Text now_input;
unsigned long now_seed = 0;  // 0: a file as it is
volatile sig_atomic_t told = 0;

void tell() {
  if (told != 0) return;
  told = 1;
  const Text name = "crash-" + std::to_string(now_seed);
  std::ofstream(name, std::ios::binary) << now_input;
  std::fprintf(stderr, "fuzz: it was seed %lu, %zu bytes, written to %s\n", now_seed, now_input.size(), name.c_str());
}

void on_signal(int signal) {
  tell();
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

// Memory that ends at the end of a page, with none behind it: a byte too far ends the run in a build without
// sanitizers.
class Fenced {
 public:
  Fenced() {
    const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    auto* begin = static_cast<std::uint8_t*>(
        ::mmap(nullptr, kLongest + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    end_ = begin + kLongest;
    if (::mprotect(end_, page, PROT_NONE) != 0) std::abort();
  }
  const std::uint8_t* holding(const Text& bytes) {
    return static_cast<const std::uint8_t*>(std::memcpy(end_ - bytes.size(), bytes.data(), bytes.size()));
  }

 private:
  std::uint8_t* end_;
};

void run_one(Text input, unsigned long seed) {
  static Fenced fenced;
  now_input = std::move(input);
  now_seed = seed;
  if (!periapt::platform::kAddressSanitizer && now_input.size() <= kLongest) {
    LLVMFuzzerTestOneInput(fenced.holding(now_input), now_input.size());
    return;
  }
  // Of its own size exactly, so that a byte too far is one too far.
  const std::vector<std::uint8_t> exact(now_input.begin(), now_input.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

// ---- damage

class Mutator {
 public:
  Mutator(unsigned long seed, const std::vector<Text>& corpus, const std::vector<Text>& words)
      : random_(seed), corpus_(corpus), words_(words) {}

  Text operator()() {
    Text text = pick(corpus_);
    if (below(8) == 0) splice(text);
    for (std::size_t changes = 1 + below(6); changes > 0; --changes) change(text);
    return text.substr(0, kLongest);
  }

 private:
  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : random_() % bound; }
  const Text& pick(const std::vector<Text>& from) {
    static const Text none;
    return from.empty() ? none : from[below(from.size())];
  }

  void splice(Text& text) {
    const Text& other = pick(corpus_);
    text = text.substr(0, below(text.size() + 1)) + other.substr(below(other.size() + 1));
  }
  void change(Text& text) {
    const std::size_t at = below(text.size() + 1);
    const bool inside = at < text.size();
    switch (below(8)) {
      case 0:
        if (inside) text[at] = static_cast<char>(text[at] ^ 1 << below(8));
        break;
      case 1:
        if (inside) text[at] = static_cast<char>(below(256));
        break;
      case 2:
        text.erase(at, 1 + below(16));
        break;
      case 3:
        text.insert(at, 1 + below(8), static_cast<char>(below(256)));
        break;
      case 4:
        text.insert(at, text.substr(below(text.size() + 1), below(40)));
        break;
      case 5:
        text.insert(at, pick(words_));
        break;
      case 6:
        text.insert(at, std::to_string(static_cast<long long>(random_() >> below(64))));
        break;
      default:
        number(text, at);
    }
  }
  // One of those at which something turns over, in some width.
  void number(Text& text, std::size_t at) {
    std::uint64_t value = below(2) == 0 ? std::uint64_t{1} << below(64) : ~std::uint64_t{0} >> below(64);
    value += below(3) - 1;
    const std::size_t width = std::min<std::size_t>(std::size_t{1} << below(4), text.size() - at);
    std::memcpy(text.data() + at, &value, width);
  }

  std::mt19937_64 random_;
  const std::vector<Text>& corpus_;
  const std::vector<Text>& words_;
};

// ---- corpus and words

Text whole(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Text(std::istreambuf_iterator<char>(file), {});
}

void add(const fs::path& path, std::vector<fs::path>& files) {
  if (!fs::is_directory(path)) return files.push_back(path);
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
}

// libFuzzer's form: "text" a line, with \\, \" and \xAB inside.
std::vector<Text> words_of(const Text& file) {
  std::vector<Text> words;
  std::ifstream in(file);
  for (Text line; std::getline(in, line);) {
    const std::size_t begin = line.find('"');
    if (begin == Text::npos || line[0] == '#') continue;
    Text word;
    for (std::size_t at = begin + 1; at < line.size() && line[at] != '"'; ++at) {
      if (line[at] != '\\') {
        word += line[at];
      } else if (++at < line.size() && line[at] == 'x') {
        word += static_cast<char>(std::stoi(line.substr(at + 1, 2), nullptr, 16));
        at += 2;
      } else if (at < line.size()) {
        word += line[at];
      }
    }
    words.push_back(word);
  }
  return words;
}

struct Wish {
  unsigned long runs = 0, first_seed = 1;
  double seconds = 0;
  Text words;
  std::vector<fs::path> files;
};

Wish read(int argc, char** argv) {
  Wish wish;
  wish.runs = 10000;
  for (int i = 1; i < argc; ++i) {
    const Text word = argv[i];
    const bool with_value = word.rfind("--", 0) == 0 && i + 1 < argc;
    if (!with_value) {
      add(word, wish.files);
    } else if (word == "--runs") {
      wish.runs = std::stoul(argv[++i]);
    } else if (word == "--seconds") {
      wish.seconds = std::stod(argv[++i]);
    } else if (word == "--seed") {
      wish.first_seed = std::stoul(argv[++i]);
    } else if (word == "--words") {
      wish.words = argv[++i];
    }
  }
  return wish;
}

}  // namespace

int main(int argc, char** argv) {
  const Wish wish = read(argc, argv);
  for (int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) ::signal(signal, on_signal);
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(tell);

  std::vector<Text> corpus;
  for (const fs::path& file : wish.files) {
    corpus.push_back(whole(file));
    run_one(corpus.back(), 0);
  }
  run_one({}, 0);
  const std::vector<Text> words = words_of(wish.words);
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  unsigned long seed = wish.first_seed;
  const auto goes_on = [&] { return wish.seconds > 0 ? elapsed() < wish.seconds : seed < wish.first_seed + wish.runs; };
  for (; goes_on(); ++seed) run_one(Mutator(seed, corpus, words)(), seed);
  told = 1;  // what a leak checker has to say later is about none of them
  std::printf("%zu files and %lu damaged inputs in %.1f s\n", corpus.size(), seed - wish.first_seed, elapsed());
  return 0;
}
