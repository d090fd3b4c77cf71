"""The derivatives that workloads may ask for, built by libraries with function transformations.

JAX, autojit and `torch.func` share the names and the argument order of `grad`, `hessian`, `jacfwd`,
`jacrev`, `jvp` and `vmap`, so one text serves the three. A library with other names has its own
table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bench.workload import Function, NotWritten, Workload

Build = Callable[[Any, Workload, Function], tuple[Function, Function]]


def argnums_of(workload: Workload) -> int | tuple[int, ...]:
    """The argnums of a workload; a single one is a number, so that no library pays for a tuple."""
    return workload.argnums[0] if len(workload.argnums) == 1 else workload.argnums


def build(table: Mapping[str, Build], library: Any, workload: Workload, function: Function) -> Any:
    """The derivative and the primal of a workload, both functions of all its inputs."""
    if workload.derivative not in table:
        raise NotWritten(f"no {workload.derivative} from this library")
    return table[workload.derivative](library, workload, function)


def primal_of(workload: Workload, function: Function) -> Function:
    """The differentiated function as a plain Python function of all the workload's inputs."""

    def each_example(*inputs: Any) -> list[Any]:
        count = len(inputs[workload.mapped[0]])
        return [function(*one_example(workload, inputs, i)) for i in range(count)]

    if workload.derivative in ("per_example", "per_example_jacobian"):
        return each_example
    if workload.derivative == "hvp":
        return lambda *inputs: function(*inputs[:-1])
    return function


def one_example(workload: Workload, inputs: tuple[Any, ...], i: int) -> list[Any]:
    return [a[i] if position in workload.mapped else a for position, a in enumerate(inputs)]


def mapped_axes(workload: Workload) -> tuple[int | None, ...]:
    return tuple(0 if i in workload.mapped else None for i in range(len(workload.inputs())))


def gradient(library: Any, workload: Workload, function: Function) -> tuple[Function, Function]:
    return library.grad(function, argnums_of(workload)), function


def hessian(library: Any, workload: Workload, function: Function) -> tuple[Function, Function]:
    return library.hessian(function, argnums_of(workload)), function


def hvp(library: Any, workload: Workload, function: Function) -> tuple[Function, Function]:
    """Build the derivative of the gradient along the last input: forward over reverse mode."""
    (at,) = workload.argnums

    def product(*inputs: Any) -> Any:
        *point, direction = inputs

        def gradient_at(x: Any) -> Any:
            return library.grad(function, at)(*point[:at], x, *point[at + 1 :])

        return library.jvp(gradient_at, (point[at],), (direction,))[1]

    return product, primal_of(workload, function)


def per_example(library: Any, workload: Workload, function: Function) -> tuple[Function, Function]:
    axes = mapped_axes(workload)
    mapped = library.vmap(library.grad(function, argnums_of(workload)), axes)
    return mapped, library.vmap(function, axes)


def jacobian(library: Any, workload: Workload, function: Function) -> tuple[Function, Function]:
    """Build a Jacobian in forward mode, for a function with fewer arguments than results."""
    return library.jacfwd(function, argnums_of(workload)), function


def per_example_jacobian(
    library: Any, workload: Workload, function: Function
) -> tuple[Function, Function]:
    """Build Jacobians in reverse mode, for a function with fewer results than arguments."""
    axes = mapped_axes(workload)
    mapped = library.vmap(library.jacrev(function, argnums_of(workload)), axes)
    return mapped, library.vmap(function, axes)


TRANSFORMED: Mapping[str, Build] = {
    "gradient": gradient,
    "hessian": hessian,
    "hvp": hvp,
    "per_example": per_example,
    "jacobian": jacobian,
    "per_example_jacobian": per_example_jacobian,
}
