# SPDX-FileCopyrightText: the tapeless authors
# SPDX-License-Identifier: MIT
"""Makes ops.npz for against_jax*.cpp, with NumPy 2.4, mpmath 1.4 and JAX 0.10 on the CPU: python3 make_ops.py

An array for each function, its numbers in this order: the arguments, y_bar, the tangents of the arguments; the value, the vjp
by each argument, the jvp. Arguments, y_bar and tangents are floats, so that programs of float and double read the same numbers.

Functions of single elements and their derivatives are those of mpmath with 40 digits; at kinks, where a difference quotient
means nothing, the derivatives are written here as the pages of docs/reference have them. Functions of rows are those of JAX
in double; the derivative of a root of 0 is 0, as the page of norms has it.
"""
import pathlib

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")
mp.mp.dps = 40
random = np.random.default_rng(20)
inf, nan = float("inf"), float("nan")
arrays = {}


def floats(x):
    return np.asarray(x, dtype=np.float32).astype(np.float64)


def normal(shape):
    return floats(random.standard_normal(shape))


def store(name, arguments, y_bar, tangents, results):
    with np.errstate(all="ignore"):
        parts = [*arguments, y_bar, *tangents, *results]
        arrays[name] = np.concatenate([np.ravel(np.asarray(part, dtype=np.float64)) for part in parts])


# Of single elements: f of mpmath's numbers. kinks: what the page says at some arguments, the value and each derivative.
def elements(name, f, *columns, kinks=()):
    columns = [floats(column) for column in columns]
    smooth = len(columns[0])
    value, slopes = np.empty(smooth), [np.empty(smooth) for _ in columns]
    for i in range(smooth):
        at = [mp.mpf(column[i]) for column in columns]
        value[i] = f(*at)
        for j, slope in enumerate(slopes):
            slope[i] = mp.diff(lambda x: f(*at[:j], x, *at[j + 1:]), at[j])
    for arguments, there, derivatives in kinks:
        columns = [np.append(column, x) for column, x in zip(columns, np.atleast_1d(arguments))]
        value = np.append(value, there)
        slopes = [np.append(slope, d) for slope, d in zip(slopes, np.atleast_1d(derivatives))]
    y_bar, tangents = normal(len(value)), [normal(len(value)) for _ in columns]
    jvp = sum(slope * tangent for slope, tangent in zip(slopes, tangents))
    store(name, columns, y_bar, tangents, [value, *[slope * y_bar for slope in slopes], jvp])


# Of rows: f of JAX's arrays
def rows(name, f, *arguments):
    arguments = [floats(argument) for argument in arguments]
    value, pull = jax.vjp(f, *arguments)
    y_bar, tangents = normal(value.shape), [normal(argument.shape) for argument in arguments]
    store(name, arguments, y_bar, tangents, [value, *pull(y_bar), jax.jvp(f, arguments, tangents)[1]])


points = [-80.0, -20.0, -10.0, -4.5, -3.5, -2.0, -1.5, -0.625, -2.0**-9, -(2.0**-30), 2.0**-30, 2.0**-9, 0.375, 0.875, 1.25,
          2.5, 3.5, 6.0, 10.0, 20.0, 80.0]


def sigmoid(a):
    return 1 / (1 + mp.exp(-a))


def softplus(a):
    return mp.log1p(mp.exp(a))


def elu(a, alpha):
    return a if a > 0 else alpha * mp.expm1(a)


def clamp(a, lo, hi):
    return min(max(a, lo), hi)


alpha, scale = mp.mpf("1.6732632423543772848170429916717"), mp.mpf("1.0507009873554804934193349852946")
elements("clamp", lambda a: clamp(a, -1, 2), points, kinks=[(-1, -1, 1), (2, 2, 1), (-inf, -1, 0), (inf, 2, 0)])
elements("hardtanh", lambda a: clamp(a, -1, 1), points, kinks=[(-1, -1, 1), (1, 1, 1), (inf, 1, 0)])
elements("reciprocal", lambda a: 1 / a, points)
elements("leaky_relu", lambda a: a if a > 0 else a / 4, points, kinks=[(0, 0, 0.25)])
elements("elu", lambda a: elu(a, mp.mpf(0.5)), points, kinks=[(0, 0, 0.5), (-inf, -0.5, 0)])
elements("selu", lambda a: scale * elu(a, alpha), points, kinks=[(0, 0, scale * alpha)])
elements("gelu", lambda a: a * mp.erfc(-a / mp.sqrt(2)) / 2, points[1:], kinks=[(0, 0, 0.5)])
elements("gelu_tanh", lambda a: a * sigmoid(2 * mp.sqrt(2 / mp.pi) * (a + mp.mpf("0.044715") * a**3)), points[2:])
elements("silu", lambda a: a * sigmoid(a), points)
elements("mish", lambda a: a * mp.tanh(softplus(a)), points)
elements("hardswish", lambda a: a * clamp(a + 3, 0, 6) / 6, points, kinks=[(-3, 0, -0.5), (3, 3, 1.5)])
elements("log_sigmoid", lambda a: -softplus(-a), points)
elements("trunc", lambda a: mp.mpf(int(a)), [x for x in points if x != int(x)],
         kinks=[(0, 0, 0), (3, 3, 0), (-1, -1, 0), (inf, inf, 0), (nan, nan, 0)])
