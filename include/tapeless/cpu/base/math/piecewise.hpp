// SPDX-FileCopyrightText: the tapeless authors
// SPDX-License-Identifier: MIT
//
// tanh and erf of 16 floats: a polynomial for each of 32 intervals, whose coefficients permutations look up.
#pragma once
#include "../simd/vector.hpp"

#if defined(__AVX512F__)
namespace tapeless::cpu {

// Column k is the interval of all x >= 0 with (bits >> 21) % 32 == k: a quarter of an octave. The intervals go from
// 1/16 to 15, and the first one begins at 0. Rows: the middle b of the interval, then the coefficients of f(x) = c0 +
// c1 (x - b) + .. + c5 (x - b)^5. In the interval that begins at 0, f(x) = x + c1 x + .. The polynomials interpolate
// at Chebyshev's nodes.
// clang-format off
alignas(64) inline constexpr float tanh_pieces[7][32] = {
    {0x1.2p1f, 0x1.6p1f, 0x1.ap1f, 0x1.ep1f, 0x1.2p2f, 0x1.6p2f, 0x1.ap2f, 0x1.ep2f, 9, 10, 12, 14, 0, 0x1.6p-4f,
     0x1.ap-4f, 0x1.ep-4f, 0x1.2p-3f, 0x1.6p-3f, 0x1.ap-3f, 0x1.ep-3f, 0x1.2p-2f, 0x1.6p-2f, 0x1.ap-2f, 0x1.ep-2f,
     0x1.2p-1f, 0x1.6p-1f, 0x1.ap-1f, 0x1.ep-1f, 0x1.2p0f, 0x1.6p0f, 0x1.ap0f, 0x1.ep0f},
    {0x1.f4bfd6p-1f, 0x1.fbd50ap-1f, 0x1.fe767ap-1f, 0x1.ff6f18p-1f, 0x1.ffdfa6p-1f, 0x1.fffbap-1f, 0x1.ffff68p-1f,
     0x1.ffffecp-1f, 0x1.fffffep-1f, 1, 1, 1, 0, 0x1.5f22d2p-4f, 0x1.9e9356p-4f, 0x1.ddd092p-4f, 0x1.1e1ddp-3f,
     0x1.5c9308p-3f, 0x1.9a5f1cp-3f, 0x1.d7665cp-3f, 0x1.18a39ap-2f, 0x1.52c2c6p-2f, 0x1.8a87e2p-2f, 0x1.bfae6ap-2f,
     0x1.05087p-1f, 0x1.3157ep-1f, 0x1.5789p-1f, 0x1.77d838p-1f, 0x1.9e5cb6p-1f, 0x1.c278a6p-1f, 0x1.d9c6fcp-1f,
     0x1.e8789ep-1f},
    {0x1.64108ap-5f, 0x1.09a7a6p-6f, 0x1.88ef6ap-8f, 0x1.21a7bp-9f, 0x1.02bf32p-11f, 0x1.18335p-14f, 0x1.2f6078p-17f,
     0x1.487646p-20f, 0x1.05c30cp-24f, 0, 0, 0, -0x1.0618aap-34f, 0x1.fc3cbep-1f, 0x1.fac13ep-1f, 0x1.f9085ap-1f,
     0x1.f601cap-1f, 0x1.f12bp-1f, 0x1.eb715ap-1f, 0x1.e4dfb2p-1f, 0x1.d98b36p-1f, 0x1.c7f724p-1f, 0x1.b3ff2ep-1f,
     0x1.9e23aep-1f, 0x1.7aeae6p-1f, 0x1.49e6cp-1f, 0x1.197fcep-1f, 0x1.d834d2p-2f, 0x1.615002p-2f, 0x1.cea744p-3f,
     0x1.265e34p-3f, 0x1.6fcfa6p-4f},
    {-0x1.5c3a3cp-5f, -0x1.077906p-6f, -0x1.87b86ep-8f, -0x1.214eaap-9f, -0x1.02451ep-11f, -0x1.17bd96p-14f,
     -0x1.2ee32p-17f, -0x1.47eeep-20f, -0x1.fccc12p-25f, 0, 0, 0, 0x1.4502e6p-25f, -0x1.5c8e36p-4f, -0x1.9a5416p-4f,
     -0x1.d75004p-4f, -0x1.18883cp-3f, -0x1.5279fep-3f, -0x1.89e50ep-3f, -0x1.be6cb8p-3f, -0x1.038f7p-2f,
     -0x1.2daf98p-2f, -0x1.4ff712p-2f, -0x1.6a1d38p-2f, -0x1.825de4p-2f, -0x1.897d22p-2f, -0x1.79c0e6p-2f,
     -0x1.5aa224p-2f, -0x1.1df056p-2f, -0x1.970ed2p-3f, -0x1.1064bap-3f, -0x1.5ee8aap-4f},
    {0x1.bbcddp-6f, 0x1.599588p-7f, 0x1.039786p-8f, 0x1.80e94ep-10f, 0x1.5881a8p-12f, 0x1.754e5ep-15f,
     0x1.9437d6p-18f, 0x1.b5a584p-21f, 0x1.58d0aep-25f, 0, 0, 0, -0x1.55564ep-2f, -0x1.4b5adp-2f, -0x1.477428p-2f,
     -0x1.42f17cp-2f, -0x1.3b134ep-2f, -0x1.2ea3fcp-2f, -0x1.202a34p-2f, -0x1.0fdf04p-2f, -0x1.e91ee6p-3f,
     -0x1.98587ep-3f, -0x1.4271f4p-3f, -0x1.d71f68p-4f, -0x1.bd0b34p-5f, 0x1.d76bb6p-7f, 0x1.072cdep-4f,
     0x1.8434a4p-4f, 0x1.c68d5p-4f, 0x1.97d7acp-4f, 0x1.33dee6p-4f, 0x1.a85beap-5f},
    {-0x1.960204p-7f, -0x1.51959cp-8f, -0x1.0374e4p-9f, -0x1.83e7ecp-11f, -0x1.69dadap-13f, -0x1.888ca2p-16f,
     -0x1.a91eb4p-19f, -0x1.cc4956p-22f, -0x1.a881acp-26f, 0, 0, 0, 0x1.f78c9cp-14f, 0x1.cb9812p-5f, 0x1.0d55c4p-4f,
     0x1.33c774p-4f, 0x1.6b051ap-4f, 0x1.af9b74p-4f, 0x1.ed77f8p-4f, 0x1.11e9fp-3f, 0x1.32dfc6p-3f, 0x1.4fff78p-3f,
     0x1.5c02d4p-3f, 0x1.5839ap-3f, 0x1.39dad4p-3f, 0x1.e93af8p-4f, 0x1.47435ep-4f, 0x1.633ac2p-5f, 0x1.e50c1cp-9f,
     -0x1.599f88p-6f, -0x1.9b961ep-6f, -0x1.5596bp-6f},
    {0x1.04bcap-8f, 0x1.f586fap-10f, 0x1.93732ep-11f, 0x1.326e7ep-12f, 0x1.1cd2c4p-14f, 0x1.358c28p-17f,
     0x1.4f5058p-20f, 0x1.6b1046p-23f, 0x1.418c8ap-27f, 0, 0, 0, 0x1.0e564ep-3f, 0x1.00393ep-3f, 0x1.f36bf8p-4f,
     0x1.e47158p-4f, 0x1.ca8f52p-4f, 0x1.a261b4p-4f, 0x1.74a5e4p-4f, 0x1.428b6ep-4f, 0x1.e3cc86p-5f, 0x1.05c1dep-5f,
     0x1.843a0cp-8f, -0x1.193bc6p-6f, -0x1.6469cep-5f, -0x1.f8946ap-5f, -0x1.00c184p-4f, -0x1.b2b782p-5f,
     -0x1.0660b2p-5f, -0x1.37255ep-7f, 0x1.70aabap-10f, 0x1.2dd5ecp-8f},
};
alignas(64) inline constexpr float erf_pieces[7][32] = {
    {0x1.2p1f, 0x1.6p1f, 0x1.ap1f, 0x1.ep1f, 4, 5, 6, 7, 8, 10, 12, 14, 0, 0x1.6p-4f, 0x1.ap-4f, 0x1.ep-4f,
     0x1.2p-3f, 0x1.6p-3f, 0x1.ap-3f, 0x1.ep-3f, 0x1.2p-2f, 0x1.6p-2f, 0x1.ap-2f, 0x1.ep-2f, 0x1.2p-1f, 0x1.6p-1f,
     0x1.ap-1f, 0x1.ep-1f, 0x1.2p0f, 0x1.6p0f, 0x1.ap0f, 0x1.ep0f},
    {0x1.ff4046p-1f, 0x1.fff2dp-1f, 0x1.ffff7p-1f, 0x1.fffffcp-1f, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0x1.8c36bep-4f,
     0x1.d3cbf8p-4f, 0x1.0d939p-3f, 0x1.42d7fcp-3f, 0x1.89501p-3f, 0x1.cf076ep-3f, 0x1.09eed6p-2f, 0x1.3c9aa8p-2f,
     0x1.7e1594p-2f, 0x1.bccfecp-2f, 0x1.f86faap-2f, 0x1.25b8a8p-1f, 0x1.569244p-1f, 0x1.7fb9cp-1f, 0x1.a1551ap-1f,
     0x1.c6dad2p-1f, 0x1.e5768cp-1f, 0x1.f4f694p-1f, 0x1.fbe61ep-1f},
    {0x1.d41424p-8f, 0x1.336174p-11f, 0x1.e9bb9p-16f, 0x1.d948cap-21f, 0, 0, 0, 0, 0, 0, 0, 0, 0x1.06eba8p-3f,
     0x1.1ebd56p0f, 0x1.1de698p0f, 0x1.1cecdcp0f, 0x1.1b3572p0f, 0x1.1874dep0f, 0x1.153068p0f, 0x1.116cd8p0f,
     0x1.0ae55p0f, 0x1.00abdp0f, 0x1.e9d5a8p-1f, 0x1.cfc41ep-1f, 0x1.a5074ep-1f, 0x1.681ff2p-1f, 0x1.2a8dcep-1f,
     0x1.dfca26p-2f, 0x1.45e99cp-2f, 0x1.5ce596p-3f, 0x1.499d48p-4f, 0x1.12ceb4p-5f},
    {-0x1.073172p-6f, -0x1.a5af96p-10f, -0x1.8b64a4p-14f, -0x1.b5a78cp-19f, 0, 0, 0, 0, 0, 0, 0, 0, 0x1.447e6ap-26f,
     -0x1.8a4456p-4f, -0x1.d096b6p-4f, -0x1.0b1e0ep-3f, -0x1.3e9c2p-3f, -0x1.81a0bp-3f, -0x1.c26eaap-3f,
     -0x1.00560cp-2f, -0x1.2c41f8p-2f, -0x1.60ec3cp-2f, -0x1.8dfd98p-2f, -0x1.b2c7dap-2f, -0x1.d9a81ep-2f,
     -0x1.ef2bdap-2f, -0x1.e52666p-2f, -0x1.c1cd84p-2f, -0x1.6ea75ep-2f, -0x1.dfbd44p-3f, -0x1.0bd0d4p-3f,
     -0x1.01a26p-4f},
    {0x1.63f5dep-6f, 0x1.69a02p-9f, 0x1.99d946p-13f, 0x1.0a2cccp-17f, 0, 0, 0, 0, 0, 0, 0, 0, -0x1.8127c4p-2f,
     -0x1.78ac22p-2f, -0x1.75563ep-2f, -0x1.71774ep-2f, -0x1.6aad46p-2f, -0x1.5fd948p-2f, -0x1.531662p-2f,
     -0x1.4483bp-2f, -0x1.2b900ap-2f, -0x1.05599cp-2f, -0x1.b588d8p-3f, -0x1.5a9deap-3f, -0x1.9c41eap-4f,
     -0x1.a4267ap-7f, 0x1.fe074p-5f, 0x1.e4c97p-4f, 0x1.4cb31ep-3f, 0x1.4374f2p-3f, 0x1.d664p-4f, 0x1.143dd2p-4f},
    {-0x1.3d03fp-6f, -0x1.bf7c92p-9f, -0x1.46f602p-12f, -0x1.07c7a8p-16f, 0, 0, 0, 0, 0, 0, 0, 0, 0x1.f696fep-15f,
     0x1.885058p-5f, 0x1.cd6146p-5f, 0x1.08a9f6p-4f, 0x1.3a5f1ep-4f, 0x1.79fce8p-4f, 0x1.b5fd9p-4f, 0x1.edd6eep-4f,
     0x1.1c4adep-3f, 0x1.44f9a4p-3f, 0x1.620c6p-3f, 0x1.72f078p-3f, 0x1.752f9cp-3f, 0x1.52b9d8p-3f, 0x1.0f68fp-3f,
     0x1.746ecp-4f, 0x1.d03d74p-6f, -0x1.eb3da6p-6f, -0x1.9488p-5f, -0x1.596662p-5f},
    {0x1.5b17ap-7f, 0x1.7115e2p-9f, 0x1.59edcep-12f, 0x1.4e7e62p-16f, 0, 0, 0, 0, 0, 0, 0, 0, 0x1.cb75f6p-4f,
     0x1.bd3bb2p-4f, 0x1.b69a8ap-4f, 0x1.aeed86p-4f, 0x1.a17d94p-4f, 0x1.8c31fep-4f, 0x1.734892p-4f, 0x1.57165cp-4f,
     0x1.2765dap-4f, 0x1.c0530cp-5f, 0x1.26c758p-5f, 0x1.134f4p-6f, -0x1.6221d8p-7f, -0x1.54be02p-5f,
     -0x1.f93834p-5f, -0x1.1cb522p-4f, -0x1.f48534p-5f, -0x1.f5fb8ep-6f, -0x1.2ac038p-9f, 0x1.73d36ap-7f},
};
// clang-format on

// The odd function of such a table. NaN stays NaN, -0 stays -0.
template <const auto& table> [[gnu::always_inline]] inline __m512 odd_by_pieces(__m512 x) {
  const __m512 sign = _mm512_set1_ps(-0.0f), first_end = _mm512_set1_ps(0x1.4p-4f);
  const __m512 a = _mm512_min_ps(_mm512_set1_ps(15.0f), _mm512_andnot_ps(sign, x)); // a NaN stays
  const __m512i k = _mm512_srli_epi32(_mm512_castps_si512(_mm512_max_ps(a, _mm512_set1_ps(0x1p-4f))), 21);
  const auto at = [&](int row) __attribute__((always_inline)) {
    return _mm512_permutex2var_ps(_mm512_load_ps(table[row]), k, _mm512_load_ps(table[row] + 16));
  };
  const __m512 d = _mm512_sub_ps(a, at(0));
  __m512 y = at(6);
  unroll<4>([&](auto i) __attribute__((always_inline)) { y = _mm512_fmadd_ps(y, d, at(5 - i)); });
  const __m512 c0 = _mm512_mask_mov_ps(at(1), _mm512_cmp_ps_mask(a, first_end, _CMP_LT_OQ), a);
  y = _mm512_fmadd_ps(y, d, c0);
  return _mm512_or_ps(y, _mm512_and_ps(sign, x));
}

} // namespace tapeless::cpu
#endif
