"""Functions that combine the elements along axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.samples.kinds import (
    H,
    Sample,
    complexes,
    constant,
    distinct,
    flags,
    positive,
    real,
    step,
    whole,
)

REDUCTIONS = [
    Sample("sum", np.sum, (real(3, 2),), lambda t, x: t.sum(x), **H),
    Sample("sum axis", lambda x: np.sum(x * x, axis=1), (real(3, 2),), **H),
    Sample("sum axes", lambda x: x.sum(axis=(0, -1), keepdims=True), (real(2, 3, 2),), **H),
    Sample("sum initial", lambda x: np.sum(x, initial=3.0), (real(3),), **H),
    Sample("sum where", lambda x, m: np.sum(x * x, where=m), (real(4), flags(4))),
    Sample("sum of nothing", lambda x: np.sum(x, axis=0) + x.sum(axis=()).sum(), (real(0, 2),)),
    Sample("complex prod", lambda z: np.prod(z, axis=0), (complexes(3, 2),), **H),
    Sample("prod", np.prod, (real(4),), lambda t, x: t.prod(x), **H),
    Sample("prod axis", lambda x: np.prod(x, axis=0, keepdims=True), (real(3, 2),), **H),
    Sample("prod with zeros", np.prod, (constant(2.0, 0.0, 3.0, 0.0),)),
    Sample("prod with a zero", np.prod, (constant(2.0, 0.0, 3.0, -1.5),), lambda t, x: t.prod(x)),
    Sample("cumsum", np.cumsum, (real(5),), lambda t, x: t.cumsum(x, 0), **H),
    Sample("cumsum axis", lambda x: np.cumsum(x * x, axis=1), (real(3, 4),), **H),
    Sample("cumsum flat", lambda x: x.cumsum(), (real(2, 3),), **H),
    Sample("cumsum of nothing", lambda x: np.cumsum(x, axis=0), (real(0, 2),)),
    Sample("cumprod", np.cumprod, (real(4),), lambda t, x: t.cumprod(x, 0), **H),
    Sample("cumprod axis", lambda x: np.cumprod(x, axis=-2), (real(3, 2),), **H),
    Sample("cumprod with zeros", np.cumprod, (constant(2.0, 0.0, 3.0, 0.0, 1.5),),
           lambda t, x: t.cumprod(x, 0)),
    Sample("nancumsum", lambda x: np.nancumsum(x * x), (real(4),)),
    Sample("nancumprod", lambda x: np.nancumprod(x, axis=0), (real(3, 2),)),
    Sample("add.accumulate", lambda x: np.add.accumulate(x * x), (real(3, 2),), **H),
    Sample("maximum.accumulate", np.maximum.accumulate, (distinct(6),)),
    Sample("minimum.accumulate axis", lambda x: np.minimum.accumulate(x, axis=1),
           (distinct(2, 4),)),
    Sample("logaddexp.accumulate", np.logaddexp.accumulate, (real(5),),
           lambda t, x: t.logcumsumexp(x, 0)),
    step("cumsum of int", lambda i: np.cumsum(i) + np.cumprod(i), whole(4)),
    Sample("max", np.max, (distinct(6),), lambda t, x: t.max(x)),
    Sample("amax axis", lambda x: np.amax(x, axis=1), (distinct(3, 4),)),
    Sample("max axes", lambda x: np.max(x, axis=(0, 2)), (distinct(2, 3, 2),)),
    Sample("max initial", lambda x: np.max(x, initial=0.55), (distinct(6),)),
    Sample("max where", lambda x: np.max(x, where=x > 0, initial=-1.0), (distinct(6),)),
    Sample("min", lambda x: np.min(x, axis=0, keepdims=True), (distinct(3, 4),)),
    Sample("amin", np.amin, (distinct(4),)),
    Sample("mean", np.mean, (real(3, 2),), lambda t, x: t.mean(x), **H),
    Sample("mean axis", lambda x: np.mean(x * x, axis=0), (real(3, 2),), **H),
    Sample("mean where", lambda x, m: np.mean(x, where=m | (x > -9)), (real(4), flags(4))),
    Sample("average", lambda x: np.average(x * x), (real(4),)),
    Sample("average weights", lambda x, w: np.average(x, axis=0, weights=w),
           (real(3, 2), positive(3))),
    Sample("var", np.var, (real(5),), lambda t, x: t.var(x, correction=0)),
    Sample("var ddof", lambda x: np.var(x, axis=1, ddof=1), (real(2, 4),)),
    Sample("std", np.std, (real(5),), lambda t, x: t.std(x, correction=0)),
    Sample("std axis", lambda x: x.std(axis=0, keepdims=True), (real(4, 2),)),
    Sample("ptp", lambda x: np.ptp(x, axis=1), (distinct(3, 4),)),
    Sample("logsumexp", np.logaddexp.reduce, (real(5),), lambda t, x: t.logsumexp(x, 0)),
    Sample("logsumexp axis", lambda x: np.logaddexp.reduce(x, axis=1), (real(2, 3),)),
    Sample("norm", np.linalg.norm, (real(4),), lambda t, x: t.linalg.norm(x)),
    Sample("norm axis", lambda x: np.linalg.norm(x, axis=1, keepdims=True), (real(2, 3),)),
    Sample("norm 1", lambda x: np.linalg.norm(x, 1), (real(4),)),
    Sample("norm 3", lambda x: np.linalg.norm(x, 3, axis=0), (positive(4, 2),)),
    step("norm of int", lambda i: np.linalg.norm(i) + np.linalg.norm(i, 1), whole(4)),
    Sample("norm inf", lambda x: np.linalg.norm(x, np.inf), (positive(4),)),
    Sample("norm fro", lambda x: np.linalg.norm(x, "fro"), (real(3, 2),)),
    Sample("softmax", lambda x: _softmax(x), (real(2, 5),), lambda t, x: t.softmax(x, 1)),
]  # fmt: skip


def _softmax(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


if hasattr(np, "cumulative_sum"):  # since NumPy 2.1
    REDUCTIONS += [
        Sample("cumulative_sum", lambda x: np.cumulative_sum(x * x, include_initial=True),
               (real(4),), **H),
        Sample("cumulative_prod", lambda x: np.cumulative_prod(x, axis=1), (real(2, 3),), **H),
    ]  # fmt: skip
