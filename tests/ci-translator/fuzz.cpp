// A libFuzzer target: any bytes, as preprocessed text and not. Built with -DPERIAPT_FUZZ=ON and clang.
#include <cstddef>
#include <cstdint>
#include <string>

#include "lang/ci-translator/translate.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  periapt::ci::TranslateInput input;
  input.file = "fuzz.ci";
  input.text.assign(reinterpret_cast<const char*>(data), size);
  input.originals["fuzz.ci"] = input.text.substr(0, size / 2);
  input.wantTree = true;
  const periapt::ci::TranslateOutput output = periapt::ci::translate(input);
  if (!output.ok && output.messages.empty()) __builtin_trap();
  return 0;
}
