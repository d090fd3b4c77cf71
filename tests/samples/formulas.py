"""Functions that are formulas of other functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.samples.kinds import (
    H,
    Sample,
    complexes,
    constant,
    contraction,
    distinct,
    moved,
    positive,
    real,
    step,
    whole,
)

WINDOWS = np.lib.stride_tricks.sliding_window_view
NOTHING = np.array([1.0, np.nan, 2.0, np.nan])


def _with_nan(x: Any) -> Any:
    return np.where(np.isnan(NOTHING), np.nan, x)


FORMULAS = [
    Sample("round", lambda x: np.round(x, 1) + np.around(x) + x.round(-1),
           (constant(0.13, 1.27, -0.38, 17.0),), order=1),
    Sample("fix", lambda x: np.fix(x) + x, (real(4),)),
    Sample("angle", lambda z: np.angle(z) + np.angle(z, deg=True), (complexes(3),)),
    Sample("nansum", lambda x: np.nansum(_with_nan(x), axis=1), (real(2, 4),)),
    Sample("nanprod", lambda x: np.nanprod(_with_nan(x)), (real(4),)),
    Sample("nanmax", lambda x: np.nanmax(_with_nan(x), axis=1), (real(2, 4),)),
    Sample("nanmin", lambda x: np.nanmin(_with_nan(x)), (real(4),)),
    Sample("nanmean", lambda x: np.nanmean(_with_nan(x), axis=1, keepdims=True), (real(2, 4),)),
    Sample("nanvar", lambda x: np.nanvar(_with_nan(x), ddof=1), (real(4),)),
    Sample("nanstd", lambda x: np.nanstd(_with_nan(x)), (real(4),)),
    step("nan functions of int", lambda i: np.nanmax(i) + np.nansum(i) + np.nanmean(i), whole(4)),
    Sample("ediff1d", lambda x: np.ediff1d(x * x, to_begin=x[0], to_end=[1.0, 2.0]), (real(4),)),
    Sample("trapezoid", lambda y, x: np.trapezoid(y, x, axis=0), (real(4, 2), distinct(4)), **H),
    Sample("trapezoid dx", lambda y: np.trapezoid(y, dx=0.5), (real(2, 4),), **H),
    Sample("gradient", lambda x: np.gradient(x, 0.5) * x, (real(5),), **H),
    Sample("gradient of axes", lambda x: np.gradient(x, edge_order=2)[1], (real(3, 4),), **H),
    Sample("interp", lambda x, y: np.interp(x, np.arange(-3.0, 4.0), y), (real(2, 3), real(7))),
    Sample("interp outside", lambda x: np.interp(x, [-1.0, 0.5], [3.0, 1.0], right=7), (real(9),)),
    Sample("polyval", np.polyval, (real(4), real(3)), **H),
    Sample("vander", lambda x: np.vander(x, 4) + np.vander(x, 4, increasing=True), (real(3),), **H),
    contraction("convolve", np.convolve, (5,), (3,)),
    Sample("correlate", np.correlate, (real(5), real(3))),
    Sample("correlate in full", lambda a, v: np.correlate(a, v, "full"), (real(3), real(4))),
    moved("sliding windows", lambda x: WINDOWS(x, 2, axis=1)),
    moved("sliding windows of axes", lambda x: WINDOWS(x, (2, 3))),
    contraction("convolve same", lambda a, v: np.convolve(a, v, "same"), (2,), (5,)),
    contraction("convolve valid", lambda a, v: np.convolve(a, v, mode="valid"), (6,), (4,)),
    Sample("cov", np.cov, (real(3, 5),)),
    Sample("cov of two", lambda x, y: np.cov(x, y, bias=True), (real(4), real(4))),
    Sample("cov of columns", lambda x: np.cov(x, rowvar=False), (real(5, 2),)),
    Sample("corrcoef", lambda x: np.corrcoef(x)[0, 1], (real(2, 5),)),
    step("isposinf", np.isposinf, real(3)), step("isneginf", np.isneginf, real(3)),
    step("iscomplex", np.iscomplex, complexes(3)), step("isreal", np.isreal, real(3)),
    contraction("cross", np.cross, (2, 3), (3,)),
    contraction("linalg.cross", lambda a, b: np.linalg.cross(a, b, axis=0), (3, 2), (3, 2)),
    contraction("kron", np.kron, (2, 3), (2, 2)), contraction("kron 1-D", np.kron, (2,), (2, 3)),
    contraction("multi_dot", lambda *m: np.linalg.multi_dot(m), (2, 3), (3, 2), (2, 4)),
    contraction("multi_dot vectors", lambda *m: np.linalg.multi_dot(m), (3,), (3, 2), (2,)),
    contraction("matrix_power", lambda a: np.linalg.matrix_power(a, 5), (2, 2)),
    contraction("matrix_power 0", lambda a: np.linalg.matrix_power(a, 0) @ a, (2, 2)),
    Sample("float_power", np.float_power, (positive(3), real(3))),
    moved("atleast_3d", np.atleast_3d), moved("atleast_3d of 1-D", np.atleast_3d, real(3)),
    moved("linspace", lambda a, b: np.linspace(a, b, 5), real(), real()),
    moved("linspace open", lambda a: np.linspace(a, 1, 4, endpoint=False, axis=-1), real(2)),
    moved("meshgrid", lambda a, b: np.meshgrid(a, b)[0] * np.meshgrid(a, b)[1], real(2), real(3)),
    moved("meshgrid ij", lambda a, b: np.meshgrid(a, b, indexing="ij")[1], real(2), real(3)),
    step("nan_to_num of int", np.nan_to_num, whole(3)),
    moved("rot90", np.rot90), moved("rot90 thrice", lambda x: np.rot90(x, 3, axes=(1, 0))),
    moved("rot90 twice", lambda x: np.rot90(x, 2)),
    moved("rollaxis", lambda x: np.rollaxis(x, 2), real(2, 3, 4)),
    moved("rollaxis to", lambda x: np.rollaxis(x, 0, 2), real(2, 3, 4)),
    moved("array_split uneven", lambda x: np.array_split(x, 3, axis=1)[1], real(2, 7)),
    moved("split negative", lambda x: np.split(x, [-2], axis=1)[0]),
    moved("hsplit", lambda x: np.hsplit(x, 2)[1]), moved("vsplit", lambda x: np.vsplit(x, 3)[1]),
    moved("dsplit", lambda x: np.dsplit(x, 2)[1], real(2, 3, 4)),
    moved("dstack", lambda a, b: np.dstack([a, b]), real(3), real(3)),
    moved("block", lambda a, b: np.block([[a, b], [b, a]]), real(2, 2), real(2, 2)),
    moved("block of vectors", lambda a, b: np.block([a, b, 1.0]), real(2), real(3)),
    moved("delete", lambda x: np.delete(x, [0, 2], axis=1)),
    moved("delete flat", lambda x: np.delete(x, 3)),
    moved("triangles", lambda x: np.tril(x, 1) - np.triu(x) / 2),
    moved("triangles of a vector", lambda v: np.tril(v) - np.triu(v, 1) / 2, real(3)),
    moved("insert", lambda x, v: np.insert(x, [1, 3], v, axis=1), real(3, 4), real(3, 2)),
    moved("insert flat", lambda x, v: np.insert(x, 2, v), real(3, 4), real(3)),
    *(Sample(name, getattr(np, name), tuple(real(*s) for s in shapes)) for name, *shapes in (
        ("vecdot", (2, 3), (3,)), ("matvec", (2, 3), (4, 3)), ("vecmat", (4, 2), (2, 3)),
    ) if hasattr(np, name)),
]  # fmt: skip
