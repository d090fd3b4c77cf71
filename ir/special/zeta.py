"""The zeta functions of Hurwitz and Riemann.

Sources of the derivatives: DLMF 25.11.17 (by q), and 25.11.5 with 25.11.7, the Euler-Maclaurin
formula, differentiated (by s).
"""

from __future__ import annotations

from math import nan

from autojit.ir.core.declaration import full
from autojit.ir.core.program import Value
from autojit.ir.ops.arithmetic import ge, select
from autojit.ir.ops.elementary import exp, log

from .external import External
from .series import one, zero

#: The number of terms that are summed directly; Bernoulli numbers over factorials, B_2j / (2 j)!.
_TERMS = 10
_BERNOULLI = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000,
    1 / 74724249600, -3617 / 10670622842880000,
)  # fmt: skip


def _by_s(s: Value, q: Value) -> Value:
    """Return the derivative by s, to 1e-12 relative (tested for s in 1.01..30, q in 0.1..30); NaN
    for s < 0."""
    total = zero(s)
    for k in range(_TERMS):
        base = log(q + float(k))
        total = total - base * exp(-(s * base))
    last = log(q + float(_TERMS))
    tail, inverse = exp(-(s * last)), 1 / (s - 1)
    end = q + float(_TERMS)
    total = total - tail * end * (last * inverse + inverse * inverse) - tail * last * 0.5
    # s (s + 1) ... (s + 2 j), and its derivative
    rising, slope = s, one(s)
    power = tail / end
    for j, number in enumerate(_BERNOULLI):
        total = total + (slope - rising * last) * power * number
        for i in (2 * j + 1, 2 * j + 2):
            factor = s + float(i)
            rising, slope = rising * factor, slope * factor + rising
        power = power / (end * end)
    return select(ge(s, zero(s)), total, full(nan, s.type))


zeta: External = External(
    "zeta",
    lambda t, y, s, q: t * _by_s(s, q),
    lambda t, y, s, q: -(t * (s * zeta(s + 1, q))),
    loop="dd->d",
    cost=400,
)
riemann_zeta = External(
    "_riemann_zeta", lambda t, y, s: t * _by_s(s, one(s)), loop="d->d", cost=200
)
#: Riemann's zeta function minus 1.
zetac = External("zetac", lambda t, y, s: t * _by_s(s, one(s)), cost=200)
