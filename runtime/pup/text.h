// Streams of text for people: sizerText and toText describe an object as a C string (types, structure, comments);
// toTextFile writes values one line an array, with "! comment" lines, and fromTextFile reads that back.
#pragma once

#include <cstdio>
#include <string>

#include "runtime/pup/operators.h"

namespace PUP {

/// What sizerText and toText share: the description, handed over in pieces.
class toTextUtil : public er {
 public:
  void comment(const char* message) override;
  void synchronize(unsigned int mark) override;
  void bytes(void* p, std::size_t n, std::size_t itemSize, dataType t) override;
  void object(able** a) override;

 protected:
  explicit toTextUtil(unsigned int type) : er(type) {}
  virtual void emit(const std::string& text) = 0;

 private:
  void line(const std::string& text);
  void begin(const std::string& what);
  void end(const char* what);
  int level_ = 0;
};

/// Counts the characters of the description, with the terminating zero.
class sizerText : public toTextUtil {
 public:
  sizerText();
  std::size_t size() const override { return count_ + 1; }

 protected:
  void emit(const std::string& text) override { count_ += text.size(); }

 private:
  std::size_t count_ = 0;
};

/// Writes the description, zero-terminated, into len characters.
class toText : public toTextUtil {
 public:
  toText(char* out, std::size_t len);
  std::size_t size() const override { return count_ + 1; }
  std::size_t limit() const override { return length_; }

 protected:
  void emit(const std::string& text) override;

 private:
  char* out_;
  std::size_t length_;
  std::size_t count_ = 0;
};

/// Values as text. Numbers come back exactly as they were.
class toTextFile : public er {
 public:
  explicit toTextFile(FILE* f) : er(IS_PACKING), f(f) {}
  void comment(const char* message) override;
  void bytes(void* p, std::size_t n, std::size_t itemSize, dataType t) override;
  /// Whether anything could not be written.
  bool checkError() { return std::fflush(f) != 0 || std::ferror(f); }

 protected:
  FILE* f;
};

/// Reads what toTextFile wrote, or a person: numbers between blanks, '! to the end of line' is a comment.
class fromTextFile : public er {
 public:
  explicit fromTextFile(FILE* f);
  void bytes(void* p, std::size_t n, std::size_t itemSize, dataType t) override;
  std::size_t remaining() const override;
  std::size_t offset() const override { return done_; }
  std::size_t limit() const override { return length_; }

 protected:
  /// Raises a PUP::error that says `what` and the line.
  virtual void parseError(const char* what);
  FILE* f;

 private:
  int next();
  void back(int c);
  int skip_blanks();
  std::string word();
  char character();
  std::size_t length_;
  std::size_t done_ = 0;
  long line_ = 1;
};

}  // namespace PUP
