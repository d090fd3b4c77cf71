"""Which ufuncs of scipy.special are not covered, and by which arguments no derivative is known.

Both are read by tests, which fail where a list and the declarations do not agree.
"""

from __future__ import annotations

#: The ufuncs that traced arrays are refused by, with the reason.
NOT_COVERED: dict[str, str] = {
    "kelvin": "complex results of real numbers: use ber, bei, ker, kei and their derivatives",
    "modfresnelm": "complex results of real numbers: use fresnel",
    "modfresnelp": "complex results of real numbers: use fresnel",
}


def refused() -> dict[str, tuple[int, ...]]:
    """Of each ufunc, the positions of the arguments by which a derivative is refused.

    >>> refused()["struve"], refused()["hyperu"]
    ((0,), (0, 1))
    """
    from autojit.ir.special.external import EXTERNALS, unknown

    return {
        f.function: tuple(i for i, rule in enumerate(f.rules) if rule is unknown)
        for f in EXTERNALS.values()
        if not f.loop and unknown in f.rules
    }
