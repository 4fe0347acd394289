#!/usr/bin/env python3
# SPDX-FileCopyrightText: the tapeless authors
# SPDX-License-Identifier: MIT
"""minimax.py [NAME...]: prints the coefficients of the polynomials in include/tapeless/cpu/base/math/, made by Remez' exchange.

A polynomial p approximates f on [low, high] so that the largest |weight (p - f)| is least. Its degree is the least one whose
error is below that of the type: 2^-28 for float, 2^-58 for double. The weight makes of the error of p that of the function,
relative to its value. Needs mpmath; takes some ten seconds.
"""
import sys

import mpmath
from mpmath import mp, mpf

mp.dps = 50


def remez(f, weight, low, high, degree):
    """Returns the coefficients, lowest first, and the largest weighted error."""
    count = degree + 2
    middle, half = (low + high) / 2, (high - low) / 2
    points = [middle - half * mpmath.cos(mpmath.pi * i / (count - 1)) for i in range(count)]
    grid = [middle - half * mpmath.cos(mpmath.pi * i / (12 * count)) for i in range(12 * count + 1)]
    values = [(f(u), weight(u)) for u in grid]
    for _ in range(30):
        rows = [[((u - middle) / half) ** k for k in range(degree + 1)] + [(-1) ** i / weight(u)]
                for i, u in enumerate(points)]
        solution = mpmath.lu_solve(mpmath.matrix(rows), mpmath.matrix([f(u) for u in points]))
        scaled, levelled = list(solution)[:-1], abs(solution[degree + 1])
        error = [(mpmath.polyval(scaled[::-1], (u - middle) / half) - y) * w for u, (y, w) in zip(grid, values)]
        # the largest error of each run of one sign
        peaks = []
        for i, e in enumerate(error):
            if peaks and (error[peaks[-1]] > 0) == (e > 0):
                if abs(e) > abs(error[peaks[-1]]):
                    peaks[-1] = i
            else:
                peaks.append(i)
        while len(peaks) > count:
            peaks.pop(0 if abs(error[peaks[0]]) < abs(error[peaks[-1]]) else -1)
        largest = max(abs(e) for e in error)
        if len(peaks) < count or largest < levelled * mpf("1.001"):
            break
        points = [grid[i] for i in peaks]
    # from powers of (u - middle) / half to powers of u
    plain = [mpf(0)] * (degree + 1)
    for k, c in enumerate(scaled):
        for j in range(k + 1):
            plain[j] += c * mpmath.binomial(k, j) * (-middle) ** (k - j) / half ** k
    return plain, largest


def odd(f):  # q of f(r) = r + r^3 q(r^2)
    def q(z):
        r = mpmath.sqrt(z)
        return (f(r) - r) / (r * z)
    return q


def erfc_by_exp(t):  # (1 + 2x) e^(x^2) erfc(x), x = 3 (1 + t) / (1 - t)
    x = 3 * (1 + t) / (1 - t)
    return (1 + 2 * x) * mpmath.exp(x * x) * mpmath.erfc(x)


def lgamma_by_t(t):  # lgamma(2 + t) / t
    return mpmath.loggamma(2 + t) / t if abs(t) > TINY else mpmath.digamma(2)


def lgamma_rest(u):  # x (lgamma(x) - (x - 1/2) log x + x - log(2 pi) / 2), u = 1 / x^2
    x = 1 / mpmath.sqrt(u)
    return x * (mpmath.loggamma(x) - (x - mpf(1) / 2) * mpmath.log(x) + x - mpmath.log(2 * mpmath.pi) / 2)


def digamma_rest(u):  # x^2 (log x - 1 / (2x) - digamma(x)), u = 1 / x^2
    x = 1 / mpmath.sqrt(u)
    return (mpmath.log(x) - 1 / (2 * x) - mpmath.digamma(x)) / u


DIGAMMA_ROOT = mpmath.findroot(mpmath.digamma, mpf("1.4616321449683623"))


def digamma_by_root(t):  # digamma(x) / (x - root), x = 3/2 + t
    x = mpf(3) / 2 + t
    return mpmath.digamma(x) / (x - DIGAMMA_ROOT) if abs(x - DIGAMMA_ROOT) > TINY else mpmath.psi(1, x)


TINY = mpf("1e-25")
EDGE = mpf(1) / 1000  # where a weight vanishes at 0, the interval begins a little beyond
QUARTER = mpmath.pi / 4 * mpf("1.001")
THREE_QUARTERS = mpmath.log(2) * mpf("0.7505")

