"""The ufuncs of scipy.special that are not covered, and the arguments without a derivative.

Tests read both, and fail if a list does not agree with the declarations.
"""

from __future__ import annotations

#: The ufuncs that refuse traced arrays, with the reason.
NOT_COVERED: dict[str, str] = {
    "kelvin": "complex results of real numbers: use ber, bei, ker, kei and their derivatives",
    "modfresnelm": "complex results of real numbers: use fresnel",
    "modfresnelp": "complex results of real numbers: use fresnel",
}


def refused() -> dict[str, tuple[int, ...]]:
    """For each ufunc, the positions of the arguments by which a derivative is refused.

    >>> refused()["struve"], refused()["wright_bessel"]
    ((0,), (0, 1))
    """
    from autojit.ir.special.external import EXTERNALS, unknown

    return {
        f.function: tuple(i for i, rule in enumerate(f.rules) if rule is unknown)
        for f in EXTERNALS.values()
        if not f.loop and unknown in f.rules
    }
