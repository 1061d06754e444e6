# What of the toolkits for GPUs is here. Nothing of it is needed: each variable may say that it was not found.
#
#   PERIAPT_NVCC, PERIAPT_HIPCC                  compilers of kernels
#   PERIAPT_CUDA_HEADERS, PERIAPT_HIP_HEADERS    folders: cuda.h, hip/hip_runtime_api.h
#   PERIAPT_CUDART                               CUDA's runtime library, static
find_program(PERIAPT_NVCC nvcc HINTS ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin)
find_program(PERIAPT_HIPCC hipcc HINTS ENV ROCM_PATH PATHS /opt/rocm PATH_SUFFIXES bin)
find_path(PERIAPT_CUDA_HEADERS cuda.h HINTS ENV CUDA_HOME PATHS /usr/local/cuda/include PATH_SUFFIXES include)
find_path(PERIAPT_HIP_HEADERS hip/hip_runtime_api.h HINTS ENV ROCM_PATH PATHS /opt/rocm/include PATH_SUFFIXES include)
find_library(PERIAPT_CUDART cudart_static HINTS ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES lib64 lib)