# name: f, weight, low, high
FUNCTIONS = {
    # e^r = 1 + r + r^2 p(r)
    "exp": (lambda r: (mpmath.expm1(r) - r) / r ** 2 if abs(r) > TINY else mpf("0.5"), lambda r: abs(r) + mpf("0.02"),
            -mpmath.log(2) / 2 * mpf("1.001"), mpmath.log(2) / 2 * mpf("1.001")),
    # 2^f = 1 + f p(f)
    "exp2": (lambda r: mpmath.expm1(r * mpmath.log(2)) / r if abs(r) > TINY else mpmath.log(2), lambda r: abs(r) + mpf("0.02"),
             -mpf("0.5005"), mpf("0.5005")),
    # sinh r = r + r^3 p(r^2), cosh r = 1 + r^2 p(r^2)
    "sinh": (odd(mpmath.sinh), lambda z: z, THREE_QUARTERS ** 2 * EDGE, THREE_QUARTERS ** 2),
    "cosh": (lambda z: (mpmath.cosh(mpmath.sqrt(z)) - 1) / z, lambda z: z, THREE_QUARTERS ** 2 * EDGE, THREE_QUARTERS ** 2),
    # sin r = r + r^3 p(r^2), cos r = 1 - r^2 / 2 + r^4 p(r^2), tan r = r + r^3 p(r^2)
    "sin": (odd(mpmath.sin), lambda z: z, QUARTER ** 2 * EDGE, QUARTER ** 2),
    "cos": (lambda z: (mpmath.cos(mpmath.sqrt(z)) - 1 + z / 2) / z ** 2, lambda z: z ** 2, QUARTER ** 2 * EDGE, QUARTER ** 2),
    "tan": (odd(mpmath.tan), lambda z: z, QUARTER ** 2 * EDGE, QUARTER ** 2),
    # asin x = x + x^3 p(x^2), |x| <= 1/2; atan x = x + x^3 p(x^2), |x| <= 1; atanh x = x + x^3 p(x^2), |x| <= 0.27
    "asin": (odd(mpmath.asin), lambda z: z, EDGE / 4, mpf(1) / 4),
    "atan": (odd(mpmath.atan), lambda z: z, EDGE, mpf(1)),
    "atanh": (odd(mpmath.atanh), lambda z: z, mpf("0.27") ** 2 * EDGE, mpf("0.27") ** 2),
    # (1 + 2x) e^(x^2) erfc(x) = 9/8 + p(t), 3/4 <= x <= 28
    "erfc": (lambda t: erfc_by_exp(t) - mpf("1.125"), lambda t: mpf(1), -mpf(3) / 5, mpf(25) / 31),
    # lgamma(2 + t) = t p(t), |t| <= 1/2; lgamma(x) = (x - 1/2) log x - x + log(2 pi) / 2 + p(1 / x^2) / x, x >= 8
    "lgamma": (lgamma_by_t, lambda t: 1 / lgamma_by_t(t), -mpf(1) / 2, mpf(1) / 2),
    "lgamma far": (lgamma_rest, lambda u: mpf(1) / 64, EDGE / 64, mpf(1) / 64),
    # digamma(3/2 + t) = (3/2 + t - root) p(t), |t| <= 1/2; digamma(x) = log x - 1 / (2x) - u p(u), u = 1 / x^2, x >= 8
    "digamma": (digamma_by_root, lambda t: 1 / digamma_by_root(t), -mpf(1) / 2, mpf(1) / 2),
    "digamma far": (digamma_rest, lambda u: u / 2, EDGE / 64, mpf(1) / 64),
    # m^(-1/3), which steps of Newton follow
    "cbrt": (lambda m: 1 / mpmath.cbrt(m), mpmath.cbrt, mpf("0.35355"), mpf("2.82843")),
}
STEPS_FOLLOW = {"cbrt"}


def main():
    for name in sys.argv[1:] or FUNCTIONS:
        for type_name, bits, digits in (("both", 7, 9),) if name in STEPS_FOLLOW else (("float", 28, 10), ("double", 58, 18)):
            degree = 2
            while True:
                coefficients, error = remez(*FUNCTIONS[name], degree)
                if error < mpf(2) ** -bits:
                    break
                degree += 1
            print(f"{name} {type_name}: 2^{mpmath.nstr(mpmath.log(error, 2), 4)}")
            print("  {" + ", ".join(mpmath.nstr(c, digits) for c in coefficients) + "}")


if __name__ == "__main__":
    main()
