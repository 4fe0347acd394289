# What our own programs (tests, examples, benchmarks) share. Users of the library never see this file.

if(PROJECT_IS_TOP_LEVEL)
  if(NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    find_program(TAPELESS_CCACHE ccache)
    mark_as_advanced(TAPELESS_CCACHE)
    if(TAPELESS_CCACHE)
      set(CMAKE_CXX_COMPILER_LAUNCHER "${TAPELESS_CCACHE}")
    endif()
  endif()
  # a unit full of constant evaluation may take over a gigabyte: the memory limits the compilers at work too
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  cmake_host_system_information(RESULT memory QUERY TOTAL_PHYSICAL_MEMORY)
  math(EXPR jobs "${memory} / 2000")
  if(jobs GREATER cores)
    set(jobs ${cores})
  elseif(jobs LESS 1)
    set(jobs 1)
  endif()
  set_property(GLOBAL PROPERTY JOB_POOLS tapeless_compile=${jobs})
  set(CMAKE_JOB_POOL_COMPILE tapeless_compile)
endif()

# clang 19 warns of what its own -march=native says of Intel processors newer than itself
include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-Winvalid-feature-combination TAPELESS_WARNS_OF_FEATURES)

# tapeless_runs_once(name): compile time is what this program costs in a release. Beside the tests only: alone, an
# example is fast.
function(tapeless_runs_once name)
  if(TAPELESS_BUILD_TESTS)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
endfunction()

# tapeless_program(name source...): an executable on the library
function(tapeless_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE tapeless::tapeless)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wpedantic -Wshadow
    $<$<BOOL:${TAPELESS_WARNS_OF_FEATURES}>:-Wno-invalid-feature-combination>)
  set_target_properties(${name} PROPERTIES COMPILE_WARNING_AS_ERROR ON CXX_EXTENSIONS OFF)
endfunction()
