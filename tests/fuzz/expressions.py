"""Expressions: templates with holes, filled at random and kept if NumPy accepts them.

``{a}`` and ``{b}`` are floats, ``{i}`` integers, ``{m}`` bools, ``{c}`` a constant, ``{n}`` the
name of a float array, ``{x}`` an axis and ``{k}`` a small integer.
"""

from __future__ import annotations

import re

import numpy as np

from tests.fuzz.writer import Writer

#: Expressions that square the number of elements, and the most elements for them.
SQUARES = re.compile(r"outer|eye|kron|meshgrid|tri[lu]|diag|ij|@|dot|inner|matmul|\{[sp]\}|volve")
MOST_SQUARED = 2000

HOLE = re.compile(r"\{([abimcnxk])\}")


def templates(text: str) -> list[str]:
    """Split a text at semicolons and ends of lines."""
    return [part for line in text.split("\n") for part in line.split(" ; ") if part]


ELEMENTWISE = templates("""
np.sin({a}) ; np.cos({a}) ; np.tanh({a}) ; np.exp(-np.square({a})) ; np.exp(-np.abs({a}))
np.sqrt(np.abs({a}) + 0.5) ; np.log(1.0 + {a} ** 2) ; np.arctan({a}) ; np.abs({a}) ; -{a}
{a} ** 2 ; {a} ** 3 ; np.square({a}) ; 1.0 / (1.0 + {a} * {a}) ; np.cbrt({a} + 3.0)
np.log1p({a} ** 2) ; np.expm1(np.sin({a})) ; np.clip({a}, -1.0, 1.0) ; np.sign({a})
np.logaddexp({a}, {b}) ; np.hypot({a}, 1.0 + {b} ** 2) ; np.arctan2({a}, 2.0 + np.cos({b}))
{a} + {b} ; {a} - {b} ; {a} * {b} ; {a} / (1.5 + np.cos({b})) ; {a} + {c} ; {c} * {a}
{c} - {a} ; {a} / {c} ; np.maximum({a}, {b}) ; np.minimum({a}, {c}) ; np.fmax({a}, {b})
np.where({m}, {a}, {b}) ; np.where({a} > {c}, {a}, {c} * {a}) ; np.where({m}, {a}, 0.0)
np.copysign({a}, {b}) ; (1.5 + np.sin({a})) ** {b} ; np.sinc({a}) ; np.nan_to_num({a})
np.fmod({a}, 2.5) ; np.remainder({a}, 2.5) ; np.exp2(np.tanh({a})) ; np.heaviside({a}, 0.5)
np.select([{m}, {a} > 0.5], [{a}, {b}], 0.25) ; np.tan(0.3 * np.sin({a})) ; np.cosh(np.sin({a}))
np.arcsinh({a}) ; np.log(2.0 + np.tanh({a})) ; np.float_power(np.abs({a}) + 1.0, 1.5)
""")
REDUCTIONS = templates("""
np.{r}({a}) ; np.{r}({n}, axis={x}) ; np.{r}({n}, axis={x}, keepdims=True) ; {n}.{method}()
{n}.{method}(axis={x}) ; np.sum({n}, axis=(0, -1)) ; np.linalg.norm({n} + 0.1)
np.std({n}, axis={x}) ; np.average({n}, axis={x}) ; np.trace({n}) ; np.ptp({n}, axis={x})
np.median({n}) ; np.logaddexp.reduce({n}, axis={x}) ; np.add.reduce({n}, axis={x})
np.maximum.reduce({n}, axis={x}) ; np.sum({n}, axis={x}, where={n} > 0.0)
np.max({n}, axis={x}, initial=0.3) ; np.sum({n} * {n}, axis={x})
np.count_nonzero({n} > 0.2, axis={x}) * {c} ; np.nansum({n}, axis={x})
np.median({n}, axis={x}) ; np.quantile({n}, 0.3, axis={x}) ; np.linalg.norm({n} + 0.1, axis={x})
np.vdot({n}, {n})
""")
MOVES = templates("""
{n}.T ; {n}.reshape(-1) ; {n}[:, None] ; {n}[None] ; {n}[..., None] ; {n}[::2] ; {n}[::-1]
{n}[1:] ; {n}[:-1] ; {n}[0] ; {n}[-1] ; {n}[..., ::-1] ; {n}[..., 1:] ; {n}[:, 0] ; {n}[1::2]
np.swapaxes({n}, 0, -1) ; np.moveaxis({n}, 0, -1) ; np.expand_dims({n}, {x}) ; np.flip({n}, {x})
np.concatenate([{n}, {n}], axis={x}) ; np.stack([{n}, {c} * {n}], axis={x}) ; np.tile({n}, {k})
np.repeat({n}, {k}, axis={x}) ; np.roll({n}, {k}, axis={x}) ; np.pad({n}, 1)
np.diff({n}, axis={x}) ; np.cumsum({n}, axis={x}) ; np.cumprod(np.tanh({n}), axis={x})
np.sort({n}, axis={x}) ; np.broadcast_to({n}, (2, *{n}.shape)) ; np.outer({n}, {n})
np.tril({n}) ; np.triu({n}, 1) ; np.diag({n}) ; np.diagonal({n}) ; np.ravel({n})
np.squeeze({n}) ; np.atleast_2d({n}) ; np.rot90({n}) ; {n}[np.array([0, -1, 0])]
{n}[np.arange(len({n}))[::-1]] ; {n}[np.arange({n}.shape[0]) % 2] ; {n}[..., np.array([0, -1])]
{n}[np.arange(len({n})) % 2 == 0] ; {n}[np.argmax({n}[..., 0])]
{n}[np.argsort({n}, axis=0)[0]] ; np.take({n}, np.array([0, 0, -1]), axis={x}) ; {n}[{i}]
{n}[np.argmin({n}, axis=0)] ; np.maximum.accumulate({n}, axis={x}) ; np.hstack([{n}, {n}])
np.vstack([{n}, {n}]) ; np.kron({n}, np.array([1.0, -0.5])) ; np.array_split({n}, 2)[0]
np.convolve({n}, np.array([0.5, 0.25, -0.5]), mode='same') ; np.convolve({n}, {n}[:3])
np.gradient({n}) ; np.insert({n}, 1, 0.5, axis={x}) ; np.delete({n}, 0, axis={x})
np.meshgrid({n}, {n})[1] ; np.lib.stride_tricks.sliding_window_view({n}, 2, axis={x})
np.triu({n} * 0.5) + {n} ; np.ediff1d({n})
np.interp({a}, np.array([-1.0, 0.0, 1.0]), np.array([0.5, -0.5, 2.0]))
""")
PRODUCTS = templates("""
{n} @ {n}.T ; {n}.T @ {n} ; {n} @ {n} ; np.dot({n}, {n}) ; np.einsum('i...,i...->...', {n}, {n})
np.tensordot({n}, {n}, axes=1) ; np.inner({n}, {n}) ; np.einsum('ij,ij->i', {n}, {n})
np.matmul({n}, {b}) ; np.einsum('ij,kj->ik', {n}, {n}) ; {n} @ ({n}.T @ {n})
{n}.sum(0) @ {n}.sum(0) ; np.einsum('ij->j', {n}) ; np.einsum('i,j->ij', {n}, {n})
np.einsum('ii->i', {n}) ; {n} @ np.eye({n}.shape[-1])
""")
TYPES = templates("""
({a} > {c}) * {b} ; {a}.astype(np.float32) ; {a}.astype(np.float64) ; {a} * np.float32(0.5)
np.float32({c}) + {a} ; ({a} * 3.0).astype(int) * {b} ; np.real({a} * (1.0 + 2.0j))
np.abs({a} + 1j * {b}) ; np.imag(np.exp(1j * {a})) ; np.floor({a}) * {b} ; np.rint({a}) + {b}
{i} * {a} ; {i} + {b} ; {m} * {a} ; np.abs(np.exp(1j * {a}) + 0.5) ** 2
np.real(({a} + 0.5j) * np.conj({b} - 1j)) ; np.angle(2.0 + np.sin({a}) + 1j * {b})
{a} * {i} // 1
""")
INTEGERS = templates("""
np.argmax({n}, axis={x}) ; np.argsort({n}, axis={x}) ; ({a} * 2.0).astype(int)
np.argmin({n}, axis=0) ; np.sum({n} > 0, axis={x}) ; {i} % 3 ; {i} + 1 ; np.arange(len({n}))
{i} * {i} ; {i} // 2 ; np.searchsorted(np.array([-1.0, 0.0, 1.0]), {a}) ; {i} & 3
np.cumsum({n} > 0)
""")
MASKS = templates("""
{a} > {b} ; {a} < {c} ; {a} >= 0.0 ; np.isfinite({a}) ; ~({a} > {c}) ; ({a} > 0) & ({b} < 1)
{i} % 2 == 0 ; np.logical_or({a} > 0, {b} > 0) ; np.abs({a}) < 0.7 ; {i} > 0 ; np.any({n} > 1.0)
""")

