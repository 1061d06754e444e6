// Shared objects that are not what +transport-path wants, each in its own way; and a transport that never opens.
#include "machine/ucx-like/plugin.h"

namespace {

using namespace periapt;

#if defined(ODD_SHUT) || defined(ODD_CLASH)
constexpr const char* kName = "shut";
std::vector<ucx::Device> probe(const ucx::OpenRequest&) {
  ucx::Device device;
  device.transport = kName;
  device.name = "door";
  device.usable = true;
  device.detail = "looks as if it could be used";
  device.can.max_header = device.can.max_inline = 1 << 20;
  return {device};
}
#else
constexpr const char* kName = "tcp";
std::vector<ucx::Device> probe(const ucx::OpenRequest&) { return {}; }
#endif
Result<std::unique_ptr<ucx::Transport>> open(const ucx::Device&, const ucx::OpenRequest&) {
  return Status::failure("it only says its name");
}
#if defined(ODD_CLASH)
constexpr ucx::TransportOption kOptions[] = {{"ppn", "N", "ports on each network"}};
#else
constexpr ucx::TransportOption kOptions[] = {
    {"shut-for", "REASON", "why it does not open", [](const std::string& text) {
       return text == "lunch" ? Status() : Status::failure("+shut-for " + text + " is no reason: it is lunch");
     }}};
#endif
[[maybe_unused]] const ucx::TransportFactory factory{kName, probe, open, kOptions};
[[maybe_unused]] ucx::TransportPlugin changed() {
  ucx::TransportPlugin plugin;
#if defined(ODD_OLD)
  plugin.contract = 0;
#elif defined(ODD_OTHER_WAY)
  plugin.sizes[2] += 8;
#endif
  plugin.factory = &factory;
  return plugin;
}

}  // namespace

#if defined(ODD_NOTHING)
extern "C" int something_else() { return 0; }
#elif defined(ODD_UNRESOLVED)
extern "C" void what_nobody_has();
extern "C" __attribute__((visibility("default"))) void use() { what_nobody_has(); }
#else
extern "C" __attribute__((visibility("default"))) const ucx::TransportPlugin periapt_transport;
const ucx::TransportPlugin periapt_transport = changed();
#endif
