"""Functions that move elements, and indexing."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.samples.kinds import (
    moved,
    real,
    whole,
)

MOVEMENT = [
    moved("reshape", lambda x: x.reshape(2, -1)),
    moved("np.reshape", lambda x: np.reshape(x, (2, 3, 2))),
    moved("ravel", np.ravel), moved("flatten", lambda x: x.flatten()),
    moved("transpose", np.transpose), moved("T", lambda x: x.T @ np.ones(3)),
    moved("transpose axes", lambda x: x.transpose(1, 2, 0), real(2, 3, 2)),
    moved("mT", lambda x: x.mT, real(2, 3, 2)), moved("matrix_transpose", np.matrix_transpose),
    moved("swapaxes", lambda x: np.swapaxes(x, 0, -1), real(2, 3, 2)),
    moved("moveaxis", lambda x: np.moveaxis(x, 0, -1), real(2, 3, 2)),
    moved("squeeze", np.squeeze, real(1, 3, 1)),
    moved("squeeze axis", lambda x: np.squeeze(x, axis=0), real(1, 3, 1)),
    moved("expand_dims", lambda x: np.expand_dims(x, (0, 2))),
    moved("broadcast_to", lambda x: np.broadcast_to(x, (2, 3, 4))),
    moved("broadcast_to stretched", lambda x: np.broadcast_to(x, (3, 4)), real(3, 1)),
    moved("broadcast_arrays", lambda a, b: np.broadcast_arrays(a, b)[0] * b, real(3, 1), real(2)),
    moved("broadcast add", lambda a, b, c: a + b * c, real(3, 1), real(1, 4), real(4)),
    moved("flip", np.flip), moved("flip axis", lambda x: np.flip(x, 1)),
    moved("flipud", np.flipud), moved("fliplr", np.fliplr),
    moved("atleast_1d", np.atleast_1d, real()), moved("atleast_2d", np.atleast_2d, real(3)),
    moved("roll", lambda x: np.roll(x, 2)), moved("roll axis", lambda x: np.roll(x, -1, axis=1)),
    moved("roll axes", lambda x: np.roll(x, (1, 2), axis=(0, 1))),
    moved("tile", lambda x: np.tile(x, 2)), moved("tile rows", lambda x: np.tile(x, (2, 1, 2))),
    moved("repeat", lambda x: np.repeat(x, 2)),
    moved("repeat axis", lambda x: np.repeat(x, 3, axis=0)),
    moved("pad", lambda x: np.pad(x, 1)),
    moved("pad unequal", lambda x: np.pad(x, ((1, 0), (2, 3)))),
    moved("pad with 7", lambda x: np.pad(x, 1, constant_values=7.0)),
    moved("diff", np.diff), moved("diff twice", lambda x: np.diff(x, n=2, axis=0)),
    moved("tril", np.tril), moved("triu", lambda x: np.triu(x, 1)),
    moved("tril stacked", lambda x: np.tril(x, -1), real(2, 3, 3)),
    moved("diag", np.diag, real(3)), moved("diag below", lambda x: np.diag(x, -2), real(3)),
    moved("diag of matrix", lambda x: np.diag(x, 1)),
    moved("diagonal", np.diagonal), moved("trace", np.trace),
    moved("trace offset", lambda x: np.trace(x, offset=1)),
    moved("split", lambda x: np.split(x, 2, axis=1)[1] * 2),
    moved("split at", lambda x: np.split(x, [1, 3], axis=1)[1]),
    moved("array_split", lambda x: np.array_split(x, 3)[2]),
    moved("stack", lambda a, b: np.stack([a, b, a], axis=1), real(3), real(3)),
    moved("vstack", lambda a, b: np.vstack([a, b]), real(3), real(2, 3)),
    moved("hstack", lambda a, b: np.hstack([a, b]), real(2, 1), real(2, 3)),
    moved("column_stack", lambda a, b: np.column_stack([a, b]), real(3), real(3, 2)),
    moved("concatenate", lambda a, b: np.concatenate([a, b, a]), real(2, 3), real(1, 3)),
    moved("concatenate axis", lambda a, b: np.concatenate([a, b], axis=-1), real(2, 3), real(2, 1)),
    moved("concatenate flat", lambda a, b: np.concatenate([a, b], axis=None), real(2), real(1, 3)),
    moved("append", lambda a, b: np.append(a, b), real(2), real(3)),
    *(moved(f"pad {mode}", lambda x, mode=mode: np.pad(x, ((1, 2), (3, 0)), mode))
      for mode in ("edge", "reflect", "symmetric", "wrap")),
    moved("pad with several", lambda x: np.pad(x, (1, 2), constant_values=((1, 2), (3, 4)))),
    moved("diff after", lambda x: np.diff(x, prepend=1.0, append=x[:, :2])),
    moved("repeat unequal", lambda x: np.repeat(x, [2, 0, 3], axis=0)),
    moved("reshape F", lambda x: np.reshape(x, (2, -1), order="F")),
    moved("ravel F", lambda x: x.ravel("F") * np.arange(12)),
    moved("flatten F", lambda x: x.flatten("F")),
    moved("take clip", lambda x, i: np.take(x, i, axis=1, mode="clip"), real(2, 3), whole(5)),
    moved("take wrap", lambda x, i: np.take(x, i, mode="wrap"), real(5), whole(5)),
    moved("copy", np.copy), moved("np.take", lambda x: np.take(x, 1, axis=1)),
    moved("identity", lambda x: x),
]  # fmt: skip

INDEXING = [
    moved("x[1]", lambda x: x[1]), moved("x[-1]", lambda x: x[-1]), moved("x[1:]", lambda x: x[1:]),
    moved("x[:, 1]", lambda x: x[:, 1]), moved("x[1, 2]", lambda x: x[1, 2]),
    moved("x[::2]", lambda x: x[::2]), moved("x[::-1]", lambda x: x[::-1]),
    moved("x[::2] of one axis", lambda x: x[::2], real(5)),
    moved("x[:, 3:0:-2]", lambda x: x[:, 3:0:-2]), moved("x[..., None]", lambda x: x[..., None]),
    moved("x[None, :, None, 1]", lambda x: x[None, :, None, 1]),
    moved("x[..., -1, ::2]", lambda x: x[..., -1, ::2], real(2, 3, 4)),
    moved("x[5:9]", lambda x: x[5:9]), moved("x[2:1]", lambda x: x[2:1]),
    moved("x[1:] - x[:-1]", lambda x: x[1:] - x[:-1]), moved("a, b = x", lambda x: _unpacked(x)),
    moved("x[np.int64(1)]", lambda x: x[np.int64(1)]),
    moved("x[...]", lambda x: x[...]),
    moved("x[[2, 0, 2]]", lambda x: x[[2, 0, 2]]),
    moved("x[:, array]", lambda x: x[:, np.array([[3, -1], [0, 3]])]),
    moved("x[rows, columns]", lambda x: x[np.array([0, 2, 2]), np.array([1, 3, 3])]),
    moved("x[rows, :, 1]", lambda x: x[np.array([0, 1, 1]), :, 1], real(2, 3, 2)),
    moved("x[0, :, array]", lambda x: x[0, :, np.array([1, 0, 1])], real(2, 3, 2)),
    moved("x[known mask]", lambda x: x[np.array([True, False, True])]),
    moved("x[traced]", lambda x, i: x[i], real(4, 2), whole(3, low=-4, high=4)),
    moved("x[traced, traced]", lambda x, i: x[i, i], real(3, 3), whole(4, low=0, high=3)),
    moved("take array", lambda x: np.take(x, [2, 0, 0], axis=1)),
    moved("take flat", lambda x, i: np.take(x, i), real(2, 3), whole(3, low=0, high=6)),
    moved("take_along_axis", lambda x, i: np.take_along_axis(x, i, axis=1), real(2, 3),
          whole(2, 2, low=0, high=3)),
]  # fmt: skip


def _unpacked(x: Any) -> Any:
    a, b, c = x
    return a * b + c
