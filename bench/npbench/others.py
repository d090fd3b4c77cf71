"""NPBench's versions for JAX and DaCe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.npbench.kernels import Kernel, as_list, is_array


def load_jax() -> Any:
    """JAX with 64-bit types, as NPBench sets it."""
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax


def jax_function(kernel: Kernel, arguments: list[Any], static: tuple[int, ...]) -> Any:
    """JAX's version as a function of the arguments that are not static."""
    function = kernel.plain("jax")

    def run(*moving: Any) -> list[Any]:
        rest = iter(moving)
        given = [a if k in static else next(rest) for k, a in enumerate(arguments)]
        return as_list(function(*given))

    return run


def dace_call(
    kernel: Kernel, preset: str, arguments: list[Any], written: list[int]
) -> Callable[[], list[Any]]:
    """DaCe's version with its automatic optimisation for the CPU, compiled, for these arguments.

    Each call gets copies of the arrays, as those of the other libraries do.
    """
    import dace
    from dace.transformation.auto.auto_optimize import auto_optimize

    graph = kernel.plain("dace").to_sdfg(simplify=True)
    auto_optimize(graph, dace.DeviceType.CPU)
    compiled = graph.compile()
    named = dict(zip(kernel.inputs, arguments, strict=True))
    wanted = graph.arglist()
    given = {**kernel.description["parameters"][preset], **named}
    given = {name: x for name, x in given.items() if name in wanted}

    def call() -> list[Any]:
        copies = {name: x.copy() if is_array(x) else x for name, x in given.items()}
        returned = as_list(compiled(**copies))
        return returned + [copies[kernel.inputs[k]] for k in written]

    return call


def matching(found: list[Any], wanted: list[Any], error: Callable[[Any, Any], float]) -> list[int]:
    """The places of those results that are among the wanted ones, in any order.

    JAX's versions return some of the arrays that the others write to, in an order of their own.
    """
    left = list(map(np.asarray, wanted))
    places = []
    for place, result in enumerate(map(np.asarray, found)):
        for k, each in enumerate(left):
            if each.shape == result.shape and error(result, each) <= 1:
                places.append(place)
                del left[k]
                break
    return places
