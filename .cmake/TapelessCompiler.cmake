# tapeless_refusal: the reason for refusing this compiler; empty if it is accepted. core/config.hpp refuses some of
# these compilers, too, for programs that are built without CMake.
set(tapeless_refusal)
if(CMAKE_CXX_COMPILER_LOADED AND (CMAKE_CXX_SIMULATE_ID OR NOT (
    (CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12) OR
    (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 16))))
  string(CONCAT tapeless_refusal
    "tapeless: it is not tested with ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}: "
    "take g++ 12 or newer, or clang 16 or newer (CMAKE_CXX_COMPILER)")
endif()