elements("nan_to_num", lambda a: a, points, kinks=[(nan, 0.5, 0), (inf, 9, 0), (-inf, -9, 0)])
# where(is(a), b, -b)
elements("isnan", lambda a, b: -b, points, points, kinks=[((x, 2), s * 2, (0, s)) for x, s in ((nan, 1), (inf, -1), (-inf, -1))])
elements("isinf", lambda a, b: -b, points, points, kinks=[((x, 2), s * 2, (0, s)) for x, s in ((nan, -1), (inf, 1), (-inf, 1))])
elements("isfinite", lambda a, b: b, points, points, kinks=[((x, 2), -2, (0, -1)) for x in (nan, inf, -inf)])

targets = normal(len(points))
signs, counts, variances = np.sign(targets), 2 + np.floor(np.abs(2 * targets)), np.exp(normal(len(points)))
elements("mse_loss", lambda a, b: (a - b)**2, points, targets)
elements("l1_loss", lambda a, b: abs(a - b), points, targets, kinks=[((2, 2), 0, (0, 0))])
elements("huber_loss", lambda a, b: (a - b)**2 / 2 if abs(a - b) <= 0.5 else (abs(a - b) - mp.mpf(0.25)) / 2, points, targets,
         kinks=[((2, 1.5), 0.125, (0.5, -0.5)), ((1, 1), 0, (0, 0))])
# ends of [0, 1] where the loss is almost 0
likely = np.select([np.array(points) < -9, np.array(points) > 9], [0, 1], 1 / (1 + np.exp(-targets)))
elements("binary_cross_entropy_with_logits", lambda a, b: b * softplus(-a) + (1 - b) * softplus(a), points, likely)
elements("hinge_loss", lambda a, b: max(1 - a * b, 0), points, signs, kinks=[((1, 1), 0, (0, 0)), ((-1, -1), 0, (0, 0))])
elements("poisson_nll_loss", lambda a, b: mp.exp(a) - b * a, points[2:-2], counts[2:-2])
elements("gaussian_nll_loss", lambda a, b, v: (mp.log(max(v, 0.5)) + (a - b)**2 / max(v, 0.5)) / 2, points, targets, variances)


def root(sum_of_squares):
    zero = sum_of_squares == 0
    return jnp.where(zero, 0, jnp.sqrt(jnp.where(zero, 1, sum_of_squares)))


def norm(a, p=2.0):
    if p == 2:
        return root(jnp.sum(a * a, 1))
    if p == inf:
        return jnp.max(jnp.abs(a), 1)
    size = jnp.abs(jnp.where(a == 0, 1, a))
    powers = jnp.sum(jnp.where(a == 0, 0, size**p), 1)
    return jnp.where(powers == 0, 0, jnp.where(powers == 0, 1, powers) ** (1 / p))


def divergence(log_q, p):
    return jnp.sum(jnp.where(p == 0, 0, p * (jnp.log(jnp.where(p == 0, 1, p)) - log_q)), 1)


def variance(a, divisor):
    return jnp.sum((a - jnp.mean(a, 1, keepdims=True))**2, 1) / divisor


shape = (5, 7)
a, b = normal(shape), normal(shape)
b[3] = a[3]  # two equal points
some_zeros = np.where(np.arange(7) % 3 == 1, 0, a)
some_zeros[4] = 0
equal = a.copy()
equal[2] = 0.75
rows("norm", norm, some_zeros)
rows("norm_1", lambda x: norm(x, 1), some_zeros)
rows("norm_3", lambda x: norm(x, 3), some_zeros)
rows("norm_half", lambda x: norm(x, 0.5), some_zeros)
rows("norm_inf", lambda x: norm(x, inf), a)
rows("normalize", lambda x: x / jnp.maximum(norm(x), 1e-12)[:, None], a)
rows("normalize_1", lambda x: x / jnp.maximum(norm(x, 1), 0.5)[:, None], some_zeros)
rows("cosine_similarity", lambda x, y: jnp.sum(x * y, 1) / jnp.maximum(norm(x) * norm(y), 1e-8), a, b)
rows("pairwise_distance", lambda x, y: norm(x - y), a, b)
rows("pairwise_distance_3", lambda x, y: norm(x - y, 3), a, b)
rows("variance", lambda x: variance(x, 7), a + 256)
rows("variance_unbiased", lambda x: variance(x, 6), a)
rows("std_dev", lambda x: root(variance(x, 7)), equal)
rows("std_dev_unbiased", lambda x: root(variance(x, 6)), equal)
log_q, p = jax.nn.log_softmax(a, 1), np.exp(b)
p[:, 2] = 0
rows("kl_divergence", divergence, log_q, p / p.sum(1, keepdims=True))


