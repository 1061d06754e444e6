# Kernels for GPUs, in the programs of this tree. Optional: PERIAPT_GPU_COMPILER is nvcc or hipcc, or empty where neither is
# found, and where a sanitizer would have to see their code.
#
#   periapt_add_kernels(TARGET a.cu ...)   compiles them with it, as C++20, and links the vendor's runtime library
include_guard(GLOBAL)

set(PERIAPT_CUDA_ARCHITECTURES "80;90" CACHE STRING "GPUs that nvcc makes code for; later ones get the last of them to translate")
set(PERIAPT_HIP_ARCHITECTURES "" CACHE STRING "GPUs that hipcc makes code for; empty: those of this host")
if(PERIAPT_SANITIZE OR PERIAPT_FUZZ)
  set(PERIAPT_GPU_COMPILER "")
  return()
endif()
if(PERIAPT_NVCC)
  set(PERIAPT_GPU_COMPILER "${PERIAPT_NVCC}")
  set(kernel_flags -x cu -Xcompiler -fPIC --expt-relaxed-constexpr -diag-suppress 2189)
  foreach(architecture IN LISTS PERIAPT_CUDA_ARCHITECTURES)
    list(APPEND kernel_flags "-gencode=arch=compute_${architecture},code=sm_${architecture}")
  endforeach()
  list(GET PERIAPT_CUDA_ARCHITECTURES -1 last)
  list(APPEND kernel_flags "-gencode=arch=compute_${last},code=compute_${last}")
  get_filename_component(toolkit "${PERIAPT_NVCC}" REALPATH)
  get_filename_component(toolkit "${toolkit}/../.." ABSOLUTE)
  find_library(PERIAPT_GPU_RUNTIME cudart_static HINTS "${toolkit}" ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES lib64 lib)
elseif(PERIAPT_HIPCC)
  set(PERIAPT_GPU_COMPILER "${PERIAPT_HIPCC}")
  set(kernel_flags -x hip -fPIC)
  foreach(architecture IN LISTS PERIAPT_HIP_ARCHITECTURES)
    list(APPEND kernel_flags "--offload-arch=${architecture}")
  endforeach()
  find_library(PERIAPT_GPU_RUNTIME amdhip64 HINTS ENV ROCM_PATH PATHS /opt/rocm PATH_SUFFIXES lib)
endif()
if(NOT PERIAPT_GPU_COMPILER OR NOT PERIAPT_GPU_RUNTIME)
  set(PERIAPT_GPU_COMPILER "")
  message(STATUS "Neither nvcc nor hipcc found: the examples are built without their kernels for GPUs")
endif()
set(PERIAPT_KERNEL_FLAGS ${kernel_flags})

function(periapt_add_kernels target)
  foreach(source IN LISTS ARGN)
    get_filename_component(source "${source}" ABSOLUTE)
    get_filename_component(name "${source}" NAME)
    set(object "${CMAKE_CURRENT_BINARY_DIR}/${target}.${name}.o")
    add_custom_command(
      OUTPUT "${object}"
      COMMAND "${PERIAPT_GPU_COMPILER}" ${PERIAPT_KERNEL_FLAGS} -O3 -DNDEBUG -std=c++20 "-I${PROJECT_SOURCE_DIR}"
              "-I${PROJECT_SOURCE_DIR}/include" -MD -MF "${object}.d" -c "${source}" -o "${object}"
      DEPENDS "${source}"
      DEPFILE "${object}.d"
      COMMENT "Compiling kernels of ${name} for ${target}"
      VERBATIM)
    target_sources(${target} PRIVATE "${object}")
    set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  endforeach()
  target_link_libraries(${target} PRIVATE "${PERIAPT_GPU_RUNTIME}" rt ${CMAKE_DL_LIBS})
endfunction()
