// What is used of zlib, whose functions these are. Loaded when a file is to be compressed, so that programs are linked
// without it and run where it is not.
#pragma once
#include "base/loaded_library.h"

namespace periapt {

struct ZlibLibrary {
  LoadedLibrary library{{"libz.so.1"}};
  void* (*open)(const char*, const char*) = nullptr;
  int (*write)(void*, const void*, unsigned) = nullptr;
  int (*read)(void*, void*, unsigned) = nullptr;  // of plain files, too
  int (*close)(void*) = nullptr;                  // of a file that was read: whether it was whole

  ZlibLibrary() {
    library.find(open, "gzopen");
    library.find(write, "gzwrite");
    library.find(read, "gzread");
    library.find(close, "gzclose");
  }
  // Null where it cannot be loaded.
  static const ZlibLibrary* get() {
    static const ZlibLibrary zlib;
    return zlib.library.unusable().empty() ? &zlib : nullptr;
  }
};

}  // namespace periapt
