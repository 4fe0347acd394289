# The slow checks, each one test with the label full: `cmake --workflow --preset full`.
# A leg is this project, configured anew in a folder of its own with another compiler, other flags or another
# xsimd. It builds the unit tests of a few folders and runs them.
# What seldom finds a fault alone takes turns by the day of the year: tapeless_turn says how many days all of it takes.

find_program(TAPELESS_CLANG16 clang++-16 REQUIRED)
find_program(TAPELESS_CLANG19 clang++-19 REQUIRED)
find_program(TAPELESS_CLANG_FORMAT clang-format-19 REQUIRED)
find_program(TAPELESS_CLANG_TIDY clang-tidy-19 REQUIRED)

set(TAPELESS_DAY "" CACHE STRING "Day of the year, say 001, whose turns are run; empty: today; all: every turn")
set(day "${TAPELESS_DAY}")
if(day STREQUAL "")
  string(TIMESTAMP day "%j" UTC)
endif()
# tapeless_turn(variable days): leaves of the list what the day runs; so many days run all of it.
function(tapeless_turn variable days)
  if(day STREQUAL "all")
    return()
  endif()
  list(LENGTH ${variable} length)
  math(EXPR first "(1${day} % ${days}) * ${length} / ${days}")
  math(EXPR count "(1${day} % ${days} + 1) * ${length} / ${days} - ${first}")
  list(SUBLIST ${variable} ${first} ${count} ${variable})
  set(${variable} ${${variable}} PARENT_SCOPE)
endfunction()

# Folders that a leg does not name are not built.
set(asan_folders core,cpu,cuda,io ops,run) # the halves take as long
tapeless_turn(asan_folders 2)
list(JOIN asan_folders "," asan_folders)
set(TAPELESS_ASAN_FOLDERS "" CACHE STRING "Test folders of the sanitizer leg; empty: those of the day")
if(TAPELESS_ASAN_FOLDERS)
  set(asan_folders "${TAPELESS_ASAN_FOLDERS}")
endif()
set(TAPELESS_CLANG16_FOLDERS core,expr,trace,adjoint,plan,run,io,interop,optim CACHE STRING "Test folders of the leg with clang 16")
set(TAPELESS_CLANG19_FOLDERS expr,trace,adjoint,plan,cpu,interop,optim CACHE STRING "Test folders of the leg with clang 19, beside those of the sanitizers")
set(TAPELESS_XSIMD14_FOLDERS cpu CACHE STRING "Test folders of the leg with xsimd 14")
set(TAPELESS_SSE2_FOLDERS cpu CACHE STRING "Test folders of the leg without -march, on x86-64 that of SSE2")
set(TAPELESS_TIDY_FOLDERS core,expr CACHE STRING "Test folders that clang-tidy reads")

function(tapeless_full_test name)  # tapeless_full_test(name command...)
  add_test(NAME full.${name} COMMAND ${ARGN})
  set_tests_properties(full.${name} PROPERTIES LABELS full TIMEOUT 2400 RUN_SERIAL ON)
endfunction()

# tapeless_leg(name FOLDERS list [COMPILER c++] [FLAGS flags] [OPTIONS -D...] [WRAPPER command...])
function(tapeless_leg name)
  cmake_parse_arguments(leg "" "FOLDERS;COMPILER;FLAGS" "OPTIONS;WRAPPER" ${ARGN})
  string(REPLACE "," ";" named "${leg_FOLDERS}")
  foreach(folder IN LISTS named)
    if(NOT folder IN_LIST folders)
      message(FATAL_ERROR "full.${name}: there are no tests in ${folder}")
    endif()
  endforeach()
  if(NOT leg_COMPILER)
    set(leg_COMPILER "${CMAKE_CXX_COMPILER}")
  endif()
  tapeless_full_test(${name} ${leg_WRAPPER} "${CMAKE_CTEST_COMMAND}"
    --build-and-test "${PROJECT_SOURCE_DIR}" "${CMAKE_BINARY_DIR}/${name}"
    --build-generator Ninja --build-noclean
    --build-options -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_COMPILER=${leg_COMPILER}"
                    "-DCMAKE_CXX_FLAGS=${leg_FLAGS}" -DTAPELESS_BUILD_EXAMPLES=OFF
                    -DTAPELESS_TEST_FOLDERS=${leg_FOLDERS} ${leg_OPTIONS}
    --test-command "${CMAKE_CTEST_COMMAND}" --output-on-failure --no-tests=error --parallel 2 -L ^unit$)
