"""Products of vectors and matrices."""

from __future__ import annotations

import string
from typing import Any

import numpy as np

from autojit.errors import ShapeError, with_place
from autojit.ir.core import shapes
from autojit.ir.core.program import Value
from autojit.ir.core.types import TypeMismatch
from autojit.ir.ops import arithmetic, move, reduce
from autojit.ir.ops.contract import dot as dot_op
from autojit.protocols.lifting import (
    as_tracer,
    dtype_of,
    perhaps_view,
    promoted,
    shape_of,
    to_dtype,
    tracer,
)
from autojit.protocols.registry import PRODUCTS, implements, reject
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer


def mismatch(name: str, a: Any, b: Any, rule: str) -> ShapeError:
    m, n = shape_of(a), shape_of(b)
    words = f"{name} of shapes {m} and {n}: {rule}.\n{_ways_to_multiply(m, n)}"
    return ShapeError(with_place(words, user_source()))


def _ways_to_multiply(m: tuple[int, ...], n: tuple[int, ...]) -> str:
    """The products of operands with these shapes that exist, as code."""
    if not m or not n:
        return "A number is a factor:\n    a * b"
    ways = []
    if len(m) == len(n) == 2:
        ways = [
            code
            for code, inner, outer in (
                ("a @ b.T", m[1], n[1]), ("a.T @ b", m[0], n[0]),
                ("b @ a", n[1], m[0]), ("b.T @ a", n[0], m[0]),
            )
            if inner == outer
        ]  # fmt: skip
    elif len(m) == 2 and len(n) == 1 and m[0] == n[0]:
        ways = ["a.T @ b"]
    elif len(m) == 1 and len(n) == 2 and m[0] == n[1]:
        ways = ["a @ b.T"]
    if ways:
        return "These products have operands that fit:\n" + "\n".join(f"    {w}" for w in ways)
    if len(m) == len(n) == 1:
        return "Vectors of different lengths only have an outer product:\n    np.outer(a, b)"
    return (
        "They do not fit in the other order or transposed either. Print both shapes one line "
        "before:\n"
    ) + ("    print(a.shape, b.shape)")


def matmul(a: Any, b: Any) -> Tracer:
    """``a @ b`` by NumPy's rules for vectors, matrices and stacks of matrices."""
    x, y = promoted(a, b)
    if not x.shape or not y.shape:
        raise mismatch("matmul", a, b, "scalars are multiplied with *")
    inner_y = max(0, y.type.ndim - 2)
    if x.shape[-1] != y.shape[inner_y]:
        raise mismatch(
            "matmul",
            a,
            b,
            f"the last axis of the first ({x.shape[-1]}) must equal "
            f"{'the axis' if y.type.ndim == 1 else 'the last but one'} of the second "
            f"({y.shape[inner_y]})",
        )
    if x.type.ndim <= 2 and y.type.ndim <= 2:
        return tracer(_contract(x, y, (x.type.ndim - 1,), (inner_y,)))
    if x.type.ndim == 1 or y.type.ndim == 1:
        return tracer(_contract(x, y, (x.type.ndim - 1,), (inner_y,)))
    if y.type.ndim == 2:
        return tracer(_contract(x, y, (x.type.ndim - 1,), (0,)))
    return tracer(_stacked(x, y, a, b))


def _contract(x: Value, y: Value, axes_x: tuple[int, ...], axes_y: tuple[int, ...]) -> Value:
    return _dot(x, y, (axes_x, axes_y), ((), ()))


def _dot(x: Value, y: Value, contract: Any, batch: Any) -> Value:
    """The op; for booleans, whether any pair of elements is true, as in NumPy."""
    if x.dtype.kind == "b":
        counts = [to_dtype(v, np.int64) for v in (x, y)]
        return arithmetic.truth(dot_op(*counts, contract=contract, batch=batch))
    return dot_op(x, y, contract=contract, batch=batch)


