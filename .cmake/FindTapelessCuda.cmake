# Finds what programs for CUDA devices link, and makes tapeless::cuda_toolkit of it: the runtime and cuBLASLt, and
# cuSPARSE and cuDNN 9 where they are (TapelessCuda_CUSPARSE, TapelessCuda_CUDNN). A toolkit in its own folder, the packages of a distribution, and
# the wheels of PyPI (nvidia-cuda-runtime, nvidia-cublas, ...) have different files; so each is found by itself.
# TAPELESS_CUDA_ROOT: where to look first: the toolkit's folder, or site-packages/nvidia
set(TAPELESS_CUDA_ROOT "" CACHE PATH "Folder of the CUDA toolkit, or site-packages/nvidia")
mark_as_advanced(TAPELESS_CUDA_ROOT)

if(TAPELESS_CUDA_ROOT AND NOT IS_DIRECTORY "${TAPELESS_CUDA_ROOT}")
  message(FATAL_ERROR "TAPELESS_CUDA_ROOT is no folder: ${TAPELESS_CUDA_ROOT}")
endif()
set(_tapeless_cuda_roots)
foreach(_tapeless_root IN ITEMS "${TAPELESS_CUDA_ROOT}" "${CUDAToolkit_ROOT}" "$ENV{CUDA_PATH}" "$ENV{CUDA_HOME}")
  if(_tapeless_root)
    list(APPEND _tapeless_cuda_roots "${_tapeless_root}")
  endif()
endforeach()
if(NOT TAPELESS_CUDA_ROOT)
  find_package(CUDAToolkit QUIET)
  if(CUDAToolkit_FOUND)
    list(GET CUDAToolkit_INCLUDE_DIRS 0 _tapeless_root)
    list(APPEND _tapeless_cuda_roots "${_tapeless_root}/.." "${CUDAToolkit_LIBRARY_DIR}/..")
  endif()
endif()
if(NOT TAPELESS_CUDA_ROOT)
  list(APPEND _tapeless_cuda_roots /usr/local/cuda /opt/cuda)
endif()
# wheels: nvidia/cu13/include, or nvidia/cuda_runtime/include and so on
set(_tapeless_cuda_hints)
foreach(_tapeless_root IN LISTS _tapeless_cuda_roots)
  foreach(_tapeless_part IN ITEMS . cu13 cuda_runtime cublas cusparse cudnn ../cudnn)
    if(IS_DIRECTORY "${_tapeless_root}/${_tapeless_part}")
      list(APPEND _tapeless_cuda_hints "${_tapeless_root}/${_tapeless_part}")
    endif()
  endforeach()
endforeach()

# _tapeless_cuda_part(NAME header library soname...): wheels have libraries with their number alone
macro(_tapeless_cuda_part name header library)
  set(_tapeless_names ${library})
  foreach(_tapeless_soname IN ITEMS ${ARGN})
    list(APPEND _tapeless_names lib${library}.so.${_tapeless_soname})
  endforeach()
  find_path(TAPELESS_${name}_INCLUDE_DIR ${header} HINTS ${_tapeless_cuda_hints} PATH_SUFFIXES include
            DOC "Folder that holds ${header}")
  find_library(TAPELESS_${name}_LIBRARY NAMES ${_tapeless_names} NAMES_PER_DIR HINTS ${_tapeless_cuda_hints}
               PATH_SUFFIXES lib64 lib lib/x64 DOC "The library ${library}")
  mark_as_advanced(TAPELESS_${name}_INCLUDE_DIR TAPELESS_${name}_LIBRARY)
endmacro()
_tapeless_cuda_part(CUDART cuda_runtime_api.h cudart 13 12)
_tapeless_cuda_part(CUBLASLT cublasLt.h cublasLt 13 12)
_tapeless_cuda_part(CUSPARSE cusparse.h cusparse 12)
_tapeless_cuda_part(CUDNN cudnn.h cudnn 9)

