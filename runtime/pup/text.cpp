// Text: one function that writes a value, one that reads it, and the layout around them.
#include "runtime/pup/text.h"

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <limits>

#include "runtime/pup/disk.h"

namespace PUP {
namespace {

template <class T>
T load(const void* p, std::size_t i) {
  T v;
  std::memcpy(&v, static_cast<const char*>(p) + i * sizeof(T), sizeof(T));
  return v;
}
template <class T>
void store(void* p, std::size_t i, T v) {
  std::memcpy(static_cast<char*>(p) + i * sizeof(T), &v, sizeof(T));
}

template <class... A>
std::string format(const char* f, A... a) {
  char text[128];
  std::snprintf(text, sizeof text, f, a...);
  return text;
}

std::string decimal(uint128 v) {
  std::string text;
  do text.insert(text.begin(), static_cast<char>('0' + static_cast<int>(v % 10)));
  while (v /= 10);
  return text;
}
std::string decimal(int128 v) {
  return v < 0 ? "-" + decimal(uint128(0) - static_cast<uint128>(v)) : decimal(static_cast<uint128>(v));
}

const char* name_of(dataType t) {
  switch (t) {
    case Tchar: return "char";
    case Tshort: return "short";
    case Tint: return "int";
    case Tlong: return "long";
    case Tlonglong: return "longlong";
    case Tuchar: return "uchar";
    case Tushort: return "ushort";
    case Tuint: return "uint";
    case Tulong: return "ulong";
    case Tulonglong: return "ulonglong";
    case Tint128: return "int128";
    case Tuint128: return "uint128";
    case Tfloat: return "float";
    case Tdouble: return "double";
    case Tlongdouble: return "longdouble";
    case Tbool: return "bool";
    case Tbyte: return "byte";
    case Tsync: return "sync";
    case Tpointer: return "pointer";
    case dataType_last: break;
  }
  return "unknown";
}

/// Item i of the array at p; digits enough to read the same value back.
std::string value_text(const void* p, std::size_t i, dataType t) {
  switch (t) {
    case Tchar: return format("%d", load<signed char>(p, i));
    case Tuchar:
    case Tbyte: return format("%02X", load<unsigned char>(p, i));
    case Tshort: return format("%d", load<short>(p, i));
    case Tushort: return format("%u", load<unsigned short>(p, i));
    case Tint: return format("%d", load<int>(p, i));
    case Tuint:
    case Tsync: return format("%u", load<unsigned int>(p, i));
    case Tlong: return format("%ld", load<long>(p, i));
    case Tulong: return format("%lu", load<unsigned long>(p, i));
    case Tlonglong: return format("%lld", load<long long>(p, i));
    case Tulonglong: return format("%llu", load<unsigned long long>(p, i));
    case Tint128: return decimal(load<int128>(p, i));
    case Tuint128: return decimal(load<uint128>(p, i));
    case Tfloat: return format("%.9g", static_cast<double>(load<float>(p, i)));
    case Tdouble: return format("%.17g", load<double>(p, i));
    case Tlongdouble: return format("%.21Lg", load<long double>(p, i));
    case Tbool: return load<unsigned char>(p, i) ? "true" : "false";
    case Tpointer: return format("%p", load<void*>(p, i));
    case dataType_last: break;
  }
  return "?";
}

/// A character that can stand between quotes on one line as it is.
bool plain(unsigned char c) { return c >= 32 && c < 127 && c != '\'' && c != '"' && c != '\\'; }

}  // namespace

// ---- descriptions -----------------------------------------------------------------------------------------------------

void toTextUtil::line(const std::string& text) { emit(std::string(level_, '\t') + text + "\n"); }
void toTextUtil::begin(const std::string& what) {
  line("begin " + what + " {");
  ++level_;
}
void toTextUtil::end(const char* what) {
  --level_;
  line(std::string("} end ") + what + ";");
}

void toTextUtil::comment(const char* message) { line(std::string("//") + message); }
void toTextUtil::synchronize(unsigned int mark) { line(format("sync=0x%08x", mark)); }

void toTextUtil::bytes(void* p, std::size_t n, std::size_t, dataType t) {
  if (t == Tchar) {
    std::string text = "string=\"";
    for (std::size_t i = 0; i < n; ++i) {
      const unsigned char c = load<unsigned char>(p, i);
      if (c == '\n') {
        text += "\\n";
      } else if (plain(c) || c == '\'') {
        text += static_cast<char>(c);
      } else if (c == '"' || c == '\\') {
        text += std::string("\\") + static_cast<char>(c);
      } else {
        text += format("\\x%02X", c);
      }
    }
    line(text + "\";");
  } else if (t == Tbyte || t == Tuchar) {
    begin("byte " + std::to_string(n));
    for (std::size_t i = 0; i < n; i += 25) {
      std::string text;
      for (std::size_t j = i; j < n && j < i + 25; ++j) text += value_text(p, j, t) + " ";
      line(text);
    }
    end("byte");
  } else {
    if (n != 1) begin("array " + std::to_string(n));
    for (std::size_t i = 0; i < n; ++i) line(std::string(name_of(t)) + "=" + value_text(p, i, t) + ";");
    if (n != 1) end("array");
  }
}

void toTextUtil::object(able** a) {
  begin("object");
  er::object(a);
  end("object");
}

sizerText::sizerText() : toTextUtil(IS_SIZING + IS_COMMENTS) {}

toText::toText(char* out, std::size_t len) : toTextUtil(IS_PACKING + IS_COMMENTS), out_(out), length_(len) {
  if (!len) detail::raise_overrun(*this, 1, 1);
  out_[0] = 0;
}
void toText::emit(const std::string& text) {
  if (text.size() >= length_ - count_) detail::raise_overrun(*this, text.size() + 1, 1);
  std::memcpy(out_ + count_, text.c_str(), text.size() + 1);
  count_ += text.size();
}

// ---- text files -------------------------------------------------------------------------------------------------------

void toTextFile::comment(const char* message) {
  std::string one_line = message;
  for (char& c : one_line) {
    if (c == '\n') c = ' ';
  }
  std::fprintf(f, "! %s\n", one_line.c_str());
}

void toTextFile::bytes(void* p, std::size_t n, std::size_t, dataType t) {
  for (std::size_t i = 0; i < n; ++i) {
    if (t == Tchar) {
      const unsigned char c = load<unsigned char>(p, i);
      std::fprintf(f, plain(c) ? " '%c'" : " '\\x%02X'", c);
    } else {
      std::fprintf(f, " %s", value_text(p, i, t).c_str());
    }
  }
  std::fputc('\n', f);
}

fromTextFile::fromTextFile(FILE* file) : er(IS_UNPACKING), f(file) { length_ = detail::file_length(f, &done_); }

/// In text a value may be shorter than in memory, by at most this: a long double may be " 0".
std::size_t fromTextFile::remaining() const {
  if (length_ == unbounded) return unbounded;
  const std::size_t left = length_ > done_ ? length_ - done_ : 0;
  return left > unbounded / 16 ? unbounded - 1 : left * 16;
}

int fromTextFile::next() {
  const int c = std::fgetc(f);
  if (c != EOF) ++done_;
  if (c == '\n') ++line_;
  return c;
}
void fromTextFile::back(int c) {
  if (c == EOF) return;
  std::ungetc(c, f);
  --done_;
  if (c == '\n') --line_;
}

void fromTextFile::parseError(const char* what) {
  detail::raise(error::kind::bad_value, this,
                std::string("PUP: in line ") + std::to_string(line_) + " of the text file: " + what);
}

/// The first character that is neither blank nor part of a comment.
int fromTextFile::skip_blanks() {
  for (;;) {
    int c = next();
    if (c == '!') {
      while (c != '\n' && c != EOF) c = next();
    }
    if (c == EOF) parseError("the file ended where a value should be");
    if (!std::isspace(c)) return c;
  }
}

std::string fromTextFile::word() {
  std::string text;
  int c = skip_blanks();
  for (; c != EOF && !std::isspace(c); c = next()) {
    if (text.size() == 256) parseError("a value has more than 256 characters");
    text += static_cast<char>(c);
  }
  back(c);
  return text;
}

/// 'c' for any c, or '\xHH'.
char fromTextFile::character() {
  if (skip_blanks() != '\'') parseError("a character between single quotes should be here");
  const int c = next();
  int after = next();
  if (c == '\\' && after == 'x') {
    char digits[3] = {};
    for (int i = 0; i < 2; ++i) digits[i] = static_cast<char>(next());
    if (!std::isxdigit(static_cast<unsigned char>(digits[0])) || !std::isxdigit(static_cast<unsigned char>(digits[1])) ||
        next() != '\'') {
      parseError("'\\xHH' with two hexadecimal digits should be here");
    }
    return static_cast<char>(std::strtol(digits, nullptr, 16));
  }
  if (c == EOF || after != '\'') parseError("a character between single quotes should be here");
  return static_cast<char>(c);
}

namespace {

/// Exactly a decimal (or, for bytes, hexadecimal) integer within T.
template <class T>
bool parse_integer(const std::string& text, T& v, unsigned base = 10) {
  std::size_t i = 0;
  const bool negative = text[0] == '-';
  if (negative || text[0] == '+') ++i;
  const T most = std::is_same<T, int128>::value    ? static_cast<T>(~uint128(0) >> 1)
                 : std::is_same<T, uint128>::value ? static_cast<T>(~uint128(0))
                                                   : std::numeric_limits<T>::max();
  const bool is_signed = static_cast<T>(-1) < static_cast<T>(0);
  if (negative && !is_signed) return false;
  const uint128 bound = negative ? static_cast<uint128>(most) + 1 : static_cast<uint128>(most);
  if (i == text.size()) return false;
  uint128 sum = 0;
  for (; i < text.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (!std::isxdigit(c)) return false;
    const unsigned digit = std::isdigit(c) ? c - '0' : std::tolower(c) - 'a' + 10;
    if (digit >= base || sum > (bound - digit) / base) return false;
    sum = sum * base + digit;
  }
  v = static_cast<T>(negative ? uint128(0) - sum : sum);
  return true;
}

template <class T>
bool read_integer(const std::string& text, void* p, std::size_t i, unsigned base = 10) {
  T v;
  if (!parse_integer(text, v, base)) return false;
  store(p, i, v);
  return true;
}

template <class T>
bool read_real(const std::string& text, void* p, std::size_t i, T (*parse)(const char*, char**)) {
  char* end;
  const T v = parse(text.c_str(), &end);
  if (*end || end == text.c_str()) return false;
  store(p, i, v);
  return true;
}

bool read_value(const std::string& text, void* p, std::size_t i, dataType t) {
  switch (t) {
    case Tuchar:
    case Tbyte: return read_integer<unsigned char>(text, p, i, 16);
    case Tshort: return read_integer<short>(text, p, i);
    case Tushort: return read_integer<unsigned short>(text, p, i);
    case Tint: return read_integer<int>(text, p, i);
    case Tuint:
    case Tsync: return read_integer<unsigned int>(text, p, i);
    case Tlong: return read_integer<long>(text, p, i);
    case Tulong: return read_integer<unsigned long>(text, p, i);
    case Tlonglong: return read_integer<long long>(text, p, i);
    case Tulonglong: return read_integer<unsigned long long>(text, p, i);
    case Tint128: return read_integer<int128>(text, p, i);
    case Tuint128: return read_integer<uint128>(text, p, i);
    case Tfloat: return read_real<float>(text, p, i, std::strtof);
    case Tdouble: return read_real<double>(text, p, i, std::strtod);
    case Tlongdouble: return read_real<long double>(text, p, i, std::strtold);
    case Tbool:
      store(p, i, text == "true");
      return text == "true" || text == "false";
    case Tpointer: {
      void* v = nullptr;
      if (text != "(nil)" && std::sscanf(text.c_str(), "%p", &v) != 1) return false;
      store(p, i, v);
      return true;
    }
    case Tchar:
    case dataType_last: break;
  }
  return false;
}

}  // namespace

void fromTextFile::bytes(void* p, std::size_t n, std::size_t, dataType t) {
  for (std::size_t i = 0; i < n; ++i) {
    if (t == Tchar) {
      store(p, i, character());
      continue;
    }
    const std::string text = word();
    if (!read_value(text, p, i, t)) parseError(("\"" + text + "\" is not a value of type " + name_of(t)).c_str());
  }
}

}  // namespace PUP
