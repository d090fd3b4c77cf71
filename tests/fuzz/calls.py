"""Calls: transformations of ``f`` nested at random, applied to its arguments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.fuzz.writer import Writer


def _jitted(w: Writer, text: str, chance: float = 0.6) -> str:
    return f"jit({text})" if w.maybe(chance) else text


def value_call(w: Writer, names: Sequence[str], batched: bool) -> str:
    """``f`` as it is, compiled, or mapped over a new axis."""
    given = ", ".join(names)
    if batched and w.maybe(0.25):
        stacked = [f"np.stack([{n}, {n}, {n}[::-1]])" if w.maybe(0.5) else f"np.stack([{n}, {n} * 2])" for n in names]
        same = [s.replace(f"{n}, {n}, {n}[::-1]", f"{n}, {n} * 2") for n, s in zip(names, stacked, strict=True)]
        outer = w.pick(["vmap(f)", "jit(vmap(f))", "vmap(jit(f))"])
        if len(names) > 1 and w.maybe(0.4):
            axes = [w.pick(["0", "None"]) for _ in names]
            axes[0] = "0"
            given = ", ".join(n if a == "None" else s for n, s, a in zip(names, same, axes, strict=True))
            return f"{outer.replace('(f', '(f, in_axes=(' + ', '.join(axes) + ',)', 1) if outer == 'vmap(f)' else 'vmap(f, in_axes=(' + ', '.join(axes) + ',))'}({given})".replace(",))(", ",))(")
        return f"{outer}({', '.join(same)})"
    return f"{_jitted(w, 'f', 1.0)}({given})"


def gradient_call(w: Writer, names: Sequence[str], floats: Sequence[str], small: bool) -> str:
    """A derivative of an ``f`` whose result is a number; of higher order for few elements."""
    given, x = ", ".join(names), floats[0]
    position = list(names).index(x)
    others = ", ".join(n for n in names if n != x)
    inner = f"lambda {x}: f({given})"
    choices = [
        lambda: f"{_jitted(w, f'grad(f, argnums={position})')}({given})",
        lambda: f"{_jitted(w, f'value_and_grad(f, argnums={tuple(list(names).index(n) for n in floats)})')}({given})",
        lambda: f"{_jitted(w, f'grad({_jitted(w, inner)})')}({x})",
        lambda: f"jvp(f, ({given},), ({', '.join(_tangent(w, n, floats) for n in names)},))" if set(names) == set(floats) else f"grad({inner})({x})",
        lambda: f"vjp({_jitted(w, inner)}, {x})[1](1.5)",
        lambda: f"{_jitted(w, f'grad(checkpoint({inner}))')}({x})",
    ]  # fmt: skip
    if small:
        choices += [
            lambda: f"{_jitted(w, f'hessian({inner})')}({x})",
            lambda: f"{_jitted(w, f'jacfwd(grad({inner}))')}({x})",
            lambda: f"{_jitted(w, f'jacrev(grad({inner}))')}({x})",
            lambda: f"{_jitted(w, f'hvp({inner})')}({x}, {x} * 0.5)",
            lambda: f"{_jitted(w, f'grad(lambda {x}: np.sum(np.sin(grad({inner})({x}))))')}({x})",
            lambda: f"jvp(grad({inner}), ({x},), (0.5 * {x},))",
            lambda: f"{_jitted(w, f'vmap(grad({inner}))')}(np.stack([{x}, 0.5 * {x}]))",
            lambda: f"{_jitted(w, f'grad(lambda {x}: np.sum(vmap({inner})(np.stack([{x}, 0.5 * {x}])) ** 2))')}({x})",
            lambda: f"linearize(grad({inner}), {x})[1](0.5 * {x})",
            lambda: f"vmap(hessian({inner}))(np.stack([{x}, 0.5 * {x}]))",
        ]  # fmt: skip
    del others
    return w.pick(choices)()


def _tangent(w: Writer, name: str, floats: Sequence[str]) -> str:
    return f"{name} * {w.pick(['0.5', '1.5'])}" if name in floats else f"np.zeros_like({name})"


def jacobian_call(w: Writer, names: Sequence[str], x: str) -> str:
    """A derivative of an ``f`` whose result is an array."""
    inner = f"lambda {x}: f({', '.join(names)})"
    return str(
        w.pick([
            f"{_jitted(w, f'jacfwd({inner})')}({x})", f"{_jitted(w, f'jacrev({inner})')}({x})",
            f"{_jitted(w, f'jacfwd(jacrev({inner}))')}({x})", f"jvp({_jitted(w, inner)}, ({x},), ({x} * 0.5,))",
            f"vjp({_jitted(w, inner)}, {x})[1](np.ones(np.shape(f({', '.join(names)}))))",
            f"linearize({inner}, {x})[1]({x} * 0.5)", f"{_jitted(w, f'jacrev(jacfwd({inner}))')}({x})",
        ])
    )  # fmt: skip


def is_small(arguments: dict[str, np.ndarray], floats: Sequence[str]) -> bool:
    return sum(np.size(arguments[n]) for n in floats) <= 6
