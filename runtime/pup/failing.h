// For error handlers that want to know more than a PUP::error says.
#pragma once

namespace PUP {
class er;
namespace detail {
/// The PUP::er that this thread's last error is about, or null; there is one only while the handler runs.
const er* failing();
}  // namespace detail
}  // namespace PUP
