"""Bad arguments of SciPy's functions of traced arrays: SciPy's errors, with the function's name."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.spatial.distance
import scipy.special
import scipy.stats

from autojit import grad, jit

V, A = np.array([0.3, 0.5, 0.7]), np.array([[4.0, 1.0], [1.0, 3.0]])

#: The call, the class of the error, and words in it.
CASES: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "no method": (lambda v: scipy.spatial.distance.pdist(v, metric=3), TypeError, "metric must be"),
    "unknown name": (lambda v: scipy.linalg.inv(v, wrong=1), TypeError, "an unexpected keyword"),
    "text for a number": (lambda v: scipy.signal.resample(v, None), TypeError, "signal.resample: "),
    "None for a number": (lambda v: scipy.stats.norm.cdf(v, None), TypeError, "not None"),
    "None for an array": (lambda v: np.add(v, None), TypeError, "arrays of objects from None"),
    "None as an order": (lambda v: scipy.special.polygamma(None, v), TypeError, "not None"),
    "axis": (lambda v: scipy.fft.fft(v, axis="a").real, Exception, "scipy.fft.fft"),
    "order": (lambda v: scipy.ndimage.shift(v, 1.0, order={}), TypeError, "ndimage.shift: '<'"),
    "solver": (
        lambda v: scipy.optimize.minimize(lambda x: np.sum((x - v) ** 2), v, method="bgfs").x,
        ValueError, "unknown solver 'bgfs'. Did you mean bfgs?",
    ),
    "system": (
        lambda v: scipy.optimize.root(lambda x: x - v, v, method="newton").x,
        ValueError, "unknown solver 'newton'.*\n.*hybr",
    ),
    "few points": (lambda v: scipy.interpolate.make_interp_spline(V, v)(0.5), ValueError,
                   r"The number of derivatives at boundaries does not match: expected 1, got 0\+0"),
    "more values than points": (lambda v: scipy.interpolate.make_interp_spline(V[:2], v, 1)(0.5),
                                ValueError, r"Shapes of x \(2,\) and y \(3,\) are incompatible"),
    "few points of FITPACK": (lambda v: scipy.interpolate.splrep(V, v)[1], TypeError,
                              "m > k must hold"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_error_is_scipys_and_names_the_function(name: str) -> None:
    call, kind, words = CASES[name]
    with pytest.raises(kind, match=words) as caught:
        jit(lambda v: np.sum(call(v)))(A if name in ("no method", "unknown name") else V)
    assert re.search(r'File "|Cell', str(caught.value))  # the user's line


def test_errors_of_the_users_functions_stay_theirs() -> None:
    def f(x: Any) -> Any:
        return {}["key"] * x

    with pytest.raises(KeyError, match="key"):
        grad(lambda v: scipy.optimize.minimize(lambda x: np.sum(f(x) * v), v).fun)(V)
