"""``scipy.integrate`` for traced values; if no argument is traced, SciPy's own function runs."""

from .initial_value import odeint, solve_ivp
from .quadrature import dblquad, nquad, quad, quad_vec, tplquad
from .samples import (
    cumulative_simpson,
    cumulative_trapezoid,
    fixed_quad,
    newton_cotes,
    romb,
    simpson,
    trapezoid,
)

__all__ = [
    "cumulative_simpson", "cumulative_trapezoid", "dblquad", "fixed_quad", "newton_cotes", "nquad",
    "odeint", "quad", "quad_vec", "romb", "simpson", "solve_ivp", "tplquad", "trapezoid",
]  # fmt: skip