endfunction()

# tapeless_take_turns(group...): names joined by commas. A group has the label full on its own day only; by its name a test runs
# on any day.
function(tapeless_take_turns)
  set(today ${ARGN})
  list(LENGTH today days)
  tapeless_turn(today ${days})
  foreach(group IN LISTS ARGN)
    if(NOT group IN_LIST today)
      string(REPLACE "," ";" names "${group}")
      list(TRANSFORM names PREPEND full.)
      set_tests_properties(${names} PROPERTIES LABELS full_on_another_day)
    endif()
  endforeach()
endfunction()

# For their time, legs leave out what takes minutes to compile: how plans use kernels, which masks and rows the planner takes, ops
# that are made of kernels, layouts of whole programs, and some kernels. The tests of the machine's own compiler have all of it.
# In the sanitizers' leg pools, small products, recycled_slots and conv_bf16 are missed most. What xsimd's versions differ in,
# math, matmul, sparse and transpose use.
set(asan_without
    cpu/conv_bf16 ${small_products} ${pools} ${recycled_slots}
    ops/batch_norm ops/bf16 ops/conv_bf16 ops/custom ops/ignore_label ops/loss ops/norm ops/sparse ops/sparse_factors
    ops/sparse_gradients ops/sparse_row_ends ops/sparse_runs ops/sparse_tiles
    run/bound run/loaded ${tests_of_plans})
list(JOIN asan_without "," asan_without)
set(TAPELESS_ASAN_WITHOUT ${asan_without} CACHE STRING "Tests that the sanitizer leg leaves out")
set(clang16_without plan/assign_layouts plan/row_cost ${tests_of_rows} run/bound)
set(clang19_without cpu/frame cpu/sparse ${small_products} ${recycled_slots} ${tests_of_plans} plan/assign_layouts ${tests_of_rows})
set(xsimd14_without cpu/conv cpu/conv_bf16 cpu/frame cpu/team ${small_products} ${pools} ${recycled_slots} ${tests_of_plans})
set(sse2_without cpu/frame ${small_products} ${pools} ${recycled_slots} ${tests_of_plans})
foreach(leg clang16 clang19 xsimd14 sse2)
  list(JOIN ${leg}_without "," ${leg}_without)
endforeach()

# What the slow legs are compiled for: with AVX-512 a sanitizer's compiler takes twice as long, and the tests are built
# for the machine itself anyway
set(common_machine -march=native)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(common_machine -march=x86-64-v3)
endif()

# Where kernels are not timed, -O1 compiles them faster; asserts stay on
set(quick_release -DCMAKE_CXX_FLAGS_RELEASE=-O1)

# Clang's sanitizers: GCC takes more than twice as long to compile the kernels with its own. Not looked for: what traps
# by itself (null), what cannot be in this code (vptr), and conversions of floats, for xsimd converts lanes that it drops.
set(sanitizers "-fsanitize=address,undefined -fno-sanitize=null,object-size,vptr,float-cast-overflow")
string(APPEND sanitizers " -fno-sanitize-recover=all -fno-omit-frame-pointer -g1")
tapeless_leg(asan FOLDERS "${asan_folders}" COMPILER "${TAPELESS_CLANG19}"
  FLAGS "${common_machine} -DTAPELESS_TEST_FLOAT_ONLY ${sanitizers}"
  OPTIONS ${quick_release} -DTAPELESS_OPENMP=OFF -DTAPELESS_CUDA=OFF # libomp and cuDNN keep what they allocate
          "-DTAPELESS_TEST_WITHOUT=${TAPELESS_ASAN_WITHOUT}")
tapeless_leg(clang16 FOLDERS "${TAPELESS_CLANG16_FOLDERS}" COMPILER "${TAPELESS_CLANG16}"
  FLAGS "${common_machine} -DTAPELESS_WITHOUT_THREADS"
  OPTIONS -DTAPELESS_OPENMP=OFF "-DTAPELESS_TEST_WITHOUT=${clang16_without}")
