"""Compares derivatives with finite differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from autojit.torch.engine import dtypes
from autojit.torch.engine.gradients import grad
from autojit.torch.engine.recording import wrap
from autojit.torch.engine.tensor import Tensor
from autojit.torch.functions.factories import randn


class GradcheckError(RuntimeError):
    """A derivative differs from the finite differences."""


def _listed(x: Any) -> list[Tensor]:
    return [t for t in (x if isinstance(x, (tuple, list)) else (x,)) if isinstance(t, Tensor)]


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    **_: Any,
) -> bool:
    """Whether the derivatives of a function agree with central differences.

    Args:
        func: a function of tensors.
        inputs: its arguments, in double precision.
        eps: the step of the differences.
        atol: the absolute tolerance.
        rtol: the relative tolerance.
        raise_exception: whether a disagreement raises GradcheckError.
    """
    given = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    moving = [x for x in given if isinstance(x, Tensor) and x.requires_grad]
    if not moving:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them "
            "have requires_grad=True."
        )
    for x in moving:
        if x.dtype is dtypes.bfloat16:
            raise TypeError(
                "gradcheck(): an input is in bfloat16, which has no differences to compare with. "
                "Check the function in double precision:\n"
                "    x = x.detach().double().requires_grad_()\n"
                "    torch.autograd.gradcheck(f, x)"
            )
        if x._data.dtype not in (np.float64, np.complex128):
            import warnings

            warnings.warn(
                "Input requires gradient and is not a double precision floating point; this check "
                "will likely fail.",
                stacklevel=2,
            )
    try:
        _check(func, given, moving, eps, atol, rtol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check(func: Any, given: Any, moving: Any, eps: float, atol: float, rtol: float) -> None:
    outputs = [o for o in _listed(func(*given)) if o.requires_grad]
    for j, output in enumerate(outputs):
        analytic = _jacobian(output, moving)
        for k, x in enumerate(moving):
            numeric = _differences(func, given, x, j, eps)
            if not np.allclose(analytic[k], numeric, rtol, atol, equal_nan=True):
                raise GradcheckError(
                    f"Jacobian mismatch for output {j} with respect to input {k},\n"
                    f"numerical:{numeric}\nanalytical:{analytic[k]}\n"
                )


def _parts(array: np.ndarray) -> np.ndarray:
    """The elements as a flat array of real numbers; a complex element gives both its parts."""
    flat = np.ravel(array)
    return np.stack([flat.real, flat.imag], 1).ravel() if flat.dtype.kind == "c" else flat


def _units(array: np.ndarray) -> Iterator[np.ndarray]:
    """Unit steps: for each real number of an array, an array with 1 (or 1j) there, else 0."""
    for i in range(array.size):
        for step in (1, 1j) if array.dtype.kind == "c" else (1,):
            unit = np.zeros(array.size, array.dtype)
            unit[i] = step
            yield unit.reshape(array.shape)


def _jacobian(output: Tensor, moving: Sequence[Tensor]) -> list[np.ndarray]:
    """For each input, the matrix of the output's derivatives: a row for each number of the input, a
    column for each number of the output.

    As in PyTorch, the parts of a gradient with respect to a complex number are the derivatives with
    respect to its parts.
    """
    columns: list[list[np.ndarray]] = [[] for _ in moving]
    for unit in _units(output._data):
        found = grad(output, list(moving), wrap(unit), retain_graph=True, allow_unused=True)
        for k, (g, x) in enumerate(zip(found, moving, strict=True)):
            columns[k].append(_parts(np.zeros_like(x._data) if g is None else g._data))
    return [np.stack(c, 1) for c in columns]


def _differences(func: Any, given: Any, x: Tensor, j: int, eps: float) -> np.ndarray:
    data, rows = x._data, []
    try:
        for unit in _units(data):
            ends = []
            for step in (eps, -eps):
                x._data = data + step * unit
                made = [o for o in _listed(func(*given)) if o.requires_grad][j]
                ends.append(_parts(np.array(made._data)))
            rows.append((ends[0] - ends[1]) / (2 * eps))
    finally:
        x._data = data
    return np.stack(rows) if rows else np.zeros((0, 0))


def gradgradcheck(
    func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, **options: Any
) -> bool:
    """Whether the second derivatives of a function agree with differences of the first ones."""
    given = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    outputs = _listed(func(*given))
    if grad_outputs is None:
        cotangents = tuple(
            randn(tuple(o.shape), dtype=o.dtype, requires_grad=True) for o in outputs
        )
    else:
        cotangents = tuple(_listed(grad_outputs))
    n = len(given)

    def first(*everything: Any) -> tuple[Any, ...]:
        inside = everything[:n]
        moving = [x for x in inside if isinstance(x, Tensor) and x.requires_grad]
        made = [o for o in _listed(func(*inside)) if o.requires_grad]
        found = grad(made, moving, list(everything[n : n + len(made)]), create_graph=True,
                     allow_unused=True)  # fmt: skip
        return tuple(g for g in found if g is not None and g.requires_grad)

    return gradcheck(first, (*given, *cotangents), **options)
