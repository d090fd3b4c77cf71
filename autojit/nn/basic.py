"""Linear maps, embeddings, one-hot vectors, and dropout."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.arguments import check_flag, check_mask, named
from autojit.transformations.derivatives import stop_gradient

from .checks import need_integers, need_shape, need_value, no_negative, rows_at
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