# erfinv, Gamma and what divisions leave
inside = [-0.984375, -0.75, -0.5, -0.125, -(2.0**-30), 2.0**-30, 0.125, 0.5, 0.8125, 0.875, 0.984375, 1 - 2.0**-12, 1 - 2.0**-24]
elements("erfinv", mp.erfinv, inside)
around_poles = [-7.25, -4.25, -3.125, -2.875, -1.375, -0.625, -(2.0**-9), 2.0**-9, 0.375, 0.875, 1.25, 1.625, 2.25, 3.5, 7.75, 8.0, 20.0, 1000.0]
elements("lgamma", lambda a: mp.log(abs(mp.gamma(a))), around_poles)
elements("digamma", mp.digamma, around_poles)
elements("polygamma_1", lambda a: mp.psi(1, a), around_poles)
elements("polygamma_4", lambda a: mp.psi(4, a), around_poles)
numerators, divisors = [-7.5, -7.5, 7.5, 7.5, 0.3, 100.25, -0.625, 1e6], [2, -2, 2, -2, 0.0625, 3.5, 10, 7]
elements("fmod", lambda x, y: x - y * (mp.floor(x / y) if x / y > 0 else mp.ceil(x / y)), numerators, divisors)
elements("remainder", lambda x, y: x - y * mp.floor(x / y), numerators, divisors)
elements("hypot", lambda x, y: mp.sqrt(x * x + y * y), [3, -0.5, 1e-18, 1e18, 1e-20, 2], [4, 1.5, 1e-18, -1e18, 1, -1e-12],
         kinks=[((0, 0), 0, (0, 0))])

# Arrangements: those of NumPy, exactly
random = np.random.default_rng(21)
x, y = normal((2, 3, 5)), normal((2, 3, 5))
rows("expand_dims", lambda a: jnp.expand_dims(a, -1), x)
rows("squeeze", lambda a: jnp.squeeze(a, 1), normal((2, 1, 5)))
rows("tile", lambda a: jnp.tile(a, (1, 3, 1)), x)
rows("repeat", lambda a: jnp.repeat(a, 2, -1), x)
rows("roll", lambda a: jnp.roll(a, -7, 2), x)
rows("slice_2", lambda a: a[:, :, 1:4:2], x)
rows("slice_back", lambda a: a[:, :, 4:0:-3], x)
rows("pad_reflect", lambda a: jnp.pad(a, ((0, 0), (0, 0), (4, 2)), "reflect"), x)
rows("pad_edge", lambda a: jnp.pad(a, ((0, 0), (2, 1), (0, 0)), "edge"), x)
rows("pad_wrap", lambda a: jnp.pad(a, ((0, 0), (3, 2), (0, 0)), "wrap"), x)
rows("stack", lambda a, b: jnp.stack([a, b], 1), x, y)
rows("split", lambda a: jnp.split(a, 3, 1)[2], x)
rows("tril", lambda a: jnp.tril(a, -1), x)
rows("triu", lambda a: jnp.triu(a, 1), x)
rows("diagonal", lambda a: jnp.diagonal(a, 1, 1, 2), x)
rows("trace", lambda a: jnp.trace(a, -1, 1, 2), x)
rows("eye_like", lambda a: jnp.eye(3, 5) * a, x)
rows("one_hot", lambda a, i: a * jax.nn.one_hot(i.astype(int), 5, axis=-1), x, np.arange(6).reshape(2, 3) - 0.0)
rows("outer", jnp.outer, normal(3), normal(5))
rows("meshgrid", lambda a, b: jnp.multiply(*jnp.meshgrid(a, b, indexing="ij")), normal(3), normal(5))