set(_tapeless_cuda_includes)
set(_tapeless_cuda_libraries ${CMAKE_DL_LIBS})  # NVRTC is opened where a kernel is compiled
foreach(_tapeless_part IN ITEMS CUDART CUBLASLT)
  list(APPEND _tapeless_cuda_includes "${TAPELESS_${_tapeless_part}_INCLUDE_DIR}")
  list(APPEND _tapeless_cuda_libraries "${TAPELESS_${_tapeless_part}_LIBRARY}")
endforeach()

set(TapelessCuda_VERSION)
if(TAPELESS_CUDART_INCLUDE_DIR)
  file(STRINGS "${TAPELESS_CUDART_INCLUDE_DIR}/cuda_runtime_api.h" _tapeless_line REGEX "define CUDART_VERSION +[0-9]+")
  string(REGEX MATCH "[0-9]+" _tapeless_number "${_tapeless_line}")
  if(_tapeless_number)
    math(EXPR _tapeless_major "${_tapeless_number} / 1000")
    math(EXPR _tapeless_minor "${_tapeless_number} % 1000 / 10")
    set(TapelessCuda_VERSION ${_tapeless_major}.${_tapeless_minor})
  endif()
endif()
set(TapelessCuda_CUSPARSE FALSE)
if(TAPELESS_CUSPARSE_INCLUDE_DIR AND TAPELESS_CUSPARSE_LIBRARY)
  set(TapelessCuda_CUSPARSE TRUE)
  list(APPEND _tapeless_cuda_includes "${TAPELESS_CUSPARSE_INCLUDE_DIR}")
  list(APPEND _tapeless_cuda_libraries "${TAPELESS_CUSPARSE_LIBRARY}")
endif()
set(TapelessCuda_CUDNN FALSE)
if(TAPELESS_CUDNN_INCLUDE_DIR AND TAPELESS_CUDNN_LIBRARY AND EXISTS "${TAPELESS_CUDNN_INCLUDE_DIR}/cudnn_version.h")
  file(STRINGS "${TAPELESS_CUDNN_INCLUDE_DIR}/cudnn_version.h" _tapeless_line REGEX "define CUDNN_MAJOR +[0-9]+")
  string(REGEX MATCH "[0-9]+" _tapeless_number "${_tapeless_line}")
  if(_tapeless_number GREATER_EQUAL 9)
    set(TapelessCuda_CUDNN TRUE)
    list(APPEND _tapeless_cuda_includes "${TAPELESS_CUDNN_INCLUDE_DIR}")
    list(APPEND _tapeless_cuda_libraries "${TAPELESS_CUDNN_LIBRARY}")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(TapelessCuda
  REQUIRED_VARS TAPELESS_CUDART_LIBRARY TAPELESS_CUDART_INCLUDE_DIR TAPELESS_CUBLASLT_LIBRARY
                TAPELESS_CUBLASLT_INCLUDE_DIR
  VERSION_VAR TapelessCuda_VERSION
  REASON_FAILURE_MESSAGE
    "tapeless::cuda needs the CUDA toolkit 12.8 or newer: its folder, or site-packages/nvidia, is TAPELESS_CUDA_ROOT")

if(TapelessCuda_FOUND AND NOT TARGET tapeless::cuda_toolkit)
  list(REMOVE_DUPLICATES _tapeless_cuda_includes)
  add_library(tapeless::cuda_toolkit INTERFACE IMPORTED)
  target_include_directories(tapeless::cuda_toolkit SYSTEM INTERFACE ${_tapeless_cuda_includes})
  target_link_libraries(tapeless::cuda_toolkit INTERFACE ${_tapeless_cuda_libraries})
  target_compile_definitions(tapeless::cuda_toolkit INTERFACE TAPELESS_CUDNN=$<BOOL:${TapelessCuda_CUDNN}>
                             TAPELESS_CUSPARSE=$<BOOL:${TapelessCuda_CUSPARSE}>)
endif()
