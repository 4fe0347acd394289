# cmake -DSOURCE_DIR=<clone> -DOUT=<folder> -DXSIMD_INCLUDE_DIR=<folder> [-DCXX=<compiler>] [-DREGISTRY=ON] -P run_port.cmake
#
# Runs ports/tapeless/portfile.cmake without vcpkg: the functions below stand in for vcpkg's helpers of the same names.
# Then looks at what was installed as vcpkg does. OUT/installed is vcpkg's tree for one triplet, with the xsimd
# of XSIMD_INCLUDE_DIR. REGISTRY: the port lies outside the clone and asks for the release.
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE "${OUT}")
set(CURRENT_INSTALLED_DIR "${OUT}/installed")
file(COPY "${XSIMD_INCLUDE_DIR}/xsimd" DESTINATION "${CURRENT_INSTALLED_DIR}/include")

set(port_dir "${SOURCE_DIR}/ports/tapeless")
if(REGISTRY)
  file(COPY "${port_dir}" DESTINATION "${OUT}/registry/ports")
  set(port_dir "${OUT}/registry/ports/tapeless")
endif()
file(READ "${port_dir}/vcpkg.json" manifest)
string(JSON PORT GET "${manifest}" name)
string(JSON VERSION GET "${manifest}" version)
set(CURRENT_PACKAGES_DIR "${OUT}/packages/${PORT}")
set(build_dir "${OUT}/buildtrees/${PORT}")

function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# known(function [option...]): no argument is left over, each option of one value is there
macro(known name)
  set_property(GLOBAL APPEND PROPERTY called ${name})
  cmake_parse_arguments(a "" "${ARGN}" "${lists}" ${arguments})
  if(a_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${name}: unknown arguments: ${a_UNPARSED_ARGUMENTS}")
  endif()
  foreach(option ${ARGN})
    if(NOT DEFINED a_${option})
      message(FATAL_ERROR "${name}: ${option} is missing")
    endif()
  endforeach()
endmacro()

function(vcpkg_from_github)
  set(arguments ${ARGN})
  set(lists)
  known(vcpkg_from_github OUT_SOURCE_PATH REPO REF SHA512 HEAD_REF)
  if(NOT REGISTRY)
    message(FATAL_ERROR "the port in a clone asks for a release")
  endif()
  if(NOT a_REF STREQUAL "v${VERSION}")
    message(FATAL_ERROR "the release asked for is ${a_REF}, the version ${VERSION}")
  endif()
  set(${a_OUT_SOURCE_PATH} "${SOURCE_DIR}" PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
  set(arguments ${ARGN})
  set(lists OPTIONS)
  known(vcpkg_cmake_configure SOURCE_PATH)
  if(CXX)
    list(APPEND a_OPTIONS "-DCMAKE_CXX_COMPILER=${CXX}")
  endif()
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -S "${a_SOURCE_PATH}" -B "${build_dir}" -DCMAKE_BUILD_TYPE=Release
            "-DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}" "-DCMAKE_PREFIX_PATH=${CURRENT_INSTALLED_DIR}" ${a_OPTIONS}
    OUTPUT_QUIET ERROR_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY ECHO_ERROR_VARIABLE)
  if(printed MATCHES "not used by the project")
    message(FATAL_ERROR "the port gives an option that the project does not have")
  endif()
endfunction()

function(vcpkg_cmake_install)
  set_property(GLOBAL APPEND PROPERTY called vcpkg_cmake_install)
  run("${CMAKE_COMMAND}" --build "${build_dir}" --target install)
endfunction()

function(vcpkg_cmake_config_fixup) # merges the files of debug and release, moves them to share/: ours lie there already
  set(arguments ${ARGN})
  set(lists)
  known(vcpkg_cmake_config_fixup)
  if(NOT EXISTS "${CURRENT_PACKAGES_DIR}/share/${PORT}/${PORT}Config.cmake")
    message(FATAL_ERROR "the CMake package is not installed to share/${PORT}")
  endif()
endfunction()

function(vcpkg_replace_string file old new)
  file(READ "${file}" text)
  string(REPLACE "${old}" "${new}" replaced "${text}")
  if(replaced STREQUAL text)
    message(FATAL_ERROR "${file} does not hold ${old}")
  endif()
  file(WRITE "${file}" "${replaced}")
endfunction()

function(vcpkg_fixup_pkgconfig) # makes prefix relative: ours is; asks pkg-config, which sees vcpkg's tree alone
  set_property(GLOBAL APPEND PROPERTY called vcpkg_fixup_pkgconfig)
  find_program(PKG_CONFIG pkg-config REQUIRED)
  file(GLOB_RECURSE files "${CURRENT_PACKAGES_DIR}/*.pc")
  foreach(file IN LISTS files)
    cmake_path(GET file STEM module)
    run("${CMAKE_COMMAND}" -E env "PKG_CONFIG_LIBDIR=${CURRENT_INSTALLED_DIR}/share/pkgconfig"
        "PKG_CONFIG_PATH=${CURRENT_PACKAGES_DIR}/share/pkgconfig" "${PKG_CONFIG}" --print-errors --exists "${module}")
  endforeach()
endfunction()

function(vcpkg_install_copyright)
  set(arguments ${ARGN})
  set(lists FILE_LIST)
  known(vcpkg_install_copyright)
  configure_file("${a_FILE_LIST}" "${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright" COPYONLY)
endfunction()

include("${port_dir}/portfile.cmake")

# What vcpkg looks at after a build, and what this port promises
get_property(called GLOBAL PROPERTY called)
foreach(helper vcpkg_cmake_configure vcpkg_cmake_install vcpkg_cmake_config_fixup vcpkg_fixup_pkgconfig
        vcpkg_install_copyright)
  if(NOT helper IN_LIST called)
    message(FATAL_ERROR "the port does not call ${helper}")
  endif()
endforeach()
if(EXISTS "${CURRENT_PACKAGES_DIR}/share/${PORT}/LICENSE")
  message(FATAL_ERROR "the licence is there twice: as LICENSE and as copyright")
endif()
foreach(file share/${PORT}/copyright share/${PORT}/usage share/${PORT}/${PORT}Config.cmake
        share/${PORT}/${PORT}ConfigVersion.cmake share/pkgconfig/${PORT}.pc include/${PORT}/${PORT}.hpp)
  if(NOT EXISTS "${CURRENT_PACKAGES_DIR}/${file}")
    message(FATAL_ERROR "${file} is missing")
  endif()
endforeach()
file(GLOB beside LIST_DIRECTORIES ON RELATIVE "${CURRENT_PACKAGES_DIR}" "${CURRENT_PACKAGES_DIR}/*")
if(NOT beside STREQUAL "include;share")
  message(FATAL_ERROR "a port of headers holds include and share, this one ${beside}")
endif()
if(NOT VCPKG_BUILD_TYPE STREQUAL "release")
  message(FATAL_ERROR "a port of headers needs no debug build")
endif()
file(GLOB_RECURSE files "${CURRENT_PACKAGES_DIR}/*")
foreach(file IN LISTS files)
  file(READ "${file}" text)
  foreach(path "${OUT}" "${SOURCE_DIR}")
    string(FIND "${text}" "${path}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${file} holds the path ${path}")
    endif()
  endforeach()
endforeach()

file(COPY "${CURRENT_PACKAGES_DIR}/" DESTINATION "${CURRENT_INSTALLED_DIR}")
message(STATUS "port ${PORT} ${VERSION}: built")
