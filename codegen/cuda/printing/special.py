"""Functions of scipy.special on a GPU: some from NVIDIA's libdevice, and digamma (``psi``).

They compute in float64 even for float32 operands, as SciPy does.  They are as accurate as CUDA's
mathematical library: a few units in the last place.

``gammaln(-inf)`` is ``-inf``, as in SciPy.  The Bessel functions of libdevice are left out, because
their errors reach 1e-12.

``psi(x)`` is ``psi(x + n) - 1/x - ... - 1/(x + n - 1)`` with ``x + n >= 10``, for which the
asymptotic series has eight terms (Abramowitz and Stegun, 6.3.18).  Below 0 it is ``psi(1 - x)``
minus ``pi / tan(pi x)`` (6.3.7).  The error is 1e-15 of the largest term, so near roots it has
fewer correct digits than SciPy's.
"""

from __future__ import annotations

#: The names in libdevice, by the names in SciPy.
_LIBDEVICE = {
    "erfcinv": "erfcinv", "erfcx": "erfcx", "erfinv": "erfinv", "exp10": "exp10",
    "gamma": "tgamma", "ndtri": "normcdfinv",
}  # fmt: skip

_CALL = """
def $name(x):
    return libdevice.$called(x)
"""
_GAMMALN = """
def $name(x):
    return x if x == -math.inf else libdevice.lgamma(x)
"""
_PSI = """
def $name(x):
    if x == 0.0:
        return math.copysign(math.inf, -x)
    rest = 0.0
    if x < 0.0:
        whole = libdevice.rint(x)
        if whole == x:
            return math.nan
        rest = -math.pi / math.tan(math.pi * (x - whole))
        x = 1.0 - x
    while x < 10.0:
        rest -= 1.0 / x
        x += 1.0
    y = 1.0 / (x * x)
    series = 691.0 / 32760.0 - y / 12.0
    series = 1.0 / 240.0 - y * (5.0 / 660.0 - y * series)
    series = 1.0 / 12.0 - y * (1.0 / 120.0 - y * (1.0 / 252.0 - y * series))
    return math.log(x) - 0.5 / x - y * series + rest
"""

#: The texts of functions by their names in SciPy, for float64.
TEXTS: dict[str, str] = {
    **{name: _CALL.replace("$called", called) for name, called in _LIBDEVICE.items()},
    "gammaln": _GAMMALN,
    "psi": _PSI,
}
