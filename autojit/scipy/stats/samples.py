"""Draws from distributions with traced parameters, by a generator whose numbers are known.

The numbers are SciPy's own. A draw is ``loc + scale * z``, which gives the derivatives by location
and scale. The derivative by a shape parameter is that of the quantile at the level of the draw
(Figurnov, Mohamed and Mnih, "Implicit Reparameterization Gradients", 2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.callbacks.pure import pure_callback
from autojit.errors import FrozenRandomError, with_place
from autojit.scipy.arguments import known
from autojit.scipy.registry import original
from autojit.solvers.implicit import custom_root
from autojit.tracing.context import current_trace, is_kept
from autojit.tracing.created_arrays import is_traced
from autojit.tracing.source import user_source
from autojit.transformations.derivatives import stop_gradient

from .families.conditions import Uncovered
from .families.family import Family
from .methods import cdf_of
from .standardized import Standardized


def check_seed(name: str, seed: Any) -> Any:
    """The seed or the generator; raise an error if its draws would become constants."""
    seed = known(seed, "random_state", f"scipy.stats.{name}.rvs")
    trace = current_trace()
    own = trace is not None and any(seed is made for made in trace.generators)
    if isinstance(seed, (int, np.integer)) or own or not is_kept():
        return seed
    raise FrozenRandomError(
        with_place(
            f"the numbers that scipy.stats.{name}.rvs draws would become constants of the traced "
            "function. Draw standard numbers outside, and pass them as an argument:\n"
            "    noise = rng.standard_normal(n)\n"
            "    jit(f)(mu, sigma, noise)           # in f: mu + sigma * noise, or ppf(noise)\n"
            "With a seed, each call draws the same numbers, as in plain SciPy:\n"
            f"    {name}.rvs(…, random_state=0)",
            user_source(),
        )
    )


def drawn(distribution: Any, size: Any, seed: Any, *args: Any, **kwargs: Any) -> Any:
    """SciPy's own draws."""
    return original("scipy.stats.rv_continuous.rvs")(
        distribution, *args, size=size, random_state=seed, **kwargs
    )


def samples(
    distribution: Any, family: Family, size: Any, seed: Any, parameters: tuple[Any, Any, Any]
) -> Any:
    """Draws for shape parameters, a location and a scale, some of them traced.

    >>> from autojit import grad
    >>> from scipy.stats import norm
    >>> grad(lambda scale: norm.rvs(0.0, scale, random_state=0))(2.0) == norm.rvs(random_state=0)
    np.True_
    """
    shapes, loc, scale = parameters
    s = Standardized(family, None, shapes, loc, scale)
    if size is not None:
        wanted = known(size, "size", f"scipy.stats.{family.name}.rvs")
        size = (int(wanted),) if np.ndim(wanted) == 0 else tuple(int(n) for n in wanted)
        if not _fits(s.result_shape, size):
            raise ValueError(
                f"size {size} does not match the broadcast shape of the parameters, "
                f"which is {s.result_shape}"
            )
        s.result_shape = size
    if is_traced(shapes):
        return s.scaled(_of_shapes(distribution, family, seed, s))
    z = drawn(distribution, s.result_shape, seed, *shapes, discrete=family.is_discrete)
    return s.scaled(np.asarray(z, float))


def _fits(shape: tuple[int, ...], size: tuple[int, ...]) -> bool:
    """Whether parameters of this shape broadcast to a size."""
    last = size[len(size) - len(shape) :]
    return len(shape) <= len(size) and all(m in (1, n) for m, n in zip(shape, last, strict=True))


def _of_shapes(distribution: Any, family: Family, seed: Any, s: Standardized) -> Any:
    if family.is_discrete or not isinstance(seed, (int, np.integer)):
        raise Uncovered
    cdf, shape, shapes = cdf_of(family), s.result_shape, s.shapes
    still: Sequence[Any] = [stop_gradient(x) for x in shapes]

    def draw(*values: Any) -> Any:
        return np.asarray(drawn(distribution, shape, seed, *values), float)

    z = pure_callback(draw, np.zeros(shape), *still, vmap_method="sequential")
    level = stop_gradient(cdf(z, *still))
    return custom_root(
        lambda x: cdf(x, *shapes) - level, z, lambda f, x: x, lambda g, y: y / g(np.ones(shape))
    )
