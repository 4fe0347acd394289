# Finds xsimd by its header and makes tapeless::xsimd. Its own target is not used: one distribution's links xtl,
# and the version file refuses every major version but the one asked for.
# TAPELESS_XSIMD_INCLUDE_DIR: the folder that holds xsimd/xsimd.hpp; set it to build against another xsimd.
find_package(xsimd CONFIG QUIET)
set(_tapeless_xsimd_hint)
if(TARGET xsimd)
  get_target_property(_tapeless_xsimd_hint xsimd INTERFACE_INCLUDE_DIRECTORIES)
endif()
find_path(TAPELESS_XSIMD_INCLUDE_DIR xsimd/xsimd.hpp HINTS ${_tapeless_xsimd_hint}
          DOC "Folder that holds xsimd/xsimd.hpp")
mark_as_advanced(TAPELESS_XSIMD_INCLUDE_DIR)

set(TapelessXsimd_VERSION)
set(_tapeless_xsimd_reason "tapeless needs xsimd 8.1 to 14 (Debian: libxsimd-dev, or TAPELESS_XSIMD_INCLUDE_DIR)")
set(_tapeless_xsimd_config "${TAPELESS_XSIMD_INCLUDE_DIR}/xsimd/config/xsimd_config.hpp")
if(EXISTS "${_tapeless_xsimd_config}")
  file(STRINGS "${_tapeless_xsimd_config}" _tapeless_xsimd_lines
       REGEX "define XSIMD_VERSION_(MAJOR|MINOR|PATCH) ")
  string(REGEX REPLACE ".*MAJOR +([0-9]+).*MINOR +([0-9]+).*PATCH +([0-9]+).*" "\\1.\\2.\\3"
         TapelessXsimd_VERSION "${_tapeless_xsimd_lines}")
elseif(TAPELESS_XSIMD_INCLUDE_DIR)
  string(APPEND _tapeless_xsimd_reason "; there is no xsimd/xsimd.hpp in ${TAPELESS_XSIMD_INCLUDE_DIR}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(TapelessXsimd
  REQUIRED_VARS TAPELESS_XSIMD_INCLUDE_DIR TapelessXsimd_VERSION
  VERSION_VAR TapelessXsimd_VERSION HANDLE_VERSION_RANGE
  REASON_FAILURE_MESSAGE "${_tapeless_xsimd_reason}")

if(TapelessXsimd_FOUND AND NOT TARGET tapeless::xsimd)
  add_library(tapeless::xsimd INTERFACE IMPORTED)
  target_include_directories(tapeless::xsimd SYSTEM INTERFACE "${TAPELESS_XSIMD_INCLUDE_DIR}")
endif()