tapeless_leg(clang19 FOLDERS "${TAPELESS_CLANG19_FOLDERS}" COMPILER "${TAPELESS_CLANG19}" FLAGS -march=native
  OPTIONS ${quick_release} "-DTAPELESS_TEST_WITHOUT=${clang19_without}")
tapeless_leg(sse2 FOLDERS "${TAPELESS_SSE2_FOLDERS}"
  OPTIONS ${quick_release} "-DTAPELESS_TEST_WITHOUT=${sse2_without}")
tapeless_leg(xsimd14 FOLDERS "${TAPELESS_XSIMD14_FOLDERS}" FLAGS -march=native
  OPTIONS "-DTAPELESS_XSIMD_INCLUDE_DIR=${CMAKE_BINARY_DIR}/xsimd14_headers" ${quick_release}
          "-DTAPELESS_TEST_WITHOUT=${xsimd14_without}"
  WRAPPER Python3::Interpreter "${PROJECT_SOURCE_DIR}/.ci/with_xsimd14" "${CMAKE_BINARY_DIR}/xsimd14_headers")
set_tests_properties(full.xsimd14 PROPERTIES SKIP_RETURN_CODE 77)

# A sentence of ours is the first line of every compiler; the families where they differed, and what f itself may be
list(FILTER misuses INCLUDE REGEX "/(bind|compiler|cuda|custom|global|jit|load|member|run|select|sparse|top|vjp)[^/]*$")
tapeless_fail_test(full.fail.clang19 full --compiler "${TAPELESS_CLANG19}" --misuses-only ${misuses})
tapeless_fail_test(full.fail.clang19.self_test full --compiler "${TAPELESS_CLANG19}" --self-test)
tapeless_fail_test(full.fail.clang16 full --compiler "${TAPELESS_CLANG16}" --misuses-only ${misuses})
tapeless_fail_test(full.fail.clang16.self_test full --compiler "${TAPELESS_CLANG16}" --self-test)
tapeless_take_turns(clang16 clang19 sse2,xsimd14)
tapeless_take_turns(fail.clang16 fail.clang19)

# Each header compiles by itself and includes what it uses, on each machine that it has code for
set(machines --flag=-march=native)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(machines --flag=-march=x86-64-v3 --flag=-march=sapphirerapids)
endif()
set(toolkit_dirs)
if(TARGET tapeless::cuda_toolkit)
  get_target_property(toolkit_dirs tapeless::cuda_toolkit INTERFACE_INCLUDE_DIRECTORIES)