def _stacked(x: Value, y: Value, a: Any, b: Any) -> Value:
    outer_x, outer_y = x.shape[:-2], y.shape[:-2]
    try:
        outer = shapes.broadcast_shapes(outer_x, outer_y)
    except TypeMismatch:
        raise mismatch("matmul", a, b, "the outer axes do not broadcast") from None
    x = move.broadcast_to(x, (*outer, *x.shape[-2:]))
    y = move.broadcast_to(y, (*outer, *y.shape[-2:]))
    n = len(outer)
    batch = tuple(range(n))
    return _dot(x, y, ((n + 1,), (n,)), (batch, batch))


@implements(np.dot)
def dot(a: Any, b: Any, out: Any = None) -> Any:
    if not shape_of(a) or not shape_of(b):
        return np.multiply(a, b)
    x, y = promoted(a, b)
    inner = max(0, y.type.ndim - 2)
    if x.shape[-1] != y.shape[inner]:
        raise mismatch("np.dot", a, b, f"{x.shape[-1]} and {y.shape[inner]} differ")
    return tracer(_contract(x, y, (x.type.ndim - 1,), (inner,)))


@implements(np.vdot)
def vdot(a: Any, b: Any, /) -> Any:
    a = np.ravel(a)
    return dot(np.conj(a) if a.dtype.kind == "c" else a, np.ravel(b))


@implements(np.inner)
def inner(a: Any, b: Any, /) -> Any:
    if not shape_of(a) or not shape_of(b):
        return np.multiply(a, b)
    x, y = promoted(a, b)
    if x.shape[-1] != y.shape[-1]:
        raise mismatch("np.inner", a, b, "the last axes differ")
    return tracer(_contract(x, y, (x.type.ndim - 1,), (y.type.ndim - 1,)))


