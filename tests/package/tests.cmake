# The ways to get the library, each tried by a project that uses it: full.package.*

set(xsimd14_headers "${CMAKE_BINARY_DIR}/xsimd14_headers")
set(with_xsimd14 "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/.ci/with_xsimd14" "${xsimd14_headers}")

# tapeless_consumer(name folder option...): configures, builds and tests the project in the folder. WRAPPER command...:
# what runs that
function(tapeless_consumer name folder)
  cmake_parse_arguments(consumer "" "" "WRAPPER" ${ARGN})
  tapeless_full_test(package.${name} ${consumer_WRAPPER} "${CMAKE_CTEST_COMMAND}"
    --build-and-test "${CMAKE_CURRENT_SOURCE_DIR}/package/${folder}" "${CMAKE_BINARY_DIR}/package/${name}"
    --build-generator Ninja --build-noclean
    --build-options -DCMAKE_BUILD_TYPE=Release ${quick_release} "-DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}"
                    ${consumer_UNPARSED_ARGUMENTS}
    --test-command "${CMAKE_CTEST_COMMAND}" --output-on-failure --no-tests=error)
endfunction()
function(tapeless_after test fixture)
  set_tests_properties(full.package.${test} PROPERTIES FIXTURES_REQUIRED ${fixture})
endfunction()

# After an installation: for one prefix, and used in another. The package must hold no path of its own.
set(root "${CMAKE_BINARY_DIR}/package/root")
tapeless_full_test(package.install "${CMAKE_COMMAND}" -E env "DESTDIR=${root}"
                   "${CMAKE_COMMAND}" --install "${CMAKE_BINARY_DIR}" --prefix /tapeless)
set_tests_properties(full.package.install PROPERTIES FIXTURES_SETUP tapeless_prefix)
foreach(way find_package pkg_config)
  tapeless_consumer(${way} ${way} "-DCMAKE_PREFIX_PATH=${root}/tapeless")
  tapeless_after(${way} tapeless_prefix)
endforeach()

# As a subfolder, and fetched: the archive holds what a clone holds
tapeless_consumer(add_subdirectory add_subdirectory "-DTAPELESS_SOURCE_DIR=${PROJECT_SOURCE_DIR}")
set(archive "${CMAKE_BINARY_DIR}/package/tapeless.tar.gz")
tapeless_full_test(package.archive "${CMAKE_COMMAND}" -E chdir "${PROJECT_SOURCE_DIR}"
                   "${CMAKE_COMMAND}" -E tar czf "${archive}" CMakeLists.txt LICENSE .cmake include)
set_tests_properties(full.package.archive PROPERTIES FIXTURES_SETUP tapeless_archive)
tapeless_consumer(fetch_content fetch_content "-DTAPELESS_ARCHIVE=${archive}")
tapeless_after(fetch_content tapeless_archive)

# One header
tapeless_consumer(single_header single_header "-DTAPELESS_SOURCE_DIR=${PROJECT_SOURCE_DIR}")
tapeless_consumer(single_header.clang19 single_header "-DTAPELESS_SOURCE_DIR=${PROJECT_SOURCE_DIR}"
                  "-DCMAKE_CXX_COMPILER=${TAPELESS_CLANG19}")

# vcpkg: the port of a clone with the xsimd of this build, the port of a registry with xsimd 14
function(tapeless_port name include) # tapeless_port(name include [WRAPPER command...] [option...])
  cmake_parse_arguments(port "" "" "WRAPPER" ${ARGN})
  tapeless_full_test(package.${name}.port ${port_WRAPPER} "${CMAKE_COMMAND}" "-DSOURCE_DIR=${PROJECT_SOURCE_DIR}"
                     "-DCXX=${CMAKE_CXX_COMPILER}" "-DOUT=${CMAKE_BINARY_DIR}/package/${name}.port"
                     "-DXSIMD_INCLUDE_DIR=${include}" ${port_UNPARSED_ARGUMENTS}
                     -P "${CMAKE_CURRENT_SOURCE_DIR}/package/vcpkg/run_port.cmake")
  set_tests_properties(full.package.${name}.port PROPERTIES FIXTURES_SETUP tapeless_${name})
  tapeless_consumer(${name} vcpkg "-DCMAKE_PREFIX_PATH=${CMAKE_BINARY_DIR}/package/${name}.port/installed"
                    WRAPPER ${port_WRAPPER})
  tapeless_after(${name} tapeless_${name})
endfunction()
tapeless_port(vcpkg "${xsimd_dir}")
tapeless_port(vcpkg_xsimd14 "${xsimd14_headers}" -DREGISTRY=ON WRAPPER ${with_xsimd14})
set_tests_properties(full.package.vcpkg_xsimd14.port full.package.vcpkg_xsimd14 PROPERTIES SKIP_RETURN_CODE 77)

# A compiler that is too old is refused where the library is configured: by a port, too
configure_file(package/old_compiler.in "${CMAKE_BINARY_DIR}/package/old_compiler" @ONLY USE_SOURCE_PERMISSIONS)
tapeless_full_test(package.refusal "${CMAKE_COMMAND}" "-DSOURCE_DIR=${PROJECT_SOURCE_DIR}"
                   "-DCXX=${CMAKE_BINARY_DIR}/package/old_compiler" "-DOUT=${CMAKE_BINARY_DIR}/package/refusal.port"
                   "-DXSIMD_INCLUDE_DIR=${xsimd_dir}" -P "${CMAKE_CURRENT_SOURCE_DIR}/package/vcpkg/run_port.cmake")
set_tests_properties(full.package.refusal PROPERTIES
  PASS_REGULAR_EXPRESSION "tapeless: it is not tested with GNU 11")

# Conan, without a remote
string(TOLOWER "${CMAKE_CXX_COMPILER_ID}" compiler)
string(REPLACE gnu gcc compiler "${compiler}")
string(REGEX MATCH "^[0-9]+" compiler_version "${CMAKE_CXX_COMPILER_VERSION}")
tapeless_full_test(package.conan ${with_xsimd14}
  "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_SOURCE_DIR}/package/conan/check.py" "${CMAKE_BINARY_DIR}/package/conan"
  --source "${PROJECT_SOURCE_DIR}"
  --compiler "${compiler}=${compiler_version}=${CMAKE_CXX_COMPILER}" --xsimd "${xsimd_dir}"
  --compiler "clang=19=${TAPELESS_CLANG19}" --xsimd "${xsimd14_headers}")
set_tests_properties(full.package.conan PROPERTIES SKIP_RETURN_CODE 77)
