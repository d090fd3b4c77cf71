"""JAX on the CPU, with inputs on the device and calls that wait for their results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.derivatives import TRANSFORMED
from bench.derivatives import build as build_derivative
from bench.peer import Bound, Compiled, Latency, Make, Peer, numpy_arrays
from bench.workload import Arrays, Workload


def environment(threads: int, dtype: str) -> dict[str, str]:
    settings = {
        "JAX_PLATFORMS": "cpu",
        "JAX_ENABLE_X64": "1" if dtype == "float64" else "0",
    }
    if threads == 1:
        settings["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    return settings


def load() -> Any:
    import jax
    import jax.numpy

    return jax


def load_special() -> Any:
    from jax.scipy import special

    return special


def _blocking(function: Callable[..., Any], arguments: list[Any], many: bool) -> Callable[[], Any]:
    """A call that waits for its results.

    It does not use `jax.block_until_ready`, which walks a tree in Python and so takes time that
    matters for a small function.
    """

    def call_one() -> Any:
        return function(*arguments).block_until_ready()

    def call_many() -> Any:
        results = function(*arguments)
        for result in results:
            result.block_until_ready()
        return results

    return call_many if many else call_one


def build(workload: Workload, inputs: Arrays, threads: int) -> Compiled:
    jax = load()
    function = workload.function("jax", jax, jax.numpy, load_special())
    derivative, primal = build_derivative(TRANSFORMED, jax, workload, function)
    arguments = [jax.device_put(array) for array in inputs]
    return Compiled(
        gradient=_blocking(jax.jit(derivative), arguments, many=len(workload.argnums) > 1),
        primal=_blocking(jax.jit(primal), arguments, many=False),
        arrays=numpy_arrays,
    )


def first_gradient(make: Make, x: np.ndarray) -> Any:
    jax = load()
    return jax.jit(jax.grad(make(jax.numpy, None)))(x).block_until_ready()


def again(make: Make, x: np.ndarray) -> Bound:
    jax = load()
    function, array = make(jax.numpy, None), jax.device_put(x)
    return lambda: jax.grad(function)(array).block_until_ready()


def compiled(make: Make, x: np.ndarray) -> Bound:
    jax = load()
    gradient, array = jax.jit(jax.grad(make(jax.numpy, None))), jax.device_put(x)
    return lambda: gradient(array).block_until_ready()


def passes(make: Make, x: np.ndarray, differentiated: bool) -> Bound:
    """A call that lowers to the module that XLA compiles."""
    jax = load()
    function, array = make(jax.numpy, None), jax.device_put(x)
    wanted = jax.grad(function) if differentiated else function
    return lambda: jax.jit(wanted).lower(array)


def bound_call(count: int) -> Bound:
    jax = load()
    arrays = [jax.device_put(np.ones(3)) for _ in range(count)]
    if count <= 2:
        return _blocking(jax.jit(lambda *xs: tuple(2.0 * x for x in xs)), arrays, many=True)
    tree = {f"array{i}": array for i, array in enumerate(arrays)}
    function = jax.jit(lambda t: {key: 2.0 * x for key, x in t.items()})

    def call() -> Any:
        results = function(tree)
        for result in results.values():
            result.block_until_ready()
        return results

    return call


def cached_environment(folder: str) -> dict[str, str]:
    """Settings for a cache on disk that holds small programs, too; by default JAX has no cache."""
    return {
        "JAX_COMPILATION_CACHE_DIR": folder,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


PEER = Peer(
    name="jax",
    title="JAX",
    package="jax",
    environment=environment,
    load=load,
    build=build,
    latency=Latency(first_gradient, bound_call, cached_environment, again, compiled, passes),
    load_special=load_special,
)