@implements(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    return np.multiply(np.reshape(a, (-1, 1)), np.reshape(b, (1, -1)))


@implements(np.kron)
def kron(a: Any, b: Any) -> Any:
    ndim = max(np.ndim(a), np.ndim(b))
    rows, columns = ((1,) * (ndim - np.ndim(x)) + shape_of(x) for x in (a, b))
    x = np.reshape(a, [k for n in rows for k in (n, 1)])
    y = np.reshape(b, [k for n in columns for k in (1, n)])
    return np.reshape(x * y, tuple(m * n for m, n in zip(rows, columns, strict=True)))


PRODUCTS[np.matmul] = matmul


@implements(np.linalg.matmul)
def linalg_matmul(x1: Any, x2: Any, /) -> Any:
    return matmul(x1, x2)


@implements(np.linalg.outer)
def linalg_outer(x1: Any, x2: Any, /) -> Any:
    if np.ndim(x1) != 1 or np.ndim(x2) != 1:
        raise mismatch("np.linalg.outer", x1, x2, "both are vectors")
    return outer(x1, x2)


@implements(np.linalg.tensordot)
def linalg_tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    return tensordot(x1, x2, axes)


@implements(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    x, y = promoted(a, b)
    if isinstance(axes, (int, np.integer)):
        n = int(axes)
        axes_x, axes_y = range(x.type.ndim - n, x.type.ndim), range(n)
    else:
        axes_x, axes_y = (np.atleast_1d(k).tolist() for k in axes)
    left = tuple(shapes.normalize_axis(k, x.type.ndim) for k in axes_x)
    right = tuple(shapes.normalize_axis(k, y.type.ndim) for k in axes_y)
    if [x.shape[k] for k in left] != [y.shape[k] for k in right]:
        raise mismatch("np.tensordot", a, b, f"axes {left} and {right} differ in extent")
    return tracer(_contract(x, y, left, right))


@implements(np.einsum)
def einsum(*operands: Any, out: Any = None, optimize: Any = False, **kwargs: Any) -> Any:
    for keyword, given in kwargs.items():
        reject("np.einsum", **{keyword: given})
    subscripts, *arrays = operands if isinstance(operands[0], str) else _in_letters(operands)
    inputs, output = _parse_subscripts(subscripts, arrays)
    values = promoted(*arrays)
    extents = _extents(subscripts, inputs, arrays)
    terms = [
        _without_repeats(*_without_stretched(v, s, extents))
        for v, s in zip(values, inputs, strict=True)
    ]
    for pair in _order(subscripts, arrays):
        picked = [terms.pop(i) for i in sorted(pair, reverse=True)]
        needed = set(output).union(*(labels for _, labels in terms))
        terms.append(_combine(picked, needed))
    ((value, labels),) = terms
    value, labels = _sum_out(value, labels, set(output))
    result = _permute(value, labels, output)
    if len(arrays) == 1 and set(output) == set(inputs[0]):  # a view if possible
        return perhaps_view(as_tracer(arrays[0]), result)
    return tracer(result)


_LETTERS = string.ascii_lowercase + string.ascii_uppercase


def _in_letters(operands: tuple[Any, ...]) -> list[Any]:
    """Convert alternating operands and lists of labels to a subscript string and operands."""
    inputs = [_as_letters(labels) for labels in operands[1::2]]
    text = ",".join(inputs[: len(operands) // 2])
    if len(operands) % 2:
        arrays = list(operands[:-1:2])
        return [f"{text}->{_as_letters(operands[-1])}", *arrays]
    return [text, *operands[::2]]


def _as_letters(labels: Any) -> str:
    return "".join("..." if label is Ellipsis else _LETTERS[label] for label in labels)


@implements(np.einsum_path)
def einsum_path(*operands: Any, optimize: Any = "greedy", einsum_call: bool = False) -> Any:
    """The contraction path, which depends on shapes only."""
    subscripts, *arrays = operands if isinstance(operands[0], str) else _in_letters(operands)
    models = [np.broadcast_to(np.zeros((), dtype_of(a)), shape_of(a)) for a in arrays]
    return np.einsum_path(subscripts, *models, optimize=optimize)


def _parse_subscripts(subscripts: str, arrays: list[Any]) -> tuple[list[str], str]:
    text = subscripts.replace(" ", "")
    left, arrow, output = text.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(arrays):
        raise ShapeError(
            with_place(
                f"np.einsum {subscripts!r} names {len(inputs)} operands; got {len(arrays)}",
                user_source(),
            )
        )
    spare = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in text]
    counts = [
        len(shape_of(a)) - len(s.replace("...", "")) if "..." in s else 0
        for s, a in zip(inputs, arrays, strict=True)
    ]
    most = max(counts, default=0)
    dots = "".join(spare[:most])
    inputs = [s.replace("...", dots[most - n :]) for s, n in zip(inputs, counts, strict=True)]
    if arrow:
        output = output.replace("...", dots)
    else:
        joined = "".join(inputs)
        single = sorted(c for c in set(joined) if joined.count(c) == 1 and c not in dots)
        output = dots + "".join(single)
    for s, a in zip(inputs, arrays, strict=True):
        if len(s) != len(shape_of(a)):
            raise ShapeError(
                with_place(
                    f"np.einsum {subscripts!r}: {s!r} names {len(s)} axes of an operand of shape "
                    f"{shape_of(a)}",
                    user_source(),
                )
            )
    _check_output(subscripts, inputs, output)
    return inputs, output


def _check_output(subscripts: str, inputs: list[str], output: str) -> None:
    for label in output:
        if not any(label in s for s in inputs) or output.count(label) > 1:
            wrong = "is in no operand, but" if output.count(label) == 1 else "appears twice"
            raise ShapeError(
                with_place(
                    f"np.einsum {subscripts!r}: {label!r} {wrong} in the output", user_source()
                )
            )


def _extents(subscripts: str, inputs: list[str], arrays: list[Any]) -> dict[str, int]:
    """The extent of each label; an extent of 1 broadcasts."""
    extents: dict[str, int] = {}
    for s, a in zip(inputs, arrays, strict=True):
        for label, n in zip(s, shape_of(a), strict=True):
            known = extents.setdefault(label, n)
            if n != known and (1 not in (n, known) or s.count(label) > 1):
                raise ShapeError(
                    with_place(
                        f"np.einsum {subscripts!r}: {label!r} is {known} in one operand "
                        f"and {n} in another",
                        user_source(),
                    )
                )
            extents[label] = n if known == 1 else known
    return extents


def _without_stretched(value: Value, labels: str, extents: dict[str, int]) -> Term:
    """Drop axes of extent 1 if their label is longer in another operand."""
    kept = [i for i, c in enumerate(labels) if value.shape[i] == extents[c]]
    if len(kept) == len(labels):
        return value, labels
    shape = tuple(value.shape[i] for i in kept)
    return move.reshape(value, shape=shape), "".join(labels[i] for i in kept)


def _order(subscripts: str, arrays: list[Any]) -> list[tuple[int, ...]]:
    """The operands to combine in each step: NumPy's own choice."""
    if len(arrays) < 3:
        return [tuple(range(len(arrays)))] if len(arrays) == 2 else []
    models = [np.broadcast_to(np.float64(0), shape_of(a)) for a in arrays]
    path = np.einsum_path(subscripts, *models, optimize="greedy")[0][1:]
    pairs: list[tuple[int, ...]] = []
    for step in path:
        if len(step) <= 2:
            pairs.append(tuple(step))
            continue
        # More than two operands in one step: pair them off from the end.
        rest = sorted(step)
        n = len(arrays) - sum(len(p) - 1 for p in pairs)
        pairs.append((rest[-2], rest[-1]))
        for k in range(len(rest) - 3, -1, -1):
            n -= 1
            pairs.append((rest[k], n - 1))
    return [p for p in pairs if len(p) == 2]


Term = tuple[Value, str]


def _without_repeats(value: Value, labels: str) -> Term:
    """Take diagonals for labels that appear more than once."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            i = labels.index(label)
            j = labels.index(label, i + 1)
            diagonal: Any = np.diagonal(tracer(value), 0, i, j)
            labels = labels[:i] + labels[i + 1 : j] + labels[j + 1 :] + label
            value = diagonal.value
    return value, labels


def _combine(picked: list[Term], needed: set[str]) -> Term:
    (a, labels_a), (b, labels_b) = picked[::-1]
    a, labels_a = _sum_out(a, labels_a, needed | set(labels_b))
    b, labels_b = _sum_out(b, labels_b, needed | set(labels_a))
    shared = [c for c in labels_a if c in labels_b]
    batch = [c for c in shared if c in needed]
    contract = [c for c in shared if c not in needed]
    value = _dot(
        a,
        b,
        (_positions(labels_a, contract), _positions(labels_b, contract)),
        (_positions(labels_a, batch), _positions(labels_b, batch)),
    )
    free_a = [c for c in labels_a if c not in shared]
    free_b = [c for c in labels_b if c not in shared]
    return value, "".join([*batch, *free_a, *free_b])


def _positions(labels: str, wanted: list[str]) -> tuple[int, ...]:
    return tuple(labels.index(c) for c in wanted)


def _sum_out(value: Value, labels: str, keep: set[str]) -> Term:
    axes = tuple(i for i, c in enumerate(labels) if c not in keep)
    if axes:
        add = reduce.any_ if value.dtype.kind == "b" else reduce.sum_
        value = add(value, axes=axes)
        labels = "".join(c for c in labels if c in keep)
    return value, labels


def _permute(value: Value, labels: str, output: str) -> Value:
    axes = tuple(labels.index(c) for c in output)
    return value if axes == tuple(range(len(axes))) else move.transpose(value, axes=axes)
