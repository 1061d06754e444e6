#include "machine/gpu/run_time_compiler.h"

#include <algorithm>

#include "base/loaded_library.h"

namespace periapt::gpu {
namespace {

using Result_ = int;
struct OpaqueProgram;
using Program = OpaqueProgram*;

struct Functions {
  Result_ (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  Result_ (*compile)(Program, int, const char* const*) = nullptr;
  Result_ (*log_size)(Program, std::size_t*) = nullptr;
  Result_ (*log)(Program, char*) = nullptr;
  Result_ (*product_size)(Program, std::size_t*) = nullptr;
  Result_ (*product)(Program, char*) = nullptr;
  Result_ (*destroy)(Program*) = nullptr;
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

Result<std::string> compile(const KernelCode& code, const RunTimeCompiler& compiler) {
  const std::string other = file_named_by(compiler.other, "");
  LoadedLibrary file(other.empty() ? compiler.files : std::vector<std::string>{other});
  Functions library;
  const auto find = [&](auto& function, const std::string& name) {
    file.find(function, (compiler.prefix + name).c_str());
  };
  find(library.create, "CreateProgram");
  find(library.compile, "CompileProgram");
  find(library.log_size, "GetProgramLogSize");
  find(library.log, "GetProgramLog");
  find(library.product_size, "Get" + compiler.product + "Size");
  find(library.product, "Get" + compiler.product);
  find(library.destroy, "DestroyProgram");
  if (!file.fault.empty() || !file.missing.empty()) {
    return Status::failure("the build had no compiler of kernels, and there is none as a library: " + file.unusable());
  }
  std::vector<const char*> texts, names, options;
  for (const KernelCode::Text& header : code.headers) {
    texts.push_back(header.text);
    names.push_back(header.name);
  }
  if (!compiler.architecture.empty()) options.push_back(compiler.architecture.c_str());
  options.push_back("--std=c++17");
  Program program = nullptr;
  Result_ error = library.create(&program, code.source.text, code.source.name, static_cast<int>(texts.size()),
                                 texts.data(), names.data());
  if (error == 0) error = library.compile(program, static_cast<int>(options.size()), options.data());
  std::string text;
  std::size_t size = 0;
  const bool compiled = error == 0 && library.product_size(program, &size) == 0;
  if (!compiled && program != nullptr) static_cast<void>(library.log_size(program, &size));
  text.resize(std::max<std::size_t>(size, 1));
  if (compiled) error = library.product(program, text.data());
  if (!compiled && size > 1) static_cast<void>(library.log(program, text.data()));
  if (program != nullptr) static_cast<void>(library.destroy(&program));
  if (compiled && error == 0) return text;
  return Status::failure(file.path + " does not compile " + code.source.name + " (error " + std::to_string(error) +
                         "): " + first_line(text));
}

}  // namespace periapt::gpu
