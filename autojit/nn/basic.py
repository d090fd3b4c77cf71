"""Linear maps, embeddings, one-hot vectors, and dropout."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.arguments import check_flag, check_mask, named
from autojit.transformations.derivatives import stop_gradient

from .checks import filled, need_integers, need_shape, need_value, no_negative, rows_at
from .random import keep_mask


@named
def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """``x @ weight.T + bias``.

    Args:
        x: an array of shape (…, inputs).
        weight: an array of shape (outputs, inputs), as in PyTorch.
        bias: an array of shape (outputs,), or None.

    Returns:
        An array of shape (…, outputs).

    Raises:
        ShapeError: if the shapes do not match.

    >>> linear(np.array([1.0, 2.0]), np.array([[1.0, 1.0]]), np.array([0.5]))
    array([3.5])
    """
    need_shape(
        weight.ndim == 2,
        lambda: f"weight has shape {weight.shape}; linear needs (outputs, inputs)",
    )
    need_shape(
        x.ndim > 0 and x.shape[-1] == weight.shape[1],
        lambda: (
            f"x has shape {x.shape} and weight {weight.shape}: the last axes of both must be the "
            "inputs. If weight has shape (inputs, outputs), pass weight.T"
        ),
    )
    rows = weight.shape[:1]
    need_shape(
        bias is None or bias.shape == rows,
        lambda: f"bias has shape {np.shape(bias)}; weight of shape {weight.shape} needs {rows}",
    )
    product = x @ weight.T
    return product if bias is None else product + bias


@named
def embedding(indices: Any, weight: Any, padding_idx: int | None = None) -> Any:
    """The rows of a table at given indices.

    Args:
        indices: an array of integers, of any shape.
        weight: the table, of shape (rows, width).
        padding_idx: the number of a row that gets no gradient.

    Returns:
        An array of shape (\\*indices.shape, width).

    Raises:
        DtypeError: if the indices are not integers.
        IndexError: if an index is negative or too large.

    >>> embedding(np.array([2, 0]), np.array([[0.0], [1.0], [2.0]]))
    array([[2.],
           [0.]])
    """
    need_integers(indices, "indices")
    need_shape(weight.ndim == 2, f"weight has shape {weight.shape}; embedding needs (rows, width)")
    rows = rows_at(weight, no_negative(indices, weight.shape[0]))
    if padding_idx is None:
        return rows
    need_value(
        -weight.shape[0] <= padding_idx < weight.shape[0],
        f"padding_idx={padding_idx} is not a row of the weight of shape {weight.shape}",
    )
    is_padding = indices == padding_idx % weight.shape[0]
    return np.where(np.expand_dims(is_padding, -1), stop_gradient(rows), rows)


@named
def embedding_bag(
    indices: Any, weight: Any, offsets: Any = None, mode: str = "mean",
    per_sample_weights: Any = None, padding_idx: int | None = None,
) -> Any:  # fmt: skip
    """The mean, the sum or the largest elements of the rows of a table, for each bag of indices.

    Args:
        indices: integers of shape (bags, indices of a bag); or of shape (M,), with ``offsets``.
        weight: the table, of shape (rows, width).
        offsets: the position in ``indices`` at which each bag begins, of shape (bags,), ascending
            from 0; only for bags of different lengths.
        mode: ``"mean"``, ``"sum"`` or ``"max"``.
        per_sample_weights: factors of the rows, of the shape of ``indices``; for sums only.
        padding_idx: the number of a row that does not count.

    Returns:
        An array of shape (bags, width); an empty bag gives zeros. The gradient of ``"max"`` goes to
        the first of equal elements, as in PyTorch.

    Raises:
        ShapeError: if the shapes do not match.
        IndexError: if an index is negative or too large.

    >>> table = np.array([[1.0], [2.0], [4.0]])
    >>> embedding_bag(np.array([[0, 1], [2, 2]]), table)
    array([[1.5],
           [4. ]])
    >>> embedding_bag(np.array([0, 1, 2]), table, np.array([0, 1]), mode="sum")
    array([[1.],
           [6.]])
    """
    need_value(mode in ("mean", "sum", "max"), f"mode={mode!r} is not 'mean', 'sum' or 'max'")
    need_value(
        per_sample_weights is None or mode == "sum",
        f"per_sample_weights need mode='sum', not {mode!r}",
    )
    need_shape(
        indices.ndim == (2 if offsets is None else 1),
        lambda: (
            f"indices has shape {indices.shape}; embedding_bag needs (bags, indices of a bag), or "
            "(M,) with offsets"
        ),
    )
    need_shape(
        per_sample_weights is None or per_sample_weights.shape == indices.shape,
        lambda: (
            f"per_sample_weights has shape {np.shape(per_sample_weights)}; indices has "
            f"{indices.shape}"
        ),
    )
    rows = embedding(indices.reshape(-1), weight, padding_idx)
    count = (indices if offsets is None else offsets).shape[0]
    if offsets is None:
        bags = np.repeat(np.arange(count), indices.shape[1])
    else:
        bags = np.searchsorted(offsets, np.arange(indices.shape[0]), side="right") - 1
    if padding_idx is None:
        counts = np.ones(indices.size, bool)
    else:
        counts = indices.reshape(-1) != padding_idx % weight.shape[0]
    if mode == "max":
        return _largest_of_bags(rows, bags, count, counts)
    shares = counts.astype(weight.dtype)
    if per_sample_weights is not None:
        shares = shares * per_sample_weights.reshape(-1)
    total = _sum_of_bags(rows * shares[:, None], bags, count)
    if mode == "sum":
        return total
    return total / np.maximum(_sum_of_bags(shares, bags, count), 1)[:, None]


def _sum_of_bags(values: Any, bags: Any, count: int) -> Any:
    total = filled((count, *values.shape[1:]), 0, values.dtype, values, bags)
    np.add.at(total, bags, values)
    return total


def _largest_of_bags(rows: Any, bags: Any, count: int, counts: Any) -> Any:
    """For each bag, the largest elements of its rows that count."""
    size, width = rows.shape
    if size == 0:
        return np.zeros((count, width), rows.dtype)
    seen = np.where(counts[:, None], stop_gradient(rows), -np.inf)
    top = filled((count, width), -np.inf, rows.dtype, rows, bags, counts)
    np.maximum.at(top, bags, seen)
    is_top = counts[:, None] & (seen == top[bags])
    first = filled((count, width), size, np.int64, rows, bags, counts)
    np.minimum.at(first, bags, np.where(is_top, np.arange(size)[:, None], size))
    found = np.take_along_axis(rows, np.minimum(first, size - 1), axis=0)
    return np.where(first < size, found, 0)


@named
def one_hot(labels: Any, num_classes: int, dtype: Any = np.int64) -> Any:
    """Rows with a 1 at the label, and zeros elsewhere; all zeros if a label is not a class.

    >>> one_hot(np.array([2, 0]), 3)
    array([[0, 0, 1],
           [1, 0, 0]])
    """
    need_integers(labels, "labels")
    return (np.expand_dims(labels, -1) == np.arange(num_classes)).astype(dtype)


@named
def dropout(
    x: Any, p: float = 0.5, rng: Any = None, *, mask: Any = None, training: bool = True
) -> Any:
    """Set elements to 0 at random with probability p, and divide the others by 1 - p.

    Args:
        x: an array.
        p: the probability of a zero.
        rng: the source of randomness: a NumPy Generator, outside compiled functions only; or an
            integer seed, which may be traced, such as an argument of the compiled function. A seed
            always gives the same places; see :func:`keep_mask`.
        mask: instead of ``rng``, an array of bools that broadcasts to x: True where x is kept.
        training: if False, x is returned unchanged.

    Raises:
        ValueError: if p is not in [0, 1], or neither ``rng`` nor ``mask`` is given.
        TracingError: if a Generator would be used during compilation, and thus only once.

    Srivastava and others, "Dropout: a simple way to prevent neural networks from overfitting",
    2014.

    >>> dropout(np.ones(8), 0.5, 3)
    array([0., 2., 2., 0., 0., 0., 0., 0.])
    >>> dropout(np.ones(2), 0.5, mask=np.array([True, False]))
    array([2., 0.])
    """
    check_flag(training, "training", "dropout")
    need_value(0.0 <= p <= 1.0, f"p={p} is not a probability")
    if not training or p == 0.0:
        return x
    if mask is None:
        need_value(
            rng is not None, "dropout needs random numbers: dropout(x, p, rng), or training=False"
        )
        mask = keep_mask(rng, 1.0 - p, x.shape)
    else:
        check_mask(mask, "mask", "dropout")
    kept = 1.0 - p or 1.0  # no element is kept if p = 1
    return np.where(mask, x / kept, 0.0)