# Reductions. A mask and labels are arguments, too: numbers above 0.5 are true, and the derivative by them is 0.
random = np.random.default_rng(22)
a, mask = normal((5, 7)), np.float64(random.random((5, 7)) > 0.4)
a[1, 3] = a[1, 5] = -9  # a tie
mask[:, 1] = mask[:, 4] = 1
rows("min", lambda x: -jnp.max(-x, 1), np.unique(a).reshape(2, 17)[:, :14].reshape(4, 7))
rows("argmin", lambda x: jnp.where(jnp.arange(7) == jnp.argmin(x, 1)[:, None], x, 0), a)
rows("any", lambda x: jnp.where(jnp.any(x > 1, 1, keepdims=True), x, 0), a)
rows("all", lambda x: jnp.where(jnp.all(x < 1, 0), x, 0), a)
rows("sum_over", lambda x, m: jnp.sum(x, 1, where=m > 0.5), a, mask)
rows("mean_over", lambda x, m: jnp.mean(x, 1, where=m > 0.5), a, mask)
rows("max_over", lambda x, m: jnp.max(x, 1, where=m > 0.5, initial=-inf), a, mask)
rows("min_over", lambda x, m: jnp.min(x, 0, where=m > 0.5, initial=inf), a, mask)
rows("logsumexp_over", lambda x, m: jax.nn.logsumexp(x, 1, where=m > 0.5), a, mask)
rows("softmax_over", lambda x, m: jax.nn.softmax(x, 1, where=m > 0.5), a, mask)
rows("log_softmax_over", lambda x, m: jnp.where(m > 0.5, jax.nn.log_softmax(x, 1, where=m > 0.5), 0), a, mask)
rows("variance_over", lambda x, m: jnp.var(x, 1, where=m > 0.5), a, mask)
rows("std_dev_over", lambda x, m: jnp.std(x, 1, where=m > 0.5, ddof=1), a, mask)

labels, weights = np.array([3, 0, 6, 2, 2]), np.exp(normal(7))


# As PyTorch defines it, for labels or probabilities
def cross_entropy(x, p, w=None, smoothing=0.0):
    if p.ndim == 1:
        p = jax.nn.one_hot(p.astype(int), 7)
    p = p * (1 - smoothing) + smoothing / 7
    return -jnp.sum(p * (1 if w is None else w) * jax.nn.log_softmax(x, 1), 1)


rows("cross_entropy_weights", lambda x, i, w: cross_entropy(x, i, w), a, labels, weights)
rows("cross_entropy_smoothing", lambda x, i: cross_entropy(x, i, None, 0.25), a, labels)
rows("cross_entropy_both", lambda x, i, w: cross_entropy(x, i, w, 0.25), a, labels, weights)
rows("cross_entropy_ignored", lambda x, i, w: jnp.where(i == 2, 0, cross_entropy(x, i, w, 0.25)), a, labels, weights)
probabilities = np.exp(normal((5, 7)))
rows("cross_entropy_probabilities", cross_entropy, a, probabilities / probabilities.sum(1, keepdims=True))
rows("cross_entropy_all", lambda x, p, w: cross_entropy(x, p, w, 0.25), a, probabilities, weights)
pairs = normal(len(points))
elements("logaddexp", lambda a, b: mp.log(mp.exp(a) + mp.exp(b)), points, pairs,
         kinks=[((inf, inf), inf, (0, 0)), ((-inf, -inf), -inf, (0, 0)), ((inf, 1), inf, (1, 0)), ((-inf, 1), 1, (0, 1)), ((2, 2), 2 + mp.log(2), (0.5, 0.5))])
elements("positive_weight", lambda a, b, w: w * b * softplus(-a) + (1 - b) * softplus(a), points, likely, np.exp(pairs))


# einsum: the values are those of numpy.einsum
def einsum(name, subscripts, *shapes):
    arguments = [normal(s) for s in shapes]
    rows(name, lambda *a: jnp.einsum(subscripts, *a), *arguments)
    size = sum(a.size for a in arguments)
    expected = np.ravel(np.einsum(subscripts, *[floats(a) for a in arguments]))
    found = arrays[name][2 * size + expected.size:][:expected.size]
    assert np.allclose(found, expected, rtol=1e-12, atol=1e-12), name


