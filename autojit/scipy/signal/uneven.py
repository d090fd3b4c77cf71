"""The periodogram of unevenly spaced samples, as in ``scipy.signal``."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.scipy.arguments import floating, refused
from autojit.scipy.registry import answers


@answers("scipy.signal.lombscargle")
def lombscargle(
    x: Any, y: Any, freqs: Any, *, precenter: Any = None, normalize: Any = False,
    weights: Any = None, floating_mean: bool = False,
) -> Any:  # fmt: skip
    """The periodogram of samples y at unevenly spaced times x.

    Zechmeister and Kuerster, "The generalised Lomb-Scargle periodogram", Astron. Astrophys. 496
    (2009), 577-584. ``precenter`` is refused because it is deprecated.

    >>> from autojit import grad
    >>> from autojit.scipy.signal import lombscargle
    >>> t = np.array([0.0, 0.5, 1.1, 2.0])
    >>> round(float(grad(lambda a: lombscargle(t, a * np.sin(3 * t), [3.0])[0])(1.0)), 6)
    1.097953
    """
    if precenter is not None:
        raise refused("scipy.signal.lombscargle", "precenter= is deprecated; write\n"
                      "    lombscargle(x, y - y.mean(), freqs)")  # fmt: skip
    kind = {False: "power", True: "normalize"}.get(normalize, normalize)
    if kind not in ("power", "normalize", "amplitude"):
        raise ValueError("Normalize must be: False (or 'power'), True (or 'normalize'), or "
                         "'amplitude'.")  # fmt: skip
    t, y, w = floating(x), floating(y), floating(freqs)
    given = np.ones(y.shape[0]) if weights is None else floating(weights)
    share = given / np.sum(given)
    angles = w[:, None] * t
    cosine, sine = np.cos(angles), np.sin(angles)
    cs, cc = _moments(cosine, sine, share, floating_mean)
    ss = _moments(sine, sine, share, floating_mean)[0] if floating_mean else 1.0 - cc
    tau = 0.5 * np.arctan2(2.0 * cs, cc - ss)
    cosine, sine = np.cos(angles - tau[:, None]), np.sin(angles - tau[:, None])
    mean = share @ y if floating_mean else 0.0
    yc, ys = ((f * share) @ y - mean * (f @ share) for f in (cosine, sine))
    cc = _moments(cosine, cosine, share, floating_mean)[0]
    ss = _moments(sine, sine, share, floating_mean)[0]
    least = np.finfo(float).epsneg
    a, b = yc / np.maximum(cc, least), ys / np.maximum(ss, least)
    if kind == "amplitude":
        return (a + 1j * b) * np.exp(1j * tau)
    power = 2.0 * (a * yc + b * ys)
    if kind == "power":
        return power * (t.shape[0] / 4.0)
    return power * (0.5 / (share @ y**2 - mean**2))


def _moments(f: Any, g: Any, share: Any, centered: bool) -> tuple[Any, Any]:
    """The weighted means of f g and of f f; if centered, minus the products of the means."""
    fg, ff = (f * g) @ share, (f * f) @ share
    if centered:
        mean = f @ share
        return fg - mean * (g @ share), ff - mean * mean
    return fg, ff