#: For matrices whose symmetric part is positive, with vectors and rows of matrices; {p} is itself
#: symmetric, as the derivative of its factor requires.
MATRICES = templates("""
np.linalg.inv({s}) ; np.linalg.det({s}) ; np.linalg.cholesky({p}) ; np.linalg.slogdet({s})[1]
np.linalg.solve({s}, {n}) ; np.linalg.solve({s}, {n}.T[0]) ; np.linalg.inv({s}) @ {n}
np.linalg.solve({s} + 0.1 * np.triu({s}), {n}) ; np.linalg.matrix_power(0.3 * {s}, 3)
np.linalg.norm({n}) ; np.linalg.norm({s}, axis=0) ; np.linalg.multi_dot([{s}, {s}, {s}])
""")
POSITIVE = "(2.0 * np.eye(len({n})) + 0.3 * np.tanh(np.outer({n}, {n})[: len({n}), : len({n})]))"

FAMILIES = {
    "elementwise": (ELEMENTWISE, 10), "reductions": (REDUCTIONS, 4), "moves": (MOVES, 5),
    "products": (PRODUCTS, 2), "types": (TYPES, 2), "matrices": (MATRICES, 1),
}  # fmt: skip
FUNCTIONS = ("sum", "mean", "max", "min", "prod", "var", "std")


