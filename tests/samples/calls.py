"""Functions with user-defined rules, and solutions of equations."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit import checkpoint, custom_jvp, custom_linear_solve, custom_root, custom_vjp
from autojit.scipy.whole import without_derivative
from tests.samples.kinds import Sample, positive, real

softplus = custom_jvp(lambda x: np.log1p(np.exp(x)))
softplus.defjvp(lambda p, t: (softplus(*p), t[0] / (1 + np.exp(-p[0]))))

product = custom_vjp(lambda x, y: x * y)
product.defvjp(lambda x, y: (x * y, (x, y)), lambda xy, ct: (ct * xy[1], ct * xy[0]))


def _diagonal_system(d: Any, b: Any) -> Any:
    return custom_linear_solve(lambda x: d * x, b, lambda a, b: b / d, lambda a, b: b / d)


def _square_root(a: Any) -> Any:
    return custom_root(lambda x: x * x - a, a, lambda f, x: np.sqrt(a), _division)


def _division(g: Any, y: Any) -> Any:
    return y / g(np.ones(3))


CALLS = [
    Sample("custom_jvp", softplus, (real(3, 2),)),
    # There is no forward mode: its derivatives are tested in test_custom_rules.py.
    Sample("custom_vjp", product, (real(3), real(3)), order=0),
    Sample("checkpoint", checkpoint(lambda x: np.sin(np.exp(x))), (real(3),)),
    Sample("linear_solve", _diagonal_system, (positive(3), real(3))),
    Sample("root", _square_root, (positive(3),)),
    # Its derivative is refused.
    Sample("whole number", without_derivative, (real(3),), order=0),
]
