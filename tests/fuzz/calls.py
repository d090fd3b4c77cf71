"""Calls: transformations of ``f`` nested at random, applied to its arguments.

In a template, derivatives are taken with respect to ``{x}``, ``{all}`` stands for all arguments,
``{i}`` is ``f`` as a function of ``{x}`` alone, and ``J(...)`` is compiled or not, at random.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from tests.fuzz.expressions import templates
from tests.fuzz.writer import Writer

VALUES = templates("""
jit(f)({all})
jit(lambda {x}: f({all}))({x})
jit(jit(f))({all})
""")
#: For functions all of whose arguments have an axis: calls over a new axis.
BATCHES = templates("""
vmap(f)({stacked})
jit(vmap(f))({stacked})
vmap(jit(f))({stacked})
vmap(f, in_axes={axes})({some})
jit(vmap({i}))(np.stack([{x}, {x} * 2]))
vmap({i}, out_axes=-1)(np.stack([{x}, {x} * 2, {x}]))
""")
#: For functions whose result is a number.
FIRST = templates("""
J(grad(f, argnums={number}))({all})
J(value_and_grad(f, argnums={numbers}))({all})
J(grad(J({i})))({x})
jvp({i}, ({x},), ({x} * 1.5,))
jvp(J(f), ({all},), ({tangents},))
vjp(J({i}), {x})[1](1.5)
J(grad(checkpoint({i})))({x})
J(grad(lambda {x}: vjp({i}, {x})[0] * 0.5))({x})
""")
SECOND = templates("""
J(hessian({i}))({x})
J(jacfwd(grad({i})))({x})
J(jacrev(grad({i})))({x})
J(hvp({i}))({x}, {x} * 0.5)
J(grad(lambda {x}: np.sum(np.sin(grad({i})({x})))))({x})
jvp(J(grad({i})), ({x},), (0.5 * {x},))
J(vmap(grad({i})))(np.stack([{x}, 0.5 * {x}]))
J(grad(lambda {x}: np.sum(vmap({i})(np.stack([{x}, 0.5 * {x}])) ** 2)))({x})
linearize(grad({i}), {x})[1](0.5 * {x})
vmap(J(hessian({i})))(np.stack([{x}, 0.5 * {x}]))
J(grad(lambda {x}: jvp({i}, ({x},), (np.sin({x}),))[1]))({x})
J(jacfwd(jacfwd({i})))({x})
J(jacrev(jacrev(checkpoint({i}))))({x})
""")
#: For functions whose result is an array.
JACOBIANS = templates("""
J(jacfwd({i}))({x})
J(jacrev({i}))({x})
J(jacfwd(jacrev({i})))({x})
J(jacrev(jacfwd({i})))({x})
jvp(J({i}), ({x},), ({x} * 0.5,))
vjp(J({i}), {x})[1](np.ones(np.shape(f({all}))))
linearize({i}, {x})[1]({x} * 0.5)
J(vmap(jacrev({i})))(np.stack([{x}, 0.5 * {x}]))
J(vmap(jacfwd({i})))(np.stack([{x}, 0.5 * {x}]))
""")


def _filled(w: Writer, template: str, names: Sequence[str], floats: Sequence[str]) -> str:
    x = floats[0] if floats else names[0]
    axes = [0, *(w.pick([0, None]) for _ in names[1:])]
    stacked = [f"np.stack([{n}, {n} * 2])" for n in names]
    given = ", ".join(names)
    some = [n if a is None else s for n, s, a in zip(names, stacked, axes, strict=True)]
    holes = {
        "x": x, "all": given, "i": f"lambda {x}: f({given})", "number": str(list(names).index(x)),
        "numbers": str(tuple(k for k, n in enumerate(names) if n in floats)),
        "stacked": ", ".join(stacked), "some": ", ".join(some), "axes": str(tuple(axes)),
        "tangents": ", ".join(f"{n} * 1.5" for n in names),
    }  # fmt: skip
    text = re.sub(r"\{(\w+)\}", lambda hole: holes[hole[1]], template)
    return re.sub(r"\bJ\(", lambda _: "jit(" if w.maybe(0.5) else "(", text)


def value_call(w: Writer, names: Sequence[str], batched: bool) -> str:
    """``f`` itself, compiled, or mapped over a new axis."""
    table = BATCHES if batched and w.maybe(0.25) else VALUES
    return _filled(w, w.pick(table), names, ())


def gradient_call(w: Writer, names: Sequence[str], floats: Sequence[str], small: bool) -> str:
    """A derivative of an ``f`` whose result is a number; of higher order for few elements."""
    table = [t for t in FIRST if "tangents" not in t or len(names) == len(floats)]
    return _filled(w, w.pick([*table, *SECOND] if small else table), names, floats)


def jacobian_call(w: Writer, names: Sequence[str], floats: Sequence[str]) -> str:
    """A derivative of an ``f`` whose result is an array."""
    return _filled(w, w.pick(JACOBIANS), names, floats)


def is_small(arguments: dict[str, np.ndarray], floats: Sequence[str]) -> bool:
    return sum(np.size(arguments[n]) for n in floats) <= 6