def constant(w: Writer) -> str:
    return w.pick(["0.5", "2.0", "-1.5", "0.25", "1.0", "3.0", "-0.75", "0.1", "2"])


def floats(w: Writer, depth: int = 2) -> str:
    """A float expression that NumPy accepts."""
    known = w.arrays("f")
    if depth <= 0 or not known or w.maybe(0.15):
        return w.pick(known) if known else constant(w)
    families = list(FAMILIES.values())
    for _ in range(12):
        templates, _ = w.rng.choices(families, [weight for _, weight in families])[0]
        template = w.pick(templates)
        if SQUARES.search(template) and any(np.size(w.value(n)) > MOST_SQUARED for n in known):
            continue
        text = filled(w, template, depth)
        value = w.evaluate(text)
        if value is not None and np.asarray(value).dtype.kind == "f":
            return text
    return str(w.pick(known))


def complexes(w: Writer) -> str:
    """A complex expression."""
    known = w.arrays("c")
    base = w.pick(known) if known else f"({floats(w, 1)} + 0.5j)"
    return str(
        w.pick([
            f"{base} * {floats(w, 1)}", f"np.exp(1j * {floats(w, 1)})", f"np.conj({base})",
            f"{base} + 1j", f"{base} * {base}", f"np.sin({base})", f"{base} / (2.0 + 1j)",
        ])
    )  # fmt: skip


def integers(w: Writer, depth: int = 1) -> str:
    known = w.arrays("iu")
    if known and (depth <= 0 or w.maybe(0.5)):
        return str(w.pick(known))
    return _taken(w, INTEGERS, depth, "iu") or "2"


def masks(w: Writer, depth: int = 1) -> str:
    known = w.arrays("b")
    if known and w.maybe(0.3):
        return str(w.pick(known))
    return _taken(w, MASKS, depth, "b") or "True"


def _taken(w: Writer, templates: list[str], depth: int, kinds: str) -> str | None:
    for _ in range(8):
        text = filled(w, w.pick(templates), depth)
        value = w.evaluate(text)
        if value is not None and np.asarray(value).dtype.kind in kinds:
            return text
    return None


def filled(w: Writer, template: str, depth: int) -> str:
    """A template with its holes filled; more often, all names of a template are the same array."""
    arrays = w.arrays("f", 1) or w.arrays("f") or ["0.5"]
    name = w.pick(arrays)
    ndim = np.ndim(w.space.get(name, 0.0))
    template = template.replace("{r}", w.pick(FUNCTIONS)).replace("{s}", POSITIVE)
    template = template.replace("{p}", POSITIVE.replace("{n}", name))
    template = template.replace("{method}", w.pick(FUNCTIONS[:4]))

    def fill(hole: re.Match[str]) -> str:
        kind = hole[1]
        if kind == "n":
            return str(name if w.maybe(0.9) else w.pick(arrays))
        if kind == "x":
            return str(w.rng.randint(-1, max(0, ndim - 1)))
        if kind == "k":
            return str(w.rng.randint(1, 3))
        if kind == "c":
            return constant(w)
        if kind == "i":
            return _grouped(integers(w, depth - 1))
        return _grouped(masks(w, depth - 1) if kind == "m" else floats(w, depth - 1))

    return HOLE.sub(fill, template)


def _grouped(text: str) -> str:
    return text if re.fullmatch(r"[\w.]+(\([^()]*\))?|np\.\w+\([^()]*\)", text) else f"({text})"


def scalar(w: Writer, depth: int = 2) -> str:
    """A float expression that is a number."""
    text = floats(w, depth)
    value = w.evaluate(text)
    return text if np.ndim(value) == 0 else f"np.{w.pick(['sum', 'mean', 'max'])}({text})"


def like(w: Writer, shape: tuple[int, ...], dtype: np.dtype, depth: int = 2) -> str | None:
    """An expression of a shape and dtype, if one is found soon."""
    for attempt in range(10):
        text = floats(w, depth if attempt < 6 else 1)
        value = w.evaluate(text)
        if value is not None and np.shape(value) == shape and np.asarray(value).dtype == dtype:
            return text
    return None


def fitting(w: Writer, shape: tuple[int, ...], depth: int = 2) -> str:
    """A float expression that broadcasts to a shape."""
    for _ in range(8):
        text = floats(w, depth)
        try:
            np.broadcast_to(w.evaluate(text), shape)
        except (ValueError, TypeError):
            continue
        return text
    return constant(w)
