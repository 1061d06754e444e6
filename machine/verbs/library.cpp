#include "machine/verbs/library.h"

#include "base/loaded_library.h"
#include "base/this_host.h"

namespace periapt::verbs {
namespace {

constexpr const char* kOther = "PERIAPT_LIBIBVERBS";

Result<Library> load() {
  LoadedLibrary file({file_named_by(kOther, "libibverbs.so.1")});
  if (!file.fault.empty()) return Status::failure(file.unusable());
  Library library;
  const auto find = [&](auto& function, const char* name) { file.find(function, name); };
  find(library.get_device_list, "ibv_get_device_list");
  find(library.free_device_list, "ibv_free_device_list");
  find(library.open_device, "ibv_open_device");
  find(library.close_device, "ibv_close_device");
  find(library.query_device, "ibv_query_device");
  find(library.query_port, "ibv_query_port");
  find(library.query_gid_ex, "_ibv_query_gid_ex");
  find(library.query_pkey, "ibv_query_pkey");
  find(library.alloc_pd, "ibv_alloc_pd");
  find(library.dealloc_pd, "ibv_dealloc_pd");
  find(library.reg_mr, "ibv_reg_mr");
  file.find_if_there(library.reg_dmabuf_mr, "ibv_reg_dmabuf_mr");
  find(library.dereg_mr, "ibv_dereg_mr");
  find(library.create_comp_channel, "ibv_create_comp_channel");
  find(library.destroy_comp_channel, "ibv_destroy_comp_channel");
  find(library.create_cq, "ibv_create_cq");
  find(library.destroy_cq, "ibv_destroy_cq");
  find(library.get_cq_event, "ibv_get_cq_event");
  find(library.ack_cq_events, "ibv_ack_cq_events");
  find(library.create_srq, "ibv_create_srq");
  find(library.destroy_srq, "ibv_destroy_srq");
  find(library.create_qp, "ibv_create_qp");
  find(library.modify_qp, "ibv_modify_qp");
  find(library.destroy_qp, "ibv_destroy_qp");
  find(library.create_ah, "ibv_create_ah");
  find(library.destroy_ah, "ibv_destroy_ah");
  find(library.get_async_event, "ibv_get_async_event");
  find(library.ack_async_event, "ibv_ack_async_event");
  find(library.wc_status_str, "ibv_wc_status_str");
  if (file.missing.empty()) return library;
  return Status::failure(file.path + " is older than rdma-core 32, or no libibverbs: it lacks" + file.missing);
}

}  // namespace

int Library::port_of(ibv_context* context, unsigned port, ibv_port_attr* attributes) const {
  *attributes = {};
  return query_port(context, static_cast<std::uint8_t>(port), reinterpret_cast<_compat_ibv_port_attr*>(attributes));
}

const Result<Library>& library() {
  static const Result<Library> loaded = load();
  return loaded;
}

bool kernel_has_devices() {
  if (!file_named_by(kOther, "").empty()) return true;  // it brings its own
  return kernel_lists_any("/sys/class/infiniband");
}

}  // namespace periapt::verbs
