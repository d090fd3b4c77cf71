"""SciPy's names in autojit's packages."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
import scipy.special
import scipy.stats

from autojit import grad, jit


def test_names_take_traced_and_known_arrays() -> None:
    special: Any = importlib.import_module("autojit.scipy.special")
    stats: Any = importlib.import_module("autojit.scipy.stats")

    names = {"special": special, "stats": stats, "np": np}
    text = "lambda x: special.gammaln(x) + stats.gamma.logpdf(x, 3) + stats.gmean(np.array([x, 2]))"
    f = eval(text, names)  # a function without source
    wanted = scipy.special.digamma(2.5) + 2 / 2.5 - 1 + np.sqrt(2 / 2.5) / 2
    for gradient in (grad(f), jit(grad(f))):
        np.testing.assert_allclose(gradient(2.5), wanted, rtol=1e-12)
    assert special.erf is scipy.special.erf
    assert stats.norm is scipy.stats.norm
    assert stats.skew([1.0, 2.0, 4.0]) == scipy.stats.skew([1.0, 2.0, 4.0])
    assert {"norm", "skew", "poisson", "multivariate_normal"} <= set(dir(stats))
    assert {"erf", "logsumexp"} <= set(dir(special))


@pytest.mark.parametrize(("package", "name"), [("stats", "bootstrap"), ("special", "lqn")])
def test_names_that_are_not_covered_say_so(package: str, name: str) -> None:
    module = importlib.import_module(f"autojit.scipy.{package}")
    assert name not in dir(module)
    with pytest.raises(AttributeError, match=f"from scipy.{package} import {name}"):
        getattr(module, name)
    with pytest.raises(AttributeError, match=f"'autojit.scipy.{package}' has no attribute 'nams'"):
        module.nams  # noqa: B018
