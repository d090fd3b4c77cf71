"""Statements: new values, writes into arrays and views, lists, and loops of Python."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.fuzz import expressions as e
from tests.fuzz.writer import Writer

Statement = Callable[[Writer], bool]


def assign(w: Writer) -> bool:
    name = w.new()
    return w.write(f"{name} = {e.floats(w, w.rng.randint(1, 3))}", binds=(name,))


def assign_other(w: Writer) -> bool:
    """An integer, a mask or a complex array."""
    kind = w.pick([e.integers, e.masks, e.complexes])
    name = w.new({e.integers: "i", e.masks: "m", e.complexes: "z"}[kind])
    return w.write(f"{name} = {kind(w)}", binds=(name,))


def rebind(w: Writer) -> bool:
    """Bind a name again, by ``x = …`` or ``x += …`` of a scalar."""
    own = [n for n in w.names if n in w.writable]
    if not own:
        return False
    name = w.pick(own)
    return w.write(f"{name} = {e.fitting(w, np.shape(w.value(name)))} * {name}", binds=(name,))


def make(w: Writer) -> bool:
    """Make an array to write into."""
    arrays = w.arrays("f", 1)
    if not arrays:
        return False
    base, name = w.pick(arrays), w.new("w")
    text = w.pick(
        [
            f"np.zeros({base}.shape)",
            f"np.zeros_like({base})",
            f"{base} * 1.0",
            f"np.ones({base}.shape)",
            f"np.zeros(({w.rng.randint(1, 4)}, {w.rng.randint(1, 4)}))",
            f"np.copy({base})",
            f"np.full({base}.shape, 0.5)",
            f"np.zeros(len({base}))",
            f"np.array([{e.scalar(w, 1)}, {e.scalar(w, 1)}])",
            f"np.empty_like({base})",
            f"np.zeros((2, *{base}.shape))",
            f"np.ones_like({base})",
            f"{e.floats(w, 1)} + 0.0",
        ]
    )
    if text.startswith("np.empty"):  # its contents are undefined until they are written
        return w.write(f"{name} = {text}", f"{name}[...] = {e.constant(w)}", binds=(name,))
    return w.write(f"{name} = {text}", binds=(name,))


def view(w: Writer) -> bool:
    """Another name for a part of a writable array."""
    own = [n for n in w.names if n in w.writable]
    if not own:
        return False
    base, name = w.pick(own), w.new("u")
    text = w.pick(
        [
            "{}.T",
            "{}[1:]",
            "{}[::2]",
            "{}[::-1]",
            "{}[0]",
            "{}[:, 0]",
            "{}[..., 1:]",
            "{}.reshape(-1)",
            "{}[:, ::-1]",
            "np.swapaxes({}, 0, -1)",
            "{}[None]",
            "np.diagonal({})",
            "{}.ravel()",
        ]
    )
    if not w.write(f"{name} = {text.format(base)}", binds=(name,)):
        return False
    return store_into(w, name) if w.maybe(0.7) else True


INDICES = (
    "0",
    "-1",
    "1:",
    "::2",
    "::-1",
    ":-1",
    "...",
    "..., 0",
    ":, 0",
    ":, 1:",
    "None",
    "1",
    "0, 0",
    "np.array([0, -1])",
    "np.array([0, 0])",
    "{m}",
    "1::2",
    "-1, ..., 0",
    "np.arange(2)",
    ":, np.array([0])",
    "[0, 1], [1, 0]",
)


def store(w: Writer) -> bool:
    own = [n for n in w.names if n in w.writable]
    return bool(own) and store_into(w, w.pick(own))


def store_into(w: Writer, name: str) -> bool:
    if name not in w.writable:
        return False
    index = w.pick(INDICES)
    sign = w.pick(["=", "=", "+=", "*=", "-="])
    if index == "{m}":  # a mask of the array itself, with one value for all elements
        mask = w.pick([f"{name} > 0.2", f"np.abs({name}) < 0.5", f"{name} < {e.constant(w)}"])
        return w.write(f"{name}[{mask}] = {e.constant(w)}", binds=(name,))
    if w.maybe(0.06):
        return w.write(f"np.add.at({name}, np.array([0, 0, -1]), {e.scalar(w, 1)})", binds=(name,))
    if w.maybe(0.06):
        return w.write(f"np.multiply({name}, {e.constant(w)}, out={name})", binds=(name,))
    part = w.evaluate(f"{name}[{index}]")
    if part is None:
        return False
    value = e.fitting(w, np.shape(part), w.rng.randint(1, 2))
    return w.write(f"{name}[{index}] {sign} {value}", binds=(name,))


def in_place(w: Writer) -> bool:
    own = [n for n in w.names if n in w.writable]
    if not own:
        return False
    name = w.pick(own)
    sign = w.pick(["+=", "-=", "*=", "/="])
    value = e.fitting(w, np.shape(w.value(name)), 1)
    value = f"(1.5 + np.abs({value}))" if sign == "/=" else value
    return w.write(f"{name} {sign} {value}", binds=(name,))


def pair(w: Writer) -> bool:
    """Tuples: two names bound at once, or two swapped."""
    a, b = w.new("a"), w.new("b")
    if not w.write(f"{a}, {b} = {e.floats(w, 1)}, {e.floats(w, 1)}", binds=(a, b)):
        return False
    return w.write(f"{a}, {b} = {b}, {a}", binds=(a, b)) if w.maybe(0.4) else True


def of_list(w: Writer) -> bool:
    """A list that is joined, stacked or summed."""
    known = w.arrays("f")
    if not known:
        return False
    first = w.pick(known)
    parts = [first, f"{first} * {e.constant(w)}", f"np.sin({first})"][: w.rng.randint(1, 3)]
    name, text = w.new(), ", ".join(parts)
    form = w.pick(
        [
            "np.array([{}])",
            "np.stack([{}])",
            "sum([{}])",
            "np.concatenate([{}])",
            "np.max([{}], axis=0)",
            "np.stack(({},), axis=-1)",
            "np.sum([{}], axis=0)",
            "np.hstack([{}])",
        ]
    )
    return w.write(f"{name} = {form.format(text)}", binds=(name,))


def comprehension(w: Writer) -> bool:
    arrays = [n for n in w.arrays("f", 1) if len(w.value(n)) <= 40]
    if not arrays:
        return False
    base, name = w.pick(arrays), w.new()
    form = w.pick(
        [
            "np.array([r * {c} + np.sin(r) for r in {n}])",
            "np.array([np.sum(r * r) for r in {n}])",
            "sum(np.sum(r) ** 2 for r in {n})",
            "np.array([{n}[i] * {n}[-1 - i] for i in range(len({n}))])",
            "np.stack([p + q for p, q in zip({n}, {n}[::-1])])",
            "np.array([i * np.tanh(r) for i, r in enumerate({n})])",
            "sum([{n}[i] * {n}[i - 1] for i in range(1, len({n}))])",
            "np.array([[p * q for p in {n}] for q in {n}])",
            "np.array([np.where(r > 0, r, r * {c}) for r in {n}])",
        ]
    )
    return w.write(
        f"{name} = {form.replace('{n}', base).replace('{c}', e.constant(w))}", binds=(name,)
    )


BASIC: list[tuple[Statement, int]] = [
    (assign, 12),
    (assign_other, 2),
    (rebind, 2),
    (make, 4),
    (view, 4),
    (store, 7),
    (in_place, 3),
    (pair, 1),
    (of_list, 2),
    (comprehension, 2),
]


def write_some(w: Writer, table: list[tuple[Statement, int]], count: int) -> None:
    """Write a number of statements, or fewer if no more are found."""
    written = 0
    for _ in range(4 * count):
        statement = w.rng.choices([s for s, _ in table], [weight for _, weight in table])[0]
        with w.undone() as undo:
            kept = list(w.lines)
            if statement(w):
                written += 1
            else:
                undo()
                w.lines = kept
        if written == count:
            return
