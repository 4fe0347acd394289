# In a clone of the library (vcpkg install tapeless --overlay-ports=<clone>/ports) the port takes the clone. In a
# registry it takes the release of its version.
get_filename_component(clone "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
if(EXISTS "${clone}/CMakeLists.txt" AND EXISTS "${clone}/include/tapeless/version.hpp")
  set(SOURCE_PATH "${clone}")
else()
  # Nothing is released yet: neither this address nor this hash exists. Both are filled in with the first release.
  vcpkg_from_github(
    OUT_SOURCE_PATH SOURCE_PATH
    REPO tapeless/tapeless
    REF "v${VERSION}"
    SHA512 0
    HEAD_REF main
  )
endif()

set(VCPKG_BUILD_TYPE release) # headers only
# configuring refuses compilers that the library is not tested with
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DTAPELESS_BUILD_TESTS=OFF
    -DTAPELESS_BUILD_EXAMPLES=OFF
    -DTAPELESS_INSTALL=ON
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup()
# xsimd lies in the same folder, and not each of its ports has a file for pkg-config
vcpkg_replace_string("${CURRENT_PACKAGES_DIR}/share/pkgconfig/tapeless.pc" "Requires: xsimd >= 8.1, xsimd < 15\n" "")
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug" "${CURRENT_PACKAGES_DIR}/lib")
file(REMOVE "${CURRENT_PACKAGES_DIR}/share/${PORT}/LICENSE") # it is the copyright file
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