random = np.random.default_rng(23)
einsum("einsum_0", "ij,jk->ik", (3, 4), (4, 5))
einsum("einsum_1", "ij,jk", (3, 4), (4, 5))
einsum("einsum_2", "ji,kj->ki", (4, 3), (5, 4))
einsum("einsum_3", "bij,bjk->bik", (2, 3, 4), (2, 4, 5))
einsum("einsum_4", "bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4))
einsum("einsum_5", "abc,cba->", (2, 3, 4), (4, 3, 2))
einsum("einsum_6", "...ij,...jk->...ik", (2, 1, 3, 4), (2, 4, 5))
einsum("einsum_7", "i,j,k->kij", (2,), (3,), (4,))
einsum("einsum_8", "iij->j", (3, 3, 4))
einsum("einsum_9", "ijij", (2, 3, 2, 3))
einsum("einsum_10", "iji,ik->jk", (3, 2, 3), (3, 4))
einsum("einsum_11", "b...,c...->...cb", (2, 3), (4, 3))
einsum("einsum_12", "ab,bc,cd->da", (2, 3), (3, 4), (4, 5))
einsum("einsum_13", "abc,bd,cd->a", (2, 3, 4), (3, 5), (4, 5))
einsum("einsum_14", "nc, nc, c -> n", (4, 3), (4, 3), (3,))
einsum("einsum_15", "ijk,lmk->iljm", (2, 3, 4), (3, 2, 4))
einsum("einsum_16", "ijkl->lj", (2, 3, 2, 3))
einsum("einsum_17", "ij,ik,il->jkl", (3, 2), (3, 2), (3, 4))

# Running ops, products, and indices along an axis. x has a factor of 0 in two lines, y two of them in one.
random = np.random.default_rng(24)
x, y = normal((2, 3, 5)), normal((2, 3, 5))
x[0, 1, 2] = x[1, 2, 0] = y[1, 0, 1] = y[1, 0, 3] = 0


def linear_scan(a, b, axis):
    a, b = jnp.moveaxis(a, axis, 0), jnp.moveaxis(b, axis, 0)
    first = jnp.zeros_like(b[0])
    return jnp.moveaxis(jax.lax.scan(lambda y, ab: 2 * (ab[0] * y + ab[1],), first, (a, b))[1], 0, axis)


def running(f):
    return lambda a: jnp.stack([f(a[..., : i + 1], -1) for i in range(a.shape[-1])], -1)


rows("cumsum", lambda a: jnp.cumsum(a, 1), x)
rows("cumprod", running(jnp.prod), y)
rows("cummax", running(jnp.max), normal((2, 3, 5)))
rows("cummin", running(jnp.min), normal((2, 3, 5)))
rows("logcumsumexp", running(jax.nn.logsumexp), 30 * normal((2, 3, 5)))
rows("linear_scan", lambda a, b: linear_scan(a, b, 1), x, y)
rows("linear_scan_last", lambda a, b: linear_scan(a, b, 2), x, y)
rows("prod", lambda a: jnp.prod(a, 2), x)
rows("prod_two", lambda a: jnp.prod(a, (0, 2)), y)
rows("second_prod", lambda a: jax.grad(lambda v: jnp.sum(jnp.prod(v, 2)))(a), y)
rows("second_cumprod", lambda a: jax.grad(lambda v: jnp.sum(running(jnp.prod)(v)))(a), y)

places = np.float64(random.integers(0, 3, (2, 4, 5)))
d = normal((2, 4, 5))


def put(a, i):
    return a.at[jnp.arange(2)[:, None, None], i.astype(int), jnp.arange(5)]


rows("take_along_axis", lambda a, i: jnp.take_along_axis(a, i.astype(int), 1), x, places)
rows("scatter_add_along_axis", lambda a, i, v: put(a, i).add(v), x, places, d)


# The largest of a and of what is put there, by comparisons with all: there is no tie
def put_max(a, i, v):
    hits = i[:, None].astype(int) == jnp.arange(3)[:, None, None]  # (2, 3, 4, 5)
    return jnp.maximum(a, jnp.max(jnp.where(hits, v[:, None], -inf), 2))


rows("scatter_max_along_axis", put_max, x, places, d)
rows("scatter_min_along_axis", lambda a, i, v: -put_max(-a, i, -v), x, places, d)

# einsum without the ellipsis in the result, of operands that are repeated along its axes: NumPy has none, so a letter for each axis.
random = np.random.default_rng(25)
einsum("einsum_18", "a,b->", (3,), (1,))
einsum("einsum_19", "a,b->", (1,), (3,))
einsum("einsum_20", "aij,bjk->ik", (3, 2, 4), (1, 4, 2))
einsum("einsum_21", "aij,bjk->ik", (1, 2, 4), (3, 4, 2))
einsum("einsum_22", "ai,bi->", (3, 2), (1, 2))
einsum("einsum_23", "abi,cdj,d->ij", (3, 1, 2), (1, 5, 2), (5,))
einsum("einsum_24", "axy,zwb,xw->b", (2, 3, 1), (1, 2, 4), (3, 2))

np.savez(pathlib.Path(__file__).parent / "ops.npz", **arrays)
