# What is said of tests by name: how they are compiled, which are quick, which misuses are a family.

# Files without test cases, which are parts of another one's program
set(parts_of_cpu/conv cpu/conv_nhwc cpu/conv_winograd)
set(parts_of_run/member run/member_elsewhere)
set(parts_of_run/checked run/member_elsewhere)
set(parts ${parts_of_cpu/conv} ${parts_of_run/member})

# Built where there is the CUDA toolkit. They need no device.
set(tests_of_toolkit cuda/cublaslt_on_host cuda/cudnn_on_host cuda/cusparse_on_host cuda/device cuda/epilogues cuda/libs)
# Those whose CUDA runtime is one of the host
set(parts_of_cuda/device support/cuda_runtime)
set(tests_of_runtime cuda/device)

# Laws of programs that a device takes
set(laws_on_a_device conv conv_nd conv_transpose conv_groups matmul index sparse sparse_forms elementwise functions layer_norm custom
    pool reduce shape scan along_axis select sparse_dense sparse_named batch_norm activations arrange pointwise_loss vector_norm
    masked cross_entropy einsum integer)
list(TRANSFORM laws_on_a_device PREPEND laws/)

# Programs of a few elements each, whose tests take minutes to compile and moments to run: without optimisation, but for
# those of many elements. That tests what a debug build computes, too.
set(folders_of_few_elements laws ops)
set(tests_of_many_elements
    laws/batch_norm laws/conv laws/conv_groups laws/group_norm laws/layer_norm laws/nhwc_conv laws/nhwc_groups laws/nhwc_pool
    laws/sums ops/batch_norm ops/norm ops/sparse ops/sparse_gradients ops/sparse_runs ops/sparse_tiles)
if(TAPELESS_TEST_BACKEND STREQUAL "emulated") # where a kernel's threads take turns at each element
  list(APPEND tests_of_many_elements laws/conv_transpose laws/select)
endif()
# Those that check which masks and rows the planner takes. They are of few elements, too.
set(tests_of_rows
    plan/choose_masks plan/collapse_axes plan/collapse_axes_means plan/collapse_axes_mixed plan/combine_masks
    plan/combine_masks_axes plan/combine_masks_beside plan/combine_masks_many plan/combine_masks_terms
    plan/counted_rows plan/csr_sweep_masks plan/csr_sweep_selected plan/indexed_rows plan/known_masks
    plan/known_masks_together plan/known_weights plan/masks plan/masks_of_any_rows plan/random_subset plan/rows
    plan/rows_in_place plan/selected_batch_norm plan/selected_batch_norm_derivatives plan/selected_rows
    plan/selected_rows_counted plan/selected_rows_images plan/selected_rows_layers
    plan/selected_rows_tables plan/selected_rows_two_lists)
# Of kernels these check how plans use them, not what an optimiser makes of them.
set(tests_of_plans
    cpu/batch_sweeps cpu/batch_sweeps_networks cpu/batch_sweeps_pools cpu/elided_gathers cpu/epilogue cpu/sums_of_products cpu/sweeps)
# Beside them some that take minutes with -O3
set(recycled_slots cpu/recycled_slots cpu/recycled_slots_programs)
set(pools cpu/pool_max cpu/pool_nhwc cpu/pool_sum)
set(small_products cpu/matmul_small cpu/matmul_small_blocks)
set(kernels_at_o1 ${pools} ${recycled_slots})

# The quick tests: one of each room of the headers, a law or a case of each family of ops. Chosen by what they take to compile;
# a misuse of each family is run beside them.
set(quick_tests
    core/extent core/tree expr/graph trace/functions trace/misuse adjoint/graph
    plan/plan plan/mask_sets plan/random_subset plan/csr_sweep_selected
    cpu/frame cpu/index cpu/math cpu/matmul cpu/products cpu/simd cpu/team
    ops/batch_norm ops/custom ops/empty_range ops/loss ops/types ops/window laws/laws
    run/memory run/optimizers io/file io/tree optim/sgd optim/trees interop/eigen reference_test/support)

# Misuses, by what stands before the first _ of the file's name; all others are the family `other`
set(misuse_families conv csr custom load norm optim rows run sparse tensor transforms var)
set(prefixes_of_conv "conv[^_/]*")
set(prefixes_of_csr "csr")
set(prefixes_of_custom "custom")
set(prefixes_of_load "copy|load|save")
set(prefixes_of_norm "batch|group|instance|layer|rms")
set(prefixes_of_optim "adam|sgd")
set(prefixes_of_rows "gather|index|scatter|selections?|top|where")
set(prefixes_of_run "bind|jit|run")
set(prefixes_of_sparse "solve|sparse")
set(prefixes_of_tensor "at|extent|member|named|number|owned|tensor|tree")
set(prefixes_of_transforms "grad|hvp|jvp|vjp")
set(prefixes_of_var "var")
