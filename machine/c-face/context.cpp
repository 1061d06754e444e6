// Configuration, contexts, and what can be asked about the library.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "machine/c-face/face.h"

extern char** environ;

namespace {

constexpr unsigned kMajor = UCP_API_MAJOR, kMinor = UCP_API_MINOR;

// UCX_TLS=tcp -> TLS: tcp, and with a prefix of the program's own APP_UCX_TLS as well.
void read_environment(ucp_config& config, const std::string& prefix) {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string text = *entry;
    std::size_t equals = text.find('=');
    if (text.starts_with(prefix) && equals != std::string::npos && equals > prefix.size()) {
      config.values[text.substr(prefix.size(), equals - prefix.size())] = text.substr(equals + 1);
    }
  }
}

void copy_name(char* to, const std::string& name) {
  std::strncpy(to, name.c_str(), UCP_ENTITY_NAME_MAX - 1);
  to[UCP_ENTITY_NAME_MAX - 1] = '\0';
}

}  // namespace

extern "C" {

ucs_status_t ucp_config_read(const char* env_prefix, const char*, ucp_config_t** config) {
  *config = new (std::nothrow) ucp_config;
  if (*config == nullptr) return UCS_ERR_NO_MEMORY;
  read_environment(**config, "UCX_");
  if (env_prefix != nullptr && *env_prefix != '\0') read_environment(**config, std::string(env_prefix) + "_UCX_");
  return UCS_OK;
}

void ucp_config_release(ucp_config_t* config) { delete config; }

ucs_status_t ucp_config_modify(ucp_config_t* config, const char* name, const char* value) {
  config->values[name] = value;
  return UCS_OK;
}

void ucp_config_print(const ucp_config_t* config, FILE* stream, const char* title, ucs_config_print_flags_t) {
  if (title != nullptr) std::fprintf(stream, "#\n# %s\n#\n", title);
  for (auto& [name, value] : config->values) std::fprintf(stream, "UCX_%s=%s\n", name.c_str(), value.c_str());
}

void ucp_get_version(unsigned* major, unsigned* minor, unsigned* release) {
  *major = kMajor;
  *minor = kMinor;
  *release = 0;
}

const char* ucp_get_version_string(void) {
  static const std::string text = std::to_string(kMajor) + "." + std::to_string(kMinor) + ".0 (periapt)";
  return text.c_str();
}

ucs_status_t ucp_lib_query(ucp_lib_attr_t* attr) {
  if ((attr->field_mask & UCP_LIB_ATTR_FIELD_MAX_THREAD_LEVEL) != 0) attr->max_thread_level = UCS_THREAD_MODE_SINGLE;
  return UCS_OK;
}

ucs_status_t ucp_init_version(unsigned major, unsigned, const ucp_params_t* params, const ucp_config_t* config,
                              ucp_context_h* made) {
  if (major != kMajor) return UCS_ERR_NOT_IMPLEMENTED;
  auto* context = new (std::nothrow) ucp_context;
  if (context == nullptr) return UCS_ERR_NO_MEMORY;
  std::uint64_t given = params->field_mask;
  if ((given & UCP_PARAM_FIELD_FEATURES) != 0) context->features = params->features;
  if ((given & UCP_PARAM_FIELD_REQUEST_SIZE) != 0) context->request_size = params->request_size;
  if ((given & UCP_PARAM_FIELD_REQUEST_INIT) != 0) context->request_init = params->request_init;
  if ((given & UCP_PARAM_FIELD_REQUEST_CLEANUP) != 0) context->request_cleanup = params->request_cleanup;
  if ((given & UCP_PARAM_FIELD_NAME) != 0) context->name = params->name;
  if (config != nullptr) {
    context->config = *config;
  } else {
    read_environment(context->config, "UCX_");
  }
  *made = context;
  return UCS_OK;
}

void ucp_cleanup(ucp_context_h context) { delete context; }

ucs_status_t ucp_context_query(ucp_context_h context, ucp_context_attr_t* attr) {
  if ((attr->field_mask & UCP_ATTR_FIELD_REQUEST_SIZE) != 0) attr->request_size = sizeof(periapt::face::Request);
  if ((attr->field_mask & UCP_ATTR_FIELD_THREAD_MODE) != 0) attr->thread_mode = UCS_THREAD_MODE_SINGLE;
  if ((attr->field_mask & UCP_ATTR_FIELD_MEMORY_TYPES) != 0) attr->memory_types = periapt::face::memory_types();
  if ((attr->field_mask & UCP_ATTR_FIELD_NAME) != 0) copy_name(attr->name, context->name);
  return UCS_OK;
}

void ucp_context_print_info(const ucp_context_h context, FILE* stream) {
  std::fprintf(stream, "# %s, %zu workers\n", ucp_get_version_string(), context->workers.size());
}

}  // extern "C"