endif()
list(TRANSFORM toolkit_dirs PREPEND "--system-include=" OUTPUT_VARIABLE toolkit_of_includes)
list(TRANSFORM toolkit_dirs PREPEND "-isystem" OUTPUT_VARIABLE toolkit_of_compilers)
set(check_includes Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/layers/includes.py" --tidy "${TAPELESS_CLANG_TIDY}")
tapeless_full_test(includes ${check_includes} --system-include "${xsimd_dir}" ${toolkit_of_includes} ${machines}
  "${PROJECT_SOURCE_DIR}/include/tapeless")
tapeless_full_test(includes.self_test ${check_includes} --self-test)

# No warning under users' flags, also where the headers are not those of the system
set(no_warnings -std=c++20 -O1 ${common_machine} -fsyntax-only -Werror -Wall -Wextra -Wpedantic -Wshadow -Wconversion
    "-I${PROJECT_SOURCE_DIR}/include" "-I${xsimd_dir}" ${toolkit_of_compilers} "${CMAKE_CURRENT_SOURCE_DIR}/warnings.cpp")
tapeless_full_test(warnings "${CMAKE_CXX_COMPILER}" ${no_warnings})
tapeless_full_test(warnings.clang19 "${TAPELESS_CLANG19}" ${no_warnings})

# Compilers of CUDA take programs, too
if(toolkit_dirs)
  list(GET toolkit_dirs 0 toolkit)
  cmake_path(GET toolkit PARENT_PATH toolkit)
  set(of_devices "-I${PROJECT_SOURCE_DIR}/include" "-I${xsimd_dir}" -std=c++20 -O1 -c
      "${CMAKE_CURRENT_SOURCE_DIR}/cuda/full/front_ends.cpp" -o /dev/null)
  find_program(TAPELESS_NVCC nvcc HINTS "${toolkit}/bin")
  if(TAPELESS_NVCC)
    tapeless_full_test(cuda.nvcc "${TAPELESS_NVCC}" -x cu --expt-relaxed-constexpr -arch=sm_90 ${of_devices})
  endif()
  find_program(TAPELESS_CLANG22 clang++-22)
  if(TAPELESS_CLANG22 AND EXISTS "${toolkit}/bin/ptxas")
    tapeless_full_test(cuda.clang22 "${TAPELESS_CLANG22}" -x cuda --cuda-gpu-arch=sm_90 "--cuda-path=${toolkit}"
      -Wno-unknown-cuda-version --no-offload-new-driver ${of_devices})
  endif()
endif()

# Without optimisation the intrinsics of AVX-512 are macros, which xsimd 8 does not use rightly everywhere
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  tapeless_full_test(avx512_debug "${CMAKE_CXX_COMPILER}" -std=c++20 -O0 -march=skylake-avx512 -fsyntax-only
    "-I${PROJECT_SOURCE_DIR}/include" "-I${xsimd_dir}" "-I${CMAKE_CURRENT_SOURCE_DIR}"
    "${CMAKE_CURRENT_SOURCE_DIR}/cpu/math.cpp" "${CMAKE_CURRENT_SOURCE_DIR}/cpu/simd.cpp")
endif()

# Compile budgets: of those whose instantiations are counted each day, half of the others
file(GLOB budgets CONFIGURE_DEPENDS compile/*.cpp)
set(counted_budgets ${budgets})
list(FILTER counted_budgets INCLUDE REGEX "/(small_gradient|residual_20)\\.cpp$")
list(REMOVE_ITEM budgets ${counted_budgets})
tapeless_turn(budgets 2)
list(PREPEND budgets ${counted_budgets})
set(run_budgets Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/compile/run.py"
    --compiler "${CMAKE_CXX_COMPILER}" --counting-compiler "${TAPELESS_CLANG19}")
tapeless_full_test(compile.self_test ${run_budgets} --self-test)
if(budgets)
  tapeless_full_test(compile ${run_budgets} --include "${PROJECT_SOURCE_DIR}/include" --include "${xsimd_dir}"
                     ${budgets})
endif()
if(TARGET tapeless::cuda_toolkit) # programs of a device, one each day
  file(GLOB cuda_budgets CONFIGURE_DEPENDS compile/cuda/*.cpp)
  tapeless_turn(cuda_budgets 2)
  get_target_property(cuda_dirs tapeless::cuda_toolkit INTERFACE_INCLUDE_DIRECTORIES)
  list(TRANSFORM cuda_dirs PREPEND --include=)
  tapeless_full_test(compile.cuda ${run_budgets} --include "${PROJECT_SOURCE_DIR}/include" --include "${xsimd_dir}" ${cuda_dirs}
                     ${cuda_budgets})
endif()

# Budgets are processor seconds of a quiet machine; twice that is allowed here, so that a busy one does not
# fail. What must not grow unseen, the count of instantiations, is exact.
if(TEST full.compile)
  set_tests_properties(full.compile PROPERTIES ENVIRONMENT TAPELESS_BUDGET_SCALE=2)
endif()

# Programs that take minutes to compile, without optimisation. One test builds all of them.
set(slow_programs)
function(tapeless_slow_program name)  # tapeless_slow_program(name source... [FLAGS flag...])
  cmake_parse_arguments(slow "" "" "FLAGS" ${ARGN})
  set(target full_${name})
  string(REPLACE "." "_" target ${target})
  add_executable(${target} EXCLUDE_FROM_ALL ${slow_UNPARSED_ARGUMENTS} $<TARGET_OBJECTS:test_main>)
  target_link_libraries(${target} PRIVATE tapeless::tapeless doctest::doctest)
  target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0> ${memory_for_time} ${slow_FLAGS})
  tapeless_full_test(${name} ${target})
  set_tests_properties(full.${name} PROPERTIES FIXTURES_REQUIRED slow_programs)
  set(slow_programs ${slow_programs} ${target} PARENT_SCOPE)
endfunction()

# Random programs, half of them each day. Block b checks programs 16 b to 16 b + 15 against the reference and against tl::plain;
# swept_programs checks those of what sweeps exist for against tl::plain.
set(TAPELESS_RANDOM_BLOCKS 4 CACHE STRING "Blocks of 16 random programs, at least 1")
math(EXPR last_block "${TAPELESS_RANDOM_BLOCKS} - 1")
set(random_programs swept_programs) # it takes twice as long
foreach(block RANGE ${last_block})
  list(APPEND random_programs random_programs.${block})
endforeach()
tapeless_turn(random_programs 2)
foreach(name IN LISTS random_programs)
  if(name STREQUAL swept_programs)
    tapeless_slow_program(swept_programs laws/full/swept_programs.cpp)
  else()
    string(REGEX MATCH "[0-9]+$" block ${name})
    tapeless_slow_program(${name} laws/full/random_programs.cpp FLAGS -DTAPELESS_BLOCK=${block})
  endif()
endforeach()
# Laws of ops that sweeps take, one each day, with every program bound with tl::plain: unswept against the reference
set(plain_laws layer_norm select shape)
tapeless_turn(plain_laws 3)
foreach(law IN LISTS plain_laws)
  tapeless_slow_program(plain.${law} laws/${law}.cpp laws/laws.cpp FLAGS -include
    "${CMAKE_CURRENT_SOURCE_DIR}/support/plain_backend.hpp")
endforeach()
# Those that run on the emulated device note the kernels that they launch.
set(kernel_names "${CMAKE_BINARY_DIR}/kernel_names")
tapeless_full_test(kernels.fresh "${CMAKE_COMMAND}" -E rm -rf "${kernel_names}")
tapeless_full_test(kernels.folder "${CMAKE_COMMAND}" -E make_directory "${kernel_names}")
set_tests_properties(full.kernels.fresh full.kernels.folder PROPERTIES FIXTURES_SETUP kernel_names_folder)
set_tests_properties(full.kernels.folder PROPERTIES DEPENDS full.kernels.fresh)
set(files_of_laws)
function(tapeless_notes_kernels name)  # tapeless_notes_kernels(name variable...)
  set_tests_properties(full.${name} PROPERTIES FIXTURES_REQUIRED "slow_programs;kernel_names_folder" FIXTURES_SETUP kernel_names
    ENVIRONMENT "TAPELESS_KERNEL_NAMES=${kernel_names}/${name};${ARGN}")
endfunction()
# Laws on that device, half of them each day, by the sanitizers: a kernel that reads or writes beyond its operands is ended
set(emulated_laws ${laws_on_a_device})
tapeless_turn(emulated_laws 2)
set(not_emulated ${laws_on_a_device})
list(REMOVE_ITEM not_emulated ${emulated_laws})
file(GLOB tests_of_cuda CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" cuda/*.cpp)
list(TRANSFORM tests_of_cuda REPLACE "\\.cpp$" "")
list(REMOVE_ITEM tests_of_cuda cuda/planted)
list(APPEND not_emulated ${tests_of_cuda})
list(JOIN not_emulated "," not_emulated)
tapeless_leg(emulated FOLDERS laws,cuda COMPILER "${TAPELESS_CLANG19}" FLAGS "${common_machine} ${sanitizers}"
  OPTIONS ${quick_release} -DTAPELESS_OPENMP=OFF -DTAPELESS_CUDA=OFF -DTAPELESS_TEST_BACKEND=emulated
          "-DTAPELESS_TEST_WITHOUT=${not_emulated}")
tapeless_notes_kernels(emulated)
list(APPEND files_of_laws "${kernel_names}/emulated")
set_tests_properties(full.emulated PROPERTIES FIXTURES_REQUIRED kernel_names_folder FIXTURES_SETUP "kernel_names;emulated")
# One of them, another one each time, once more with the threads of a block in other orders
if(day STREQUAL "all")
  set(number_of_day 0)
else()
  math(EXPR number_of_day "1${day} / 2")
endif()
list(LENGTH emulated_laws length)
math(EXPR law_of_orders "${number_of_day} % ${length}")
list(GET emulated_laws ${law_of_orders} law_of_orders)
string(REPLACE "/" "_" law_of_orders "test_${law_of_orders}")
foreach(order IN ITEMS 1 2)
  tapeless_full_test(emulated.order_${order} "${CMAKE_BINARY_DIR}/emulated/tests/${law_of_orders}")
  set_tests_properties(full.emulated.order_${order} PROPERTIES FIXTURES_REQUIRED emulated RUN_SERIAL OFF
    ENVIRONMENT TAPELESS_THREAD_ORDER=${order})
endforeach()
# Planted kernels that read and write beyond their operands are ended
foreach(planted IN ITEMS READ WRITE)
  tapeless_full_test(planted.${planted} "${CMAKE_BINARY_DIR}/emulated/tests/test_cuda_planted")
  set_tests_properties(full.planted.${planted} PROPERTIES FIXTURES_REQUIRED emulated ENVIRONMENT TAPELESS_BEYOND=${planted}
    PASS_REGULAR_EXPRESSION "heap-buffer-overflow[^\n]*\n${planted} of size 4")
endforeach()
# Examples print the same there; two each day
set(emulated_examples
    01_gradient 03_custom_op  04_hessian_vector_product 06_loop_over_layers  07_two_threads 08_layers_of_different_extents)
tapeless_turn(emulated_examples 3)
set(examples "${PROJECT_SOURCE_DIR}/examples")
foreach(example IN LISTS emulated_examples)
  add_executable(full_example_${example} EXCLUDE_FROM_ALL "${examples}/${example}.cpp")
  target_link_libraries(full_example_${example} PRIVATE tapeless::tapeless)
  target_include_directories(full_example_${example} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
  target_compile_options(full_example_${example} PRIVATE $<$<CONFIG:Release>:-O0> ${memory_for_time} -include
    "${CMAKE_CURRENT_SOURCE_DIR}/support/emulated_backend.hpp")
  list(APPEND slow_programs full_example_${example})
  tapeless_full_test(example.${example} "${CMAKE_COMMAND}" -DPROGRAM=$<TARGET_FILE:full_example_${example}>
    "-DEXPECTED=${examples}/expected/${example}.txt" -P "${PROJECT_SOURCE_DIR}/.cmake/compare_output.cmake")
  tapeless_notes_kernels(example.${example})
  list(APPEND files_of_laws "${kernel_names}/example.${example}")
endforeach()
# Those of the workloads, too, but for the sparse ones: their matrices take 20 GB
set(bench "${PROJECT_SOURCE_DIR}/bench")
file(GLOB workloads CONFIGURE_DEPENDS "${bench}/workloads/*.cpp")
list(FILTER workloads EXCLUDE REGEX "/sparse\\.cpp$")
tapeless_slow_program(workload_kernels cuda/full/workload_kernels.cpp ${workloads} FLAGS -include
  "${CMAKE_CURRENT_SOURCE_DIR}/support/emulated_backend.hpp" "-I${bench}")
tapeless_notes_kernels(workload_kernels TAPELESS_KERNELS_ONLY=1)
# They compile for that device, an older and a newer one: see support::fault_of
add_executable(full_compile_kernels EXCLUDE_FROM_ALL cuda/full/compile_kernels.cpp)
target_link_libraries(full_compile_kernels PRIVATE tapeless::tapeless ${CMAKE_DL_LIBS})
target_include_directories(full_compile_kernels PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
list(APPEND slow_programs full_compile_kernels)
foreach(device IN ITEMS sm_90 sm_80 sm_120)
  tapeless_full_test(kernels.laws.${device} full_compile_kernels ${device} 0 ${files_of_laws}) # and of examples
  tapeless_full_test(kernels.workloads.${device} full_compile_kernels ${device} 64 "${kernel_names}/workload_kernels")
  set_tests_properties(full.kernels.laws.${device} full.kernels.workloads.${device} PROPERTIES
    FIXTURES_REQUIRED kernel_names SKIP_RETURN_CODE 77)
endforeach()
tapeless_full_test(slow_programs.build "${CMAKE_COMMAND}" --build "${CMAKE_BINARY_DIR}" --target ${slow_programs})
set_tests_properties(full.slow_programs.build PROPERTIES FIXTURES_SETUP slow_programs)

# bench/against: two versions of the library in one process, here twice this one; one small workload
tapeless_full_test(bench_against "${PROJECT_SOURCE_DIR}/bench/against/run" here small-mlp)
set_tests_properties(full.bench_against PROPERTIES PASS_REGULAR_EXPRESSION "small-mlp .* ms -> .* ms"
  ENVIRONMENT "CXX=${CMAKE_CXX_COMPILER};KINDS=mlp;FLAGS=-O0;SECONDS_EACH=0;BUILD_DIR=${CMAKE_BINARY_DIR}/against")

# bench/gpu/run, rehearsed where no device is: its programs of a few elements, on the runtime of the host
if(TARGET tapeless::cuda)
  tapeless_full_test(bench_gpu.build "${PROJECT_SOURCE_DIR}/bench/gpu/build" --emulated)
  tapeless_full_test(bench_gpu "${PROJECT_SOURCE_DIR}/bench/gpu/run" --emulated)
  string(REPLACE ";" " " flags "-O0;${toolkit_of_compilers}")
  set_tests_properties(full.bench_gpu.build PROPERTIES FIXTURES_SETUP bench_gpu)
  set_tests_properties(full.bench_gpu PROPERTIES FIXTURES_REQUIRED bench_gpu TIMEOUT 600)
  set_tests_properties(full.bench_gpu full.bench_gpu.build PROPERTIES
    ENVIRONMENT "CXX=${CMAKE_CXX_COMPILER};FLAGS=${flags};BUILD_DIR=${CMAKE_BINARY_DIR}/gpu")
endif()

# Format and lint
tapeless_full_test(format "${PROJECT_SOURCE_DIR}/.ci/format" --check)
set(tidy "${TAPELESS_CLANG_TIDY}" --quiet "--config-file=${PROJECT_SOURCE_DIR}/.clang-tidy")
# All headers, as part of one program, and what it instantiates of them
tapeless_full_test(tidy.headers ${tidy} "${CMAKE_CURRENT_SOURCE_DIR}/warnings.cpp"
  -- -std=c++20 ${common_machine} "-I${PROJECT_SOURCE_DIR}/include" "-I${xsimd_dir}" ${toolkit_of_compilers})
# It sees them, and how long a function is
string(REPEAT "  ++x;\n" 80 long_body)
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/include/tapeless/long_function.hpp"
     "inline int long_function(int x) {\n${long_body}  return x;\n}\n")
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/long_function.cpp" "#include <tapeless/long_function.hpp>\n")
tapeless_full_test(tidy.self_test ${tidy} "${CMAKE_CURRENT_BINARY_DIR}/long_function.cpp"
  -- "-I${CMAKE_CURRENT_BINARY_DIR}/include")
set_tests_properties(full.tidy.self_test PROPERTIES
  PASS_REGULAR_EXPRESSION "function 'long_function' exceeds")
string(REPLACE "," "|" wanted "${TAPELESS_TIDY_FOLDERS}")
file(GLOB tidy_sources CONFIGURE_DEPENDS */*.cpp)
list(FILTER tidy_sources INCLUDE REGEX "/(${wanted})/[^/]*$")
if(tidy_sources)
  tapeless_full_test(tidy ${tidy} -p "${CMAKE_BINARY_DIR}"
                     --extra-arg=-Wno-invalid-feature-combination # see .cmake/programs.cmake
                     --extra-arg=-Wno-unused-command-line-argument # what only g++ knows
                     ${tidy_sources})
endif()

# What keeps one core busy shares the machine. All others take both, or are timed.
set_tests_properties(full.warnings full.warnings.clang19 full.tidy.headers full.tidy.self_test full.format
                     full.fail.clang19.self_test full.fail.clang16.self_test full.includes.self_test full.compile.self_test
                     PROPERTIES RUN_SERIAL OFF)
foreach(name IN ITEMS tidy avx512_debug swept_programs)
  if(TEST full.${name})
    set_tests_properties(full.${name} PROPERTIES RUN_SERIAL OFF)
  endif()
endforeach()

include(package/tests.cmake)
tapeless_take_turns(bench_against package.conan)
