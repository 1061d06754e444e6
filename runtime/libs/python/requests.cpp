// See requests.h.
#include "requests.h"

#include <arpa/inet.h>

#include <cstring>

#include "PythonCCS-client.h"

namespace periapt::python {
namespace {

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return ntohl(number);
}

Status take(std::string_view& rest, std::size_t bytes, const char* what, std::string& to) {
  if (bytes > rest.size())
    return Status::failure("its " + std::string(what) + " is said to have " + std::to_string(bytes) +
                           " bytes, and there are " + std::to_string(rest.size()));
  to.assign(rest.substr(0, bytes));
  rest.remove_prefix(bytes);
  return {};
}

Status take_text(std::string_view& rest, std::size_t bytes, const char* what, std::string& to) {
  if (bytes == 0) return {};
  if (Status status = take(rest, bytes, what, to); !status.ok()) return status;
  if (rest.empty() || rest.front() != '\0') return Status::failure("there is no zero behind its " + std::string(what));
  rest.remove_prefix(1);
  return {};
}

Result<Request> read_execute(std::string_view bytes) {
  using namespace periapt_python;
  Request request;
  request.interpreter = number_at(bytes, at_interpreter);
  const auto flags = static_cast<unsigned char>(bytes[at_flags]);
  request.is_persistent = (flags & is_persistent) != 0;
  request.keeps_print = (flags & keeps_print) != 0;
  request.is_high_level = (flags & is_high_level) != 0;
  request.iterates = (flags & iterates) != 0;
  request.waits = (flags & waits_for_end) != 0;
  std::string_view rest = bytes.substr(execute_bytes);
  Status status = take_text(rest, number_at(bytes, at_code_length), "code", request.code);
  if (status.ok()) status = take_text(rest, number_at(bytes, at_method_length), "method's name", request.method);
  if (status.ok()) status = take(rest, number_at(bytes, at_iterator_bytes), "iterator", request.iterator);
  if (status.ok() && request.iterates && request.method.empty())
    status = Status::failure("it iterates and names no method");
  if (!status.ok()) return status;
  return request;
}

}  // namespace

Result<Request> read_request(std::string_view bytes) {
  using namespace periapt_python;
  const std::uint32_t magic = bytes.size() < print_bytes ? 0 : number_at(bytes, 0);
  if (magic == execute_magic && bytes.size() >= execute_bytes) return read_execute(bytes);
  if (magic != print_magic && magic != finished_magic)
    return Status::failure("its " + std::to_string(bytes.size()) +
                           " bytes are no PythonExecute, PythonPrint or PythonFinished");
  Request request;
  request.kind = magic == print_magic ? Request::Kind::print : Request::Kind::finished;
  request.interpreter = number_at(bytes, at_short_interpreter);
  const auto flags = static_cast<unsigned char>(bytes[at_short_flags]);
  request.waits = (flags & waits) != 0;
  request.kills = request.kind == Request::Kind::print && (flags & kills) != 0;
  return request;
}

}  // namespace periapt::python
