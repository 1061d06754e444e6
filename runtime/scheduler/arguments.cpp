// See arguments.h.
#include "runtime/scheduler/arguments.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/fatal.h"

using periapt::fatal;

namespace {
[[noreturn]] void no_value(const char* name, const char* kind) {
  fatal(std::string("the option ") + name + " needs a value", "the command line", std::string("it takes ") + kind,
        std::string("write ") + name + " VALUE");
}
[[noreturn]] void bad_value(const char* name, const char* kind, const char* value) {
  fatal(std::string("the option ") + name + " cannot be '" + value + "'", "the command line",
        std::string("it takes ") + kind, std::string("write ") + name + " VALUE");
}

// "-n 5", "-n=5", "-n5": where the value is, and how many arguments name and value take. Null: not this option.
const char* attached_value(char** at, const char* name, int* taken) {
  const std::size_t length = std::strlen(name);
  if (std::strncmp(*at, name, length) != 0) return nullptr;
  const char* rest = *at + length;
  *taken = 1;
  if (*rest == '=') return rest + 1;
  if (*rest == '-' || *rest == '+' || (*rest >= '0' && *rest <= '9')) return rest;
  if (*rest != 0) return nullptr;  // a longer option that begins the same
  if (!at[1]) no_value(name, "an integer");
  *taken = 2;
  return at[1];
}

int take_integer(char** argv, const char* name, long least, long most, long* value) {
  for (; *argv; ++argv) {
    int taken;
    const char* text = attached_value(argv, name, &taken);
    if (!text) continue;
    char* end;
    errno = 0;
    *value = std::strtol(text, &end, 0);
    if (end == text || *end != 0) bad_value(name, "an integer", text);
    if (errno == ERANGE || *value < least || *value > most) {
      bad_value(name, ("an integer from " + std::to_string(least) + " to " + std::to_string(most)).c_str(), text);
    }
    CmiDeleteArgs(argv, taken);
    return 1;
  }
  return 0;
}
}  // namespace

extern "C" {

int CmiGetArgInt(char** argv, const char* name, int* value) {
  long wide;
  if (!take_integer(argv, name, -2147483647L - 1, 2147483647L, &wide)) return 0;
  *value = static_cast<int>(wide);
  return 1;
}
int CmiGetArgLong(char** argv, const char* name, CmiInt8* value) {
  return take_integer(argv, name, -__LONG_MAX__ - 1, __LONG_MAX__, value);
}
int CmiGetArgString(char** argv, const char* name, char** value) {
  for (; *argv; ++argv) {
    if (std::strcmp(*argv, name) != 0) continue;
    if (!argv[1]) no_value(name, "a text");
    *value = argv[1];
    CmiDeleteArgs(argv, 2);
    return 1;
  }
  return 0;
}
int CmiGetArgDouble(char** argv, const char* name, double* value) {
  char* text;
  if (!CmiGetArgString(argv, name, &text)) return 0;
  char* end;
  const double number = std::strtod(text, &end);
  if (end == text || *end != 0) bad_value(name, "a number", text);
  *value = number;
  return 1;
}
int CmiGetArgFlag(char** argv, const char* name) {
  for (; *argv; ++argv) {
    if (std::strcmp(*argv, name) != 0) continue;
    CmiDeleteArgs(argv, 1);
    return 1;
  }
  return 0;
}

int CmiGetArgIntDesc(char** argv, const char* name, int* value, const char*) { return CmiGetArgInt(argv, name, value); }
int CmiGetArgLongDesc(char** argv, const char* name, CmiInt8* value, const char*) {
  return CmiGetArgLong(argv, name, value);
}
int CmiGetArgDoubleDesc(char** argv, const char* name, double* value, const char*) {
  return CmiGetArgDouble(argv, name, value);
}
int CmiGetArgStringDesc(char** argv, const char* name, char** value, const char*) {
  return CmiGetArgString(argv, name, value);
}
int CmiGetArgFlagDesc(char** argv, const char* name, const char*) { return CmiGetArgFlag(argv, name); }
void CmiArgGroup(const char*, const char*) {}
int CmiArgGivingUsage() { return 0; }

void CmiDeleteArgs(char** argv, int count) {
  char** from = argv + count;
  while ((*argv++ = *from++)) {
  }
}
int CmiGetArgc(char** argv) {
  int count = 0;
  while (argv[count]) ++count;
  return count;
}
char** CmiCopyArgs(char** argv) {
  const std::size_t bytes = static_cast<std::size_t>(CmiGetArgc(argv) + 1) * sizeof(char*);
  char** copy = static_cast<char**>(std::malloc(bytes));
  if (!copy) fatal("no memory for " + std::to_string(bytes) + " bytes", "the command line");
  return static_cast<char**>(std::memcpy(copy, argv, bytes));
}

double CmiReadSize(const char* text) {
  char* unit;
  const double size = std::strtod(text, &unit);
  switch (*unit) {
    case 0:
    case 'b':
    case 'B':
      return size;
    case 'k':
    case 'K':
      return size * 1024;
    case 'm':
    case 'M':
      return size * 1024 * 1024;
    case 'g':
    case 'G':
      return size * 1024 * 1024 * 1024;
    default:
      fatal(std::string("'") + text + "' is not a size", "CmiReadSize",
            "a size is a number of bytes, or one with k, M or G", "write for instance 64M");
  }
}
}
