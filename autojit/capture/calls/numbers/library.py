"""Functions on whole numbers in Python, captured like functions of the user's.

Their numbers stay within 64 bits wherever the result does.
"""

from __future__ import annotations

import math
from typing import Any


def gcd(*numbers: Any) -> Any:
    """``math.gcd``, by Euclid's algorithm."""
    a: Any = 0
    for number in numbers:
        b = abs(number)
        while b:
            a, b = b, a % b
    return a


def lcm(*numbers: Any) -> Any:
    """``math.lcm``."""
    a: Any = 1
    for number in numbers:
        a = abs(a // gcd(a, number) * number) if a and number else 0
    return a


def factorial(n: Any) -> Any:
    """``math.factorial``; 21! exceeds 64 bits."""
    if n < 0:
        raise ValueError("factorial() not defined for negative values")
    result = 1
    for factor in range(2, min(n, 21) + 1):
        result *= factor
    return result


def perm(n: Any, k: Any = None) -> Any:
    """``math.perm``; a product of 21 factors exceeds 64 bits."""
    if k is None:
        return factorial(n)
    if n < 0:
        raise ValueError("n must be a non-negative integer")
    if k < 0:
        raise ValueError("k must be a non-negative integer")
    result = 1 if k <= n else 0
    for i in range(min(k, n, 21)):
        result *= n - i if k <= n else 1
    return result


def comb(n: Any, k: Any) -> Any:
    """``math.comb``: the numbers of Pascal's triangle up to it, which grow. From the 64th place,
    they exceed 64 bits."""
    if n < 0:
        raise ValueError("n must be a non-negative integer")
    if k < 0:
        raise ValueError("k must be a non-negative integer")
    result = 1 if k <= n else 0
    for i in range(min(k, n - k, 64)):
        common = gcd(result, i + 1)
        result = result // common * ((n - i) // ((i + 1) // common))
    return result


def isqrt(n: Any) -> Any:
    """``math.isqrt``: the root of the nearest float, which is wrong by 1 at most."""
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    root = int(math.sqrt(n))
    if root > 0 and root > n // max(root, 1):
        root -= 1
    if root + 1 <= n // (root + 1):
        root += 1
    return root


def power(base: Any, exp: Any, mod: Any) -> Any:
    """``pow(base, exp, mod)``, by squares."""
    if mod == 0:
        raise ValueError("pow() 3rd argument cannot be 0")
    size = abs(mod)
    base = base % size
    if exp < 0:
        base = inverse(base, size)
        exp = -exp
    found = 1 % size
    while exp > 0:
        if exp % 2 == 1:
            found = product(found, base, size)
        exp = exp // 2
        if exp > 0:
            base = product(base, base, size)
    if mod < 0 and found > 0:
        found += mod
    return found


def product(a: Any, b: Any, mod: Any) -> Any:
    """``a * b % mod``, where ``0 <= a, b < mod``. If 64 bits might not hold the product, b is added
    for each bit of a."""
    if mod <= 3037000500:
        return a * b % mod
    found = 0
    while a > 0:
        if a % 2 == 1:
            found = found - (mod - b) if found >= mod - b else found + b
        a = a // 2
        b = b - (mod - b) if b >= mod - b else b + b
    return found


def inverse(a: Any, mod: Any) -> Any:
    """The inverse of a modulo ``mod``, by Euclid's extended algorithm."""
    rest, factor = mod, 0
    found = 1
    while a > 0:
        times = rest // a
        rest, a = a, rest - times * a
        factor, found = found, factor - times * found
    if rest != 1:
        raise ValueError("base is not invertible for the given modulus")
    return factor % mod


def rounded(n: Any, digits: Any) -> Any:
    """``round(n, digits)`` of an integer, half to even."""
    if digits >= 0:
        return n
    if digits < -19:
        return 0
    if digits == -19:  # all multiples but 0 exceed 64 bits
        up = 1 if n > 5 * 10**18 else -1 if n < -5 * 10**18 else 0
        return up * 10**18 * 10
    ten = 10 ** min(-digits, 18)
    quotient = n // ten
    rest = n - quotient * ten
    if rest > ten - rest or (rest == ten - rest and quotient % 2 == 1):
        quotient += 1
    return quotient * ten


WHOLE = {
    math.comb: comb, math.factorial: factorial, math.gcd: gcd, math.isqrt: isqrt, math.lcm: lcm,
    math.perm: perm,
}  # fmt: skip
