// .ci files, preprocessed and not.
#include "lang/ci-translator/translate.h"
#include "tests/fuzz/fuzz.h"

namespace periapt::fuzz {

void target(Input input) {
  ci::TranslateInput text;
  text.file = "fuzz.ci";
  text.text = input.text();
  if (text.text.size() % 2 == 0) text.originals["fuzz.ci"] = text.text.substr(0, text.text.size() / 2);
  text.wantTree = true;
  const ci::TranslateOutput output = ci::translate(text);
  expect(output.ok || output.messages.find("error: ") != std::string::npos, "what is refused is told");
}

}  // namespace periapt::fuzz
