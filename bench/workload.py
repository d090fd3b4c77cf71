"""A workload: a function, its seeded inputs, and its text for each library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Arrays = tuple[np.ndarray, ...]
Function = Callable[..., Any]

# The tolerance is normwise: summation order differs between libraries, so the rounding error of an
# element scales with the array's largest entry rather than with the element itself.
TOLERANCE = {"float64": 1e-10, "float32": 1e-4}


class NotWritten(Exception):
    """The workload has no version for this peer."""


@dataclass(frozen=True)
class Limit:
    """The work that no implementation can avoid: traffic, arithmetic, matrix products, waiting.

    `bytes_moved` counts inputs read once and results written once. `flops` counts additions and
    multiplications of the cheapest known formula. `gemms` lists the (m, k, n) of the products.
    `chain` counts the operations of a recurrence in which each waits for the previous one; a
    multiply-add, a division, a root or an exponential counts as one.
    """

    bytes_moved: int = 0
    flops: int = 0
    chain: int = 0
    gemms: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True)
class Workload:
    """A function, with the derivative with respect to `argnums` that is timed.

    `derivative` names it, and thereby the meaning of the inputs; the function is scalar except for
    the Jacobians:

    - "gradient" and "hessian": the inputs are the function's arguments,
    - "hvp", the product of the Hessian with a direction: the arguments, then the direction,
    - "per_example", a gradient for each example: the function is that of one example; the inputs at
      the positions `mapped` hold one example in each row, and so do the results,
    - "jacobian", of an array with respect to fewer arguments, in forward mode: as for "gradient",
    - "per_example_jacobian", of a few results with respect to more arguments, in reverse mode: as
      for "per_example".

    `primal(np, special)` makes the function from an array namespace and its companion of
    `scipy.special`, so that NumPy, autojit, autograd and JAX all run the same text. `versions`
    holds a factory for each peer that needs its own text; it is called with the peer's library:

    - "numba": `factory(numba) -> (primal, derivative)`, both functions of all inputs, derived and
      fused by hand,
    - "numpy": `factory(np) -> derivative`, derived by hand; the reference of the comparison,
    - "torch", "pytensor" (called with `pytensor.tensor`): `factory(library) -> primal`,
    - "jax", "autojit", "autograd": likewise, only if `primal` is not their idiom,
    - "torch_compile": likewise, only if the text of "torch" does not suit it,
    - "dace": `factory(dace) -> (function, stages)`, a program in DaCe's Python, which may assign to
      its arguments, and the graphs to which DaCe's automatic optimisation is applied: the "forward"
      graph before differentiation, the "whole" graph, both or neither.

    If a library has no reasonable way, its version is `not_written(words)`.

    `target` is the ratio of JAX's time to ours that we aim for.
    """

    name: str
    derivative_of: str
    dtype: str
    target: float | None
    inputs: Callable[[], Arrays]
    argnums: tuple[int, ...]
    primal: Callable[[Any, Any], Function]
    versions: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    limit: Limit = Limit()
    derivative: str = "gradient"
    mapped: tuple[int, ...] = ()

    def version(self, peer: str, library: Any) -> Any:
        if peer not in self.versions:
            raise NotWritten("it has no version of its own")
        return self.versions[peer](library)

    def function(self, peer: str, library: Any, np: Any, special: Any) -> Function:
        """The peer's own text if there is one, else the common text in its namespaces."""
        if peer in self.versions:
            return self.versions[peer](library)
        return self.primal(np, special)

    def reference(self, inputs: Arrays) -> Arrays:
        return as_tuple(self.version("numpy", np)(*inputs))


def not_written(words: str) -> Callable[[Any], Any]:
    """A factory for `Workload.versions` that raises NotWritten with the reason."""

    def factory(library: Any) -> Any:
        raise NotWritten(words)

    return factory


def as_tuple(result: Any) -> tuple[Any, ...]:
    """The derivatives as a tuple; libraries return one for a single argument without a tuple."""
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def disagreement(got: Arrays, expected: Arrays, dtype: str) -> str | None:
    """Describe the difference of a gradient from the reference; None if they agree."""
    if len(got) != len(expected):
        return f"{len(got)} gradients, expected {len(expected)}"
    for position, (a, b) in enumerate(zip(got, expected, strict=True)):
        if a.shape != np.shape(b):
            return f"gradient {position} has shape {a.shape}, expected {np.shape(b)}"
        if a.dtype != np.dtype(dtype):
            return f"gradient {position} is {a.dtype}, expected {dtype}"
        scale = max(float(np.max(np.abs(b))), float(np.finfo(dtype).tiny))
        error = float(np.max(np.abs(a - b))) / scale
        if not error <= TOLERANCE[dtype]:  # also true of NaN
            return f"gradient {position} is off by {error:.1e} of its largest entry"
    return None
