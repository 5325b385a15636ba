# SPDX-License-Identifier: Apache-2.0
"""Float formats with exact arithmetic: numbers are fractions, rounding happens once, by integers.

A decoded float is NAN, or (sign, Fraction) with sign 0 or 1, or (sign, INF)."""

from fractions import Fraction
from math import isqrt

NAN = "nan"
INF = "inf"


class Format:
    """exponent and fraction bits; `top`: the greatest finite code when there is no infinity."""

    def __init__(self, exponent, fraction, nan, top=None):
        self.exponent, self.fraction, self.nan, self.top = exponent, fraction, nan, top
        self.bits = 1 + exponent + fraction
        self.bias = (1 << (exponent - 1)) - 1
        self.infinity = ((1 << exponent) - 1) << fraction
        self.sign = 1 << (self.bits - 1)

    def decode(self, code):
        sign = code >> (self.bits - 1) & 1
        size = code & (self.sign - 1)
        e, m = size >> self.fraction, size & ((1 << self.fraction) - 1)
        if self.top is None and e == (1 << self.exponent) - 1:
            return NAN if m else (sign, INF)
        if self.top is not None and size > self.top:
            return NAN
        if e:
            m |= 1 << self.fraction
        return (sign, Fraction(m) * Fraction(2) ** (max(e, 1) - self.bias - self.fraction))

    def encode(self, value, rounding="n", finite=False):
        """rounding: n to even, a to nearest with ties away, z, m (down), p (up)."""
        if value == NAN:
            return self.nan
        sign, size = value
        if size == INF:
            code = self.top if self.top is not None else self.infinity - 1 if finite else self.infinity
            return sign * self.sign | code
        if size == 0:
            return sign * self.sign
        e = exponent_of(size)
        e = max(e, 1 - self.bias)
        units = size / Fraction(2) ** (e - self.fraction)
        whole, rest = units.numerator // units.denominator, units - units.numerator // units.denominator
        half = Fraction(1, 2)
        up = {"n": rest > half or (rest == half and whole & 1), "a": rest >= half, "z": False,
              "m": bool(sign) and rest > 0, "p": not sign and rest > 0}[rounding]
        code = whole + up + ((e + self.bias - 1) << self.fraction)
        limit = self.infinity - 1 if self.top is None else self.top
        if code > limit:
            to_infinity = rounding in "na" or (rounding == "m" and sign) or (rounding == "p" and not sign)
            code = self.infinity if to_infinity and self.top is None and not finite else limit
        return sign * self.sign | code


def exponent_of(size):
    """The e with 2^e <= size < 2^(e+1)."""
    e = size.numerator.bit_length() - size.denominator.bit_length()
    return e if Fraction(2) ** e <= size else e - 1


F16 = Format(5, 10, 0x7FFF)
BF16 = Format(8, 7, 0x7FFF)
F32 = Format(8, 23, 0x7FFFFFFF)
F64 = Format(11, 52, 0x7FF8000000000000)
E4M3 = Format(4, 3, 0x7F, 0x7E)
E5M2 = Format(5, 2, 0x7F, 0x7B)
E2M1 = Format(2, 1, 0x07, 0x07)
E2M3 = Format(2, 3, 0x1F, 0x1F)
E3M2 = Format(3, 2, 0x1F, 0x1F)


def signed(value, if_zero=0):
    """A decoded float of an exact number."""
    return (1, -value) if value < 0 else (0, value) if value > 0 else (if_zero, Fraction(0))


def number(x):
    return -x[1] if x[0] else x[1]


def negate(x):
    return x if x == NAN else (1 - x[0], x[1])


def add(a, b, rounding="n"):
    if a == NAN or b == NAN:
        return NAN
    if INF in (a[1], b[1]):
        if a[1] == b[1]:
            return a if a[0] == b[0] else NAN
        return a if a[1] == INF else b
    both = a[0] if a[0] == b[0] and a[1] == b[1] == 0 else int(rounding == "m")
    return signed(number(a) + number(b), both)


def multiply(a, b):
    if a == NAN or b == NAN:
        return NAN
    sign = a[0] ^ b[0]
    if INF in (a[1], b[1]):
        return NAN if 0 in (a[1], b[1]) else (sign, INF)
    return (sign, a[1] * b[1])


def divide(a, b):
    if a == NAN or b == NAN:
        return NAN
    sign = a[0] ^ b[0]
    if a[1] == INF:
        return NAN if b[1] == INF else (sign, INF)
    if b[1] == INF:
        return (sign, Fraction(0))
    if b[1] == 0:
        return NAN if a[1] == 0 else (sign, INF)
    return (sign, a[1] / b[1])


def root(a):
    """Exact, or with a last bit that only says that there is more."""
    if a == NAN or (a[0] and a[1] != 0):
        return NAN
    if a[1] in (0, INF):
        return a
    shift = 700 + (exponent_of(a[1]) & 1)
    scaled = a[1] * Fraction(2) ** (2 * shift)
    whole = scaled.numerator // scaled.denominator
    low = isqrt(whole)
    more = low * low != whole or whole != scaled
    return (0, Fraction(2 * low + more) / Fraction(2) ** (shift + 1))


def compare(a, b):
    """-1, 0, 1, or None when one is NaN."""
    if a == NAN or b == NAN:
        return None
    big = Fraction(2) ** 3000
    x = big if a[1] == INF else a[1]
    y = big if b[1] == INF else b[1]
    x, y = (-x if a[0] else x), (-y if b[0] else y)
    return (x > y) - (x < y)


def extreme(a, b, least, nan_wins=False):
    """min or max: NaN loses unless asked for; -0 is less than +0."""
    if a == NAN or b == NAN:
        return NAN if nan_wins or a == b else b if a == NAN else a
    order = compare(a, b)
    if order == 0:
        return a if (a[0] == 1) == least else b
    return a if (order < 0) == least else b


def flush(form, code):
    """A subnormal becomes zero of its sign."""
    return code & form.sign if not code & form.infinity else code


def to_unit(x):
    """.sat: into [0, 1], NaN to 0."""
    if x == NAN or x[0]:
        return (0, Fraction(0))
    return (0, Fraction(1)) if x[1] == INF or x[1] > 1 else x


def to_integral(x, rounding):
    """An integral number of the same sign; x is finite."""
    size = x[1]
    whole, rest = size.numerator // size.denominator, size - size.numerator // size.denominator
    half = Fraction(1, 2)
    up = {"n": rest > half or (rest == half and whole & 1), "z": False, "m": bool(x[0]) and rest > 0,
          "p": not x[0] and rest > 0}[rounding]
    return (x[0], Fraction(whole + up))
