"""Functions whose results are integers or bools."""

from __future__ import annotations

import numpy as np

from tests.samples.kinds import (
    flags,
    real,
    step,
    whole,
)

STEPS = [
    *(step(f"whole {f.__name__}", f, whole(6), whole(6)) for f in (
        np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
        np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.maximum, np.minimum, np.add, np.multiply,
        np.fmax, np.fmin, np.subtract,
    )),
    *(step(f"float {f.__name__}", f, real(6), real(6)) for f in (
        np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
        np.logical_and, np.logical_or, np.logical_xor,
    )),
    *(step(f"bool {f.__name__}", f, flags(6), flags(6)) for f in (
        np.logical_and, np.logical_or, np.logical_xor, np.bitwise_and, np.bitwise_or, np.add,
        np.multiply, np.maximum, np.minimum, np.equal, np.fmax, np.fmin,
    )),
    *(step(f.__name__, f, real(4)) for f in (np.isnan, np.isinf, np.isfinite, np.signbit)),
    *(step(f"int {f.__name__}", f, whole(6)) for f in (
        np.isnan, np.isinf, np.isfinite, np.floor, np.ceil, np.trunc, np.absolute, np.sign,
        np.square, np.negative, np.invert, np.logical_not, np.positive,
    )),
    *(step(f"int {f.__name__}", f, whole(6), whole(6, low=1)) for f in (
        np.floor_divide, np.remainder, np.fmod, np.true_divide,
    )),
    step("negative divisor", lambda a, b: (a // b, a % b), whole(6), whole(6, low=-5, high=0)),
    step("float to int", lambda x: x.astype(int), real(5)),
    step("int to bool", lambda i: i.astype(bool), whole(5, low=0, high=2)),
    step("bool to float", lambda b: b.astype(np.float32), flags(5)),
    step("shift", lambda i: (i << 3) + (i >> 2) + np.left_shift(i, 1), whole(5)),
    step("unsigned", lambda i: i * 200 - i // 3, whole(5, low=0, high=99, dtype=np.uint8)),
    step("int power", lambda i: i**3 + 2 ** np.abs(i), whole(5)),
    step("logical_not", np.logical_not, flags(4)),
    step("isclose", lambda x: np.isclose(x, x + 1e-9), real(4)),
    step("isclose with nan", lambda x: np.isclose(x, x * np.nan, equal_nan=True), real(4)),
    step("allclose", lambda x: np.allclose(x, x + 1e-9), real(4)),
    step("array_equal", np.array_equal, whole(4, low=0, high=1), whole(4, low=0, high=1)),
    step("argmax", np.argmax, real(6)),
    step("argmax axis", lambda x: np.argmax(x, axis=1), real(3, 4)),
    step("argmax keepdims", lambda x: np.argmax(x, axis=0, keepdims=True), real(3, 4)),
    step("argmin", lambda x: np.argmin(x, axis=-1), real(3, 4)),
    step("argmin with ties", np.argmin, whole(9, low=0, high=3)),
    step("any", np.any, flags(3, 2)),
    step("all", lambda x: np.all(x, axis=0), flags(3, 2)),
    step("any of floats", lambda x: np.any(x > 1, axis=1, keepdims=True), real(3, 2)),
    step("count_nonzero", lambda x: np.count_nonzero(x > 0, axis=0), real(5, 2)),
    step("sum of int", lambda i: np.sum(i, axis=0), whole(3, 2, dtype=np.int32)),
    step("sum of bool", np.sum, flags(5)),
    step("prod of int", np.prod, whole(4, low=1, high=4, dtype=np.uint8)),
    step("mean of int", np.mean, whole(5)),
    step("max of int", np.max, whole(5)),
    step("logical_or.reduce", np.logical_or.reduce, flags(3, 2)),
    step("logical_and.reduce", np.logical_and.reduce, flags(3, 2)),
    step("shape, ndim, size", lambda x: x * (np.ndim(x) + np.size(x) + np.shape(x)[0]), whole(4)),
    step("asked dtypes", lambda x: x * np.iscomplexobj(x) + np.isrealobj(x), whole(4)),
    step("result_type", lambda i: i.astype(np.result_type(i, np.float32)), whole(4)),
    step("likes", lambda i: np.zeros_like(i) + np.ones_like(i) + np.full_like(i, 3) + 0 * i,
         whole(4)),
    step("empty_like", lambda i: i + 0 * np.empty_like(i).astype(bool), whole(4)),
    step("integer matmul", lambda a, b: a @ b, whole(2, 3), whole(3, 2)),
    step("bool diff", np.diff, flags(6)),
]  # fmt: skip
