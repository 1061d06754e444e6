// Files that all elements of an array write together, in pieces of all sizes and in any order, two files at once; what
// lies in them then is looked at, and read again through sessions of other shapes. An argument makes a mistake instead.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "ckio.h"
#include "io_steps.decl.h"

/*readonly*/ CProxy_Main mainProxy;
/*readonly*/ CProxy_Part parts;

namespace {
using Ck::IO::File;
using Ck::IO::Session;
constexpr int elements = 13;
// Of the session of each file. The second one is of more than one stripe.
constexpr std::size_t begin_of[] = {100, 77}, bytes_of[] = {50'000, 1'300'001};
std::string mistake;

char byte_at(int file, std::size_t at) {
  return static_cast<char>((at * 2654435761u >> 7) + static_cast<std::size_t>(file) * 31);
}
void expect(bool holds, const char* what) {
  if (!holds) CkAbort("does not hold: %s", what);
}

// The pieces that an element writes: the whole is cut at places that each element knows.
struct Piece {
  std::size_t at, bytes;
};
std::vector<Piece> pieces_of(int file, int element) {
  std::minstd_rand random(static_cast<unsigned>(file + 1));
  std::vector<Piece> own;
  int turn = 0;
  for (std::size_t at = begin_of[file], end = at + bytes_of[file]; at < end; ++turn) {
    const std::size_t bytes = std::min<std::size_t>(end - at, random() % 7 == 0 ? 100'000 : 1 + random() % 3000);
    if (turn % elements == element) own.push_back({at, bytes});
    at += bytes;
  }
  std::shuffle(own.begin(), own.end(), random);
  return own;
}
}  // namespace

class Part : public CBase_Part {
  int file_ = 0;
  std::size_t left_ = 0;
  std::vector<std::vector<char>> read_;
  std::vector<Piece> asked_;

 public:
  Part() = default;
  explicit Part(CkMigrateMessage*) {}
  void write(int file, Session session) {
    std::vector<Piece> pieces = pieces_of(file, thisIndex);
    if (mistake == "outside" && thisIndex == 0) pieces.push_back({begin_of[file] + bytes_of[file], 1});
    if (mistake == "twice" && thisIndex == 0) pieces.push_back({pieces.front().at, 1});
    for (const Piece& piece : pieces) {
      std::vector<char> data(piece.bytes);
      for (std::size_t i = 0; i < piece.bytes; ++i) data[i] = byte_at(file, piece.at + i);
      Ck::IO::write(session, data.data(), piece.bytes, piece.at);
    }
  }
  void read(int file, Session session) {
    file_ = file;
    std::minstd_rand random(static_cast<unsigned>(thisIndex + 1));
    read_.clear();
    asked_.clear();
    for (int i = 0; i < 5; ++i) {
      const std::size_t at = session.getOffset() + random() % session.getBytes();
      const std::size_t bytes =
          std::min<std::size_t>(random() % 200'000, session.getOffset() + session.getBytes() - at);
      asked_.push_back({at, bytes});
      read_.emplace_back(bytes);
    }
    left_ = asked_.size();
    for (std::size_t i = 0; i < asked_.size(); ++i)
      Ck::IO::read(session, asked_[i].bytes, asked_[i].at, read_[i].data(),
                   CkCallback(CkIndex_Part::has_come(nullptr), thisProxy[thisIndex]));
  }
  void has_come(Ck::IO::ReadCompleteMsg* m) {
    expect(std::any_of(asked_.begin(), asked_.end(),
                       [&](const Piece& piece) { return piece.at == m->offset && piece.bytes == m->bytes; }),
           "an answer says what was asked for");
    delete m;
    if (--left_ > 0) return;
    for (std::size_t i = 0; i < asked_.size(); ++i)
      for (std::size_t k = 0; k < asked_[i].bytes; ++k)
        expect(read_[i][k] == byte_at(file_, asked_[i].at + k), "what is read is what was written");
    contribute(CkCallback(CkReductionTarget(Main, all_right), mainProxy));
  }
};

class Main : public CBase_Main {
  std::string names_[2];
  File files_[2];
  int opened_ = 0, complete_ = 0;
  CthThread waits_ = nullptr;
  std::vector<Session> ready_;
  std::string folder_;

 public:
  explicit Main(CkArgMsg* m) {
    if (m->argc > 1) mistake = m->argv[1];
    delete m;
    mainProxy = thisProxy;
    parts = CProxy_Part::ckNew(elements);
    std::string folder = (std::filesystem::temp_directory_path() / "periapt-io-XXXXXX").string();
    expect(::mkdtemp(folder.data()) != nullptr, "there is a folder for files");
    folder_ = folder;
    for (int i = 0; i < 2; ++i) names_[i] = folder_ + "/file" + std::to_string(i);
    if (mistake == "folder") names_[1] = folder_ + "/none/file";
    if (mistake == "full") names_[1] = "/dev/full";
    registerExitFn(remove_folder);
    the_folder() = folder_;
    thisProxy.run();
  }
  static std::string& the_folder() {
    static std::string folder;
    return folder;
  }
  static void remove_folder() { std::filesystem::remove_all(the_folder()); }

  template <class Holds>
  void wait(Holds holds) {
    while (!holds()) {
      waits_ = CthSelf();
      CthSuspend();
    }
  }
  void go_on() {
    if (waits_) CthAwaken(std::exchange(waits_, nullptr));
  }
  void opened(Ck::IO::FileReadyMsg* m) {
    files_[opened_++] = m->file;
    delete m;
    go_on();
  }
  void ready(Ck::IO::SessionReadyMsg* m) {
    const CkArrayID name = m->session.getSessionID();
    for (const Session& other : ready_)
      if (name == other.getSessionID()) CkAbort("two sessions have one name");
    ready_.push_back(m->session);
    delete m;
    go_on();
  }
  void complete(CkReductionMsg* m) {
    delete m;
    ++complete_;
    go_on();
  }
  void all_right() {
    ++complete_;
    go_on();
  }

  void run() {
    const CkCallback opened(CkIndex_Main::opened(nullptr), thisProxy), ready(CkIndex_Main::ready(nullptr), thisProxy),
        complete(CkIndex_Main::complete(nullptr), thisProxy);
    Ck::IO::Options options[2];
    options[1].peStripe = 1 << 16;
    options[1].activePEs = 3;
    options[1].basePE = 1;
    for (int i = 0; i < 2; ++i) {
      Ck::IO::open(names_[i], opened, options[i]);
      wait([&] { return opened_ == i + 1; });
    }
    if (mistake == "file") return Ck::IO::startSession(File(17), 1, 0, ready, complete);
    const char head[] = "behind all others";
    Ck::IO::startSession(files_[0], bytes_of[0], begin_of[0], ready, head, sizeof head, 20, complete);
    wait([&] { return ready_.size() == 1; });
    if (mistake == "reads") {
      char nothing;
      Ck::IO::read(ready_[0], 1, begin_of[0], &nothing, complete);
    }
    if (mistake == "close") Ck::IO::close(files_[0], complete);
    Ck::IO::startSession(files_[1], bytes_of[1], begin_of[1], ready, complete);
    wait([&] { return ready_.size() == 2; });
    for (int i = 0; i < 2; ++i) parts.write(i, ready_[i]);
    wait([&] { return complete_ == 2; });
    look();

    for (int i = 0; i < 2; ++i) read_all(i, ready, complete);
    if (mistake == "short") Ck::IO::startReadSession(files_[0], 10'000'000, 0, ready);
    complete_ = 0;
    for (const File& file : files_) Ck::IO::close(file, complete);
    wait([&] { return complete_ == 2; });
    if (mistake == "closed") return Ck::IO::startReadSession(files_[0], 10, 0, ready);
    CkExit();
  }
  void look() {
    for (int i = 0; i < 2; ++i) {
      std::ifstream file(names_[i], std::ios::binary);
      std::vector<char> all{std::istreambuf_iterator<char>(file), {}};
      expect(all.size() == begin_of[i] + bytes_of[i], "the file is as long as the session's end");
      for (std::size_t at = begin_of[i]; at < all.size(); ++at)
        expect(all[at] == byte_at(i, at), "what lies in the file is what was written");
      if (i == 0) expect(std::strcmp(all.data() + 20, "behind all others") == 0, "what commits lies in the file");
    }
  }
  void read_all(int i, const CkCallback& ready, const CkCallback& complete) {
    for (int shape = 0; shape < 3; ++shape) {
      ready_.clear();
      complete_ = 0;
      const std::size_t bytes = bytes_of[i] / static_cast<std::size_t>(shape + 1);
      if (shape == 1)
        Ck::IO::startReadSession(files_[i], bytes, begin_of[i], ready, std::vector<int>{CkNumPes() - 1, 0});
      else
        Ck::IO::startReadSession(files_[i], bytes, begin_of[i], ready);
      wait([&] { return ready_.size() == 1; });
      parts.read(i, ready_[0]);
      wait([&] { return complete_ == 1; });
      Ck::IO::closeReadSession(ready_[0], complete);
      wait([&] { return complete_ == 2; });
    }
  }
};

#include "io_steps.def.h"
