// A shared library that is loaded when a run asks for it, so that a binary runs where it is and where it is not.
#pragma once

#include <string>
#include <vector>

namespace periapt {

class LoadedLibrary {
 public:
  enum class Names { own, shared };  ///< shared: libraries that are loaded later find their names in it
  /// The first of `files` that can be loaded; empty names are passed over. It stays loaded.
  explicit LoadedLibrary(const std::vector<std::string>& files, Names names = Names::own);

  /// A name that it must have. Null when it has not, or there is no library.
  template <class Type>
  Type* find(const char* name) {
    void* const found = symbol(name);
    if (found == nullptr && handle_ != nullptr) missing += std::string(" ") + name;
    return reinterpret_cast<Type*>(found);
  }
  template <class Type>
  void find(Type*& found, const char* name) {
    found = find<Type>(name);
  }
  /// A name that only some libraries have.
  template <class Type>
  Type* find_if_there(const char* name) const {
    return reinterpret_cast<Type*>(symbol(name));
  }
  template <class Type>
  void find_if_there(Type*& found, const char* name) const {
    found = find_if_there<Type>(name);
  }

  /// Why it is not to be used, in words: not loaded, or a name is missing. "" when it can be.
  std::string unusable() const;

  std::string path;     ///< of the file that was loaded
  std::string fault;    ///< what the loader said of each file; "" when one was loaded
  std::string missing;  ///< the names that it lacks, a blank before each

 private:
  void* symbol(const char* name) const;
  void* handle_ = nullptr;
};

/// The file that a variable of the environment names; otherwise `file`.
std::string file_named_by(const char* variable, const char* file);

}  // namespace periapt
