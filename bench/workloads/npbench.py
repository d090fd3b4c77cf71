"""Shared code for the files with NPBench's kernels.

NPBench (A. N. Ziogas, T. Ben-Nun, T. Schneider, T. Hoefler, "NPBench: a benchmarking suite for
high-performance NumPy", ICS 2021) has 52 kernels; many come from PolyBench/C. Here they are
differentiated: the loss is the sum of a kernel's outputs, its gradient is by one input, and sizes
are those of NPBench's preset S. The dtype is float64. Where the sum is constant (softmax), the loss
is the sum of squares. The inputs are random.

The sum has the cotangent 1 everywhere, so if a kernel is linear in the input, its gradient is
cheaper than the kernel: by hand, matrix products become products with vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy

from bench.workload import Arrays, Function, Limit, Workload, not_written

NO_ASSIGNMENT = not_written("autograd's arrays take no assignment")


def uniform(*shapes: tuple[int, ...]) -> Callable[[], Arrays]:
    """A function that makes arrays of these shapes with numbers between 0 and 1."""

    def inputs() -> Arrays:
        rng = numpy.random.default_rng(0)
        return tuple(rng.uniform(0.0, 1.0, shape) for shape in shapes)

    return inputs


def same_text(primal: Callable[[Any, Any], Function]) -> Callable[[Any], Function]:
    """A version for a library whose functions have NumPy's names."""
    return lambda library: primal(library, None)


def kernel(
    name: str,
    derivative_of: str,
    inputs: Callable[[], Arrays],
    primal: Callable[[Any, Any], Function],
    gradient: Callable[[Any], Function],
    limit: Limit,
    argnum: int = 0,
    versions: Mapping[str, Callable[[Any], Any]] | None = None,
) -> Workload:
    """A row: the common text, its gradient by hand in NumPy, and other versions."""
    return Workload(
        name=f"npb_{name}",
        derivative_of=derivative_of,
        dtype="float64",
        target=1.0,
        inputs=inputs,
        argnums=(argnum,),
        primal=primal,
        versions={"numpy": gradient, **(versions or {})},
        limit=limit,
    )
