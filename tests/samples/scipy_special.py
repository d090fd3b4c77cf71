"""Rows of the functions that ``scipy.special`` writes in Python: derivatives of Bessel functions,
Legendre's functions, quadratures."""

from __future__ import annotations

import numpy as np
from scipy import special

from tests.samples.scipy_rows import row

X = np.array([0.3, 0.71, -0.4])
ANGLES = np.array([0.4, 1.1, 2.3])

SPECIAL = [
    *(row(f"{f.__name__} {n}", lambda z, f=f, n=n: f(1.5, z, n), ANGLES)
      for f in (special.h1vp, special.h2vp) for n in (0, 2)),
    *(row(f"lmbda {v}", lambda x, v=v: special.lmbda(v, x[()]), 1.3, rtol=1e-8)
      for v in (0, 2.5, 3)),
    row("riccati_jn", lambda x: special.riccati_jn(3, x[()]), 1.3),
    row("riccati_yn", lambda x: special.riccati_yn(3, x[()]), 1.3),
    *(row(f"diric {n}", lambda x, n=n: special.diric(x, n), [0.3, 2.1, 9.4]) for n in (1, 4, 5)),
    row("assoc_laguerre", lambda x: special.assoc_laguerre(x, 3, 0.5), X),
    *(row(f"legendre_p {n}", lambda z, n=n: special.legendre_p(n, z), X) for n in (0, 1, 7)),
    row("legendre_p_all", lambda z: special.legendre_p_all(4, z), X),
    *(row(f"assoc_legendre_p {m} {k}", lambda z, m=m, k=k: special.assoc_legendre_p(
        5, m, z, norm=k), X) for m in (0, 2, -3, 7) for k in (True, False)),
    row("assoc_legendre_p_all", lambda z: special.assoc_legendre_p_all(3, 2, z), X, compiled=True),
    *(row(f"sph_legendre_p {m}", lambda t, m=m: special.sph_legendre_p(4, m, t), ANGLES)
      for m in (0, 3, -3)),
    row("sph_legendre_p_all", lambda t: special.sph_legendre_p_all(3, 2, t), ANGLES),
    *(row(f"sph_harm_y {m}", lambda t, p, m=m: special.sph_harm_y(4, m, t, p), ANGLES, X)
      for m in (0, 3, -3)),
    row("sph_harm_y_all", lambda t, p: special.sph_harm_y_all(3, 2, t, p), ANGLES, X),
    *(row(f"roots_jacobi {n}", lambda a, b, n=n: special.roots_jacobi(n, a, b, True), 0.4, 1.3)
      for n in (1, 2, 6)),
    row("roots_sh_jacobi", lambda p, q: special.roots_sh_jacobi(4, p, q), 2.4, 1.3),
    *(row(f"roots_gegenbauer {a}", lambda a: special.roots_gegenbauer(5, a), a)
      for a in (0.3, 1.7)),
    row("roots_genlaguerre", lambda a: special.roots_genlaguerre(5, a), 0.7),
]  # fmt: skip
