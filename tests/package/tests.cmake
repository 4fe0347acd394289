# The ways to get the library, each tried by a project that uses it: full.package.*

set(package "${CMAKE_BINARY_DIR}/package")
set(xsimd14_headers "${CMAKE_BINARY_DIR}/xsimd14_headers")
set(with_xsimd14 "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/.ci/with_xsimd14" "${xsimd14_headers}")

# What an earlier run left would be found instead of what this one makes
tapeless_full_test(package.fresh "${CMAKE_COMMAND}" -E rm -rf "${package}")
set_tests_properties(full.package.fresh PROPERTIES FIXTURES_SETUP tapeless_package)

# tapeless_package_test(name [AFTER fixture...] [SETUP fixture] COMMAND command...)
function(tapeless_package_test name)
  cmake_parse_arguments(this "" "SETUP" "AFTER;COMMAND" ${ARGN})
  tapeless_full_test(package.${name} ${this_COMMAND})
  set_tests_properties(full.package.${name} PROPERTIES FIXTURES_REQUIRED "tapeless_package;${this_AFTER}"
                       FIXTURES_SETUP "${this_SETUP}" SKIP_RETURN_CODE 77 RUN_SERIAL OFF) # each has a folder of its own
endfunction()

# tapeless_consumer(name folder [AFTER fixture...] [WRAPPER command...] OPTIONS option...): configures, builds and tests
# the project in the folder; WRAPPER runs that
function(tapeless_consumer name folder)
  cmake_parse_arguments(this "" "" "AFTER;WRAPPER;OPTIONS" ${ARGN})
  tapeless_package_test(${name} AFTER ${this_AFTER} COMMAND ${this_WRAPPER} "${CMAKE_CTEST_COMMAND}"
    --build-and-test "${CMAKE_CURRENT_SOURCE_DIR}/package/${folder}" "${package}/${name}" --build-generator Ninja
    --build-options -DCMAKE_BUILD_TYPE=Release ${quick_release} "-DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}"
                    ${this_OPTIONS}
    --test-command "${CMAKE_CTEST_COMMAND}" --output-on-failure --no-tests=error)
endfunction()

# After an installation: for one prefix, and used in another. The package must hold no path of its own.
tapeless_package_test(install SETUP tapeless_prefix COMMAND "${CMAKE_COMMAND}" -E env "DESTDIR=${package}/root"
                      "${CMAKE_COMMAND}" --install "${CMAKE_BINARY_DIR}" --prefix /tapeless)
foreach(way find_package pkg_config)
  tapeless_consumer(${way} ${way} AFTER tapeless_prefix OPTIONS "-DCMAKE_PREFIX_PATH=${package}/root/tapeless")
endforeach()

# As a subfolder, and fetched: the archive holds what such a project needs of a clone
tapeless_consumer(add_subdirectory add_subdirectory OPTIONS "-DTAPELESS_SOURCE_DIR=${PROJECT_SOURCE_DIR}")
set(archive "${package}/archive/tapeless.tar.gz")
tapeless_package_test(archive SETUP tapeless_archive COMMAND
  "${CMAKE_COMMAND}" "-DARCHIVE=${archive}" "-DSOURCE_DIR=${PROJECT_SOURCE_DIR}"
  -P "${CMAKE_CURRENT_SOURCE_DIR}/package/fetch_content/archive.cmake")
tapeless_consumer(fetch_content fetch_content AFTER tapeless_archive OPTIONS "-DTAPELESS_ARCHIVE=${archive}")

# One header
tapeless_consumer(single_header single_header OPTIONS "-DTAPELESS_SOURCE_DIR=${PROJECT_SOURCE_DIR}")
tapeless_consumer(single_header.clang19 single_header OPTIONS "-DTAPELESS_SOURCE_DIR=${PROJECT_SOURCE_DIR}"
                  "-DCMAKE_CXX_COMPILER=${TAPELESS_CLANG19}")

# vcpkg: the port of a clone with the xsimd of this build, the port of a registry with xsimd 14
set(port_of_clone "-DSOURCE_DIR=${PROJECT_SOURCE_DIR}" "-DXSIMD_INCLUDE_DIR=${xsimd_dir}")
set(port_of_registry "-DSOURCE_DIR=${PROJECT_SOURCE_DIR}" "-DXSIMD_INCLUDE_DIR=${xsimd14_headers}" -DREGISTRY=ON)
function(tapeless_port name wrapper) # tapeless_port(name wrapper argument...)
  tapeless_package_test(${name}.port SETUP tapeless_${name} COMMAND ${wrapper} "${CMAKE_COMMAND}" ${ARGN}
                        "-DCXX=${CMAKE_CXX_COMPILER}" "-DOUT=${package}/${name}.port"
                        -P "${CMAKE_CURRENT_SOURCE_DIR}/package/vcpkg/run_port.cmake")
  tapeless_consumer(${name} vcpkg AFTER tapeless_${name} WRAPPER ${wrapper}
                    OPTIONS "-DCMAKE_PREFIX_PATH=${package}/${name}.port/installed")
endfunction()
tapeless_port(vcpkg "" ${port_of_clone})
tapeless_port(vcpkg_xsimd14 "${with_xsimd14}" ${port_of_registry})

# A compiler that is too old: this one with the version of another
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  configure_file(package/refusal/old_compiler.in "${CMAKE_BINARY_DIR}/old_compiler" @ONLY USE_SOURCE_PERMISSIONS)
  tapeless_package_test(refusal AFTER tapeless_prefix COMMAND
    "${CMAKE_COMMAND}" ${port_of_clone} "-DPREFIX=${package}/root/tapeless"
    "-DCXX=${CMAKE_BINARY_DIR}/old_compiler" "-DOUT=${package}/refusal"
    -P "${CMAKE_CURRENT_SOURCE_DIR}/package/refusal/check.cmake")
endif()

# Conan, without a remote
string(TOLOWER "${CMAKE_CXX_COMPILER_ID}" compiler)
string(REPLACE gnu gcc compiler "${compiler}")
string(REGEX MATCH "^[0-9]+" compiler_version "${CMAKE_CXX_COMPILER_VERSION}")
tapeless_package_test(conan COMMAND ${with_xsimd14}
  "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_SOURCE_DIR}/package/conan/check.py" "${package}/conan"
  --source "${PROJECT_SOURCE_DIR}" --environment "${CMAKE_BINARY_DIR}/conan"
  --compiler "${compiler}=${compiler_version}=${CMAKE_CXX_COMPILER}" --xsimd "${xsimd_dir}"
  --compiler "clang=19=${TAPELESS_CLANG19}" --xsimd "${xsimd14_headers}")
