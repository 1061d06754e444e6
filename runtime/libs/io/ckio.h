// Parallel files (-module CkIO): all elements write into one file, or read from it, wherever they are; a few PEs gather
// what belongs together and do it in large pieces. C++17: programs include it.
//
//   Ck::IO::open("out", opened, {});                         opened: FileReadyMsg*, with the file
//   Ck::IO::startSession(file, bytes, offset, ready, done);  ready: SessionReadyMsg*, with the session
//   Ck::IO::write(session, data, n, at);                     anywhere, until each byte of the session has been written
//   once Ck::IO::close(file, closed);                             after `done`: all is on the disk
//
//   Ck::IO::startReadSession(file, bytes, offset, ready);    the PEs that hold parts begin to read
//   Ck::IO::read(session, n, at, data, came);                anywhere; came: ReadCompleteMsg*, on the PE that asked
//   Ck::IO::closeReadSession(session, ended);
//
// Offsets are those in the file, in bytes. Callbacks may get a CkReductionMsg* where nothing is said. A file that is
// written is made if it is not there, and keeps what no session covers. What cannot be opened, read or written ends the
// run with a sentence that names the file.
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "runtime/api/callback.h"
#include "runtime/pup/stl.h"

namespace Ck::IO {

// How a file is spread over PEs. 0 and -1: as the library thinks best.
struct Options {
  std::size_t peStripe = 0;     // bytes that lie together on one PE (4 MiB)
  std::size_t writeStripe = 0;  // has no effect: a stripe is written when all of it has come
  int activePEs = -1;           // PEs that hold parts (one a process)
  int basePE = -1;              // the first of them (0)
  int skipPEs = -1;             // from one to the next (so that they are spread over all)
  std::size_t numReaders = 0;   // PEs that hold parts while the file is read (as activePEs)
  void pup(PUP::er& p) {
    p | peStripe;
    p | writeStripe;
    p | activePEs;
    p | basePE;
    p | skipPEs;
    p | numReaders;
  }
};

namespace impl {
struct Plan;
class Manager;
}  // namespace impl

class File {
 public:
  File() = default;
  explicit File(int number) : number_(number) {}
  int number() const { return number_; }
  void pup(PUP::er& p) { p | number_; }

 private:
  int number_ = -1;
};

class Session {
 public:
  Session() = default;
  Session(int number, int file, std::size_t bytes, std::size_t offset)
      : number_(number), file_(file), bytes_(bytes), offset_(offset) {}
  CkArrayID getSessionID() const { return CkArrayID(CkGroupID{number_}); }  // a name alone: there is no such array
  int number() const { return number_; }
  int getFile() const { return file_; }
  std::size_t getBytes() const { return bytes_; }
  std::size_t getOffset() const { return offset_; }
  bool operator==(const Session& other) const { return number_ == other.number_; }
  void pup(PUP::er& p) {
    p | number_;
    p | file_;
    p | bytes_;
    p | offset_;
  }

 private:
  int number_ = -1, file_ = -1;
  std::size_t bytes_ = 0, offset_ = 0;
};

}  // namespace Ck::IO

#include "CkIO.decl.h"

namespace Ck::IO {

class FileReadyMsg : public CMessage_FileReadyMsg {
 public:
  File file;
  explicit FileReadyMsg(const File& file) : file(file) {}
};
class SessionReadyMsg : public CMessage_SessionReadyMsg {
 public:
  Session session;
  explicit SessionReadyMsg(const Session& session) : session(session) {}
};
class ReadCompleteMsg : public CMessage_ReadCompleteMsg {
 public:
  std::size_t read_tag = 0;  // the reads of a PE are counted from 1
  std::size_t offset = 0;
  std::size_t bytes = 0;
  ReadCompleteMsg() = default;
  ReadCompleteMsg(std::size_t tag, std::size_t offset, std::size_t bytes)
      : read_tag(tag), offset(offset), bytes(bytes) {}
};

void open(std::string name, CkCallback opened, Options options);

// `complete` is called when each byte of the session has been written and is on the disk; with `commitData`, when these
// bytes have been written behind all others.
void startSession(File file, std::size_t bytes, std::size_t offset, CkCallback ready, CkCallback complete);
void startSession(File file, std::size_t bytes, std::size_t offset, CkCallback ready, const char* commitData,
                  std::size_t commitBytes, std::size_t commitOffset, CkCallback complete);
// Copies the data.
void write(Session session, const char* data, std::size_t bytes, std::size_t offset);

// `pes`: which PEs hold the parts, in turn.
void startReadSession(File file, std::size_t bytes, std::size_t offset, CkCallback ready);
void startReadSession(File file, std::size_t bytes, std::size_t offset, CkCallback ready, std::vector<int> pes);
// `data` has room for the bytes, and stays until the callback.
void read(Session session, std::size_t bytes, std::size_t offset, char* data, CkCallback after_read);
void closeReadSession(Session session, CkCallback after_end);

// No session of it may be open.
void close(File file, CkCallback closed);

}  // namespace Ck::IO

template <>
struct std::hash<Ck::IO::Session> {
  std::size_t operator()(const Ck::IO::Session& session) const { return std::hash<int>()(session.number()); }
};
